// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetDatabase
import ValetKeychainModel
import ValetSealing
import ValetSystem
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// docs/FORMAT.md §3.2.
@Suite struct `A device secret that is given` {
    private let folder = TestFolder()
    private let caller = Caller(applicationIdentifier: "app")

    /// Where one is given.
    enum Way: CaseIterable {
        case credential, path
    }

    private func secret(_ byteCount: Int = 32) -> [UInt8] { Randomness.bytes(byteCount) }

    private func location(_ ways: Set<Way>, home: String = "home") throws -> KeychainLocation {
        var values = ["VALET_HOME": folder.path + "/" + home]
        if ways.contains(.credential) { values["CREDENTIALS_DIRECTORY"] = folder.path }
        if ways.contains(.path) { values["VALET_DEVICE_KEY_FILE"] = folder.path + "/key" }
        return try KeychainLocation(Environment(values))
    }

    private func name(_ way: Way) -> String { way == .path ? "key" : "valet.device-key" }

    private func add(_ location: KeychainLocation, _ account: String = "a") throws {
        let store = ItemStore(location)
        defer { store.close() }
        let addition = Addition(.generic(account), value: .text("v"))
        _ = try store.add(addition, for: caller)
    }

    private func value(_ location: KeychainLocation) throws -> String? {
        let store = ItemStore(location)
        defer { store.close() }
        return try store.value(of: .exact("a"), for: caller).map {
            String(decoding: $0.array, as: UTF8.self)
        }
    }

    @Test(arguments: Way.allCases)
    func `A given device secret may be 32 bytes`(_ way: Way) throws {
        try folder.write(secret(), name(way))
        let location = try location([way])
        try add(location)
        #expect(try value(location) == "v")
        let store = ItemStore(location)
        #expect(try store.keychain.status().level == .credential)
        #expect(try store.keychain.status().deviceKeyPath == folder.path + "/" + name(way))
        #expect(!folder.has("home/device"))
        store.close()
    }

    /// The device key of one keychain, which its host now keeps, makes a keychain of that id.
    @Test(arguments: Way.allCases)
    func `A given device secret may be a complete device key file`(_ way: Way) throws {
        let file = DeviceKeyFile(keychainID: .random(), secret: .random())
        try folder.write(file.encoded.withBytes { [UInt8](copying: $0) }, name(way))
        let location = try location([way])
        try add(location)
        #expect(try value(location) == "v")
        let store = ItemStore(location)
        #expect(try store.keychain.status().keychainID == file.keychainID?.description)
        store.close()
    }

    @Test(arguments: Way.allCases, [0, 1, 31, 33, 64, 121, 122, 123, 4096])
    func `A given device secret of another size is refused`(_ way: Way, _ byteCount: Int) throws {
        try folder.write(secret(byteCount), name(way))
        let location = try location([way])
        #expect(failure { try add(location) } == .keyUnavailable)
        #expect(!folder.has("home/keychain.db"))
    }

    @Test(arguments: Way.allCases, [0o644, 0o604, 0o602, 0o640])
    func `A given device secret that others may read is refused`(_ way: Way, _ mode: Int) throws {
        try folder.write(secret(), name(way), mode: mode)
        let location = try location([way])
        // A service manager lets a group of its choice read what belongs to root.
        let isGroupOfRoot = mode == 0o640 && geteuid() == 0
        #expect(failure { try add(location) } == (isGroupOfRoot ? nil : .insecureFiles))
    }

    @Test(arguments: Way.allCases)
    func `A given device secret is looked for only where the keychain says`(_ way: Way) throws {
        let bytes = secret()
        for way in Way.allCases { try folder.write(bytes, name(way)) }
        try add(location([way]))
        let other = Way.allCases.first { $0 != way }
        let elsewhere = try location(other.map { [$0] } ?? [])
        #expect(failure { _ = try value(elsewhere) } == .keyUnavailable)
        #expect(failure { try add(elsewhere, "b") } == .keyUnavailable)
        #expect(failure { _ = try value(try location([])) } == .keyUnavailable)
        #expect(try value(location([.credential, .path])) == "v")
    }

    @Test(arguments: Way.allCases)
    func `A wrong device secret is refused`(_ way: Way) throws {
        try folder.write(secret(), name(way))
        let location = try location([way])
        try add(location)
        try folder.write(secret(), name(way))
        #expect(failure { _ = try value(location) } == .keyUnavailable)
        let stranger = DeviceKeyFile(keychainID: .random(), secret: .random())
        try folder.write(stranger.encoded.withBytes { [UInt8](copying: $0) }, name(way))
        #expect(failure { _ = try value(location) } == .keyUnavailable)
        try folder.remove(name(way))
        #expect(failure { _ = try value(location) } == .keyUnavailable)
    }

    @Test func `A path to a device secret outranks a credential, and both outrank the file`() throws
    {
        try folder.write(secret(), "key")
        try folder.write(secret(), "valet.device-key")
        try add(location([.credential, .path]))
        #expect(try value(location([.path])) == "v")
        try add(location([.credential], home: "other"))
        #expect(!folder.has("other/device"))
    }

    @Test func `A device secret that a service lacks is replaced by the file`() throws {
        let location = try location([.credential])
        try add(location)
        #expect(folder.has("home/device/device.key"))
        try folder.write(secret(), "valet.device-key")
        #expect(try value(location) == "v")
    }

    @Test func `A database that is away, while its log has changes, is missing and not absent`()
        throws
    {
        let location = try location([.path])
        try folder.write(secret(), name(.path))
        try add(location)
        let files = ["keychain.db", "keychain.db-wal"].map { folder.path + "/home/" + $0 }
        let log = try Data(contentsOf: URL(fileURLWithPath: files[1]))
        try FileManager.default.moveItem(atPath: files[0], toPath: files[0] + ".away")
        try folder.write([UInt8](repeating: 1, count: 40), "home/keychain.db-wal", mode: 0o600)
        #expect(failure { _ = try value(location) } == .incomplete)
        #expect(failure { try add(location) } == .incomplete)
        try folder.write([UInt8](log), "home/keychain.db-wal", mode: 0o600)
        try FileManager.default.moveItem(atPath: files[0] + ".away", toPath: files[0])
        #expect(try value(location) == "v")
    }

    // Promise: 14.7
    @Test(arguments: [
        "keychain.db-wal", "keychain.db-shm", "keychain.db-wal.damaged", "keychain.state",
        "erase.pending", "keychain.lock",
        "device/device.key.0123456789abcdef0123456789abcdef",
    ])
    func `A database that is away is missing, whatever is left beside it`(_ rest: String) throws {
        try folder.write(secret(), name(.path))
        let location = try location([.path])
        for name in ["home", "home/device"] { try folder.makeFolder(name) }
        try folder.write(rest == "keychain.lock" ? [1] : [], "home/" + rest, mode: 0o600)
        #expect(failure { _ = try value(location) } == .incomplete)
        #expect(failure { try add(location) } == .incomplete)
        let store = ItemStore(location)
        #expect(try store.keychain.status().state == .incomplete)
        store.close()
        #expect(!folder.has("home/keychain.db"))
        try folder.remove("home/" + rest)
        try add(location)
        #expect(try value(location) == "v")
    }

    @Test func `A keychain behind a link that leads nowhere is not absent`() throws {
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/link", withDestinationPath: "none")
        let location = try location([], home: "link/home")
        #expect(failure { _ = try value(location) } == .inputOutput)
        #expect(failure { try add(location) } != nil)
    }

    // Promise: 13.3
    @Test func `What a killed creation leaves does not prevent another`() throws {
        try folder.write(secret(), name(.path))
        let location = try location([.path])
        for name in ["home", "home/device"] { try folder.makeFolder(name) }
        for name in [
            "keychain.lock", "keychain.db.new", "keychain.db.new-wal", "device/device.key.new-1f",
        ] { try folder.write([], "home/" + name, mode: 0o600) }
        #expect(failure { _ = try value(location) } == .itemNotFound)
        try add(location)
        #expect(try value(location) == "v")
    }

    // Promise: 8.13
    @Test(arguments: ["valet.device-key", "none"])
    func `A credential that cannot be looked at is not absent`(_ target: String) throws {
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/valet.device-key", withDestinationPath: target)
        let location = try location([.credential])
        #expect(failure { try add(location) } != nil)
        #expect(!folder.has("home/keychain.db") && !folder.has("home/device"))
    }

    // Promise: 14.12
    @Test(arguments: Way.allCases)
    func `A recovery takes no device secret for lost that nobody has named`(_ way: Way) throws {
        try folder.write(secret(), name(way))
        let given = try location([way])
        try add(given)
        let store = ItemStore(given)
        let text = try store.keychain.createRecoveryKey(nil)
        store.close()
        for (variables, code) in [
            ([:], KeychainFailure.Code.keyUnavailable),
            ([way == .path ? "VALET_DEVICE_KEY_FILE" : "CREDENTIALS_DIRECTORY": "/none"], nil),
        ] as [([String: String], KeychainFailure.Code?)] {
            let values = variables.merging(["VALET_HOME": folder.path + "/home"]) { $1 }
            let other = ItemStore(try KeychainLocation(Environment(values)))
            defer { other.close() }
            let found = failure {
                try other.keychain.recover(
                    with: text, settingPasscode: nil, deviceKeyFrom: .ownFile)
            }
            #expect(found == code)
        }
    }

    @Test func `A device secret that is named has to exist`() throws {
        let location = try location([.path])
        #expect(failure { try add(location) } == .keyUnavailable)
        #expect(!folder.has("home/keychain.db"))
    }
}

/// A temporary folder with given files.
private final class TestFolder: Sendable {
    let path = TestKeychain.newFolder()

    init() {
        try? FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func makeFolder(_ name: String) throws {
        try FileManager.default.createDirectory(
            atPath: path + "/" + name, withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
    }

    func write(_ bytes: [UInt8], _ name: String, mode: Int = 0o400) throws {
        try? remove(name)
        let isWritten = FileManager.default.createFile(
            atPath: path + "/" + name, contents: Data(bytes),
            attributes: [.posixPermissions: mode])
        try #require(isWritten)
    }

    func remove(_ name: String) throws {
        try FileManager.default.removeItem(atPath: path + "/" + name)
    }

    func has(_ name: String) -> Bool {
        FileManager.default.fileExists(atPath: path + "/" + name)
    }
}

/// spec/keys-and-states.md §9.1.
@Suite struct `Where a keychain lies` {
    struct Row: Sendable {
        let variables: [String: String]
        let folder: String
        let device: String

        init(_ variables: [String: String], _ folder: String, _ device: String? = nil) {
            self.variables = variables
            self.folder = folder
            self.device = device ?? folder + "/device"
        }
    }

    @Test(arguments: [
        Row(["HOME": "/h"], "/h/.local/share/valet", "/h/.local/state/valet"),
        Row(["HOME": "/h/"], "/h/.local/share/valet", "/h/.local/state/valet"),
        Row(["HOME": "/h", "XDG_DATA_HOME": "/d"], "/d/valet", "/h/.local/state/valet"),
        Row(["HOME": "/h", "XDG_STATE_HOME": "/s"], "/h/.local/share/valet", "/s/valet"),
        Row(["XDG_DATA_HOME": "/d", "XDG_STATE_HOME": "/s"], "/d/valet", "/s/valet"),
        Row(
            ["HOME": "/h", "XDG_DATA_HOME": "d"], "/h/.local/share/valet", "/h/.local/state/valet"),
        Row(["HOME": "/h", "XDG_DATA_HOME": ""], "/h/.local/share/valet", "/h/.local/state/valet"),
        Row(["HOME": "/h", "VALET_HOME": "/v"], "/v"),
        Row(["HOME": "/h", "VALET_HOME": "/v//"], "/v"),
        Row(["VALET_HOME": "/v", "STATE_DIRECTORY": "/var/lib/x"], "/v"),
        Row(["HOME": "/h", "VALET_HOME": ""], "/h/.local/share/valet", "/h/.local/state/valet"),
        Row(
            ["HOME": "/h", "XDG_DATA_HOME": "d", "XDG_STATE_HOME": "./s"],
            "/h/.local/share/valet", "/h/.local/state/valet"),
        Row(["HOME": "/h", "STATE_DIRECTORY": "/var/lib/x"], "/var/lib/x/valet"),
        Row(["STATE_DIRECTORY": "/var/lib/x:/var/lib/y"], "/var/lib/x/valet"),
        Row(
            ["HOME": "/h", "STATE_DIRECTORY": ""],
            "/h/.local/share/valet", "/h/.local/state/valet"),
    ])
    func `The keychain's place follows the environment`(_ row: Row) throws {
        let location = try KeychainLocation(Environment(row.variables))
        #expect(location.folder == row.folder)
        #expect(location.deviceFolder == row.device)
        #expect(location.credentialPath == nil && location.deviceKeyPath == nil)
    }

    @Test(
        arguments: [
            [:], ["HOME": ""], ["HOME": "home"], ["XDG_DATA_HOME": "/d"], ["VALET_HOME": ""],
            ["STATE_DIRECTORY": "x"],
        ] as [[String: String]])
    func `Without an absolute path the keychain's place is unknown`(_ variables: [String: String]) {
        let code = failure { _ = try KeychainLocation(Environment(variables)) }
        #expect(code == .noHome)
    }

    @Test(arguments: ["v", "./v", "../v", "~/v", " /v"])
    func `A relative VALET_HOME does not lead to another keychain`(_ value: String) {
        let environment = Environment(["HOME": "/h", "VALET_HOME": value])
        let error = #expect(throws: KeychainFailure.self) { try KeychainLocation(environment) }
        #expect(error?.code == .invalidRequest && error?.path == value)
        #expect(error?.message == "$VALET_HOME is not an absolute path")
        #expect(error?.hint == "set VALET_HOME to an absolute path")
    }

    @Test(arguments: [("/run/credentials/x", "/run/credentials/x/valet.device-key"), ("x", nil)])
    func `The keychain's place has a credential beside it`(_ folder: String, _ path: String?) throws
    {
        let environment = Environment(["HOME": "/h", "CREDENTIALS_DIRECTORY": folder])
        #expect(try KeychainLocation(environment).credentialPath == path)
    }

    @Test(arguments: [("/k", "/k"), ("/k/", "/k"), ("", nil)] as [(String, String?)])
    func `The keychain's place has the device key that was named`(_ value: String, _ path: String?)
        throws
    {
        let environment = Environment(["HOME": "/h", "VALET_DEVICE_KEY_FILE": value])
        #expect(try KeychainLocation(environment).deviceKeyPath == path)
    }

    @Test(arguments: ["k", "./k", "../k", "~/k", " /k"])
    func `With a relative path to the device key the keychain's place is unknown`(
        _ value: String
    ) {
        let environment = Environment(["HOME": "/h", "VALET_DEVICE_KEY_FILE": value])
        let error = #expect(throws: KeychainFailure.self) { try KeychainLocation(environment) }
        #expect(error?.code == .invalidRequest && error?.path == value)
        #expect(error?.message.contains("VALET_DEVICE_KEY_FILE") == true)
        #expect(error?.hint?.contains("absolute path") == true)
    }

    @Test func `A program with more rights takes the keychain's place from its user`() throws {
        let variables = [
            "HOME": "/evil", "VALET_HOME": "/evil", "STATE_DIRECTORY": "/evil",
            "XDG_DATA_HOME": "/evil", "XDG_STATE_HOME": "/evil", "CREDENTIALS_DIRECTORY": "/evil",
            "VALET_DEVICE_KEY_FILE": "/evil",
        ]
        let location = try KeychainLocation(Environment(variables, isElevated: true))
        #expect(
            location.folder
                == NSHomeDirectoryForUser(NSUserName()).map {
                    $0 + "/.local/share/valet"
                })
        #expect(!location.deviceFolder.contains("evil"))
        #expect(location.credentialPath == nil && location.deviceKeyPath == nil)
    }
}
