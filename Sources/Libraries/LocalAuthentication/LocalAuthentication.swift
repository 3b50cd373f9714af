// SPDX-License-Identifier: Apache-2.0

@_exported public import Foundation
/// The name under which code written for Apple's systems imports `LAContext`. It also exports
/// Foundation, as Apple's module does.
@_exported public import ValetCoreFoundationNames
@_exported public import ValetSecItem

@_exported public import struct ValetKeychainModel.KeychainFailure
@_exported public import typealias ValetKeychainServices.OSStatus
@_exported public import let ValetKeychainServices.noErr
