// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore
package import ValetUserPresence

/// What a person is asked with.
package struct AuthenticationMeans: Sendable {
    /// Asks for passcodes.
    package var asker: PasscodeAsker
    /// Reads fingers; nil where that is not built in.
    package var reader: (any BiometryReader)?
    /// How long a person has, where the caller sets no deadline.
    package var timeLimit: Duration
    /// How the application that asks is called.
    package var application: @Sendable () -> String

    /// Those given; by default 60 s.
    package init(
        asker: PasscodeAsker, reader: (any BiometryReader)? = nil,
        timeLimit: Duration = .seconds(60), application: @escaping @Sendable () -> String
    ) {
        self.asker = asker
        self.reader = reader
        self.timeLimit = timeLimit
        self.application = application
    }

    /// Those of this process: its terminal or a pinentry. The descriptor of
    /// `$VALET_PASSCODE_FD` is no person; it unlocks the keychain, and proves nothing.
    package static let ofProcess = AuthenticationMeans(
        asker: .forProcess(readsVariable: false), reader: ProcessReader.value,
        application: { applicationName })

    private static var applicationName: String {
        do throws(KeychainFailure) {
            return try KeychainSession.current().caller.applicationIdentifier
        } catch {
            // The call that is being authenticated fails for the same reason.
            return "An application"
        }
    }
}
