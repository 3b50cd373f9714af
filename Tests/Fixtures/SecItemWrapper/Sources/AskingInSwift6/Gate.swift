// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalAuthentication
import Valet

@MainActor
final class Gate {
    enum State {
        case closed, open
        case failed(LAError.Code)
    }

    private(set) var state = State.closed
    private let secrets = SinglePromptSecureEnclaveValet.sharedGroupValet(
        with: SharedGroupIdentifier(appIDPrefix: "ABC", nonEmptyGroup: "com.example")!,
        accessControl: .devicePasscode)

    func open() async {
        let context = LAContext()
        do {
            let isOpen = try await context.evaluatePolicy(
                .deviceOwnerAuthenticationWithBiometrics, localizedReason: "Open the gate")
            state = isOpen ? .open : .closed
        } catch LAError.userCancel {
            state = .closed
        } catch let error as LAError {
            state = .failed(error.code)
        } catch {
            state = .failed(.authenticationFailed)
        }
    }

    func openWithReply() {
        let context = LAContext()
        context.touchIDAuthenticationAllowableReuseDuration =
            LATouchIDAuthenticationMaximumAllowableReuseDuration
        context.evaluatePolicy(
            .deviceOwnerAuthentication, localizedReason: "Open the gate"
        ) { [weak self] isOpen, _ in
            Task { @MainActor in self?.state = isOpen ? .open : .closed }
        }
    }

    func token() async throws -> String {
        let secrets = secrets
        return try await Task.detached {
            try secrets.string(forKey: "token", withPrompt: "Sign in")
        }.value
    }
}

func secret(of valet: SecureEnclaveValet) throws(KeychainError) -> String? {
    guard try valet.containsObject(forKey: "secret") else { return nil }
    return try valet.string(forKey: "secret")
}
