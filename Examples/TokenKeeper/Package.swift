// swift-tools-version: 6.0
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let package = Package(
    name: "TokenKeeper",
    platforms: [.macOS(.v13)],
    dependencies: [.package(name: "Valet", path: "../..")],
    targets: [
        .executableTarget(
            name: "TokenKeeper", dependencies: [.product(name: "Valet", package: "Valet")])
    ],
    swiftLanguageModes: [.v6]
)
