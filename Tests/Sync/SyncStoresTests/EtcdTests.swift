// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import ValetKeychainModel
import ValetSealing
import ValetSync
import ValetSyncStores
import ValetSystem
import ValetSystemSupport
import ValetTestValues

/// What etcd clusters do: fail, come back, forget, refuse.
@Suite(.enabled(if: EtcdServer.isThere, "\(EtcdServer.missing)"))
struct `A store in etcd` {
    private let circle = CircleID.random()
    private let device = DeviceID.random()

    private var log: LogPlace {
        LogPlace(circle, device, .whileUnlocked, LogID(high: device.high, low: 1))
    }

    private func store(of servers: EtcdServer...) throws -> EtcdStore {
        let urls = servers.map(\.url).joined(separator: ",")
        return try EtcdStore(at: EtcdAddress(urls))
    }

    private func append(
        _ number: UInt64, to store: some SyncStore, after head: UInt64? = nil,
        by deadline: Deadline = .soon
    ) throws(KeychainFailure) -> AppendOutcome {
        try store.append(
            message(number), at: .test(number), to: .log(log), after: head.map { .test($0) },
            by: deadline)
    }

    private func numbers(_ store: some SyncStore) throws -> [UInt64] {
        try store.list(.log(log), by: .soon).names.map(\.number)
    }

    @Test func `survives the loss of a server, and waits no longer than told for a majority`()
        throws
    {
        let servers = try EtcdServer.cluster(of: 3)
        let store = try store(of: servers[0], servers[1], servers[2])
        try store.create(circle, by: .soon)
        #expect(try append(1, to: store) == .stored)
        servers[0].end()
        #expect(try append(2, to: store, after: 1) == .stored)
        servers[1].end()
        let (start, limit) = (Deadline.now, Duration.milliseconds(700))
        let unknown = #expect(throws: KeychainFailure.self) {
            try append(3, to: store, after: 2, by: Deadline(after: limit))
        }
        #expect(unknown?.code == .storeOutcomeUnknown)
        let silent = #expect(throws: KeychainFailure.self) {
            try store.list(.log(log), by: Deadline(after: limit))
        }
        #expect(silent.map { [.storeTimedOut, .storeUnavailable].contains($0.code) } == true)
        #expect(Deadline.now - start < 10_000_000_000)
        try servers[0].start()
        try servers[0].awaitHealth()
        #expect(try append(3, to: store, after: 2) == .stored)
        #expect(try numbers(store) == [1, 2, 3])
    }

    @Test func `tells when it was set back to a copy, and takes what was lost again`() throws {
        let server = try EtcdServer()
        let store = try store(of: server)
        try store.create(circle, by: .soon)
        for number in 1...3 as ClosedRange<UInt64> {
            #expect(
                try append(number, to: store, after: number > 1 ? number - 1 : nil) == .stored)
        }
        server.end()
        try server.copyData(to: "copy")
        try server.start()
        try server.awaitHealth()
        for number in 4...5 as ClosedRange<UInt64> {
            #expect(try append(number, to: store, after: number - 1) == .stored)
        }
        let limit = { WaitLimit(until: Deadline(after: .milliseconds(300))) }
        while try store.waitForChange(in: circle, within: limit()) {}
        server.end()
        try server.setBack(to: "copy")
        try server.start()
        try server.awaitHealth()
        #expect(try store.waitForChange(in: circle, within: WaitLimit(until: .soon)))
        #expect(try append(6, to: store, after: 5) == .otherHead(.test(3)))
        #expect(try append(6, to: store, after: 3) == .stored)
        #expect(try numbers(store) == [1, 2, 3, 6])
    }

    @Test func `wakes when the events of a watch were compacted away`() throws {
        let server = try EtcdServer()
        let store = try store(of: server)
        try store.create(circle, by: .soon)
        let limit = WaitLimit(until: .soon)
        #expect(try store.waitForChange(in: circle, within: limit))
        #expect(try append(1, to: store) == .stored)
        #expect(try append(2, to: store, after: 1) == .stored)
        // Revision 1 is that of an empty store.
        try server.control("compact", "4")
        #expect(try store.waitForChange(in: circle, within: limit))
        #expect(try append(3, to: store, after: 2) == .stored)
        #expect(try store.waitForChange(in: circle, within: limit))
    }

    @Test func `logs in once, again when its token is gone, and is denied what it may not`()
        throws
    {
        let folder = try TestFolder()
        let files = try TestCertificates(in: folder)
        let server = try EtcdServer(security: files.server, asksForCertificates: false)
        try server.control("user", "add", "root", "--new-user-password=r")
        try server.control("user", "grant-role", "root", "root")
        try server.control("role", "add", "valet")
        try server.control(
            "role", "grant-permission", "valet", "--prefix=true", "readwrite", "valet/1/")
        for user in ["ann", "bob"] {
            try server.control("user", "add", user, "--new-user-password=\"\\p\u{e4}ss\n")
        }
        try server.control("user", "grant-role", "ann", "valet")
        try server.control("auth", "enable")
        func store(_ user: String?, _ password: String = "\"\\p\u{e4}ss\n") throws -> EtcdStore {
            let credentials = user.map {
                (
                    user: $0, password: SecretValue(copying: Array(password.utf8).span)
                )
            }
            return try EtcdStore(at: server.address(credentials))
        }
        let ann = try store("ann")
        try ann.create(circle, by: .soon)
        #expect(try append(1, to: ann) == .stored)
        #expect(try ann.waitForChange(in: circle, within: WaitLimit(until: .soon)))
        // Tokens are in the memory of the servers.
        try server.restart()
        #expect(try append(2, to: ann, after: 1) == .stored)
        #expect(try ann.waitForChange(in: circle, within: WaitLimit(until: .soon)))
        for refused in [try store("bob"), try store("ann", "wrong"), try store(nil)] {
            let error = #expect(throws: KeychainFailure.self) {
                try refused.check(circle, by: .soon)
            }
            #expect(error?.code == .storeDenied)
            #expect(error.map { !"\($0) \($0.hint ?? "")".contains("ss\n") } == true)
        }
    }

    @Test func `says that it is full`() throws {
        let server = try EtcdServer(security: nil, "--quota-backend-bytes", "1000000")
        let store = try store(of: server)
        try store.create(circle, by: .soon)
        let files = (0..<8).map {
            StoreFile(
                number: 1, part: $0,
                bytes: [UInt8](repeating: 1, count: MessageFormat.maximalByteCount))
        }
        let error = #expect(throws: KeychainFailure.self) {
            for file in files { _ = try store.put([file], in: .log(log), by: .soon) }
        }
        #expect(error?.code == .storeFull)
        try store.check(circle, by: .soon)
    }

    @Test func `lets one of two writers of a log win`() throws {
        let server = try EtcdServer()
        let store = try store(of: server)
        try store.create(circle, by: .soon)
        let outcomes = Mutex<[AppendOutcome]>([])
        for branch in 0..<4 as Range<UInt64> {
            let (other, log) = (try self.store(of: server), log)
            try BackgroundThread.start {
                let outcome = try? other.append(
                    [UInt8(branch)], at: .test(1, branch: branch), to: .log(log), after: nil,
                    by: .soon)
                outcomes.withLock { $0.append(outcome ?? .taken) }
            }
        }
        let deadline = Deadline.soon
        while outcomes.withLock({ $0.count }) < 4, deadline.sleep(atMost: 1_000_000) {}
        #expect(outcomes.withLock { $0.filter { $0 == .stored }.count } == 1)
        #expect(outcomes.withLock { $0.contains(.taken) } == false)
        #expect(try numbers(store) == [1])
    }

    @Test func `reads around a value that is too large`() throws {
        let server = try EtcdServer()
        let store = try store(of: server)
        try store.create(circle, by: .soon)
        #expect(try append(1, to: store) == .stored)
        let name = StoreNames.text(StoredName(number: 2, part: nil, hash: nil))
        let key = "valet/1/" + (StoreNames.folders(of: .log(log)) + [name]).joined(separator: "/")
        let value = server.folder.path("value")
        try Data(repeating: 0x61, count: 1_400_000).write(to: URL(fileURLWithPath: value))
        let putter = try OtherProcess(
            """
            import base64, http.client, json, sys
            value = open(sys.argv[3], "rb").read()
            body = {"key": base64.b64encode(sys.argv[2].encode()).decode(),
                    "value": base64.b64encode(value).decode()}
            server = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
            server.request("POST", "/v3/kv/put", json.dumps(body))
            server.getresponse().read()
            print("put")
            """, String(server.port), key, value)
        #expect(putter.line() == "put")
        let names = try store.list(.log(log), by: .soon).names
        #expect(names.map(\.number) == [1, 2])
        let found = try store.read(names, in: .log(log), by: .soon)
        #expect(found == [.bytes(message(1)), .foreign])
    }
}
