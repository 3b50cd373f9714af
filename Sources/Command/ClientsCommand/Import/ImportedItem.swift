// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetKeychainModel
internal import ValetSealing

/// An item that a source of `valet import` offers, with the attributes that it gets here.
struct ImportedItem {
    /// What the source calls it.
    let source: String
    let itemClass: ItemClass
    var attributes: ItemAttributes
    let value: SecretValue
    /// What it has beside its value; nil for a source without fields, which changes none.
    var fields: EntryFields?
    /// When the item can be read; nil if the options decide.
    var accessibility: ProtectionClass?
    /// Whether devices share the item; nil if the options decide.
    var isCloud: Bool?

    /// A secret of the valet that the options choose.
    init(_ key: String, _ value: SecretValue, in scope: Scope, from source: String) {
        self.source = source
        itemClass = .genericPassword
        attributes = scope.service.item(key).attributes
        self.value = value
    }

    /// A generic password of some other application.
    init(service: String, account: String, _ value: SecretValue, from source: String) {
        self.source = source
        itemClass = .genericPassword
        attributes = [.service: .text(service), .account: .text(account)]
        self.value = value
    }

    /// A password for a server.
    ///
    /// - Parameter kind: How the password is used: `kSecAttrAuthenticationType…`.
    init(
        _ place: LoginPlace, account: String, kind: Kind, _ value: SecretValue,
        from source: String
    ) {
        self.source = source
        itemClass = .internetPassword
        attributes = place.attributes
        attributes[.path] = .text(place.path ?? "")
        attributes[.account] = .text(account)
        attributes[.authenticationType] = .text(kind.rawValue)
        attributes[.securityDomain] = .text("")
        attributes[.label] = .text(place.server)
        self.value = value
    }

    init(
        _ itemClass: ItemClass, _ attributes: ItemAttributes, _ value: SecretValue,
        from source: String
    ) {
        self.source = source
        self.itemClass = itemClass
        self.attributes = attributes
        self.value = value
    }

    enum Kind: String {
        case standard = "dflt"
        case form
    }

    /// The attributes that no two items have in common.
    var primaryKey: ItemAttributes {
        attributes.filter { itemClass.primaryKeyAttributes.contains($0.key) }
    }

    /// The value and the fields of a new item.
    var whole: ItemValue { ItemValue(value, fields ?? EntryFields()) }

    /// Whether a stored item has all of it.
    func isEqual(to stored: ItemValue) -> Bool {
        value.isEqual(to: stored.value) && fields?.isEqual(to: stored.fields) != false
    }

    /// The name of a secret of `service`; nil for other items.
    func name(in service: PasswordService) -> String? {
        guard itemClass == .genericPassword, attributes[.service] == .text(service.service),
            case .text(let name)? = attributes[.account]
        else { return nil }
        return name
    }

    /// The item as it is shown: its kind, its owner, and its name.
    var description: (kind: String, owner: String, name: String) {
        func text(_ attribute: Attribute) -> String { attributes[attribute]?.asText ?? "" }
        switch itemClass {
        case .genericPassword:
            let owner = ItemOwner(service: text(.service), group: AccessGroup(""))
            return (owner.kind.rawValue, owner.name, text(.account))
        case .internetPassword: return ("internet", text(.server), text(.account))
        }
    }
}

struct ImportedItems {
    var items: [ImportedItem] = []
    /// The items that cannot be imported, and why.
    private(set) var skipped: [(source: String, reason: String)] = []
    /// Whether more items were skipped than ``skipped`` holds.
    private var isOverfull = false

    /// More items than any user has. It bounds the skipped items, too.
    static let maximumCount = 250_000
    static let maximumValueByteCount = 16 << 20

    /// Adds an item.
    ///
    /// - Throws: ``ExitCode/usage`` if there are too many items.
    mutating func add(_ item: ImportedItem) throws(CLIError) {
        try checkCount()
        guard items.count < Self.maximumCount else { throw Self.tooMany }
        guard item.whole.sealedByteCount <= Self.maximumValueByteCount else {
            let what = item.fields == nil ? "its value is" : "it is"
            return skip(item.source, "\(what) larger than 16 MiB")
        }
        items.append(item)
    }

    /// Notes an item that cannot be imported.
    mutating func skip(_ source: String, _ reason: String) {
        if skipped.count < Self.maximumCount {
            skipped.append((source, reason))
        } else {
            isOverfull = true
        }
    }

    /// - Throws: ``ExitCode/usage`` if the source has too much of anything.
    func checkCount() throws(CLIError) {
        guard !isOverfull else { throw Self.tooMany }
    }

    /// The error for a source that has too much.
    static let tooMany = CLIError.usage(
        "the source has more than \(maximumCount) entries: nothing was changed",
        hint: "divide it, and import the parts")
}
