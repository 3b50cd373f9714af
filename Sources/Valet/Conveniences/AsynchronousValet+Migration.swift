// SPDX-License-Identifier: Apache-2.0

@available(macOS 10.15, iOS 13, tvOS 13, watchOS 6, *)
extension AsynchronousValet {
    /// ``Valet/Valet/migrateObjects(matching:compactMap:)``; the closure is called on the thread
    /// that makes the call.
    public func migrateObjects(
        matching query: sending [String: AnyHashable],
        compactMap:
            @escaping @Sendable (
                MigratableKeyValuePair<AnyHashable>
            ) throws -> MigratableKeyValuePair<String>?
    ) async throws {
        let (valet, sent) = (valet, SentQuery(query))
        try await Call.untypedWriting {
            try valet.migrateObjects(matching: sent.query, compactMap: compactMap)
        }
    }

    /// ``Valet/Valet/migrateObjects(matching:removeOnCompletion:)``
    public func migrateObjects(
        matching query: sending [String: AnyHashable], removeOnCompletion: Bool
    ) async throws {
        let (valet, sent) = (valet, SentQuery(query))
        try await Call.untypedWriting {
            try valet.migrateObjects(matching: sent.query, removeOnCompletion: removeOnCompletion)
        }
    }

    /// ``Valet/Valet/migrateObjects(from:compactMap:)``; the closure is called on the thread that
    /// makes the call.
    public func migrateObjects(
        from other: Valet,
        compactMap:
            @escaping @Sendable (
                MigratableKeyValuePair<AnyHashable>
            ) throws -> MigratableKeyValuePair<String>?
    ) async throws {
        let valet = valet
        try await Call.untypedWriting {
            try valet.migrateObjects(from: other, compactMap: compactMap)
        }
    }

    /// ``Valet/Valet/migrateObjects(from:removeOnCompletion:)``
    public func migrateObjects(from other: Valet, removeOnCompletion: Bool) async throws {
        let valet = valet
        try await Call.untypedWriting {
            try valet.migrateObjects(from: other, removeOnCompletion: removeOnCompletion)
        }
    }

    /// ``Valet/Valet/migrateObjectsFromAlwaysAccessibleValet(removeOnCompletion:)``
    public func migrateObjectsFromAlwaysAccessibleValet(removeOnCompletion: Bool) async throws {
        let valet = valet
        try await Call.untypedWriting {
            try valet.migrateObjectsFromAlwaysAccessibleValet(
                removeOnCompletion: removeOnCompletion)
        }
    }

    /// ``Valet/Valet/migrateObjectsFromAlwaysAccessibleThisDeviceOnlyValet(removeOnCompletion:)``
    public func migrateObjectsFromAlwaysAccessibleThisDeviceOnlyValet(
        removeOnCompletion: Bool
    ) async throws {
        let valet = valet
        try await Call.untypedWriting {
            try valet.migrateObjectsFromAlwaysAccessibleThisDeviceOnlyValet(
                removeOnCompletion: removeOnCompletion)
        }
    }
}
