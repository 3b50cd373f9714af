// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import ValetSync

/// The seeded model. `VALET_SYNC_SCHEDULES` sets the number of schedules, for a long run, and
/// `VALET_SYNC_SEED` runs the schedule of one seed and prints what it does.
@Suite struct `The model of sync` {
    private static let environment = ProcessInfo.processInfo.environment
    private static let count = environment["VALET_SYNC_SCHEDULES"].flatMap(UInt64.init) ?? 2_000
    private static let slices: UInt64 = 8
    private static let operationCount = 24

    @Test(arguments: 0..<slices)
    func `Every schedule keeps the invariants`(_ slice: UInt64) {
        var broken = 0
        for seed in 0..<Self.count where seed % Self.slices == slice && broken < 3 {
            let model = Model(seed: seed)
            let failures = model.run(operations: Self.operationCount)
            guard !failures.isEmpty else { continue }
            broken += 1
            Issue.record("seed \(seed), profile \(model.profile.rawValue): \(failures)")
        }
    }

    @Test(.enabled(if: environment["VALET_SYNC_SEED"] != nil))
    func `One schedule is printed`() throws {
        let seed = try #require(Self.environment["VALET_SYNC_SEED"].flatMap(UInt64.init))
        let model = Model(seed: seed)
        model.isTraced = true
        let failures = model.run(operations: Self.operationCount)
        print((model.history + failures).joined(separator: "\n"))
    }

    static let moving: ModelProfile = [.deaths, .delays, .locks, .classChanges]
    static let copying: ModelProfile = [.deaths, .delays, .copies, .restores]

    @Test(arguments: [
        (Rule.cloudOfCovers, copying), (.movedIsLeft, moving), (.coveredIsKept, moving),
        (.rowStaysWhileMoving, moving),
        (.greatestIsShown, moving), (.baseAddsUnseen, moving), (.baseRemovesSeen, moving),
        (.baseBringsNothingNew, moving), (.batchesFollow, copying),
        (.positionGoesBack, copying), (.bothHistoriesComeAnew, copying),
        (.unconfirmedIsTakenBack, copying),
    ])
    func `The model notices that a rule is missing`(_ rule: Rule, _ profile: ModelProfile) {
        #expect(notices(profile) { Model(seed: $0, without: rule, only: profile) })
    }

    @Test(arguments: ModelFlaw.allCases)
    func `The model notices a flaw of the caller`(_ flaw: ModelFlaw) {
        #expect(notices(Self.copying) { Model(seed: $0, flaw: flaw, only: Self.copying) })
    }

    private func notices(_ profile: ModelProfile, _ model: (UInt64) -> Model) -> Bool {
        (0..<UInt64(3_000)).contains { !model($0).run(operations: 32).isEmpty }
    }
}
