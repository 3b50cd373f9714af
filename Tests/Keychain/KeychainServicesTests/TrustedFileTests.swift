// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel

@testable import ValetKeychainServices

@Suite final class `A file that says who is asking` {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)

    init() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    @Test func `An entitlements file that nobody else can write is read`() throws {
        let path = try file(permissions: 0o644)
        #expect(try IdentityResolver.read(path) == Array("x".utf8))
    }

    @Test func `An entitlements file may be missing`() throws {
        #expect(try IdentityResolver.read(folder.appendingPathComponent("none").path) == nil)
    }

    @Test func `No file can be where a file takes the place of a folder`() throws {
        #expect(try IdentityResolver.read(file(permissions: 0o600) + "/none") == nil)
    }

    // Promise: 3.1
    @Test(arguments: ["none", "link"])
    func `An entitlements file that cannot be looked at may be there`(_ target: String) throws {
        let link = folder.appendingPathComponent("link").path
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        #expect(refusal(of: link + "/folder/file") != nil)
    }

    // Promise: 3.1
    @Test(arguments: [0o664, 0o646, 0o666])
    func `An entitlements file that others may write is refused`(_ permissions: Int) throws {
        let path = try file(permissions: permissions)
        let failure = refusal(of: path)
        #expect(failure?.code == .insecureFiles)
        #expect(failure?.hint == "chmod go-w \(path)")
    }

    @Test func `An entitlements file that is a folder is refused`() {
        #expect(refusal(of: folder.path)?.code == .insecureFiles)
    }

    @Test func `An entitlements file that is a symbolic link is refused`() throws {
        let link = folder.appendingPathComponent("link").path
        let target = try file(permissions: 0o600)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        #expect(refusal(of: link)?.message == "this is not a regular file")
    }

    @Test func `An entitlements file that is a dangling link is refused`() throws {
        let link = folder.appendingPathComponent("link").path
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "none")
        #expect(refusal(of: link)?.code == .insecureFiles)
    }

    private static let isStrict = ProcessInfo.processInfo.environment["REQUIRE_ALL"] == "1"

    @Test(.enabled(if: geteuid() == 0 || isStrict, "needs root, to give a file away"))
    func `An entitlements file of another user is refused`() throws {
        let path = try file(permissions: 0o600)
        try FileManager.default.setAttributes([.ownerAccountID: 12345], ofItemAtPath: path)
        #expect(refusal(of: path)?.message == "the file belongs to another user")
    }

    @Test func `An entitlements file above 1 MiB is refused`() throws {
        let path = folder.appendingPathComponent("large").path
        _ = FileManager.default.createFile(
            atPath: path, contents: Data(count: 1 << 20 + 1), attributes: [.posixPermissions: 0o600]
        )
        #expect(refusal(of: path)?.code == .invalidRequest)
    }

    private func file(permissions: Int) throws -> String {
        let path = folder.appendingPathComponent("file").path
        try Data("x".utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes(
            [.posixPermissions: permissions], ofItemAtPath: path)
        return path
    }

    private func refusal(of path: String) -> KeychainFailure? {
        #expect(throws: KeychainFailure.self) { _ = try IdentityResolver.read(path) }
    }
}
