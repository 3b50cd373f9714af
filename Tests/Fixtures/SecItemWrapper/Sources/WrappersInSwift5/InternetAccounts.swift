// SPDX-License-Identifier: Apache-2.0

// A struct around internet passwords: dictionaries of [CFString: Any], protocols as an enum.

import Foundation
import Security

struct InternetAccount: Equatable {
    enum Scheme: CaseIterable {
        case https, ftp, ssh, imaps

        var attribute: CFString {
            switch self {
            case .https: return kSecAttrProtocolHTTPS
            case .ftp: return kSecAttrProtocolFTP
            case .ssh: return kSecAttrProtocolSSH
            case .imaps: return kSecAttrProtocolIMAPS
            }
        }

        init?(_ attribute: Any?) {
            guard let text = attribute as? String,
                let match = Self.allCases.first(where: { $0.attribute as String == text })
            else { return nil }
            self = match
        }
    }

    var url: URL
    var user: String
    var password: String
    var scheme = Scheme.https

    private var query: [CFString: Any] {
        [
            kSecClass: kSecClassInternetPassword,
            kSecAttrServer: url.host!,
            kSecAttrPort: url.port ?? 443,
            kSecAttrPath: url.path,
            kSecAttrProtocol: scheme.attribute,
            kSecAttrAccount: user,
        ]
    }

    func save() -> OSStatus {
        let secret: [CFString: Any] = [
            kSecValueData: Data(password.utf8) as NSData,
            kSecAttrAuthenticationType: kSecAttrAuthenticationTypeHTTPBasic,
            kSecAttrIsInvisible: kCFBooleanFalse!,
            kSecAttrComment: "made by a wrapper" as CFString,
        ]
        let status = SecItemAdd(query.merging(secret) { $1 } as CFDictionary, nil)
        guard status == errSecDuplicateItem else { return status }
        return SecItemUpdate(
            query as CFDictionary, [kSecValueData: Data(password.utf8)] as CFDictionary)
    }

    func delete() -> Bool {
        SecItemDelete(query as CFDictionary) == errSecSuccess
    }

    static func all(on host: String) throws -> [InternetAccount] {
        let query =
            [
                kSecClass: kSecClassInternetPassword,
                kSecAttrServer: host,
                kSecReturnAttributes: true,
                kSecReturnData: true,
                kSecMatchLimit: kSecMatchLimitAll,
            ] as [CFString: Any] as CFDictionary
        var items: CFTypeRef?
        let status = SecItemCopyMatching(query, &items)
        if status == errSecItemNotFound { return [] }
        guard status == errSecSuccess else {
            throw NSError(
                domain: NSOSStatusErrorDomain, code: Int(status),
                userInfo: [
                    NSLocalizedDescriptionKey: SecCopyErrorMessageString(status, nil) ?? ""
                ])
        }
        return (items as! [[String: Any]]).compactMap(InternetAccount.init(attributes:))
            .sorted { $0.user < $1.user }
    }

    private init?(attributes: [String: Any]) {
        guard let host = attributes[kSecAttrServer as String] as? String,
            let user = attributes[kSecAttrAccount as String] as? String,
            let port = attributes[kSecAttrPort as String] as? NSNumber,
            let path = attributes[kSecAttrPath as String] as? String,
            let scheme = Scheme(attributes[kSecAttrProtocol as String]),
            let data = attributes[kSecValueData as String] as? Data,
            let password = String(data: data, encoding: .utf8),
            let url = URL(string: "https://\(host):\(port.intValue)\(path)")
        else { return nil }
        self.init(url: url, user: user, password: password, scheme: scheme)
    }

    init(url: URL, user: String, password: String, scheme: Scheme = .https) {
        self.url = url
        self.user = user
        self.password = password
        self.scheme = scheme
    }
}
