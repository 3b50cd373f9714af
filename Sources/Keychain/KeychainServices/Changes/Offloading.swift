// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
package import ValetKeychainModel
internal import ValetSystem

// Moves blocking work away from the cooperative thread pool. Asynchronous calls and prompts use it.

/// Runs `body`, which may block, on a thread that no task runs on.
func offloading<R: Sendable>(
    _ body: @escaping @Sendable () throws(KeychainFailure) -> R
) async throws(KeychainFailure) -> R {
    let result = await withCheckedContinuation {
        (continuation: CheckedContinuation<Result<R, KeychainFailure>, Never>) in
        offloadingQueue.async {
            continuation.resume(returning: Result { () throws(KeychainFailure) in try body() })
        }
    }
    return try result.get()
}

private let offloadingQueue = DispatchQueue(label: "valet.calls", attributes: .concurrent)

/// Runs `body`, which may block for very long, on a new thread. Does not wait for it.
///
/// - Throws: ``KeychainFailure`` with the code `outOfMemory` if the system has no thread left.
package func startThread(_ body: @escaping @Sendable () -> Void) throws(KeychainFailure) {
    do {
        try BackgroundThread.start(body)
    } catch {
        throw KeychainFailure(
            KeychainFailure(
                .outOfMemory, during: "start a thread",
                message: "the system has no thread left for this process"),
            systemError: error.systemError ?? 0)
    }
}
