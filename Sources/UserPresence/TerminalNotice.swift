// SPDX-License-Identifier: Apache-2.0

internal import Database

/// What a person is told who is to do something else than type.
package enum TerminalNotice {
    /// Shows each of `lines` as one line, whatever it holds, on the terminal that the process has
    /// in the foreground; nowhere if it has none.
    package static func show(_ lines: [String]) {
        let device = TerminalDevice()
        guard device.isTerminal, !device.isInBackground else { return }
        device.show(
            lines.map { PromptText.line($0) + "\n" }.joined(), until: Deadline(after: .zero))
    }
}
