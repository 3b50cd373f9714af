// SPDX-License-Identifier: Apache-2.0

try Command(CommandLine.arguments).run()
