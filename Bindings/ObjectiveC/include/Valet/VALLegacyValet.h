// SPDX-License-Identifier: Apache-2.0
// The names of versions 1 to 4 of the Valet API. All of them are deprecated; each says what
// replaces it. They find the items that those versions stored.

#import <Valet/Valet.h>

NS_ASSUME_NONNULL_BEGIN

/// Accessibilities of versions 1 and 2, which Apple has retired. A valet that has one only reads
/// what was stored: move its items into another valet.
enum {
    VALAccessibilityAlways VAL_DEPRECATED(
        "use -migrateObjectsFromAlwaysAccessibleValetWithRemoveOnCompletion:error:") = 3,
    VALAccessibilityAlwaysThisDeviceOnly VAL_DEPRECATED(
        "use -migrateObjectsFromAlwaysAccessibleThisDeviceOnlyValetWithRemoveOnCompletion:error:") =
        7,
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

NS_ASSUME_NONNULL_END
