// SPDX-License-Identifier: Apache-2.0

import Foundation
import ValetTestValues

extension TestFolder {
    private static let backup = "keys.backup"

    /// Where a test puts its backup.
    var backup: String { path(Self.backup) }

    func read() throws -> [UInt8] { try read(Self.backup) }

    /// Writes a backup that others may read, as a copied file is.
    func write(_ bytes: [UInt8]) throws { try write(bytes, to: Self.backup, mode: 0o644) }

    func mode() -> mode_t? { mode(Self.backup) }
}
