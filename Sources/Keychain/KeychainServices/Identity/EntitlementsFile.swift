// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing
internal import ValetSystem

/// The entitlements of a program, as `valet entitlements` shows, checks and completes them.
package struct EntitlementsFile {
    /// Where a new file goes.
    package enum Location: String, CaseIterable, Sendable {
        /// For the user, in `$XDG_CONFIG_HOME/valet/entitlements`.
        case user
        /// For all users, in `/etc/valet/entitlements`.
        case machine
        /// Beside the program.
        case program
    }

    private let resolver: IdentityResolver

    /// - Parameters:
    ///   - program: The path of the executable, without symbolic links; nil for the running one.
    ///   - environment: The variables that the program will have.
    package init(ofProgram program: String?, environment: (String) -> String?) {
        resolver = .ofProgram(program ?? IdentityResolver.executablePath(), environment)
    }

    /// The identity of the program if its code declares none.
    ///
    /// - Throws: `insecureFiles`, `invalidRequest` or `inputOutput` for a file that is unusable.
    package func identity() throws(KeychainFailure) -> ApplicationIdentity {
        try resolver.resolve()
    }

    /// The files that could name the program's groups: the one that `$VALET_ENTITLEMENTS` names,
    /// even if it does not exist, and the others that may exist. Only the first one takes effect.
    ///
    /// - Throws: `invalidRequest` for a relative path in the variable.
    package func paths() throws(KeychainFailure) -> [String] {
        let others = resolver.entitlementsPaths.filter(GivenFile.mayExist)
        return try resolver.namedPath().map { [$0] + others } ?? others
    }

    /// The `Info.plist` that would name the program; nil for none.
    package var bundlePath: String? {
        resolver.executablePath.flatMap(BundleInformation.existingPath)
    }

    /// The path of a new file.
    ///
    /// - Throws: `invalidRequest` where there is no such folder, as without `$HOME`.
    package func path(for location: Location) throws(KeychainFailure) -> String {
        let path: String? =
            switch location {
            case .user: resolver.executableName.flatMap(resolver.perUserPath)
            case .machine: resolver.executableName.map(resolver.perMachinePath)
            case .program: resolver.executablePath.map { "\($0).entitlements" }
            }
        guard let path else {
            throw KeychainFailure(
                .invalidRequest, during: Self.operation,
                message: "the user has no folder for settings", hint: "set $HOME")
        }
        return path
    }

    /// Adds groups and an identifier to the file at `path`; creates the file if it is missing.
    /// Everything else in the file stays, byte for byte.
    ///
    /// - Returns: Whether there was anything to add.
    /// - Throws: `invalidRequest` for a file with another identifier, or that cannot be completed;
    ///   as ``identity()`` and `DeclarationFile.write`.
    package static func add(
        groups: [String], identifier: String?, to path: String
    ) throws(KeychainFailure) -> Bool {
        let old = try IdentityResolver.read(path)
        let bytes = old ?? Array((DeclarationFile.head + "</dict>\n</plist>\n").utf8)
        let known = try Entitlements(propertyList: bytes, path: path)
        if let name = known.applicationIdentifier, let identifier, name != identifier {
            throw KeychainFailure(
                .invalidRequest, during: operation,
                message: "the file has the identifier \(name) already", path: path)
        }
        var wanted = known
        wanted.applicationIdentifier = known.applicationIdentifier ?? identifier
        wanted.keychainGroups += groups.filter { !known.keychainGroups.contains($0) }
        guard wanted != known else { return false }
        let new = try PropertyListEdit(bytes, path).adding(
            identifier: known.applicationIdentifier == nil ? identifier : nil,
            groups: Array(wanted.keychainGroups.dropFirst(known.keychainGroups.count)))
        // A program that reads the new text must get exactly `wanted`.
        guard try Entitlements(propertyList: new, path: path) == wanted else {
            throw PropertyListEdit.failure(path)
        }
        try makeFolder(of: path)
        // Another program may have created the file since it was read.
        guard try DeclarationFile.write(new, to: path, replacing: old != nil) else {
            throw KeychainFailure(
                .invalidRequest, during: operation, message: "another program has just made it",
                path: path, hint: "try again")
        }
        return true
    }

    fileprivate static let operation = "complete the entitlements"

    /// Creates those of the last three folders above a file that are missing.
    private static func makeFolder(of path: String) throws(KeychainFailure) {
        var folders = [BundleInformation.folder(of: path)]
        for _ in 0..<2 { folders.append(BundleInformation.folder(of: folders[folders.count - 1])) }
        do {
            for folder in folders.reversed() where !folder.isEmpty {
                try FilePath.makePublicFolder(at: folder)
            }
        } catch {
            throw KeychainFailure(error, during: operation)
        }
    }
}

/// Adds entries to the text of a property list, and leaves the rest as it is.
private struct PropertyListEdit {
    private var bytes: [UInt8]
    private let path: String
    private let places: PropertyList.Places

    init(_ bytes: [UInt8], _ path: String) throws(KeychainFailure) {
        (self.bytes, self.path) = (bytes, path)
        do {
            places = try PropertyList.withPlaces(bytes).places
        } catch {
            throw Self.failure(path)
        }
    }

    static func failure(_ path: String) -> KeychainFailure {
        KeychainFailure(
            .invalidRequest, during: EntitlementsFile.operation,
            message: "this property list cannot be completed", path: path,
            hint: "add the group by hand, under keychain-access-groups")
    }

    /// The text with these entries.
    func adding(identifier: String?, groups: [String]) throws(KeychainFailure) -> [UInt8] {
        var edit = self
        guard let end = places.end else { throw Self.failure(path) }
        let strings = groups.map { "\t\t<string>\(DeclarationFile.escaped($0))</string>\n" }
            .joined()
        let array = places.values["keychain-access-groups"]
        // The edits run from the end of the text to its start, so that the places of later edits
        // stay valid.
        var text = ""
        if let identifier {
            text +=
                "\t<key>application-identifier</key>\n"
                + "\t<string>\(DeclarationFile.escaped(identifier))</string>\n"
        }
        if array == nil, !groups.isEmpty {
            text += "\t<key>keychain-access-groups</key>\n\t<array>\n\(strings)\t</array>\n"
        }
        edit.bytes.insert(contentsOf: Array(text.utf8), at: edit.lineStart(before: end))
        if let array, !groups.isEmpty {
            let closing = bytes[array].lastIndex(of: UInt8(ascii: "<")) ?? array.lowerBound
            if closing == array.lowerBound {
                // It is empty: <array/>.
                edit.bytes.replaceSubrange(
                    array, with: Array("<array>\n\(strings)\t</array>".utf8))
            } else {
                edit.bytes.insert(
                    contentsOf: Array(strings.utf8), at: edit.lineStart(before: closing))
            }
        }
        return edit.bytes
    }

    /// The start of a tag's line if only blanks precede the tag; otherwise the place of the tag.
    private func lineStart(before place: Int) -> Int {
        var start = place
        while start > 0, [0x20, 0x09].contains(bytes[start - 1]) { start -= 1 }
        return start > 0 && bytes[start - 1] == 0x0a ? start : place
    }
}
