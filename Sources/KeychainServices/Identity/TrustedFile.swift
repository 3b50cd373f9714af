// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel

/// Reads files that say who an application is.
enum TrustedFile {
    static let flatpakInfoPath = "/.flatpak-info"
    private static let greatestByteCount = 1 << 20

    /// The contents of the file; nil if there is none.
    ///
    /// - Throws: `insecureFiles` unless it is a regular file of root or of the user that nobody
    ///   else may write; `invalidRequest` if it is larger than 1 MiB; `inputOutput`.
    static func read(_ path: String) throws(KeychainFailure) -> Data? {
        let files = FileManager.default
        // Most programs have none of these files; a link that leads nowhere is refused below.
        let isLink = (try? files.destinationOfSymbolicLink(atPath: path)) != nil
        guard isLink || files.fileExists(atPath: path) else { return nil }
        let before = try Facts(path)
        try before.check(path)
        guard let contents = files.contents(atPath: path) else {
            throw failure(.inputOutput, "the file cannot be read", path)
        }
        // Not another file put in its place between the check and the reading.
        guard try Facts(path) == before else {
            throw failure(.insecureFiles, "the file changed while it was read", path)
        }
        return contents
    }

    /// What decides whether a file is trusted.
    struct Facts: Hashable {
        var isRegular: Bool
        var owner: UInt32
        var permissions: Int
        var byteCount: Int
        var number: Int

        /// Looks at the file itself, not at what a link leads to.
        init(_ path: String) throws(KeychainFailure) {
            guard let facts = try? FileManager.default.attributesOfItem(atPath: path) else {
                throw failure(.inputOutput, "the file's owner cannot be read", path)
            }
            isRegular = facts[.type] as? FileAttributeType == .typeRegular
            owner = (facts[.ownerAccountID] as? NSNumber)?.uint32Value ?? .max
            permissions = (facts[.posixPermissions] as? NSNumber)?.intValue ?? 0o777
            byteCount = (facts[.size] as? NSNumber)?.intValue ?? .max
            number = (facts[.systemFileNumber] as? NSNumber)?.intValue ?? 0
        }

        func check(_ path: String) throws(KeychainFailure) {
            if !isRegular {
                throw failure(.insecureFiles, "this is not a regular file", path)
            }
            if owner != 0 && owner != geteuid() && !isOfRootOutsideSandbox {
                throw failure(
                    .insecureFiles, "the file belongs to another user", path,
                    hint: geteuid() == 0
                        ? "run as user \(owner), or use a file of root's"
                        : "as root: chown \(geteuid()) \(path)")
            }
            if permissions & 0o022 != 0 {
                throw failure(
                    .insecureFiles, "others may write the file", path, hint: "chmod go-w \(path)")
            }
            if byteCount > greatestByteCount {
                throw failure(.invalidRequest, "the file is larger than 1 MiB", path)
            }
        }

        /// In a Flatpak sandbox root's files seem to belong to the user id for unknown users.
        private var isOfRootOutsideSandbox: Bool {
            owner == 65534 && FileManager.default.fileExists(atPath: flatpakInfoPath)
        }
    }

    private static func failure(
        _ code: KeychainFailure.Code, _ message: String, _ path: String, hint: String? = nil
    ) -> KeychainFailure {
        KeychainFailure(
            code, during: IdentityResolver.operation, message: message, path: path, hint: hint)
    }
}
