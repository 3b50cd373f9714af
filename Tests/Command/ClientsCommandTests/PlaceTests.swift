// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetCLI
import ValetKeychainModel
import ValetSystem

@testable import ValetClientsCommand

@Suite struct `The name of a server` {
    @Test(arguments: [
        ("GitHub.Example", "github.example"), ("example.com.", "example.com"), ("A.", "a"),
        ("a..", "a.."), (".", "."), ("", ""), ("My_Host", "my_host"), ("10.0.0.1", "10.0.0.1"),
        ("XN--BCHER-KVA.Example", "xn--bcher-kva.example"),
    ])
    func `has no capitals and no dot at its end`(_ text: String, _ canonical: String) {
        #expect(HostName.canonical(text) == canonical)
    }

    @Test(arguments: [
        ("b\u{FC}cher.example", "xn--bcher-kva.example"),
        ("BU\u{308}CHER.Example.", "xn--bcher-kva.example"),
        ("fa\u{DF}.de", "xn--fa-hia.de"),
        ("\u{4F8B}\u{3048}.\u{30C6}\u{30B9}\u{30C8}", "xn--r8jz45g.xn--zckzah"),
        ("b\u{FC}cher\u{3002}example", "xn--bcher-kva.example"),
        ("\u{FF45}xample.com", "example.com"), ("\u{440}\u{444}", "xn--p1ai"),
    ])
    func `is in ASCII if it is international, as browsers and curl have it`(
        _ text: String, _ canonical: String
    ) {
        #expect(HostName.canonical(text) == canonical)
    }

    @Test(arguments: [
        "good.example\u{FF0F}evil", "a\u{2488}b", "a\0\u{E9}",
        "\u{200D}\u{E9} x",
        "\u{301}a", String(repeating: "\u{E9}", count: 64),
    ])
    func `stays as it is if it is no international name`(_ text: String) {
        #expect(HostName.canonical(text) == text)
    }

    @Test(arguments: [
        ("::1", "[::1]"), ("[::1]", "[::1]"), ("[0:0:0:0:0:0:0:1]", "[::1]"),
        ("2001:DB8::A", "[2001:db8::a]"), ("[2001:db8:0:0::a]", "[2001:db8::a]"),
        ("::ffff:1.2.3.4", "[::ffff:1.2.3.4]"), ("[::1", "[::1"), ("1:2", "1:2"),
        ("[fe80::1%eth0]", "[fe80::1%eth0]"), ("[]", "[]"),
    ])
    func `has brackets and its shortest form if it is an IPv6 address`(
        _ text: String, _ canonical: String
    ) {
        #expect(HostName.canonical(text) == canonical)
    }

    @Test(arguments: [
        ("https", "a.example:443", 0), ("HTTPS", "a.example:0443", 0), ("http", "a.example:80", 0),
        ("ssh", "a:22", 0), ("ftp", "a:21", 0), ("imap", "a:143", 0), ("imaps", "a:993", 0),
        ("smtp", "a:25", 0), ("smtps", "a:465", 0), ("smtp", "a:587", 587), ("https", "a:80", 80),
        ("http", "a:443", 443), ("unknown", "a:443", 443), ("https", "[::1]:443", 0),
        ("https", "a:65536", 0), ("https", "a:", 0),
    ])
    func `has a port only if its protocol has another one`(
        _ scheme: String, _ host: String, _ port: UInt16
    ) throws {
        let place = try #require(LoginPlace(scheme: scheme, host: host, path: ""))
        #expect(place.port == port)
        #expect(place.scheme == scheme.lowercased())
    }

    @Test(arguments: ["", "htps", "HTPS", "ssh "])
    func `belongs to no protocol that would be taken for another one`(_ scheme: String) {
        #expect(LoginPlace(scheme: scheme, host: "a", path: "") == nil)
    }

    @Test func `of a stored item is read in any form, and written in one`() throws {
        let stored: ItemAttributes = [
            .server: .bytes(Array("GitHub.Example".utf8)), .protocol: .text("htps"),
            .port: .number(443), .path: .text("Org/One"), .account: .text("Ann"),
        ]
        #expect(
            stored.canonical == [
                .server: .text("github.example"), .protocol: .text("htps"), .port: .number(0),
                .path: .text("Org/One"), .account: .text("Ann"),
            ])
        #expect(stored.canonical.canonical == stored.canonical)
    }

    @Test(
        arguments: [
            [.server: .text("A"), .protocol: .number(0)], [.protocol: .text("htps")],
            [.server: .text("A"), .protocol: .text("htps"), .port: .number(65536)],
            [.server: .text("A"), .protocol: .text("htps"), .port: .number(-1)],
            [.server: .bytes([0xFF]), .protocol: .text("htps")], [.service: .text("A")],
        ] as [ItemAttributes])
    func `of an item without a protocol, or with a wrong port, stays as it is`(
        _ stored: ItemAttributes
    ) {
        #expect(stored.canonical == stored)
    }
}
