// swift-tools-version: 5.9
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A program that depends on the package Wrapper by its path, as every prepared copy is used.
let package = Package(
    name: "Demo",
    dependencies: [.package(path: "../Wrapper")],
    targets: [
        .executableTarget(
            name: "Demo", dependencies: [.product(name: "Wrapper", package: "Wrapper")])
    ]
)
