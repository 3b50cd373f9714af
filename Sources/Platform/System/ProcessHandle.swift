// SPDX-License-Identifier: Apache-2.0

internal import ValetCLinux

/// A handle of a process. It never refers to a later process with the same number (pidfd_open(2)).
package final class ProcessHandle: Sendable {
    private let descriptor: FileDescriptor

    /// nil if there is no such process, or the kernel is older than 5.3.
    package init?(_ process: Int32) {
        descriptor = FileDescriptor(owning: valet_open_process(process))
        guard descriptor.number >= 0 else { return nil }
    }

    /// The process of a handle that another program has opened.
    package init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

    package var hasEnded: Bool {
        WaitLimit(until: .immediately).wait(for: descriptor.number) == .ready
    }
}
