// SPDX-License-Identifier: Apache-2.0

package import ValetSync

/// Files that desktops and copying programs leave beside the files of a store.
///
/// A store never reads a name that is not exactly one of its own, so these do no harm. They are
/// listed here only to leave them out of reports: the user can do nothing about them.
enum ForeignFiles {
    private static let names: Set<String> = [
        "desktop.ini", "thumbs.db", "ehthumbs.db", "icon\r", "icon", "lost+found", "@eadir",
        "#recycle", "$recycle.bin", "system volume information", "__macosx",
    ]
    /// Endings of names in lower case: of files that are being copied, and of editors' copies.
    private static let ends = [
        ".tmp", ".part", ".partial", ".filepart", ".crdownload", ".swp", ".bak", ".!sync", ".bts",
        ".lock", ".lnk", "~",
    ]
    /// How many names of foreign files a listing has at most.
    static let toldCount = 3

    /// Whether reports leave out a file.
    ///
    /// Hidden files are ignored: .DS_Store, ._*, .directory, .stfolder, .syncthing.*.tmp, .dropbox,
    /// ._sync_*.db, .nfs*, .fuse_hidden* and others. So are copies that a program made of a file of
    /// the store: "(conflicted copy …)", ".sync-conflict-…", "_conflict-…", "(1)", " - Copy".
    static func isOfOtherProgram(_ name: Span<UInt8>) -> Bool {
        guard !name.isEmpty else { return true }
        if [UInt8(ascii: "."), UInt8(ascii: "~")].contains(name[0]) { return true }
        if beginsLikeFileOfStore(name) { return true }
        let text = text(of: name).lowercased()
        return names.contains(text) || ends.contains { text.hasSuffix($0) }
            || text.hasPrefix("circle") && text.includes("conflict")
    }

    /// Whether a name goes on after that of a file of ours: 16 digits of a number, perhaps a part,
    /// and 32 digits of a hash.
    private static func beginsLikeFileOfStore(_ name: Span<UInt8>) -> Bool {
        for byteCount in [16 + 33, 16 + 17 + 33] where name.count > byteCount {
            if StoreNames.name(name.extracting(first: byteCount), hasHash: true) != nil {
                return true
            }
        }
        return false
    }

    static func text(of name: Span<UInt8>) -> String {
        String(decoding: name.indices.map { name[$0] }, as: UTF8.self)
    }
}

extension StoreListing {
    package mutating func addForeign(_ name: Span<UInt8>) {
        guard !ForeignFiles.isOfOtherProgram(name) else { return }
        foreignCount += 1
        if foreignNames.count < ForeignFiles.toldCount {
            foreignNames.append(ForeignFiles.text(of: name))
        }
    }
}
