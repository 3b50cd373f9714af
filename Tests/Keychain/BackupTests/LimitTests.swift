// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel
import ValetTestValues

@testable import ValetKeychainStore

/// Each in a process of its own: the limits, and what is measured, are those of a process.
@Suite struct `A process with a backup` {
    @Test func `Writing or reading a backup keeps one item and one chunk of it in memory`() async {
        await #expect(processExitsWith: .success) {
            let folder = try TestFolder()
            let item = try BackupItem.sample("a", value: .init(repeating: 1, count: 1 << 20))
            try TestBackup.write([item, item], to: folder.path("first"))
            _ = try TestBackup.open(folder.path("first")).verify()
            let before = try residentPeak()
            try TestBackup.write(Array(repeating: item, count: 64), to: folder.backup)
            let summary = try TestBackup.open(folder.backup).verify()
            let grown = try residentPeak() - before
            #expect(summary.itemCount == 64)
            #expect(grown < 8 << 10)
            // What a reader of the whole file at once would have cost, so that this can fail.
            let whole = try folder.read().count
            let grownByAll = try residentPeak() - before
            #expect(whole > 64 << 20 && grownByAll > 60 << 10)
        }
    }

    @Test func `A backup beyond the file size limit fails and leaves no file`() async {
        await #expect(processExitsWith: .success) {
            let folder = try TestFolder()
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit(rlim_cur: 300_000, rlim_max: 300_000)
            #expect(unsafe setrlimit(__rlimit_resource_t(1), &limit) == 0)
            let item = try BackupItem.sample("a", value: .init(repeating: 1, count: 65_536))
            var writer = try TestBackup.writer(folder.backup)
            var codes: [BackupFault?] = []
            for _ in 0..<10 {
                do throws(KeychainFailure) {
                    try writer.append(item)
                } catch {
                    codes.append(error.fault)
                }
            }
            #expect(codes.count >= 4 && codes.allSatisfy { $0 == .tooLarge })
            #expect(writer.errorOfFinishing()?.systemError == EFBIG)
            #expect(try folder.names() == [])
        }
    }
}

/// The most memory this process has had, in KiB.
private func residentPeak() throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    return line?.split(separator: " ").compactMap { Int($0) }.first ?? 0
}
