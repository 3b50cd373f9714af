// SPDX-License-Identifier: Apache-2.0

#if !Fingerprint
    /// The fingerprint reader of this process.
    enum ProcessReader {
        /// None, because the package was built without the trait `Fingerprint`.
        static let value: (any BiometryReader)? = nil
    }
#endif
