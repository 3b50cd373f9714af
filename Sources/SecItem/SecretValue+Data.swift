// SPDX-License-Identifier: Apache-2.0

package import Foundation
package import ValetKeychainModel
package import ValetSecretMemory

extension SecretValue {
    /// How many copies of a value there are while it is stored: this one, padded, sealed, and
    /// once more where a person is needed.
    private static let copyCount = 4

    /// Copies an application's value for the call that stores it.
    ///
    /// - Throws: ``KeychainModel/KeychainFailure/Code/outOfMemory`` if there is none for that.
    package static func copy(of data: Data) throws(KeychainFailure) -> SecretValue {
        guard SpareMemory.has(copyCount, copiesOf: data.count) else {
            throw KeychainFailure(.outOfMemory, during: "store a value")
        }
        return SecretValue(copying: data.span)
    }

    /// As ``copy(of:)``, of a value that may not be there.
    package static func copy(ofAny data: Data?) throws(KeychainFailure) -> SecretValue? {
        guard let data else { return nil }
        return try copy(of: data)
    }

    /// A copy for the caller: here a value leaves guarded memory, and is the caller's to protect.
    package var data: Data {
        withBytes { (bytes: Span<UInt8>) in
            unsafe bytes.withUnsafeBufferPointer { unsafe Data(buffer: $0) }
        }
    }
}
