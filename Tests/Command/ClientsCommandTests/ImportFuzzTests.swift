// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetCLI
import ValetSealing

@testable import ValetClientsCommand

/// How often each seed tries; scripts set `VALET_FUZZ_ROUNDS` to try longer.
let fuzzRounds =
    ProcessInfo.processInfo.environment["VALET_FUZZ_ROUNDS"].flatMap { Int($0) } ?? 300

/// A reader of a source, and inputs to begin with.
struct FuzzedSource: CustomTestStringConvertible, Sendable {
    let name: String
    let samples: [String]
    /// Pieces that change the meaning of what is around them.
    let pieces: [String]
    let read: @Sendable (SecretValue) throws(CLIError) -> ImportedItems

    var testDescription: String { name }

    static let all: [FuzzedSource] = [
        FuzzedSource(
            name: "csv", samples: Export.all.map(\.table),
            pieces: [",", ";", "\t", "\"", "\"\"", "\r", "\n", "\r\n", "sep=;\n", "http://sn"],
            read: { (input) throws(CLIError) in
                try LoginTable.items(in: InputText.decoded(input, "it"), .ofCommand)
            }),
        FuzzedSource(
            name: "json",
            samples: [
                #"{"items":[{"name":"a","login":{"password":"p","uris":[{"uri":"b"}]}}]}"#,
                #"[{"name":"a","notes":"\ud83d\udd11","fields":[{"name":"n","value":"v"}]}]"#,
                #"{"format":"valet-export-1","items":[{"class":"internet-password","port":1,"#
                    + #""server":"s","label":{"base64":"AAA="},"base64":"AAA="}]}"#,
                #"{"a":"1","b":[1,-2.5e3,true,null],"c":{"d":"\n"}}"#,
            ],
            pieces: ["{", "}", "[", "]", "\"", "\\", "\\u", "\\ud800", ",", ":", "1e9", "null"],
            read: { (input) throws(CLIError) in
                try JSONExport.items(in: InputText.decoded(input, "it"), .ofCommand)
            }),
        FuzzedSource(
            name: "exports of programs", samples: MakerExport.all.map(\.text),
            pieces: [
                "{", "}", "[", "]", "\"", "\\u", ",", ":", "\"item\":", "\"value\":{\"totp\":1}",
                "\n",
            ],
            read: { (input) throws(CLIError) in
                switch try FileForm(of: input, called: "it") {
                case .table: try LoginTable.items(in: input, .ofCommand)
                case .bitwarden, .onePassword, .object:
                    try JSONExport.items(in: input, .ofCommand)
                default: ImportedItems()
                }
            }),
        FuzzedSource(
            name: "entries of pass",
            samples: [
                "p\nuser: ann\nurl:https://a\notpauth://totp/a?secret=AB\n\nnote\n",
                "GOPASS-SECRET-1.0\nPassword: p\n\nbody", "p\r\n---\na: |\n b\n",
            ],
            pieces: [":", ": ", "\n", "\r\n", "#", "-", "otpauth://", "totp:", "---", "\0", "//"],
            read: { (input) throws(CLIError) in
                let entry = PassEntry(input)
                var found = ImportedItems()
                var item = ImportedItem("k", entry.value, in: .ofCommand, from: "k.gpg")
                item.fields = entry.fields
                try found.add(item)
                return found
            }),
        FuzzedSource(
            name: "netrc",
            samples: [
                "machine a login b password \"c\\\"\"\nmacdef x\n\ndefault\n",
                "machine a port 99 user b passwd c # d\r\nmacdef x\r\ny\r\n\r\nmachine e\r\n",
            ],
            pieces: [
                "machine ", "default ", "login ", "password ", "port ", "macdef ", "\"", "\\", "#",
                "\r\n", "\n\n", "99999999999999999999 ", "::1 ",
            ],
            read: { (input) throws(CLIError) in
                try NetrcText.items(in: InputText.decoded(input, "it"))
            }),
        FuzzedSource(
            name: "dotenv", samples: ["A=1\nexport B=\"x\\n\" # c\nC='y'\n"],
            pieces: ["=", "\"", "'", "#", "\\", "\n", "export "],
            read: { (input) throws(CLIError) in try DotenvText.items(in: input, .ofCommand) }),
        FuzzedSource(
            name: "macos-dump", samples: [`What is imported`.dump],
            pieces: ["keychain: ", "data:\n", "0x", "\"", "class: ", "    ", "<uint32>=0x", "\n"],
            read: { (input) throws(CLIError) in try KeychainDump.items(in: input) }),
    ]
}

@Suite struct `Random inputs of an import` {
    private static let value = "hunter2"

    // Promise: 4.4
    @Test(arguments: FuzzedSource.all, 0..<8 as Range<UInt64>)
    func `Random inputs of an import never end the process, and errors show no value`(
        _ source: FuzzedSource, _ seed: UInt64
    ) {
        var random = SplitMix(state: seed)
        for _ in 0..<fuzzRounds {
            var bytes = Array(source.samples.randomElement(using: &random)?.utf8 ?? "".utf8)
            for _ in 0...Int(random.next() % 4) {
                let piece = (source.pieces + [Self.value]).randomElement(using: &random) ?? ""
                bytes.insert(
                    contentsOf: piece.utf8, at: Int(random.next() % UInt64(bytes.count + 1)))
            }
            if random.next() % 2 == 0 { bytes = random.mutation(of: bytes) }
            do throws(CLIError) {
                let found = try source.read(SecretValue(copying: bytes.span))
                for item in found.items { _ = (item.description, item.primaryKey) }
            } catch {
                #expect(error.code == .damaged || error.code == .usage)
                #expect(!error.message.contains(Self.value))
            }
        }
    }

    @Test(arguments: 0..<4 as Range<UInt64>)
    func `Random inputs of an import of a store of pass are found or named`(_ seed: UInt64) throws {
        var random = SplitMix(state: seed)
        for _ in 0..<max(1, fuzzRounds / 50) {
            let folder = try TemporaryFolder()
            try folder.write("store/first.gpg")
            var folders = ["store"]
            var paths: Set<String> = ["first.gpg"]
            for number in 0..<20 {
                let parent = try #require(folders.randomElement(using: &random))
                let name = try #require(
                    ["a\(number)", ".b\(number)", "é\(number)", " "].randomElement(using: &random))
                let target = try #require(
                    (folders + ["/", "..", ".", "nowhere", "first.gpg"])
                        .randomElement(using: &random))
                switch random.next() % 4 {
                case 0:
                    let inner = "\(parent)/\(name)"
                    guard !paths.contains(relative(inner)) else { continue }
                    try folder.write("\(inner)/x.gpg")
                    folders.append(inner)
                    paths.formUnion([relative(inner), relative("\(inner)/x.gpg")])
                case 1:
                    guard paths.insert(relative("\(parent)/\(name)")).inserted else { continue }
                    try folder.link("\(parent)/\(name)", to: target)
                default:
                    guard paths.insert(relative("\(parent)/\(name).gpg")).inserted else { continue }
                    try folder.write("\(parent)/\(name).gpg")
                }
            }
            let (names, skipped) = try folder.listing()
            let isFolder = { (path: String) in folders.contains("store/\(path)") }
            for path in paths where !isFolder(path) {
                let isNamed =
                    names.contains { $0 == path || $0.hasPrefix("\(path)/") }
                    || skipped.contains { $0.hasPrefix(path) }
                #expect(isNamed, "\(path) vanishes")
            }
        }
    }

    private func relative(_ path: String) -> String { String(path.dropFirst("store/".count)) }
}
