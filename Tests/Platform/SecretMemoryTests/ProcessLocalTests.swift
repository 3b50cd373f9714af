// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import Testing
import ValetCForkSupport
import ValetSealing
import ValetSystem

@Suite struct `A value that each process has its own of` {
    private final class Box: Sendable {
        let generation = ProcessGeneration.current
    }

    private final class Witness {
        weak var box: Box?
    }

    @Test func `A process makes its value once, and it is freed with its holder`() {
        let witness = Witness()
        var local: ProcessLocal<Box>? = ProcessLocal { _ in Box() }
        witness.box = local?.value
        #expect(witness.box != nil)
        #expect(witness.box === local?.value)
        local = nil
        #expect(witness.box == nil)
    }

    @Test func `A value that each process has its own of is made by one of many threads`() async {
        let witness = Witness()
        let count = Atomic<Int>(0)
        do {
            let local = ProcessLocal<Box> { _ in
                count.add(1, ordering: .relaxed)
                // Long enough for the others to come in between.
                usleep(20_000)
                return Box()
            }
            let boxes = await withTaskGroup { group in
                for _ in 0..<8 { group.addTask { ObjectIdentifier(local.value) } }
                return await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(boxes.count == 1)
            witness.box = local.value
        }
        #expect(count.load(ordering: .relaxed) == 1)
        #expect(witness.box == nil)
    }

    private struct Inherited {
        var local: ProcessLocal<Box>?
        weak var box: Box?
    }

    private static let inherited = Mutex(Inherited())

    @Test(.serialized, arguments: [false, true])
    func `A child never frees the value of its parent process`(_ makesItsOwn: Bool) {
        Self.inherited.withLock { inherited in
            let local = ProcessLocal<Box> { _ in Box() }
            inherited = Inherited(local: local, box: local.value)
        }
        let status =
            makesItsOwn
            ? run_in_child(0) { Self.drop(true) } : run_in_child(0) { Self.drop(false) }
        #expect(status == 0)
        #expect(Self.inherited.withLock { $0.box != nil })
    }

    /// Lets go of what was inherited; 0 if only what this process has made was freed.
    private static func drop(_ makesItsOwn: Bool) -> Int32 {
        inherited.withLock { inherited in
            weak let own = makesItsOwn ? inherited.local?.value : nil
            guard (own != nil) == makesItsOwn, own == nil || own !== inherited.box else { return 1 }
            inherited.local = nil
            return own == nil && inherited.box != nil ? 0 : 2
        }
    }
}
