// SPDX-License-Identifier: Apache-2.0

#if Fingerprint
    internal import ValetFingerprint

    /// The reader of fingers that this process has.
    enum ProcessReader {
        /// The one of the machine, whatever it is and does.
        static let value: (any BiometryReader)? = FingerprintBiometry(FingerprintReader())
    }
#endif
