// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

extension TPMError {
    /// Why there is no way to the TPM.
    init(opening place: TPMDevice.Place, errno reason: Int32, during operation: String) {
        let code: Code =
            switch reason {
            case EACCES, EPERM: .noPermission(group: Self.groupName(of: place))
            default: .noDevice
            }
        self.init(code, during: operation, systemError: reason)
    }

    /// The group whose members may use the device, by name or else by number; nil if the group may
    /// not, or nobody can tell.
    private static func groupName(of place: TPMDevice.Place) -> String? {
        var facts = stat()
        guard unsafe stat(place.path, &facts) == 0, facts.st_mode & 0o060 == 0o060 else {
            return nil
        }
        var room = [CChar](repeating: 0, count: 4096)
        var entry = unsafe group()
        var found: UnsafeMutablePointer<group>?
        let result = unsafe getgrgid_r(facts.st_gid, &entry, &room, room.count, &found)
        guard result == 0, unsafe found != nil, let name = unsafe entry.gr_name else {
            return "\(facts.st_gid)"
        }
        return unsafe String(cString: name)
    }
}
