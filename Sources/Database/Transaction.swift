// SPDX-License-Identifier: Apache-2.0

package import ValetSystem

/// A write transaction. Dropping it without ``commit()`` rolls back.
///
/// Belongs under the lock file, which must be held until it has ended.
package struct Transaction: ~Copyable {
    private let connection: Connection
    private var hasEnded = false

    /// Begins it at once (`BEGIN IMMEDIATE`), so that nothing inside can be told *busy*.
    ///
    /// - Throws: ``SystemError``: `busy` at the connection's deadline; `readOnly`; `misuse` in
    ///   another transaction.
    package init(on connection: Connection) throws(SystemError) {
        try connection.beginWriting()
        self.connection = connection
    }

    /// Makes the changes permanent: once this returns they survive a power cut.
    ///
    /// - Throws: ``SystemError``: `diskFull`, `inputOutput`, …; nothing has changed then.
    package consuming func commit() throws(SystemError) {
        try connection.run(.commit)
        hasEnded = true
    }

    deinit {
        if !hasEnded { connection.rollBack() }
    }
}

/// A read transaction: all that is read inside belongs to one moment. Ends when dropped.
///
/// It must not outlive its call: while it lasts, the log cannot be taken over completely.
package struct ReadTransaction: ~Copyable {
    private let connection: Connection

    /// Begins it; the moment is that of the first read.
    ///
    /// - Throws: ``SystemError/Code/misuse`` inside another transaction.
    package init(on connection: Connection) throws(SystemError) {
        try connection.run(.beginReading)
        self.connection = connection
    }

    deinit {
        connection.endReading()
    }
}
