// SPDX-License-Identifier: Apache-2.0

public import Foundation

// What Apple's Foundation converts or declares, and Foundation on Linux does not. Each is
// disfavoured: a declaration that Foundation adds later takes its place.

extension String {
    /// The text of a constant or of another object.
    @_disfavoredOverload
    public init(_ string: NSString) {
        self = string as String
    }
}

extension NSMutableDictionary {
    /// Creates a dictionary with the contents of another.
    @_disfavoredOverload
    public convenience init(dictionary: NSDictionary) {
        self.init()
        addEntries(from: dictionary)
    }

    /// Adds the values of another dictionary, and replaces those under the same keys.
    @_disfavoredOverload
    public func addEntries(from dictionary: NSDictionary) {
        for case (let key as AnyHashable, let value) in dictionary {
            setObject(value, forKey: key)
        }
    }

    /// Sets a value. The key is an `NSCopying` object, and must also be hashable.
    @_disfavoredOverload
    public func setObject(_ object: Any, forKey key: any NSCopying) {
        guard let key = key as? AnyHashable else {
            preconditionFailure("a dictionary's key of type \(type(of: key)) is not hashable")
        }
        setObject(object, forKey: key)
    }

    /// Sets a value, or removes it for nil, by key-value coding.
    @_disfavoredOverload
    public func setValue(_ value: Any?, forKey key: String) {
        if let value {
            setObject(value, forKey: key as NSString)
        } else {
            removeObject(forKey: key as NSString)
        }
    }
}

extension NSDictionary {
    /// Reads a value by key-value coding.
    @_disfavoredOverload
    public func value(forKey key: String) -> Any? { object(forKey: key as NSString) }
}
