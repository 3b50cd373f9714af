// SPDX-License-Identifier: Apache-2.0

import Foundation
internal import ValetKeychainModel
import ValetSealing
import ValetSync
import ValetSystem
import ValetTestValues

@testable import ValetSyncStores

/// A real etcd of a test's own, on ports of this machine, with its data in a temporary folder. It
/// ends with the test's process, however that ends.
final class EtcdServer {
    struct Silence: Error {}

    /// Whether tests that need it can run. With `REQUIRE_ALL=1` nothing may be missing.
    static let isThere =
        ProcessInfo.processInfo.environment["REQUIRE_ALL"] == "1"
        || FileManager.default.isExecutableFile(atPath: program)
    static let missing = "needs the package etcd-server"
    private static let program = "/usr/bin/etcd"

    let name: String
    let port = EtcdServer.freePort()
    let peerPort = EtcdServer.freePort()
    let folder: TestFolder
    private let security: EtcdPlace?
    private let asksForCertificates: Bool
    private var cluster: [String] = []
    private var others: [String] = []
    private var shell = Process()
    private var input = Pipe()
    private(set) var identifier: pid_t = 0

    /// One server that is a cluster by itself. `security` has the server's own files.
    convenience init(
        security: EtcdPlace? = nil, asksForCertificates: Bool = true, _ arguments: String...
    ) throws {
        try self.init(
            name: "a", security: security, asksForCertificates: asksForCertificates)
        cluster = [peer]
        others = arguments
        try start()
        try awaitHealth()
    }

    private init(
        name: String, security: EtcdPlace? = nil, asksForCertificates: Bool = true
    ) throws {
        self.asksForCertificates = asksForCertificates
        self.name = name
        self.security = security
        folder = try TestFolder()
    }

    /// Servers that are one cluster.
    static func cluster(of count: Int) throws -> [EtcdServer] {
        let servers = try (0..<count).map { try EtcdServer(name: "n\($0)") }
        for server in servers {
            server.cluster = servers.map(\.peer)
            // A new leader is chosen soon.
            server.others = ["--heartbeat-interval", "50", "--election-timeout", "500"]
            try server.start()
        }
        for server in servers { try server.awaitHealth() }
        return servers
    }

    private var peer: String { "\(name)=http://127.0.0.1:\(peerPort)" }
    private var scheme: String { security == nil ? "http" : "https" }
    /// Where clients find it.
    var url: String { "\(scheme)://127.0.0.1:\(port)" }
    private var data: String { folder.path("data") }

    /// Starts it, with the data that it has.
    func start() throws {
        (shell, input) = (Process(), Pipe())
        let output = Pipe()
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        // When this process is gone, `cat` ends.
        let script = #"log=$1; shift; "$@" >"$log" 2>&1 & echo $!; cat >/dev/null; kill -9 $!"#
        var arguments = [
            "-c", script, "sh", folder.path("log"), Self.program, "--name", name,
            "--data-dir", data, "--listen-client-urls", url, "--advertise-client-urls", url,
            "--listen-peer-urls", "http://127.0.0.1:\(peerPort)",
            "--initial-advertise-peer-urls", "http://127.0.0.1:\(peerPort)",
            "--initial-cluster", cluster.joined(separator: ","), "--logger", "zap",
            "--log-level", "warn",
        ]
        if let security {
            arguments += ["--cert-file", security.certificate ?? "", "--key-file"]
            arguments.append(security.key ?? "")
            if asksForCertificates {
                arguments += ["--client-cert-auth", "--trusted-ca-file", security.authority ?? ""]
            }
        }
        shell.arguments = arguments + others
        shell.standardInput = input
        shell.standardOutput = output
        try shell.run()
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        guard let identifier = pid_t(line.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw Silence()
        }
        self.identifier = identifier
    }

    /// Waits until it answers; of a cluster, until there is a leader.
    func awaitHealth() throws {
        let deadline = Deadline(after: .seconds(30))
        let address = try address()
        while true {
            do {
                let store = try EtcdStore(at: address)
                _ = try store.mails(in: .random(), by: Deadline(after: .milliseconds(700)))
                return
            } catch {
                if error.code == .storeDenied { return }
                guard kill(identifier, 0) == 0, deadline.sleep(atMost: 10_000_000) else {
                    throw Silence()
                }
            }
        }
    }

    /// Ends it as a power cut would. The data stay.
    func end() {
        guard identifier > 0 else { return }
        kill(identifier, SIGKILL)
        identifier = 0
        try? input.fileHandleForWriting.close()
        shell.waitUntilExit()
    }

    /// Ends it and starts it again.
    func restart() throws {
        end()
        try start()
        try awaitHealth()
    }

    /// Copies the data of a server that has ended.
    func copyData(to name: String) throws {
        try FileManager.default.copyItem(atPath: data, toPath: folder.path(name))
    }

    /// Replaces the data of a server that has ended by a copy.
    func setBack(to name: String) throws {
        try FileManager.default.removeItem(atPath: data)
        try FileManager.default.copyItem(atPath: folder.path(name), toPath: data)
    }

    /// The address of this server for a client.
    func address(_ credentials: (user: String, password: SecretValue)? = nil) throws -> EtcdAddress
    {
        try EtcdAddress(url, security: security, credentials: credentials)
    }

    /// Runs etcdctl with this server.
    func control(_ arguments: String...) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/etcdctl")
        let files = security.map { files in
            ["--cacert", files.authority, "--cert", files.certificate, "--key", files.key]
                .compactMap(\.self)
        }
        process.arguments = ["--endpoints", url] + (files ?? []) + arguments
        process.environment = ["ETCDCTL_API": "3"]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Silence() }
    }

    /// A port that nothing listens on now.
    private static func freePort() -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe _ = bind(descriptor, pointer, length)
                unsafe _ = getsockname(descriptor, pointer, &length)
            }
        }
        return UInt16(bigEndian: address.sin_port)
    }

    deinit { end() }
}

extension EtcdPlace {
    /// The files that secure connections.
    init(authority: String? = nil, certificate: String? = nil, key: String? = nil) {
        self.init(list: "")
        (self.authority, self.certificate, self.key) = (authority, certificate, key)
    }
}

extension EtcdAddress {
    /// The servers of `list`, with the files of `security`.
    init(
        _ list: String, security: EtcdPlace? = nil,
        credentials: (user: String, password: SecretValue)? = nil, allowsPlainText: Bool = false
    ) throws(KeychainFailure) {
        var place = security ?? EtcdPlace()
        (place.list, place.user, place.allowsPlainText) = (list, credentials?.user, allowsPlainText)
        try self.init(place, password: credentials?.password)
    }
}
