// SPDX-License-Identifier: Apache-2.0

// Runs every wrapper in the keychain that $VALET_HOME names, and says what did not hold.

import Foundation
import Security

func failures(_ claims: [(String, Bool)]) -> [String] {
    claims.filter { !$0.1 }.map(\.0)
}

func vaultFailures() -> [String] {
    let vault = PasswordVault(service: "vault")
    let fresh = vault["a"] == nil && vault.accounts().isEmpty
    vault["a"] = "one"
    vault["b"] = "two"
    vault["a"] = "three"
    let stored = vault["a"] == "three" && vault.accounts() == ["a", "b"]
    let found = vault.contains("a") && vault.has("b") && !vault.has("c")
    vault["b"] = nil
    let removed = vault["b"] == nil && vault.accounts() == ["a"]
    var missing: VaultError?
    do { _ = try vault.string(for: "b") } catch { missing = error as? VaultError }
    let foreign = PasswordVault(service: "vault", accessGroup: "foreign")
    var refused: VaultError?
    do { try foreign.set("x", for: "a") } catch { refused = error as? VaultError }
    try? vault.removeAll()
    return failures([
        ("a new vault is empty", fresh), ("a vault stores and replaces", stored),
        ("a vault finds", found), ("this is none of Apple's systems", vault.systems == 0),
        ("a vault removes", removed), ("a vault says what is missing", missing == .noPassword),
        ("a vault says what is foreign", refused == VaultError(errSecMissingEntitlement)),
        ("a code has words", VaultError(errSecAuthFailed) != VaultError(errSecIO)),
        ("a vault removes all", vault.accounts().isEmpty),
        ("accessibilities are raw values", VaultAccessibility(rawValue: "cku") != nil),
    ])
}

func accountFailures() -> [String] {
    let url = URL(string: "https://example.com:8443/mail")!
    var account = InternetAccount(url: url, user: "a", password: "1")
    let other = InternetAccount(url: url, user: "b", password: "2", scheme: .ssh)
    let isSaved = account.save() == errSecSuccess && other.save() == errSecSuccess
    account.password = "3"
    let isReplaced = account.save() == errSecSuccess
    let all = try? InternetAccount.all(on: "example.com")
    let isDeleted = account.delete() && !account.delete() && other.delete()
    let none = try? InternetAccount.all(on: "example.com")
    return failures([
        ("accounts are saved", isSaved), ("an account is replaced", isReplaced),
        ("accounts come back as they were", all == [account, other]),
        ("accounts are deleted once", isDeleted), ("none are left", none == []),
    ])
}

func settingsFailures() -> [String] {
    let settings = Settings()
    let isDefault = settings.session == Session() && settings.tries == 0
    let session = Session(token: "t", expires: Date(timeIntervalSince1970: 1))
    settings.session = session
    settings.tries = 2
    settings.tries += 1
    return failures([
        ("settings have defaults", isDefault), ("settings are kept", settings.session == session),
        ("a synchronizable setting is kept", settings.tries == 3),
        ("a setting is data", settings.$tries.map { Data(referencing: $0) } == Data("3".utf8)),
    ])
}

func helperFailures() throws -> [String] {
    var error: NSError?
    let data = NSData(data: Data("secret".utf8))
    let isSaved = OlderKeychain.save(data, service: "old", account: "a", error: &error)
    let saved = OlderKeychain.password(service: "old", account: "a", error: &error)
    let accounts = OlderKeychain.allAccounts(service: "old")
    let none = OlderKeychain.password(service: "old", account: "b", error: &error)
    let isArchived =
        OlderKeychain.archive(["a", "b"], "list") == 0
        && OlderKeychain.archive(["c"], "list") == 0
    let unarchived = OlderKeychain.unarchive("list")
    let words = OlderKeychain.describe(OlderKeychain.cfError(errSecParam))
    let flag = true
    return failures([
        ("old code saves", isSaved && saved == data), ("old code lists", accounts?.count == 1),
        ("old code says what is missing", none == nil && error?.code == -25300),
        ("objects are archived", isArchived && unarchived == ["c"]),
        ("an error is remade", OlderKeychain.cfError(-4)?.takeRetainedValue().remade.code == -4),
        ("errors have accessors", words == "NSOSStatusErrorDomain -50 words"),
        ("no error is none", OlderKeychain.describe(nil) == "none"),
        ("keys are random", try OlderKeychain.randomKey(32) != OlderKeychain.randomKey(32)),
        ("bytes are random", OlderKeychain.randomBytes(16).count == 16),
        ("booleans have a type", CFGetTypeID(flag as CFBoolean) == CFBooleanGetTypeID()),
        ("numbers have another", CFGetTypeID(1 as CFNumber) == CFNumberGetTypeID()),
        ("equal is equal", CFEqual("a" as NSString, "a" as NSString) && !CFEqual(data, nil)),
    ])
}

func bookFailures() async throws -> [String] {
    let book = ReferenceBook(service: "book")
    let reference = try await book.add("a", Data([1])).get()
    let value = try await book.value(of: reference)
    let again = await book.add("a", Data([2]))
    let group = await book.group("a")
    let shared = await book.share("a", with: "foreign")
    let created = await book.created("a")
    let forgotten = await book.forget(reference)
    let gone = try await book.value(of: reference)
    return failures([
        ("a reference finds its item", value == Data([1])),
        ("a duplicate is one", again == .failure(KeychainStatus(rawValue: errSecDuplicateItem))),
        ("an item has a group", group != nil),
        ("a foreign group is refused", shared == .noEntitlement),
        ("a status has words", !"\(shared)".isEmpty),
        ("an item has a date", created.map { abs($0.timeIntervalSinceNow) < 600 } == true),
        ("a reference deletes", forgotten == .success && gone == nil),
        (
            "flags are a set",
            Demand([.presence, .finger]).flags == [.userPresence, .biometryCurrentSet]
        ),
    ])
}

guard ProcessInfo.processInfo.environment["VALET_HOME"] != nil else {
    print("wrappers: error: set VALET_HOME to an empty folder")
    exit(64)
}
var failed = vaultFailures() + accountFailures() + settingsFailures()
failed += idiomFailures() + ownTypeFailures()
failed += try helperFailures()
failed += try await bookFailures()
for claim in failed { print("wrappers: error: it is not so that \(claim)") }
exit(failed.isEmpty ? 0 : 1)
