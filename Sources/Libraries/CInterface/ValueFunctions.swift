// SPDX-License-Identifier: Apache-2.0

// The functions of valet.h about valets, values and keys. The compiler checks each against the
// header, which documents it.

package import ValetCInterfaceHeader
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetSealing
internal import ValetSystem
internal import ValetUserPresence

@c @implementation
package func valet_open(
    _ description: UnsafePointer<valet_description>?, _ valet: UnsafeMutablePointer<valet_t?>?
) -> valet_status {
    unsafe valet?.pointee = nil
    return call { () throws(KeychainFailure) in
        let place = try unsafe Argument.output(valet, "the place for the valet")
        let identity = try unsafe ValetIdentity(description)
        unsafe place.pointee = Handles.valets.insert(OpenValet(identity))
    }
}

@c @implementation
package func valet_close(_ valet: valet_t?) -> valet_status {
    call { () throws(KeychainFailure) in try unsafe Handles.valets.remove(valet) }
}

@c @implementation
package func valet_is_equal(
    _ one: valet_t?, _ other: valet_t?, _ is_equal: UnsafeMutablePointer<Int32>?
) -> valet_status {
    call { () throws(KeychainFailure) in
        let place = try unsafe Argument.output(is_equal, "the place for the result")
        let (one, other) = try unsafe (
            Handles.valets.object(one), Handles.valets.object(other)
        )
        unsafe place.pointee = one.items == other.items ? 1 : 0
    }
}

@c @implementation
package func valet_can_access(
    _ valet: valet_t?, _ options: UnsafePointer<valet_options>?,
    _ can_access: UnsafeMutablePointer<Int32>?
) -> valet_status {
    call { () throws(KeychainFailure) in
        let place = try unsafe Argument.output(can_access, "the place for the result")
        let valet = try unsafe Handles.valets.object(valet)
        unsafe place.pointee = try valet.canAccess(CallOptions(options)) ? 1 : 0
    }
}

@c @implementation
package func valet_can_meet_access_control(
    _ valet: valet_t?, _ can_meet: UnsafeMutablePointer<Int32>?
) -> valet_status {
    call { () throws(KeychainFailure) in
        let place = try unsafe Argument.output(can_meet, "the place for the result")
        unsafe place.pointee = try Handles.valets.object(valet).canMeetAccessControl ? 1 : 0
    }
}

@c @implementation
package func valet_require_prompt(_ valet: valet_t?) -> valet_status {
    call { () throws(KeychainFailure) in try unsafe Handles.valets.object(valet).requirePrompt() }
}

@c @implementation
package func valet_set(
    _ valet: valet_t?, _ key: UnsafePointer<CChar>?, _ key_length: Int,
    _ value: UnsafeRawPointer?, _ value_length: Int, _ options: UnsafePointer<valet_options>?
) -> valet_status {
    call { () throws(KeychainFailure) in
        let valet = try unsafe Handles.valets.object(valet)
        let options = try unsafe CallOptions(options)
        let key = try unsafe Argument.key(key, key_length)
        try valet.set(key, try unsafe Argument.value(value, value_length), options)
    }
}

@c @implementation
package func valet_set_from_fd(
    _ valet: valet_t?, _ key: UnsafePointer<CChar>?, _ key_length: Int, _ fd: Int32,
    _ options: UnsafePointer<valet_options>?
) -> valet_status {
    call { () throws(KeychainFailure) in
        let valet = try unsafe Handles.valets.object(valet)
        let options = try unsafe CallOptions(options)
        let key = try unsafe Argument.key(key, key_length)
        try valet.set(key, try read(fd, options.deadline), options)
    }
}

/// Reads a descriptor to its end into guarded memory. If the call has no deadline, reading fails
/// after a minute.
private func read(_ descriptor: Int32, _ deadline: Deadline?) throws(KeychainFailure) -> SecretValue
{
    guard descriptor >= 0 else { throw .invalid("the descriptor is negative") }
    let deadline = deadline ?? Deadline(after: .seconds(60))
    var input = SecretInput(capacity: 4096)
    while try readOnce(descriptor, deadline, &input) > 0 {
        guard input.byteCount <= Argument.maximumByteCount else {
            throw KeychainFailure(.valueTooLarge, during: "read a value")
        }
    }
    guard input.byteCount > 0 else { throw .argument(.emptyValue) }
    let byteCount = input.byteCount
    return input.value(byteCount: byteCount)
}

private func readOnce(
    _ descriptor: Int32, _ deadline: Deadline, _ input: inout SecretInput
) throws(KeychainFailure) -> Int {
    do {
        return try input.read(from: descriptor, until: deadline)
    } catch {
        let isLate = error.code == .timedOut
        let failure = KeychainFailure(
            isLate ? .timedOut : .inputOutput, during: "read a value",
            message: isLate ? "the descriptor did not end in time" : nil)
        throw KeychainFailure(failure, systemError: error.systemError ?? 0)
    }
}

@c @implementation
package func valet_get(
    _ valet: valet_t?, _ key: UnsafePointer<CChar>?, _ key_length: Int,
    _ options: UnsafePointer<valet_options>?, _ secret: UnsafeMutablePointer<valet_secret_t?>?
) -> valet_status {
    unsafe secret?.pointee = nil
    return call { () throws(KeychainFailure) in
        let place = try unsafe Argument.output(secret, "the place for the secret")
        let valet = try unsafe Handles.valets.object(valet)
        let options = try unsafe CallOptions(options)
        let value = try valet.value(try unsafe Argument.key(key, key_length), options)
        unsafe place.pointee = Handles.secrets.insert(value)
    }
}

@c @implementation
package func valet_contains(
    _ valet: valet_t?, _ key: UnsafePointer<CChar>?, _ key_length: Int,
    _ options: UnsafePointer<valet_options>?, _ contains: UnsafeMutablePointer<Int32>?
) -> valet_status {
    call { () throws(KeychainFailure) in
        let place = try unsafe Argument.output(contains, "the place for the result")
        let valet = try unsafe Handles.valets.object(valet)
        let options = try unsafe CallOptions(options)
        let key = try unsafe Argument.key(key, key_length)
        unsafe place.pointee = try valet.contains(key, options) ? 1 : 0
    }
}

@c @implementation
package func valet_remove(
    _ valet: valet_t?, _ key: UnsafePointer<CChar>?, _ key_length: Int,
    _ options: UnsafePointer<valet_options>?
) -> valet_status {
    call { () throws(KeychainFailure) in
        let valet = try unsafe Handles.valets.object(valet)
        let options = try unsafe CallOptions(options)
        let key = try unsafe Argument.key(key, key_length)
        try valet.delete(PasswordName(key, in: valet.items).query, options)
    }
}

@c @implementation
package func valet_remove_all(
    _ valet: valet_t?, _ options: UnsafePointer<valet_options>?
) -> valet_status {
    call { () throws(KeychainFailure) in
        let valet = try unsafe Handles.valets.object(valet)
        try valet.delete(valet.items.query, try unsafe CallOptions(options))
    }
}

@c @implementation
package func valet_secret_bytes(
    _ secret: valet_secret_t?, _ bytes: UnsafeMutablePointer<UnsafePointer<UInt8>?>?
) -> valet_status {
    call { () throws(KeychainFailure) in
        let place = try unsafe Argument.output(bytes, "the place for the bytes")
        let value = try unsafe Handles.secrets.object(secret)
        // The table holds the value, whose memory does not move, until the caller frees it.
        unsafe place.pointee = value.withBytes { (bytes: Span<UInt8>) in
            unsafe bytes.withUnsafeBufferPointer { $0.baseAddress }
        }
    }
}

@c @implementation
package func valet_secret_length(
    _ secret: valet_secret_t?, _ length: UnsafeMutablePointer<Int>?
) -> valet_status {
    call { () throws(KeychainFailure) in
        let place = try unsafe Argument.output(length, "the place for the length")
        unsafe place.pointee = try unsafe Handles.secrets.object(secret).byteCount
    }
}

@c @implementation
package func valet_secret_free(_ secret: valet_secret_t?) -> valet_status {
    call { () throws(KeychainFailure) in try unsafe Handles.secrets.remove(secret) }
}

@c @implementation
package func valet_keys(
    _ valet: valet_t?, _ options: UnsafePointer<valet_options>?,
    _ keys: UnsafeMutablePointer<valet_keys_t?>?
) -> valet_status {
    unsafe keys?.pointee = nil
    return call { () throws(KeychainFailure) in
        let place = try unsafe Argument.output(keys, "the place for the keys")
        let valet = try unsafe Handles.valets.object(valet)
        var damage: KeychainFailure?
        let list = try valet.keys(try unsafe CallOptions(options), noting: &damage)
        LastError.ofThread.value = damage.map(LastError.init)
        unsafe place.pointee = Handles.keys.insert(list)
    }
}

@c @implementation
package func valet_keys_count(
    _ keys: valet_keys_t?, _ count: UnsafeMutablePointer<Int>?
) -> valet_status {
    call { () throws(KeychainFailure) in
        let place = try unsafe Argument.output(count, "the place for the number")
        unsafe place.pointee = try unsafe Handles.keys.object(keys).count
    }
}

@c @implementation
package func valet_keys_at(
    _ keys: valet_keys_t?, _ index: Int, _ key: UnsafeMutablePointer<UnsafePointer<CChar>?>?,
    _ length: UnsafeMutablePointer<Int>?
) -> valet_status {
    call { () throws(KeychainFailure) in
        let place = try unsafe Argument.output(key, "the place for the key")
        let list = try unsafe Handles.keys.object(keys)
        guard let range = list.range(at: index) else {
            throw .invalid("there is no key with that index")
        }
        unsafe place.pointee = list.withBytes { (bytes: Span<UInt8>) in
            unsafe bytes.withUnsafeBytes {
                unsafe $0.baseAddress?.advanced(by: range.lowerBound)
                    .assumingMemoryBound(to: CChar.self)
            }
        }
        unsafe length?.pointee = range.count
    }
}

@c @implementation
package func valet_keys_free(_ keys: valet_keys_t?) -> valet_status {
    call { () throws(KeychainFailure) in try unsafe Handles.keys.remove(keys) }
}
