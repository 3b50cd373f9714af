// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing

/// A one-time code of a secret, which nobody else gets if it is one of a counter.
struct OneTimeCode {
    let text: SecretValue
    /// For a code of time: how long each code is valid, and how many seconds are left.
    let time: (period: Int64, left: Int64)?
    /// For a code of a counter: its counter, after which the next one is stored already.
    let counter: UInt64?

    /// How many times to try: another program may use the same counter at the same time.
    private static let tryCount = 20

    /// Makes the code of `target` at `seconds` since 1970.
    ///
    /// - Parameter field: The field that makes the codes; nil for the field `otp`, or without one
    ///   the value.
    /// - Throws: ``ExitCode/damaged`` for what makes no codes; as ``ItemTarget/value()``.
    init(of target: ItemTarget, _ field: FieldName?, at seconds: Int64) throws(CLIError) {
        for _ in 0..<Self.tryCount {
            let (item, place, stored) = try target.codeKey(field)
            let password = try OneTimePassword(stored)
            switch password.factor {
            case .time(let period):
                text = try password.code(at: seconds)
                time = (period, period - max(0, seconds) % period)
                counter = nil
                return
            case .counter(let counter):
                let code = try password.code(at: 0)
                let next = try OneTimePassword.setting(counter: counter + 1, in: stored)
                // In the history, former counters would push out replaced keys, and `undo` would
                // show a code for a second time.
                guard try target.replace(item, place, with: next, keepingHistory: false) else {
                    continue
                }
                (text, time, self.counter) = (code, nil, counter)
                return
            }
        }
        throw CLIError(
            .locked, "other programs change \(target.title) all the time: no code was used up")
    }

    /// What to say about it: how long it is valid, or its counter.
    var remark: String {
        if let time { return "\(time.left) s left" }
        return "counter \(counter ?? 0)"
    }

    /// The error for a code that did not arrive. Reported even if the reader has closed the pipe:
    /// nobody has seen the code.
    func wasUsedUp(_ error: CLIError) -> CLIError {
        guard let counter else { return error }
        return CLIError(
            .failure, "the code of counter \(counter) is used up: \(error.message)",
            hint: "'valet otp KEY' shows the next one")
    }
}

extension ItemTarget {
    /// The item, and what makes its codes: a field, or its value.
    ///
    /// - Returns: With the field; nil for the value.
    fileprivate func codeKey(
        _ field: FieldName?
    ) throws(CLIError) -> (item: StoredItem, place: FieldName?, key: SecretValue) {
        let item = try whole()
        let place = field ?? (item.fields[FieldName.otp.text] == nil ? nil : .otp)
        if let place { return (item, place, try value(of: place, in: item, item.fields)) }
        guard let current = try current() else { return (item, nil, try value()) }
        return (current.item, nil, current.value)
    }
}
