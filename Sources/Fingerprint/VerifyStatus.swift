// SPDX-License-Identifier: Apache-2.0

internal import ValetSystemBus

/// What fprintd says of a scan, in its signal `VerifyStatus`.
enum VerifyStatus: Equatable {
    case match
    case noMatch
    /// The scan was of no use; whether fprintd goes on scanning by itself.
    case retry(FingerprintEvent.RetryReason, goesOn: Bool)
    case unplugged
    case failed

    /// Reads the signal of that name; `nil` for one of another kind.
    ///
    /// - Throws: `malformed` for what no version of fprintd says: a result is never guessed.
    init?(_ member: String, _ arguments: [BusValue]) throws(FingerprintError) {
        guard member == "VerifyStatus" else { return nil }
        guard arguments.count == 2, let result = arguments[0].text,
            case .flag(let isOver) = arguments[1]
        else { throw FingerprintError(.malformed) }
        switch (result, isOver) {
        case ("verify-match", true): self = .match
        case ("verify-no-match", true): self = .noMatch
        case ("verify-retry-scan", _): self = .retry(.unclear, goesOn: !isOver)
        case ("verify-swipe-too-short", _): self = .retry(.tooShort, goesOn: !isOver)
        case ("verify-finger-not-centered", _): self = .retry(.notCentered, goesOn: !isOver)
        case ("verify-remove-and-retry", _): self = .retry(.removeFinger, goesOn: !isOver)
        case ("verify-disconnected", _): self = .unplugged
        case ("verify-unknown-error", _): self = .failed
        default: throw FingerprintError(.malformed)
        }
    }
}
