// swift-tools-version: 6.3
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A package of its own, because the package manager refuses packages with unsafe flags as
// dependencies, and everybody can depend on Valet. scripts/build-bindings builds it.
let package = Package(
    name: "CBindings",
    products: [.library(name: "CValet", type: .dynamic, targets: ["CValet"])],
    // In the order in which the compiler gets them in other builds, or everything is built anew.
    dependencies: [.package(name: "Valet", path: "../..", traits: ["Fingerprint", "TPM"])],
    targets: [
        .target(
            name: "CValet",
            dependencies: [.product(name: "CInterface", package: "Valet")],
            linkerSettings: [
                .unsafeFlags([
                    // Programs need no Swift on their machine.
                    "-static-stdlib", "-use-ld=lld", "-Xclang-linker", "-static-libgcc",
                    "-L" + Context.packageDirectory + "/../../scripts/link",
                    "-Xlinker", "-soname=libvalet.so.0",
                    // Swift's own symbols stay inside: a program may have another version of them.
                    "-Xlinker", "--version-script=" + Context.packageDirectory + "/libvalet.map",
                    "-Xlinker", "--gc-sections",
                    // The library has thread-local values and handlers of fork.
                    "-Xlinker", "-z", "-Xlinker", "nodelete",
                    "-Xlinker", "-z", "-Xlinker", "relro", "-Xlinker", "-z", "-Xlinker", "now",
                ])
            ])
    ],
    swiftLanguageModes: [.v6]
)
