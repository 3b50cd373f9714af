// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetSealing
import ValetSystem

@testable import ValetUserPresence

@Suite struct `A descriptor that gives a passcode` {
    /// A pipe that holds `text`, and whose writing end is closed.
    private func withPipe<R>(_ text: String, _ body: (PasscodeDescriptor) throws -> R) throws -> R {
        let pipe = Foundation.Pipe()
        try pipe.fileHandleForWriting.write(contentsOf: Data(text.utf8))
        try pipe.fileHandleForWriting.close()
        return try body(Self.handedOver(pipe.fileHandleForReading.fileDescriptor))
    }

    /// A descriptor of this process as if it had been started with it.
    private static func handedOver(_ number: Int32) throws -> PasscodeDescriptor {
        try #require(fcntl(number, F_SETFD, 0) == 0)
        return try PasscodeDescriptor("\(number)")
    }

    private func read(_ descriptor: PasscodeDescriptor, allowsEmpty: Bool = false) -> Outcome {
        Outcome { () throws(SystemError) in
            try descriptor.read(allowsEmpty: allowsEmpty, until: Deadline(after: .seconds(10)))
        }
    }

    @Test(
        arguments: [
            ("secret\n", "secret"), ("secret", "secret"), ("secret\n\n", "secret"),
            ("secret\r\n", "secret"), ("secret\r", "secret\r"), ("a\r\r\n", "a\r"),
            (" a\0b \n", " a\0b "), ("é\nrest", "é"), ("\u{FEFF}secret\r\n", "secret"),
            ("\u{FEFF}secret", "secret"), ("a\u{FEFF}\n", "a\u{FEFF}"),
        ])
    func `A passcode descriptor gives its first line without the newline`(
        _ text: String, _ expected: String
    ) throws {
        try withPipe(text) { #expect(read($0) == .answer(expected)) }
    }

    @Test(
        arguments: [[0xFF, 0xFE, 0x61, 0, 0x0A, 0], [0xFE, 0xFF, 0, 0x61, 0, 0x0A]] as [[UInt8]])
    func `A passcode descriptor with UTF-16 is refused by name`(_ bytes: [UInt8]) throws {
        let pipe = Foundation.Pipe()
        try pipe.fileHandleForWriting.write(contentsOf: Data(bytes))
        try pipe.fileHandleForWriting.close()
        let descriptor = try Self.handedOver(pipe.fileHandleForReading.fileDescriptor)
        let error = #expect(throws: SystemError.self) {
            _ = try descriptor.readLine(atMost: 100, within: .seconds(10))
        }
        #expect(error?.code == .descriptorUnreadable)
        #expect(error?.hint?.contains("UTF-16") == true)
    }

    @Test func `A passcode descriptor keeps what follows the newline for the next reader`() throws {
        try withPipe("old\nnew\nsecret") { descriptor in
            #expect(read(descriptor) == .answer("old"))
            #expect(read(descriptor) == .answer("new"))
            #expect(read(descriptor) == .answer("secret"))
            #expect(read(descriptor) == .failure(.empty))
        }
    }

    @Test func `A passcode descriptor gives no more bytes than allowed`() throws {
        let longest = String(repeating: "x", count: PasscodePrompt.maximumByteCount)
        try withPipe(longest) { #expect(read($0) == .answer(longest)) }
        try withPipe(longest + "\n") { #expect(read($0) == .answer(longest)) }
        try withPipe(longest + "x") { #expect(read($0) == .failure(.tooLong)) }
        try withPipe(longest + "x\n") { #expect(read($0) == .failure(.tooLong)) }
    }

    @Test func `An empty passcode descriptor is refused`() throws {
        try withPipe("") { #expect(read($0, allowsEmpty: true) == .failure(.empty)) }
        try withPipe("\n") { #expect(read($0) == .failure(.empty)) }
        try withPipe("\n") { #expect(read($0, allowsEmpty: true) == .answer("")) }
    }

    // Promise: 18.3
    @Test func `A passcode descriptor is waited for until the deadline`() throws {
        let pipe = Foundation.Pipe()
        try pipe.fileHandleForWriting.write(contentsOf: Data("half".utf8))
        let descriptor = try Self.handedOver(pipe.fileHandleForReading.fileDescriptor)
        let outcome = Outcome { () throws(SystemError) in
            try descriptor.read(until: Deadline(after: .milliseconds(50)))
        }
        #expect(outcome == .failure(.timedOut))
    }

    @Test func `A passcode descriptor that cannot be read is refused`() throws {
        let folder = unsafe open("/", O_RDONLY | O_CLOEXEC)
        defer { close(folder) }
        let writeOnly = unsafe open("/dev/null", O_WRONLY | O_CLOEXEC)
        defer { close(writeOnly) }
        for number in [folder, writeOnly] {
            let descriptor = try Self.handedOver(number)
            #expect(read(descriptor) == .failure(.descriptorUnreadable))
        }
    }

    // Promise: 4.18
    @Test func `A passcode descriptor that this process opened, or that is closed, is refused`()
        throws
    {
        let file = unsafe open("/dev/zero", O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        for number in [file, 1_000_000] {
            let descriptor = try PasscodeDescriptor("\(number)")
            #expect(read(descriptor) == .failure(.descriptorUnreadable))
        }
        #expect(fcntl(file, F_GETFD) != -1)
    }

    @Test func `A passcode descriptor that is a terminal is refused`() throws {
        let terminal = unsafe open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        defer { close(terminal) }
        try #require(terminal >= 0)
        let descriptor = try Self.handedOver(terminal)
        #expect(read(descriptor) == .failure(.descriptorUnreadable))
    }

    @Test(arguments: ["", "1", "2", "-1", "+3", " 3", "3 ", "03", "0x3", "3\n", "2147483648", "٣"])
    func `A passcode descriptor is not named by an invalid number`(_ text: String) {
        let error = #expect(throws: SystemError.self) { try PasscodeDescriptor(text) }
        #expect(error?.code == .descriptorUnreadable && error?.hint != nil)
    }

    @Test func `A passcode descriptor may be standard input`() throws {
        #expect(try PasscodeDescriptor("0").number == 0)
    }

    @Test func `A passcode descriptor answers before a question is asked`() throws {
        try withPipe("a\nb\n") { descriptor in
            let variables = [
                "VALET_PASSCODE_FD": "\(descriptor.number)", "VALET_INTERACTION": "never",
            ]
            let byName = PasscodeAsker(environment: Environment(variables))
            let given = PasscodeAsker(
                descriptor: descriptor, environment: Environment(["VALET_PASSCODE_FD": "nonsense"]))
            var prompt = PasscodePrompt(description: "asks")
            prompt.asksTwice = true
            let first = Outcome { () throws(SystemError) in try byName.ask(prompt) }
            let second = Outcome { () throws(SystemError) in try given.ask(prompt) }
            #expect(first == .answer("a") && second == .answer("b"))
            #expect(!byName.isInteractive && !given.isInteractive)
        }
    }

    // Promise: 18.9
    @Test(
        arguments: [
            (["VALET_PASSCODE_FD": "x"], false, .descriptorUnreadable),
            (["VALET_INTERACTION": "never"], false, .interactionOff),
            (["VALET_PASSCODE_FD": "0"], true, .elevated),
        ] as [([String: String], Bool, SystemError.Code)])
    func `A passcode descriptor is the only way where questions are turned off`(
        _ variables: [String: String], _ isElevated: Bool, _ code: SystemError.Code
    ) {
        let asker = PasscodeAsker(environment: Environment(variables, isElevated: isElevated))
        let prompt = PasscodePrompt(description: "asks")
        #expect(
            Outcome { () throws(SystemError) in try asker.ask(prompt) } == .failure(code))
    }

    @Test func `A descriptor for another passcode is not the one that the variable names`() {
        let variables = ["VALET_PASSCODE_FD": "0", "VALET_INTERACTION": "never"]
        let asker = PasscodeAsker(environment: Environment(variables), readsVariable: false)
        #expect(asker.isInteractive)
        let prompt = PasscodePrompt(description: "asks")
        #expect(
            Outcome { () throws(SystemError) in try asker.ask(prompt) }
                == .failure(.interactionOff))
    }
}
