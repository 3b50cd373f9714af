// SPDX-License-Identifier: Apache-2.0

#if !Fingerprint
    /// The reader of fingers that this process has.
    enum ProcessReader {
        /// None: built without the trait `Fingerprint`.
        static let value: (any BiometryReader)? = nil
    }
#endif
