// SPDX-License-Identifier: Apache-2.0

import Foundation
import ValetSealing
import ValetSystem
import ValetTestValues

@testable import ValetUserPresence

/// What asking led to.
enum Outcome: Equatable {
    case answer(String)
    case failure(SystemError.Code)

    init(_ body: () throws(SystemError) -> SecretBytes) {
        do throws(SystemError) {
            self = .answer(try body().text)
        } catch {
            self = .failure(error.code)
        }
    }
}

extension SecretBytes {
    /// A copy, to compare with.
    var array: [UInt8] {
        withBytes { bytes in bytes.indices.map { bytes[$0] } }
    }

    var text: String { String(decoding: array, as: UTF8.self) }
}

typealias FakePinentry = ScriptedPinentry

extension ScriptedPinentry {
    func ask(
        _ prompt: PasscodePrompt = PasscodePrompt(description: "asks"),
        _ variables: [String: String] = [:]
    ) throws(SystemError) -> SecretBytes {
        let program = PinentryProgram(
            path: path, environment: Environment(variables), usesTerminal: false)
        return try program.ask(prompt, until: Deadline(after: prompt.timeout))
    }

    /// Asks by the way that an application has.
    var asker: PasscodeAsker {
        PasscodeAsker(environment: Environment(["VALET_PINENTRY": path]), readsVariable: false)
    }
}
