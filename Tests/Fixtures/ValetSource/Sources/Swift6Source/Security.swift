// SPDX-License-Identifier: Apache-2.0

// The product Valet does not bring the module Security along: it would turn this question around
// for every package of the graph.
#if os(Linux) && canImport(Security)
    #error("canImport(Security) is true where nobody depends on the product Security")
#endif
