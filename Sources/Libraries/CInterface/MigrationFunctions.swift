// SPDX-License-Identifier: Apache-2.0

// `valet_migrate`: reads the caller's query, and calls the caller's function for each item.

package import ValetCInterfaceHeader
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSealing

@c @implementation
package func valet_migrate(
    _ valet: valet_t?, _ migration: UnsafePointer<valet_migration>?,
    _ options: UnsafePointer<valet_options>?
) -> valet_status {
    call { () throws(KeychainFailure) in
        let valet = try unsafe Handles.valets.object(valet)
        let options = try unsafe CallOptions(options)
        let given = try unsafe Argument.structure(migration, "the migration")
        let removing = try unsafe Argument.flag(given.remove_on_completion, "remove_on_completion")
        let source = try unsafe MigrationSource(given)
        guard let map = unsafe given.map else {
            return try valet.migrate(
                source, removing: removing, options, MigrationPlan<StoredItem>.keep)
        }
        let function = unsafe PairFunction(map: map, context: given.context)
        try valet.migrate(source, removing: removing, options) {
            (item, value) throws(KeychainFailure) in
            try unsafe function.transformed(item, value)
        }
    }
}

extension MigrationSource {
    fileprivate init(_ given: valet_migration) throws(KeychainFailure) {
        let count = unsafe given.attribute_count
        let sources = unsafe [given.from != nil, given.attributes != nil, given.retired != 0]
        guard sources.count(where: \.self) == 1, count == 0 || sources[1] else {
            throw .invalid("a migration has exactly one source: from, attributes or retired")
        }
        if let from = unsafe given.from {
            self = .valet(try unsafe Handles.valets.object(from))
        } else if unsafe given.retired != 0 {
            let protectionClass = try unsafe ProtectionClass(accessibility: given.retired)
            guard protectionClass.isRetired else {
                throw .invalid("the accessibility is not a retired one")
            }
            self = .retired(protectionClass)
        } else {
            // Of the three sources only this one is left. A negative count is a huge size_t.
            guard count >= 0, count <= 64, let attributes = unsafe given.attributes else {
                throw .invalid("there are more than 64 attributes")
            }
            guard count > 0 else { throw .migration(.invalidMigrationQuery) }
            let structures = try unsafe Argument.structures(
                attributes, count, size: given.attribute_size, "an attribute")
            let entries = try unsafe structures.map { (structure) throws(KeychainFailure) in
                let name = try unsafe Argument.text(
                    structure.name, structure.name_length, "an attribute's name")
                return (name: name, input: try unsafe AttributeInput(structure))
            }
            self = .query(try ItemQuery(entries))
        }
    }
}

extension AttributeInput {
    fileprivate init(_ given: valet_attribute) throws(KeychainFailure) {
        let (start, byteCount) = unsafe (given.value, given.value_length)
        switch unsafe Int(given.type) {
        case VALET_VALUE_TEXT:
            let text = unsafe start?.assumingMemoryBound(to: CChar.self)
            self = .text(try unsafe Argument.text(text, byteCount, "an attribute"))
        case VALET_VALUE_BYTES:
            self = unsafe .bytes(Array(try Argument.bytes(start, byteCount, "an attribute")))
        case VALET_VALUE_NUMBER: self = unsafe .number(given.number)
        default: throw .invalid("there is no such type of an attribute")
        }
    }
}

@unsafe private struct PairFunction {
    let map: @convention(c) (UnsafeMutableRawPointer?, UnsafeMutablePointer<valet_pair>?) -> Int32
    let context: UnsafeMutableRawPointer?

    /// The pair to store; nil to leave the item out.
    func transformed(
        _ item: StoredItem, _ value: SecretValue
    ) throws(KeychainFailure) -> (key: String, value: SecretValue)? {
        let account = item.attributes[.account] ?? .text("")
        var bytes: [UInt8] =
            switch account {
            case .text(let text): Array(text.utf8)
            case .bytes(let bytes), .accessControl(let bytes): bytes
            case .number, .date: []
            }
        // For callers that take the key for a C string.
        bytes.append(0)
        let result = unsafe bytes.withUnsafeBytes { key in
            value.withBytes { (span: Span<UInt8>) in
                unsafe span.withUnsafeBytes { buffer in
                    var pair = unsafe Self.pair(account, key, buffer)
                    return Result { () throws(KeychainFailure) in
                        try unsafe answer(&pair, value, at: buffer)
                    }
                }
            }
        }
        return try result.get()
    }

    private static func pair(
        _ account: AttributeValue, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
    ) -> valet_pair {
        var pair = unsafe valet_pair()
        unsafe pair.size = MemoryLayout<valet_pair>.stride
        let name: StaticString = "acct"
        unsafe pair.key.name = UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
        unsafe pair.key.name_length = name.utf8CodeUnitCount
        unsafe pair.key.value = key.baseAddress
        unsafe pair.key.value_length = key.count - 1
        switch account {
        case .text: unsafe pair.key.type = Int32(VALET_VALUE_TEXT)
        case .number(let number):
            unsafe pair.key.type = Int32(VALET_VALUE_NUMBER)
            unsafe pair.key.number = number
        case .bytes, .accessControl, .date: unsafe pair.key.type = Int32(VALET_VALUE_BYTES)
        }
        unsafe pair.value = value.baseAddress
        unsafe pair.value_length = value.count
        return unsafe pair
    }

    private func answer(
        _ pair: inout valet_pair, _ value: SecretValue, at buffer: UnsafeRawBufferPointer
    ) throws(KeychainFailure) -> (key: String, value: SecretValue)? {
        switch unsafe Int(map(context, &pair)) {
        case VALET_PAIR_KEEP: break
        case VALET_PAIR_SKIP: return nil
        case VALET_PAIR_STOP:
            throw KeychainFailure(
                .userCancelled, during: "migrate items",
                message: "the program's function ended the migration")
        default: throw .argument(.noAnswer)
        }
        guard case .text(let key) = try unsafe AttributeInput(pair.key) else {
            throw .migration(.migratedKeyInvalid)
        }
        let isSame = unsafe pair.value == buffer.baseAddress && pair.value_length == buffer.count
        guard !isSame else { return (key, value) }
        guard unsafe pair.value_length != 0 else { throw .migration(.migratedValueInvalid) }
        return (key, try unsafe Argument.value(pair.value, pair.value_length))
    }
}
