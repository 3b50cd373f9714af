// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalAuthentication
import Valet

/// As view controllers have it.
final class Unlocking {
    private let context = LAContext()
    private let secrets = SecureEnclaveValet.valet(
        with: Identifier(nonEmpty: "Unlocking")!, accessControl: .userPresence)
    private let remembered = SinglePromptSecureEnclaveValet.valet(
        with: Identifier(nonEmpty: "Unlocking")!, accessControl: .biometricCurrentSet)

    func unlock(completion: @escaping @Sendable (Result<Void, Error>) -> Void) {
        var error: NSError?
        guard context.canEvaluatePolicy(.deviceOwnerAuthentication, error: &error) else {
            if let error = error { completion(.failure(error)) }
            return
        }
        context.localizedFallbackTitle = ""
        context.localizedCancelTitle = "Not now"
        context.evaluatePolicy(
            .deviceOwnerAuthentication, localizedReason: "Unlock your notes"
        ) { success, error in
            DispatchQueue.main.async {
                if success { completion(.success(())) }
                if let error = error { completion(.failure(error)) }
            }
        }
    }

    func kind() -> String {
        let context = LAContext()
        _ = context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: nil)
        switch context.biometryType {
        case .none: return "passcode"
        case .touchID: return "Touch ID"
        case .faceID: return "Face ID"
        default: return "biometry"
        }
    }

    func biometryHasChanged(since old: Data?) -> Bool {
        context.evaluatedPolicyDomainState != old
    }

    func text(of key: String) throws -> String {
        try secrets.string(forKey: key, withPrompt: "Read your note")
    }

    func keys() throws -> [String] {
        defer { remembered.requirePromptOnNextAccess() }
        return try remembered.allKeys(userPrompt: "List your notes").sorted()
    }

    func save(_ text: String, for key: String) {
        do {
            try secrets.setString(text, forKey: key)
            try remembered.setObject(Data(text.utf8), forKey: key)
        } catch KeychainError.userCancelled {
            print("cancelled")
        } catch {
            print(error)
        }
    }
}

/// What an application has asked for in its own way, in place of the person.
final class Credentials {
    private var context = LAContext()

    func use(_ password: String) -> Bool {
        guard let data = password.data(using: .utf8) else { return false }
        let isSet = context.setCredential(data, type: .applicationPassword)
        return isSet && context.isCredentialSet(.applicationPassword)
    }

    func open(_ completion: @escaping @Sendable (Bool, Error?) -> Void) {
        var error: Unmanaged<CFError>?
        guard
            let access = SecAccessControlCreateWithFlags(
                kCFAllocatorDefault, kSecAttrAccessibleWhenUnlockedThisDeviceOnly,
                [.biometryAny, .or, .devicePasscode], &error)
        else {
            completion(false, error?.takeRetainedValue())
            return
        }
        context.evaluateAccessControl(
            access, operation: .useItem, localizedReason: "Read your note", reply: completion)
    }

    func close() {
        _ = context.setCredential(nil, type: .applicationPassword)
        context.invalidate()
        context = LAContext()
    }
}

func explain(_ error: Error?) -> String {
    guard let error = error as? LAError else { return "unknown" }
    switch error.code {
    case .authenticationFailed: return "wrong"
    case .userCancel, .appCancel, .systemCancel: return "cancelled"
    case .userFallback: return "fallback"
    case .passcodeNotSet: return "no passcode"
    case .biometryNotAvailable, .biometryNotEnrolled, .biometryLockout: return "no biometry"
    case .invalidContext, .notInteractive: return "not now"
    default: return error.localizedDescription
    }
}

func explain(_ error: NSError) -> String {
    switch error.code {
    case LAError.biometryNotEnrolled.rawValue: return "not enrolled"
    case LAError.Code.touchIDNotAvailable.rawValue: return "not there"
    case Int(kLAErrorUserFallback): return "fallback"
    default: return error.domain == LAErrorDomain ? "local authentication" : "other"
    }
}

func read(_ account: String, with context: LAContext) -> Data? {
    context.interactionNotAllowed = true
    let access = SecAccessControlCreateWithFlags(
        nil, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, [.userPresence], nil)
    let query: [String: Any] = [
        kSecClass as String: kSecClassGenericPassword,
        kSecAttrAccount as String: account,
        kSecUseAuthenticationContext as String: context,
        kSecReturnData as String: true,
    ]
    var result: CFTypeRef?
    let status = SecItemCopyMatching(query as CFDictionary, &result)
    guard status == errSecSuccess, access != nil else { return nil }
    return result as? Data
}
