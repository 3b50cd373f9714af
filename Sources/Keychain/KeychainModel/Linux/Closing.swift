// SPDX-License-Identifier: Apache-2.0

/// What closing files has come to.
package struct Closing: Sendable {
    /// False while a call of another thread is using the files: it keeps them.
    package var isClosed = true
    /// Why changes that calls have reported as made are lost: somebody has removed the log, and
    /// only this process had it.
    package var loss: KeychainFailure?

    package init() {}
}
