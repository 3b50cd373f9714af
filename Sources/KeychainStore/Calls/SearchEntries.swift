// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

/// Compares table `attribute` with the rows that it should lead to.
struct SearchEntries {
    private let entry: Statement
    private let all: Statement
    private var present: Int64 = 0
    private var missing: Int64 = 0
    /// Whether the table cannot be read.
    private var isCorrupt = false

    init(_ store: StoreConnection) {
        entry = store.entry
        all = Statement("SELECT count(*) FROM attribute", on: store.connection)
    }

    /// Looks for all entries of a row. Those of a damaged one need not be there.
    mutating func look(for row: SealedRow, isSound: Bool) throws {
        guard !isCorrupt, let hashes = try? IndexHashes.others(parsing: row.hashes) else { return }
        for hash in hashes.values {
            switch try unlessCorrupt({ try has(hash, row.header.number) }) {
            case true?: present += 1
            case false?: missing += isSound ? 1 : 0
            case nil: isCorrupt = true
            }
        }
    }

    private func has(_ hash: IndexHash, _ number: Int64) throws(SystemError) -> Bool {
        let run = try entry.start()
        try run.bind(hash, at: 1)
        try run.bind(number, at: 2)
        return try run.step()
    }

    func findings() throws -> [Finding] {
        guard let count = isCorrupt ? nil : try unlessCorrupt({ try count() }) else {
            return [finding("the table of search entries cannot be read")]
        }
        var findings: [Finding] = []
        if missing > 0 { findings.append(finding("\(missing) search entries are missing")) }
        if count > present {
            findings.append(finding("\(count - present) search entries lead nowhere"))
        }
        return findings
    }

    private func count() throws(SystemError) -> Int64 {
        let run = try all.start()
        return try run.step() ? run.int64(0) : 0
    }

    private func finding(_ message: String) -> Finding {
        Finding(.damage, message, hint: KeychainFailure.repairHint)
    }
}
