// SPDX-License-Identifier: Apache-2.0

/// A hint that helps after a failure. If it advises a call of this package, each interface names
/// that call in its own language.
package enum Advice: Hashable, Sendable {
    case text(String)
    /// `call`, used as `purpose` says, or `alternative` instead.
    case call(AdvisedCall, purpose: String? = nil, alternative: String? = nil)

    /// The advice in the words of an interface.
    ///
    /// - Parameter name: The name of a call there; nil if the interface does not have it.
    /// - Returns: nil if the interface has nothing to advise.
    package func text(naming name: (AdvisedCall) -> String?) -> String? {
        switch self {
        case .text(let text): return text
        case .call(let call, let purpose, let alternative):
            guard let name = name(call) else { return alternative }
            let advice = "call `\(name)`" + (purpose.map { " " + $0 } ?? "")
            return advice + (alternative.map { ", or " + $0 } ?? "")
        }
    }

    /// The advice in the words of the command, which has none of these calls.
    package var commandText: String? { text { _ in nil } }
}

/// The calls that hints advise, which every library has.
package enum AdvisedCall: CaseIterable, Hashable, Sendable {
    case configure
    case unlock

    package var swiftName: String {
        switch self {
        case .configure: "ValetKeychain.configure"
        case .unlock: "ValetKeychain.unlock(passcode:)"
        }
    }
}

extension KeychainFailure {
    /// The hint in the words of another interface than Swift's; nil if there is none.
    ///
    /// - Parameter name: The name of a call there; nil if the interface does not have it.
    package func hint(naming name: (AdvisedCall) -> String?) -> String? {
        advice?.text(naming: name)
    }

    package var commandHint: String? { advice?.commandText }

    package init(
        _ code: Code, during operation: String, message: String? = nil, advice: Advice?
    ) {
        self.init(
            KeychainFailure(code, during: operation, message: message), advice: advice)
    }
}
