// swift-tools-version:6.0
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// For sources that only `import Foundation`, as on Apple's systems.
let foundationBringsKeychain: [SwiftSetting] = [
    .unsafeFlags(["-Xfrontend", "-import-module", "-Xfrontend", "Security"])
]
let keychain: [Target.Dependency] = [
    .product(name: "Security", package: "Valet"),
    .product(name: "LocalAuthentication", package: "Valet"),
]

let package = Package(
    name: "TenWrappers",
    platforms: [.macOS(.v15), .iOS(.v18)],
    dependencies: [
        .package(name: "Valet", path: "../../..")
    ],
    targets: [
        .target(
            name: "Of2014", dependencies: keychain,
            swiftSettings: [.swiftLanguageMode(.v5)] + foundationBringsKeychain),
        .target(
            name: "Of2018", dependencies: keychain,
            swiftSettings: [.swiftLanguageMode(.v5)] + foundationBringsKeychain),
        .target(
            name: "Of2022", dependencies: keychain,
            swiftSettings: [.swiftLanguageMode(.v5)]),
        .target(
            name: "Of2026", dependencies: keychain,
            swiftSettings: [.swiftLanguageMode(.v6)] + foundationBringsKeychain),
        .executableTarget(
            name: "TenWrappers", dependencies: ["Of2014", "Of2018", "Of2022", "Of2026"],
            swiftSettings: [.swiftLanguageMode(.v6)]),
    ]
)
