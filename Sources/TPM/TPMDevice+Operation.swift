// SPDX-License-Identifier: Apache-2.0

extension TPMDevice {
    /// What is done with a TPM, in the words of errors.
    enum Operation {
        static let status = "look at the TPM"
        static let sealDeviceSecret = "seal the device secret in the TPM"
        static let sealPasscodeSecret = "seal the passcode's secret in the TPM"
        static let unsealDeviceSecret = "unseal the device secret in the TPM"
        static let unsealPasscodeSecret = "unseal the passcode's secret in the TPM"
    }
}
