// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing
internal import ValetSystem

// Reads and writes the structures of the Secret Service specification in messages.

extension BusMessage {
    /// More attributes than an item can have, so that too many are noticed.
    static let maximalAttributeCount = 128
    /// More objects than a client asks for at once.
    static let maximalPathCount = 10_000

    func attributes() -> [String: String]? { dictionary(atMost: Self.maximalAttributeCount) }

    func paths() -> [String]? { texts("o", atMost: Self.maximalPathCount) }

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

    /// The properties of a new object: those of type `s` by their full names, and the one of type
    /// `a{ss}`.
    func newProperties() -> (texts: [String: String], attributes: [String: String])? {
        var (texts, attributes): ([String: String], [String: String]?) = ([:], [:])
        let isRead = inside("a", "{sv}") {
            while inside(
                "e", "sv",
                {
                    guard let name = text() else { return }
                    if inside("v", "s", { texts[name] = text() }) { return }
                    if inside("v", "a{ss}", { attributes = self.attributes() }) { return }
                    _ = skip("v")
                })
            {}
        }
        return isRead ? attributes.map { (texts, $0) } : nil
    }
}
