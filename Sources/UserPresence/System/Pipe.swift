// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// A pipe whose ends die on exec and are none of the standard streams.
struct Pipe: ~Copyable {
    let reading: Descriptor
    let writing: Descriptor

    /// Makes a pipe.
    ///
    /// - Throws: `unavailable` for `reason` with the system's reason.
    init(for reason: UserPresenceError.Reason) throws(UserPresenceError) {
        let ends = try Self.ends(for: reason)
        reading = Descriptor(owning: ends.reading)
        writing = Descriptor(owning: ends.writing)
    }

    /// Makes reading and writing fail instead of wait.
    func makeImpatient() {
        _ = fcntl(reading.number, F_SETFL, O_NONBLOCK)
        _ = fcntl(writing.number, F_SETFL, O_NONBLOCK)
    }

    private static func ends(
        for reason: UserPresenceError.Reason
    ) throws(UserPresenceError) -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [-1, -1]
        guard unsafe valet_make_pipe(&ends) == 0 else {
            throw UserPresenceError(.unavailable(reason), systemError: errno)
        }
        let (reading, writing) = (moved(ends[0]), moved(ends[1]))
        guard reading >= 0, writing >= 0 else {
            for end in [reading, writing] where end >= 0 { _ = close(end) }
            throw UserPresenceError(.unavailable(reason), systemError: EMFILE)
        }
        return (reading, writing)
    }

    /// A process may have been started without standard streams.
    private static func moved(_ number: Int32) -> Int32 {
        guard number <= 2 else { return number }
        let higher = fcntl(number, F_DUPFD_CLOEXEC, 3)
        _ = close(number)
        return higher
    }
}
