// SPDX-License-Identifier: Apache-2.0

/// The name under which code written for Apple's systems imports what asks a person.
@_exported public import KeychainModel
@_exported public import KeychainServices
