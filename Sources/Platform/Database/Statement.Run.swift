// SPDX-License-Identifier: Apache-2.0

internal import ValetCSQLite
package import ValetSystem

// One run of a statement: its parameters, its steps, its columns. Every query uses it.

extension Statement {
    /// One run of a statement: bind, step, read. Dropping it resets the statement.
    ///
    /// Parameters count from 1, columns from 0, as in SQLite.
    @safe package struct Run: ~Copyable {
        let statement: Statement
        let handle: OpaquePointer

        init(of statement: Statement, handle: OpaquePointer) {
            self.statement = statement
            unsafe self.handle = handle
        }

        /// Goes to the next row.
        ///
        /// - Returns: Whether there is a row. Columns may be read only if there is one.
        /// - Throws: ``SystemError``: `busy`, `diskFull`, `corrupt`, `readOnly`, …
        package func step() throws(SystemError) -> Bool {
            guard statement.isUsable else { throw statement.failure(SQLITE_MISUSE, "step") }
            let code = unsafe sqlite3_step(handle)
            if code == SQLITE_ROW { return true }
            if code == SQLITE_DONE { return false }
            throw statement.failure(code, "run a statement")
        }

        /// Steps to the end; for statements that write.
        package func finish() throws(SystemError) {
            while try step() {}
        }

        func checkBinding(_ code: Int32) throws(SystemError) {
            guard code == SQLITE_OK else { throw statement.failure(code, "bind a parameter") }
        }

        deinit {
            if statement.isUsable {
                // `sqlite3_reset` returns the error of the last step again; `step` has thrown it.
                unsafe sqlite3_reset(handle)
                unsafe sqlite3_clear_bindings(handle)
            }
            statement.runHasEnded()
        }
    }
}

/// Parameters, counted from 1. A parameter that is not bound is NULL.
///
/// Each function throws ``SystemError/Code/misuse`` for an index that the statement does not have,
/// and `tooLarge` for more than 32 MiB.
extension Statement.Run {
    package func bind(_ number: Int64, at index: Int32) throws(SystemError) {
        try checkBinding(unsafe sqlite3_bind_int64(handle, index, number))
    }

    /// Binds a copy of `bytes`; no bytes are an empty blob, not NULL.
    package func bind(_ bytes: Span<UInt8>, at index: Int32) throws(SystemError) {
        guard !bytes.isEmpty else { return try bindEmptyBlob(at: index) }
        let code = unsafe bytes.withUnsafeBytes { buffer in
            if let copy = unsafe statement.smallBlobs.add(buffer) {
                return unsafe sqlite3_bind_blob64(handle, index, copy, UInt64(buffer.count), nil)
            }
            return unsafe valet_sqlite3_bind_copied_blob(
                handle, index, buffer.baseAddress, UInt64(buffer.count))
        }
        try checkBinding(code)
    }

    /// Binds a copy of `bytes`; no bytes are an empty blob, not NULL.
    package func bind(_ bytes: [UInt8], at index: Int32) throws(SystemError) {
        try bind(bytes.span, at: index)
    }

    /// Binds a copy of `text`.
    package func bind(_ text: String, at index: Int32) throws(SystemError) {
        var text = text
        let code = text.withUTF8 { buffer in
            // An empty text may have no address, and SQLite binds NULL for a null pointer.
            guard !buffer.isEmpty else {
                return unsafe valet_sqlite3_bind_copied_text(handle, index, "", 0)
            }
            return unsafe buffer.withMemoryRebound(to: CChar.self) { characters in
                unsafe valet_sqlite3_bind_copied_text(
                    handle, index, characters.baseAddress, UInt64(characters.count))
            }
        }
        try checkBinding(code)
    }

    /// Binds a copy of `bytes` as text. SQLite makes and frees the copy.
    package func bind(text bytes: Span<UInt8>, at index: Int32) throws(SystemError) {
        let code = unsafe bytes.withUnsafeBytes { buffer in
            guard let start = buffer.baseAddress else {
                return unsafe valet_sqlite3_bind_copied_text(handle, index, "", 0)
            }
            return unsafe valet_sqlite3_bind_copied_text(
                handle, index, start.assumingMemoryBound(to: CChar.self), UInt64(buffer.count))
        }
        try checkBinding(code)
    }

    package func bindNull(at index: Int32) throws(SystemError) {
        try checkBinding(unsafe sqlite3_bind_null(handle, index))
    }

    /// Binds the columns of the current row of `other`, in order, to parameters from `first` on.
    package func bindColumns(
        of other: borrowing Statement.Run, from first: Int32 = 1
    ) throws(SystemError) {
        for column in 0..<(unsafe sqlite3_column_count(other.handle)) {
            try checkBinding(
                unsafe sqlite3_bind_value(
                    handle, first + column, sqlite3_column_value(other.handle, column)))
        }
    }

    private func bindEmptyBlob(at index: Int32) throws(SystemError) {
        try checkBinding(unsafe sqlite3_bind_zeroblob(handle, index, 0))
    }
}

/// Columns of the current row, counted from 0.
///
/// The schema's STRICT tables fix the types, so that no conversion can fail. A column that the
/// statement does not have reads as NULL.
extension Statement.Run {
    /// The number; 0 for NULL.
    package func int64(_ column: Int32) -> Int64 {
        unsafe sqlite3_column_int64(handle, column)
    }

    /// Whether the column is NULL. An empty blob is not NULL.
    package func isNull(_ column: Int32) -> Bool {
        unsafe sqlite3_column_type(handle, column) == SQLITE_NULL
    }

    /// The size of the blob in bytes; 0 for NULL.
    package func byteCount(_ column: Int32) -> Int {
        unsafe sqlite3_column_blob(handle, column) == nil
            ? 0 : Int(sqlite3_column_bytes(handle, column))
    }

    /// Fills `target` with the last bytes of the blob.
    ///
    /// - Returns: false, without copying, if the blob is smaller than the target.
    package func copyEnd(ofBlob column: Int32, to target: inout MutableSpan<UInt8>) -> Bool {
        let bytes = unsafe lentBytes(column)
        guard bytes.count >= target.count else { return false }
        unsafe target.withUnsafeMutableBytes { target in
            unsafe target.copyMemory(
                from: UnsafeRawBufferPointer(rebasing: bytes.suffix(target.count)))
        }
        return true
    }

    /// The memory of the blob, valid until the next step.
    @unsafe private func lentBytes(_ column: Int32) -> UnsafeRawBufferPointer {
        // The order matters: the address first, then the count (sqlite.org/c3ref/column_blob.html).
        let start = unsafe sqlite3_column_blob(handle, column)
        let count = unsafe start == nil ? 0 : Int(sqlite3_column_bytes(handle, column))
        return unsafe UnsafeRawBufferPointer(start: start, count: count)
    }

    /// Lends the bytes of a blob or a text to `body`; none for NULL.
    package func withBytes<R: ~Copyable, E>(
        of column: Int32, _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        let bytes = unsafe lentBytes(column).assumingMemoryBound(to: UInt8.self)
        return try body(unsafe Span(_unsafeElements: bytes))
    }

    /// A copy of the blob; empty for NULL.
    package func blob(_ column: Int32) -> [UInt8] {
        unsafe Array(lentBytes(column))
    }

    /// Appends the bytes of the blob; none for NULL.
    package func append(blob column: Int32, to bytes: inout [UInt8]) {
        unsafe bytes.append(contentsOf: lentBytes(column))
    }

    /// A copy of the text; empty for NULL.
    ///
    /// - Throws: ``SystemError/Code/corrupt`` if it is not UTF-8.
    package func text(_ column: Int32) throws(SystemError) -> String {
        guard let start = unsafe sqlite3_column_text(handle, column) else { return "" }
        let count = unsafe Int(sqlite3_column_bytes(handle, column))
        let bytes = unsafe UnsafeBufferPointer(start: start, count: count)
        guard let text = unsafe String(validating: bytes, as: UTF8.self) else {
            throw SystemError(.corrupt, during: "read a text")
        }
        return text
    }
}
