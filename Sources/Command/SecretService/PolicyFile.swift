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
    private let reader: PolicyReader
    /// Whether an earlier call has not got its answer yet. Others do not wait then.
    private var isReading = false

    fileprivate enum Contents: Equatable {
        case absent
        case bytes([UInt8])
        case unreadable(String, String?)
    }

    private static let pause = Duration.milliseconds(250)
    /// How long the first call waits for the contents.
    private static let firstPatience = Duration.seconds(5)
    /// How long the other calls wait together, as long as there is no answer.
    private let patience: Duration

    /// - Parameters:
    ///   - folder: The user's folder for configuration.
    ///   - read: Reads the file, which may take for ever; nil if there is none.
    /// - Throws: ``SystemError`` if the process can open nothing more.
    init(
        in folder: String, patience: Duration = .milliseconds(50),
        reading read: @escaping @Sendable (String) throws(SystemError) -> [UInt8]? = {
            (path) throws(SystemError) in
            try SystemFile.contents(of: path, maxByteCount: 1 << 20)
        }
    ) throws(SystemError) {
        self.patience = patience
        let path = folder + "/valet/secret-service.policy"
        self.path = path
        reader = try PolicyReader {
            do throws(SystemError) {
                return try read(path).map(Contents.bytes) ?? .absent
            } catch {
                return .unreadable("\(error)", error.hint)
            }
        }
    }

    deinit { reader.stop() }

    /// The policy; nil if there is no file. ``AccessPolicy/closed`` for a moment after a change,
    /// because a file that is written in place is empty at first, and as long as there was no
    /// policy without a mistake. While the file system does not answer, the last contents count.
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
        isReading = isReading && reader.answer(before: .immediately) == nil
        if !isReading {
            reader.ask()
            let patience = last == nil ? Self.firstPatience : patience
            if let answer = reader.answer(before: Deadline(after: patience)) { return answer }
            isReading = true
        }
        return last ?? .unreadable("its file system does not answer", nil)
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

/// Reads the file of the policy on a thread of its own, because its file system may not answer.
private final class PolicyReader: Sendable {
    /// Rung to read, and when that is done.
    private let asked: Bell
    private let answered: Bell
    private let contents = Lock<PolicyFile.Contents?>(nil)
    private let isStopped = Lock(false)

    init(_ read: @escaping @Sendable () -> PolicyFile.Contents) throws(SystemError) {
        asked = try Bell()
        answered = try Bell()
        try BackgroundThread.start { [self] in
            while asked.wait(until: .never), !isStopped.withLock({ $0 }) {
                let found = read()
                contents.withLock { $0 = found }
                answered.ring()
            }
        }
    }

    func stop() {
        isStopped.withLock { $0 = true }
        asked.ring()
    }

    func ask() { asked.ring() }

    /// The contents that were asked for; nil if the file system has not answered by the deadline.
    func answer(before deadline: Deadline) -> PolicyFile.Contents? {
        answered.wait(until: deadline) ? contents.withLock { $0 } : nil
    }
}
