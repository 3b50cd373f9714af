// SPDX-License-Identifier: Apache-2.0

internal import Foundation
public import ValetKeychainModel

/// The keychain of this process.
public enum ValetKeychain {
    /// Sets the identity of this application, in place of entitlements and the executable's name.
    ///
    /// To be called before anything else of the keychain; once it was used, only what is in effect
    /// may be said again.
    ///
    /// - Parameters:
    ///   - applicationIdentifier: The name under which the application's items are kept.
    ///   - accessGroups: The groups it shares with others; new items go to the first. The group
    ///     named like the application always comes last.
    /// - Throws: `invalidRequest` if a name is empty, or if the keychain is in use under another
    ///   identity.
    public static func configure(
        applicationIdentifier: String, accessGroups: [String] = []
    ) throws(KeychainFailure) {
        if applicationIdentifier.isEmpty || accessGroups.contains("") {
            throw KeychainFailure(
                .invalidRequest, during: "configure the keychain", message: "a name is empty")
        }
        let groups = Entitlements.ordered(accessGroups + [applicationIdentifier])
        try ApplicationIdentity.configure(applicationIdentifier, groups)
    }
}
