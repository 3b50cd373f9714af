// SPDX-License-Identifier: Apache-2.0

// `scripts/build-fixtures` puts the Swift of README and articles beside this file, a file
// for each block.
