// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLI
internal import ValetClientsCommand
internal import ValetSecretService

// The executable `valet`: `ValetCLI`, and the verbs for git, docker, the tools of AWS, the desktop,
// imports and exports. Git and docker call it through links with names of their own.

exit(
    ValetTool.main(
        adding: ClientVerb.all.adding(ServeVerb.declaration, "serve", ServeVerb.run)
            .adding(
                WatchSessionVerb.declaration, WatchSessionVerb.name, WatchSessionVerb.run),
        ClientVerb.words))
