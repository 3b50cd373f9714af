// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeyTestSupport
import ValetSealing
import ValetSystem

@testable import ValetTPM

extension Swtpm {
    /// What a test that cannot run says.
    static var isMissing: Comment { Comment(rawValue: missing) }
}

extension Deadline {
    /// Long enough for anything, on a busy machine.
    static var soon: Deadline { Deadline(after: .seconds(60)) }
    /// Short, where nothing would ever come.
    static var short: Deadline { Deadline(after: .milliseconds(200)) }
}

extension SecretBytes {
    init(_ bytes: [UInt8]) { self.init(copying: bytes.span) }

    /// 32 bytes that are told apart by a number.
    static func sample(_ number: UInt8) -> SecretBytes {
        SecretBytes((0..<32).map { 7 &* $0 &+ number })
    }

    /// A copy, to compare with.
    var array: [UInt8] { withBytes { bytes in bytes.indices.map { bytes[$0] } } }
}

extension TPMDevice {
    func seal(_ secret: UInt8, boundTo pcrs: PCRSelection = .none) throws -> SealedObject {
        try sealDeviceSecret(.sample(secret), boundTo: pcrs, until: .soon)
    }

    func seal(_ secret: UInt8, pin: UInt8) throws -> SealedObject {
        try sealPasscodeSecret(.sample(secret), authorization: .sample(pin), until: .soon)
    }

    func unseal(_ object: SealedObject, until deadline: Deadline = .soon) throws -> [UInt8] {
        try unsealDeviceSecret(object, until: deadline).array
    }

    func unseal(_ object: SealedObject, pin: UInt8, isForced: Bool = false) throws -> [UInt8] {
        try unsealPasscodeSecret(
            object, authorization: .sample(pin), isForced: isForced, until: .soon
        ).array
    }
}

/// The code of the error that `body` throws; nil if it throws none.
func failure(_ body: () throws -> Void) -> SystemError.Code? {
    do {
        try body()
        return nil
    } catch let error as SystemError {
        return error.code
    } catch {
        Issue.record(error)
        return nil
    }
}

/// Another process that uses a TPM.
struct OtherProcess {
    let process = Process()
    private let output = Pipe()
    private let errors = Pipe()

    init(_ arguments: String...) throws {
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
            .deletingLastPathComponent().appendingPathComponent("ValetTestAgent")
        process.arguments = ["tpm"] + arguments
        process.standardOutput = output
        process.standardError = errors
        process.environment = ["SWIFT_BACKTRACE": "enable=no"]
            .merging(ProcessInfo.processInfo.environment) { ours, _ in ours }
        process.environment?["TSS2_LOG"] = nil
        try process.run()
    }

    /// What it writes until it ends, without the end of the line.
    func end() -> (output: String, errors: String) {
        let texts = [output, errors].map { pipe in
            String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
                .trimmingCharacters(in: .newlines)
        }
        process.waitUntilExit()
        return (texts[0], texts[1])
    }

    func kill() {
        Glibc.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}
