// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSystem

/// The reply to a call.
enum Answer: Sendable {
    /// `write` appends the results.
    case results(_ write: @Sendable (borrowing BusMessage) -> Void)
    /// `write` appends the results without the bytes of secrets, and `fill` adds those.
    case secrets(
        _ write: @Sendable (borrowing BusMessage) -> Void,
        _ fill: @Sendable (borrowing BusMessage) -> Bool)
    case refusal(ServiceError, String)
    /// These objects are open; a prompt, if any, opens others.
    case unlocking([String], UnlockPrompt?)
    case agreed(KeyAgreement)

    static var nothing: Answer { .results { _ in } }

    static func path(_ path: String) -> Answer { .results { $0.write(path, as: "o") } }

    /// The result of `GetSecrets`.
    static func secrets(_ found: [(path: String, secret: TravellingSecret)]) -> Answer {
        let entry = "o(\(TravellingSecret.signature))"
        return .secrets(
            { message in
                message.write("a", of: "{\(entry)}") {
                    for (path, secret) in found {
                        message.write("e", of: entry) {
                            message.write(path, as: "o")
                            message.write(secret)
                        }
                    }
                }
            },
            { message in
                var count = 0
                _ = message.inside("a", "{\(entry)}") {
                    for (_, secret) in found {
                        _ = message.inside("e", entry) {
                            if message.text("o") != nil, message.fill(secret) { count += 1 }
                        }
                    }
                }
                return count == found.count
            })
    }

    init(_ failure: KeychainFailure) {
        let error: ServiceError =
            switch failure.code {
            case .locked: .isLocked
            case .itemNotFound: .noSuchObject
            case .invalidRequest, .valueTooLarge: .invalidArguments
            case .timedOut: .timeout
            default: .failed
            }
        self = .refusal(error, failure.hint.map { "\(failure.message): \($0)" } ?? failure.message)
    }

    /// The answer of `body`, or its failure.
    static func of(_ body: Plan.Body, _ holdings: Holdings) -> Answer {
        do { return try body(holdings) } catch { return Answer(error) }
    }
}

/// The errors that clients tell apart (Secret Service API 0.2, "Errors"; D-Bus specification,
/// "Standard Interfaces").
enum ServiceError: String, Sendable {
    case isLocked = "org.freedesktop.Secret.Error.IsLocked"
    case noSession = "org.freedesktop.Secret.Error.NoSession"
    case noSuchObject = "org.freedesktop.Secret.Error.NoSuchObject"
    case unknownObject = "org.freedesktop.DBus.Error.UnknownObject"
    case unknownInterface = "org.freedesktop.DBus.Error.UnknownInterface"
    case unknownMethod = "org.freedesktop.DBus.Error.UnknownMethod"
    case unknownProperty = "org.freedesktop.DBus.Error.UnknownProperty"
    case readOnly = "org.freedesktop.DBus.Error.PropertyReadOnly"
    case invalidArguments = "org.freedesktop.DBus.Error.InvalidArgs"
    case accessDenied = "org.freedesktop.DBus.Error.AccessDenied"
    case notSupported = "org.freedesktop.DBus.Error.NotSupported"
    case limitsExceeded = "org.freedesktop.DBus.Error.LimitsExceeded"
    case timeout = "org.freedesktop.DBus.Error.Timeout"
    case failed = "org.freedesktop.DBus.Error.Failed"
}

/// How a call is carried out.
enum Plan {
    typealias Body = @Sendable (Holdings) throws(KeychainFailure) -> Answer

    case now(Answer)
    /// On another thread, because the keychain may keep it waiting. Its answer goes out whatever
    /// happens to the policy in between: the change is made by then.
    case changing(Body)
    /// At once, if that takes microseconds: changing the thread takes as long. Otherwise on another
    /// thread. Its answer is withheld if the policy closes what it tells.
    case reading(Body)
    /// On another thread, for a new session, which counts from now on.
    case agreeing(Body)

    /// Whether a call gets secrets, or changes something: a yes for one use is for the next of
    /// these.
    func isUse(_ member: String) -> Bool {
        switch self {
        case .now, .agreeing: false
        case .reading: member == "GetSecret" || member == "GetSecrets"
        case .changing: member != "Prompt"
        }
    }

    static func refuse(_ error: ServiceError, _ text: String) -> Plan {
        .now(.refusal(error, text))
    }
}

extension SecretService {
    static let tooManyCalls = Answer.refusal(
        .limitsExceeded, "too many calls are waiting, or too large ones: try again")

    static let tooManyConnections = Answer.refusal(
        .limitsExceeded, "the program has too many connections")

    static let unknownProgram = Answer.refusal(
        .isLocked, "your policy is for known programs, and it cannot be told which program asks")

    static let tooManyObjects = Answer.refusal(
        .limitsExceeded,
        "this program has too many sessions or questions open, or asks for too much at once")
}
