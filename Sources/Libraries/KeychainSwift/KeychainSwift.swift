// SPDX-License-Identifier: Apache-2.0

// `KeychainSwift` stores text, bytes and Booleans by key, and reports result codes. This class
// calls its throwing form, `KeychainSwift.Throwing`, and keeps the code of its error.

public import Foundation
internal import ValetKeychainModel

/// An application's keychain: text, bytes and Booleans by key.
///
/// Items are generic passwords with the key as account and no service. Reading prefers such items;
/// without one it reads an item of other software with that account, whatever its service. Deleting
/// and ``clear()`` delete all of them. So keys are shared with all software that stores passwords
/// in the same access groups.
///
/// Methods return nil or false when they fail, and ``lastResultCode`` gives the reason. Another
/// thread's call overwrites it: use ``throwing`` for errors of one call. All methods may be called
/// from several threads and processes at once. A subclass that overrides `set` for `Data`, or
/// ``getData(_:asReference:)``, also handles text and Booleans.
// Sendable because the lock guards all that changes; subclasses have to declare it for theirs.
open class KeychainSwift: @unchecked Sendable {
    private struct State {
        var lastResultCode: OSStatus = noErr
        var accessGroup: String?
        var synchronizable = false
        var keychain: any PasswordKeychain = Platform.keychain
    }

    private let lock = NSLock()
    private var state = State()
    let keyPrefix: String

    /// A keychain whose keys are stored as they are.
    public init() {
        keyPrefix = ""
    }

    /// A keychain whose keys are stored with `keyPrefix` before them. ``clear()`` ignores it.
    public init(keyPrefix: String) {
        self.keyPrefix = keyPrefix
    }

    /// The code of the last operation on any thread: `noErr` if it succeeded.
    open var lastResultCode: OSStatus {
        get { lock.withLock { state.lastResultCode } }
        set { lock.withLock { state.lastResultCode = newValue } }
    }

    /// The access group of the items. With nil, calls use every group of the application, and new
    /// items go to its default group.
    open var accessGroup: String? {
        get { lock.withLock { state.accessGroup } }
        set { lock.withLock { state.accessGroup = newValue } }
    }

    /// Whether new items are synchronized with other devices, and whether reading and deleting find
    /// synchronized items beside local ones. iCloud synchronizes them on Apple's systems. On Linux,
    /// the devices of a circle share them, and `valet sync create` founds a circle; without one,
    /// they stay on this machine.
    open var synchronizable: Bool {
        get { lock.withLock { state.synchronizable } }
        set { lock.withLock { state.synchronizable = newValue } }
    }

    final var keychain: any PasswordKeychain {
        get { lock.withLock { state.keychain } }
        set { lock.withLock { state.keychain = newValue } }
    }

    /// Stores the UTF-8 of `value` under `key` and replaces what was stored there. The text may be
    /// empty.
    ///
    /// - Parameter access: When it may be read; nil means while the keychain is unlocked. Replaces
    ///   the access of an existing item.
    /// - Returns: Whether it is stored: on disk, and visible to every program. At every moment
    ///   either the old value or the new one exists.
    @discardableResult
    open func set(
        _ value: String, forKey key: String, withAccess access: KeychainSwiftAccessOptions? = nil
    ) -> Bool {
        set(Data(value.utf8), forKey: key, withAccess: access)
    }

    /// Stores `value` under `key` and replaces what was stored there.
    ///
    /// - Parameter access: When it may be read; nil means while the keychain is unlocked. Replaces
    ///   the access of an existing item.
    /// - Returns: Whether it is stored.
    @discardableResult
    open func set(
        _ value: Data, forKey key: String, withAccess access: KeychainSwiftAccessOptions? = nil
    ) -> Bool {
        let done: Void? = noting { () throws(KeychainFailure) in
            try throwing.set(value, forKey: key, withAccess: access)
        }
        return done != nil
    }

    /// Stores `value` under `key` as one byte, 1 or 0, and replaces what was stored there.
    ///
    /// - Parameter access: When it may be read; nil means while the keychain is unlocked. Replaces
    ///   the access of an existing item.
    /// - Returns: Whether it is stored.
    @discardableResult
    open func set(
        _ value: Bool, forKey key: String, withAccess access: KeychainSwiftAccessOptions? = nil
    ) -> Bool {
        set(Data([value ? 1 : 0]), forKey: key, withAccess: access)
    }

    /// Returns the text that is stored under `key`; nil if nothing is stored or the keychain fails.
    ///
    /// If the stored bytes are not UTF-8, returns nil and sets ``lastResultCode`` to -67853
    /// (`errSecInvalidEncoding`).
    open func get(_ key: String) -> String? {
        guard let data = getData(key) else { return nil }
        return noting { () throws(KeychainFailure) in try Throwing.text(data) }
    }

    /// Returns the bytes that are stored under `key`; nil if nothing is stored or the keychain
    /// fails.
    ///
    /// - Parameter asReference: Whether to return the item's persistent reference in place of its
    ///   value. The reference names the item until it is deleted.
    open func getData(_ key: String, asReference: Bool = false) -> Data? {
        noting { () throws(KeychainFailure) in
            try throwing.getData(key, asReference: asReference)
        }
    }

    /// Returns the Boolean that is stored under `key`: whether the first byte is 1; nil if nothing
    /// is stored or the keychain fails.
    ///
    /// If the value is empty, returns nil and sets ``lastResultCode`` to -67853
    /// (`errSecInvalidEncoding`).
    open func getBool(_ key: String) -> Bool? {
        guard let data = getData(key) else { return nil }
        return noting { () throws(KeychainFailure) in try Throwing.bool(data) }
    }

    /// Deletes what is stored under `key`.
    ///
    /// - Returns: Whether it was deleted. If nothing was stored, ``lastResultCode`` is
    ///   `errSecItemNotFound`.
    @discardableResult
    open func delete(_ key: String) -> Bool {
        noting { () throws(KeychainFailure) in try throwing.delete(key) } != nil
    }

    /// All keys as they are stored, with the prefix, each once and sorted.
    ///
    /// Empty if there are none, and if they cannot be read; ``Throwing/allKeys()`` throws the
    /// reason. Does not change ``lastResultCode``.
    public var allKeys: [String] { (try? throwing.allKeys()) ?? [] }

    /// Deletes every generic password in the access group, or in all groups of the application if
    /// none is set: whatever its prefix, including those of other software.
    ///
    /// - Returns: Whether anything was deleted. If not, ``lastResultCode`` gives the reason.
    @discardableResult
    open func clear() -> Bool {
        noting { () throws(KeychainFailure) in try throwing.clear() } != nil
    }

    /// The same methods in a form that throws. They do not change ``lastResultCode``.
    ///
    /// They use the prefix, ``accessGroup`` and ``synchronizable`` as they are when this property
    /// is read. They do not call methods that a subclass overrides.
    public final var throwing: Throwing {
        Throwing(
            keyPrefix: keyPrefix, accessGroup: accessGroup, synchronizable: synchronizable,
            keychain: keychain)
    }

    private func noting<R>(_ body: () throws(KeychainFailure) -> R) -> R? {
        do {
            let result = try body()
            lastResultCode = noErr
            return result
        } catch {
            lastResultCode = error.status
            return nil
        }
    }
}
