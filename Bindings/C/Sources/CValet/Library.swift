// SPDX-License-Identifier: Apache-2.0

// libvalet is the module ValetCInterface of the package Valet and what it needs. The package
// manager wants a file to make a library of it.
