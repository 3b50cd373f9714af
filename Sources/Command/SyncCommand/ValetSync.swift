// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLI

/// The executable `valet-sync`, which `valet sync` becomes: all of sync between devices, and all
/// that talks to a network.
@main enum ValetSync {
    static func main() { exit(ValetTool.main(of: "sync", SyncVerbs.all)) }
}
