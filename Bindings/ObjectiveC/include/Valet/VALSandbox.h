// SPDX-License-Identifier: Apache-2.0
// What all classes of valets have in common.

#import <Valet/VALSecItem.h>
#import <Valet/VALTypes.h>

@class VALValet;

NS_ASSUME_NONNULL_BEGIN

/// A sandbox of the keychain in which an application stores secrets by key: the part that
/// VALValet, VALSecureEnclaveValet and VALSinglePromptSecureEnclaveValet share.
///
/// Keys are any text, values any bytes; neither may be empty. Two calls with the same configuration
/// return the same object while it is alive. Two valets are equal if they are of the same kind and
/// read and write the same items. All methods may be called from several threads and processes at
/// once. None of the methods of this class asks the user.
@interface VALSandbox : NSObject {
@private
    void *_handle;
    NSString *_identifier;
    NSString *_groupPrefix;
    NSString *_group;
    NSData *_configuration;
@protected
    int32_t _accessibility;
    int32_t _accessControl;
    int32_t _kind;
}

- (instancetype)init VAL_UNAVAILABLE("use the class methods of VALValet and its kind");

/// Whether the keychain works here, whatever the access control. Tries a canary item, which never
/// shows as a key.
- (BOOL)canAccessKeychain;

/// Stores `object` under `key` and replaces what was stored there. On return it is on disk.
///
/// - Errors: VALKeychainErrorEmptyKey, EmptyValue, MissingEntitlement, CouldNotAccessKeychain.
- (BOOL)setObject:(NSData *)object forKey:(NSString *)key error:(VAL_ERROR)error;

/// Stores the UTF-8 of `string` under `key` and replaces what was stored there. On return it is on
/// disk.
///
/// - Errors: Those of -setObject:forKey:error:.
- (BOOL)setString:(NSString *)string forKey:(NSString *)key error:(VAL_ERROR)error;

/// Whether something is stored under `key`. Does not read the value. NO also if the keychain cannot
/// be read.
- (BOOL)containsObjectForKey:(NSString *)key;

/// Removes what is stored under `key`, if anything.
///
/// - Errors: VALKeychainErrorEmptyKey, MissingEntitlement, CouldNotAccessKeychain.
- (BOOL)removeObjectForKey:(NSString *)key error:(VAL_ERROR)error;

/// Removes everything that is stored.
///
/// - Errors: VALKeychainErrorMissingEntitlement, CouldNotAccessKeychain.
- (BOOL)removeAllObjectsAndReturnError:(VAL_ERROR)error;

@end

@interface VALSandbox (VALMigrations)

/// Copies the generic passwords that a SecItem query finds into this valet, all of them or none.
///
/// - query: Names the class (kSecClass: kSecClassGenericPassword) and attributes, such as
///   kSecAttrService (VALSecItem.h). Values are NSString, NSData or NSNumber.
/// - removeOnCompletion: Whether to remove the copied items from their old place.
/// - Errors: VALMigrationResult; VALKeychainErrorItemNotFound if nothing is found, and other
///   VALKeychainErrors.
- (BOOL)migrateObjectsMatching:(GS_GENERIC_CLASS(NSDictionary, NSString *, id) *)query
            removeOnCompletion:(BOOL)removeOnCompletion
                         error:(VAL_ERROR)error;

/// Copies the items of `valet` into this valet, all of them or none.
///
/// - Errors: Those of -migrateObjectsMatching:removeOnCompletion:error:.
- (BOOL)migrateObjectsFrom:(VALValet *)valet
        removeOnCompletion:(BOOL)removeOnCompletion
                     error:(VAL_ERROR)error;

@end

NS_ASSUME_NONNULL_END
