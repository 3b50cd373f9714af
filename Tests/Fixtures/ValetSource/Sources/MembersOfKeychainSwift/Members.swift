// SPDX-License-Identifier: Apache-2.0

// Nothing else is imported: the members of what this module shows come with it.
import KeychainSwift

func reasonOfLastFailure() -> String? {
    guard let failure = KeychainFailure.last else { return nil }
    return failure.code == .locked ? "locked" : failure.message
}

func token() -> String? {
    do {
        return try KeychainSwift().throwing.get("token")
    } catch {
        print(error.code == .itemNotFound ? "none" : "\(error.status) \(error.hint ?? "")")
        return nil
    }
}

func save(_ token: String) -> OSStatus {
    let keychain = KeychainSwift()
    keychain.set(token, forKey: "token")
    return keychain.lastResultCode == noErr ? noErr : keychain.lastResultCode
}
