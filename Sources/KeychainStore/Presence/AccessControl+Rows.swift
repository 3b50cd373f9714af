// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
package import ValetKeychainModel

extension AccessControl {
    /// The pair of keys to which values of such items are sealed; nil for items that need nobody.
    /// docs/FORMAT.md §5.4.
    var presencePair: PresencePair? {
        if demand.isNothing { return nil }
        return demand.needsPasscode ? .passcode : .person
    }

    /// The attribute of an item that has it.
    var attributeValue: AttributeValue { .accessControl(encoded) }
}

extension ItemContent {
    /// The access control; nil for an item without one.
    ///
    /// - Throws: ``RowFailure/content`` for bytes that are none.
    var accessControl: AccessControl? {
        get throws(RowFailure) {
            guard let value = attributes[.accessControl] else { return nil }
            guard case .accessControl(let bytes) = value,
                let accessControl = AccessControl(encoded: bytes)
            else { throw .content }
            return accessControl
        }
    }

    /// Checks that a row says of its item what the item's access control says.
    ///
    /// - Throws: ``RowFailure/content``.
    func checkAccessControl(_ header: RowHeader) throws(RowFailure) {
        guard let accessControl = try accessControl else {
            guard !header.flags.isGuarded else { throw .content }
            return
        }
        guard accessControl.protectionClass == header.protectionClass,
            accessControl.presencePair == header.flags.presence,
            accessControl.takesPassword == header.flags.contains(.password)
        else { throw .content }
    }
}

extension StoredItem {
    /// The access control; nil for an item without one, and where attributes were not asked for.
    package var accessControl: AccessControl? {
        guard case .accessControl(let bytes)? = attributes[.accessControl] else { return nil }
        return AccessControl(encoded: bytes)
    }
}
