// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSealing

/// The options that choose a password which no valet stored: one of SecItem's generic or internet
/// passwords, or a key of KeychainSwift. ``ItemOptions`` makes them part of an ``ItemSelection``.
struct PasswordOptions: Hashable, Sendable {
    static let service = OptionDeclaration(
        name: "service", valueName: "SERVICE",
        help: "a password that a program stored with SecItem for that service; KEY is its account")
    static let account = OptionDeclaration(
        name: "account", valueName: "ACCOUNT", help: "the account of the password, as KEY")
    static let server = OptionDeclaration(
        name: "server", valueName: "HOST",
        help: "an internet password for that server: a name, HOST:PORT or a URL")
    static let port = OptionDeclaration(
        name: "port", valueName: "NUMBER", help: "the port of an internet password")
    static let networkProtocol = OptionDeclaration(
        name: "protocol", valueName: "PROTOCOL",
        help: "the protocol of an internet password: https, ssh, imaps, or four characters")
    static let label = OptionDeclaration(
        name: "label", valueName: "LABEL", help: "the label that programs show for the password")
    static let keychainSwift = OptionDeclaration(
        name: "keychain-swift", help: "what KeychainSwift stored: a password without a service")
    static let prefix = OptionDeclaration(
        name: "prefix", valueName: "PREFIX", help: "the key prefix of KeychainSwift, before KEY")

    static let item = OptionDeclaration(
        name: "item", valueName: "ID",
        help: "the item with that id: the last resort of answers that tell items apart")

    static let all = [
        service, account, server, port, networkProtocol, label, keychainSwift, prefix, item,
    ]
    /// The options that find an item by themselves, so that KEY may be missing.
    static let naming = [service, account, server, label, item]

    /// The classes that such a password may have: both if the options leave that open.
    let itemClasses: [ItemClass]
    /// The attributes of the password, without its account.
    let attributes: ItemAttributes
    /// The same in the form that helpers and imports write; nil if ``attributes`` have it.
    let canonical: ItemAttributes?
    let keyPrefix: String
    /// The last 16 bytes of a persistent reference; nil for any item.
    let itemID: [UInt8]?

    /// The options of a command line; nil if it gives none of them.
    ///
    /// - Throws: ``ExitCode/usage`` for options that contradict each other.
    init?(_ values: ParsedValues) throws(CLIError) {
        let given = Self.all.filter(values.isChosen)
        guard let first = given.first else { return nil }
        let internet = given.first {
            [Self.server, Self.port, Self.networkProtocol].contains($0)
        }
        let generic = given.first { [Self.service, Self.keychainSwift].contains($0) }
        if let internet, let generic { throw Self.conflict(internet, generic) }
        if values.has(Self.keychainSwift), values.isGiven(Self.service) {
            throw Self.conflict(Self.keychainSwift, Self.service)
        }
        if values.isGiven(Self.prefix), !values.has(Self.keychainSwift) {
            throw .usage("'--prefix' needs '--keychain-swift'")
        }
        if values.isGiven(ItemOptions.identifier) {
            throw Self.conflict(first, ItemOptions.identifier)
        }
        itemClasses =
            internet != nil
            ? [.internetPassword] : generic != nil ? [.genericPassword] : ItemClass.allCases
        let attributes = try Self.attributes(values)
        self.attributes = attributes
        canonical = attributes.withCanonicalServer
        keyPrefix = values[Self.prefix] ?? ""
        itemID = try Self.itemID(values)
    }

    private static func attributes(_ values: ParsedValues) throws(CLIError) -> ItemAttributes {
        var attributes: ItemAttributes = [:]
        if values.has(keychainSwift) { attributes[.service] = .text("") }
        for (option, attribute) in [
            (service, Attribute.service), (server, .server), (label, .label),
        ] {
            if let text = values[option] { attributes[attribute] = .text(text) }
        }
        if let text = values[port] {
            guard let number = UInt16(text), number > 0, !text.hasPrefix("+") else {
                throw .usage(
                    "'--port' does not take \(quoted(text))", hint: "it takes 1 to 65535")
            }
            attributes[.port] = .number(Int64(number))
        }
        if let word = values[networkProtocol] {
            attributes[.protocol] = .text(try NetworkProtocol.code(word))
        }
        return attributes
    }

    private static func itemID(_ values: ParsedValues) throws(CLIError) -> [UInt8]? {
        guard let text = values[item] else { return nil }
        guard let id = Hexadecimal.bytes(text), id.count == 16 else {
            throw .usage(
                "'--item' does not take \(quoted(text))",
                hint: "it takes 32 hexadecimal digits, as in 'valet show --json'")
        }
        return id
    }

    private static func conflict(
        _ one: OptionDeclaration, _ other: OptionDeclaration
    ) -> CLIError {
        .usage(
            "'\(one.spelling)' and '\(other.spelling)' exclude each other",
            hint: "'--id' chooses a valet, '--service' a generic password, '--server' an internet "
                + "password")
    }
}

/// The protocols of internet passwords, by their names in URLs. Items store codes of four
/// characters (`kSecAttrProtocol…`).
enum NetworkProtocol {
    private static let codes: [(name: String, code: String)] = [
        ("ftp", "ftp "), ("ftps", "ftps"), ("http", "http"), ("https", "htps"), ("imap", "imap"),
        ("imaps", "imps"), ("irc", "irc "), ("ircs", "ircs"), ("ldap", "ldap"), ("ldaps", "ldps"),
        ("nntp", "nntp"), ("nntps", "ntps"), ("pop3", "pop3"), ("pop3s", "pops"), ("smb", "smb "),
        ("smtp", "smtp"), ("socks", "sox "), ("ssh", "ssh "), ("telnet", "teln"),
        ("telnets", "tels"), ("rtsp", "rtsp"), ("ipp", "ipp "), ("afp", "afp "),
    ]

    /// The code of a protocol's name. Any other word of four characters is a code itself.
    ///
    /// - Throws: ``ExitCode/usage`` for other words.
    static func code(_ word: String) throws(CLIError) -> String {
        if let known = known(word.lowercased()) { return known }
        if word.utf8.count == 4, word.utf8.allSatisfy({ 0x20..<0x7F ~= $0 }) { return word }
        throw .usage(
            "'--protocol' does not take \(quoted(word))",
            hint: "it takes \(codes.map(\.name).joined(separator: ", ")), or four characters")
    }

    /// The code of a protocol's name; nil for other names.
    static func known(_ name: String) -> String? { codes.first { $0.name == name }?.code }

    /// The protocol's name for a code; the code itself if it has none.
    static func name(_ code: String) -> String {
        codes.first { $0.code == code }?.name ?? code
    }
}
