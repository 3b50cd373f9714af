// SPDX-License-Identifier: Apache-2.0

// The functions of valet.h about the library and the keychain as a whole. The compiler checks each
// against the header, which documents it.

package import ValetCInterfaceHeader
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSystem

@c @implementation
package func valet_version(
    _ major: UnsafeMutablePointer<Int32>?, _ minor: UnsafeMutablePointer<Int32>?,
    _ patch: UnsafeMutablePointer<Int32>?
) -> valet_status {
    unsafe major?.pointee = Version.numbers.major
    unsafe minor?.pointee = Version.numbers.minor
    unsafe patch?.pointee = Version.numbers.patch
    return valet_status(VALET_OK)
}

@c @implementation
package func valet_configure(
    _ application: UnsafePointer<CChar>?, _ application_length: Int,
    _ groups: UnsafePointer<UnsafePointer<CChar>?>?, _ group_lengths: UnsafePointer<Int>?,
    _ group_count: Int
) -> valet_status {
    call { () throws(KeychainFailure) in
        let name = try unsafe Argument.text(application, application_length, "the application")
        guard group_count >= 0, group_count <= 1024 else { throw .invalid("too many groups") }
        var names: [String] = []
        for index in 0..<group_count {
            guard let groups = unsafe groups, let lengths = unsafe group_lengths else {
                throw .invalid("the groups are NULL")
            }
            names.append(try unsafe Argument.text(groups[index], lengths[index], "a group"))
        }
        try ValetKeychain.configure(applicationIdentifier: name, accessGroups: names)
    }
}

@c @implementation
package func valet_last_error(_ error: UnsafeMutablePointer<valet_error>?) -> valet_status {
    guard let start = UnsafeMutableRawPointer(error) else {
        return valet_status(VALET_INVALID_ARGUMENT)
    }
    // A failure of this call is not kept: it would replace what the caller asks for.
    let size = unsafe start.loadUnaligned(as: Int.self)
    guard size >= ErrorField.message.offset, size <= 1 << 20 else {
        return valet_status(VALET_INVALID_ARGUMENT)
    }
    let last = LastError.ofThread.value
    unsafe store(last?.status ?? 0, .status, start)
    unsafe store(last?.domain ?? 0, .domain, start)
    unsafe store(last?.code ?? 0, .code, start)
    unsafe store(last?.reason ?? 0, .reason, start)
    unsafe store(last?.message ?? "", .message, start, size)
    unsafe store(last?.hint ?? "", .hint, start, size)
    return valet_status(VALET_OK)
}

/// The fields of `valet_error`, in their order. The header fixes the offsets for all versions.
private enum ErrorField {
    case status, domain, code, reason, message, hint

    static let textByteCount = 512

    var offset: Int {
        let first = MemoryLayout<Int>.size
        return switch self {
        case .status: first
        case .domain: first + 4
        case .code: first + 8
        case .reason: first + 12
        case .message: first + 16
        case .hint: first + 16 + Self.textByteCount
        }
    }
}

private func store(_ number: Int32, _ field: ErrorField, _ start: UnsafeMutableRawPointer) {
    unsafe start.storeBytes(of: number, toByteOffset: field.offset, as: Int32.self)
}

/// Stores as much of a text as the structure has room for, cut between characters, and a NUL.
private func store(
    _ text: String, _ field: ErrorField, _ start: UnsafeMutableRawPointer, _ size: Int
) {
    let room = min(size - field.offset, ErrorField.textByteCount)
    guard room > 0 else { return }
    var bytes: [UInt8] = []
    // A NUL inside, from a name of the caller, would end the text for C.
    for scalar in text.unicodeScalars where scalar != "\0" {
        let next = Array(UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
        guard bytes.count + next.count < room else { break }
        bytes += next
    }
    bytes.append(0)
    for (offset, byte) in bytes.enumerated() {
        unsafe start.storeBytes(of: byte, toByteOffset: field.offset + offset, as: UInt8.self)
    }
}

@c @implementation
package func valet_state(
    _ state: UnsafeMutablePointer<Int32>?, _ protection_level: UnsafeMutablePointer<Int32>?
) -> valet_status {
    call { () throws(KeychainFailure) in
        let (found, level) = (try ValetKeychain.lockState, try ValetKeychain.protectionLevel)
        unsafe state?.pointee = found.number
        unsafe protection_level?.pointee = level.map { Int32($0.rank) } ?? Int32(VALET_LEVEL_NONE)
    }
}

extension LockState {
    fileprivate var number: Int32 {
        let number =
            switch self {
            case .absent: VALET_STATE_ABSENT
            case .unlocked: VALET_STATE_UNLOCKED
            case .locked: VALET_STATE_LOCKED
            case .beforeFirstUnlock: VALET_STATE_BEFORE_FIRST_UNLOCK
            case .noPasscode: VALET_STATE_NO_PASSCODE
            case .keyUnavailable: VALET_STATE_KEY_UNAVAILABLE
            case .incomplete: VALET_STATE_INCOMPLETE
            }
        return Int32(number)
    }
}

@c @implementation
package func valet_wait(_ accessibility: Int32, _ deadline_ms: UInt32) -> valet_status {
    call { () throws(KeychainFailure) in
        let protectionClass = try ProtectionClass(accessibility: accessibility)
        let deadline = Deadline(after: .milliseconds(deadline_ms))
        try KeychainSession.current().waitUntilAvailable(
            for: protectionClass, blockingUntil: deadline)
    }
}

@c @implementation
package func valet_unlock(
    _ passcode: UnsafeRawPointer?, _ passcode_length: Int, _ duration_ms: UInt64,
    _ auto_lock_ms: UInt64
) -> valet_status {
    call { () throws(KeychainFailure) in
        let bytes = try unsafe Argument.bytes(passcode, passcode_length, "the passcode")
        try unsafe ValetKeychain.unlock(
            passcode: bytes.span, for: duration(duration_ms), autoLock: duration(auto_lock_ms))
    }
}

/// The caller's period, or 31 years (10^12 ms) for a longer one; nil for `VALET_NO_LIMIT`.
private func duration(_ milliseconds: UInt64) -> Duration? {
    milliseconds == 0 ? nil : .milliseconds(min(milliseconds, 1_000_000_000_000))
}

@c @implementation
package func valet_lock(_ all: Int32) -> valet_status {
    call { () throws(KeychainFailure) in
        let locksAll = try Argument.flag(all, "all")
        try ValetKeychain.lock(all: locksAll)
    }
}
