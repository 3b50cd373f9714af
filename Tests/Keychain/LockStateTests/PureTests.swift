// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import ValetKeychainModel

@testable import ValetKeys

/// docs/FORMAT.md §10.7.
@Suite struct `The place of opened keys` {
    typealias Circumstances = LockStateProvider.Circumstances
    private static let refused = KeychainFailure(errno: ENOSYS, during: .probe)

    private func provider(_ change: (inout Circumstances) -> Void) -> LockStateProvider {
        var process = Circumstances()
        process.login = .set
        process.user = 1000
        change(&process)
        return LockStateProvider(for: process)
    }

    @Test func `The place of opened keys is shared where somebody has logged in, whoever that is`()
    {
        for user in [0, 1000, 65_534] as [UInt32] {
            let provider = provider { $0.user = user }
            #expect(provider == LockStateProvider(.kernel, "a user has logged in"))
        }
    }

    // Promise: 7.11
    @Test func `The place of opened keys is the process where nobody has logged in`() {
        for user in [0, 999, 1000, 65_534] as [UInt32] {
            let provider = provider {
                $0.user = user
                $0.login = .unset
            }
            #expect(provider == LockStateProvider(.process, "nobody has logged in here"))
        }
    }

    @Test func `A user's session shares keys on kernels without a login user`() {
        let session = ["user.slice/user-1000.slice/session-2.scope"]
        let own = provider {
            $0.login = .absent
            $0.groups = session
        }
        #expect(own == LockStateProvider(.kernel, "this is a user's session"))
        // Where the kernel says that nobody has, it is believed.
        let other = provider {
            $0.login = .unset
            $0.groups = session
        }
        #expect(other.place == .process)
    }

    // Promise: 7.11
    @Test(
        arguments: [
            "system.slice/cron.service", "machine.slice/machine-a.scope", "docker/0123",
            "kubepods.slice/kubepods-pod1.slice", "lxc.payload.a", "lxc/a",
            "user.slice/user-1000.slice/user@1000.service/user.slice/libpod-0123.scope",
        ])
    func `The place of opened keys is the process in services and containers`(_ group: String) {
        let provider = provider { $0.groups = ["user.slice/user-1000.slice", group] }
        #expect(provider.place == .process)
        #expect(provider.reason.hasSuffix("it runs in \(group)"))
    }

    // Promise: 7.11
    @Test func `The place of opened keys is the process in a container that says so`() {
        let provider = provider { $0.container = "podman" }
        #expect(provider == LockStateProvider(.process, "this is a container: podman"))
    }

    // Promise: 7.11
    @Test func `The place of opened keys is the process in other namespaces`() {
        #expect(provider { $0.hasOwnUserIDs = true }.reason == "this is a user namespace")
        #expect(provider { $0.hasOwnClock = true }.reason == "this is a time namespace")
    }

    @Test func `The place of opened keys is shared for people on Windows`() {
        for login in [Circumstances.Login.unset, .absent] {
            for user in [1000, 60_000] as [UInt32] {
                let provider = provider {
                    ($0.login, $0.user, $0.isWSL) = (login, user, true)
                }
                #expect(provider.place == .kernel)
            }
            for user in [0, 999, 60_001] as [UInt32] {
                let provider = provider {
                    ($0.login, $0.user, $0.isWSL) = (login, user, true)
                }
                #expect(provider.place == .process)
            }
        }
    }

    @Test func `The place of opened keys is what the setting says`() {
        let shared = provider {
            ($0.setting, $0.login, $0.container) = ("kernel", .unset, "docker")
        }
        #expect(shared == LockStateProvider(.kernel, "VALET_LOCK_STATE is set"))
        #expect(provider { $0.setting = "process" }.place == .process)
        #expect(LockStateProvider.settings == ["kernel", "process"])
    }

    @Test(arguments: [nil, "kernel"])
    func `Keys stay in the process if the kernel refuses, whatever the setting`(_ setting: String?)
    {
        let provider = provider { ($0.setting, $0.refusal) = (setting, Self.refused) }
        #expect(provider.place == .process)
        #expect(provider.reason.contains("could not ask the kernel for its keyrings"))
        #expect(self.provider { ($0.setting, $0.hasBootID) = (setting, false) }.place == .process)
    }

    // Promise: 7.14
    @Test(arguments: [nil, "kernel"])
    func `A program with more rights than its caller keeps keys in its process`(_ setting: String?)
    {
        let provider = provider { ($0.setting, $0.isElevated) = (setting, true) }
        #expect(
            provider == LockStateProvider(.process, "this program has more rights than its caller"))
    }
}

@Suite struct `What a process finds out about where it runs` {
    private static let quiet = [
        "/proc/self/uid_map": "         0          0 4294967295\n",
        "/proc/self/timens_offsets": "monotonic           0         0\nboottime      0      0\n",
        "/proc/self/cgroup":
            "8:pids:/docker/1\n1:name=systemd:/user.slice/a\n0::/user.slice/b\n",
        "/proc/self/loginuid": "1000",
        "/proc/sys/kernel/osrelease": "6.1.0-13-amd64\n",
    ]

    private func process(
        _ changes: [String: String] = [:], _ paths: [String] = []
    ) -> LockStateProvider.Circumstances {
        let files = Self.quiet.merging(changes) { $1 }
        return .ofProcess(
            setting: nil, isElevated: false, reading: { files[$0] }, exists: paths.contains)
    }

    @Test func `The place of a process is a login on an ordinary machine`() {
        let process = process()
        #expect(process.login == .set)
        #expect(process.groups == ["user.slice/a", "user.slice/b"])
        #expect(process.container == nil)
        #expect(!process.hasOwnUserIDs && !process.hasOwnClock && !process.isWSL)
        #expect(process.hasBootID)
    }

    @Test(arguments: ["/.dockerenv", "/run/.containerenv"])
    func `The place of a process is a container where it leaves a mark`(_ path: String) {
        #expect(process([:], [path]).container == path)
    }

    @Test func `The place of a process is a container where systemd or the first process says so`()
    {
        #expect(process(["/run/systemd/container": "lxc\n"]).container == "lxc")
        let variables = ["/proc/1/environ": "PATH=/bin\0container=oci\0A=b\0"]
        #expect(process(variables).container == "oci")
        #expect(process(["/run/systemd/container": "wsl\n"]).container == nil)
    }

    @Test func `What cannot be read may say that ids and clocks are those of a namespace`() {
        let (users, clocks) = ("/proc/self/uid_map", "/proc/self/timens_offsets")
        func unreadable(_ path: String, existing exists: Bool) -> LockStateProvider.Circumstances {
            let files = Self.quiet.filter { $0.key != path }
            return .ofProcess(
                setting: nil, isElevated: false, reading: { files[$0] },
                exists: { $0 == path && exists })
        }
        #expect(unreadable(users, existing: true).hasOwnUserIDs)
        #expect(unreadable(clocks, existing: true).hasOwnClock)
        // A kernel without namespaces.
        #expect(!unreadable(users, existing: false).hasOwnUserIDs)
        #expect(!unreadable(clocks, existing: false).hasOwnClock)
    }

    @Test func `The place of a process is a namespace where ids or clocks are others`() {
        #expect(process(["/proc/self/uid_map": "0 1000 1\n"]).hasOwnUserIDs)
        #expect(process(["/proc/self/timens_offsets": "boottime 5 0\n"]).hasOwnClock)
    }

    @Test(
        arguments: [("4294967295", .unset), ("0\n", .set), ("", .absent), ("x", .absent)]
            as [(String, LockStateProvider.Circumstances.Login)])
    func `The place of a process is the login user that the kernel keeps`(
        _ text: String, _ login: LockStateProvider.Circumstances.Login
    ) {
        #expect(process(["/proc/self/loginuid": text]).login == login)
    }

    @Test func `The place of a process is Windows where the kernel's name says so`() {
        let release = "5.15.90.1-microsoft-standard-WSL2\n"
        #expect(process(["/proc/sys/kernel/osrelease": release]).isWSL)
    }
}

@Suite struct `An error number of the kernel` {
    @Test(
        arguments: [
            (ENOKEY, .keyNotFound), (ENOENT, .keyNotFound), (EKEYEXPIRED, .keyExpired),
            (EKEYREVOKED, .keyRevoked), (EDQUOT, .quotaExceeded), (ENFILE, .quotaExceeded),
            (EPERM, .kernelRefuses), (EACCES, .kernelRefuses), (ENOSYS, .kernelRefuses),
            (EOPNOTSUPP, .kernelRefuses),
            (ENOMEM, .inputOutput), (EINVAL, .inputOutput),
        ] as [(Int32, KeychainFailure.Code)])
    func `An error number of the kernel says what the caller can do`(
        _ number: Int32, _ code: KeychainFailure.Code
    ) {
        let error = KeychainFailure(errno: number, during: .find)
        #expect(error.code == code)
        #expect(error.systemError == number)
        #expect(error.description.hasPrefix("could not find keys in the kernel: "))
    }
}

@Suite struct `A moment since the machine started` {
    @Test func `A moment of the boot clock does not go back`() {
        let first = BootTime.now
        #expect(first.milliseconds > 0)
        #expect(first <= BootTime.now)
    }

    @Test(
        arguments: [
            (.milliseconds(1), 11), (.seconds(2), 2_010), (.zero, 10), (.seconds(-5), 10),
            (.microseconds(1_999), 11), (.seconds(Int64.max), .max),
        ] as [(Duration, UInt64)])
    func `A moment of the boot clock is later by a duration, and at most the end of time`(
        _ time: Duration, _ sum: UInt64
    ) {
        #expect(BootTime(milliseconds: 10).advanced(by: time).milliseconds == sum)
    }

    @Test func `A moment of the boot clock comes after a wait, whatever signals come meanwhile`()
        throws
    {
        _ = signal(SIGUSR2) { _ in }
        // Threads of a pool block all signals.
        var (sent, before) = (sigset_t(), sigset_t())
        unsafe sigaddset(&sent, SIGUSR2)
        unsafe pthread_sigmask(SIG_UNBLOCK, &sent, &before)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
        let waiter = pthread_self()
        let isOver = Mutex(false)
        let helper = Thread {
            // Each of them ends a sleep of the thread early.
            while !isOver.withLock({ isOver in
                if !isOver { _ = pthread_kill(waiter, SIGUSR2) }
                return isOver
            }) { usleep(500) }
        }
        helper.start()
        let begin = BootTime.now
        BootTime.wait(milliseconds: 100)
        let end = BootTime.now
        isOver.withLock { $0 = true }
        #expect(end >= begin.advanced(by: .milliseconds(100)))
    }
}
