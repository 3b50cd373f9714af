// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetSystemSupport

@testable import ValetSystem

@Suite struct `An error of the system` {
    @Test(
        arguments: [
            (ENOSPC, .diskFull), (EDQUOT, .diskFull), (EROFS, .readOnly), (EIO, .inputOutput),
            (ENOMEM, .outOfMemory), (EACCES, .cannotOpen), (EPERM, .cannotOpen),
            (ELOOP, .symbolicLink), (ENXIO, .notARegularFile), (ENOTDIR, .notADirectory),
            (ENOENT, .missing), (EEXIST, .alreadyExists), (EINVAL, .misuse), (EAGAIN, .other),
        ] as [(Int32, SystemError.Code)])
    func `A database error has the code of the errno`(_ system: Int32, _ code: SystemError.Code) {
        #expect(SystemError(errno: system, during: "", path: nil).code == code)
    }

    @Test func `A database error names operation, reason and place`() {
        let error = SystemError(errno: EACCES, during: "open the lock file", path: "/k/lock")
        #expect("\(error)" == "could not open the lock file: cannot be opened (/k/lock), errno 13")
    }

    @Test func `A database error can be caught by its code`() {
        do throws(SystemError) {
            throw SystemError(.busy, during: "lock")
        } catch .busy {
        } catch {
            Issue.record("not caught")
        }
    }

    @Test(arguments: [
        ("/home/a/b-c.d", "/home/a/b-c.d"), ("/a b", "'/a b'"), ("/it's", "'/it'\\''s'"),
        ("", "''"), ("/é", "'/é'"),
        // To Swift, the apostrophe and the mark after it are one character.
        ("/x'\u{301};a'\u{301}", "'/x'\\''\u{301};a'\\''\u{301}'"),
    ])
    func `The hints of database errors quote paths for the shell`(_ path: String, _ quoted: String)
    {
        #expect(path.quotedForShell == quoted)
    }
}

@Suite struct `A deadline` {
    @Test func `A deadline has passed after its time`() {
        let deadline = Deadline(after: .milliseconds(20))
        #expect(!deadline.hasPassed)
        usleep(25_000)
        #expect(deadline.hasPassed)
        #expect(deadline.remaining == .zero)
    }

    @Test func `A sleep does not go beyond its deadline`() {
        let (time, _) = timed(within: .milliseconds(70)) {
            let deadline = Deadline(after: .milliseconds(20))
            #expect(deadline.sleep(atMost: 10_000_000_000))
            #expect(!deadline.sleep(atMost: 1))
        }
        #expect(time >= .milliseconds(20) && time < .milliseconds(70))
    }

    @Test func `A deadline may be never or now`() {
        #expect(!Deadline.never.hasPassed)
        #expect(!Deadline(after: .seconds(Int64.max)).hasPassed)
        #expect(Deadline.immediately.hasPassed)
        #expect(Deadline(after: .seconds(-1)).hasPassed)
    }
}
