// SPDX-License-Identifier: Apache-2.0

// The names that C has for the codes of `LAError`.

/// ``LAError/Code/authenticationFailed``
public let kLAErrorAuthenticationFailed: Int32 = -1
/// ``LAError/Code/userCancel``
public let kLAErrorUserCancel: Int32 = -2
/// ``LAError/Code/userFallback``
public let kLAErrorUserFallback: Int32 = -3
/// ``LAError/Code/systemCancel``
public let kLAErrorSystemCancel: Int32 = -4
/// ``LAError/Code/passcodeNotSet``
public let kLAErrorPasscodeNotSet: Int32 = -5
/// ``LAError/Code/biometryNotAvailable``
public let kLAErrorBiometryNotAvailable: Int32 = -6
/// ``LAError/Code/biometryNotEnrolled``
public let kLAErrorBiometryNotEnrolled: Int32 = -7
/// ``LAError/Code/biometryLockout``
public let kLAErrorBiometryLockout: Int32 = -8
/// The name that older code has for ``kLAErrorBiometryNotAvailable``.
public let kLAErrorTouchIDNotAvailable: Int32 = kLAErrorBiometryNotAvailable
/// The name that older code has for ``kLAErrorBiometryNotEnrolled``.
public let kLAErrorTouchIDNotEnrolled: Int32 = kLAErrorBiometryNotEnrolled
/// The name that older code has for ``kLAErrorBiometryLockout``.
public let kLAErrorTouchIDLockout: Int32 = kLAErrorBiometryLockout
/// ``LAError/Code/appCancel``
public let kLAErrorAppCancel: Int32 = -9
/// ``LAError/Code/invalidContext``
public let kLAErrorInvalidContext: Int32 = -10
/// ``LAError/Code/companionNotAvailable``
public let kLAErrorCompanionNotAvailable: Int32 = -11
/// The name that older code has for ``kLAErrorCompanionNotAvailable``.
public let kLAErrorWatchNotAvailable: Int32 = kLAErrorCompanionNotAvailable
/// ``LAError/Code/biometryNotPaired``
public let kLAErrorBiometryNotPaired: Int32 = -12
/// ``LAError/Code/biometryDisconnected``
public let kLAErrorBiometryDisconnected: Int32 = -13
/// ``LAError/Code/invalidDimensions``
public let kLAErrorInvalidDimensions: Int32 = -14
/// ``LAError/Code/notInteractive``
public let kLAErrorNotInteractive: Int32 = -1004
