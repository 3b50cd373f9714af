// SPDX-License-Identifier: Apache-2.0

import Foundation
import Valet

enum Secrets {
    static let valet = Valet.valet(
        with: Identifier(nonEmpty: "x")!, accessibility: .whenUnlocked)
    static let group = SharedGroupIdentifier(groupPrefix: "group", nonEmptyGroup: "x")!
    static let shared: Valet = .sharedGroupValet(with: group, accessibility: .afterFirstUnlock)
}

actor Session {
    private let valet: Valet
    private var cached: String?

    init(valet: Valet = Secrets.valet) {
        self.valet = valet
    }

    func token() throws(KeychainError) -> String {
        if let cached { return cached }
        let token = try valet.string(forKey: "token")
        cached = token
        return token
    }

    func replace(with token: String) throws {
        try valet.setString(token, forKey: "token")
        cached = token
    }
}

@MainActor
final class Model {
    var text = ""
    var failure: KeychainError?

    func load() {
        Task {
            text = await Task.detached { (try? Secrets.valet.string(forKey: "text")) ?? "" }.value
        }
    }

    func save() {
        do {
            try Secrets.valet.setString(text, forKey: "text")
            failure = nil
        } catch {
            failure = error
        }
    }
}

struct Account: Sendable {
    let identifier: Identifier
    let accessibility: Accessibility
    let pair: MigratableKeyValuePair<String>
    let valet: Valet
}

func store(_ values: [String: Data]) async throws {
    try await withThrowingTaskGroup(of: Void.self) { tasks in
        for (key, value) in values {
            tasks.addTask { try Secrets.valet.setObject(value, forKey: key) }
        }
        try await tasks.waitForAll()
    }
}

func explain(_ key: String) -> String {
    do {
        return try Secrets.valet.containsObject(forKey: key) ? "there" : "absent"
    } catch {
        switch error {
        case .itemNotFound: return "not found"
        case .couldNotAccessKeychain: return "no access"
        case .userCancelled: return "cancelled"
        case .missingEntitlement: return "not entitled"
        case .emptyKey, .emptyValue: return "empty"
        }
    }
}

func failureText(_ failure: KeychainFailure) -> String {
    switch failure.code {
    case .locked: "locked"
    case .damaged, .keychainDamaged: "damaged"
    default: "\(failure.operation): \(failure.message) \(failure.hint ?? "")"
    }
}

func status() -> KeychainError {
    KeychainError(status: -25300)
}
