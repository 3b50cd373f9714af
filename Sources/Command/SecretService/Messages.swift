// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

// Reads and writes the structures of the Secret Service specification in messages.

extension BusMessage {
    /// More attributes than an item can have, so that too many are noticed.
    static let maximalAttributeCount = 128
    /// The most bytes of a name of the bus. To compare longer texts with names may take long.
    static let maximalNameByteCount = 255
    /// More objects than a client asks for at once.
    static let maximalPathCount = 10_000
    /// More parts than a call can have, so that nobody counts more.
    static let maximalPartCount = 20_000

    /// nil for more than an item can have, in bytes too.
    func attributes() -> [LookupName: String]? {
        pairs(
            atMost: Self.maximalAttributeCount, byteCount: LookupAttributes.maximalByteCount
        ).flatMap { [LookupName: String](pairs: $0) }
    }

    /// Each path once, in the order of the first ones: an answer to one is an answer to all.
    func paths() -> [String]? {
        var known: Set<String> = []
        return texts("o", atMost: Self.maximalPathCount)?.filter { known.insert($0).inserted }
    }

    /// A secret. The message is wiped when it is dropped.
    func secret() -> TravellingSecret? {
        setSensitive()
        var secret: TravellingSecret?
        let isRead = inside("r", TravellingSecret.signature) {
            guard let session = text("o"),
                let parameters = withBytes({ bytes in
                    bytes.count <= TravellingSecret.maximalParameterByteCount
                        ? bytes.indices.map { bytes[$0] } : nil
                }), let parameters,
                let bytes = withBytes({ bytes in
                    bytes.count <= TravellingSecret.maximalByteCount
                        ? SecretValue(copying: bytes) : nil
                }), let bytes, let type = text()
            else { return }
            secret = TravellingSecret(session, parameters, bytes, type)
        }
        return isRead ? secret : nil
    }

    /// Writes a secret, but leaves out its bytes: ``fill(_:)`` adds them when the message has its
    /// final place in memory. sd-bus moves a message that grows, and wipes its last place only.
    func write(_ secret: TravellingSecret) {
        setSensitive()
        write("r", of: TravellingSecret.signature) {
            write(secret.session, as: "o")
            write(secret.parameters.span)
            write(byteCount: secret.bytes.byteCount)
            write(secret.contentType)
        }
    }

    /// Adds the bytes of a secret that was written.
    ///
    /// - Returns: false if it is not the next part of the message.
    func fill(_ secret: TravellingSecret) -> Bool {
        var isFilled = false
        let isRead = inside("r", TravellingSecret.signature) {
            guard text("o") != nil, withBytes({ _ in }) != nil else { return }
            isFilled = secret.bytes.withBytes { fill(with: $0) }
            _ = text()
        }
        return isRead && isFilled
    }

    /// The properties of a new object of that interface; nil for what such an object has not, and
    /// for values of other types.
    func newProperties(of interface: Interface) -> NewProperties? {
        var (properties, areKnown) = (NewProperties(), true)
        let isRead = inside("a", "{sv}") {
            while areKnown,
                inside(
                    "e", "sv",
                    {
                        let name = text(atMost: Self.maximalNameByteCount) ?? ""
                        let value = newValue()
                        areKnown = value.map { properties.set(name, of: interface, $0) } ?? false
                    })
            {}
        }
        return isRead && areKnown ? properties : nil
    }

    private func newValue() -> PropertyValue? {
        var value: PropertyValue?
        if inside("v", "s", { value = text().map(PropertyValue.text) }) { return value }
        let isRead = inside("v", "a{ss}") { value = attributes().map(PropertyValue.attributes) }
        return isRead ? value : nil
    }
}

/// The properties of a collection or an item that is made.
struct NewProperties: Equatable {
    private(set) var label = ""
    private var lookup: [LookupName: String] = [:]
    /// What older drafts of the specification have in place of the attribute `xdg:schema`.
    private var type: String?

    /// The attributes of an item.
    var attributes: [LookupName: String] {
        guard let type, lookup[LookupAttributes.schema] == nil else { return lookup }
        return lookup.merging([LookupAttributes.schema: type]) { $1 }
    }

    /// - Parameter name: The full name of the property.
    /// - Returns: False for a property that such an object has not, or that is of another type, or
    ///   that programs cannot choose.
    mutating func set(
        _ name: String, of interface: Interface, _ value: PropertyValue
    ) -> Bool {
        let prefix = interface.rawValue + "."
        guard name.hasPrefix(prefix) else { return false }
        switch (interface, name.dropFirst(prefix.count), value) {
        case (_, "Label", .text(let label)): self.label = label
        case (.item, "Attributes", .attributes(let lookup)): self.lookup = lookup
        case (.item, "Type", .text(let type)): self.type = type
        default: return false
        }
        return true
    }
}
