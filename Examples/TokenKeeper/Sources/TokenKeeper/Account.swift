// SPDX-License-Identifier: Apache-2.0

import Foundation
import Valet

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A login: the server, and the token that it accepts.
struct Account: Codable {
    let server: URL
    let token: String

    private static let key = "account"

    /// The valet of the account. It asks the user once while the program runs; storing never asks.
    private static func vault() throws -> SinglePromptSecureEnclaveValet {
        guard let name = Identifier(nonEmpty: "TokenKeeper") else { throw Problem.wrongUse }
        return .valet(with: name, accessControl: .userPresence)
    }

    /// Exchanges name and password for a token, and stores the token alone.
    static func logIn(at server: URL, as name: String, password: String) async throws {
        var request = URLRequest(url: server.appendingPathComponent("login"))
        request.httpMethod = "POST"
        request.httpBody = try JSONEncoder().encode(["name": name, "password": password])
        let token = String(decoding: try await answer(to: request), as: UTF8.self)
        let account = try JSONEncoder().encode(Account(server: server, token: token))
        try vault().setObject(account, forKey: key)
    }

    /// The stored account. Asks the user.
    static func stored() throws -> Account {
        let data = try vault().object(forKey: key, withPrompt: "Use your login")
        return try JSONDecoder().decode(Account.self, from: data)
    }

    /// Removes the token. Does not ask the user.
    static func forget() throws {
        try vault().removeObject(forKey: key)
    }

    /// The user's name, as the server knows it.
    func name() async throws -> String {
        var request = URLRequest(url: server.appendingPathComponent("me"))
        request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
        return String(decoding: try await Self.answer(to: request), as: UTF8.self)
    }

    private static func answer(to request: URLRequest) async throws -> Data {
        let (data, response) = try await URLSession.shared.data(for: request)
        guard let response = response as? HTTPURLResponse else { throw Problem.noAnswer }
        guard response.statusCode == 200 else { throw Problem.refused(response.statusCode) }
        return data
    }
}
