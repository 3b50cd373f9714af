// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import ValetSystem

/// Another process that is reading a database. `valet doctor` reports those that keep the log from
/// being shortened.
package struct DatabaseReader: Hashable, Sendable {
    /// The process id.
    package let process: Int32
    /// The first 15 bytes of the name of its program, as the kernel keeps it.
    package let program: String
    /// Whether a signal or a debugger has stopped it.
    package let isStopped: Bool

    // SQLite's locks on the index of the log: https://www.sqlite.org/walformat.html, §2.3.2. A
    // reader holds one of these bytes until its transaction ends.
    private static let readLocks: ClosedRange<Int> = 123...127

    /// The other processes that are reading the database `name` in `directory` now. The kernel does
    /// not show those of other process namespaces.
    ///
    /// Reads `/proc/locks`, and opens none of SQLite's files.
    package static func all(
        of name: String, in directory: PrivateDirectory
    ) -> [DatabaseReader] {
        guard let index = try? directory.check(file: name + "-shm"),
            let locks = TextFile.contents("/proc/locks", maxByteCount: 4 << 20)
        else { return [] }
        let device = index.device
        let major = device >> 8 & 0xfff | device >> 32 & 0xffff_f000
        let minor = device & 0xff | device >> 12 & 0xffff_ff00
        let file = hexadecimal(major) + ":" + hexadecimal(minor) + ":\(index.inode)"
        let processes = locks.split(separator: "\n").compactMap { line in
            reader(in: line, of: file)
        }
        return Set(processes).subtracting([getpid()]).sorted().map(describe)
    }

    /// The process in a line of `/proc/locks`, if it reads the file:
    /// `1: POSIX  ADVISORY  READ  4711 08:01:131090 124 124`.
    private static func reader(in line: Substring, of file: String) -> Int32? {
        let words = line.split(separator: " ")
        guard words.count == 8, words[1] == "POSIX", words[3] == "READ", words[5] == file,
            let process = Int32(words[4]), process > 0, let first = Int(words[6])
        else { return nil }
        let last = Int(words[7]) ?? .max
        return first <= readLocks.upperBound && last >= readLocks.lowerBound ? process : nil
    }

    private static func describe(_ process: Int32) -> DatabaseReader {
        // `4711 (name) S …`, where the name may hold spaces and parentheses.
        let text = TextFile.contents("/proc/\(process)/stat") ?? ""
        guard let start = text.firstIndex(of: "("), let end = text.lastIndex(of: ")"), start < end
        else { return DatabaseReader(process: process, program: "", isStopped: false) }
        let state = text[text.index(after: end)...].split(separator: " ").first
        return DatabaseReader(
            process: process, program: String(text[text.index(after: start)..<end]),
            isStopped: state == "T" || state == "t")
    }

    /// At least two digits, as the kernel writes device numbers.
    private static func hexadecimal(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return digits.utf8.count < 2 ? "0" + digits : digits
    }
}
