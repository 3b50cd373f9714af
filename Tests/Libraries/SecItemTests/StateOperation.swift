// SPDX-License-Identifier: Apache-2.0

import Foundation
import ValetKeychainModel
import ValetKeychainStore
import ValetSealing

@testable import ValetKeychainServices
@testable import ValetSecItem

/// A call about items of one class; each has a service of its own to find them in.
enum StateOperation: String, CaseIterable, Sendable {
    case add, addAgain, addOverOtherClass, set, updateByKey, updateByLabel, updateFromClass
    case updateToClass, deleteByKey, deleteByLabel, deleteByReference, deleteByDate
    case deleteSynchronizable, deleteMissing
    case copyData, copyAttributes, exists, copyByReference, copyAllOfMixedClasses
    case copyOneBeforeAvailable, copyOneAfterAvailable, copyAvailableClass, copyMissing
    case typedValue, typedContains, typedMissing, typedAccounts

    /// A class that is available while the keychain is locked.
    static let available = ProtectionClass.afterFirstUnlock
    /// When all items are made, in nanoseconds since 1970.
    static let moment: Int64 = 1_800_000_000_000_000_000

    /// The service of the items that a call about `protectionClass` is for.
    func service(_ protectionClass: ProtectionClass) -> String {
        "\(rawValue) \(protectionClass.code)"
    }

    /// The items that are there before a call about `protectionClass`, in their order.
    func items(_ protectionClass: ProtectionClass) -> [NewItem] {
        let item = { (account: String, protection: ProtectionClass) in
            NewItem(
                .genericPassword,
                attributes: [
                    .account: .text(account), .service: .text(service(protectionClass)),
                    .label: .text("label"),
                ], isSynchronizable: self == .deleteSynchronizable, protectionClass: protection)
        }
        switch self {
        case .add, .deleteMissing, .copyMissing, .typedMissing: return []
        case .updateToClass: return [item("a", Self.available)]
        case .copyAllOfMixedClasses, .copyOneBeforeAvailable, .copyAvailableClass:
            return [item("a", protectionClass), item("b", Self.available)]
        case .copyOneAfterAvailable:
            return [item("a", Self.available), item("b", protectionClass)]
        default: return [item("a", protectionClass)]
        }
    }

    /// Does the call.
    func perform(
        _ protectionClass: ProtectionClass, _ fixture: StateFixture
    ) throws(KeychainFailure) {
        let service = fixture.session
        let query: NSDictionary = [
            kSecClass: kSecClassGenericPassword, kSecAttrService: self.service(protectionClass),
        ]
        let one: NSDictionary = [kSecAttrAccount: "a"]
        let value: NSDictionary = [kSecValueData: Data("new".utf8)]
        let accessible: NSDictionary = [kSecAttrAccessible: protectionClass.code]
        let available: NSDictionary = [kSecAttrAccessible: Self.available.code]
        switch self {
        case .add, .addAgain: _ = try service.add(query + one + value + accessible)
        case .addOverOtherClass: _ = try service.add(query + one + value + available)
        case .updateByKey: try service.update(query + one, value)
        case .updateByLabel: try service.update(query + [kSecAttrLabel: "label"], value)
        case .updateFromClass: try service.update(query + one, available)
        case .updateToClass: try service.update(query + one, accessible)
        case .deleteByKey, .deleteMissing: try service.delete(query + one)
        case .deleteByLabel: try service.delete(query + [kSecAttrLabel: "label"])
        case .deleteByReference: try service.delete(fixture.reference(self, protectionClass))
        case .deleteByDate: try service.delete(query + [kSecAttrCreationDate: Self.date])
        case .deleteSynchronizable:
            try service.delete(query + one + [kSecAttrSynchronizable: true])
        case .copyByReference:
            let data: NSDictionary = [kSecReturnData: true]
            _ = try service.copyMatching(fixture.reference(self, protectionClass) + data)
        case .copyData, .copyMissing, .copyAttributes, .exists, .copyAllOfMixedClasses,
            .copyOneBeforeAvailable, .copyOneAfterAvailable, .copyAvailableClass:
            _ = try service.copyMatching(query + search)
        case .set, .typedValue, .typedContains, .typedMissing, .typedAccounts:
            try performTyped(protectionClass, service)
        }
    }

    /// What is asked for, and what is wanted of it.
    private var search: NSDictionary {
        let one: NSDictionary = [kSecAttrAccount: "a"]
        let all: NSDictionary = [kSecMatchLimit: kSecMatchLimitAll]
        let data: NSDictionary = [kSecReturnData: true]
        let attributes: NSDictionary = [kSecReturnAttributes: true]
        return switch self {
        case .copyData, .copyMissing: one + data
        case .copyAttributes: one + attributes
        case .copyAllOfMixedClasses: all + attributes
        case .copyOneBeforeAvailable, .copyOneAfterAvailable: data
        case .copyAvailableClass:
            all + attributes + [kSecAttrAccessible: Self.available.code]
        default: one
        }
    }

    private func performTyped(
        _ protectionClass: ProtectionClass, _ session: KeychainSession
    ) throws(KeychainFailure) {
        let service = PasswordService(
            service: self.service(protectionClass), accessGroup: nil, isSynchronizable: false,
            protectionClass: protectionClass)
        let name = PasswordName("a", in: service)
        switch self {
        case .set:
            let value = Array("new".utf8)
            try session.set(service.item("a"), value: SecretValue(copying: value.span))
        case .typedContains: _ = try session.contains(name)
        case .typedAccounts: _ = try session.accountTexts(of: service)
        default: _ = try session.value(of: name)
        }
    }

    private static var date: Date {
        Date(timeIntervalSince1970: Double(moment) / 1e9)
    }
}
