// SPDX-License-Identifier: Apache-2.0

internal import ValetSystem

/// The backend of the desktop's portal, on a connection and a thread of its own: a call with a
/// descriptor can keep the thread waiting that closes it. No other call waits then.
final class PortalThread: Sendable {
    private let hasEnded: Bell
    private let stop = Lock<(@Sendable () -> Void)?>(nil)
    private let isStopped = Lock(false)

    /// Begins to answer, unless another program is the backend.
    ///
    /// - Parameter note: Writes a line for the person who runs the service.
    init(
        _ holdings: Holdings, policyIn folder: String, _ note: @escaping @Sendable (String) -> Void
    ) throws(SystemError) {
        hasEnded = try Bell()
        try BackgroundThread.start { [self] in
            serve(holdings, policyIn: folder, note)
            hasEnded.ring()
        }
    }

    private func serve(
        _ holdings: Holdings, policyIn folder: String, _ note: @escaping @Sendable (String) -> Void
    ) {
        do throws(SystemError) {
            let policy = try PolicyFile(in: folder)
            let service = try SecretService(.portal, holdings, policy, replacing: true, note)
            stop.withLock { $0 = service.stopper }
            if isStopped.withLock({ $0 }) { return }
            try service.run(idle: nil)
        } catch {
            guard error.code.refusal == nil else { return }
            note("valet: warning: Flatpaks get no secrets through the portal: \(error)")
        }
    }

    /// Answers the calls that have come, and gives up the name; waits no longer than until the
    /// deadline.
    func end(before deadline: Deadline) {
        isStopped.withLock { $0 = true }
        stop.withLock { $0 }?()
        _ = hasEnded.wait(until: deadline)
    }
}

extension SecretService {
    /// What an instance answers. The portal needs calls with descriptors, by which a program can
    /// keep a thread waiting: so it has a connection and a thread of its own.
    enum Role {
        case secrets, portal

        var busName: String { self == .secrets ? SecretService.busName : Portal.busName }
    }

    /// Writes a line for the person who runs the service, from any thread.
    var noter: @Sendable (String) -> Void {
        let inbox = inbox
        return { inbox.add(.noted($0)) }
    }

    /// Ends ``run(idle:)`` of another thread, as if nobody had called for long.
    var stopper: @Sendable () -> Void {
        let inbox = inbox
        return { inbox.add(.stopped) }
    }
}
