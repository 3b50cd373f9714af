// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// Runs `body`, which may block, on a thread that no task runs on.
package func offloading<R: Sendable>(_ body: @escaping @Sendable () -> R) async -> R {
    await withCheckedContinuation { continuation in
        offloadingQueue.async { continuation.resume(returning: body()) }
    }
}

private let offloadingQueue = DispatchQueue(label: "valet.calls", attributes: .concurrent)
