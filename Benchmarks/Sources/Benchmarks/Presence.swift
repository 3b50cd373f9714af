// SPDX-License-Identifier: Apache-2.0

import Foundation
import Valet

/// What it costs to read what a person has allowed once.
struct Presence {
    private static let itemCount = 10

    private let plain = ValetStore.lockable("presence")
    private let asking: SinglePromptSecureEnclaveValet

    /// With items in both valets. `$VALET_PINENTRY` names the person.
    init(_ accessControl: SecureEnclaveAccessControl) throws {
        guard let identifier = Identifier(nonEmpty: "presence") else {
            preconditionFailure("a name")
        }
        asking = .valet(with: identifier, accessControl: accessControl)
        for number in 0..<Self.itemCount {
            let value = Data(sampleValue(number))
            try plain.setObject(value, forKey: Names.random(number))
            try asking.setObject(value, forKey: Names.random(number))
        }
        _ = try asking.object(forKey: Names.random(0), withPrompt: "measure")
    }

    /// Microseconds per read, of plain items and of those that somebody was asked for: the medians
    /// of eleven rounds, in turns.
    func read(_ count: Int) throws -> (plain: Double, asked: Double) {
        let keys = (0..<count).map { Names.random($0 % Self.itemCount) }
        var times: (plain: [Double], asked: [Double]) = ([], [])
        for _ in 0..<11 {
            times.plain.append(
                try microseconds(per: count) {
                    for key in keys { _ = try plain.object(forKey: key) }
                })
            times.asked.append(
                try microseconds(per: count) {
                    for key in keys { _ = try asking.object(forKey: key, withPrompt: "measure") }
                })
        }
        return (median(times.plain), median(times.asked))
    }

    /// Only what somebody was asked for, again and again: for profilers.
    func read(again count: Int) throws {
        for number in 0..<count {
            let key = Names.random(number % Self.itemCount)
            _ = try asking.object(forKey: key, withPrompt: "measure")
        }
    }
}
