// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSync
import ValetSyncStores
import ValetSystem
import ValetTestValues

/// What all stores have in common. A new store is added to ``StoreKind``.
@Suite struct `Every store` {
    @Test(arguments: StoreKind.all)
    func `is unavailable without the mark of the circle, and makes nothing`(
        _ kind: StoreKind
    ) throws {
        let test = try TestStore(kind, hasCircle: false)
        let (store, log, circle) = (test.store, test.log(), test.circle)
        let calls: [() throws -> Void] = [
            { try store.check(circle, by: .soon) },
            { _ = try store.logs(of: [test.device], in: circle, by: .soon) },
            { _ = try store.list(.log(log), by: .soon) },
            { _ = try store.list(test.roster, by: .soon) },
            { _ = try store.read([], in: .log(log), by: .soon) },
            {
                _ = try store.append(
                    [1], at: .test(1), to: .log(log), after: nil, by: .soon)
            },
            {
                _ = try store.put(
                    [StoreFile(number: 1, part: 0, bytes: [1])], in: .log(log), by: .soon)
            },
            { try store.delete([], in: log, by: .soon) },
            { try store.deleteLogs(of: test.device, in: circle, by: .soon) },
            {
                _ = try store.waitForChange(
                    in: circle, within: WaitLimit(until: .soon))
            },
        ]
        for call in calls {
            #expect(throws: KeychainFailure.self) { try call() }.map {
                #expect($0.code == .storeUnavailable)
            }
        }
        if let folder = test.folder { #expect(try folder.names().isEmpty) }
        try store.create(circle, by: .soon)
        #expect(try store.logs(of: [test.device], in: circle, by: .soon).isEmpty)
        #expect(try store.list(.log(log), by: .soon) == StoreListing())
    }

    @Test(arguments: StoreKind.all)
    func `creates a circle once, and keeps what is in it`(_ kind: StoreKind) throws {
        let test = try TestStore(kind)
        let log = test.log()
        try test.append(1...1, to: log)
        try test.other.create(test.circle, by: .soon)
        try test.other.check(test.circle, by: .soon)
        #expect(try test.contents(of: .log(log)) == [.bytes(message(1))])
    }

    @Test(arguments: StoreKind.all)
    func `lists and reads what was appended`(_ kind: StoreKind) throws {
        let test = try TestStore(kind)
        let logs = [test.log(.whileUnlocked), test.log(.afterFirstUnlock)]
        for log in logs { try test.append(1...3, to: log) }
        #expect(
            Set(try test.other.logs(of: [test.device], in: test.circle, by: .soon)) == Set(logs))
        for log in logs {
            let listing = try test.other.list(.log(log), by: .soon)
            #expect(listing.names.map(\.number) == [1, 2, 3])
            #expect(listing.names.allSatisfy { $0.part == nil })
            #expect(!listing.isTooLong && listing.foreignCount == 0)
            #expect(
                try test.contents(of: .log(log)) == (1...3).map { .bytes(message($0)) })
        }
    }

    @Test(arguments: StoreKind.all)
    func `reads in the order of the names, and says what is missing`(_ kind: StoreKind) throws {
        let test = try TestStore(kind)
        let log = test.log()
        try test.append(1...20, to: log)
        var names = try test.store.list(.log(log), by: .soon).names
        try test.store.delete([names[4]], in: log, by: .soon)
        names = names.prefix(16).reversed()
        let found = try test.store.read(names, in: .log(log), by: .soon)
        #expect(
            found == names.map { $0.number == 5 ? .missing : .bytes(message($0.number)) })
        #expect(try test.store.read([], in: .log(log), by: .soon).isEmpty)
    }

    @Test(arguments: StoreKind.all)
    func `keeps sixteen messages of the greatest size`(_ kind: StoreKind) throws {
        let test = try TestStore(kind)
        let log = test.log()
        let large = { (number: UInt64) in
            [UInt8](repeating: UInt8(number), count: MessageFormat.maximalByteCount)
        }
        try test.append(1...16, to: log, bytes: large)
        #expect(try test.contents(of: .log(log)) == (1...16).map { .bytes(large($0)) })
    }

    @Test(arguments: StoreKind.all)
    func `takes the same append twice and has it once`(_ kind: StoreKind) throws {
        let test = try TestStore(kind)
        let log = test.log()
        try test.append(1...2, to: log)
        let again = try test.store.append(
            message(2), at: .test(2), to: .log(log), after: .test(1), by: .soon)
        #expect(again == .stored)
        #expect(try test.contents(of: .log(log)).count == 2)
    }

    @Test(arguments: StoreKind.all.filter(\.hasHeads))
    func `refuses to append after another head, and names that head`(_ kind: StoreKind) throws {
        let test = try TestStore(kind)
        let log = test.log()
        try test.append(1...2, to: log)
        let foreign = LogPosition.test(3, branch: 9)
        for head in [nil, LogPosition.test(1), .test(2, branch: 1)] {
            let outcome = try test.other.append(
                [9], at: foreign, to: .log(log), after: head, by: .soon)
            #expect(outcome == .otherHead(.test(2)))
        }
        let empty = try test.other.append(
            [9], at: foreign, to: .log(test.log()), after: .test(2), by: .soon)
        #expect(empty == .otherHead(nil))
        #expect(try test.contents(of: .log(log)) == [.bytes(message(1)), .bytes(message(2))])
    }

    @Test(arguments: StoreKind.all.filter(\.hasHeads))
    func `writes over no message and no part`(_ kind: StoreKind) throws {
        let test = try TestStore(kind)
        let log = test.log()
        let part = StoreFile(number: 4, part: 0, bytes: [1])
        try test.append(1...1, to: log)
        #expect(try test.store.put([part], in: .log(log), by: .soon) == .stored)
        let other = StoreFile(number: 4, part: 0, bytes: [2])
        #expect(try test.other.put([other], in: .log(log), by: .soon) == .taken)
        let file = StoreFile(number: 2, bytes: [7])
        #expect(try test.store.put([file], in: .log(log), by: .soon) == .stored)
        let outcome = try test.other.append(
            [8], at: .test(2), to: .log(log), after: .test(1), by: .soon)
        #expect(outcome == .taken)
        #expect(
            try test.contents(of: .log(log)) == [.bytes(message(1)), .bytes([7]), .bytes([1])])
    }

    @Test(arguments: StoreKind.all.filter { !$0.hasHeads })
    func `without heads shows both messages of one number`(_ kind: StoreKind) throws {
        let test = try TestStore(kind)
        let log = test.log()
        try test.append(1...1, to: log)
        let outcome = try test.other.append(
            [9], at: .test(1, branch: 1), to: .log(log), after: nil, by: .soon)
        #expect(outcome == .stored)
        let contents = try test.contents(of: .log(log))
        #expect(Set(contents) == [.bytes(message(1)), .bytes([9])])
    }

    @Test(arguments: StoreKind.all)
    func `keeps the parts of a base beside its message`(_ kind: StoreKind) throws {
        let test = try TestStore(kind)
        let log = test.log()
        let parts = (0..<20).map { index in
            StoreFile(
                number: 1, part: UInt32(index),
                bytes: [UInt8](repeating: UInt8(index), count: 100_000))
        }
        for _ in 0..<2 {
            #expect(try test.store.put(parts, in: .log(log), by: .soon) == .stored)
        }
        try test.append(1...1, to: log)
        let names = try test.other.list(.log(log), by: .soon).names
        #expect(names.map(\.part) == [nil] + (0..<20).map { UInt32($0) })
        #expect(
            try test.contents(of: .log(log))
                == [.bytes(message(1))] + parts.map { .bytes($0.bytes) })
    }

    @Test(arguments: StoreKind.all)
    func `keeps both branches of a roster`(_ kind: StoreKind) throws {
        let test = try TestStore(kind)
        var head: LogPosition?
        for number in 1...3 as ClosedRange<UInt64> {
            let outcome = try test.store.append(
                message(number), at: .test(number), to: test.roster, after: head, by: .soon)
            #expect(outcome == .stored)
            head = .test(number)
        }
        let sibling = StoreFile(number: 3, bytes: [3])
        for _ in 0..<2 {
            #expect(try test.other.put([sibling], in: test.roster, by: .soon) == .stored)
        }
        let next = try test.store.append(
            message(4), at: .test(4), to: test.roster, after: head, by: .soon)
        #expect(next == .stored)
        let listing = try test.other.list(test.roster, by: .soon)
        #expect(listing.names.map(\.number) == [1, 2, 3, 3, 4])
        let all = Set(try test.contents(of: test.roster))
        #expect(all == Set((1...4).map { .bytes(message($0)) } + [.bytes([3])]))
        #expect(try test.store.logs(of: [test.device], in: test.circle, by: .soon).isEmpty)
    }

    @Test(arguments: StoreKind.all)
    func `deletes messages, and appends after them`(_ kind: StoreKind) throws {
        let test = try TestStore(kind)
        let log = test.log()
        try test.append(1...150, to: log) { [UInt8($0)] }
        let names = try test.store.list(.log(log), by: .soon).names
        for _ in 0..<2 { try test.store.delete(Array(names.prefix(149)), in: log, by: .soon) }
        let outcome = try test.store.append(
            message(151), at: .test(151), to: .log(log), after: .test(150), by: .soon)
        #expect(outcome == .stored)
        let rest = try test.other.list(.log(log), by: .soon).names
        #expect(rest.map(\.number) == [150, 151])
    }

    @Test(arguments: StoreKind.all)
    func `deletes the logs of a device and no others`(_ kind: StoreKind) throws {
        let test = try TestStore(kind)
        let other = DeviceID.random()
        let kept = LogPlace(
            test.circle, other, .whileUnlocked, LogID(high: other.high, low: 1))
        let logs = [test.log(.whileUnlocked), test.log(.afterFirstUnlock)]
        for log in logs + [kept] { try test.append(1...2, to: log) }
        for _ in 0..<2 {
            try test.store.deleteLogs(of: test.device, in: test.circle, by: .soon)
        }
        #expect(
            try test.other.logs(of: [test.device, other], in: test.circle, by: .soon) == [kept])
        // A device that came back under this id would begin anew.
        try test.append(1...1, to: logs[0])
    }
}

/// What all stores have in common about mails, waiting and deadlines.
@Suite struct `Every store, too,` {
    @Test(arguments: StoreKind.all)
    func `keeps mails apart by mailbox, step and bytes`(_ kind: StoreKind) throws {
        let test = try TestStore(kind)
        let (mailbox, empty) = (MailboxID.random(), MailboxID.random())
        let mails = [
            StoredMail(.offer, [1]), StoredMail(.request, [2]), StoredMail(.request, [3]),
        ]
        for mail in mails.reversed() + [mails[0]] {
            try test.store.post(mail, to: mailbox, by: .soon)
        }
        let found = try test.other.mails(in: mailbox, by: .soon)
        #expect(found.map(\.step) == [.offer, .request, .request])
        #expect(Set(found) == Set(mails))
        #expect(try test.other.mails(in: empty, by: .soon).isEmpty)
        for _ in 0..<2 { try test.other.delete(mails[1], from: mailbox, by: .soon) }
        #expect(try test.store.mails(in: mailbox, by: .soon) == [mails[0], mails[2]])
        try test.store.removeLeftovers(by: .soon)
        #expect(try test.store.mails(in: mailbox, by: .soon) == [mails[0], mails[2]])
        try test.other.delete(mails[0], from: mailbox, by: .soon)
        try test.other.delete(mails[2], from: mailbox, by: .soon)
        #expect(try test.store.mails(in: mailbox, by: .soon).isEmpty)
    }

    @Test(arguments: StoreKind.all)
    func `reads 256 mails of a step at most`(_ kind: StoreKind) throws {
        let test = try TestStore(kind)
        let mailbox = MailboxID.random()
        for number in 0..<260 as Range<UInt16> {
            let bytes = [UInt8(number >> 8), UInt8(number & 255)]
            try test.store.post(StoredMail(.request, bytes), to: mailbox, by: .soon)
        }
        try test.store.post(StoredMail(.opening, [0]), to: mailbox, by: .soon)
        let steps = try test.other.mails(in: mailbox, by: .soon).map(\.step)
        #expect(steps == Array(repeating: .request, count: 256) + [.opening])
    }

    @Test(arguments: StoreKind.all)
    func `wakes at first, and then for each change`(_ kind: StoreKind) throws {
        let test = try TestStore(kind)
        let log = test.log()
        try test.append(1...1, to: log)
        let wait = { () throws in
            try test.other.waitForChange(in: test.circle, within: WaitLimit(until: .soon))
        }
        #expect(try wait())
        _ = try test.other.list(.log(log), by: .soon)
        _ = try test.store.append(
            message(2), at: .test(2), to: .log(log), after: .test(1), by: .soon)
        #expect(try wait())
        _ = try test.store.append([1], at: .test(1), to: test.roster, after: nil, by: .soon)
        #expect(try wait())
        try test.append(1...1, to: test.log(.afterFirstUnlock))
        #expect(try wait())
    }

    @Test(arguments: StoreKind.all)
    func `ends a wait at the deadline, and by its cancellation`(_ kind: StoreKind) throws {
        let test = try TestStore(kind)
        let end = { WaitLimit(until: Deadline(after: .milliseconds(50))) }
        while try test.store.waitForChange(in: test.circle, within: end()) {}
        let cancellation = Cancellation()
        let limit = WaitLimit(until: .soon, cancellation: cancellation)
        try BackgroundThread.start {
            _ = Deadline(after: .milliseconds(50)).sleep(atMost: 50_000_000)
            cancellation.cancel()
        }
        #expect(try !test.store.waitForChange(in: test.circle, within: limit))
        #expect(!limit.deadline.hasPassed)
        #expect(try !test.store.waitForChange(in: test.circle, within: limit))
    }

    @Test(arguments: StoreKind.all.filter { [.folder, .etcd].contains($0) })
    func `changes nothing after the deadline`(_ kind: StoreKind) throws {
        let test = try TestStore(kind)
        let log = test.log()
        let error = #expect(throws: KeychainFailure.self) {
            _ = try test.store.append(
                [1], at: .test(1), to: .log(log), after: nil, by: .immediately)
        }
        #expect(error?.code == .storeTimedOut)
        #expect(try test.store.logs(of: [test.device], in: test.circle, by: .soon).isEmpty)
    }
}
