// SPDX-License-Identifier: Apache-2.0

#if Fingerprint
    package import ValetSystem
    package import ValetUserPresence

    /// The fingerprint readers of fprintd, as ``PresenceAuthentication`` uses them.
    package struct FingerprintBiometry: BiometryReader {
        /// How long to wait for answers that do not need the user.
        private static let patience = Duration.seconds(5)

        private let reader: FingerprintReader

        package init(_ reader: FingerprintReader) {
            self.reader = reader
        }

        /// The state that fprintd reports. Waits for it until `deadline`, or for five seconds at
        /// most.
        package func state(until deadline: Deadline) -> BiometryState {
            let limit = min(deadline.remaining, Self.patience)
            do {
                let states = try reader.enrolments(until: Deadline(after: limit))
                return .enrolled(states.map(\.bytes))
            } catch {
                return error.code == .nobodyEnrolled ? .notEnrolled : .noReader
            }
        }

        package func verify(
            _ enrolment: [UInt8]?, until deadline: Deadline, cancellation: Cancellation,
            tell: (String) -> Void
        ) throws(SystemError) -> [UInt8] {
            var isWaiting = false
            let state = try reader.verify(
                enrolment, until: deadline, cancellation: cancellation
            ) { event in
                // The line for a waiting reader appears only once.
                if case .waiting = event {
                    guard !isWaiting else { return }
                    isWaiting = true
                }
                tell(event.line)
            }
            return state.bytes
        }
    }

    extension FingerprintEvent {
        fileprivate var line: String {
            switch self {
            case .waiting(let reader, .press): "Put a finger on \(reader)."
            case .waiting(let reader, .swipe): "Swipe a finger over \(reader)."
            case .noMatch(1): "Not recognised: one try is left."
            case .noMatch(let count): "Not recognised: \(count) tries are left."
            case .retry(.unclear): "It was not clear. Try again."
            case .retry(.tooShort): "It was too short. Try again."
            case .retry(.notCentered): "It was not in the middle. Try again."
            case .retry(.removeFinger): "Take the finger off, and put it back."
            }
        }
    }

    enum ProcessReader {
        /// The machine's reader, which may be absent or broken.
        static let value: (any BiometryReader)? = FingerprintBiometry(FingerprintReader())
    }
#endif
