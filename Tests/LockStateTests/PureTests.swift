// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import LockState

@Suite struct `The place of opened keys` {
    private static let refused = LockStateError(errno: ENOSYS, during: .probe)

    private func place(
        _ setting: String? = nil, user: UInt32 = 1000, isElevated: Bool = false,
        refusal: LockStateError? = nil
    ) -> LockStateProvider {
        LockStateProvider(
            for: LockStateProvider.Circumstances(
                setting: setting, user: user, isElevated: isElevated, refusal: refusal))
    }

    @Test(arguments: [0, 1000, 1001, 60_000] as [UInt32])
    func `is the kernel for who logs in`(_ user: UInt32) {
        #expect(place(user: user).place == .kernel)
        #expect(place(user: user).reason == "user \(user) is one that logs in")
    }

    @Test(arguments: [1, 999, 60_001, 65_534, .max] as [UInt32])
    func `is the process for services`(_ user: UInt32) {
        #expect(place(user: user).place == .process)
        #expect(place(user: user).reason == "user \(user) is not one that logs in")
    }

    @Test func `is what the setting says`() {
        #expect(place("kernel", user: 65_534).place == .kernel)
        #expect(place("process", user: 1000).place == .process)
    }

    @Test(arguments: ["", "Kernel", "both"])
    func `is the process when the setting says neither`(_ setting: String) {
        #expect(place(setting).place == .process)
        #expect(place(setting).reason == "VALET_LOCK_STATE is neither kernel nor process")
    }

    @Test(arguments: [nil, "kernel"])
    func `is the process where the kernel refuses`(_ setting: String?) {
        let place = place(setting, refusal: Self.refused)
        #expect(place.place == .process)
        #expect(place.reason.contains("could not ask the kernel for its keyrings"))
    }

    @Test(arguments: [nil, "kernel"])
    func `is the process for a program with more rights than its caller`(_ setting: String?) {
        let place = place(setting, isElevated: true)
        #expect(place.place == .process)
        #expect(place.reason == "this program has more rights than its caller")
    }
}

@Suite struct `An error number of the kernel` {
    @Test(
        arguments: [
            (ENOKEY, .keyNotFound), (ENOENT, .keyNotFound), (EKEYEXPIRED, .expired),
            (EKEYREVOKED, .revoked), (EDQUOT, .quotaExceeded), (ENFILE, .quotaExceeded),
            (EPERM, .refused), (EACCES, .refused), (ENOSYS, .refused), (EOPNOTSUPP, .refused),
            (ENOMEM, .other), (EINVAL, .other),
        ] as [(Int32, LockStateError.Code)])
    func `says what the caller can do`(_ number: Int32, _ code: LockStateError.Code) {
        let error = LockStateError(errno: number, during: .find)
        #expect(error.code == code)
        #expect(error.systemError == number)
        #expect(error.operation == .find)
        #expect(error.description.hasPrefix("could not find keys in the kernel: "))
        #expect(error.description.hasSuffix(", errno \(number)"))
    }
}

@Suite struct `A moment since the machine started` {
    @Test func `does not go back`() {
        let first = BootTime.now
        #expect(first.milliseconds > 0)
        #expect(first <= BootTime.now)
    }

    @Test(
        arguments: [
            (.milliseconds(1), 11), (.seconds(2), 2_010), (.zero, 10), (.seconds(-5), 10),
            (.microseconds(1_999), 11), (.seconds(Int64.max), .max),
        ] as [(Duration, UInt64)])
    func `is later by a duration, and at most the end of time`(_ time: Duration, _ sum: UInt64) {
        #expect(BootTime(milliseconds: 10).advanced(by: time).milliseconds == sum)
    }
}
