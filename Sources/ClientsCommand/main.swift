// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLI

// The executable `valet-clients`: the helpers that git, docker and the tools of AWS call. `valet`
// becomes it for these verbs, and git and docker call it through links with names of their own.
// `ClientsTool` carries out the verbs.

exit(ValetTool.main(clients: ClientsTool.run))
