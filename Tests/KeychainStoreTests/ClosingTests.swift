// SPDX-License-Identifier: Apache-2.0

import Foundation
import KeychainModel
import Testing

@testable import KeychainStore

@Suite struct `A keychain that several stores use` {
    private let folder = TestStore.newFolder()
    private let caller = Caller(applicationIdentifier: "app", accessGroups: ["one"])

    private func makeStore() -> ItemStore { ItemStore(KeychainLocation(folder: folder)) }

    /// Files of the keychain that this process has open.
    private func openFiles() throws -> [String] {
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        return descriptors.compactMap { number in
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + number)
        }.filter { $0.contains(folder) }
    }

    @Test func `is closed when the last of them goes`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var stores = [makeStore(), makeStore()]
        for store in stores {
            try store.set(Addition(.generic("a"), value: .text("v")), for: caller)
        }
        #expect(try !openFiles().isEmpty)
        stores.removeLast()
        #expect(try !openFiles().isEmpty)
        #expect(try stores[0].contains(.exact("a"), for: caller))
        stores.removeLast()
        #expect(try openFiles() == [])
        #expect(try makeStore().contains(.exact("a"), for: caller))
    }
}
