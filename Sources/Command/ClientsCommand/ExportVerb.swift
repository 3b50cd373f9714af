// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing
internal import ValetSystem

/// `valet export`: writes secrets in the clear to standard output, after asking.
struct ExportVerb {
    private let values: ParsedValues
    private let console: any Console
    private let scope: Scope
    private let logins: Logins

    init(_ values: ParsedValues, _ context: Context) throws(CLIError) {
        self.values = values
        console = context.console
        scope = try ItemOptions.scope(values)
        logins = try Logins(values, context)
    }

    func run() throws(CLIError) -> ExitCode {
        guard let format = values[ExportHelp.format] else {
            throw .usage("expected '--format FORMAT' or '--to secret-service'")
        }
        let writesVariables = format != "json"
        if let option = ExportHelp.ofService.first(where: values.has) {
            throw .usage("'\(option.spelling)' needs '--to secret-service'")
        }
        if values.has(ExportHelp.upperSnake), !writesVariables {
            throw .usage("'--upper-snake' needs '--format dotenv' or '--format docker-env'")
        }
        try console.requireConsent(
            to: "Write all secrets in the clear?", isGiven: values.has(KeyOptions.yes),
            because: "an export shows all secrets", refusal: "nothing was exported")
        var left: [(name: String, reason: String)] = []
        var damage: KeychainFailure?
        let items = try items(ofOneValet: writesVariables || isOneValetChosen, noting: &damage)
        let isDamaged = damage != nil
        warn(of: items)
        switch format {
        case "dotenv": try writeVariables(items, &left)
        case "docker-env": try writeVariables(items, forDocker: true, &left)
        default: try writeJSON(items, &left)
        }
        if writesVariables { console.noteFieldsLeft(in: items, "'--format json' has them") }
        for (name, reason) in left {
            console.note("valet: warning: \(quoted(name)) was left out: \(reason)")
        }
        let unnamed = left.lazy.filter { $0.reason == Self.noVariable }
        if let name = unnamed.compactMap({ VariableName.upperSnake($0.name) }).first {
            console.hint("'--upper-snake' writes \(name) and the like")
        }
        if isDamaged {
            console.note("valet: warning: damaged items were left out; 'valet doctor' lists them")
        }
        let total = isDamaged ? "more than \(items.count)" : "\(items.count)"
        console.note("valet: exported \(items.count - left.count) of \(total) items")
        return left.isEmpty && !isDamaged ? .success : .failure
    }

    /// Warns of a file that others can read, and of an export that no import takes.
    private func warn(of items: [StoredItem]) {
        if PathAndFile.isReadableByOthers(1) {
            console.note("valet: warning: other users may read the output: 'chmod 600' the file")
        }
        let byteCount = items.reduce(0) { $0 + ($1.valueByteCount ?? 0) }
        if items.count > ImportedItems.maximumCount
            || byteCount > ImportSource.maximumByteCount / 4 * 3
        {
            let limit = ImportSource.maximumByteCount >> 20
            console.note(
                "valet: warning: an import reads at most \(ImportedItems.maximumCount) items and "
                    + "\(limit) MiB: export one '--id' at a time")
        }
    }

    private var isOneValetChosen: Bool {
        values.isGiven(ItemOptions.identifier) || values.isGiven(ItemOptions.accessibility)
            || values.has(ItemOptions.cloud) || values.has(ItemOptions.local)
    }

    private func items(
        ofOneValet isOne: Bool, noting damage: inout KeychainFailure?
    ) throws(CLIError) -> [StoredItem] {
        // The command treats all valets of one identifier as one.
        let queries =
            isOne
            ? scope.chosenServices.map { service in
                ItemQuery(
                    .genericPassword, attributes: service.query.attributes,
                    accessGroup: scope.requester.group,
                    synchronizable: service.isSynchronizable ? .synchronizedOnly : .localOnly)
            }
            : ItemClass.allCases.map {
                ItemQuery($0, accessGroup: scope.requester.group, synchronizable: .any)
            }
        let items = try logins.found(queries).readable(noting: &damage)
        return items.filter { !ServiceName.isCanary($0.text(.account)) }
            .sorted { ($0.text(.account) ?? "") < ($1.text(.account) ?? "") }
    }

    /// The value of an item and its fields; nil, with a reason, if it cannot be exported.
    private func whole(
        of item: StoredItem, _ left: inout [(name: String, reason: String)]
    ) throws(CLIError) -> ItemValue? {
        let name = item.text(.account) ?? "an item"
        guard item.accessControl == nil else {
            left.append((name, "reading it requires the user"))
            return nil
        }
        do {
            if let whole = try logins.whole(of: item) { return whole }
            left.append((name, "it has no value"))
        } catch {
            guard error.code == .damaged else { throw error }
            left.append((name, "it is damaged"))
        }
        return nil
    }

    // MARK: Variables

    private static let noVariable = "a variable cannot have that name"

    /// - Parameter isForDocker: Whether the lines are for docker and kubectl, which keep quotes.
    private func writeVariables(
        _ items: [StoredItem], forDocker isForDocker: Bool = false,
        _ left: inout [(name: String, reason: String)]
    ) throws(CLIError) {
        var unportable: [String] = []
        for (item, name) in try variables(items, &left) {
            guard let value = try whole(of: item, &left)?.value else { continue }
            let hasNull = value.withBytes { $0.firstIndex(of: 0) != nil }
            guard value.isUTF8, !hasNull else {
                left.append((name, "it is not text"))
                continue
            }
            guard !isForDocker || Self.fitsInLine(value) else {
                left.append((name, "docker cannot read several lines as one value"))
                continue
            }
            let line = isForDocker ? Self.dockerLine(name, value) : Dotenv.line(name, value)
            let isSafe = line.text.withBytes(TerminalText.isShowable)
            guard !console.isOutputTerminal || isSafe else {
                left.append((name, "a terminal would act on it: redirect the output"))
                continue
            }
            try console.write(line.text)
            if !line.isPortable { unportable.append(quoted(name)) }
        }
        guard !unportable.isEmpty else { return }
        console.note(
            "valet: warning: other programs may read other values for "
                + unportable.joined(separator: ", "))
        console.hint("docs/CLIENTS.md compares the dialects of .env files")
    }

    /// The items that get a variable, with its name.
    private func variables(
        _ items: [StoredItem], _ left: inout [(name: String, reason: String)]
    ) throws(CLIError) -> [(StoredItem, name: String)] {
        let isUpperSnake = values.has(ExportHelp.upperSnake)
        var (variables, keys): ([(StoredItem, name: String)], [String: String]) = ([], [:])
        for item in items {
            let key = item.text(.account) ?? ""
            let named = isUpperSnake ? VariableName.upperSnake(key) : key
            guard let name = named, VariableName.isValid(name) else {
                left.append((key, Self.noVariable))
                continue
            }
            if isUpperSnake, let other = keys.updateValue(key, forKey: name), other != key {
                throw .usage(
                    "\(quoted(other)) and \(quoted(key)) would both be \(name)",
                    hint: "rename one: 'valet rename'")
            }
            variables.append((item, name))
        }
        return variables
    }

    /// Whether docker reads it back: a value ends with its line, and a carriage return there is
    /// dropped.
    private static func fitsInLine(_ value: SecretValue) -> Bool {
        value.withBytes { bytes in
            bytes.firstIndex(of: 0x0A) == nil
                && (bytes.isEmpty || bytes[bytes.count - 1] != 0x0D)
        }
    }

    private static func dockerLine(
        _ name: String, _ value: SecretValue
    ) -> (text: SecretValue, isPortable: Bool) {
        var text = SecretText(capacity: name.utf8.count + value.byteCount + 2)
        text.append(name + "=")
        value.withBytes { text.append($0) }
        text.append("\n")
        return (text.value(), true)
    }

    // MARK: JSON

    private func writeJSON(
        _ items: [StoredItem], _ left: inout [(name: String, reason: String)]
    ) throws(CLIError) {
        try console.write("{\"format\":\"\(ExportFormat.name)\",\"items\":[")
        var separator = ""
        for item in items {
            guard let whole = try whole(of: item, &left) else { continue }
            let (object, reason) = ExportFormat.object(item, whole)
            guard let object else {
                left.append((item.text(.account) ?? "an item", reason))
                continue
            }
            try console.write(separator + "\n")
            try console.write(object)
            separator = ","
        }
        try console.write("\n]}\n")
    }
}

extension Console {
    /// Says that an export leaves fields out.
    ///
    /// - Parameter remedy: What has them.
    func noteFieldsLeft(in items: [StoredItem], _ remedy: String) {
        let count = items.count { $0.attributes[.fieldCount] != nil }
        guard count > 0 else { return }
        note("valet: warning: the fields of \(count) items were left out: \(remedy)")
    }
}
