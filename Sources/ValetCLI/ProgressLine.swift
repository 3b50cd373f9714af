// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore

/// Says on a terminal how far a long work has come; says nothing anywhere else, or of a short one.
final class ProgressLine {
    private let console: any Console
    private let what: String
    private var shownPercentage: Int?

    /// - Parameter what: What is being done: "sealing items anew".
    init(_ what: String, on console: any Console) {
        self.console = console
        self.what = what
    }

    /// Shows that `count` of `total` are done.
    func show(_ count: Int, of total: Int) {
        guard console.isErrorTerminal, total > 0 else { return }
        let percentage = count * 100 / total
        // What is done at once needs no line.
        guard shownPercentage != nil || count < total, percentage != shownPercentage else { return }
        shownPercentage = percentage
        console.show("\rvalet: \(what): \(percentage) %")
    }

    /// Ends the line, if one was begun.
    func end() {
        if shownPercentage != nil { console.show("\n") }
        shownPercentage = nil
    }
}

extension Context {
    /// Runs `body`, which changes the keys of `store` and returns how many damaged items it set
    /// aside, and shows how far it has come; then says that, from whom the opened keys had to be
    /// taken, and what is left beside the device key.
    func changingKeys(
        of store: ItemStore, skippingDamaged skips: Bool = false,
        _ body: (EpochOptions) throws(KeychainFailure) -> Int
    ) throws(CLIError) {
        let line = ProgressLine("sealing items anew", on: console)
        defer { line.end() }
        let options = EpochOptions(skippingDamaged: skips) { line.show($0, of: $1) }
        let count = try asking { () throws(KeychainFailure) in try body(options) }
        line.end()
        noteSetAside(count)
        if let reason = store.reasonKeysAreNotShared() {
            console.note(
                "valet: warning: programs that had the opened keys have them no more: "
                    + Escaping.printable(reason))
            console.hint("run `valet unlock` once there is room")
        }
        for finding in store.strayDeviceKeys() {
            let place = finding.path.map { " (\(Escaping.printable($0)))" } ?? ""
            console.note("valet: warning: \(finding.message)\(place)")
            if let hint = finding.hint { console.hint(hint) }
        }
    }
    /// Says how many damaged items a change of keys has set aside, if it has.
    func noteSetAside(_ count: Int) {
        guard count > 0 else { return }
        let items = count == 1 ? "1 damaged item was" : "\(count) damaged items were"
        console.note("valet: warning: \(items) set aside, and nothing opens what was set aside")
        console.hint("write anew what is missing")
    }
}
