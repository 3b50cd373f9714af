// SPDX-License-Identifier: Apache-2.0

import ValetSecretMemory
import ValetSystem
import ValetTPM

/// A process that uses a TPM for tests: `ValetTPMTestAgent SOCKET VERB [COUNT]`, one line out.
@main struct Agent {
    static func main() {
        let words = CommandLine.arguments
        guard words.count >= 3 else { return }
        let device = TPMDevice(.socket(path: words[1]))
        do throws(TPMError) {
            switch words[2] {
            case "rounds": try rounds(words.count > 3 ? Int(words[3]) ?? 0 : 0, device)
            case "guess": try guess(device)
            default: print("mistake")
            }
            print("ok")
        } catch {
            print("error \(error.code)")
        }
    }

    private static func rounds(_ count: Int, _ device: TPMDevice) throws(TPMError) {
        for _ in 0..<count {
            let secret = SecretBytes(randomByteCount: 32)
            let object = try device.sealDeviceSecret(secret, until: Deadline(after: .seconds(60)))
            let opened = try device.unsealDeviceSecret(
                object, until: Deadline(after: .seconds(60)))
            if !opened.isEqual(to: secret) { print("mistake") }
        }
    }

    /// A wrong value, which tpm2-tss would tell standard error about.
    private static func guess(_ device: TPMDevice) throws(TPMError) {
        let secret = SecretBytes(randomByteCount: 32)
        let right = SecretBytes(randomByteCount: 32)
        let object = try device.sealPasscodeSecret(
            secret, authorization: right, until: Deadline(after: .seconds(60)))
        _ = try device.unsealPasscodeSecret(
            object, authorization: secret, until: Deadline(after: .seconds(60)))
    }
}
