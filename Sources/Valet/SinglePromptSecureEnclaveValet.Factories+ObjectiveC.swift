// SPDX-License-Identifier: Apache-2.0

#if canImport(ObjectiveC)
    internal import Foundation

    /// The class methods under their Objective-C names. They return nil for an empty identifier
    /// and for a prefix that the system does not have.
    @available(swift, obsoleted: 1.0)
    extension SinglePromptSecureEnclaveValet {
        /// See ``valet(with:accessControl:)``.
        @objc(valetWithIdentifier:accessControl:)
        public class func objectiveCValet(
            identifier: String, accessControl: SecureEnclaveAccessControl
        ) -> SinglePromptSecureEnclaveValet? {
            Identifier(nonEmpty: identifier).map { valet(with: $0, accessControl: accessControl) }
        }

        /// See ``sharedGroupValet(with:identifier:accessControl:)``.
        @objc(sharedGroupValetWithAppIDPrefix:sharedGroupIdentifier:accessControl:)
        public class func objectiveCSharedGroupValet(
            appIDPrefix: String, sharedGroupIdentifier: String,
            accessControl: SecureEnclaveAccessControl
        ) -> SinglePromptSecureEnclaveValet? {
            SharedGroupIdentifier(appIDPrefix: appIDPrefix, nonEmptyGroup: sharedGroupIdentifier)
                .map { sharedGroupValet(with: $0, accessControl: accessControl) }
        }

        /// See ``sharedGroupValet(with:identifier:accessControl:)``.
        @objc(sharedGroupValetWithGroupPrefix:sharedGroupIdentifier:accessControl:)
        public class func objectiveCSharedGroupValet(
            groupPrefix: String, sharedGroupIdentifier: String,
            accessControl: SecureEnclaveAccessControl
        ) -> SinglePromptSecureEnclaveValet? {
            SharedGroupIdentifier(groupPrefix: groupPrefix, nonEmptyGroup: sharedGroupIdentifier)
                .map { sharedGroupValet(with: $0, accessControl: accessControl) }
        }
    }
#endif
