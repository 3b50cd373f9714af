// SPDX-License-Identifier: Apache-2.0

import Foundation
import Valet
import ValetKeychainModel
import ValetKeychainServices
import ValetKeychainStore
import ValetSealing

/// The program that tests start as another process; it uses the keychain as an application does.
///
/// `ValetTestAgent DESCRIPTOR` reads commands from standard input, a line each, and answers each
/// with a line on that descriptor: `ok …`, or `error CODE MESSAGE`. Anything on its standard output
/// or standard error comes from the library. `ValetTestAgent lock-state` and `ValetTestAgent tpm …`
/// are for the tests of single modules, and answer on standard output.
@main struct Agent {
    static func main() {
        switch CommandLine.arguments.dropFirst().first {
        case "lock-state": LockStateVerbs.run()
        case "tpm": TPMVerbs.run(Array(CommandLine.arguments.dropFirst(2)))
        default: serve()
        }
    }

    private static func serve() {
        var agent = Agent()
        while let line = readLine() {
            let words = line.split(separator: " ").map(String.init)
            Channel.answer(agent.perform(words))
        }
    }

    private var holder: TransactionHolder?

    private static let identifier = Identifier(nonEmpty: "integration")

    static var valet: Valet {
        guard let identifier else { preconditionFailure("the identifier is not empty") }
        return Valet.valet(with: identifier, accessibility: .whenUnlocked)
    }

    private mutating func perform(_ words: [String]) -> String {
        do {
            return "ok " + (try result(of: words[0], Array(words.dropFirst())))
        } catch let failure as KeychainFailure {
            return "error \(failure.code.rawValue) \(failure.description)"
        } catch is KeychainError {
            let last = KeychainFailure.last
            return "error \(last?.code.rawValue ?? "none") \(last?.description ?? "")"
        } catch {
            return "error other \(error)"
        }
    }

    private mutating func result(of verb: String, _ words: [String]) throws -> String {
        switch verb {
        case "hold": holder = try TransactionHolder(folder: words[0])
        case "examine": return try holder?.examine() ?? "nothing held"
        case "release": holder = nil
        case "sharing": try Sharing.record(words)
        case "demand": return try LaterVersion.demand(words)
        default: return try Self.result(of: verb, words)
        }
        return ""
    }

    private static func result(of verb: String, _ words: [String]) throws -> String {
        switch verb {
        case "configure": try ValetKeychain.configure(applicationIdentifier: words[0])
        case "set": try valet.setString(words[1], forKey: words[0])
        case "get": return try valet.string(forKey: words[0])
        case "remove": try valet.removeObject(forKey: words[0])
        case "keys": return try valet.allKeys().sorted().joined(separator: " ")
        case "gets": for _ in 0..<(Int(words[0]) ?? 0) { _ = try valet.object(forKey: words[1]) }
        case "identity":
            return try KeychainSession.current().caller.applicationIdentifier
        case "bundle": return Bundle.main.bundleIdentifier ?? "none"
        case "close": try KeychainSession.current().store.close()
        case "work": return try Worker(name: words[0], log: words[1]).run(seconds: words[2])
        case "threads": return Worker.crowd(name: words[0], threadCount: 4, count: words[1])
        case "writes": return try Steady.write(words[0], until: words[1])
        case "reads": return try Steady.read(words[0], until: words[1])
        case "history": try History.record(words)
        case "background": Background.start(prefix: words[0])
        case "forkidle": Forking.startIdle()
        case "fork": Forking.start(prefix: words[0])
        case "forkthreads": Forking.start(prefix: words[0], threadCount: 4)
        case "label": try label(words[0], words[1])
        case "ask", "tell", "line": return Asking.perform(verb, words)
        case "person": return try Authenticating.perform(words) ?? wrongUse(verb)
        case "reader": return Readers.find()
        case "app": return try Application.perform(words[0], Array(words.dropFirst()))
        case "time": return try Timing.perform(words)
        case "move": return try Moving.perform(words)
        case "closefrom": return Closing.closeAll(from: words[0])
        case "take": return try Closing.takeAll(from: words[0], folder: words[1])
        case "lost": return Closing.lostCount()
        case "leak": try Leak.handleSecret()
        case "leakpasscode": try Leak.handlePasscode()
        case "leakpassword": try Leak.handlePassword()
        case _ where KeyChangeVerbs.verbs.contains(verb):
            return try KeyChangeVerbs().perform(verb, words)
        default: return try Locking.perform(verb, words) ?? wrongUse(verb)
        }
        return ""
    }

    /// Adds an item with an attribute that is searched for.
    private static func label(_ key: String, _ label: String) throws {
        let item = NewItem(
            .genericPassword, attributes: [.account: .text(key), .label: .text(label)])
        let value = Array("value of \(key)".utf8)
        try KeychainSession.current().add(item, value: SecretValue(copying: value.span))
    }

    /// Requests of which each fails; says how.
    private static func wrongUse(_ verb: String) throws -> String {
        switch verb {
        case "misuse":
            var answers: [String] = []
            for key in ["", "absent", String(repeating: "k", count: 1 << 20)] {
                do throws(KeychainError) {
                    answers.append(try valet.string(forKey: key))
                } catch {
                    answers.append("\(error)")
                }
            }
            do throws(KeychainError) {
                try valet.setObject(Data(), forKey: "empty")
            } catch {
                answers.append("\(error)")
            }
            return answers.joined(separator: " ")
        case "large": try valet.setObject(Data(count: 16 << 20), forKey: "large")
        case "toolarge": try valet.setObject(Data(count: 16 << 20 + 1), forKey: "large")
        case "binary": try valet.setObject(Data([0xff, 0xfe]), forKey: "binary")
        default: return "unknown \(verb)"
        }
        return ""
    }
}

/// Where answers go; lines are short enough to be written at once.
enum Channel {
    private static let output = FileHandle(
        fileDescriptor: CommandLine.arguments.dropFirst().first.flatMap { Int32($0) } ?? 3,
        closeOnDealloc: false)

    /// Tries twice: a scenario refuses one call after the other, of which this may be one.
    static func answer(_ line: String) {
        let data = Data((line + "\n").utf8)
        do { try output.write(contentsOf: data) } catch { output.write(data) }
    }
}
