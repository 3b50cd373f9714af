// SPDX-License-Identifier: Apache-2.0

// `KeychainSwift` keeps text, bytes and Booleans by key, and answers with result codes.

public import Foundation
internal import ValetKeychainModel

/// A keychain of an application: text, bytes and Booleans by key.
///
/// Items are generic passwords with the key as account. What is stored has no service; reading
/// prefers such items and else finds those of other software, whatever their service; deleting and
/// ``clear()`` delete them all. So keys are shared with everything that keeps passwords in the same
/// access groups.
///
/// Methods answer with nil or false when they fail, and ``lastResultCode`` says why. For reasons
/// that are not lost when others call meanwhile use ``throwing``. All may be called from every
/// thread and process at once. A subclass that overrides `set` for `Data`, or
/// ``getData(_:asReference:)``, sees texts and Booleans, too.
// Sendable because all that changes is behind the lock; subclasses have to say so for theirs.
open class KeychainSwift: @unchecked Sendable {
    private struct State {
        var lastResultCode: OSStatus = noErr
        var accessGroup: String?
        var synchronizable = false
        var keychain: any PasswordKeychain = Platform.keychain
    }

    private let lock = NSLock()
    private var state = State()
    /// What stands before every key.
    let keyPrefix: String

    /// A keychain whose keys are stored as they are.
    public init() {
        keyPrefix = ""
    }

    /// A keychain whose keys are stored with `keyPrefix` before them. ``clear()`` ignores it.
    public init(keyPrefix: String) {
        self.keyPrefix = keyPrefix
    }

    /// The code of the last operation, on whatever thread: `noErr` when it worked.
    open var lastResultCode: OSStatus {
        get { lock.withLock { state.lastResultCode } }
        set { lock.withLock { state.lastResultCode = newValue } }
    }

    /// The access group of the items; nil for every group of the application. New items go to the
    /// application's default group then.
    open var accessGroup: String? {
        get { lock.withLock { state.accessGroup } }
        set { lock.withLock { state.accessGroup = newValue } }
    }

    /// Whether items are stored to be synchronized with other devices. iCloud does so on Apple's
    /// systems; on Linux nothing sends them yet. If so, what reads and deletes finds synchronizable
    /// items and local ones; else only local ones.
    open var synchronizable: Bool {
        get { lock.withLock { state.synchronizable } }
        set { lock.withLock { state.synchronizable = newValue } }
    }

    /// The keychain that is asked.
    final var keychain: any PasswordKeychain {
        get { lock.withLock { state.keychain } }
        set { lock.withLock { state.keychain = newValue } }
    }

    /// Stores the UTF-8 of `value` under `key`, in place of what was there; empty text, too.
    ///
    /// - Parameter access: When it may be read; nil for when the keychain is unlocked. It replaces
    ///   that of an item which is there.
    /// - Returns: Whether it is stored: on disk, and readable by everybody at once. There is no
    ///   moment in between in which neither the old value nor the new is there.
    @discardableResult
    open func set(
        _ value: String, forKey key: String, withAccess access: KeychainSwiftAccessOptions? = nil
    ) -> Bool {
        set(Data(value.utf8), forKey: key, withAccess: access)
    }

    /// Stores `value` under `key`, in place of what was there.
    ///
    /// - Parameter access: As for text.
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

    /// Stores `value` under `key` as one byte, 1 or 0, in place of what was there.
    ///
    /// - Parameter access: As for text.
    /// - Returns: Whether it is stored.
    @discardableResult
    open func set(
        _ value: Bool, forKey key: String, withAccess access: KeychainSwiftAccessOptions? = nil
    ) -> Bool {
        set(Data([value ? 1 : 0]), forKey: key, withAccess: access)
    }

    /// The text that is stored under `key`.
    ///
    /// - Returns: nil if there is none, or if what is stored is not UTF-8: ``lastResultCode`` is
    ///   -67853 (`errSecInvalidEncoding`) then.
    open func get(_ key: String) -> String? {
        guard let data = getData(key) else { return nil }
        return noting { () throws(KeychainFailure) in try Throwing.text(data) }
    }

    /// The bytes that are stored under `key`.
    ///
    /// - Parameter asReference: Whether to return the item's persistent reference instead, which
    ///   names it until it is deleted.
    open func getData(_ key: String, asReference: Bool = false) -> Data? {
        noting { () throws(KeychainFailure) in
            try throwing.getData(key, asReference: asReference)
        }
    }

    /// The Boolean that is stored under `key`: whether its first byte is 1.
    ///
    /// - Returns: nil if nothing is stored, and if the value is empty: ``lastResultCode`` is
    ///   -67853 (`errSecInvalidEncoding`) then.
    open func getBool(_ key: String) -> Bool? {
        guard let data = getData(key) else { return nil }
        return noting { () throws(KeychainFailure) in try Throwing.bool(data) }
    }

    /// Deletes what is stored under `key`.
    ///
    /// - Returns: Whether anything was; if not, ``lastResultCode`` is `errSecItemNotFound`.
    @discardableResult
    open func delete(_ key: String) -> Bool {
        noting { () throws(KeychainFailure) in try throwing.delete(key) } != nil
    }

    /// All keys as they are stored, with the prefix, each once and sorted.
    ///
    /// Empty if there are none, and if they cannot be read: ``Throwing/allKeys()`` says why. This
    /// leaves ``lastResultCode`` alone.
    public var allKeys: [String] { (try? throwing.allKeys()) ?? [] }

    /// Deletes every generic password in the access group, or in those of the application: whatever
    /// its prefix, and those of other software.
    ///
    /// - Returns: Whether anything was deleted; if not, ``lastResultCode`` says why.
    @discardableResult
    open func clear() -> Bool {
        noting { () throws(KeychainFailure) in try throwing.clear() } != nil
    }

    /// The same methods, as they throw what goes wrong. ``lastResultCode`` is left alone.
    ///
    /// They have the prefix, the group and the flag of this moment; methods that a subclass
    /// overrides are not called.
    public final var throwing: Throwing {
        Throwing(
            keyPrefix: keyPrefix, accessGroup: accessGroup, synchronizable: synchronizable,
            keychain: keychain)
    }

    /// Does `body` and keeps its code.
    private func noting<R>(_ body: () throws(KeychainFailure) -> R) -> R? {
        do throws(KeychainFailure) {
            let result = try body()
            lastResultCode = noErr
            return result
        } catch {
            lastResultCode = error.status
            return nil
        }
    }
}
