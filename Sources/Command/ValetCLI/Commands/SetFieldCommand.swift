// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing

/// `valet set KEY --field NAME`.
extension SetCommand {
    /// Sets one field of a secret that exists, and nothing else.
    static func set(
        _ field: FieldName, _ values: ParsedValues, _ context: Context
    ) throws(CLIError) -> ExitCode {
        let console = context.console
        let others = [ifAbsent, note, username, url].first(where: values.isChosen)
        if let others {
            throw .usage("'--field' and '\(others.spelling)' exclude each other")
        }
        let target = try ItemOptions.selection(values).existing(context)
        let present = try target.whole()
        if console.isInputTerminal, present.field(field, among: present.fields) != nil {
            try console.requireConsent(
                to: "Replace the field \(quoted(field.text)) of \(target.fullTitle)?",
                isGiven: values.has(yes))
        }
        let isPublic = values.has(visible) ? true : nil
        let input = try read(field, of: target, isPublic: isPublic ?? field.isPublic, console)
        // People and programs read a line of text without its end. Other bytes stay as they are.
        let isLine = values.has(trimNewline) || input.isText && !input.hasSeveralLines
        let value = isLine ? input.withoutTextMarks : input
        guard value.byteCount > 0 else {
            throw .usage(
                "the field is empty", hint: "'valet remove KEY --field NAME' removes a field")
        }
        try target.set(field, to: value, isPublic: isPublic)
        report(target, value, wasMoved: false, values, console)
        console.afterEffect { () throws(CLIError) in
            try target.noteIfTooLargeToTravel(console)
        }
        return .success
    }

    private static func read(
        _ field: FieldName, of target: ItemTarget, isPublic: Bool, _ console: any Console
    ) throws(CLIError) -> SecretValue {
        guard console.isInputTerminal else {
            return try console.readInput(atMost: maximumByteCount)
        }
        let question = "Field \(quoted(field.text)) of \(target.title)"
        return isPublic
            ? SecretValue(copying: Array(try console.askLine(question).utf8).span)
            : try console.askTwice(question)
    }
}

extension ItemTarget {
    /// Warns about a secret that sync does not send because of its fields.
    fileprivate func noteIfTooLargeToTravel(_ console: any Console) throws(CLIError) {
        let item = try whole()
        guard let value = item.value else { return }
        let stored = StoredSecret(item: item.asNew, old: nil)
        noteIfTooLargeToTravel(ItemValue(value, item.fields).sealedForm, stored, console)
    }
}
