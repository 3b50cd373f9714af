// swift-tools-version: 6.3
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// Warnings are errors in our own builds only: a newer compiler must not break the builds of users.
let isStrict = Context.environment["VALET_STRICT"] == "1"

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

func targetName(_ folder: String) -> String {
    productNames.contains(folder) || folder.hasPrefix("Valet") ? folder : "Valet" + folder
}

func dependencies(_ folders: [String]) -> [Target.Dependency] {
    folders.map { .target(name: targetName($0)) }
}

func system(_ folder: String, pkgConfig: String? = nil, apt: String? = nil) -> Target {
    .systemLibrary(
        name: targetName(folder), path: "Sources/" + folder, pkgConfig: pkgConfig,
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
        path: "Sources/" + folder, swiftSettings: strict)
}

func testSupport(_ folder: String, _ folders: [String] = []) -> Target {
    .target(
        name: targetName(folder), dependencies: dependencies(folders), path: "Tests/" + folder,
        swiftSettings: strict)
}

func testAgent(_ folder: String, _ folders: [String]) -> Target {
    .executableTarget(
        name: targetName(folder), dependencies: dependencies(folders), path: "Tests/" + folder,
        swiftSettings: strict)
}

func tests(_ subject: String, _ folders: [String], exclude: [String] = []) -> Target {
    .testTarget(
        name: targetName(subject + "Tests"), dependencies: dependencies([subject] + folders),
        path: "Tests/\(subject)Tests", exclude: exclude, swiftSettings: strict)
}

// In dependency order; docs/ARCHITECTURE.md says what each module may use.
var targets: [Target] = []
var products: [Product] = [
    .library(name: "Valet", targets: ["Valet"]),
    .library(name: "KeychainSwift", targets: ["KeychainSwift"]),
]

#if os(Linux)
    let sync = library("Sync", ["KeychainModel", "Keybag", "SecretMemory", "Sealing"])
    // Tests leave out one rule of the algorithm at a time. Releases have no such switch.
    sync.swiftSettings = strict + [.define("SYNC_RULES", .when(configuration: .debug))]
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
        system("CInterfaceHeader"),
        library("SecretMemory", ["CSodium", "CLinux", "System"]),
        library("Sealing", ["CSodium", "SecretMemory"]),
        library("System", ["CLinux"]),
        library("KeychainModel", ["System"]),
        library("Database", ["CSQLite", "System"]),
        library("UserPresence", ["CLinux", "SecretMemory", "System"]),
        library("Fingerprint", ["Sealing", "System"]),
        library(
            "TPM", ["CLinux", "SecretMemory", "Sealing", "System"], optional: ["TPM": "CTPM2"]),
        library("Keybag", ["KeychainModel", "SecretMemory", "Sealing", "System"]),
        library(
            "LockState",
            ["CLinux", "KeychainModel", "Keybag", "SecretMemory", "Sealing", "System"]),
        library("Backup", ["KeychainModel", "SecretMemory", "Sealing", "System"]),
        sync,
        library("SyncStores", ["KeychainModel", "Sealing", "SecretMemory", "Sync", "System"]),
        library(
            "EtcdStore",
            [
                "CCurl", "Database", "KeychainModel", "SecretMemory", "Sync", "SyncStores",
                "System",
            ]),
        library(
            "KeychainRows",
            ["Database", "KeychainModel", "Keybag", "SecretMemory", "Sealing", "System"]),
        library(
            "KeychainKeys",
            [
                "Database", "KeychainModel", "KeychainRows", "Keybag", "LockState",
                "SecretMemory", "Sealing", "System", "TPM",
            ]),
        library(
            "KeychainStore",
            [
                "Backup", "Database", "KeychainKeys", "KeychainModel", "KeychainRows", "Keybag",
                "LockState", "SecretMemory", "Sealing", "System", "TPM",
            ]),
        library(
            "KeychainSync",
            [
                "Database", "KeychainKeys", "KeychainModel", "KeychainRows", "KeychainStore",
                "Keybag", "SecretMemory", "Sealing", "Sync", "System",
            ]),
        library(
            "SyncAgent",
            [
                "Keybag", "KeychainKeys", "KeychainModel", "KeychainRows", "KeychainStore",
                "KeychainSync", "Sealing", "Sync", "SyncStores", "System",
            ]),
        library(
            "KeychainServices",
            [
                "KeychainKeys", "KeychainModel", "KeychainRows", "KeychainStore", "SecretMemory",
                "System", "UserPresence",
            ], optional: ["Fingerprint": "Fingerprint"]),
        library(
            "SecItem",
            [
                "KeychainModel", "KeychainRows", "KeychainServices", "KeychainStore",
                "SecretMemory", "System",
            ]),
        library("CoreFoundationNames", ["KeychainModel", "KeychainServices", "SecItem"]),
        library("SecItemRequests", ["CoreFoundationNames", "KeychainModel", "SecItem"]),
        library(
            "Valet",
            [
                "KeychainModel", "KeychainServices", "KeychainStore", "SecItem", "SecItemRequests",
                "SecretMemory",
            ]),
        library(
            "KeychainSwift",
            [
                "KeychainModel", "KeychainServices", "KeychainStore", "SecItem", "SecItemRequests",
                "SecretMemory",
            ]),
        library(
            "ValetTesting",
            [
                "KeychainKeys", "KeychainModel", "KeychainRows", "KeychainServices",
                "KeychainStore",
            ]),
        library(
            "LocalAuthentication",
            ["CoreFoundationNames", "KeychainModel", "KeychainServices", "SecItem"]),
        library(
            "Security", ["CoreFoundationNames", "KeychainModel", "KeychainServices", "SecItem"]),
        library(
            "ValetCLI",
            [
                "CLinux", "KeychainKeys", "KeychainModel", "KeychainServices", "KeychainStore",
                "SecretMemory", "System", "UserPresence",
            ]),
        library(
            "CInterface",
            [
                "CInterfaceHeader", "KeychainModel", "KeychainServices", "KeychainStore",
                "SecretMemory", "System", "UserPresence",
            ]),
        library(
            "ClientsCommand",
            [
                "Database", "KeychainModel", "KeychainServices", "KeychainStore", "SecretMemory",
                "System", "UserPresence", "ValetCLI",
            ]),
        .executableTarget(
            name: "ValetCommand", dependencies: dependencies(["ClientsCommand", "ValetCLI"]),
            swiftSettings: strict),
        .executableTarget(
            name: "ValetSyncCommand",
            dependencies: dependencies([
                "EtcdStore", "Keybag", "KeychainKeys", "KeychainModel", "KeychainServices",
                "KeychainStore", "KeychainSync", "SecretMemory", "Sync", "SyncAgent", "SyncStores",
                "System", "UserPresence", "ValetCLI",
            ]), path: "Sources/SyncCommand", swiftSettings: strict),
        testSupport("CForkSupport"),
        testSupport("TestValues"),
        testSupport(
            "TestSupport",
            ["KeychainKeys", "KeychainModel", "KeychainServices", "KeychainStore", "SecretMemory"]),
        testSupport("CommandTestSupport", ["ValetCLI"]),
        testSupport("SystemSupport", ["System", "TestValues"]),
        tests("System", ["CForkSupport", "SystemSupport", "TestValues"]),
        tests("Database", ["System", "SystemSupport", "TestValues"]),
        tests("SecretMemory", ["CForkSupport", "System"]),
        tests(
            "UserPresence", ["SecretMemory", "System", "TestValues", "ValetTestAgent"],
            exclude: ["fake-pinentry", "person.py"]),
        tests(
            "Fingerprint",
            [
                "KeychainKeys", "KeychainModel", "KeychainRows", "KeychainServices",
                "KeychainStore", "SecItem", "SecretMemory", "System", "TestValues", "UserPresence",
                "ValetTestAgent",
            ]),
        tests("Sealing", ["SecretMemory", "TestValues"]),
        testSupport(
            "KeyTestSupport",
            ["KeychainModel", "Keybag", "LockState", "Sealing", "System", "TPM", "TestValues"]),
        tests(
            "TPM",
            [
                "KeyTestSupport", "SecretMemory", "Sealing", "System", "TestValues",
                "ValetTestAgent",
            ]),
        testSupport("SyncSupport", ["Sync", "SyncStores", "System"]),
        tests("KeychainModel", ["TestValues"]),
        tests("Keybag", ["KeychainModel", "SecretMemory", "Sealing", "TestValues"]),
        tests("Backup", ["KeychainModel", "SecretMemory", "Sealing", "System", "TestValues"]),
        tests(
            "Sync",
            ["KeychainModel", "Keybag", "SecretMemory", "Sealing", "SyncStores", "TestValues"]),
        tests(
            "SyncStores",
            [
                "EtcdStore", "KeychainModel", "SecretMemory", "Sync", "SyncSupport", "System",
                "SystemSupport", "TestValues",
            ]),
        tests(
            "SyncAgent",
            [
                "Keybag", "KeychainKeys", "KeychainModel", "KeychainRows", "KeychainStore",
                "KeychainSync", "Sealing", "SecretMemory", "Sync", "SyncStores", "SyncSupport",
                "System", "TestValues",
            ]),
        tests(
            "LockState",
            [
                "CForkSupport", "CLinux", "KeyTestSupport", "KeychainModel", "Keybag",
                "SecretMemory", "Sealing", "System", "TestValues", "ValetTestAgent",
            ]),
        tests(
            "KeychainStore",
            [
                "Database", "KeyTestSupport", "Keybag", "KeychainKeys", "KeychainModel",
                "KeychainRows", "LockState", "Sealing", "SecretMemory", "System", "SystemSupport",
                "TPM", "TestValues",
            ]),
        tests(
            "KeychainSync",
            [
                "Database", "KeychainKeys", "KeychainModel", "KeychainRows", "KeychainStore",
                "SecretMemory", "Sync", "System", "TestSupport",
            ]),
        tests(
            "KeychainServices",
            [
                "KeychainKeys", "KeychainModel", "KeychainStore", "KeychainSync", "Sealing",
                "SecretMemory", "TestSupport",
            ]),
        tests(
            "SecItem",
            [
                "KeychainKeys", "KeychainModel", "KeychainRows", "KeychainServices",
                "KeychainStore", "LocalAuthentication", "SecretMemory", "Security", "System",
                "TestSupport", "TestValues", "UserPresence",
            ]),
        tests(
            "Valet",
            [
                "KeychainKeys", "KeychainModel", "KeychainRows", "KeychainServices",
                "KeychainStore", "SecItem", "SecItemRequests", "SecretMemory", "System",
                "TestSupport", "TestValues", "UserPresence",
            ]),
        tests("SecItemRequests", ["KeychainModel"]),
        tests(
            "KeychainSwift",
            [
                "KeychainModel", "KeychainServices", "SecItem", "TestSupport", "Valet",
                "ValetTesting",
            ]),
        tests(
            "ValetTesting",
            [
                "KeychainKeys", "KeychainModel", "KeychainRows", "KeychainServices",
                "KeychainStore", "KeychainSwift", "SecretMemory", "Security", "Valet",
            ]),
        tests(
            "ValetCLI",
            [
                "CommandTestSupport", "KeyTestSupport", "KeychainKeys", "KeychainModel",
                "KeychainRows", "KeychainServices", "KeychainStore", "SecretMemory", "System",
                "TPM", "TestValues", "UserPresence", "ValetCommand",
            ],
            exclude: ["scripts", "terminal.py"]),
        tests(
            "SyncCommand",
            [
                "CommandTestSupport", "KeychainModel", "Sync", "SyncAgent", "SyncStores",
                "ValetCLI",
            ]),
        tests(
            "ClientsCommand",
            [
                "CommandTestSupport", "Database", "KeychainModel", "KeychainStore",
                "SecretMemory", "System", "ValetCLI",
            ]),
        testAgent(
            "ValetTestAgent",
            [
                "CForkSupport", "CLinux", "CoreFoundationNames", "Database", "Fingerprint",
                "KeyTestSupport", "KeychainKeys", "KeychainModel", "KeychainRows",
                "KeychainServices", "KeychainStore", "LockState", "Sealing", "SecItem",
                "SecretMemory", "System", "TPM", "UserPresence", "Valet",
            ]),
        .testTarget(
            name: targetName("IntegrationTests"),
            dependencies: dependencies([
                "SyncCommand", "ValetCommand", "ValetTestAgent",
            ]),
            path: "Tests/IntegrationTests", exclude: ["scenarios"], swiftSettings: strict),
    ]
#else
    let valet = library("Valet", ["KeychainModel", "SecItemRequests"])
    valet.exclude = ["StoreKeychain.swift", "KeyChanges.swift"]
    let keychainSwift = library("KeychainSwift", ["KeychainModel", "SecItemRequests"])
    keychainSwift.exclude = ["StorePasswords.swift"]
    let model = library("KeychainModel")
    model.exclude = ["PlatformFailures.swift"]
    targets += [model, library("SecItemRequests", ["KeychainModel"]), valet, keychainSwift]
#endif

// Names of test targets, separated by commas: only these are built, which links faster.
if let only = Context.environment["VALET_ONLY_TESTS"]?.split(separator: ",").map(String.init) {
    targets.removeAll { $0.type == .test && !only.contains($0.name) }
}

let package = Package(
    name: "Valet",
    platforms: [.macOS(.v10_13), .iOS(.v12), .tvOS(.v12), .watchOS(.v4)],
    products: products,
    traits: [
        .trait(name: "TPM", description: "Keys in a TPM 2.0, through tpm2-tss (libtss2-dev)"),
        .trait(
            name: "Fingerprint",
            description: "Fingerprints, through fprintd; libsystemd is loaded when it is needed"),
    ],
    targets: targets,
    swiftLanguageModes: [.v6]
)
