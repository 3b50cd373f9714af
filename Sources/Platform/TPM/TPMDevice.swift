// SPDX-License-Identifier: Apache-2.0

/// Where a TPM is, and which libraries speak to it. Nothing is opened or loaded before the first
/// call, and nothing stays open after one, so that others can use the TPM.
package struct TPMDevice: Hashable, Sendable {
    package enum Place: Hashable, Sendable {
        case device(path: String)
        /// The socket on which swtpm takes commands.
        case socket(path: String)

        /// The path of either.
        package var path: String {
            switch self {
            case .device(let path), .socket(let path): path
            }
        }
    }

    /// The names by which the loader finds tpm2-tss.
    package struct Libraries: Hashable, Sendable {
        package let esys: String
        package let marshalling: String

        /// The names on every Linux distribution.
        package init(
            esys: String = "libtss2-esys.so.0", marshalling: String = "libtss2-mu.so.0"
        ) {
            self.esys = esys
            self.marshalling = marshalling
        }
    }

    package let place: Place
    package let libraries: Libraries

    /// The machine's TPM behind the kernel's resource manager; never taken from the environment.
    package init(
        _ place: Place = .device(path: "/dev/tpmrm0"), libraries: Libraries = Libraries()
    ) {
        self.place = place
        self.libraries = libraries
    }
}

extension TPMDevice {
    /// The operations, as errors name them.
    enum Operation {
        static let status = "look at the TPM"
        static let sealDeviceSecret = "seal the device secret in the TPM"
        static let sealPasscodeSecret = "seal the passcode's secret in the TPM"
        static let unsealDeviceSecret = "unseal the device secret in the TPM"
        static let unsealPasscodeSecret = "unseal the passcode's secret in the TPM"
    }
}
