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

func library(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(
    _ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []
) -> Target {
    .testTarget(
        name: name + "Tests", dependencies: dependencies + [.target(name: name)],
        exclude: exclude, swiftSettings: strict)
}

// The headers of tpm2-tss, which nobody needs who builds without the trait.
let tpm2: Target.Dependency = .target(name: "CTPM2", condition: .when(traits: ["TPM"]))
let fingerprint: Target.Dependency = .target(
    name: "Fingerprint", condition: .when(traits: ["Fingerprint"]))

// In dependency order; docs/ARCHITECTURE.md says what each module may use.
var targets: [Target] = [library("KeychainModel")]
var products: [Product] = [
    .library(name: "Valet", targets: ["Valet"]),
    .library(name: "KeychainSwift", targets: ["KeychainSwift"]),
]

#if os(Linux)
    products += [
        .library(name: "LocalAuthentication", targets: ["LocalAuthentication"]),
        .library(name: "Security", targets: ["Security"]),
        .library(name: "ValetTesting", targets: ["ValetTesting"]),
        .executable(name: "valet", targets: ["ValetCommand"]),
    ]
    targets += [
        .systemLibrary(
            name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
        .systemLibrary(
            name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CTPM2", providers: [.apt(["libtss2-dev"])]),
        library("SecretMemory", ["CSodium", "CLinux"]),
        library("Sealing", ["CSodium", "SecretMemory"]),
        library("Database", ["CSQLite", "CLinux"]),
        library("UserPresence", ["CLinux", "Database", "SecretMemory"]),
        library("SystemBus", ["Database"]),
        library("Fingerprint", ["Database", "Sealing", "SystemBus"]),
        library("TPM", [tpm2, "CLinux", "Database", "SecretMemory", "Sealing"]),
        library("Keybag", ["KeychainModel", "SecretMemory", "Sealing"]),
        library(
            "LockState",
            ["CLinux", "Database", "KeychainModel", "Keybag", "SecretMemory", "Sealing"]),
        library("Backup", ["Database", "KeychainModel", "SecretMemory", "Sealing"]),
        library(
            "KeychainStore",
            [
                "Backup", "Database", "KeychainModel", "Keybag", "LockState", "SecretMemory",
                "Sealing", "TPM",
            ]),
        library(
            "KeychainServices",
            [
                "Database", "KeychainModel", "KeychainStore", "SecretMemory", "UserPresence",
                fingerprint,
            ]),
        library(
            "SecItem",
            ["Database", "KeychainModel", "KeychainServices", "KeychainStore", "SecretMemory"]),
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
        library("ValetTesting", ["KeychainModel", "KeychainServices", "KeychainStore"]),
        library(
            "LocalAuthentication",
            ["CoreFoundationNames", "KeychainModel", "KeychainServices", "SecItem"]),
        library(
            "Security", ["CoreFoundationNames", "KeychainModel", "KeychainServices", "SecItem"]),
        library(
            "ValetCLI",
            [
                "CLinux", "KeychainModel", "KeychainServices", "KeychainStore", "SecretMemory",
                "UserPresence",
            ]),
        .executableTarget(
            name: "ValetCommand", dependencies: ["ValetCLI"], swiftSettings: strict),
        .target(name: "CForkSupport", path: "Tests/CForkSupport"),
        .target(name: "TestValues", path: "Tests/TestValues", swiftSettings: strict),
        .target(
            name: "TestSupport", dependencies: ["KeychainServices"], path: "Tests/TestSupport",
            swiftSettings: strict),
        tests("Database", ["TestValues"]),
        tests("SecretMemory", ["CForkSupport"]),
        tests(
            "UserPresence", ["Database", "SecretMemory", "TestValues", "ValetTestAgent"],
            exclude: ["fake-pinentry", "person.py"]),
        tests(
            "Fingerprint",
            [
                "Database", "KeychainModel", "KeychainServices", "KeychainStore", "SecItem",
                "SecretMemory", "SystemBus", "TestValues", "UserPresence", "ValetTestAgent",
            ]),
        tests("Sealing", ["SecretMemory", "TestValues"]),
        .executableTarget(
            name: "TPMTestAgent", dependencies: ["Database", "SecretMemory", "TPM"],
            path: "Tests/TPMTestAgent", swiftSettings: strict),
        .target(
            name: "TPMSupport", dependencies: ["Database", "Sealing", "TPM", "TestValues"],
            path: "Tests/TPMSupport", swiftSettings: strict),
        tests(
            "TPM",
            [
                "Database", "SecretMemory", "Sealing", "TPMSupport", "TPMTestAgent", "TestValues",
            ]),
        tests("KeychainModel", ["TestValues"]),
        tests("Keybag", ["KeychainModel", "SecretMemory", "Sealing", "TestValues"]),
        .target(
            name: "LockStateSupport",
            dependencies: ["KeychainModel", "Keybag", "LockState", "Sealing"],
            path: "Tests/LockStateSupport", swiftSettings: strict),
        .executableTarget(
            name: "LockStateTestAgent",
            dependencies: ["CLinux", "LockState", "LockStateSupport", "Sealing"],
            path: "Tests/LockStateTestAgent", swiftSettings: strict),
        tests("Backup", ["Database", "KeychainModel", "SecretMemory", "Sealing", "TestValues"]),
        tests(
            "LockState",
            [
                "CForkSupport", "CLinux", "Database", "KeychainModel", "Keybag", "LockStateSupport",
                "LockStateTestAgent", "SecretMemory", "Sealing", "TestValues",
            ]),
        tests(
            "KeychainStore",
            [
                "Database", "KeychainModel", "Keybag", "LockState", "SecretMemory", "Sealing",
                "TPM", "TPMSupport", "TestValues",
            ]),
        tests(
            "KeychainServices",
            [
                "Database", "KeychainModel", "KeychainStore", "LocalAuthentication", "SecItem",
                "SecretMemory", "Security", "TestSupport", "TestValues", "UserPresence",
            ]),
        tests(
            "Valet",
            [
                "Database", "KeychainModel", "KeychainServices", "KeychainStore", "SecItem",
                "SecItemRequests", "SecretMemory", "TestSupport", "TestValues", "UserPresence",
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
                "KeychainModel", "KeychainServices", "KeychainStore", "KeychainSwift",
                "SecretMemory", "Security", "Valet",
            ]),
        tests(
            "ValetCLI",
            [
                "Database", "KeychainModel", "KeychainServices", "KeychainStore", "SecretMemory",
                "TPM", "TPMSupport", "TestValues", "UserPresence", "ValetCommand",
            ],
            exclude: ["scripts", "terminal.py"]),
        .executableTarget(
            name: "ValetTestAgent",
            dependencies: [
                "CForkSupport", "CoreFoundationNames", "Database", "Fingerprint", "KeychainModel",
                "KeychainServices", "KeychainStore", "SecItem", "SecretMemory", "TPM",
                "UserPresence", "Valet",
            ],
            path: "Tests/ValetTestAgent", swiftSettings: strict),
        .testTarget(
            name: "IntegrationTests", dependencies: ["ValetCommand", "ValetTestAgent"],
            exclude: ["scenarios"], swiftSettings: strict),
    ]
#else
    let valet = library("Valet", ["KeychainModel", "SecItemRequests"])
    valet.exclude = ["StoreKeychain.swift", "Conveniences/Valet.KeyChanges.swift"]
    let keychainSwift = library("KeychainSwift", ["KeychainModel", "SecItemRequests"])
    keychainSwift.exclude = ["StorePasswords.swift"]
    targets += [library("SecItemRequests", ["KeychainModel"]), valet, keychainSwift]
#endif

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
