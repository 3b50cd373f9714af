// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLI

exit(ValetTool.main())
