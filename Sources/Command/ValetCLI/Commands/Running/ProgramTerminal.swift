// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// The terminal of a masked program, in front of the real one.
///
/// The program's terminal has its own settings, echo and keys that send signals, as if it were the
/// real one. While the program runs, the real terminal passes on every key and every byte
/// unchanged.
struct ProgramTerminal {
    /// This process's end of the program's terminal.
    let own: Int32
    /// A descriptor of the real terminal that does not block.
    let outer: Int32
    /// The settings of the real terminal before the program.
    private(set) var settings: termios
    /// Whether the real terminal passes everything on.
    private(set) var isEntered = false
    /// Keys that the program's terminal has not taken yet.
    private var keys: [UInt8] = []
    private var isGone = false

    /// Opens the real terminal anew; nil if it cannot be used.
    init?(own: Int32) {
        let flags = O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
        let file = unsafe open("/proc/self/fd/0", flags)
        var settings = termios()
        guard file >= 0, unsafe tcgetattr(file, &settings) == 0 else {
            if file >= 0 { close(file) }
            return nil
        }
        self.own = own
        outer = file
        self.settings = settings
    }

    /// Has the real terminal pass everything on, if this process is in its foreground.
    mutating func enter() {
        guard !isEntered, !isGone, tcgetpgrp(outer) == getpgrp() else { return }
        guard unsafe tcgetattr(outer, &settings) == 0 else { return }
        var raw = settings
        unsafe cfmakeraw(&raw)
        isEntered = unsafe tcsetattr(outer, TCSANOW, &raw) == 0
        valet_copy_terminal_size(outer, own)
    }

    /// Gives the real terminal its settings back.
    mutating func leave() {
        guard isEntered else { return }
        isEntered = false
        if tcgetpgrp(outer) == getpgrp() { _ = unsafe tcsetattr(outer, TCSANOW, &settings) }
    }

    /// What to poll for: keys, or room in the program's terminal for keys that wait.
    var requests: [pollfd] {
        let isReading = isEntered && !isGone && keys.isEmpty
        return [
            pollfd(fd: isReading ? outer : -1, events: Int16(POLLIN), revents: 0),
            pollfd(fd: keys.isEmpty ? -1 : own, events: Int16(POLLOUT), revents: 0),
        ]
    }

    /// Passes keys on, after the wait for ``requests``.
    mutating func serve() {
        if keys.isEmpty {
            var buffer = [UInt8](repeating: 0, count: 1024)
            let count = unsafe read(outer, &buffer, buffer.count)
            if count > 0 {
                keys = Array(buffer[..<count])
            } else if count == 0 || (errno != EINTR && errno != EAGAIN) {
                isGone = true
            }
        }
        let count = unsafe write(own, keys, keys.count)
        if count > 0 {
            keys.removeFirst(count)
        } else if errno != EINTR, errno != EAGAIN {
            keys.removeAll()
        }
    }
}
