// swift-tools-version: 6.3
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// Our own builds, those of scripts/build. In them alone warnings are errors, because a newer compiler
// must not break the builds of users. They have all traits, also where a test's package depends on
// this one, so that this one is built once.
let isStrict = Context.environment["VALET_STRICT"] == "1"
let traits: Set<Trait> = [
    .trait(name: "TPM", description: "Keys in a TPM 2.0, through tpm2-tss (libtss2-dev)"),
    .trait(
        name: "Fingerprint",
        description: "Fingerprints, through fprintd; libsystemd is loaded when it is needed"),
]

let strict: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .strictMemorySafety(),
    ] + (isStrict ? [.treatAllWarnings(as: .error)] : [])

// What code imports under its own name. No package graph may have two targets of one name, so that
// all others have a prefix, which their folders do not have.
let productNames: Set = ["Valet", "KeychainSwift", "LocalAuthentication", "Security"]

// The floors of the house, the lowest first: a module imports those of its own floor and of those
// below (docs/ARCHITECTURE.md). Each is a folder of Sources.
let floors = [
    "Platform": [
        "CCurl", "CLinux", "CSQLite", "CSodium", "CTPM2", "CWordList", "Database", "Sealing",
        "System", "TPM", "UserPresence",
    ],
    "Keychain": [
        "KeychainDatabase", "KeychainModel", "KeychainServices", "KeychainStore", "Keys",
    ],
    "Libraries": [
        "AppleKeychainRequests", "CInterface", "CInterfaceHeader", "CoreFoundationNames",
        "KeychainSwift", "LocalAuthentication", "SecItem", "Security", "Valet", "ValetTesting",
    ],
    "Sync": ["Sync", "SyncAgent", "SyncStores"],
    "Command": ["ClientsCommand", "SecretService", "SyncCommand", "ValetCLI", "ValetCommand"],
]

func floor(_ folder: String) -> String {
    floors.first { $0.value.contains(folder) }?.key ?? "no floor"
}

func path(_ folder: String) -> String { "Sources/\(floor(folder))/\(folder)" }

func targetName(_ folder: String) -> String {
    productNames.contains(folder) || folder.hasPrefix("Valet") ? folder : "Valet" + folder
}

func dependencies(_ folders: [String]) -> [Target.Dependency] {
    folders.map { .target(name: targetName($0)) }
}

func system(_ folder: String, pkgConfig: String? = nil, apt: String? = nil) -> Target {
    .systemLibrary(
        name: targetName(folder), path: path(folder), pkgConfig: pkgConfig,
        providers: apt.map { [.apt([$0])] })
}

/// `optional`: folders of modules that the library needs only with a trait, by that trait.
func library(
    _ folder: String, _ folders: [String] = [], optional: [String: String] = [:]
) -> Target {
    .target(
        name: targetName(folder),
        dependencies: dependencies(folders)
            + optional.map {
                .target(name: targetName($0.value), condition: .when(traits: [$0.key]))
            },
        path: path(folder), swiftSettings: strict)
}

/// A command is started for each secret. It starts faster with relocations in a tenth of the room,
/// without a table of symbols that nobody looks up, and with what Swift's runtime needs of C++
/// inside: the loader takes a sixth of a start for the shared library. The toolchain brings this
/// linker.
let quickStart: [LinkerSetting] = [
    .unsafeFlags(
        [
            "-use-ld=lld", "-Xlinker", "-z", "-Xlinker", "pack-relative-relocs",
            "-Xlinker", "--no-export-dynamic", "-Xclang-linker", "-static-libgcc",
            "-L\(Context.packageDirectory)/scripts/link",
        ], .when(platforms: [.linux], configuration: .release))
]

func program(_ folder: String, _ folders: [String]) -> Target {
    .executableTarget(
        name: targetName(folder), dependencies: dependencies(folders), path: path(folder),
        swiftSettings: strict, linkerSettings: quickStart)
}

func testSupport(_ folder: String, _ folders: [String] = []) -> Target {
    .target(
        name: targetName(folder), dependencies: dependencies(folders),
        path: "Tests/Support/" + folder,
        swiftSettings: strict)
}

func testAgent(_ folder: String, _ folders: [String]) -> Target {
    .executableTarget(
        name: targetName(folder), dependencies: dependencies(folders),
        path: "Tests/Support/" + folder,
        swiftSettings: strict)
}

/// `module`: the module that is tested, unless it has the name of the tests.
func tests(
    _ subject: String, of module: String? = nil, _ folders: [String], exclude: [String] = []
) -> Target {
    .testTarget(
        name: targetName(subject + "Tests"),
        dependencies: dependencies([module ?? subject] + folders),
        path: "Tests/\(floor(module ?? subject))/\(subject)Tests", exclude: exclude,
        swiftSettings: strict)
}

// In dependency order; docs/ARCHITECTURE.md says what each module may use.
var targets: [Target] = []
var products: [Product] = [
    .library(name: "Valet", targets: ["Valet"]),
    .library(name: "KeychainSwift", targets: ["KeychainSwift"]),
]

#if os(Linux)
    let sync = library("Sync", ["KeychainModel", "Keys", "Sealing", "System"])
    // Tests leave out one rule of the algorithm at a time. Releases have no such switch.
    sync.swiftSettings = strict + [.define("SYNC_RULES", .when(configuration: .debug))]
    let database = library(
        "KeychainDatabase", ["Database", "KeychainModel", "Keys", "Sealing", "System", "TPM"])
    let sealing = library("Sealing", ["CSodium", "CWordList", "System"])
    // Tests set hundreds of passcodes, at a cost of their own. Releases, and builds of users, have
    // no such switch.
    if isStrict {
        for target in [sealing, database] {
            target.swiftSettings =
                strict + [.define("LOWEST_COST", .when(configuration: .debug))]
        }
    }
    products += [
        .library(name: "LocalAuthentication", targets: ["LocalAuthentication"]),
        .library(name: "Security", targets: ["Security"]),
        .library(name: "ValetTesting", targets: ["ValetTesting"]),
        // For Bindings/C, which makes libvalet of it: `package` access ends at a package's border.
        .library(name: "CInterface", targets: ["ValetCInterface"]),
        .executable(name: "valet", targets: ["ValetCommand"]),
        .executable(name: "valet-sync", targets: ["ValetSyncCommand"]),
    ]
    targets += [
        system("CSodium", pkgConfig: "libsodium", apt: "libsodium-dev"),
        system("CSQLite", pkgConfig: "sqlite3", apt: "libsqlite3-dev"),
        system("CLinux"),
        system("CTPM2", apt: "libtss2-dev"),
        system("CCurl"),
        system("CWordList"),
        system("CInterfaceHeader"),
        library("System", ["CLinux"]),
        sealing,
        library("KeychainModel", ["Sealing", "System"]),
        library("Database", ["CSQLite", "System"]),
        library("UserPresence", ["CLinux", "Sealing", "System"]),
        library(
            "TPM", ["CLinux", "Sealing", "System"], optional: ["TPM": "CTPM2"]),
        library("Keys", ["CLinux", "KeychainModel", "Sealing", "System"]),
        sync,
        library("SyncStores", ["CCurl", "Database", "KeychainModel", "Sealing", "Sync", "System"]),
        database,
        library(
            "KeychainStore",
            [
                "Database", "KeychainDatabase", "KeychainModel", "Keys", "Sealing", "System",
            ]),
        library(
            "SyncAgent",
            [
                "KeychainDatabase", "KeychainModel", "KeychainStore", "Sealing", "Sync", "System",
            ]),
        library(
            "KeychainServices",
            [
                "KeychainDatabase", "KeychainModel", "KeychainStore", "Sealing", "System",
                "UserPresence",
            ]),
        library(
            "SecItem",
            [
                "KeychainDatabase", "KeychainModel", "KeychainServices", "KeychainStore", "Sealing",
                "System",
            ]),
        library("CoreFoundationNames", ["KeychainModel", "KeychainServices", "SecItem"]),
        library("AppleKeychainRequests", ["CoreFoundationNames", "KeychainModel", "SecItem"]),
        library(
            "Valet",
            [
                "AppleKeychainRequests", "KeychainModel", "KeychainServices", "KeychainStore",
                "Sealing", "SecItem",
            ]),
        library(
            "KeychainSwift",
            [
                "AppleKeychainRequests", "KeychainModel", "KeychainServices", "KeychainStore",
                "Sealing", "SecItem",
            ]),
        library(
            "ValetTesting",
            ["KeychainDatabase", "KeychainModel", "KeychainServices", "KeychainStore"]),
        library(
            "LocalAuthentication",
            ["CoreFoundationNames", "KeychainModel", "KeychainServices", "SecItem"]),
        library(
            "Security", ["CoreFoundationNames", "KeychainModel", "KeychainServices", "SecItem"]),
        library(
            "ValetCLI",
            [
                "CLinux", "KeychainModel", "KeychainServices", "KeychainStore", "Sealing", "System",
                "UserPresence",
            ]),
        library(
            "CInterface",
            [
                "CInterfaceHeader", "KeychainModel", "KeychainServices", "KeychainStore", "Sealing",
                "System", "UserPresence",
            ]),
        library(
            "ClientsCommand",
            [
                "KeychainModel", "KeychainServices", "KeychainStore", "Sealing", "System",
                "ValetCLI",
            ]),
        library(
            "SecretService",
            [
                "KeychainModel", "KeychainServices", "KeychainStore", "Sealing", "System",
                "ValetCLI",
            ]),
        program("ValetCommand", ["ClientsCommand", "SecretService", "ValetCLI"]),
        program(
            "SyncCommand",
            [
                "KeychainModel", "KeychainServices", "KeychainStore", "Keys", "Sealing", "Sync",
                "SyncAgent", "SyncStores", "System", "ValetCLI",
            ]),
        testSupport("CForkSupport"),
        testSupport("TestValues"),
        testSupport(
            "TestSupport",
            [
                "Database", "KeychainDatabase", "KeychainModel", "KeychainServices",
                "KeychainStore", "Sealing", "System", "TPM",
            ]),
        testSupport("CommandTestSupport", ["ValetCLI"]),
        testSupport("SystemSupport", ["System", "TestValues"]),
        tests("System", ["CForkSupport", "SystemSupport", "TestValues"]),
        tests("Database", ["System", "SystemSupport", "TestValues"]),
        tests(
            "SecretMemory", of: "Sealing", ["CForkSupport", "System"]),
        tests(
            "UserPresence", ["Sealing", "System", "TestValues", "ValetTestAgent"],
            exclude: ["fake-pinentry", "person.py"]),
        tests(
            "Fingerprint", of: "UserPresence",
            [
                "KeychainDatabase", "KeychainModel", "KeychainServices", "KeychainStore", "Sealing",
                "SecItem", "System", "TestValues", "ValetTestAgent",
            ]),
        tests("Sealing", ["System", "TestValues"]),
        testSupport(
            "KeyTestSupport",
            ["KeychainModel", "Keys", "Sealing", "System", "TPM", "TestValues"]),
        tests(
            "TPM",
            ["KeyTestSupport", "Sealing", "System", "TestValues", "ValetTestAgent"]),
        testSupport("SyncSupport", ["KeychainModel", "Sync", "System"]),
        tests("KeychainModel", ["TestValues"]),
        tests("Keybag", of: "Keys", ["KeychainModel", "Sealing", "System", "TestValues"]),
        tests(
            "Backup", of: "KeychainStore", ["KeychainModel", "Sealing", "System", "TestValues"]),
        tests(
            "Sync",
            ["KeychainModel", "Keys", "Sealing", "TestValues"]),
        tests(
            "SyncStores",
            [
                "KeychainModel", "Sealing", "Sync", "SyncSupport", "System", "SystemSupport",
                "TestValues",
            ]),
        tests(
            "SyncAgent",
            [
                "KeychainDatabase", "KeychainModel", "KeychainStore", "Sealing", "Sync",
                "SyncSupport", "System", "TestValues",
            ]),
        tests(
            "LockState", of: "Keys",
            [
                "CForkSupport", "CLinux", "KeyTestSupport", "KeychainModel", "Sealing", "System",
                "TestValues", "ValetTestAgent",
            ]),
        tests(
            "KeychainStore",
            [
                "Database", "KeyTestSupport", "KeychainDatabase", "KeychainModel", "Keys",
                "Sealing", "System", "SystemSupport", "TPM", "TestSupport", "TestValues",
            ]),
        tests(
            "KeychainSync", of: "SyncAgent",
            [
                "Database", "KeychainDatabase", "KeychainModel", "KeychainStore", "Sealing", "Sync",
                "System", "TestSupport",
            ]),
        tests(
            "KeychainServices",
            [
                "KeychainDatabase", "KeychainModel", "KeychainStore", "Sealing", "SyncAgent",
                "TestSupport",
            ]),
        tests(
            "SecItem",
            [
                "KeychainDatabase", "KeychainModel", "KeychainServices", "KeychainStore",
                "LocalAuthentication", "Sealing", "Security", "System", "TestSupport", "TestValues",
                "UserPresence",
            ]),
        tests(
            "Valet",
            [
                "AppleKeychainRequests", "KeychainDatabase", "KeychainModel", "KeychainServices",
                "KeychainStore", "Sealing", "SecItem", "System", "TestSupport", "TestValues",
                "UserPresence",
            ]),
        tests(
            "AppleKeychainRequests", ["KeychainModel"]),
        tests(
            "KeychainSwift",
            [
                "KeychainModel", "KeychainServices", "SecItem", "TestSupport", "Valet",
                "ValetTesting",
            ]),
        tests(
            "ValetTesting",
            [
                "KeychainDatabase", "KeychainModel", "KeychainServices", "KeychainStore",
                "KeychainSwift", "Sealing", "Security", "TestSupport", "Valet",
            ]),
        tests(
            "ValetCLI",
            [
                "CommandTestSupport", "Database", "KeyTestSupport", "KeychainDatabase",
                "KeychainModel", "KeychainServices", "KeychainStore", "Sealing", "System", "TPM",
                "TestValues", "UserPresence", "ValetCommand",
            ],
            exclude: ["scripts", "terminal.py"]),
        tests(
            "SecretService",
            [
                "KeychainModel", "KeychainServices", "KeychainStore", "Sealing", "System",
                "TestSupport",
            ]),
        tests(
            "SyncCommand",
            ["CommandTestSupport", "KeychainModel", "Sync", "SyncAgent", "ValetCLI"]),
        tests(
            "ClientsCommand",
            [
                "CommandTestSupport", "Database", "KeychainModel", "KeychainStore", "Sealing",
                "System", "ValetCLI",
            ]),
        testAgent(
            "ValetTestAgent",
            [
                "CForkSupport", "CLinux", "CoreFoundationNames", "Database", "KeyTestSupport",
                "KeychainDatabase", "KeychainModel", "KeychainServices", "KeychainStore", "Keys",
                "Sealing", "SecItem", "System", "TPM", "UserPresence", "Valet",
            ]),
        .testTarget(
            name: targetName("IntegrationTests"),
            dependencies: dependencies(["SyncCommand", "ValetCommand", "ValetTestAgent"]),
            path: "Tests/IntegrationTests", exclude: ["scenarios"], swiftSettings: strict),
    ]
#else
    let valet = library("Valet", ["AppleKeychainRequests", "KeychainModel"])
    valet.exclude = ["StoreKeychain.swift", "KeyChanges.swift"]
    let keychainSwift = library("KeychainSwift", ["AppleKeychainRequests", "KeychainModel"])
    keychainSwift.exclude = ["StorePasswords.swift"]
    let model = library("KeychainModel")
    model.exclude = ["Linux"]
    targets += [model, library("AppleKeychainRequests", ["KeychainModel"]), valet, keychainSwift]
#endif

// Names of test targets, separated by commas: only these are built, which links faster.
if let only = Context.environment["VALET_ONLY_TESTS"]?.split(separator: ",").map(String.init) {
    targets.removeAll { $0.type == .test && !only.contains($0.name) }
}

let package = Package(
    name: "Valet",
    platforms: [.macOS(.v10_13), .iOS(.v12), .tvOS(.v12), .watchOS(.v4)],
    products: products,
    traits: traits.union(isStrict ? [.default(enabledTraits: Set(traits.map(\.name)))] : []),
    targets: targets,
    swiftLanguageModes: [.v6]
)
