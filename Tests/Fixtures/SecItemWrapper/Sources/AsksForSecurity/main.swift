// SPDX-License-Identifier: Apache-2.0

#if canImport(Security)
    import Security

    print("Security: \(errSecItemNotFound)")
#else
    print("no Security")
#endif
