// SPDX-License-Identifier: Apache-2.0

internal import ValetSystem

/// How many bytes of calls may wait. For the thread of the bus.
final class ByteBudget {
    /// Several of the largest calls: one has a secret of 16 MiB.
    static let ofProgram = 64 << 20
    /// More than clients send before the first answer.
    static let ofUnknown = 1 << 20

    /// Bytes that are counted for as long as this exists.
    final class Share {
        private let budget: ByteBudget
        private let byteCount: Int

        fileprivate init(_ budget: ByteBudget, _ byteCount: Int) {
            (self.budget, self.byteCount) = (budget, byteCount)
            budget.taken += byteCount
        }

        deinit { budget.taken -= byteCount }
    }

    private let limit: Int
    private var taken = 0

    init(_ limit: Int) { self.limit = limit }

    /// - Returns: nil if there are not so many bytes left, and for a nil `byteCount`.
    func take(_ byteCount: Int?) -> Share? {
        guard let byteCount, byteCount <= limit - taken else { return nil }
        return Share(self, byteCount)
    }
}

/// How many bytes a program may still be sent. What it does not read stays in the bus, and counts
/// for the sender: at a limit the bus takes no more messages from this service, for any program.
struct AnswerAllowance {
    /// The second one is for each second.
    private static let (maximalByteCount, refilledByteCount) = (64 << 20, 16 << 20)

    private var rest = maximalByteCount
    private var last = Deadline.now

    /// Whether the next answer has to wait.
    var isUsedUp: Bool { mutating get { isUsedUp(at: Deadline.now) } }

    /// - Parameter now: Nanoseconds.
    mutating func isUsedUp(at now: Int64) -> Bool {
        let milliseconds = Int((now - last) / 1_000_000)
        if milliseconds > 0 {
            let most = Self.maximalByteCount - rest
            let refilled = min(milliseconds, 1_000_000) * (Self.refilledByteCount / 1_000)
            rest += min(most, refilled)
            last = now
        }
        return rest <= 0
    }

    /// Takes what was sent, which may be more than was left.
    mutating func take(_ byteCount: Int) { rest -= byteCount }
}

extension SecretService {
    /// Limits per program: none needs more, and more could fill the memory. A prompt has up to
    /// 1 MiB of paths.
    private static let maximalSessionCount = 1_000
    static let maximalPromptCount = 16

    /// Whether the program of a client may have one more session.
    func mayOpenSession(_ client: String) -> Bool {
        owner(of: client)?.sessionCount ?? .max < Self.maximalSessionCount
    }

    static let tooManyAnswers = Answer.refusal(
        .limitsExceeded, "this program gets too much at once: try again in a few seconds")
}
