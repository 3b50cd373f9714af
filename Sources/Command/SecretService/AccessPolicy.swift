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

        /// Whether the rule is for a program. One that allows must be for the file itself that
        /// runs; for others the path is enough, which an upgrade leaves as it was.
        func isFor(_ asking: AskingProgram) -> Bool {
            guard program != Self.everything, program != asking.sandbox else { return true }
            guard let executable = asking.executable, program.hasPrefix("/") else { return false }
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
    /// Whether each secret that a program gets is noted.
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
            // A path may contain spaces.
            let program = String(words[2].drop(while: \.isWhitespace))
            let isSandbox = ["flatpak:", "snap:"].contains { program.hasPrefix($0) }
            guard program == Rule.everything || program.hasPrefix("/") || isSandbox else {
                throw Self.mistake(
                    index, "a program is a path, 'flatpak:ID', 'snap:NAME', or '*' for all")
            }
            rules.append(
                Rule(access: access, collection: String(words[1]), program: program))
        }
        (self.rules, self.notesReads) = (rules, notesReads)
    }

    private static func mistake(_ index: Int, _ message: String) -> KeychainFailure {
        KeychainFailure(
            .invalidRequest, during: "read the policy", message: "line \(index + 1): \(message)")
    }
}

/// The file of the policy, which is read again when it has changed. For one thread.
final class PolicyFile {
    let path: String
    /// Differs for each contents.
    private(set) var version = 0
    private var bytes: [UInt8]?
    private var policy: AccessPolicy?
    /// Why the file cannot be used, if so.
    private(set) var problem: KeychainFailure?

    private static let maximalByteCount = 1 << 20

    /// - Parameter folder: The user's folder for configuration.
    init(in folder: String) {
        path = folder + "/valet/secret-service.policy"
    }

    /// The policy; nil if there is no file, and ``AccessPolicy/closed`` while it cannot be used.
    func current() -> AccessPolicy? {
        let known = (bytes, problem?.code)
        var found: [UInt8]?
        do throws(SystemError) {
            found = try SystemFile.contents(of: path, maxByteCount: Self.maximalByteCount)
        } catch {
            if problem == nil || known.0 != nil { version += 1 }
            (bytes, policy) = (nil, .closed)
            problem = KeychainFailure(
                .invalidRequest, during: "read the policy", message: "\(error)", hint: error.hint)
            return policy
        }
        let isKnown = found == known.0 && (known.0 != nil || problem == nil)
        guard !isKnown else { return policy }
        version += 1
        (bytes, policy, problem) = (found, nil, nil)
        guard let found else { return nil }
        do throws(KeychainFailure) {
            guard let text = String(validating: found, as: UTF8.self) else {
                throw KeychainFailure(
                    .invalidRequest, during: "read the policy", message: "it is not UTF-8")
            }
            policy = try AccessPolicy(text)
        } catch {
            (policy, problem) = (.closed, error)
        }
        return policy
    }
}

/// What a policy lets one program do.
struct ClientAccess: Sendable {
    let program: AskingProgram
    /// Of the policy.
    let version: Int
    private let rules: [AccessPolicy.Rule]
    /// The collections that a person has let it use.
    var granted: Set<String> = []
    /// Notes that the program gets the secret at a path; nil if nobody wants to know.
    let note: (@Sendable (String) -> Void)?

    init(
        _ program: AskingProgram, _ policy: AccessPolicy, version: Int,
        _ note: @escaping @Sendable (String) -> Void
    ) {
        (self.program, self.version) = (program, version)
        rules = policy.rules.filter { $0.isFor(program) }
        self.note = policy.notesReads ? note : nil
    }

    /// By the first rule for the program and the collection.
    func access(to collection: String) -> AccessPolicy.Access {
        let rule = rules.first {
            [AccessPolicy.Rule.everything, collection].contains($0.collection)
        }
        guard let rule else { return .allow }
        return rule.access == .ask && granted.contains(collection) ? .allow : rule.access
    }
}
