// SPDX-License-Identifier: Apache-2.0

// Reads the arguments of a C caller: checks and copies them before the call goes on. No other file
// of the module reads the caller's memory.

internal import ValetCInterfaceHeader
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSealing
internal import ValetSystem

enum Argument {
    /// The largest text or value: 16 MiB, as much as an item can have.
    static let maximumByteCount = 16 << 20
    /// The largest structure, which is far more than any version of the library has.
    private static let maximumStructureByteCount = 4096

    /// The bytes at `start`, which the caller keeps during the call.
    static func bytes(
        _ start: UnsafeRawPointer?, _ byteCount: Int, _ name: String
    ) throws(KeychainFailure) -> UnsafeBufferPointer<UInt8> {
        // A size_t beyond half of the address space is negative here.
        guard byteCount >= 0, byteCount <= maximumByteCount else {
            throw KeychainFailure(
                .valueTooLarge, during: "make the call",
                message: "\(name) is larger than 16 MiB")
        }
        guard byteCount > 0 else { return unsafe UnsafeBufferPointer(start: nil, count: 0) }
        guard let start = unsafe start else { throw .invalid("\(name) is NULL") }
        return unsafe UnsafeBufferPointer(
            start: start.assumingMemoryBound(to: UInt8.self), count: byteCount)
    }

    /// The text at `start`; any UTF-8, also with U+0000.
    static func text(
        _ start: UnsafePointer<CChar>?, _ byteCount: Int, _ name: String
    ) throws(KeychainFailure) -> String {
        guard byteCount >= 0, byteCount <= maximumByteCount else {
            throw .invalid("\(name) is longer than 16 MiB")
        }
        let bytes = try unsafe bytes(start, byteCount, name)
        guard let text = unsafe String(utf8: bytes) else { throw .invalid("\(name) is not UTF-8") }
        return text
    }

    static func key(
        _ start: UnsafePointer<CChar>?, _ byteCount: Int
    ) throws(KeychainFailure) -> String {
        let key = try unsafe text(start, byteCount, "the key")
        guard !key.isEmpty else { throw .argument(.emptyKey) }
        return key
    }

    /// A copy of the value at `start`, in guarded memory.
    static func value(
        _ start: UnsafeRawPointer?, _ byteCount: Int
    ) throws(KeychainFailure) -> SecretValue {
        let bytes = try unsafe bytes(start, byteCount, "the value")
        guard byteCount > 0 else { throw .argument(.emptyValue) }
        guard SpareMemory.canStore(byteCount: byteCount) else {
            throw KeychainFailure(.outOfMemory, during: "store a value")
        }
        return unsafe SecretValue(copying: bytes.span)
    }

    /// A structure whose first field is its size. A newer program's structure may be larger, if all
    /// bytes after the fields that this version knows are 0.
    static func structure<Structure: BitwiseCopyable>(
        _ pointer: UnsafePointer<Structure>?, _ name: String
    ) throws(KeychainFailure) -> Structure {
        guard let start = unsafe UnsafeRawPointer(pointer) else {
            throw .invalid("\(name) is NULL")
        }
        return try unsafe structure(at: start, start.loadUnaligned(as: Int.self), name)
    }

    /// The structures of an array, which are `size` bytes apart; a `size` of 0 stands for the size
    /// that this version knows. Newer programs' structures may be larger, as in
    /// ``structure(_:_:)``.
    static func structures<Structure: BitwiseCopyable>(
        _ first: UnsafePointer<Structure>, _ count: Int, size: Int, _ name: String
    ) throws(KeychainFailure) -> [Structure] {
        let start = unsafe UnsafeRawPointer(first)
        let size = size == 0 ? MemoryLayout<Structure>.stride : size
        var found: [Structure] = []
        for index in 0..<count {
            // Reading the first structure checks that `size` is small.
            let offset = index &* size
            found.append(try unsafe structure(at: start + offset, size, name))
        }
        return found
    }

    private static func structure<Structure: BitwiseCopyable>(
        at start: UnsafeRawPointer, _ size: Int, _ name: String
    ) throws(KeychainFailure) -> Structure {
        let known = MemoryLayout<Structure>.stride
        guard size >= known, size <= maximumStructureByteCount else {
            throw .invalid(
                "the size of \(name) is wrong", hint: "set its size to that of the whole structure")
        }
        let rest = unsafe UnsafeRawBufferPointer(start: start + known, count: size - known)
        guard unsafe rest.allSatisfy({ $0 == 0 }) else {
            throw KeychainFailure(
                .invalidRequest, during: "make the call",
                message: "\(name) asks for something that this version does not know",
                hint: "use a newer libvalet")
        }
        return unsafe start.loadUnaligned(as: Structure.self)
    }

    static func flag(_ value: Int32, _ name: String) throws(KeychainFailure) -> Bool {
        guard value == 0 || value == 1 else { throw .invalid("\(name) is neither 0 nor 1") }
        return value == 1
    }

    static func output<Value>(
        _ pointer: UnsafeMutablePointer<Value>?, _ name: String
    ) throws(KeychainFailure) -> UnsafeMutablePointer<Value> {
        guard let pointer = unsafe pointer else { throw .invalid("\(name) is NULL") }
        return unsafe pointer
    }
}

/// How a call may ask, and how long it may take.
struct CallOptions {
    private(set) var mayAsk = false
    /// nil for the usual deadlines.
    private(set) var deadline: Deadline?
    /// The reason shown to the user; nil for none.
    private(set) var prompt: String?

    init(_ pointer: UnsafePointer<valet_options>?) throws(KeychainFailure) {
        guard unsafe pointer != nil else { return }
        let options = try unsafe Argument.structure(pointer, "the options")
        guard unsafe options.flags & ~UInt32(VALET_MAY_ASK) == 0 else {
            throw .invalid("the options have unknown flags", hint: "use a newer libvalet")
        }
        mayAsk = unsafe options.flags & UInt32(VALET_MAY_ASK) != 0
        let limit = unsafe options.deadline_ms
        if limit > 0 { deadline = Deadline(after: .milliseconds(limit)) }
        let text = try unsafe Argument.text(options.prompt, options.prompt_length, "the prompt")
        if !text.isEmpty { prompt = text }
    }
}

extension ValetIdentity {
    init(_ pointer: UnsafePointer<valet_description>?) throws(KeychainFailure) {
        let given = try unsafe Argument.structure(pointer, "the description")
        let identifier = try unsafe Argument.text(
            given.identifier, given.identifier_length, "the identifier")
        let name = try unsafe Argument.text(given.group, given.group_length, "the group")
        let prefix = try unsafe Argument.text(
            given.group_prefix, given.group_prefix_length, "the group's prefix")
        guard !name.isEmpty || prefix.isEmpty else {
            throw .invalid("the prefix of a group is given without the group")
        }
        let isExplicit = try unsafe Argument.flag(given.explicitly_set, "explicitly_set")
        let names = Names(
            identifier: identifier.isEmpty ? nil : identifier,
            group: name.isEmpty ? nil : try Group(anyPrefix: prefix, name), isExplicit: isExplicit)
        guard names.identifier != nil || names.group != nil else {
            throw .invalid("the valet has no identifier and no group")
        }
        guard !isExplicit || names.identifier == nil || names.group == nil else {
            throw .invalid("an explicitly set valet has an identifier or a group, not both")
        }
        self = try unsafe Self.made(names, given)
    }

    private struct Names {
        let identifier: String?
        let group: Group?
        let isExplicit: Bool
    }

    private static func made(
        _ names: Names, _ given: valet_description
    ) throws(KeychainFailure) -> ValetIdentity {
        switch unsafe Int(given.kind) {
        case VALET_KIND_LOCAL, VALET_KIND_CLOUD:
            guard unsafe given.access_control == 0 else {
                throw .invalid("this kind of valet has no access control")
            }
            let identity = ValetIdentity(
                identifier: names.identifier, group: names.group, isExplicit: names.isExplicit,
                accessibility: try unsafe ProtectionClass(accessibility: given.accessibility))
            guard unsafe Int(given.kind) == VALET_KIND_CLOUD else { return identity }
            guard !identity.accessibility.isThisDeviceOnly else {
                throw .invalid("the accessibility is for one device only")
            }
            return identity.synchronized
        case VALET_KIND_SECURE_ENCLAVE, VALET_KIND_SINGLE_PROMPT:
            guard unsafe given.accessibility == 0, !names.isExplicit,
                let demand = unsafe EnclaveDemand(rawValue: Int(given.access_control))
            else {
                throw .invalid(
                    "this kind of valet has an access control, and neither an accessibility nor "
                        + "an explicitly set name")
            }
            return unsafe ValetIdentity(
                identifier: names.identifier, group: names.group, enclave: demand,
                asksOnce: Int(given.kind) == VALET_KIND_SINGLE_PROMPT)
        default: throw .invalid("there is no such kind of valet")
        }
    }
}

extension ValetIdentity.Group {
    /// The group with that prefix; without one, this application's group whose name is some prefix,
    /// a dot and `name`, as early versions of the Objective-C interface found groups.
    fileprivate init(anyPrefix prefix: String, _ name: String) throws(KeychainFailure) {
        guard prefix.isEmpty else {
            self.init(prefix: prefix, name)
            return
        }
        let caller = try KeychainSession.current().caller
        let groups = caller.accessGroups.map { ValetIdentity.Group($0) }
        // Byte by byte: texts that look alike may be two groups.
        guard
            let found = groups.first(where: {
                $0.accessGroup.rawValue != $0.nameWithoutPrefix
                    && $0.nameWithoutPrefix.utf8.elementsEqual(name.utf8)
            })
        else {
            throw KeychainFailure(
                .missingEntitlement, during: "open a valet",
                message: "the application has no access group of that name")
        }
        self = found
    }
}

extension ProtectionClass {
    /// The class that a constant such as `VALET_WHEN_UNLOCKED` stands for.
    init(accessibility: Int32) throws(KeychainFailure) {
        switch Int(accessibility) {
        case VALET_WHEN_UNLOCKED: self = .whenUnlocked
        case VALET_AFTER_FIRST_UNLOCK: self = .afterFirstUnlock
        case VALET_ALWAYS: self = .always
        case VALET_WHEN_PASSCODE_SET_THIS_DEVICE_ONLY: self = .whenPasscodeSetThisDeviceOnly
        case VALET_WHEN_UNLOCKED_THIS_DEVICE_ONLY: self = .whenUnlockedThisDeviceOnly
        case VALET_AFTER_FIRST_UNLOCK_THIS_DEVICE_ONLY: self = .afterFirstUnlockThisDeviceOnly
        case VALET_ALWAYS_THIS_DEVICE_ONLY: self = .alwaysThisDeviceOnly
        default: throw .invalid("there is no such accessibility")
        }
    }
}
