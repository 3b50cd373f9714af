// SPDX-License-Identifier: Apache-2.0

extension BackupError: CustomStringConvertible {
    /// One lower-case line: operation, reason, path, place and `errno`; nothing of the contents.
    package var description: String {
        var text = "could not \(operation): \(code.explanation)"
        if let path { text += " (\(path))" }
        if let place { text += ", \(place)" }
        if let systemError { text += ", errno \(systemError)" }
        return text
    }

    /// The reason, and the place in the file: the caller says the rest.
    package var reason: String {
        place.map { "\(code.explanation), \($0)" } ?? code.explanation
    }

    /// What helps, for a person; nil where nothing but the error itself can be said.
    package var hint: String? {
        switch code {
        case .wrongPassphrase:
            "it is the passphrase that was chosen when this backup was made; case and spaces count"
        case .emptyPassphrase: "choose a passphrase"
        case .damaged: "use another copy of this backup, or an older one"
        case .truncated: "the file was not copied whole: copy it again"
        case .notABackup: "name a file that `valet backup create` has made"
        case .newer: "use a newer version of valet"
        case .destinationExists: "choose another name; `--force` replaces the file"
        case .unsuitablePath: "name a file that is neither a link nor a folder"
        case .missing: "check the path"
        case .denied: "choose a place where you may read and write"
        case .diskFull: "make room, or choose another disk"
        case .tooLarge: "see `ulimit -f`, and what the file system allows"
        case .outOfMemory: "end other programs, or use a machine with more memory"
        case .notMigratable, .invalidItem, .io: nil
        }
    }
}

extension BackupError.Code {
    fileprivate var explanation: String {
        switch self {
        case .wrongPassphrase: "wrong passphrase"
        case .emptyPassphrase: "the passphrase is empty"
        case .damaged: "it is damaged"
        case .truncated: "its end is missing"
        case .notABackup: "it is not a backup"
        case .newer: "it was made by a newer version"
        case .notMigratable: "the item may not leave this device"
        case .invalidItem: "no item can be like this"
        case .tooLarge: "too large"
        case .destinationExists: "the file exists already"
        case .unsuitablePath: "something else stands where a file must be"
        case .missing: "there is no such file or folder"
        case .denied: "permission denied, or read-only"
        case .diskFull: "no space left"
        case .outOfMemory: "not enough memory"
        case .io: "input or output failed"
        }
    }
}

extension BackupError.Place: CustomStringConvertible {
    /// `in the header`, `in chunk 3`, `after the last chunk`.
    package var description: String {
        switch self {
        case .header: "in the header"
        case .chunk(let number): "in chunk \(number)"
        case .end: "after the last chunk"
        }
    }
}
