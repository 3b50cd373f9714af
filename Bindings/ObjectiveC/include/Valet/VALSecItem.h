// SPDX-License-Identifier: Apache-2.0
// The keys and values of SecItem queries, as code for Apple's systems names them.

#import <Foundation/Foundation.h>

NS_ASSUME_NONNULL_BEGIN

// For the queries of -migrateObjectsMatching:removeOnCompletion:error:. On Apple's systems these
// are objects of Core Foundation, which code casts with `(__bridge id)`. Here they are NSStrings,
// and the cast changes nothing.

/// The class of items; a query must name it.
extern NSString *const kSecClass;
/// The only class that a migration takes.
extern NSString *const kSecClassGenericPassword;
extern NSString *const kSecClassInternetPassword;
extern NSString *const kSecClassCertificate;
extern NSString *const kSecClassKey;
extern NSString *const kSecClassIdentity;

// Attributes of generic passwords.
extern NSString *const kSecAttrAccessible;
extern NSString *const kSecAttrAccessControl;
extern NSString *const kSecAttrAccessGroup;
extern NSString *const kSecAttrSynchronizable;
extern NSString *const kSecAttrSynchronizableAny;
extern NSString *const kSecAttrDescription;
extern NSString *const kSecAttrComment;
extern NSString *const kSecAttrCreator;
extern NSString *const kSecAttrType;
extern NSString *const kSecAttrLabel;
extern NSString *const kSecAttrIsInvisible;
extern NSString *const kSecAttrIsNegative;
extern NSString *const kSecAttrAccount;
extern NSString *const kSecAttrService;
extern NSString *const kSecAttrGeneric;

// Values of kSecAttrAccessible.
extern NSString *const kSecAttrAccessibleWhenUnlocked;
extern NSString *const kSecAttrAccessibleAfterFirstUnlock;
extern NSString *const kSecAttrAccessibleAlways;
extern NSString *const kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly;
extern NSString *const kSecAttrAccessibleWhenUnlockedThisDeviceOnly;
extern NSString *const kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly;
extern NSString *const kSecAttrAccessibleAlwaysThisDeviceOnly;

// What a search returns. A migration sets these itself, and refuses a query that contradicts it.
extern NSString *const kSecMatchLimit;
extern NSString *const kSecMatchLimitOne;
extern NSString *const kSecMatchLimitAll;
extern NSString *const kSecReturnData;
extern NSString *const kSecReturnAttributes;
extern NSString *const kSecReturnRef;
extern NSString *const kSecReturnPersistentRef;

/// Has no effect: there is one keychain.
extern NSString *const kSecUseDataProtectionKeychain;

NS_ASSUME_NONNULL_END
