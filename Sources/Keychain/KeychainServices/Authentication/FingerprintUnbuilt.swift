// SPDX-License-Identifier: Apache-2.0

#if !Fingerprint
    /// The fingerprint reader of this process, in a build without the trait `Fingerprint`.
    enum ProcessReader {
        /// None, because the package was built without the trait `Fingerprint`.
        static let value: (any BiometryReader)? = nil
    }
#endif
