// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel
import ValetSealing
import ValetSync
import ValetSyncStores
import ValetSystem
import ValetSystemSupport
import ValetTestValues

/// Addresses that are refused before anything is sent.
@Suite struct `The address of an etcd cluster` {
    @Test(arguments: [
        ("https://a.example", ["https://a.example:2379"]),
        ("https://a.example:1,https://[2001:db8::1]:2/", nil),
        ("https://a.example:1,http://127.0.0.1:2", ["https://a.example:1", "http://127.0.0.1:2"]),
        ("http://[::1]:5,http://localhost", ["http://[::1]:5", "http://localhost:2379"]),
    ])
    func `is a list of servers`(_ text: String, _ endpoints: [String]?) throws {
        let expected = endpoints ?? ["https://a.example:1", "https://[2001:db8::1]:2"]
        #expect(try EtcdAddress(text).endpoints == expected)
    }

    @Test(arguments: [
        "", "a.example", "ftp://a.example", "https://", "https://user@a.example",
        "https://a.example/path", "https://a.example:0", "https://a.example:70000",
        "https://a.example:+1", "https://a.example,", "https://a b", "https://[::1", "https://-a",
        "https://a.example?q", "http://127.1", "http://127.0.0.1.example",
    ])
    func `is refused if it is anything else`(_ text: String) {
        let error = #expect(throws: KeychainFailure.self) { try EtcdAddress(text) }
        #expect(error?.code == .badStoreAddress)
        #expect(error?.hint != nil)
    }

    @Test func `is not plain HTTP, unless that is allowed and no password is sent`() throws {
        let (text, user) = (
            "http://a.example",
            (user: "u", password: SecretValue(copying: [1, 2].span))
        )
        #expect(throws: KeychainFailure.self) { try EtcdAddress(text) }
        #expect(throws: KeychainFailure.self) {
            try EtcdAddress(text, credentials: user, allowsPlainText: true)
        }
        #expect(try EtcdAddress(text, allowsPlainText: true).endpoints.count == 1)
    }

    // Promise: 19.3
    @Test(arguments: [
        "http://127.0.0.1", "http://localhost:1", "http://[::1]:2379",
        "https://a.example,http://127.0.0.1:1",
    ])
    func `sends no password to a port of this machine that is not protected by TLS`(
        _ text: String
    ) {
        let user = (user: "u", password: SecretValue(copying: [1, 2].span))
        let error = #expect(throws: KeychainFailure.self) {
            try EtcdAddress(text, credentials: user)
        }
        #expect(error?.code == .badStoreAddress)
        #expect(error?.hint?.contains("https") == true)
        #expect(throws: Never.self) { try EtcdAddress(text) }
    }

    // Promise: 19.3
    @Test(arguments: [
        "https://root:SECRET@a.example:1", "https://root:SEC,RET@a.example",
        "root:SECRET@a.example",
        "http://a.example,https://SECRET:x@[::1]:70000", "https://SECRET@a.example/path",
    ])
    func `is refused with a password in it, which no error repeats`(_ text: String) {
        let error = #expect(throws: KeychainFailure.self) { try EtcdAddress(text) }
        #expect(error?.code == .badStoreAddress)
        #expect(error.map { "\($0) \($0.hint ?? "")".contains("SEC") } == false)
        #expect(error?.hint?.contains("--user") == true)
    }

    // Promise: 19.4
    @Test(
        arguments: [
            ("0", 1), ("9223372036854775806", .max), ("9223372036854775807", nil),
            ("-9223372036854775808", nil), ("-1", nil), ("99999999999999999999", nil), ("x", nil),
        ] as [(String, Int64?)])
    func `takes no revision of a server whose successor is no number`(
        _ text: String, _ next: Int64?
    ) {
        #expect(etcdRevision(text).map { $0 + 1 } == next)
    }

    @Test func `names files by absolute paths, and a certificate with its key`() {
        for security in [
            EtcdPlace(authority: "ca.pem"), EtcdPlace(certificate: "/c.pem"),
            EtcdPlace(key: "/k.pem"),
        ] {
            #expect(throws: KeychainFailure.self) {
                try EtcdAddress("https://a.example", security: security)
            }
        }
    }
}

/// What a connection accepts: servers with the right certificate, and answers within the limits.
@Suite(.enabled(if: EtcdServer.isThere, "\(EtcdServer.missing)"))
struct `A connection to etcd` {
    private let circle = CircleID.random()

    @Test func `accepts the certificates of the given authority alone`() throws {
        let folder = try TestFolder()
        let files = try TestCertificates(in: folder)
        let server = try EtcdServer(security: files.server)
        let good = try EtcdStore(at: EtcdAddress(server.url, security: files.client))
        try good.create(circle, by: .soon)
        try good.check(circle, by: .soon)
        var wrong = files.client
        wrong.authority = files.otherAuthority
        var anonymous = files.client
        (anonymous.certificate, anonymous.key) = (nil, nil)
        var missing = files.client
        missing.key = folder.path("missing")
        var system = files.client
        system.authority = nil
        for (security, code) in [
            (wrong, KeychainFailure.Code.storeDenied), (anonymous, .storeDenied),
            (system, .storeDenied),
            (missing, .badStoreAddress),
        ] {
            let store = try EtcdStore(at: EtcdAddress(server.url, security: security))
            let error = #expect(throws: KeychainFailure.self) { try store.check(circle, by: .soon) }
            #expect(error?.code == code, "\(security)")
        }
        // A name that the certificate does not have.
        let other = "https://localhost:\(server.port)"
        let store = try EtcdStore(at: EtcdAddress(other, security: files.client))
        let error = #expect(throws: KeychainFailure.self) { try store.check(circle, by: .soon) }
        #expect(error?.code == .storeDenied)
    }

    /// A server of another kind: it answers every request with `answer`, a Python expression, and
    /// keeps the connection open.
    private func fake(_ answer: String) throws -> (OtherProcess, EtcdStore) {
        let server = try OtherProcess(
            """
            import socket, threading
            listener = socket.create_server(("127.0.0.1", 0))
            print(listener.getsockname()[1])
            def http(status, body, header="X: y"):
                length = 100000000 if len(body) == 1000 else len(body)
                lines = ["HTTP/1.1 " + status, header, f"Content-Length: {length}", "", body]
                return "\\r\\n".join(lines).encode()
            def serve(client):
                client.recv(65536)
                try:
                    for piece in \(answer):
                        client.sendall(piece)
                    client.recv(1)
                except OSError:
                    pass
            while True:
                client, _ = listener.accept()
                threading.Thread(target=serve, args=(client,), daemon=True).start()
            """)
        let port = server.line() ?? ""
        return (server, try EtcdStore(at: EtcdAddress("http://127.0.0.1:\(port)")))
    }

    @Test(arguments: [
        ("[http('200 OK', 'hello')]", KeychainFailure.Code.storeMalformed),
        ("[http('302 Found', '', 'Location: http://127.0.0.1:1/')]", .storeMalformed),
        ("[http('404 No', '{}')]", .storeMalformed),
        ("[http('503 No', '{}')]", .storeUnavailable),
        ("[b'no HTTP at all\\r\\n\\r\\n']", .storeUnavailable),
        ("[]", .storeTimedOut),
        ("[http('200 OK', ' ' * 1000)] + [b' ' * 65536] * 1000", .storeMalformed),
    ])
    func `ends in time and in bounded memory whatever answers`(
        _ answer: String, _ code: KeychainFailure.Code
    ) throws {
        let (server, store) = try fake(answer)
        let limit = code == .storeTimedOut ? Duration.milliseconds(300) : .seconds(20)
        let error = #expect(throws: KeychainFailure.self) {
            try store.check(circle, by: Deadline(after: limit))
        }
        #expect(error?.code == code)
        withExtendedLifetime(server) {}
    }

    @Test func `finds out what became of an append whose answer was lost`() throws {
        let server = try EtcdServer()
        // Passes requests on, and hangs up instead of passing on every second answer.
        let proxy = try OtherProcess(
            """
            import socket, sys, threading
            listener = socket.create_server(("127.0.0.1", 0))
            print(listener.getsockname()[1])
            def serve(client, isLost):
                server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
                server.sendall(client.recv(65536))
                answer = server.recv(65536)
                if not isLost:
                    client.sendall(answer.replace(b"\\r\\n", b"\\r\\nConnection: close\\r\\n", 1))
                client.close()
            count = 0
            while True:
                client, _ = listener.accept()
                count += 1
                threading.Thread(target=serve, args=(client, count % 2 == 1)).start()
            """, String(server.port))
        let direct = try EtcdStore(at: server.address())
        try direct.create(circle, by: .soon)
        let store = try EtcdStore(at: EtcdAddress("http://127.0.0.1:\(proxy.line() ?? "")"))
        let device = DeviceID.random()
        let log = LogPlace(circle, device, .whileUnlocked, LogID(high: device.high, low: 1))
        let outcome = try store.append(
            [1], at: .test(1), to: .log(log), after: nil, by: .soon)
        #expect(outcome == .stored)
        #expect(try direct.list(.log(log), by: .soon).names.count == 1)
    }

    @Test func `tries the next server when one does not exist or is silent`() throws {
        let server = try EtcdServer()
        let store = try EtcdStore(
            at: EtcdAddress("http://127.0.0.1:1,https://127.0.0.1:\(server.port),\(server.url)"))
        try store.create(circle, by: .soon)
        try store.check(circle, by: .soon)
    }

    @Test func `is unavailable at once if no server exists`() throws {
        let store = try EtcdStore(at: EtcdAddress("http://127.0.0.1:1,http://127.0.0.1:2"))
        let deadline = Deadline.soon
        let error = #expect(throws: KeychainFailure.self) { try store.check(circle, by: deadline) }
        #expect(error?.code == .storeUnavailable)
        #expect(error?.message.contains("127.0.0.1") == true)
        #expect(!deadline.hasPassed)
    }
}

/// Authorities and certificates, made by openssl.
struct TestCertificates {
    let server: EtcdPlace
    let client: EtcdPlace
    let otherAuthority: String

    init(in folder: TestFolder) throws {
        let script = """
            set -e
            cd "$1"
            key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }
            for name in ca other; do
                key $name
                openssl req -x509 -new -key $name.key -subj "/CN=$name" -days 2 -out $name.crt
            done
            printf 'subjectAltName=IP:127.0.0.1\\n' > server.ext
            printf 'extendedKeyUsage=serverAuth,clientAuth\\n' >> server.ext
            printf 'extendedKeyUsage=clientAuth\\n' > client.ext
            for name in server client; do
                key $name
                openssl req -new -key $name.key -subj "/CN=$name" -out $name.csr
                openssl x509 -req -in $name.csr -CA ca.crt -CAkey ca.key -CAcreateserial \\
                    -days 2 -extfile $name.ext -out $name.crt
            done
            """
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", script, "sh", folder.path]
        process.standardError = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw EtcdServer.Silence() }
        let files = { (name: String) in
            EtcdPlace(
                authority: folder.path("ca.crt"), certificate: folder.path(name + ".crt"),
                key: folder.path(name + ".key"))
        }
        server = files("server")
        client = files("client")
        otherAuthority = folder.path("other.crt")
    }
}
