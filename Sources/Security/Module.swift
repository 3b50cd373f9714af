// SPDX-License-Identifier: Apache-2.0

/// The name under which code written for Apple's systems imports Keychain Services.
@_exported public import KeychainModel
@_exported public import KeychainServices
