// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetSystemSupport

@testable import ValetSystem

@Suite struct `The memory that a process may have` {
    private static let gibibyte: UInt64 = 1 << 30
    private static let meminfo = """
        MemTotal:       16000000 kB
        MemFree:          100000 kB
        MemAvailable:    4194304 kB
        """

    /// What 8 GiB come to with these files.
    private func mebibytes(_ files: [String: String]) -> UInt64 {
        MachineMemory.usableByteCount(ofPhysical: 8 * Self.gibibyte) { files[$0] } >> 20
    }

    @Test func `Without a limit a process may use the memory of the machine`() {
        #expect(mebibytes([:]) == 8_192)
        #expect(mebibytes(["/proc/meminfo": "", "/proc/self/cgroup": "\n::\n"]) == 8_192)
    }

    @Test func `A process may use no more memory than the machine has available`() {
        #expect(mebibytes(["/proc/meminfo": Self.meminfo]) == 4_096)
        #expect(mebibytes(["/proc/meminfo": "MemAvailable: many kB"]) == 8_192)
    }

    @Test(
        arguments: [
            ("/sys/fs/cgroup/memory.max", "268435456\n", 256),
            ("/sys/fs/cgroup/a.slice/memory.max", "268435456\n", 256),
            ("/sys/fs/cgroup/a.slice/b.service/memory.max", "268435456\n", 256),
            ("/sys/fs/cgroup/a.slice/memory.max", "max\n", 4_096),
            ("/sys/fs/cgroup/a.slice/memory.max", "", 4_096),
            ("/sys/fs/cgroup/other.slice/memory.max", "268435456\n", 4_096),
        ])
    func `A process may use no more memory than each of its control groups allows`(
        _ path: String, _ text: String, _ most: Int
    ) {
        let files = [
            "/proc/meminfo": Self.meminfo, "/proc/self/cgroup": "0::/a.slice/b.service\n",
            path: text,
        ]
        #expect(mebibytes(files) == UInt64(most))
    }

    @Test(arguments: ["", "/a", "/a/b"])
    func `A process may use no more memory than a control group of version 1 allows`(
        _ group: String
    ) {
        let files = [
            "/proc/self/cgroup": "9:cpu:/\n4:hugetlb,memory:/a/b\n0::/\n",
            "/sys/fs/cgroup/memory\(group)/memory.limit_in_bytes": "134217728\n",
        ]
        #expect(mebibytes(files) == 128)
    }

    @Test func `Memory limits are found for control groups outside of the visible root`() {
        let files = [
            "/proc/self/cgroup": "0::/../../outside\n",
            "/sys/fs/cgroup/memory.max": "1073741824\n",
        ]
        #expect(mebibytes(files) == 1_024)
    }

    @Test func `On this machine a process may use some memory`() {
        #expect(MachineMemory.usableByteCount > 1 << 20)
    }
}
