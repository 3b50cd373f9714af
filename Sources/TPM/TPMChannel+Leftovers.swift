// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing

/// Commands in bytes: ESYS disposes only of what it made itself.
extension TPMChannel {
    /// Removes every transient object and every loaded session that this channel sees. Behind a
    /// resource manager these are its own, hence none.
    ///
    /// - Returns: How many there were.
    func removeLeftovers() throws(TPMError) -> Int {
        var count = 0
        // TPM_HT_TRANSIENT, TPM_HT_LOADED_SESSION: TPM 2.0 Library part 2, 7.2.
        for first: UInt32 in [0x8000_0000, 0x0200_0000] {
            for handle in try handles(from: first) {
                _ = try exchange(Self.command(0x165, handle))
                count += 1
            }
        }
        return count
    }

    /// TPM2_GetCapability of handles: part 3, 30.2.
    private func handles(from first: UInt32) throws(TPMError) -> [UInt32] {
        let answer = try exchange(Self.command(0x17a, 1, first, 64))
        guard Self.response(of: answer).rawValue == 0 else { return [] }
        let malformed = TPMError(.malformedAnswer, during: operation)
        var reader = ByteReader(answer, malformed: malformed)
        // Header, whether there are more, which capability.
        _ = try reader.bytes(10 + 1 + 4)
        let count = try reader.integer(UInt32.self)
        guard count <= 64 else { throw malformed }
        var handles: [UInt32] = []
        for _ in 0..<count { handles.append(try reader.integer()) }
        return handles
    }

    private static func command(_ code: UInt32, _ parameters: UInt32...) -> [UInt8] {
        // TPM_ST_NO_SESSIONS.
        var bytes: [UInt8] = [0x80, 0x01]
        bytes.append(bigEndian: UInt32(10 + 4 * parameters.count))
        bytes.append(bigEndian: code)
        for parameter in parameters { bytes.append(bigEndian: parameter) }
        return bytes
    }
}
