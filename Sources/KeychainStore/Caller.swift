// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel

/// The application on whose behalf a call is made.
package struct Caller: Hashable, Sendable {
    /// The name that the application's own group has, too.
    package let applicationIdentifier: String
    /// The groups it may use; the first is where its items go by default.
    package let accessGroups: [AccessGroup]
    /// The program's path, recorded with the identifier so that `doctor` can tell when another
    /// program goes by the same name; nil when the caller acts for another program.
    package let executablePath: String?
    /// What to do to get a group that is missing, for people.
    package var groupHint: String?

    /// A caller; without groups of its own it has the one named like the application.
    package init(
        applicationIdentifier: String, accessGroups: [AccessGroup] = [],
        executablePath: String? = nil, groupHint: String? = nil
    ) {
        self.applicationIdentifier = applicationIdentifier
        self.accessGroups =
            accessGroups.isEmpty ? [AccessGroup(applicationIdentifier)] : accessGroups
        self.executablePath = executablePath
        self.groupHint = groupHint
    }
}
