// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import ValetKeychainModel

@testable import ValetCLI

@Suite struct `The exit code of a failure` {
    private func code(_ code: KeychainFailure.Code, _ systemError: Int32 = 0) -> ExitCode {
        let failure = KeychainFailure(code, during: "open the keychain", path: "/k")
        return CLIError(KeychainFailure(failure, systemError: systemError)).code
    }

    @Test(arguments: [EACCES, EPERM])
    func `says that the system denied access`(_ systemError: Int32) {
        #expect(code(.inputOutput, systemError) == .denied)
        // The system's word is no reason to forget another.
        #expect(code(.keychainDamaged, systemError) == .damaged)
        #expect(code(.timedOut, systemError) == .locked)
    }

    @Test(arguments: [0, EIO, ENOENT, EMFILE, EROFS, ENOSPC] as [Int32])
    func `says no more than that where nobody denied anything`(_ systemError: Int32) {
        #expect(code(.inputOutput, systemError) == .failure)
    }
}
