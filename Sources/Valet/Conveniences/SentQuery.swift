// SPDX-License-Identifier: Apache-2.0

/// A query on its way to the thread that makes a call.
// Sendable because the owner of the query gave it away, and nothing in it is ever changed.
struct SentQuery: @unchecked Sendable {
    let query: [String: AnyHashable]

    init(_ query: sending [String: AnyHashable]) {
        self.query = query
    }
}
