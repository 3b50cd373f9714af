// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetCForkSupport
import ValetSystem

@Suite struct `The generation of a process` {
    @Test func `The generation of a process stays the same within one process`() {
        #expect(ProcessGeneration.current == ProcessGeneration.current)
    }

    @Test func `The generation of a process is never 0`() {
        #expect(ProcessGeneration.current != 0)
    }

    @Test(arguments: [false, true])
    func `The generation of a process is another in a child`(byBareClone: Bool) {
        let status = generationInChild(byBareClone: byBareClone)
        #expect(status > 0)
        #expect(status != Int32(ProcessGeneration.current))
    }

    @Test func `The generation of a process is the parent's own after a fork`() {
        let before = ProcessGeneration.current
        _ = generationInChild(byBareClone: false)
        #expect(ProcessGeneration.current == before)
    }

    @Test func `The generation of a process is another in a grandchild`() {
        let status = run_in_child(0) {
            let child = Int32(ProcessGeneration.current)
            let grandchild = run_in_child(1) { Int32(ProcessGeneration.current) }
            return grandchild > child ? 0 : 1
        }
        #expect(status == 0)
    }

    private func generationInChild(byBareClone: Bool) -> Int32 {
        run_in_child(byBareClone ? 1 : 0) { Int32(ProcessGeneration.current) }
    }
}
