// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// How much memory this process may use: less than the machine has, in a container or a service
/// with a limit.
package enum MachineMemory {
    /// The minimum of physical memory, available memory, and the limits of this process's control
    /// groups up to the root. Reads a few small files.
    package static var usableByteCount: UInt64 {
        let pages = max(0, sysconf(Int32(_SC_PHYS_PAGES)))
        let pageByteCount = max(0, sysconf(Int32(_SC_PAGESIZE)))
        let (physical, isTooMuch) = UInt64(pages).multipliedReportingOverflow(
            by: UInt64(pageByteCount))
        return usableByteCount(
            ofPhysical: isTooMuch ? .max : physical, reading: { TextFile.contents($0) })
    }

    /// Computes ``usableByteCount``.
    ///
    /// - Parameter read: Returns the text of a file, or nil if it cannot be read.
    static func usableByteCount(
        ofPhysical physical: UInt64, reading read: (_ path: String) -> String?
    ) -> UInt64 {
        let limits = groupFiles(read).compactMap { read($0).flatMap { UInt64($0.firstWord) } }
        return (limits + [available(read)].compactMap { $0 }).reduce(physical, min)
    }

    /// `MemAvailable` of proc(5).
    private static func available(_ read: (String) -> String?) -> UInt64? {
        let line = read("/proc/meminfo")?.split(separator: "\n").first {
            $0.hasPrefix("MemAvailable:")
        }
        let words = line?.split(separator: " ") ?? []
        guard words.count == 3, words[2] == "kB", let count = UInt64(words[1]) else { return nil }
        let (byteCount, isTooMuch) = count.multipliedReportingOverflow(by: 1024)
        return isTooMuch ? nil : byteCount
    }

    /// The files that may hold limits, of cgroups(7) version 2 and 1.
    private static func groupFiles(_ read: (String) -> String?) -> [String] {
        (read("/proc/self/cgroup") ?? "").split(separator: "\n").flatMap { line in
            let fields = line.split(
                separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { return [String]() }
            if fields[1].isEmpty {
                return files("/sys/fs/cgroup", fields[2], "memory.max")
            }
            guard fields[1].split(separator: ",").contains("memory") else { return [] }
            return files("/sys/fs/cgroup/memory", fields[2], "memory.limit_in_bytes")
        }
    }

    /// One file for each group from the root to `path`.
    private static func files(_ root: String, _ path: Substring, _ name: String) -> [String] {
        var folder = root
        var found = [folder + "/" + name]
        // If the group is outside of this process's view, only the root is visible.
        for part in path.split(separator: "/") where part != ".." {
            folder += "/" + part
            found.append(folder + "/" + name)
        }
        return found
    }
}

extension String {
    fileprivate var firstWord: Substring { prefix { !$0.isWhitespace } }
}

/// Small text files of the system and of the user: proc(5), sysfs(5), configuration.
package enum TextFile {
    /// The text of the file at `path`; nil if it cannot be read, or is longer than `maxByteCount`.
    package static func contents(_ path: String, maxByteCount: Int = 64 << 10) -> String? {
        let file = FileDescriptor(
            owning: unsafe valet_open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK))
        guard file.number >= 0 else { return nil }
        return try? file.withContents(
            maxByteCount: maxByteCount, path: path, during: "read a file"
        ) { bytes in
            String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
        }
    }

    package enum Reading: Sendable { case absent, unreadable, read }

    /// The most bytes of a file that ``read(_:lineByLine:)`` looks at, and of a line that it keeps.
    private static let (maximalByteCount, maximalLineByteCount) = (64 << 20, 4 << 10)

    /// Passes each line of a file to `body` until that returns false. Long lines are cut: `isWhole`
    /// is false then. Follows no symbolic link at the end of the path.
    ///
    /// - Returns: `unreadable` for what cannot be read, is no regular file, or has more than 64 MiB
    ///   before `body` returns false.
    package static func read(
        _ path: String, lineByLine body: (_ line: String, _ isWhole: Bool) -> Bool
    ) -> Reading {
        let flags = O_RDONLY | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW
        let file = FileDescriptor(owning: unsafe valet_open(path, flags))
        guard file.number >= 0 else { return errno == ENOENT ? .absent : .unreadable }
        guard FileStatus(of: file.number).type == S_IFREG else { return .unreadable }
        var (line, isWhole, offset): ([UInt8], Bool, Int) = ([], true, 0)
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while offset < maximalByteCount {
            let count = unsafe buffer.withUnsafeMutableBytes { bytes in
                unsafe file.readAll(into: bytes, at: offset)
            }
            guard count >= 0 else { return .unreadable }
            offset += count
            for byte in buffer[..<count] {
                guard byte == UInt8(ascii: "\n") else {
                    if line.count < maximalLineByteCount {
                        line.append(byte)
                    } else {
                        isWhole = false
                    }
                    continue
                }
                guard body(String(decoding: line, as: UTF8.self), isWhole) else { return .read }
                (line, isWhole) = ([], true)
            }
            guard count == buffer.count else {
                if !line.isEmpty { _ = body(String(decoding: line, as: UTF8.self), isWhole) }
                return .read
            }
        }
        return .unreadable
    }
}
