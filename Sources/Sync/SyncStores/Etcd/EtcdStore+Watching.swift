// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
package import ValetKeychainModel
package import ValetSync
package import ValetSystem

/// Waiting for changes: a watch on the heads of a circle and on its roster.
extension EtcdStore {
    /// The state between two waits.
    struct Watching {
        /// Made for the first wait, which may run beside other calls.
        var client: EtcdClient?
        var circle: CircleID?
        var clusterID: String?
        /// The newest revision that an answer had.
        var revision: Int64 = 0
        /// From where the next watch begins; nil if everything must be listed first.
        var start: Int64?
        /// When the circle is to be listed next, whatever the watch says.
        var nextScan = Deadline.immediately
    }

    /// How a watch ended.
    private enum Found {
        case changes
        /// The server has ended the watch, or was set back.
        case canceled
        case broken
        case limit
    }

    private static let scanInterval = Duration.seconds(600)
    /// How often the cluster is asked for its revision while nothing changes: a server that is cut
    /// off from the others does not end its watches.
    private static let checkInterval = Duration.seconds(60)
    private static let pauseLength = Duration.seconds(1)

    /// Watches from the revision after the one at which the circle was to be listed last.
    package func waitForChange(
        in circle: CircleID, within limit: WaitLimit
    ) throws(KeychainFailure) -> Bool {
        do {
            return try change(in: circle, within: limit)
        } catch {
            guard error.code == .storeTimedOut, Self.hasEnded(limit) else { throw error }
            return false
        }
    }

    private static func hasEnded(_ limit: WaitLimit) -> Bool {
        limit.ending(at: .immediately).wait(for: -1) != .deadline || limit.deadline.hasPassed
    }

    private func change(
        in circle: CircleID, within limit: WaitLimit
    ) throws(KeychainFailure) -> Bool {
        try watching.withLock { (watching) throws(KeychainFailure) -> Bool in
            let client = try Self.client(of: &watching, address)
            while true {
                let isCanceled = watching.start == nil && watching.circle == circle
                guard try continues(circle, client, &watching, within: limit) else {
                    // A server that cancels each watch must not keep the caller busy.
                    if isCanceled { Self.pause(limit) }
                    return true
                }
                let end = min(
                    limit.deadline, watching.nextScan, Deadline(after: Self.checkInterval))
                switch Self.watch(circle, client, &watching, within: limit.ending(at: end)) {
                case .changes: return true
                case .canceled: watching.start = nil
                case .broken: Self.pause(limit)
                case .limit: break
                }
                if Self.hasEnded(limit) { return false }
            }
        }
    }

    private static func pause(_ limit: WaitLimit) {
        let end = min(limit.deadline, Deadline(after: pauseLength))
        _ = limit.ending(at: end).wait(for: -1)
    }

    private static func client(
        of watching: inout Watching, _ address: EtcdAddress
    ) throws(KeychainFailure) -> EtcdClient {
        if let client = watching.client { return client }
        let client = try EtcdClient(address)
        watching.client = client
        return client
    }

    /// Asks the cluster for its revision.
    ///
    /// - Returns: Whether a watch can go on from the last one. If not, everything must be listed.
    private func continues(
        _ circle: CircleID, _ client: EtcdClient, _ watching: inout Watching,
        within limit: WaitLimit
    ) throws(KeychainFailure) -> Bool {
        let operation = "watch the circle"
        let mark = EtcdTransaction(
            compare: [.exists(EtcdKeys.mark(circle))])
        let answer = try client.transact(mark, operation, within: limit)
        guard answer.isSuccess else { throw Self.withoutMark(operation) }
        guard let revision = EtcdRevision(answer.revision) else {
            throw KeychainFailure.store(.storeMalformed, during: operation, reason: "no revision")
        }
        let isSame =
            watching.circle == circle && watching.clusterID == answer.clusterID
            && watching.revision <= revision.number && !watching.nextScan.hasPassed
        watching.circle = circle
        watching.clusterID = answer.clusterID
        watching.revision = revision.number
        if isSame, watching.start != nil { return true }
        watching.start = revision.next
        watching.nextScan = Deadline(after: Self.scanInterval)
        return false
    }

    private static func watch(
        _ circle: CircleID, _ client: EtcdClient, _ watching: inout Watching,
        within limit: WaitLimit
    ) -> Found {
        guard let start = watching.start else { return .canceled }
        let (first, end) = EtcdKeys.watched(circle)
        let body = etcdWatch(from: first, below: end, since: start)
        var (found, newest) = (Found.broken, start)
        let ending = client.stream("/v3/watch", body, within: limit) { line in
            guard let line = EtcdWatchLine(line) else { return false }
            let next = EtcdRevision(line.revision)?.next ?? 0
            if line.isCanceled || (line.isCreated && next < start) {
                found = .canceled
                return false
            }
            guard !line.events.isEmpty else { return true }
            // The header may name a later revision, some of whose events are still to come.
            let revisions = line.events.compactMap { EtcdRevision($0.modRevision)?.number }
            newest = max(start, revisions.max() ?? start)
            found = .changes
            return false
        }
        switch ending {
        case .stopped:
            if case .changes = found {
                watching.start = EtcdRevision(newest)?.next
                watching.revision = max(watching.revision, newest)
            }
            return found
        case .limit: return .limit
        // So much has changed that listing is cheaper.
        case .tooLarge: return .canceled
        case .done, .failed: return .broken
        }
    }
}
