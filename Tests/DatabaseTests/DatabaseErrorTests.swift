// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import ValetDatabase

@Suite struct `A database error` {
    @Test(
        arguments: [
            (5, .busy), (261, .busy), (517, .busy), (6, .busy), (15, .busy), (13, .diskFull),
            (8, .readOnly), (1288, .readOnly), (10, .inputOutput), (3082, .outOfMemory),
            (7, .outOfMemory), (11, .corrupt), (8458, .corrupt), (26, .notADatabase),
            (19, .constraint), (2067, .constraint), (17, .schemaMismatch), (14, .cannotOpen),
            (1550, .symbolicLink), (18, .tooLarge), (21, .misuse), (25, .misuse), (1, .other),
        ] as [(Int32, DatabaseError.Code)])
    func `has the code that an SQLite code stands for`(_ sqlite: Int32, _ code: DatabaseError.Code)
    {
        #expect(DatabaseError(sqlite: sqlite, during: "", path: nil).code == code)
    }

    @Test(
        arguments: [
            (ENOSPC, .diskFull), (EDQUOT, .diskFull), (EROFS, .readOnly), (EIO, .inputOutput),
            (ENOMEM, .outOfMemory), (EACCES, .cannotOpen), (EPERM, .cannotOpen),
            (ELOOP, .symbolicLink), (ENXIO, .notARegularFile), (ENOTDIR, .notADirectory),
            (ENOENT, .missing), (EEXIST, .alreadyExists), (EINVAL, .misuse), (EAGAIN, .other),
        ] as [(Int32, DatabaseError.Code)])
    func `has the code that an errno stands for`(_ system: Int32, _ code: DatabaseError.Code) {
        #expect(DatabaseError(errno: system, during: "", path: nil).code == code)
    }

    @Test(
        arguments: [
            (ENOSPC, .diskFull), (EROFS, .readOnly), (ENOENT, .missing), (EIO, .inputOutput),
        ]
            as [(Int32, DatabaseError.Code)])
    func `believes errno where SQLite only says that input or output failed`(
        _ system: Int32, _ code: DatabaseError.Code
    ) {
        let error = DatabaseError(sqlite: 4874, during: "", path: nil, systemError: system)
        #expect(error.code == code)
        #expect(error.sqliteCode == 4874)
        #expect(error.systemError == system)
    }

    @Test func `says what was being done, why it failed and where`() {
        let error = DatabaseError(errno: EACCES, during: "open the lock file", path: "/k/lock")
        #expect("\(error)" == "could not open the lock file: cannot be opened (/k/lock), errno 13")
    }

    @Test func `can be caught by its code`() {
        do throws(DatabaseError) {
            throw DatabaseError(.busy, during: "lock")
        } catch .busy {
        } catch {
            Issue.record("not caught")
        }
    }

    @Test(arguments: [
        ("/home/a/b-c.d", "/home/a/b-c.d"), ("/a b", "'/a b'"), ("/it's", "'/it'\\''s'"),
        ("", "''"), ("/é", "'/é'"),
    ])
    func `quotes paths in its hints for the shell`(_ path: String, _ quoted: String) {
        #expect(path.quotedForShell == quoted)
    }
}

@Suite struct `A deadline` {
    @Test func `has passed after its time`() {
        let deadline = Deadline(after: .milliseconds(20))
        #expect(!deadline.hasPassed)
        usleep(25_000)
        #expect(deadline.hasPassed)
        #expect(deadline.remaining == .zero)
    }

    @Test func `does not sleep beyond itself`() {
        let (time, _) = timed(within: .milliseconds(70)) {
            let deadline = Deadline(after: .milliseconds(20))
            #expect(deadline.sleep(atMost: 10_000_000_000))
            #expect(!deadline.sleep(atMost: 1))
        }
        #expect(time >= .milliseconds(20) && time < .milliseconds(70))
    }

    @Test func `may be never, or now`() {
        #expect(!Deadline.never.hasPassed)
        #expect(!Deadline(after: .seconds(Int64.max)).hasPassed)
        #expect(Deadline.immediately.hasPassed)
        #expect(Deadline(after: .seconds(-1)).hasPassed)
    }
}
