// SPDX-License-Identifier: Apache-2.0

import ValetSealing
import ValetSystem
import ValetTPM

/// Uses a TPM, for the tests of that module: `ValetTestAgent tpm SOCKET VERB [COUNT]`.
enum TPMVerbs {
    /// Does what `words` say, and prints one line about it.
    static func run(_ words: [String]) {
        guard words.count >= 2 else { return print("mistake") }
        let device = TPMDevice(.socket(path: words[0]))
        do throws(SystemError) {
            switch words[1] {
            case "rounds": try rounds(words.count > 2 ? Int(words[2]) ?? 0 : 0, device)
            case "guess": try guess(device)
            default: print("mistake")
            }
            print("ok")
        } catch {
            print("error \(error.code.name)")
        }
    }

    private static func rounds(_ count: Int, _ device: TPMDevice) throws(SystemError) {
        for _ in 0..<count {
            let secret = SecretBytes(randomByteCount: 32)
            let object = try device.sealDeviceSecret(secret, until: Deadline(after: .seconds(60)))
            let opened = try device.unsealDeviceSecret(
                object, until: Deadline(after: .seconds(60)))
            if !opened.isEqual(to: secret) { print("mistake") }
        }
    }

    /// Offers a wrong value: tpm2-tss would report that on standard error.
    private static func guess(_ device: TPMDevice) throws(SystemError) {
        let secret = SecretBytes(randomByteCount: 32)
        let right = SecretBytes(randomByteCount: 32)
        let object = try device.sealPasscodeSecret(
            secret, authorization: right, until: Deadline(after: .seconds(60)))
        _ = try device.unsealPasscodeSecret(
            object, authorization: secret, until: Deadline(after: .seconds(60)))
    }
}
