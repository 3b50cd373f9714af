// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

/// A property list that declares something about an application, with checks of what it declares.
struct DeclarationFile {
    private let values: [String: PropertyList]
    private let path: String

    /// - Throws: `invalidRequest` unless `bytes` are a property list whose root is a dictionary.
    init(_ bytes: [UInt8], path: String) throws(KeychainFailure) {
        self.path = path
        do throws(SystemError) {
            guard case .dictionary(let values) = try PropertyList(bytes) else {
                throw .propertyList(.malformed)
            }
            self.values = values
        } catch {
            let message =
                switch error.code {
                case .unsupported:
                    "this is a binary property list: convert it to XML, with `plistutil -i FILE "
                        + "-o FILE -f xml`, or `plutil -convert xml1 FILE` on macOS"
                case .tooLarge: "this property list is nested too deeply"
                default: "this is not a property list with a dictionary"
                }
            throw Self.invalid(message, path)
        }
    }

    /// The text under `key`; nil if the file does not have the key.
    func text(_ key: String) throws(KeychainFailure) -> String? {
        switch values[key] {
        case nil: return nil
        case .text(let text): return text
        case .array, .dictionary, .other: throw wrongType(key)
        }
    }

    /// The texts under `key`; none if the file does not have the key.
    func texts(_ key: String) throws(KeychainFailure) -> [String] {
        switch values[key] {
        case nil: return []
        case .array(let values):
            return try values.map { (value) throws(KeychainFailure) in
                guard case .text(let text) = value else { throw wrongType(key) }
                return text
            }
        case .text, .dictionary, .other: throw wrongType(key)
        }
    }

    /// Throws `invalidRequest` for an empty name, or one with a variable that was not replaced.
    func check(_ name: String) throws(KeychainFailure) {
        if name.isEmpty { throw Self.invalid("a name is empty", path) }
        // As in `$(AppIdentifierPrefix)`, which Apple's tools replace when they sign.
        if name.hasPart("$(") {
            throw Self.invalid("a name contains a variable that was not replaced", path)
        }
    }

    private func wrongType(_ key: String) -> KeychainFailure {
        Self.invalid("\(key) is of a wrong type", path)
    }

    private static func invalid(_ message: String, _ path: String) -> KeychainFailure {
        KeychainFailure(
            .invalidRequest, during: IdentityResolver.operation, message: message, path: path)
    }

    // MARK: - Writing

    /// What every property list begins with.
    static let head = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" \
        "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">
        <dict>

        """

    static func escaped(_ text: String) -> String {
        text.reduce(into: "") { escaped, character in
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            default: escaped.append(character)
            }
        }
    }

    /// Writes a property list atomically. Everybody may read it, whatever the umask, and only the
    /// user may write it: programs refuse a list that others can write.
    ///
    /// - Returns: Whether it was written: false if there is a file and `replacing` is false.
    /// - Throws: ``KeychainFailure``: `inputOutput`, `readOnly`, `diskFull`, `insecureFiles` for
    ///   something else in its place.
    static func write(
        _ bytes: [UInt8], to path: String, replacing: Bool
    ) throws(KeychainFailure) -> Bool {
        do {
            try FilePath.makePublicFolder(at: BundleInformation.folder(of: path))
            var file = try AtomicFile(at: path, replacing: replacing, isPublic: true)
            try file.append(bytes.span)
            try file.commit()
            return true
        } catch {
            if error.code == .alreadyExists { return false }
            throw KeychainFailure(error, during: "write \(path)")
        }
    }
}
