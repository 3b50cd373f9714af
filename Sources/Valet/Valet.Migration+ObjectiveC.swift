// SPDX-License-Identifier: Apache-2.0

#if canImport(ObjectiveC)
    internal import Foundation

    /// Migrations under their Objective-C names.
    @available(swift, obsoleted: 1.0)
    extension Valet {
        /// See ``migrateObjects(matching:removeOnCompletion:)``.
        @objc(migrateObjectsMatching:removeOnCompletion:error:)
        public func objectiveCMigrateObjects(
            matching query: [String: AnyHashable], removeOnCompletion: Bool
        ) throws {
            try migrateObjects(matching: query, removeOnCompletion: removeOnCompletion)
        }

        /// See ``migrateObjects(matching:compactMap:)``; `preventMigration` stops the migration
        /// with an error.
        @objc(migrateObjectsMatching:compactMap:error:)
        public func objectiveCMigrateObjects(
            matching query: [String: AnyHashable],
            compactMap: (MigratableKeyValuePairInput) -> MigratableKeyValuePairOutput?
        ) throws {
            try migrateObjects(matching: query) { pair in
                try compactMap(MigratableKeyValuePairInput(pair))?.pair()
            }
        }

        /// See ``migrateObjects(from:removeOnCompletion:)``.
        @objc(migrateObjectsFrom:removeOnCompletion:error:)
        public func objectiveCMigrateObjects(
            from valet: Valet, removeOnCompletion: Bool
        ) throws {
            try migrateObjects(from: valet, removeOnCompletion: removeOnCompletion)
        }

        /// See ``migrateObjects(from:compactMap:)``; `preventMigration` stops the migration with
        /// an error.
        @objc(migrateObjectsFrom:compactMap:error:)
        public func objectiveCMigrateObjects(
            from valet: Valet,
            compactMap: (MigratableKeyValuePairInput) -> MigratableKeyValuePairOutput?
        ) throws {
            try migrateObjects(from: valet) { pair in
                try compactMap(MigratableKeyValuePairInput(pair))?.pair()
            }
        }
    }
#endif
