// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import ValetKeyTestSupport
import ValetSealing
import ValetSystem
import ValetTestValues

@testable import ValetTPM

@Suite(.enabled(if: Swtpm.isThere, Swtpm.isMissing)) struct `A TPM that others use` {
    private let folder: TestFolder
    private let tpm: Swtpm

    init() throws {
        folder = try TestFolder()
        tpm = try Swtpm(folder)
    }

    /// TPM_RC_RETRY, TPM_RC_YIELDED, TPM_RC_TESTING, TPM_RC_NV_RATE.
    @Test(arguments: [0x922, 0x908, 0x90a, 0x920] as [UInt32])
    func `A shared TPM is asked again when it is busy`(_ code: UInt32) throws {
        let proxy = try TPMProxy(in: folder, before: tpm.socket) { _, number in
            number % 3 == 0 ? .pass : TPMProxy.answer(code)
        }
        let device = TPMDevice(.socket(path: proxy.socket))
        let object = try device.seal(1)
        #expect(try device.unseal(object) == SecretBytes.sample(1).array)
    }

    // Promise: 17.4
    @Test func `A shared TPM is waited for no longer than the deadline`() throws {
        let object = try tpm.device.seal(1)
        let answers: [TPMProxy.Action] = [.silence, TPMProxy.answer(0x922)]
        for (number, answer) in answers.enumerated() {
            let place = try TestFolder()
            let proxy = try TPMProxy(in: place, before: tpm.socket) { _, _ in answer }
            let device = TPMDevice(.socket(path: proxy.socket))
            #expect(failure { _ = try device.unseal(object, until: .short) } == .timedOut)
            #expect(!proxy.seen.isEmpty, "\(number)")
        }
    }

    // Promise: 17.4
    @Test func `A shared TPM is waited for while another process has it`() throws {
        let object = try tpm.device.seal(1)
        let holder = Mutex<RawTPM?>(try RawTPM(tpm.socket))
        #expect(failure { _ = try tpm.device.unseal(object, until: .short) } == .timedOut)
        Thread.detachNewThread {
            usleep(100_000)
            holder.withLock { $0 = nil }
        }
        #expect(try tpm.device.unseal(object) == SecretBytes.sample(1).array)
    }

    // Promise: 11.9
    @Test func `A shared TPM may go away at any command`() throws {
        let object = try tpm.device.seal(1, pin: 2)
        let count = Mutex(0)
        var codes: [SystemError.Code?] = []
        for stop in 1...40 {
            let place = try TestFolder()
            let proxy = try TPMProxy(in: place, before: tpm.socket) { _, number in
                count.withLock { $0 = max($0, number) }
                return number == stop ? .hangUp : .pass
            }
            let device = TPMDevice(.socket(path: proxy.socket))
            let code = failure { _ = try device.unseal(object, pin: 2) }
            codes.append(code)
            if count.withLock({ $0 }) < stop { break }
            // What it left is in the way of the next one, which has to get by.
            #expect(try tpm.device.unseal(object, pin: 2) == SecretBytes.sample(1).array)
        }
        #expect(codes.last == .some(nil))
        #expect(codes.count > 8)
        // The last commands remove what was in use: the secret is out by then.
        #expect(codes.prefix(6).allSatisfy { $0 == .connectionLost })
        #expect(codes.allSatisfy { $0 == nil || $0 == .connectionLost })
    }

    @Test func `A shared TPM may be killed in the middle`() throws {
        let object = try tpm.device.seal(1)
        let proxy = try TPMProxy(in: folder, before: tpm.socket) {
            [identifier = tpm.identifier] _, number in
            if number == 3 { Glibc.kill(identifier, SIGKILL) }
            return .pass
        }
        let device = TPMDevice(.socket(path: proxy.socket))
        #expect(failure { _ = try device.unseal(object) } == .connectionLost)
        tpm.kill()
        try tpm.start()
        #expect(try tpm.device.unseal(object) == SecretBytes.sample(1).array)
    }

    // Promise: 17.4
    @Test func `A shared TPM is no use while it stands still`() throws {
        let object = try tpm.device.seal(1)
        tpm.stop()
        #expect(failure { _ = try tpm.device.unseal(object, until: .short) } == .timedOut)
        tpm.resume()
        #expect(try tpm.device.unseal(object) == SecretBytes.sample(1).array)
    }

    // Promise: 11.9
    @Test func `A shared TPM is used by the next process when one was killed`() throws {
        let reached = DispatchSemaphore(value: 0)
        let proxy = try TPMProxy(in: folder, before: tpm.socket) { code, _ in
            // TPM2_Load: key and session are in the TPM.
            guard code == 0x157 else { return .pass }
            reached.signal()
            return .silence
        }
        let object = try tpm.device.seal(1)
        for _ in 0..<3 {
            let process = try OtherProcess(proxy.socket, "rounds", "1")
            #expect(reached.wait(timeout: .now() + 60) == .success)
            process.kill()
            #expect(try RawTPM(tpm.socket).leftovers() > 0)
        }
        #expect(try tpm.device.unseal(object) == SecretBytes.sample(1).array)
    }

    // Promise: 11.9
    @Test func `A shared TPM is used by two processes and this one at once`() throws {
        let processes = try (0..<2).map { _ in try OtherProcess(tpm.socket, "rounds", "20") }
        let object = try tpm.device.seal(1)
        for _ in 0..<20 {
            #expect(try tpm.device.unseal(object) == SecretBytes.sample(1).array)
        }
        for process in processes { #expect(process.end().output == "ok") }
        #expect(try RawTPM(tpm.socket).leftovers() == 0)
    }

    @Test func `A shared TPM is used by many threads at once`() throws {
        let object = try tpm.device.seal(1)
        let device = tpm.device
        let wrong = Mutex(0)
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            if (try? device.unseal(object)) != SecretBytes.sample(1).array {
                wrong.withLock { $0 += 1 }
            }
        }
        #expect(wrong.withLock { $0 } == 0)
    }

    @Test func `A shared TPM is used although scripts have filled it`() throws {
        let object = try tpm.device.seal(1)
        for _ in 0..<3 { _ = try RawTPM(tpm.socket).makeStorageKey() }
        #expect(try tpm.device.unseal(object) == SecretBytes.sample(1).array)
    }

    @Test func `A shared TPM answers nonsense, and that is said`() throws {
        let object = try tpm.device.seal(1)
        let answers: [[UInt8]] = [
            [UInt8](repeating: 0xff, count: 10), [UInt8](repeating: 0, count: 12),
            [0x80, 1, 0, 0, 0, 10, 0, 0, 0, 0], [0x80, 1, 0, 0, 0, 12, 0, 0, 0, 0, 1, 2],
            [0x80, 1, 0, 0, 0, 11, 0, 0, 0, 0, 1, 2], [0x80, 1, 0xff, 0, 0, 0, 0, 0, 0, 0],
        ]
        for answer in answers {
            let place = try TestFolder()
            let proxy = try TPMProxy(in: place, before: tpm.socket) { _, _ in .answer(answer) }
            let device = TPMDevice(.socket(path: proxy.socket))
            let code = failure { _ = try device.unseal(object, until: .soon) }
            #expect(code == .malformedAnswer || code == .refused || code == .otherTPM, "\(answer)")
        }
    }

    // Promise: 18.1
    @Test func `A shared TPM writes nothing to standard error`() throws {
        let process = try OtherProcess(tpm.socket, "guess")
        let (output, errors) = process.end()
        #expect(output.hasPrefix("error wrongAuthorization"))
        #expect(errors == "")
    }
}
