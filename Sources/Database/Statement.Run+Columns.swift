// SPDX-License-Identifier: Apache-2.0

internal import ValetCSQLite
package import ValetSystem

/// Columns of the row that ``Statement/Run/step()`` went to, counted from 0.
///
/// None of them throws or allocates on the way: the schema's STRICT tables fix the types. A column
/// that the statement does not have reads as NULL.
extension Statement.Run {
    /// The number; 0 for NULL.
    package func int64(_ column: Int32) -> Int64 {
        unsafe sqlite3_column_int64(handle, column)
    }

    /// Whether the column is NULL, which an empty blob is not.
    package func isNull(_ column: Int32) -> Bool {
        unsafe sqlite3_column_type(handle, column) == SQLITE_NULL
    }

    /// How many bytes the blob has; 0 for NULL.
    package func byteCount(_ column: Int32) -> Int {
        unsafe sqlite3_column_blob(handle, column) == nil
            ? 0 : Int(sqlite3_column_bytes(handle, column))
    }

    /// Copies the last bytes of the blob, as many as there is room for.
    ///
    /// - Returns: False, with nothing copied, if the blob has fewer.
    package func copyEnd(ofBlob column: Int32, to target: inout MutableSpan<UInt8>) -> Bool {
        let bytes = unsafe lentBytes(column)
        guard bytes.count >= target.count else { return false }
        unsafe target.withUnsafeMutableBytes { target in
            unsafe target.copyMemory(
                from: UnsafeRawBufferPointer(rebasing: bytes.suffix(target.count)))
        }
        return true
    }

    /// Where the blob lies until the next step.
    @unsafe private func lentBytes(_ column: Int32) -> UnsafeRawBufferPointer {
        // The order matters: the address first, then the count (sqlite.org/c3ref/column_blob.html).
        let start = unsafe sqlite3_column_blob(handle, column)
        let count = unsafe start == nil ? 0 : Int(sqlite3_column_bytes(handle, column))
        return unsafe UnsafeRawBufferPointer(start: start, count: count)
    }

    /// A copy of the blob; NULL and the empty blob are no bytes.
    package func blob(_ column: Int32) -> [UInt8] {
        unsafe Array(lentBytes(column))
    }

    /// A copy of the text; NULL is the empty text.
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
