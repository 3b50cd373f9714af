// SPDX-License-Identifier: Apache-2.0

import Foundation
import Valet

/// A change of accessibility: a migration between two valets of one explicitly set identifier.
enum Moving {
    private static func valet(_ accessibility: Accessibility) -> Valet {
        guard let identifier = Identifier(nonEmpty: "moving") else {
            preconditionFailure("the identifier is not empty")
        }
        return Valet.valet(withExplicitlySet: identifier, accessibility: accessibility)
    }

    static func perform(_ words: [String]) throws -> String {
        let (old, new) = (valet(.whenUnlocked), valet(.afterFirstUnlock))
        switch words[0] {
        case "fill":
            for number in 0..<(Int(words[1]) ?? 0) {
                try old.setString("value \(number)", forKey: "\(number)")
            }
        case "run": try new.migrateObjects(from: old, removeOnCompletion: true)
        case "state": return "\(try count(old)) \(try count(new))"
        default: return "unknown"
        }
        return ""
    }

    /// How many keys there are that have their values.
    private static func count(_ valet: Valet) throws -> Int {
        try valet.allKeys().count { try valet.string(forKey: $0) == "value \($0)" }
    }
}
