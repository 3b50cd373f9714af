// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSystem

/// What the user lets each program do with each collection: docs/SECRET-SERVICE.md, "A choice for
/// each program".
struct AccessPolicy: Sendable {
    enum Access: String, Sendable {
        case allow
        /// A person has to agree; until then the collection looks locked.
        case ask
        /// The collection always looks locked.
        case deny
    }

    struct Rule: Sendable {
        let access: Access
        /// `*` for all.
        let collection: String
        /// A path, a sandbox, or `*` for all.
        let program: String

        static let everything = "*"

        /// Whether the rule is for a program. A rule that allows must name the very file that runs;
        /// for other rules the path is enough, which an upgrade leaves as it was.
        func isFor(_ asking: AskingProgram) -> Bool {
            guard program != Self.everything, program != asking.sandbox else { return true }
            guard program.hasPrefix("/") else { return false }
            // A program that the kernel does not show may be the one that is meant.
            guard let executable = asking.executable else {
                return access != .allow && asking.hasProcess
            }
            if let found = try? GivenFile.identity(of: program),
                found.isSameFile(as: executable.identity)
            {
                return true
            }
            // The kernel marks a file that another one has replaced.
            let names = [program, FilePath.resolved(program) ?? program].flatMap { name in
                [name, name + " (deleted)"]
            }
            return access != .allow && names.contains(executable.path)
        }
    }

    let rules: [Rule]
    /// Whether each secret that a program gets is logged.
    let notesReads: Bool

    /// Lets nobody do anything: for a file that cannot be read.
    static let closed = AccessPolicy(rules: [
        Rule(access: .deny, collection: Rule.everything, program: Rule.everything)
    ])

    private init(rules: [Rule]) { (self.rules, notesReads) = (rules, false) }

    /// - Throws: `invalidRequest`, which names the line.
    init(_ text: String) throws(KeychainFailure) {
        var (rules, notesReads): ([Rule], Bool) = ([], false)
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for (index, line) in lines.enumerated() {
            let last = line.lastIndex { !$0.isWhitespace }
            let text = last.map { line[...$0] } ?? ""
            let words = text.split(maxSplits: 2, whereSeparator: \.isWhitespace)
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            if words == ["log", "reads"] {
                notesReads = true
                continue
            }
            guard words.count == 3, let access = Access(rawValue: String(first)) else {
                throw Self.mistake(
                    index, "a rule is 'allow', 'ask' or 'deny', a collection, and a program")
            }
            let collection = String(words[1])
            guard collection == Rule.everything || Self.isName(collection) else {
                throw Self.mistake(
                    index, "a collection is its name on the bus, such as 'login', or '*' for all")
            }
            // A path may contain spaces.
            let program = String(words[2].drop(while: \.isWhitespace))
            guard !program.hasSuffix("/"), !program.contains("#") else {
                throw Self.mistake(index, "a program has no '#' and no '/' at the end")
            }
            let isSandbox = ["flatpak:", "snap:"].contains {
                program.hasPrefix($0) && program != $0
            }
            guard program == Rule.everything || program.hasPrefix("/") || isSandbox else {
                throw Self.mistake(
                    index, "a program is a path, 'flatpak:ID', 'snap:NAME', or '*' for all")
            }
            rules.append(
                Rule(access: access, collection: collection, program: program))
        }
        (self.rules, self.notesReads) = (rules, notesReads)
    }

    /// Whether a collection can have that name; `default` is an alias.
    private static func isName(_ text: String) -> Bool {
        text != "default" && CollectionList.plain(text) == text
    }

    private static func mistake(_ index: Int, _ message: String) -> KeychainFailure {
        KeychainFailure(
            .invalidRequest, during: "read the policy", message: "line \(index + 1): \(message)")
    }
}

/// The file of the policy, which is read again when it has changed. For one thread.
final class PolicyFile {
    let path: String
    /// Increases when the contents change, and when that change takes effect.
    private(set) var version = 0
    /// Why the file cannot be used, if so.
    private(set) var problem: KeychainFailure?
    private var policy: AccessPolicy?
    private var last: Contents?
    /// When the last change takes effect; nil if it has.
    private var settling: Deadline?

    private enum Contents: Equatable {
        case absent
        case bytes([UInt8])
        case unreadable(String, String?)
    }

    private static let maximalByteCount = 1 << 20
    private static let pause = Duration.milliseconds(250)

    /// - Parameter folder: The user's folder for configuration.
    init(in folder: String) {
        path = folder + "/valet/secret-service.policy"
    }

    /// The policy; nil if there is no file. ``AccessPolicy/closed`` while it cannot be used, and
    /// for a moment after a change: a file that is written in place is empty at first.
    func current() -> AccessPolicy? {
        let found = contents()
        if found != last {
            let isFirst = last == nil
            last = found
            if !isFirst { settling = Deadline(after: Self.pause) }
            version += 1
            read(found)
        }
        guard let settling else { return policy }
        guard settling.hasPassed else { return .closed }
        self.settling = nil
        version += 1
        return policy
    }

    private func contents() -> Contents {
        do throws(SystemError) {
            // There may be a file in a folder that cannot be searched.
            guard try GivenFile.identity(of: path, followingLink: false) != nil,
                let bytes = try SystemFile.contents(of: path, maxByteCount: Self.maximalByteCount)
            else { return .absent }
            return .bytes(bytes)
        } catch {
            return .unreadable("\(error)", error.hint)
        }
    }

    private func read(_ contents: Contents) {
        (policy, problem) = (nil, nil)
        do throws(KeychainFailure) {
            switch contents {
            case .absent: return
            case .bytes(let bytes):
                guard let text = String(validating: bytes, as: UTF8.self) else {
                    throw Self.failure("it is not UTF-8", nil)
                }
                policy = try AccessPolicy(text)
            case .unreadable(let reason, let hint): throw Self.failure(reason, hint)
            }
        } catch {
            (policy, problem) = (.closed, error)
        }
    }

    private static func failure(_ message: String, _ hint: String?) -> KeychainFailure {
        KeychainFailure(
            .invalidRequest, during: "read the policy", message: message, hint: hint)
    }
}

/// What a policy lets one program do.
struct ClientAccess: Sendable {
    let program: AskingProgram
    /// The version of the policy.
    let version: Int
    private let rules: [AccessPolicy.Rule]
    /// The collections that a person has let the program use.
    var granted: Set<String> = []
    /// Notes that the program gets the secret at a path; nil if the policy does not log reads.
    let note: (@Sendable (String) -> Void)?

    init(
        _ program: AskingProgram, _ policy: AccessPolicy, version: Int,
        _ note: @escaping @Sendable (String) -> Void
    ) {
        (self.program, self.version) = (program, version)
        rules = policy.rules.filter { $0.isFor(program) }
        self.note = policy.notesReads ? note : nil
    }

    /// Whether a rule that names the program denies the collection to it.
    func isRefusedByName(_ collection: String) -> Bool {
        rules.first {
            $0.program != AccessPolicy.Rule.everything
                && [AccessPolicy.Rule.everything, collection].contains($0.collection)
        }?.access == .deny
    }

    /// The access by the first rule for the program and the collection; `allow` without one.
    func access(to collection: String) -> AccessPolicy.Access {
        let rule = rules.first {
            [AccessPolicy.Rule.everything, collection].contains($0.collection)
        }
        guard let rule else { return .allow }
        return rule.access == .ask && granted.contains(collection) ? .allow : rule.access
    }
}
