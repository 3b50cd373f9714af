// SPDX-License-Identifier: Apache-2.0
// Valets that ask the user at each read.

#import <Valet/VALEnclaveSandbox.h>

NS_ASSUME_NONNULL_BEGIN

/// A sandbox of the keychain for values that require the user's presence at each read.
@interface VALSecureEnclaveValet : VALEnclaveSandbox

/// The bytes that are stored under `key`. Asks the user without giving a reason.
- (NSData *VAL_NULLABLE)objectForKey:(NSString *)key error:(VAL_ERROR)error;

/// The text that is stored under `key`. Asks the user without giving a reason.
- (NSString *VAL_NULLABLE)stringForKey:(NSString *)key error:(VAL_ERROR)error;

/// Copies the items of the VALSinglePromptSecureEnclaveValet with the same identifier, group and
/// access control into this valet. Asks the user once, to read them.
///
/// - Errors: Those of -migrateObjectsFrom:removeOnCompletion:error:; VALKeychainErrorUserCancelled.
- (BOOL)migrateObjectsFromSinglePromptSecureEnclaveValetWithPrompt:(NSString *)userPrompt
                                                removeOnCompletion:(BOOL)removeOnCompletion
                                                             error:(VAL_ERROR)error;
/// The same, without giving a reason.
- (BOOL)migrateObjectsFromSinglePromptSecureEnclaveValetWithRemoveOnCompletion:
            (BOOL)removeOnCompletion
        error:(VAL_ERROR)error;

@end

NS_ASSUME_NONNULL_END
