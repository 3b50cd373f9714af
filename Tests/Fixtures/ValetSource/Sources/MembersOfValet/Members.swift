// SPDX-License-Identifier: Apache-2.0

// Nothing else is imported: the members of what this module shows come with it.
import Valet

func reasonOfLastFailure() -> String? {
    guard let failure = KeychainFailure.last else { return nil }
    switch failure.code {
    case .locked: return "locked"
    case .itemNotFound where failure.hint == nil: return nil
    default: return "\(failure.status) while it was to \(failure.operation): \(failure.message)"
    }
}

func isNotFound(_ failure: KeychainFailure) -> Bool {
    failure.code == .itemNotFound && failure.path == nil
}

func prepare() throws(KeychainFailure) {
    try ValetKeychain.configure(
        applicationIdentifier: "com.example.mail", accessGroups: ["ABC.com.example"])
    ValetKeychain.requireProtectionLevel(.file)
}

func state() throws(KeychainFailure) -> (state: ValetKeychain.LockState, isStrong: Bool) {
    (try ValetKeychain.lockState, (try ValetKeychain.protectionLevel ?? .file) >= .passcode)
}

func watch() async throws(KeychainFailure) -> Int {
    var locks = 0
    try await ValetKeychain.waitUntilAvailable(for: .whenUnlocked, deadline: .now + .seconds(1))
    for try await state in ValetKeychain.lockStateChanges where state == .locked { locks += 1 }
    return locks
}

func tell(_ valet: Valet) async throws {
    do {
        for try await change in try valet.keyChanges() { print(change) }
    } catch let failure as KeychainFailure where failure.code == .damaged {
        print(failure.description)
    }
}
