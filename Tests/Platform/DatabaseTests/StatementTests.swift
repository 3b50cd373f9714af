// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetSystem
import ValetSystemSupport
import ValetTestValues

@testable import ValetDatabase

@Suite struct `A statement` {
    let folder: TestFolder
    let connection: Connection

    init() throws {
        folder = try TestFolder()
        connection = try folder.directory().makeDatabase()
    }

    @Test(arguments: [0, 1, -1, .max, .min] as [Int64])
    func `A statement returns numbers`(_ number: Int64) throws {
        let run = try Statement("SELECT ?1", on: connection).start()
        try run.bind(number, at: 1)
        #expect(try run.step() == true)
        #expect(run.int64(0) == number)
    }

    @Test(arguments: ["", "key", "schlüssel 🔑"])
    func `A statement returns text`(_ text: String) throws {
        let run = try Statement("SELECT ?1, typeof(?1)", on: connection).start()
        try run.bind(text, at: 1)
        #expect(try run.step() == true)
        #expect(try run.text(0) == text)
        #expect(try run.text(1) == "text")
    }

    @Test func `A statement returns text with a zero byte inside`() throws {
        let run = try Statement("SELECT ?1", on: connection).start()
        try run.bind("a\0b", at: 1)
        #expect(try run.step() == true)
        #expect(try run.text(0) == "a\0b")
    }

    @Test(arguments: [0, 1, 32, 5_000, 16 << 20])
    func `A statement returns blobs`(_ count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        try connection.insert([1], bytes)
        let run = try Statement("SELECT v, typeof(v) FROM t", on: connection).start()
        #expect(try run.step() == true)
        #expect(run.blob(0) == bytes)
        #expect(run.byteCount(0) == count)
        #expect(try run.text(1) == "blob")
    }

    @Test func `A statement distinguishes an empty blob from NULL`() throws {
        let run = try Statement("SELECT ?1, ?2, ?3", on: connection).start()
        try run.bind([UInt8](), at: 1)
        try run.bindNull(at: 2)
        #expect(try run.step() == true)
        #expect(run.isNull(0) == false)
        #expect(run.isNull(1) == true)
        #expect(run.isNull(2) == true)
        #expect(run.byteCount(1) == 0)
    }

    @Test func `A statement refuses more than 32 MiB`() throws {
        let bytes = [UInt8](repeating: 0, count: 33 << 20)
        let error = #expect(throws: SystemError.self) { try connection.insert([1], bytes) }
        #expect(error?.code == .tooLarge)
    }

    @Test func `A statement forgets its parameters when its run ends`() throws {
        let statement = Statement("SELECT ?1", on: connection)
        do {
            let run = try statement.start()
            try run.bind(5, at: 1)
            _ = try run.step()
        }
        let run = try statement.start()
        #expect(try run.step() == true)
        #expect(run.isNull(0) == true)
    }

    @Test(arguments: [1, 100, 256, 300])
    func `A statement keeps the bytes of its parameters apart`(_ count: Int) throws {
        let blobs = (0..<4).map { [UInt8](repeating: UInt8($0), count: count) }
        let statement = Statement("SELECT ?1, ?2, ?3, ?4", on: connection)
        for round in 0..<3 {
            let run = try statement.start()
            for (number, blob) in blobs.enumerated() {
                try run.bind(blob, at: Int32((number + round) % 4) + 1)
            }
            #expect(try run.step() == true)
            let found = (0..<4).map { run.blob(Int32(($0 + round) % 4)) }
            #expect(found == blobs)
        }
    }

    @Test func `A statement runs once at a time`() throws {
        let statement = Statement("SELECT 1", on: connection)
        let run = try statement.start()
        let error = #expect(throws: SystemError.self) { try statement.execute() }
        #expect(error?.code == .misuse)
        #expect(try run.step() == true)
    }

    @Test func `A statement refuses parameters that it does not have`() throws {
        let run = try Statement("SELECT ?1", on: connection).start()
        let error = #expect(throws: SystemError.self) { try run.bind(1, at: 2) }
        #expect(error?.code == .misuse)
    }

    @Test func `A statement names the violated constraint and not the value`() throws {
        try connection.insert([1, 2, 3])
        let error = #expect(throws: SystemError.self) { try connection.insert([1, 2, 3]) }
        #expect(error?.code == .corrupt)
        #expect(error?.sqliteCode == 1555)
    }

    @Test func `A strict table refuses a parameter of the wrong type`() throws {
        let run = try Statement("INSERT INTO t VALUES (?1, NULL)", on: connection).start()
        try run.bind("text", at: 1)
        let error = #expect(throws: SystemError.self) { try run.finish() }
        // We bind no such value: it comes from a damaged row that is copied.
        #expect(error?.code == .corrupt)
    }

    @Test func `A statement reports wrong SQL at its first use`() throws {
        let statement = Statement("SELECT 1 FROM nowhere", on: connection)
        let error = #expect(throws: SystemError.self) { try statement.execute() }
        #expect(error?.code == .other)
        #expect(error?.hint == "no such table: nowhere")
    }

    @Test func `A statement refuses text that is not UTF-8`() throws {
        let run = try Statement("SELECT CAST(x'ff' AS TEXT)", on: connection).start()
        #expect(try run.step() == true)
        let error = #expect(throws: SystemError.self) { try run.text(0) }
        #expect(error?.code == .corrupt)
    }
}
