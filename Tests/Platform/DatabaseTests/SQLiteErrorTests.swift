// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetSystem

@testable import ValetDatabase

@Suite struct `An error of SQLite` {
    @Test(
        arguments: [
            (5, .busy), (261, .busy), (517, .busy), (6, .busy), (15, .busy), (13, .diskFull),
            (8, .readOnly), (1288, .readOnly), (10, .inputOutput), (3082, .outOfMemory),
            (7, .outOfMemory), (11, .corrupt), (8458, .corrupt), (26, .notADatabase),
            (19, .corrupt), (2067, .corrupt), (17, .schemaMismatch), (14, .cannotOpen),
            (1550, .symbolicLink), (18, .tooLarge), (21, .misuse), (25, .misuse), (1, .other),
        ] as [(Int32, SystemError.Code)])
    func `A database error has the code of the SQLite result`(
        _ sqlite: Int32, _ code: SystemError.Code
    ) {
        #expect(SystemError(sqlite: sqlite, during: "", path: nil).code == code)
    }

    @Test(
        arguments: [
            (ENOSPC, .diskFull), (EFBIG, .diskFull), (EROFS, .readOnly), (ENOENT, .missing),
            (EIO, .inputOutput),
        ]
            as [(Int32, SystemError.Code)])
    func `A database error uses errno where SQLite only reports input or output`(
        _ system: Int32, _ code: SystemError.Code
    ) {
        let error = SystemError(sqlite: 4874, during: "", path: nil, systemError: system)
        #expect(error.code == code)
        #expect(error.sqliteCode == 4874)
        #expect(error.systemError == system)
    }
}
