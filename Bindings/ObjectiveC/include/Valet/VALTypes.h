// SPDX-License-Identifier: Apache-2.0
// The enumerations and the error domains of Valet. The numbers are those of the Swift enumerations.

#import <Foundation/Foundation.h>

#if __has_feature(nullability)
#    define VAL_NULLABLE _Nullable
#else
#    define VAL_NULLABLE
#endif

/// The type of an NSError's out-parameter.
#define VAL_ERROR NSError *VAL_NULLABLE *VAL_NULLABLE

#if __has_feature(attribute_unavailable_with_message)
#    define VAL_UNAVAILABLE(message) __attribute__((unavailable(message)))
#else
#    define VAL_UNAVAILABLE(message)
#endif

#define VAL_DEPRECATED(message) __attribute__((deprecated(message)))

/// When the values of a valet may be read.
typedef NS_ENUM(NSInteger, VALAccessibility) {
    /// While the device is unlocked.
    VALAccessibilityWhenUnlocked = 1,
    /// From the first unlock after the device started.
    VALAccessibilityAfterFirstUnlock = 2,
    /// While the device is unlocked. The value exists only while a passcode is set, and never
    /// leaves the device.
    VALAccessibilityWhenPasscodeSetThisDeviceOnly = 4,
    /// While the device is unlocked. The value never leaves the device.
    VALAccessibilityWhenUnlockedThisDeviceOnly = 5,
    /// From the first unlock after the device started. The value never leaves the device.
    VALAccessibilityAfterFirstUnlockThisDeviceOnly = 6,
};

/// When the values of an iCloud valet may be read. On Linux the devices of a circle share them.
typedef NS_ENUM(NSInteger, VALCloudAccessibility) {
    /// While the device is unlocked.
    VALCloudAccessibilityWhenUnlocked = 1,
    /// From the first unlock after the device started.
    VALCloudAccessibilityAfterFirstUnlock = 2,
};

/// How the user authenticates before a value is read.
typedef NS_ENUM(NSInteger, VALSecureEnclaveAccessControl) {
    /// By biometry or by the passcode.
    VALSecureEnclaveAccessControlUserPresence = 1,
    /// By any enrolled finger or face.
    VALSecureEnclaveAccessControlBiometricAny = 2,
    /// By a finger or face, as long as the same ones are enrolled as when the value was stored.
    VALSecureEnclaveAccessControlBiometricCurrentSet = 3,
    /// By the passcode.
    VALSecureEnclaveAccessControlDevicePasscode = 4,
};

/// Why a call of a valet failed: the codes of VALKeychainErrorDomain.
typedef NS_ENUM(NSInteger, VALKeychainError) {
    /// The keychain cannot be used: it is locked, damaged, busy, full or missing.
    VALKeychainErrorCouldNotAccessKeychain = 0,
    /// The user declined or could not authenticate.
    VALKeychainErrorUserCancelled = 1,
    /// Nothing is stored under that key.
    VALKeychainErrorItemNotFound = 2,
    /// The application may not use that access group.
    VALKeychainErrorMissingEntitlement = 3,
    /// The key is empty.
    VALKeychainErrorEmptyKey = 4,
    /// The value is empty.
    VALKeychainErrorEmptyValue = 5,
};

/// Why items were not migrated: the codes of VALMigrationResultDomain. The keychain is unchanged
/// then.
typedef NS_ENUM(NSInteger, VALMigrationResult) {
    /// The query is empty, is not for generic passwords, or holds a key that a migration sets.
    VALMigrationResultInvalidQuery = 0,
    /// A key is empty, or is not text.
    VALMigrationResultKeyToMigrateInvalid = 1,
    /// A value is empty.
    VALMigrationResultDataToMigrateInvalid = 2,
    /// Two items have the same key.
    VALMigrationResultDuplicateKeyToMigrate = 3,
    /// A key exists in the valet already.
    VALMigrationResultKeyToMigrateAlreadyExistsInValet = 4,
    /// The migrated items could not be removed from their old place.
    VALMigrationResultRemovalFailed = 5,
};

/// What a program can do about a failure, beyond its code: VALET_REASON_... of valet.h.
typedef NS_ENUM(NSInteger, VALReason) {
    /// The code says all, or there is nothing to do.
    VALReasonOther = 0,
    /// Other processes use the keychain: try again.
    VALReasonBusy = 1,
    /// The item or the keychain is damaged: run `valet doctor`.
    VALReasonDamaged = 2,
    /// The device key is missing, or belongs to another keychain.
    VALReasonKeyUnavailable = 3,
    /// A newer version wrote the keychain.
    VALReasonNewerFormat = 4,
    /// The accessibility needs a passcode, and none is set.
    VALReasonNoPasscode = 5,
    /// The keychain is locked.
    VALReasonLocked = 6,
    /// Files are missing, unsafe or read-only.
    VALReasonFiles = 7,
    /// The disk is full.
    VALReasonDiskFull = 8,
    /// The keychain is protected less than the process requires.
    VALReasonUnprotected = 9,
    /// There is not enough memory.
    VALReasonNoMemory = 10,
};

NS_ASSUME_NONNULL_BEGIN

/// The domain of VALKeychainError: `Valet.KeychainError`.
///
/// Errors of this library have a description and, where something helps, a recovery suggestion. If
/// the keychain caused the error, NSUnderlyingErrorKey has the OSStatus, in NSOSStatusErrorDomain.
extern NSString *const VALKeychainErrorDomain;

/// The domain of VALMigrationResult: `Valet.MigrationError`.
extern NSString *const VALMigrationResultDomain;

/// The key in an error's userInfo of an NSNumber: the VALReason, or one that is newer than this
/// header. Not every error has one.
extern NSString *const VALReasonErrorKey;

NS_ASSUME_NONNULL_END
