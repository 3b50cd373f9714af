// SPDX-License-Identifier: Apache-2.0

/// The name under which code written for Apple's systems imports what asks a person. It brings
/// Foundation, as theirs does.
@_exported public import CoreFoundationNames
@_exported public import Foundation
@_exported public import SecItem

@_exported public import struct KeychainModel.KeychainFailure
@_exported public import typealias KeychainServices.OSStatus
@_exported public import let KeychainServices.noErr
