// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSealing
internal import ValetSystem

/// Collects the variables of a program, and the secrets in them. ``RunCommand`` makes one.
struct ProgramVariables {
    /// How long reading a file of variables may take if the file is a pipe.
    private static let patience = Duration.seconds(30)

    let context: Context
    let resolver: ReferenceResolver
    var launch: ProgramLaunch
    /// The secrets to hide in output.
    private(set) var secrets: [SecretValue] = []

    init(_ launch: ProgramLaunch, _ resolver: ReferenceResolver, _ context: Context) {
        self.launch = launch
        self.resolver = resolver
        self.context = context
    }

    /// Resolves a reference to the secret that the program gets, and adds the secret to
    /// ``secrets``.
    mutating func value(of reference: String) throws(CLIError) -> SecretValue {
        let value = try resolver.value(of: reference)
        secrets.append(value)
        return value
    }

    mutating func set(_ name: String, to value: SecretValue) throws(CLIError) {
        try value.withBytes { (bytes: Span<UInt8>) throws(CLIError) in
            try launch.set(name, to: bytes)
        }
    }

    private mutating func set(_ name: String, to text: FilledText) throws(CLIError) {
        try set(name, to: text.value)
        secrets += text.secrets
    }

    // MARK: Files

    /// Sets the variables of a file; `-` is standard input.
    mutating func read(_ path: String) throws(CLIError) {
        let name = path == "-" ? "standard input" : quoted(path)
        let text = try contents(of: path, name)
        for variable in try Dotenv.variables(in: text, of: name, failingWith: .usage) {
            let place = "line \(variable.line) of \(name)"
            guard VariableName.isValid(variable.name) else {
                throw .usage(
                    "\(place) is not NAME=VALUE",
                    hint: "a variable's name has letters, digits and '_', and no digit first")
            }
            // A name alone is the caller's variable, which the program inherits.
            guard let value = variable.value else { continue }
            guard variable.origin == .text else {
                let isSuspect =
                    variable.origin == .literal
                    && value.withBytes { SecretReference.hasScheme($0, at: 0) }
                if isSuspect {
                    context.console.note(
                        "valet: warning: \(place): a reference in single quotes or backticks "
                            + "stays as it is")
                }
                try set(variable.name, to: value)
                continue
            }
            try set(variable.name, to: try resolver.resolve(value, at: place))
        }
    }

    private func contents(of path: String, _ name: String) throws(CLIError) -> SecretValue {
        let limit = SetCommand.maximumByteCount
        if path == "-" {
            guard !context.console.isInputTerminal else {
                throw .usage("'--env-file -' reads standard input, which is a terminal")
            }
            return try context.console.readInput(atMost: limit)
        }
        let file = ProgramLaunch.open(path)
        guard file >= 0 else {
            let cause = Terminal.text(forSystemError: errno)
            throw CLIError(.failure, "could not open \(name): \(cause)")
        }
        defer { close(file) }
        let input: SecretValue
        do {
            let deadline = Deadline(after: Self.patience)
            input = try SecretValue.read(from: file, atMost: limit, until: deadline)
        } catch {
            guard error.code == .timedOut else { throw CLIError(error).at(name) }
            throw CLIError(
                .failure, "\(name) is a pipe that did not end within 30 s",
                hint: "start the program that writes it first, or use '--env-file -'")
        }
        guard input.byteCount <= limit else {
            throw .usage("\(name) is larger than \(limit >> 20) MiB")
        }
        return input
    }

    // MARK: Whole valets

    /// Sets a variable for every secret of a valet, except those whose names or values no variable
    /// can have, and those that would choose code that the program runs.
    ///
    /// - Parameters:
    ///   - scope: The valet. It covers all accessibilities and kinds unless it chooses some.
    ///   - isUpperSnake: Whether `github-token` sets `GITHUB_TOKEN`.
    mutating func setAll(of scope: Scope, upperSnake isUpperSnake: Bool) throws(CLIError) {
        let keychain = try resolver.keychain(for: scope.requester)
        let place = scope.place(of: keychain)
        // The secrets by the names of their variables.
        var names: [String: String] = [:]
        var hint: String?
        let items = try Self.items(keychain, scope)
        for item in items.sorted(by: { $0.name < $1.name }) {
            let upper = VariableName.upperSnake(item.name)
            guard let name = isUpperSnake ? upper : item.name, VariableName.isValid(name) else {
                leaveOut(item.name, "a variable cannot have that name")
                if let upper, !isUpperSnake, !VariableName.choosesCode(upper) {
                    hint = hint ?? "'--upper-snake' sets \(upper) and the like"
                }
                continue
            }
            guard !VariableName.choosesCode(name) else {
                leaveOut(item.name, "programs run what the variable \(name) names")
                hint = hint ?? "'--env \(name)=REF' sets it nevertheless"
                continue
            }
            if let other = names.updateValue(item.name, forKey: name) {
                throw Self.ambiguous(name, of: (other, item.name), in: place)
            }
            guard let value = try value(of: item, keychain) else { continue }
            try set(name, to: FilledText(value: value, secrets: [value]))
        }
        if let hint { context.console.hint(hint) }
        guard names.isEmpty else { return }
        throw CLIError(
            .notFound, "\(place) has no secret that a variable can have",
            hint: "'valet list' shows the names of the stored secrets")
    }

    /// The value that a variable gets; nil, with a warning, if no variable can have it.
    private func value(
        of item: StoredItem, _ keychain: CommandKeychain
    ) throws(CLIError) -> SecretValue? {
        let found = try requesting(
            keychain.attempt(keychain.session.value(of: ItemQuery(item.reference))))
        guard let value = found else {
            leaveOut(item.name, "it has no value")
            return nil
        }
        guard value.withBytes({ bytes in bytes.indices.allSatisfy { bytes[$0] != 0 } }) else {
            leaveOut(item.name, "its value has a zero byte")
            return nil
        }
        return value
    }

    private static func ambiguous(
        _ name: String, of secrets: (String, String), in place: String
    ) -> CLIError {
        guard secrets.0 != secrets.1 else {
            return .usage(
                "there are several \(quoted(name)) in \(place)",
                hint: "choose with '--accessibility', '--cloud' or '--local'")
        }
        return .usage(
            "\(quoted(secrets.0)) and \(quoted(secrets.1)) in \(place) would both set \(name)",
            hint: "rename one: 'valet rename'; or name each with '--env \(name)=REF'")
    }

    private func leaveOut(_ name: String, _ reason: String) {
        context.console.note("valet: warning: \(quoted(name)) was left out: \(reason)")
    }

    private static func items(
        _ keychain: CommandKeychain, _ scope: Scope
    ) throws(CLIError) -> [StoredItem] {
        try requesting(keychain.items(scope.chosenServices.map(\.query)))
            .filter { !ListedItem($0).isCanary }
    }

    // MARK: Inherited variables

    /// Puts secrets in place of the references in inherited variables, or warns about them.
    mutating func takeInherited(resolving: Bool) throws(CLIError) {
        for (name, value) in launch.inheritedVariables() {
            let hasReference = value.withBytes { bytes in
                SecretReference.hasScheme(bytes, at: 0)
                    || !TemplateReferences(bytes).references.isEmpty
            }
            guard hasReference else { continue }
            if resolving {
                let place = "the variable \(quoted(name))"
                try set(name, to: try resolver.resolve(value, at: place))
                continue
            }
            context.console.note(
                "valet: warning: the variable \(quoted(name)) holds a reference, which the "
                    + "program gets as it is")
            context.console.hint("'--resolve-env' puts secrets in place of such references")
        }
    }
}
