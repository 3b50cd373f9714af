// SPDX-License-Identifier: Apache-2.0
// Valets whose values are read without asking the user.

#import <Valet/VALMigratableKeyValuePair.h>
#import <Valet/VALSandbox.h>

NS_ASSUME_NONNULL_BEGIN

/// A sandbox of the keychain in which an application stores secrets by key. No method asks the
/// user.
///
/// The identifier, the accessibility, the access group and the kind (iCloud or not) select the
/// items: a key stored with one accessibility is not found with another.
@interface VALValet : VALSandbox

/// The valet of that identifier, which this application alone can use. Nil for an empty identifier.
+ (VALValet *VAL_NULLABLE)valetWithIdentifier:(NSString *)identifier
                             accessibility:(VALAccessibility)accessibility;

/// The valet of that identifier whose items the devices of a circle share. Nil for an empty
/// identifier.
+ (VALValet *VAL_NULLABLE)iCloudValetWithIdentifier:(NSString *)identifier
                                   accessibility:(VALCloudAccessibility)accessibility;

/// The valet whose items have exactly `identifier` as their service. Nil if it is empty.
+ (VALValet *VAL_NULLABLE)valetWithExplicitlySetIdentifier:(NSString *)identifier
                                          accessibility:(VALAccessibility)accessibility;

/// The valet whose items have exactly `identifier` as their service, and are shared by the devices
/// of a circle. Nil if it is empty.
+ (VALValet *VAL_NULLABLE)iCloudValetWithExplicitlySetIdentifier:(NSString *)identifier
                                                accessibility:(VALCloudAccessibility)accessibility;

/// The valet of the access group `appIDPrefix`.`identifier`, which every application of the group
/// can use. Nil if either is empty.
+ (VALValet *VAL_NULLABLE)sharedGroupValetWithAppIDPrefix:(NSString *)appIDPrefix
                                 sharedGroupIdentifier:(NSString *)identifier
                                         accessibility:(VALAccessibility)accessibility;

/// The valet of an app group. Nil if the identifier is empty, or if the prefix is not `group`.
+ (VALValet *VAL_NULLABLE)sharedGroupValetWithGroupPrefix:(NSString *)groupPrefix
                                 sharedGroupIdentifier:(NSString *)identifier
                                         accessibility:(VALAccessibility)accessibility;

/// The valet of an access group whose items the devices of a circle share. Nil if either is empty.
+ (VALValet *VAL_NULLABLE)iCloudValetWithAppIDPrefix:(NSString *)appIDPrefix
                            sharedGroupIdentifier:(NSString *)identifier
                                    accessibility:(VALCloudAccessibility)accessibility;

/// The valet of an app group whose items the devices of a circle share. Nil if the identifier is
/// empty, or if the prefix is not `group`.
+ (VALValet *VAL_NULLABLE)iCloudValetWithGroupPrefix:(NSString *)groupPrefix
                            sharedGroupIdentifier:(NSString *)identifier
                                    accessibility:(VALCloudAccessibility)accessibility;

/// The valet of an access group whose items have exactly `identifier` as their service. Nil if
/// either is empty.
+ (VALValet *VAL_NULLABLE)valetWithAppIDPrefix:(NSString *)appIDPrefix
         explicitlySetSharedGroupIdentifier:(NSString *)identifier
                              accessibility:(VALAccessibility)accessibility;

/// The valet of an access group whose items have exactly `identifier` as their service, and are
/// shared by the devices of a circle. Nil if either is empty.
+ (VALValet *VAL_NULLABLE)iCloudValetWithAppIDPrefix:(NSString *)appIDPrefix
               explicitlySetSharedGroupIdentifier:(NSString *)identifier
                                    accessibility:(VALCloudAccessibility)accessibility;

/// When the values may be read.
@property (nonatomic, readonly) VALAccessibility accessibility;

/// The bytes that are stored under `key`. The returned object wipes them when it is deallocated.
///
/// - Errors: VALKeychainErrorEmptyKey, ItemNotFound, MissingEntitlement, CouldNotAccessKeychain.
- (NSData *VAL_NULLABLE)objectForKey:(NSString *)key error:(VAL_ERROR)error;

/// The text that is stored under `key`.
///
/// - Errors: Those of -objectForKey:error:; VALKeychainErrorItemNotFound also if the stored bytes
///   are not UTF-8.
- (NSString *VAL_NULLABLE)stringForKey:(NSString *)key error:(VAL_ERROR)error;

/// The keys under which something is stored; an empty set if there are none.
///
/// - Errors: VALKeychainErrorMissingEntitlement, CouldNotAccessKeychain.
- (GS_GENERIC_CLASS(NSSet, NSString *) *VAL_NULLABLE)allKeysAndReturnError:(VAL_ERROR)error;
/// See -allKeysAndReturnError:.
- (GS_GENERIC_CLASS(NSSet, NSString *) *VAL_NULLABLE)allKeysWithError:(VAL_ERROR)error;
/// See -allKeysAndReturnError:. Older code uses this name.
- (GS_GENERIC_CLASS(NSSet, NSString *) *VAL_NULLABLE)allKeys:(VAL_ERROR)error;

@end

@interface VALValet (VALMigrations)

/// Copies the items that this valet stored with the retired accessibility "always".
///
/// - Errors: Those of -migrateObjectsFrom:removeOnCompletion:error:.
- (BOOL)migrateObjectsFromAlwaysAccessibleValetWithRemoveOnCompletion:(BOOL)removeOnCompletion
                                                                error:(VAL_ERROR)error;

/// Copies the items that this valet stored with the retired accessibility "always, this device
/// only".
///
/// - Errors: Those of -migrateObjectsFrom:removeOnCompletion:error:.
- (BOOL)migrateObjectsFromAlwaysAccessibleThisDeviceOnlyValetWithRemoveOnCompletion:
            (BOOL)removeOnCompletion
        error:(VAL_ERROR)error;

#if defined(__BLOCKS__)
/// Copies the generic passwords that a SecItem query finds into this valet, as `compactMap` changes
/// them, all of them or none.
///
/// - Errors: Those of -migrateObjectsMatching:removeOnCompletion:error:.
- (BOOL)migrateObjectsMatching:(GS_GENERIC_CLASS(NSDictionary, NSString *, id) *)query
                    compactMap:(VALCompactMap)compactMap
                         error:(VAL_ERROR)error;

/// Copies the items of `valet` into this valet, as `compactMap` changes them, all of them or none.
///
/// - Errors: Those of -migrateObjectsMatching:compactMap:error:.
- (BOOL)migrateObjectsFrom:(VALValet *)valet
                compactMap:(VALCompactMap)compactMap
                     error:(VAL_ERROR)error;
#endif

@end

NS_ASSUME_NONNULL_END
