// SPDX-License-Identifier: Apache-2.0

internal import ValetCSQLite
package import ValetSystem

/// Parameters, counted from 1; those not bound are NULL.
///
/// Each throws ``SystemError/Code/misuse`` for an index that the statement does not have, and
/// `tooLarge` for more than 32 MiB.
extension Statement.Run {
    /// Binds a number.
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
            // Without an address SQLite would bind NULL; an empty text may have none.
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

    /// Binds NULL.
    package func bindNull(at index: Int32) throws(SystemError) {
        try checkBinding(unsafe sqlite3_bind_null(handle, index))
    }

    /// Binds every column of the row that `other` is at, in their order, from parameter `first` on.
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
