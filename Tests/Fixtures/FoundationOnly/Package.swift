// swift-tools-version: 5.9
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A package for Apple's systems: its sources import Foundation alone, which brings Security there.
// scripts/build-fixtures replaces this manifest by those of docs/PORTING.md.
let package = Package(
    name: "Wrapper",
    products: [.library(name: "Wrapper", targets: ["Wrapper"])],
    targets: [.target(name: "Wrapper")]
)
