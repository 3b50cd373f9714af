// SPDX-License-Identifier: Apache-2.0
// The names of versions 1 to 4 of the Valet API. All of them are deprecated; each says what
// replaces it. They find the items that those versions stored.

#import <Valet/Valet.h>

NS_ASSUME_NONNULL_BEGIN

#define VAL_DEPRECATED_ALWAYS \
    VAL_DEPRECATED("use -migrateObjectsFromAlwaysAccessibleValetWithRemoveOnCompletion:error:")
#define VAL_DEPRECATED_ALWAYS_HERE \
    VAL_DEPRECATED( \
        "use -migrateObjectsFromAlwaysAccessibleThisDeviceOnlyValetWithRemoveOnCompletion:error:")

/// Accessibilities of versions 1 and 2, which Apple has retired. A valet that has one only reads
/// what was stored: move its items into another valet.
enum {
    VALAccessibilityAlways VAL_DEPRECATED_ALWAYS = 3,
    VALAccessibilityAlwaysThisDeviceOnly VAL_DEPRECATED_ALWAYS_HERE = 7,
};

/// The accessibilities under the names of version 1.
enum {
    VALAccessibleWhenUnlocked VAL_DEPRECATED("use VALAccessibilityWhenUnlocked") = 1,
    VALAccessibleAfterFirstUnlock VAL_DEPRECATED("use VALAccessibilityAfterFirstUnlock") = 2,
    VALAccessibleAlways VAL_DEPRECATED_ALWAYS = 3,
    VALAccessibleWhenPasscodeSetThisDeviceOnly VAL_DEPRECATED(
        "use VALAccessibilityWhenPasscodeSetThisDeviceOnly") = 4,
    VALAccessibleWhenUnlockedThisDeviceOnly VAL_DEPRECATED(
        "use VALAccessibilityWhenUnlockedThisDeviceOnly") = 5,
    VALAccessibleAfterFirstUnlockThisDeviceOnly VAL_DEPRECATED(
        "use VALAccessibilityAfterFirstUnlockThisDeviceOnly") = 6,
    VALAccessibleAlwaysThisDeviceOnly VAL_DEPRECATED_ALWAYS_HERE = 7,
};

/// The accessibilities of version 3.2's VALLegacyValet.
typedef VALAccessibility VALLegacyAccessibility VAL_DEPRECATED("use VALAccessibility");
enum {
    VALLegacyAccessibilityWhenUnlocked VAL_DEPRECATED("use VALAccessibilityWhenUnlocked") = 1,
    VALLegacyAccessibilityAfterFirstUnlock VAL_DEPRECATED(
        "use VALAccessibilityAfterFirstUnlock") = 2,
    VALLegacyAccessibilityAlways VAL_DEPRECATED_ALWAYS = 3,
    VALLegacyAccessibilityWhenPasscodeSetThisDeviceOnly VAL_DEPRECATED(
        "use VALAccessibilityWhenPasscodeSetThisDeviceOnly") = 4,
    VALLegacyAccessibilityWhenUnlockedThisDeviceOnly VAL_DEPRECATED(
        "use VALAccessibilityWhenUnlockedThisDeviceOnly") = 5,
    VALLegacyAccessibilityAfterFirstUnlockThisDeviceOnly VAL_DEPRECATED(
        "use VALAccessibilityAfterFirstUnlockThisDeviceOnly") = 6,
    VALLegacyAccessibilityAlwaysThisDeviceOnly VAL_DEPRECATED_ALWAYS_HERE = 7,
};

/// The access controls of version 2.
typedef VALSecureEnclaveAccessControl VALAccessControl
    VAL_DEPRECATED("use VALSecureEnclaveAccessControl");
enum {
    VALAccessControlUserPresence VAL_DEPRECATED(
        "use VALSecureEnclaveAccessControlUserPresence") = 1,
    VALAccessControlTouchIDAnyFingerprint VAL_DEPRECATED(
        "use VALSecureEnclaveAccessControlBiometricAny") = 2,
    VALAccessControlTouchIDCurrentFingerprintSet VAL_DEPRECATED(
        "use VALSecureEnclaveAccessControlBiometricCurrentSet") = 3,
    VALAccessControlDevicePasscode VAL_DEPRECATED(
        "use VALSecureEnclaveAccessControlDevicePasscode") = 4,
};

/// The domain of VALMigrationError.
extern NSString *const VALMigrationErrorDomain
    VAL_DEPRECATED("use VALMigrationResultDomain and VALKeychainErrorDomain");

/// Why items were not migrated, in versions 1 and 2. NSUnderlyingErrorKey has the newer error.
typedef NS_ENUM(NSUInteger, VALMigrationError) {
    /// The query is not valid.
    VALMigrationErrorInvalidQuery = 1,
    /// Nothing was found.
    VALMigrationErrorNoItemsToMigrateFound = 2,
    /// The keychain cannot be read or written.
    VALMigrationErrorCouldNotReadKeychain = 3,
    /// A key is empty, or is not text.
    VALMigrationErrorKeyInQueryResultInvalid = 4,
    /// A value is empty.
    VALMigrationErrorDataInQueryResultInvalid = 5,
    /// Two items have the same key.
    VALMigrationErrorDuplicateKeyInQueryResult = 6,
    /// A key exists in the valet already.
    VALMigrationErrorKeyInQueryResultAlreadyExistsInValet = 7,
    /// Never happens here: see VALMigrationErrorCouldNotReadKeychain.
    VALMigrationErrorCouldNotWriteToKeychain = 8,
    /// The migrated items could not be removed from their old place.
    VALMigrationErrorRemovalFailed = 9,
};

/// The numbers of VALMigrationError under the names of version 1.
enum {
    VALMigrationInvalidQueryError VAL_DEPRECATED("use VALMigrationResultInvalidQuery") = 1,
    VALMigrationNoItemsToMigrateFoundError VAL_DEPRECATED("use VALKeychainErrorItemNotFound") = 2,
    VALMigrationCouldNotReadKeychainError VAL_DEPRECATED(
        "use VALKeychainErrorCouldNotAccessKeychain") = 3,
    VALMigrationKeyInQueryResultInvalidError VAL_DEPRECATED(
        "use VALMigrationResultKeyToMigrateInvalid") = 4,
    VALMigrationDataInQueryResultInvalidError VAL_DEPRECATED(
        "use VALMigrationResultDataToMigrateInvalid") = 5,
    VALMigrationDuplicateKeyInQueryResultError VAL_DEPRECATED(
        "use VALMigrationResultDuplicateKeyToMigrate") = 6,
    VALMigrationKeyInQueryResultAlreadyExistsInValetError VAL_DEPRECATED(
        "use VALMigrationResultKeyToMigrateAlreadyExistsInValet") = 7,
    VALMigrationCouldNotWriteToKeychainError VAL_DEPRECATED(
        "use VALKeychainErrorCouldNotAccessKeychain") = 8,
    VALMigrationRemovalFailedError VAL_DEPRECATED("use VALMigrationResultRemovalFailed") = 9,
};

/// The results of -migrateObjectsFromKeychain:removeOnCompletion: that version 5 has not, or names
/// otherwise. The numbers are not those of version 3, whose 1 stood for success.
enum {
    VALMigrationResultKeyInQueryResultInvalid VAL_DEPRECATED(
        "use VALMigrationResultKeyToMigrateInvalid") = VALMigrationResultKeyToMigrateInvalid,
    VALMigrationResultDataInQueryResultInvalid VAL_DEPRECATED(
        "use VALMigrationResultDataToMigrateInvalid") = VALMigrationResultDataToMigrateInvalid,
    VALMigrationResultDuplicateKeyInQueryResult VAL_DEPRECATED(
        "use VALMigrationResultDuplicateKeyToMigrate") = VALMigrationResultDuplicateKeyToMigrate,
    VALMigrationResultKeyInQueryResultAlreadyExistsInValet VAL_DEPRECATED(
        "use VALMigrationResultKeyToMigrateAlreadyExistsInValet") =
        VALMigrationResultKeyToMigrateAlreadyExistsInValet,
    VALMigrationResultSuccess VAL_DEPRECATED("methods that return a BOOL replace it") = 100,
    VALMigrationResultNoItemsToMigrateFound VAL_DEPRECATED(
        "use VALKeychainErrorItemNotFound") = 101,
    VALMigrationResultCouldNotReadKeychain VAL_DEPRECATED(
        "use VALKeychainErrorCouldNotAccessKeychain") = 102,
    /// Never happens here: see VALMigrationResultCouldNotReadKeychain.
    VALMigrationResultCouldNotWriteToKeychain VAL_DEPRECATED(
        "use VALKeychainErrorCouldNotAccessKeychain") = 103,
};

/// The methods that all valets of versions 1 and 2 have. They return NO or nil for every error.
@interface VALSandbox (VALLegacy) <NSCopying>

/// The identifier that the valet was made with; for a shared access group, its name.
@property (nonatomic, readonly, copy) NSString *identifier;
/// Whether the valet was made for a shared access group.
@property (nonatomic, readonly, getter=isSharedAcrossApplications) BOOL sharedAcrossApplications;

/// Whether both valets read and write the same items.
- (BOOL)isEqualToValet:(VALSandbox *)otherValet VAL_DEPRECATED("use -isEqual:");

/// Stores `value` under `key`.
- (BOOL)setObject:(NSData *)value
           forKey:(NSString *)key VAL_DEPRECATED("use -setObject:forKey:error:");
/// The bytes that are stored under `key`. The enclave valets ask the user, without a reason.
- (NSData *VAL_NULLABLE)objectForKey:(NSString *)key VAL_DEPRECATED("use -objectForKey:error:");
/// Stores the UTF-8 of `string` under `key`.
- (BOOL)setString:(NSString *)string
           forKey:(NSString *)key VAL_DEPRECATED("use -setString:forKey:error:");
/// The text that is stored under `key`. The enclave valets ask the user, without a reason.
- (NSString *VAL_NULLABLE)stringForKey:(NSString *)key VAL_DEPRECATED("use -stringForKey:error:");
/// The keys under which something is stored; an empty set also if the keychain cannot be read. The
/// enclave valets ask the user, without a reason.
- (GS_GENERIC_CLASS(NSSet, NSString *) *)allKeys VAL_DEPRECATED("use -allKeysAndReturnError:");
/// Removes what is stored under `key`. YES also if nothing was.
- (BOOL)removeObjectForKey:(NSString *)key VAL_DEPRECATED("use -removeObjectForKey:error:");
/// Removes everything that is stored.
- (BOOL)removeAllObjects VAL_DEPRECATED("use -removeAllObjectsAndReturnError:");

/// Copies the generic passwords that a SecItem query finds into this valet. Nil if that worked.
- (NSError *VAL_NULLABLE)
    migrateObjectsMatchingQuery:(NSDictionary *)secItemQuery
             removeOnCompletion:(BOOL)remove
    VAL_DEPRECATED("use -migrateObjectsMatching:removeOnCompletion:error:");
/// Copies the items of `valet` into this valet. Nil if that worked.
- (NSError *VAL_NULLABLE)migrateObjectsFromValet:(VALValet *)valet
                              removeOnCompletion:(BOOL)remove
    VAL_DEPRECATED("use -migrateObjectsFrom:removeOnCompletion:error:");
/// Copies the items of `valet` into this valet. Of version 3; VALMigrationResultSuccess if done.
- (VALMigrationResult)migrateObjectsFromKeychain:(VALSandbox *)valet
                              removeOnCompletion:(BOOL)remove
    VAL_DEPRECATED("use -migrateObjectsFrom:removeOnCompletion:error:");

@end

/// A shared access group is named without its prefix: it is the application's group of that name.
@interface VALValet (VALLegacy)

- (instancetype VAL_NULLABLE)initWithIdentifier:(NSString *)identifier
                                  accessibility:(VALAccessibility)accessibility
    VAL_DEPRECATED("use +valetWithIdentifier:accessibility:");
- (instancetype VAL_NULLABLE)
    initWithSharedAccessGroupIdentifier:(NSString *)sharedAccessGroupIdentifier
                          accessibility:(VALAccessibility)accessibility
    VAL_DEPRECATED("use +sharedGroupValetWithAppIDPrefix:sharedGroupIdentifier:accessibility:");

/// Of version 3.
+ (VALValet *VAL_NULLABLE)valetWithSharedAccessGroupIdentifier:(NSString *)identifier
                                                 accessibility:(VALAccessibility)accessibility
    VAL_DEPRECATED("use +sharedGroupValetWithAppIDPrefix:sharedGroupIdentifier:accessibility:");
/// Of version 3.
+ (VALValet *VAL_NULLABLE)
    iCloudValetWithSharedAccessGroupIdentifier:(NSString *)identifier
                                 accessibility:(VALCloudAccessibility)accessibility
    VAL_DEPRECATED("use +iCloudValetWithAppIDPrefix:sharedGroupIdentifier:accessibility:");
/// Of version 4.0.
+ (VALValet *VAL_NULLABLE)
    sharedAccessGroupValetWithAppIDPrefix:(NSString *)appIDPrefix
              sharedAccessGroupIdentifier:(NSString *)identifier
                            accessibility:(VALAccessibility)accessibility
    VAL_DEPRECATED("use +sharedGroupValetWithAppIDPrefix:sharedGroupIdentifier:accessibility:");

@end

/// A valet of versions 1 and 2 whose items iCloud synchronized. On Linux the devices of a circle
/// share them. The accessibility must not be one of a single device.
VAL_DEPRECATED("use +[VALValet iCloudValetWithIdentifier:accessibility:]")
@interface VALSynchronizableValet : VALValet

/// YES.
+ (BOOL)supportsSynchronizableKeychainItems;

@end

@interface VALEnclaveSandbox (VALLegacy)

/// YES. Whether a value can be stored and read depends on its access control.
+ (BOOL)supportsSecureEnclaveKeychainItems VAL_DEPRECATED("use -canAccessKeychain");

- (instancetype VAL_NULLABLE)initWithIdentifier:(NSString *)identifier
                                  accessControl:(VALSecureEnclaveAccessControl)accessControl
    VAL_DEPRECATED("use +valetWithIdentifier:accessControl:");
- (instancetype VAL_NULLABLE)
    initWithSharedAccessGroupIdentifier:(NSString *)sharedAccessGroupIdentifier
                          accessControl:(VALSecureEnclaveAccessControl)accessControl
    VAL_DEPRECATED("use +sharedGroupValetWithAppIDPrefix:sharedGroupIdentifier:accessControl:");

/// Of version 1: the access control is user presence.
- (instancetype VAL_NULLABLE)initWithIdentifier:(NSString *)identifier
    VAL_DEPRECATED("use +valetWithIdentifier:accessControl:");
- (instancetype VAL_NULLABLE)
    initWithSharedAccessGroupIdentifier:(NSString *)sharedAccessGroupIdentifier
    VAL_DEPRECATED("use +sharedGroupValetWithAppIDPrefix:sharedGroupIdentifier:accessControl:");
/// Nil unless the accessibility is VALAccessibilityWhenPasscodeSetThisDeviceOnly.
- (instancetype VAL_NULLABLE)initWithIdentifier:(NSString *)identifier
                                  accessibility:(VALAccessibility)accessibility
    VAL_DEPRECATED("use +valetWithIdentifier:accessControl:");
- (instancetype VAL_NULLABLE)
    initWithSharedAccessGroupIdentifier:(NSString *)sharedAccessGroupIdentifier
                          accessibility:(VALAccessibility)accessibility
    VAL_DEPRECATED("use +sharedGroupValetWithAppIDPrefix:sharedGroupIdentifier:accessControl:");

/// Of version 3.
+ (instancetype VAL_NULLABLE)
    sharedAccessGroupValetWithIdentifier:(NSString *)identifier
                           accessControl:(VALSecureEnclaveAccessControl)accessControl
    VAL_DEPRECATED("use +sharedGroupValetWithAppIDPrefix:sharedGroupIdentifier:accessControl:");
/// Of version 4.0.
+ (instancetype VAL_NULLABLE)
    sharedAccessGroupValetWithAppIDPrefix:(NSString *)appIDPrefix
              sharedAccessGroupIdentifier:(NSString *)identifier
                            accessControl:(VALSecureEnclaveAccessControl)accessControl
    VAL_DEPRECATED("use +sharedGroupValetWithAppIDPrefix:sharedGroupIdentifier:accessControl:");

/// Stores `value` under `key`. Does not ask the user, so the prompt has no effect.
- (BOOL)setObject:(NSData *)value
           forKey:(NSString *)key
       userPrompt:(NSString *VAL_NULLABLE)userPrompt
    VAL_DEPRECATED("use -setObject:forKey:error:");
/// Stores the UTF-8 of `string` under `key`. Does not ask the user, so the prompt has no effect.
- (BOOL)setString:(NSString *)string
           forKey:(NSString *)key
       userPrompt:(NSString *VAL_NULLABLE)userPrompt
    VAL_DEPRECATED("use -setString:forKey:error:");
/// The keys under which something is stored; an empty set also if they cannot be read. Asks the
/// user as -allKeysWithUserPrompt:error: does.
- (GS_GENERIC_CLASS(NSSet, NSString *) *)
    allKeysWithUserPrompt:(NSString *VAL_NULLABLE)userPrompt
    VAL_DEPRECATED("use -allKeysWithUserPrompt:error:");
- (NSData *VAL_NULLABLE)objectForKey:(NSString *)key
                          userPrompt:(NSString *VAL_NULLABLE)userPrompt
    VAL_DEPRECATED("use -objectForKey:withPrompt:error:");
- (NSString *VAL_NULLABLE)stringForKey:(NSString *)key
                            userPrompt:(NSString *VAL_NULLABLE)userPrompt
    VAL_DEPRECATED("use -stringForKey:withPrompt:error:");
/// Sets `userCancelled` to whether the user declined or could not authenticate.
- (NSData *VAL_NULLABLE)objectForKey:(NSString *)key
                          userPrompt:(NSString *VAL_NULLABLE)userPrompt
                       userCancelled:(BOOL *VAL_NULLABLE)userCancelled
    VAL_DEPRECATED("use -objectForKey:withPrompt:error:");
/// Sets `userCancelled` to whether the user declined or could not authenticate.
- (NSString *VAL_NULLABLE)stringForKey:(NSString *)key
                            userPrompt:(NSString *VAL_NULLABLE)userPrompt
                         userCancelled:(BOOL *VAL_NULLABLE)userCancelled
    VAL_DEPRECATED("use -stringForKey:withPrompt:error:");

@end

// Version 3.2 had the valets of version 2 under these names beside its own. Here they are the same
// valets.

VAL_DEPRECATED("use VALValet")
@interface VALLegacyValet : VALValet
@end

VAL_DEPRECATED("use +[VALValet iCloudValetWithIdentifier:accessibility:]")
@interface VALLegacySynchronizableValet : VALSynchronizableValet
@end

VAL_DEPRECATED("use VALSecureEnclaveValet")
@interface VALLegacySecureEnclaveValet : VALSecureEnclaveValet
@end

VAL_DEPRECATED("use VALSinglePromptSecureEnclaveValet")
@interface VALLegacySinglePromptSecureEnclaveValet : VALSinglePromptSecureEnclaveValet
@end

NS_ASSUME_NONNULL_END
