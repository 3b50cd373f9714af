// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSystem

/// The file of the policy, which is read again when it has changed. A mistake leaves the last
/// policy without one in force. For one thread.
final class PolicyFile {
    let path: String
    /// Increases when the contents change, and when that change takes effect.
    private(set) var version = 0
    /// Why the present contents cannot be used, if so.
    private(set) var problem: KeychainFailure?
    /// The last one that could be used; nil if there was no file. Closed at first, and if a file
    /// appears that cannot be used.
    private var policy: AccessPolicy? = .closed
    private var last: Contents?
    /// When the last change takes effect; nil if it has.
    private var settling: Deadline?

    private enum Contents: Equatable {
        case absent
        case bytes([UInt8])
        case unreadable(String, String?)
    }

    private static let maximalByteCount = 1 << 20
    private static let pause = Duration.milliseconds(250)

    /// - Parameter folder: The user's folder for configuration.
    init(in folder: String) {
        path = folder + "/valet/secret-service.policy"
    }

    /// The policy; nil if there is no file. ``AccessPolicy/closed`` for a moment after a change,
    /// because a file that is written in place is empty at first, and as long as there was no
    /// policy without a mistake.
    func current() -> AccessPolicy? {
        let found = contents()
        if found != last {
            settling = last == nil ? .immediately : Deadline(after: Self.pause)
            last = found
            version += 1
        }
        guard let settling else { return policy }
        guard settling.hasPassed else { return .closed }
        self.settling = nil
        version += 1
        read(found)
        return policy
    }

    private func contents() -> Contents {
        do throws(SystemError) {
            let bytes = try SystemFile.contents(of: path, maxByteCount: Self.maximalByteCount)
            return bytes.map(Contents.bytes) ?? .absent
        } catch {
            return .unreadable("\(error)", error.hint)
        }
    }

    private func read(_ contents: Contents) {
        do throws(KeychainFailure) {
            policy = try Self.policy(contents)
            problem = nil
        } catch {
            problem = error
            if policy == nil { policy = .closed }
        }
    }

    private static func policy(_ contents: Contents) throws(KeychainFailure) -> AccessPolicy? {
        switch contents {
        case .absent: return nil
        case .bytes(let bytes):
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw failure("it is not text in UTF-8", nil)
            }
            // A name that is cut may be another one's.
            guard bytes.last == UInt8(ascii: "\n") || bytes.isEmpty else {
                throw failure(
                    "its last line is not finished", "press Enter at its end, and save it")
            }
            return try AccessPolicy(text)
        case .unreadable(let reason, let hint): throw failure(reason, hint)
        }
    }

    private static func failure(_ message: String, _ hint: String?) -> KeychainFailure {
        KeychainFailure(
            .invalidRequest, during: "read the policy", message: message, hint: hint)
    }
}
