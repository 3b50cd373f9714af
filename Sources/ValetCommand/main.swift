// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLI

// The executable `valet`. `ValetCLI` does all the work.

exit(ValetTool.main())
