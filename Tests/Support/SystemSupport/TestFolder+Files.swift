// SPDX-License-Identifier: Apache-2.0

import Foundation
package import ValetSystem
package import ValetTestValues

/// What tests of files do to a folder, and the folder as `System` sees it.
extension TestFolder {
    /// The folder as the module sees it.
    package func directory() throws -> PrivateDirectory {
        try PrivateDirectory.open(path, creating: false)
    }

    /// Gives a file a second name.
    package func linkHard(_ name: String, to old: String) {
        unsafe _ = Foundation.link(path(old), path(name))
    }

    /// Removes a file.
    package func remove(_ name: String) { unsafe _ = unlink(path(name)) }

    /// Renames a file or folder.
    package func rename(_ name: String, to new: String) {
        unsafe _ = Foundation.rename(path(name), path(new))
    }

    /// Makes the file that of `nobody`; takes root.
    package func giveAway(_ name: String) { unsafe _ = chown(path(name), 65_534, 65_534) }
}
