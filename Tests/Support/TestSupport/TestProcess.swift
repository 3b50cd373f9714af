// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainServices

/// The keychain and the identity of the process that runs the tests.
///
/// Both are fixed at their first use, so every suite that works with them begins here.
package enum TestProcess {
    /// Where items go by default.
    package static let defaultGroup = "contract.default"
    /// Another group of the application.
    package static let sharedGroup = "contract.shared"
    /// A group named as shared valets name theirs.
    package static let valetGroup = "ABC.com.example"
    /// The name of the application; also the last of its groups.
    package static let applicationIdentifier = "contract.application"

    /// Puts the keychain of this process into a temporary folder and names the application.
    ///
    /// Always true: a failure ends the process, as tests of the embedded keychain would otherwise
    /// be left out without a word.
    package static let isPrepared: Bool = {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("valet-tests-\(UUID().uuidString)")
        unsafe setenv("VALET_HOME", folder.path, 1)
        // Other suites of this process use temporary keychains.
        SessionOverride.allowOthers()
        atexit { TestProcess.removeHome() }
        do {
            try ValetKeychain.configure(
                applicationIdentifier: applicationIdentifier,
                accessGroups: [defaultGroup, sharedGroup, valetGroup])
            return true
        } catch {
            preconditionFailure("the tests cannot name their process: \(error)")
        }
    }()

    private static func removeHome() {
        guard let path = ProcessInfo.processInfo.environment["VALET_HOME"],
            path.contains("/valet-tests-")
        else { return }
        try? FileManager.default.removeItem(atPath: path)
    }
}
