// SPDX-License-Identifier: Apache-2.0

#if canImport(ObjectiveC)
    internal import Foundation

    /// The class methods under their Objective-C names. They return nil for an empty identifier
    /// and for a prefix that the system does not have.
    @available(swift, obsoleted: 1.0)
    extension Valet {
        /// See ``valet(with:accessibility:)``.
        @objc(valetWithIdentifier:accessibility:)
        public class func objectiveCValet(
            identifier: String, accessibility: Accessibility
        ) -> Valet? {
            Identifier(nonEmpty: identifier).map { valet(with: $0, accessibility: accessibility) }
        }

        /// See ``iCloudValet(with:accessibility:)``.
        @objc(iCloudValetWithIdentifier:accessibility:)
        public class func objectiveCCloudValet(
            identifier: String, accessibility: CloudAccessibility
        ) -> Valet? {
            Identifier(nonEmpty: identifier)
                .map { iCloudValet(with: $0, accessibility: accessibility) }
        }

        /// See ``valet(withExplicitlySet:accessibility:)``.
        @objc(valetWithExplicitlySetIdentifier:accessibility:)
        public class func objectiveCValet(
            explicitlySet identifier: String, accessibility: Accessibility
        ) -> Valet? {
            Identifier(nonEmpty: identifier)
                .map { valet(withExplicitlySet: $0, accessibility: accessibility) }
        }

        /// See ``iCloudValet(withExplicitlySet:accessibility:)``.
        @objc(iCloudValetWithExplicitlySetIdentifier:accessibility:)
        public class func objectiveCCloudValet(
            explicitlySet identifier: String, accessibility: CloudAccessibility
        ) -> Valet? {
            Identifier(nonEmpty: identifier)
                .map { iCloudValet(withExplicitlySet: $0, accessibility: accessibility) }
        }

        /// See ``sharedGroupValet(with:identifier:accessibility:)``.
        @objc(sharedGroupValetWithAppIDPrefix:sharedGroupIdentifier:accessibility:)
        public class func objectiveCSharedGroupValet(
            appIDPrefix: String, sharedGroupIdentifier: String, accessibility: Accessibility
        ) -> Valet? {
            SharedGroupIdentifier(appIDPrefix: appIDPrefix, nonEmptyGroup: sharedGroupIdentifier)
                .map { sharedGroupValet(with: $0, accessibility: accessibility) }
        }

        /// See ``sharedGroupValet(with:identifier:accessibility:)``.
        @objc(sharedGroupValetWithGroupPrefix:sharedGroupIdentifier:accessibility:)
        public class func objectiveCSharedGroupValet(
            groupPrefix: String, sharedGroupIdentifier: String, accessibility: Accessibility
        ) -> Valet? {
            SharedGroupIdentifier(groupPrefix: groupPrefix, nonEmptyGroup: sharedGroupIdentifier)
                .map { sharedGroupValet(with: $0, accessibility: accessibility) }
        }

        /// See ``iCloudSharedGroupValet(with:identifier:accessibility:)``.
        @objc(iCloudValetWithAppIDPrefix:sharedGroupIdentifier:accessibility:)
        public class func objectiveCCloudSharedGroupValet(
            appIDPrefix: String, sharedGroupIdentifier: String, accessibility: CloudAccessibility
        ) -> Valet? {
            SharedGroupIdentifier(appIDPrefix: appIDPrefix, nonEmptyGroup: sharedGroupIdentifier)
                .map { iCloudSharedGroupValet(with: $0, accessibility: accessibility) }
        }

        /// See ``iCloudSharedGroupValet(with:identifier:accessibility:)``.
        @objc(iCloudValetWithGroupPrefix:sharedGroupIdentifier:accessibility:)
        public class func objectiveCCloudSharedGroupValet(
            groupPrefix: String, sharedGroupIdentifier: String, accessibility: CloudAccessibility
        ) -> Valet? {
            SharedGroupIdentifier(groupPrefix: groupPrefix, nonEmptyGroup: sharedGroupIdentifier)
                .map { iCloudSharedGroupValet(with: $0, accessibility: accessibility) }
        }
    }
#endif
