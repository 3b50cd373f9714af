// SPDX-License-Identifier: Apache-2.0

/// A response code of a TPM or of tpm2-tss: its layer and its code.
///
/// TCG: TPM 2.0 Library part 2, 6.6; TSS 2.0 Overview, 2.4.
package struct TPMResponse: Hashable, Sendable, CustomStringConvertible {
    /// The layer that made the code.
    @nonexhaustive
    package enum Layer: UInt8, Sendable {
        case tpm = 0
        case esys = 7
        case sys = 8
        case marshalling = 9
        case transport = 10
        case resourceManager = 11
        case resourceManagerForTPM = 12
    }

    /// All 32 bits.
    package let rawValue: UInt32

    init(_ rawValue: UInt32) { self.rawValue = rawValue }

    /// The layer that made it; nil for a layer that tpm2-tss does not have.
    package var layer: Layer? { Layer(rawValue: UInt8(truncatingIfNeeded: rawValue >> 16)) }

    /// The code without the layer and without the number of the handle, session or parameter.
    package var baseCode: UInt32 {
        let code = rawValue & 0xffff
        guard saysTPM else { return code }
        // "Format one" codes name the handle, session or parameter in the other bits.
        return code & 0x80 == 0 ? code & 0xfff : code & 0xbf
    }

    /// Whether the code is one of the TPM's own.
    private var saysTPM: Bool {
        switch layer {
        case .tpm, .resourceManagerForTPM: true
        default: false
        }
    }

    /// Whether the TPM answered with this code.
    func says(_ code: Base) -> Bool { saysTPM && baseCode == code.rawValue }

    /// Whether the TPM refuses its input, and would refuse it again.
    var isAboutInput: Bool { saysTPM && rawValue & 0x80 != 0 }

    /// Whether the TPM asks to repeat the command later.
    var isTemporary: Bool {
        [.retry, .yielded, .testing, .nvRate, .nvUnavailable].contains { says($0) }
    }

    /// Whether the TPM has no room for one more object or session.
    var isAboutRoom: Bool {
        [.objectMemory, .sessionMemory, .memory, .objectHandles, .sessionHandles]
            .contains { says($0) }
    }

    /// "TPM 0x98e (code 0x08e)", "layer 10 0xa000a (code 0x00a)".
    package var description: String {
        let from = rawValue >> 16 == 0 ? "TPM" : "layer \(rawValue >> 16)"
        return "\(from) 0x\(String(rawValue, radix: 16)) (code 0x\(String(baseCode, radix: 16)))"
    }
}

extension TPMResponse {
    /// The base codes that this module distinguishes: TPM 2.0 Library part 2, 6.6.3.
    enum Base: UInt32 {
        case authFail = 0x08e
        case policyFail = 0x09d
        case badAuth = 0x0a2
        case initialize = 0x100
        case failure = 0x101
        case policy = 0x126
        case pcrChanged = 0x128
        case objectMemory = 0x902
        case sessionMemory = 0x903
        case memory = 0x904
        case sessionHandles = 0x905
        case objectHandles = 0x906
        case yielded = 0x908
        case testing = 0x90a
        case nvRate = 0x920
        case lockout = 0x921
        case retry = 0x922
        case nvUnavailable = 0x923
    }
}
