// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetSystem

/// Finds the files of a store of `pass`. Files that are not imported are named, because users
/// delete the store afterwards. ``PassStore`` decrypts the files.
struct PassListing {
    /// Without a slash at its end.
    private let folder: String
    /// The folder without symbolic links.
    private let root: String
    /// The paths of the files, relative to the folder.
    private var names: [String] = []
    private var found = ImportedItems()
    private var folderCount = 0
    /// How many files age has encrypted.
    private var ageCount = 0

    private static let maximumDepth = 32
    private static let suffix = ".gpg"
    /// What pass, gopass and git keep in a store.
    private static let others: Set<String> = [
        ".git", ".gitattributes", ".gitignore", ".gpg-id", ".gpg-id.sig", ".extensions",
        ".public-keys", ".age-recipients",
    ]

    /// - Throws: ``ExitCode/notFound`` if there is no such folder.
    init(_ folder: String) throws(CLIError) {
        self.folder = folder
        guard let root = FilePath.resolved(folder), PathAndFile.entries(of: folder) != nil else {
            throw CLIError(
                .notFound, "there is no store of pass in \(quoted(folder))",
                hint: "name its folder after the options")
        }
        self.root = root
    }

    /// The files, and the entries that are left out.
    consuming func read() throws(CLIError) -> (names: [String], found: ImportedItems) {
        try list("", within: [root])
        guard ageCount == 0 || !names.isEmpty else {
            throw CLIError(
                .failure,
                "gopass has encrypted \(quoted(folder)) with age, which is not read",
                hint: "copy the store, and let 'gopass convert --crypto gpgcli' encrypt it with gpg"
            )
        }
        return (names, found)
    }

    /// Collects the files below a folder of the store.
    ///
    /// - Parameter places: The folder and those above it, without symbolic links.
    private mutating func list(_ path: String, within places: [String]) throws(CLIError) {
        folderCount += 1
        guard folderCount <= ImportedItems.maximumCount else {
            throw .usage("the store has too many folders")
        }
        guard places.count <= Self.maximumDepth else {
            return found.skip(path, "it is more than \(Self.maximumDepth) folders deep")
        }
        guard let entries = PathAndFile.entries(of: path.isEmpty ? folder : "\(folder)/\(path)")
        else { return found.skip(path, "the folder cannot be read") }
        for entry in entries where !Self.others.contains(entry.name) {
            let inner = path.isEmpty ? entry.name : "\(path)/\(entry.name)"
            guard entry.kind == .folder else {
                try add(entry, inner)
                continue
            }
            guard let place = FilePath.resolved("\(folder)/\(inner)") else {
                found.skip(inner, "the folder cannot be read")
                continue
            }
            if let obstacle = obstacle(to: entry, at: place, within: places) {
                found.skip(inner, obstacle)
            } else {
                try list(inner, within: places + [place])
            }
        }
    }

    /// Why a folder is not searched; nil if it is. Links are followed to folders of the store that
    /// do not contain the link, as second names of entries, and to other stores. They are not
    /// followed elsewhere, because they may lead to a whole disk.
    private func obstacle(
        to entry: FolderEntry, at place: String, within places: [String]
    ) -> String? {
        guard entry.isLink else { return nil }
        if places.contains(place) { return "the link leads to a folder that contains it" }
        let isInside = place.utf8.starts(with: "\(root)/".utf8)
        guard isInside || FileIdentity(of: "\(place)/.gpg-id") != nil else {
            return "the link leads out of the store; import \(quoted(place)) by itself"
        }
        return nil
    }

    /// Adds a file, or reports why an entry is skipped.
    private mutating func add(_ entry: FolderEntry, _ path: String) throws(CLIError) {
        let reason: String? =
            switch entry.kind {
            case _ where !entry.isText: "its name is not UTF-8; rename it"
            case .nothing: entry.isLink ? "the link leads nowhere" : "it cannot be read"
            case .special: "it is not a file"
            case .file where entry.name.hasSuffix(".age"):
                "it is encrypted with age, which is not read"
            case _ where !entry.name.hasSuffix(Self.suffix): "its name does not end in .gpg"
            case _ where entry.name == Self.suffix: "it has no name"
            case .file, .folder: nil
            }
        if let reason {
            if entry.name.hasSuffix(".age") { ageCount += 1 }
            return found.skip(path, reason)
        }
        guard names.count < ImportedItems.maximumCount else {
            throw .usage("the store has more than \(ImportedItems.maximumCount) entries")
        }
        names.append(path)
    }
}
