// SPDX-License-Identifier: Apache-2.0

// How Swift's types become classes of Apple's Foundation. Type-checked, never run: every body does
// as little as the compiler accepts.

@_exported import Foundation

public struct Data: Hashable, Sendable {
    public init() {}
    public init(_ bytes: some Sequence<UInt8>) {}
}

extension Data: _ObjectiveCBridgeable {
    public func _bridgeToObjectiveC() -> NSData { NSData() }
    public static func _forceBridgeFromObjectiveC(_ source: NSData, result: inout Self?) {}
    public static func _conditionallyBridgeFromObjectiveC(
        _ source: NSData, result: inout Self?
    ) -> Bool { true }
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSData?) -> Self { Data() }
}

extension String: _ObjectiveCBridgeable {
    public func _bridgeToObjectiveC() -> NSString { NSString() }
    public static func _forceBridgeFromObjectiveC(_ source: NSString, result: inout Self?) {}
    public static func _conditionallyBridgeFromObjectiveC(
        _ source: NSString, result: inout Self?
    ) -> Bool { true }
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSString?) -> Self { "" }
}

extension Set: _ObjectiveCBridgeable {
    public func _bridgeToObjectiveC() -> NSSet { NSSet() }
    public static func _forceBridgeFromObjectiveC(_ source: NSSet, result: inout Self?) {}
    public static func _conditionallyBridgeFromObjectiveC(
        _ source: NSSet, result: inout Self?
    ) -> Bool { true }
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSSet?) -> Self { [] }
}

extension Dictionary: _ObjectiveCBridgeable {
    public func _bridgeToObjectiveC() -> NSDictionary { NSDictionary() }
    public static func _forceBridgeFromObjectiveC(_ source: NSDictionary, result: inout Self?) {}
    public static func _conditionallyBridgeFromObjectiveC(
        _ source: NSDictionary, result: inout Self?
    ) -> Bool { true }
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSDictionary?) -> Self {
        [:]
    }
}

extension AnyHashable: _ObjectiveCBridgeable {
    public func _bridgeToObjectiveC() -> NSObject { NSObject() }
    public static func _forceBridgeFromObjectiveC(_ source: NSObject, result: inout Self?) {}
    public static func _conditionallyBridgeFromObjectiveC(
        _ source: NSObject, result: inout Self?
    ) -> Bool { true }
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSObject?) -> Self { "" }
}
