// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing
import ValetTestValues

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// docs/FORMAT.md §6.4.
@Suite struct `The column of hashes` {
    @Test func `A column of hashes decodes to what was encoded`() throws {
        let others: [UInt8: IndexHash] = [3: .random(), 14: .random(), 127: .random()]
        let hash = IndexHash.random()
        let service = ServiceHashes(group: hash, service: hash, place: hash)
        let place = ItemPlace(service: service, account: hash)
        let hashes = IndexHashes(place: place, others: others)
        #expect(hashes.encodedOthers.count == 51)
        #expect(try IndexHashes.others(parsing: hashes.encodedOthers) == others)
        #expect(try IndexHashes.others(parsing: []).isEmpty)
    }

    @Test(arguments: [
        [1], [UInt8](repeating: 1, count: 16), [UInt8](repeating: 1, count: 18),
        [UInt8](repeating: 1, count: 34), [UInt8](repeating: 0, count: 17),
    ])
    func `A column of hashes has complete entries with rising tags`(_ bytes: [UInt8]) {
        #expect((try? IndexHashes.others(parsing: bytes)) == nil)
    }
}

/// docs/FORMAT.md §5.
@Suite struct `The flags of a row` {
    @Test(arguments: [0, 1, 2, 3, 4, 256, 512, 1024, 1280, 1536, 2048, 2049] as [Int64])
    func `The known flags of a row are accepted`(_ flags: Int64) {
        #expect(RowFlags(column: flags)?.rawValue == UInt32(flags))
    }

    @Test(
        arguments: [
            8, 15, 128, 768, 1792, 2304, 2560, 3072, 4096, 1 << 31, 1 << 32, -1, .max, .min,
        ]
            as [Int64])
    func `Unknown flags of a row are refused`(_ flags: Int64) {
        #expect(RowFlags(column: flags) == nil)
    }
}

/// docs/FORMAT.md §3.
@Suite struct `A device key` {
    private let bytes: [UInt8] = {
        let file = DeviceKeyFile(keychainID: .random(), secret: .random())
        return file.encoded.withBytes { [UInt8](copying: $0) }
    }()

    private func flaw(_ bytes: [UInt8]) -> KeychainFailure.Code? {
        do throws(KeychainFailure) {
            _ = try DeviceKeyFile.given(bytes.span)
            return nil
        } catch {
            return error.code
        }
    }

    @Test func `A device key has 122 bytes and decodes to what was encoded`() throws {
        #expect(bytes.count == 122)
        let file = try DeviceKeyFile(parsing: bytes.span)
        #expect(file.encoded.withBytes { [UInt8](copying: $0) } == bytes)
    }

    @Test func `A device key with any bit changed is refused`() {
        for offset in bytes.indices {
            for bit in 0..<8 as Range<UInt8> {
                var changed = bytes
                changed[offset] ^= 1 << bit
                let expected: KeychainFailure.Code =
                    switch offset {
                    case 0..<8: .invalidEncoding
                    case 8..<10: .newerFormat
                    default: .damaged
                    }
                #expect(flaw(changed) == expected, "\(offset)")
            }
        }
    }

    @Test func `A device key of another length is refused`() {
        for length in 0..<122 where length != 32 {
            #expect(flaw(Array(bytes.prefix(length))) == .invalidEncoding, "\(length)")
        }
        #expect(flaw(bytes + [0]) == .invalidEncoding)
    }

    @Test func `A device key that is kept elsewhere may be 32 bytes`() throws {
        let secret = [UInt8](repeating: 5, count: 32)
        let file = try DeviceKeyFile.given(secret.span)
        #expect(file.keychainID == nil)
        #expect(file.secret.withBytes { [UInt8](copying: $0) } == secret)
    }
}
