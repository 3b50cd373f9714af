// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// Makes signals of this thread wait, so that work of several steps can end between two of them.
/// What arrived acts when the signals are released.
package struct HeldSignals: ~Copyable {
    private let numbers: [Int32]
    private var earlierMask = sigset_t()

    package init(_ numbers: [Int32]) {
        self.numbers = numbers
        var held = sigset_t()
        unsafe sigemptyset(&held)
        for number in numbers { unsafe sigaddset(&held, number) }
        unsafe sigemptyset(&earlierMask)
        unsafe pthread_sigmask(SIG_BLOCK, &held, &earlierMask)
    }

    deinit {
        var mask = earlierMask
        unsafe pthread_sigmask(SIG_SETMASK, &mask, nil)
    }

    /// Whether a signal waits that the process does not ignore.
    package var haveArrived: Bool {
        var pending = sigset_t()
        unsafe sigemptyset(&pending)
        unsafe sigpending(&pending)
        return numbers.contains { number in
            // The kernel keeps a signal that is ignored as long as it is blocked.
            unsafe sigismember(&pending, number) == 1 && valet_is_signal_ignored(number) == 0
        }
    }

    /// Lets the signals act.
    package consuming func release() {}
}
