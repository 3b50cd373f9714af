// SPDX-License-Identifier: Apache-2.0

// `scripts/build-fixtures` puts the README's Swift beside this file, a file for each block.
