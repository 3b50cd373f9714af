// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSealing
internal import ValetSystem

/// The portal for secrets of Flatpaks (org.freedesktop.impl.portal.Secret, version 1): each
/// application has 64 random bytes of its own, which never change. It encrypts its data with them.
struct Portal: Sendable {
    static let busName = "org.freedesktop.impl.portal.desktop.valet"
    /// The name of the desktop's portal, which alone asks its backends.
    static let desktopName = "org.freedesktop.portal.Desktop"
    static let path = "/org/freedesktop/portal/desktop"
    /// The method's response codes (Portal documentation, "Requests").
    static let (success, ended): (UInt32, UInt32) = (0, 2)

    /// The file by which xdg-desktop-portal finds this portal.
    static let description = """
        [portal]
        DBusName=\(busName)
        Interfaces=\(Interface.portal.rawValue);

        """

    /// The service of its items, and its collection in policies.
    static let service = "portal"
    private static let byteCount = 64

    let session: KeychainSession

    /// The secret of an application. The first call makes it.
    ///
    /// - Throws: `locked`, and any failure of the keychain.
    func secret(of application: String) throws(KeychainFailure) -> SecretValue {
        let query = ItemQuery(
            .genericPassword,
            attributes: [.service: .text(Self.service), .account: .text(application)],
            accessGroup: DesktopItem.group)
        if let known = try value(query) { return known }
        let made = SecretValue(SecretBytes(randomByteCount: Self.byteCount))
        let item = NewItem(
            .genericPassword, attributes: query.attributes, accessGroup: DesktopItem.group)
        do {
            try session.add(item, value: made)
            return made
        } catch {
            // Another call has made it.
            guard error.code == .duplicateItem, let known = try value(query) else { throw error }
            return known
        }
    }

    private func value(_ query: ItemQuery) throws(KeychainFailure) -> SecretValue? {
        try existing { () throws(KeychainFailure) in try session.value(of: query) } ?? nil
    }
}

extension SecretService {
    /// The plan for a call of the portal's object.
    func planPortal(_ call: borrowing BusMessage) -> Plan {
        let (interface, member, signature) = (call.interface, call.member, call.signature)
        if interface == Interface.portal.rawValue, member == "RetrieveSecret" {
            return planRetrieving(call)
                ?? .refuse(.invalidArguments, "the arguments of RetrieveSecret")
        }
        if interface == Interface.introspection.rawValue, member == "Introspect" {
            let text = Interface.description(
                of: [.portal, .properties, .introspection], children: [])
            return .now(.results { $0.write(text) })
        }
        guard interface == Interface.properties.rawValue, member == "Get", signature == "ss",
            call.text(atMost: BusMessage.maximalNameByteCount) == Interface.portal.rawValue,
            call.text(atMost: BusMessage.maximalNameByteCount) == "version"
        else { return .refuse(.unknownMethod, "the portal has no \(member)") }
        return .now(
            .results { message in message.write(variant: "u") { message.write(UInt32(1)) } })
    }

    /// nil if the arguments do not have the types of `RetrieveSecret`.
    private func planRetrieving(_ call: borrowing BusMessage) -> Plan? {
        guard call.signature == Interface.portal.methods[0].takes.joined(),
            call.text("o") != nil, let application = call.text()
        else { return nil }
        // A name on the bus has at most 255 bytes (D-Bus specification).
        guard !application.isEmpty, application.utf8.count <= 255 else {
            return .refuse(.invalidArguments, "an application without an id has no secret")
        }
        // Every program that may call this connection could name any application.
        guard call.sender == portal.owner else {
            return .refuse(.accessDenied, "only the owner of \(Portal.desktopName) may ask")
        }
        guard let output = call.descriptor() else { return nil }
        let pipe = Output(output)
        let access = access(ofFlatpak: application)
        if clients[call.sender]?.access?.isRefusedByName(Portal.service) == true {
            return .refuse(.isLocked, "your policy does not let this program use it")
        }
        return .changing { (holdings) throws(KeychainFailure) in
            var response = Portal.success
            do throws(KeychainFailure) {
                guard access?.access(to: Portal.service) ?? .allow == .allow else {
                    throw ClosedItems.closed
                }
                access?.note?(Portal.service)
                let secret = try Portal(session: holdings.list.session).secret(of: application)
                if !pipe.write(secret) { response = Portal.ended }
            } catch {
                guard error.code == .locked else { throw error }
                response = Portal.ended
            }
            return .results { [response] message in
                message.write(response)
                message.write("a", of: "{sv}") {}
            }
        }
    }

    /// The end of the pipe to which an application's secret is written.
    private final class Output: Sendable {
        private let descriptor: FileDescriptor

        init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

        /// Writes a secret, which fits into every empty pipe or socket, without waiting. Returns
        /// whether that succeeded.
        func write(_ secret: SecretValue) -> Bool {
            secret.withBytes { bytes in
                FileDescriptor.writeNow(bytes, to: descriptor.number)
            }
        }
    }
}
