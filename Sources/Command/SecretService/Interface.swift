// SPDX-License-Identifier: Apache-2.0

/// The D-Bus interfaces of the objects, with the types that their methods take.
enum Interface: String, CaseIterable, Sendable {
    case service = "org.freedesktop.Secret.Service"
    case collection = "org.freedesktop.Secret.Collection"
    case item = "org.freedesktop.Secret.Item"
    case session = "org.freedesktop.Secret.Session"
    case prompt = "org.freedesktop.Secret.Prompt"
    case portal = "org.freedesktop.impl.portal.Secret"
    case properties = "org.freedesktop.DBus.Properties"
    case introspection = "org.freedesktop.DBus.Introspectable"
    /// The library of the bus answers these calls, for every path.
    case peer = "org.freedesktop.DBus.Peer"

    /// What every object has besides its own.
    static let standard: [Interface] = [.properties, .introspection, .peer]

    /// A method: its name, and the types of its arguments and results.
    typealias Method = (name: String, takes: [String], gives: [String])

    var methods: [Method] {
        switch self {
        case .service:
            [
                ("OpenSession", ["s", "v"], ["v", "o"]),
                ("CreateCollection", ["a{sv}", "s"], ["o", "o"]),
                ("SearchItems", ["a{ss}"], ["ao", "ao"]), ("Unlock", ["ao"], ["ao", "o"]),
                ("Lock", ["ao"], ["ao", "o"]), ("GetSecrets", ["ao", "o"], ["a{o(oayays)}"]),
                ("ReadAlias", ["s"], ["o"]), ("SetAlias", ["s", "o"], []),
            ]
        case .collection:
            [
                ("Delete", [], ["o"]), ("SearchItems", ["a{ss}"], ["ao"]),
                ("CreateItem", ["a{sv}", "(oayays)", "b"], ["o", "o"]),
            ]
        case .item:
            [
                ("Delete", [], ["o"]), ("GetSecret", ["o"], ["(oayays)"]),
                ("SetSecret", ["(oayays)"], []),
            ]
        case .session: [("Close", [], [])]
        case .prompt: [("Prompt", ["s"], []), ("Dismiss", [], [])]
        case .portal: [("RetrieveSecret", ["o", "s", "h", "a{sv}"], ["u", "a{sv}"])]
        case .properties:
            [
                ("Get", ["s", "s"], ["v"]), ("GetAll", ["s"], ["a{sv}"]),
                ("Set", ["s", "s", "v"], []),
            ]
        case .introspection: [("Introspect", [], ["s"])]
        case .peer: [("Ping", [], []), ("GetMachineId", [], ["s"])]
        }
    }

    /// The properties, with their types.
    var properties: [(name: String, type: String, isWritable: Bool)] {
        switch self {
        case .service: [("Collections", "ao", false)]
        case .collection:
            [
                ("Items", "ao", false), ("Label", "s", true), ("Locked", "b", false),
                ("Created", "t", false), ("Modified", "t", false),
            ]
        case .item:
            [
                ("Locked", "b", false), ("Attributes", "a{ss}", true), ("Label", "s", true),
                ("Type", "s", false), ("Created", "t", false), ("Modified", "t", false),
            ]
        case .portal: [("version", "u", false)]
        case .session, .prompt, .properties, .introspection, .peer: []
        }
    }

    /// The signals, with the types of their arguments.
    var signals: [(name: String, types: [String])] {
        switch self {
        case .service:
            ["CollectionCreated", "CollectionDeleted", "CollectionChanged"].map { ($0, ["o"]) }
        case .collection: ["ItemCreated", "ItemDeleted", "ItemChanged"].map { ($0, ["o"]) }
        case .prompt: [("Completed", ["b", "v"])]
        case .properties: [("PropertiesChanged", ["s", "a{sv}", "as"])]
        case .item, .session, .portal, .introspection, .peer: []
        }
    }

    /// What `Introspect` returns for an object (D-Bus specification, "Introspection Data Format").
    static func description(of interfaces: [Interface], children: [String]) -> String {
        var lines = [
            #"<!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN""#,
            #" "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">"#, "<node>",
        ]
        for interface in interfaces {
            lines.append(#" <interface name="\#(interface.rawValue)">"#)
            for method in interface.methods {
                lines.append(#"  <method name="\#(method.name)">"#)
                lines += method.takes.map { #"   <arg type="\#($0)" direction="in"/>"# }
                lines += method.gives.map { #"   <arg type="\#($0)" direction="out"/>"# }
                lines.append("  </method>")
            }
            for signal in interface.signals {
                lines.append(#"  <signal name="\#(signal.name)">"#)
                lines += signal.types.map { #"   <arg type="\#($0)"/>"# }
                lines.append("  </signal>")
            }
            for property in interface.properties {
                let access = property.isWritable ? "readwrite" : "read"
                lines.append(
                    #"  <property name="\#(property.name)" type="\#(property.type)" "#
                        + #"access="\#(access)"/>"#)
            }
            lines.append(" </interface>")
        }
        lines += children.map { #" <node name="\#($0)"/>"# } + ["</node>", ""]
        return lines.joined(separator: "\n")
    }
}

extension ObjectPath {
    /// The interface of the object's kind. Every object also has ``Interface/standard``.
    var interface: Interface {
        switch self {
        case .service: .service
        case .collection, .alias: .collection
        case .item: .item
        case .session: .session
        case .prompt: .prompt
        }
    }
}
