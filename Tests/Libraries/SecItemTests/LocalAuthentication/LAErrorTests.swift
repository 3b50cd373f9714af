// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalAuthentication
import Testing
import ValetKeychainModel

// No `@testable`: the tests see what applications do.
@Suite struct `Errors of local authentication` {
    static let codes: [(LAError.Code, Int32, Int32)] = [
        (.authenticationFailed, -1, kLAErrorAuthenticationFailed),
        (.userCancel, -2, kLAErrorUserCancel), (.userFallback, -3, kLAErrorUserFallback),
        (.systemCancel, -4, kLAErrorSystemCancel), (.passcodeNotSet, -5, kLAErrorPasscodeNotSet),
        (.biometryNotAvailable, -6, kLAErrorBiometryNotAvailable),
        (.biometryNotEnrolled, -7, kLAErrorBiometryNotEnrolled),
        (.biometryLockout, -8, kLAErrorBiometryLockout), (.appCancel, -9, kLAErrorAppCancel),
        (.invalidContext, -10, kLAErrorInvalidContext),
        (.companionNotAvailable, -11, kLAErrorCompanionNotAvailable),
        (.biometryNotPaired, -12, kLAErrorBiometryNotPaired),
        (.biometryDisconnected, -13, kLAErrorBiometryDisconnected),
        (.invalidDimensions, -14, kLAErrorInvalidDimensions),
        (.notInteractive, -1004, kLAErrorNotInteractive),
        (.touchIDNotAvailable, -6, kLAErrorTouchIDNotAvailable),
        (.touchIDNotEnrolled, -7, kLAErrorTouchIDNotEnrolled),
        (.touchIDLockout, -8, kLAErrorTouchIDLockout),
        (.watchNotAvailable, -11, kLAErrorWatchNotAvailable),
    ]

    @Test(arguments: codes)
    func `LAError has the codes of Apple's systems`(
        _ code: LAError.Code, _ number: Int32, _ constant: Int32
    ) {
        #expect(code.rawValue == Int(number))
        #expect(constant == number)
        #expect(LAError(code).errorCode == Int(number))
    }

    @Test func `An LAError becomes an object and returns from it`() {
        let object = LAError(.userCancel) as NSError
        #expect(object.domain == "com.apple.LocalAuthentication" && object.code == -2)
        #expect(object.localizedDescription == "Authentication was cancelled.")
        #expect((object as? LAError)?.code == .userCancel)
        let error: any Error = object
        #expect((error as? LAError)?.code == .userCancel)
        #expect(LAError(_nsError: object).code == .userCancel)
        let maybe: NSError? = object
        #expect(maybe as? LAError == LAError(.userCancel))
    }

    @Test func `Other errors are not an LAError`() {
        let other: any Error = NSError(domain: "elsewhere", code: -2)
        #expect(other as? LAError == nil)
        let unknown: any Error = NSError(domain: LAError.errorDomain, code: -777)
        #expect(unknown as? LAError == nil)
    }

    @Test(arguments: [
        LAError(.userCancel) as any Error,
        NSError(domain: LAErrorDomain, code: Int(kLAErrorUserCancel)),
    ])
    func `An LAError can be caught by its code`(_ error: any Error) {
        do {
            throw error
        } catch LAError.authenticationFailed {
            Issue.record("another code")
        } catch LAError.userCancel {
        } catch {
            Issue.record("not caught")
        }
        switch error {
        case LAError.userCancel: break
        default: Issue.record("not matched")
        }
    }

    @Test func `An LAError describes itself in words`() {
        #expect(LAError(.passcodeNotSet).localizedDescription == "The keychain has no passcode.")
        let error = LAError(.appCancel, userInfo: [NSLocalizedDescriptionKey: "Enough."])
        #expect(error.localizedDescription == "Enough.")
        #expect((error as any Error).localizedDescription == "Enough.")
    }

    @Test func `LAErrors with the same code and information are equal`() {
        #expect(LAError(.userCancel) == LAError(.userCancel))
        #expect(LAError(.userCancel) != LAError(.appCancel))
        #expect(Set([LAError(.userCancel), LAError(.userCancel)]).count == 1)
    }
}

@Suite struct `Constants of local authentication` {
    @Test func `The constants of LocalAuthentication are those of Apple's systems`() {
        #expect(LAPolicy.deviceOwnerAuthenticationWithBiometrics.rawValue == 1)
        #expect(LAPolicy.deviceOwnerAuthentication.rawValue == 2)
        #expect(LAPolicy.deviceOwnerAuthenticationWithWatch.rawValue == 3)
        #expect(LAPolicy.deviceOwnerAuthenticationWithBiometricsOrWatch.rawValue == 4)
        #expect(LAPolicy.deviceOwnerAuthenticationWithWristDetection.rawValue == 5)
        #expect(kLAPolicyDeviceOwnerAuthenticationWithBiometrics == 1)
        #expect(kLAPolicyDeviceOwnerAuthentication == 2)
        #expect(LABiometryType(rawValue: 1) == .touchID)
        #expect(LABiometryType(rawValue: 2) == .faceID)
        #expect(LABiometryType(rawValue: 4) == .opticID)
        #expect(LACredentialType.applicationPassword.rawValue == 0)
        #expect(LAAccessControlOperation.useKeyKeyExchange.rawValue == 5)
        #expect(LATouchIDAuthenticationMaximumAllowableReuseDuration == 300)
    }

    @Test func `The time of reuse of a context is bounded`() {
        let context = LAContext()
        #expect(context.touchIDAuthenticationAllowableReuseDuration == 0)
        context.touchIDAuthenticationAllowableReuseDuration = 1_000
        #expect(context.touchIDAuthenticationAllowableReuseDuration == 300)
        context.touchIDAuthenticationAllowableReuseDuration = -1
        #expect(context.touchIDAuthenticationAllowableReuseDuration == 0)
    }

    @Test func `A context keeps the values that were set`() {
        let context = LAContext()
        #expect(context.localizedReason == "" && !context.interactionNotAllowed)
        #expect(context.localizedCancelTitle == nil && context.localizedFallbackTitle == nil)
        context.localizedReason = "a"
        context.localizedCancelTitle = "b"
        context.localizedFallbackTitle = ""
        #expect(context.localizedReason == "a" && context.localizedCancelTitle == "b")
        #expect(context.localizedFallbackTitle == "")
    }

    @Test func `A context can be overridden by stand-ins in tests`() async throws {
        // Sendable because it has nothing of its own.
        final class Always: LAContext, @unchecked Sendable {
            override func canEvaluatePolicy(_ policy: LAPolicy, error: NSErrorPointer) -> Bool {
                true
            }
            override func evaluatePolicy(
                _ policy: LAPolicy, localizedReason: String,
                reply: @escaping @Sendable (Bool, (any Error)?) -> Void
            ) {
                reply(true, nil)
            }
        }
        let context: LAContext = Always()
        #expect(unsafe context.canEvaluatePolicy(.deviceOwnerAuthentication, error: nil))
        #expect(try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: ""))
    }
}
