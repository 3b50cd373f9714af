// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Synchronization

/// The objects whose addresses collections have lent, kept as long as the collections live.
///
/// A collection of Foundation on Linux keeps texts and data as Swift values, and makes a new object
/// for each reader. The reader expects the collection to own that object, so this keeps it.
struct Loans {
    // Sendable because a collection of Foundation may be read from every thread, and so may what it
    // lends.
    private struct Request: @unchecked Sendable {
        let value: Any
        let key: NSObject
        let lender: NSObject
    }

    private struct Loan {
        weak var lender: NSObject?
        var objects: [NSObject: AnyObject] = [:]
    }

    private var loans: [ObjectIdentifier: Loan] = [:]
    /// How many loans there may be before those of ended collections are dropped.
    private var limit = Self.smallestLimit

    private static let smallestLimit = 16
    private static let all = Mutex(Loans())

    /// The address of the object for `value`, which `lender` has under `key`. The same for the same
    /// value.
    static func address(
        of value: Any, under key: NSObject, lentBy lender: NSObject
    ) -> UInt {
        let request = Request(value: value, key: key, lender: lender)
        return all.withLock { all in
            UInt(bitPattern: ObjectIdentifier(all.object(for: request)))
        }
    }

    private mutating func object(for request: Request) -> AnyObject {
        let name = ObjectIdentifier(request.lender)
        // Another collection may have had the same address.
        let earlier = loans[name].flatMap { $0.lender === request.lender ? $0 : nil }
        var loan = earlier ?? Loan(lender: request.lender)
        let object = request.value as AnyObject
        if let known = loan.objects[request.key], CFEqual(known, object) { return known }
        loan.objects[request.key] = object
        dropOldLoans()
        loans[name] = loan
        return object
    }

    private mutating func dropOldLoans() {
        guard loans.count >= limit else { return }
        loans = loans.filter { $0.value.lender != nil }
        limit = max(Self.smallestLimit, 2 * loans.count)
    }
}
