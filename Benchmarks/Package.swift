// swift-tools-version: 6.3
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let package = Package(
    name: "Benchmarks",
    dependencies: [.package(name: "Valet", path: "..")],
    targets: [
        .systemLibrary(
            name: "CSQLiteBaseline", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .target(name: "LMDBByName"),
        .executableTarget(name: "Launcher"),
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                "CSQLiteBaseline", "LMDBByName", .product(name: "Valet", package: "Valet"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
