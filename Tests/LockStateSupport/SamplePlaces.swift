// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import ValetLockState
package import ValetSealing

/// Folders of keychains for tests, which processes of one user find by the keychain's id.
package enum SamplePlaces {
    /// The places of a keychain: folders of this user's in `base`, which all users may write.
    ///
    /// - Parameter runtimeRoot: Where the runtime folders of users are; nil for nowhere.
    package static func places(
        of keychain: KeychainID, in base: String, runtimeRoot: String? = nil
    ) -> SharingPlaces {
        let own = "\(base)/\(geteuid())"
        let folder = "\(own)/\(keychain)"
        for path in [own, folder, folder + "/device"] { _ = unsafe mkdir(path, 0o700) }
        return SharingPlaces(
            folder: folder, deviceFolder: folder + "/device",
            runtimeRoot: runtimeRoot ?? base + "/none")
    }
}
