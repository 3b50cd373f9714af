// swift-tools-version: 5.9
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A package for Apple's systems: its sources import Foundation alone, which brings Security there.
let package = Package(
    name: "FoundationOnly",
    products: [.library(name: "Store", targets: ["Store"])],
    targets: [
        .target(name: "Store"),
        .target(name: "Plain"),
        .executableTarget(name: "StoreDemo", dependencies: ["Store"]),
    ]
)
