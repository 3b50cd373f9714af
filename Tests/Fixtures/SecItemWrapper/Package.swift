// swift-tools-version: 6.0
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// Wrappers of SecItem as packages for Apple's systems have them, and programs that run them.
let security: Target.Dependency = .product(name: "Security", package: "Valet")
let asking: [Target.Dependency] = ["Valet", "LocalAuthentication", "Security"].map {
    .product(name: $0, package: "Valet")
}

let package = Package(
    name: "SecItemWrapper",
    platforms: [.macOS(.v13)],
    dependencies: [.package(name: "Valet", path: "../../..")],
    targets: [
        .executableTarget(
            name: "WrappersInSwift5", dependencies: [security],
            swiftSettings: [.swiftLanguageMode(.v5)]),
        // A link to the same source.
        .executableTarget(
            name: "WrappersInSwift6", dependencies: [security],
            swiftSettings: [.swiftLanguageMode(.v6)]),
        // Source that asks a person: compiled, never run.
        .target(
            name: "AskingInSwift5", dependencies: asking, swiftSettings: [.swiftLanguageMode(.v5)]),
        .target(
            name: "AskingInSwift6", dependencies: asking, swiftSettings: [.swiftLanguageMode(.v6)]),
        // Says whether `canImport(Security)` is true for a target that depends on it.
        .executableTarget(
            name: "AsksForSecurity", dependencies: [security],
            swiftSettings: [.swiftLanguageMode(.v6)]),
    ]
)
