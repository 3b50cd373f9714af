// swift-tools-version: 6.0
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// Source as applications for Apple's systems have it. It is compiled, never run.
let valet: Target.Dependency = .product(name: "Valet", package: "Valet")
let keychainSwift: Target.Dependency = .product(name: "KeychainSwift", package: "Valet")
let valetTesting: Target.Dependency = .product(name: "ValetTesting", package: "Valet")

let package = Package(
    name: "ValetSource",
    platforms: [.macOS(.v13)],
    dependencies: [.package(name: "Valet", path: "../../..")],
    targets: [
        .target(
            name: "Swift5Source", dependencies: [valet], swiftSettings: [.swiftLanguageMode(.v5)]),
        // A link to the same source.
        .target(
            name: "SameSourceInSwift6", dependencies: [valet],
            swiftSettings: [.swiftLanguageMode(.v6)]),
        .target(
            name: "Swift6Source", dependencies: [valet], swiftSettings: [.swiftLanguageMode(.v6)]),
        .target(
            name: "KeychainSwiftSource", dependencies: [keychainSwift],
            swiftSettings: [.swiftLanguageMode(.v5)]),
        .target(
            name: "CheckedKeychainSwiftSource", dependencies: [keychainSwift],
            swiftSettings: [
                .swiftLanguageMode(.v5), .enableExperimentalFeature("StrictConcurrency"),
            ]),
        // A link to the same source.
        .target(
            name: "SameKeychainSwiftSourceInSwift6", dependencies: [keychainSwift],
            swiftSettings: [.swiftLanguageMode(.v6)]),
        // As later versions of Swift have it: what a file does not import has no members there.
        .target(
            name: "MembersOfValet", dependencies: [valet],
            swiftSettings: [
                .swiftLanguageMode(.v6), .enableUpcomingFeature("MemberImportVisibility"),
            ]),
        .target(
            name: "MembersOfKeychainSwift", dependencies: [keychainSwift],
            swiftSettings: [
                .swiftLanguageMode(.v6), .enableUpcomingFeature("MemberImportVisibility"),
            ]),
        .target(
            name: "Readme", dependencies: [valet, keychainSwift, valetTesting],
            swiftSettings: [.swiftLanguageMode(.v6)]),
    ]
)
