// SPDX-License-Identifier: Apache-2.0

package import Foundation
internal import ValetKeychainModel

/// What an application says about itself in the `Info.plist` from which Foundation makes
/// `Bundle.main`. ``IdentityResolver`` reads it; `valet entitlements init` writes it.
package struct BundleInformation: Hashable, Sendable {
    /// `CFBundleIdentifier`.
    package var identifier: String?
    /// `CFBundleExecutable`: the only program that the list is about; nil for every program beside
    /// it.
    package var executable: String?
    /// `CFBundleName`.
    package var name: String?
    /// `CFBundleVersion` and `CFBundleShortVersionString`.
    package var version: String?

    /// What a program of that name is called.
    package init(identifier: String, executable: String) {
        self.identifier = identifier
        self.executable = executable
        name = executable
        version = "1.0"
    }

    /// The paths at which Foundation looks on Linux, the first that exists counts.
    ///
    /// - Parameter program: The program's path without symbolic links.
    package static func paths(ofProgram program: String) -> [String] {
        let folder = folder(of: program)
        var folders = ["Contents/", "Resources/", "Support Files/", ""].map { "\(folder)/\($0)" }
        if folder.hasSuffix(packaged) {
            folders.insert("\(folder.dropLast("Linux".count))", at: 0)
        }
        return folders.map { $0 + "Info.plist" }
    }

    /// Where a new list for `program` goes: `Contents` beside it, or around it in a package such as
    /// `Mail.app/Contents/Linux/mail`.
    package static func pathToCreate(forProgram program: String) -> String {
        let folder = folder(of: program)
        return folder.hasSuffix(packaged)
            ? "\(folder.dropLast("Linux".count))Info.plist" : "\(folder)/Contents/Info.plist"
    }

    /// The property list as XML.
    package func propertyList() throws -> Data {
        var list = [
            "CFBundleInfoDictionaryVersion": "6.0", "CFBundlePackageType": "APPL",
        ]
        list["CFBundleIdentifier"] = identifier
        list["CFBundleExecutable"] = executable
        list["CFBundleName"] = name
        list["CFBundleVersion"] = version
        list["CFBundleShortVersionString"] = version
        return try PropertyListEncoder.xml.encode(list)
    }

    private static let packaged = "/Contents/Linux"

    private static func folder(of program: String) -> String {
        String(program[..<(program.lastIndex(of: "/") ?? program.startIndex)])
    }
}

extension BundleInformation {
    /// Reads a property list; keys that do not name the application do not matter.
    ///
    /// - Throws: `invalidRequest` if it is not a property list, or a name is of a wrong type,
    ///   empty, or a build setting that was never replaced.
    init(propertyList bytes: Data, path: String) throws(KeychainFailure) {
        let contents = try Entitlements.decoded(Contents.self, from: bytes, path: path)
        identifier = contents.identifier
        executable = contents.executable
        if let identifier { try Entitlements.check(identifier, path) }
    }

    private struct Contents: Decodable {
        var identifier: String?
        var executable: String?

        enum CodingKeys: String, CodingKey {
            case identifier = "CFBundleIdentifier"
            case executable = "CFBundleExecutable"
        }
    }
}

extension PropertyListEncoder {
    fileprivate static var xml: PropertyListEncoder {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .xml
        return encoder
    }
}
