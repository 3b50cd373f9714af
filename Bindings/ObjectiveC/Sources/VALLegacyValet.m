// SPDX-License-Identifier: Apache-2.0
// The names of versions 1 to 4. Each calls what replaces it.

#import "VALInternal.h"

#import <Valet/VALLegacyValet.h>

NSString *const VALMigrationErrorDomain = @"VALMigrationErrorDomain";

/// The error of versions 1 and 2 for a migration's error; nil if the migration worked.
static NSError *legacyError(BOOL isDone, NSError *error)
{
    NSInteger code = VALMigrationErrorCouldNotReadKeychain;
    if (isDone) return nil;
    if ([[error domain] isEqualToString:VALMigrationResultDomain]) {
        switch ((VALMigrationResult)[error code]) {
        case VALMigrationResultInvalidQuery: code = VALMigrationErrorInvalidQuery; break;
        case VALMigrationResultKeyToMigrateInvalid:
            code = VALMigrationErrorKeyInQueryResultInvalid;
            break;
        case VALMigrationResultDataToMigrateInvalid:
            code = VALMigrationErrorDataInQueryResultInvalid;
            break;
        case VALMigrationResultDuplicateKeyToMigrate:
            code = VALMigrationErrorDuplicateKeyInQueryResult;
            break;
        case VALMigrationResultKeyToMigrateAlreadyExistsInValet:
            code = VALMigrationErrorKeyInQueryResultAlreadyExistsInValet;
            break;
        case VALMigrationResultRemovalFailed: code = VALMigrationErrorRemovalFailed; break;
        }
    } else if ([error code] == VALKeychainErrorItemNotFound) {
        code = VALMigrationErrorNoItemsToMigrateFound;
    }
    return [NSError errorWithDomain:VALMigrationErrorDomain
                               code:code
                           userInfo:[NSDictionary dictionaryWithObject:error
                                                                forKey:NSUnderlyingErrorKey]];
}

@implementation VALSandbox (VALLegacy)

- (id)copyWithZone:(NSZone *)zone
{
    return RETAIN(self);
}

- (NSString *)identifier
{
    NSString *identifier = [self givenIdentifier];
    return [identifier length] > 0 ? identifier : [self givenGroup];
}

- (BOOL)isSharedAcrossApplications
{
    return [[self givenGroup] length] > 0;
}

- (BOOL)isEqualToValet:(VALSandbox *)otherValet
{
    return [self isEqual:otherValet];
}

- (NSString *)legacyPrompt
{
    return [self isKindOfClass:[VALEnclaveSandbox class]] ? @"" : nil;
}

- (BOOL)setObject:(NSData *)value forKey:(NSString *)key
{
    return [self setObject:value forKey:key error:NULL];
}

- (NSData *)objectForKey:(NSString *)key
{
    return [self readObjectForKey:key prompt:[self legacyPrompt] error:NULL];
}

- (BOOL)setString:(NSString *)string forKey:(NSString *)key
{
    return [self setString:string forKey:key error:NULL];
}

- (NSString *)stringForKey:(NSString *)key
{
    return [self readStringForKey:key prompt:[self legacyPrompt] error:NULL];
}

- (NSSet *)allKeys
{
    NSSet *keys = [self readKeysWithPrompt:[self legacyPrompt] error:NULL];
    return keys == nil ? [NSSet set] : keys;
}

- (BOOL)removeObjectForKey:(NSString *)key
{
    return [self removeObjectForKey:key error:NULL];
}

- (BOOL)removeAllObjects
{
    return [self removeAllObjectsAndReturnError:NULL];
}

- (NSError *)migrateObjectsMatchingQuery:(NSDictionary *)secItemQuery
                      removeOnCompletion:(BOOL)remove
{
    NSError *error = nil;
    BOOL isDone = [self migrateObjectsMatching:secItemQuery
                            removeOnCompletion:remove
                                         error:&error];
    return legacyError(isDone, error);
}

- (NSError *)migrateObjectsFromValet:(VALValet *)valet removeOnCompletion:(BOOL)remove
{
    NSError *error = nil;
    BOOL isDone = [self migrateObjectsFrom:valet removeOnCompletion:remove error:&error];
    return legacyError(isDone, error);
}

- (VALMigrationResult)migrateObjectsFromKeychain:(VALSandbox *)valet removeOnCompletion:(BOOL)remove
{
    valet_migration migration = VALET_INIT(valet_migration);
    NSError *error = nil;
    migration.from = [valet handle];
    migration.remove_on_completion = remove;
    if ([self perform:migration prompt:[valet legacyPrompt] error:&error]) {
        return (VALMigrationResult)VALMigrationResultSuccess;
    }
    if ([[error domain] isEqualToString:VALMigrationResultDomain]) {
        return (VALMigrationResult)[error code];
    }
    return (VALMigrationResult)([error code] == VALKeychainErrorItemNotFound
                                    ? VALMigrationResultNoItemsToMigrateFound
                                    : VALMigrationResultCouldNotReadKeychain);
}

@end

@implementation VALValet (VALLegacy)

+ (int32_t)legacyKind
{
    return VALET_KIND_LOCAL;
}

- (instancetype)initWithIdentifier:(NSString *)identifier
                     accessibility:(VALAccessibility)accessibility
{
    VALConfiguration configuration = {
        .identifier = identifier,
        .kind = [[self class] legacyKind],
        .accessibility = accessibility,
    };
    return [self initWithConfiguration:configuration];
}

- (instancetype)initWithSharedAccessGroupIdentifier:(NSString *)sharedAccessGroupIdentifier
                                      accessibility:(VALAccessibility)accessibility
{
    // Without a prefix the library takes the application's group of that name.
    VALConfiguration configuration = {
        .group = sharedAccessGroupIdentifier,
        .kind = [[self class] legacyKind],
        .accessibility = accessibility,
    };
    return [self initWithConfiguration:configuration];
}

+ (VALValet *)valetWithSharedAccessGroupIdentifier:(NSString *)identifier
                                     accessibility:(VALAccessibility)accessibility
{
    return AUTORELEASE([[VALValet alloc] initWithSharedAccessGroupIdentifier:identifier
                                                               accessibility:accessibility]);
}

+ (VALValet *)iCloudValetWithSharedAccessGroupIdentifier:(NSString *)identifier
                                           accessibility:(VALCloudAccessibility)accessibility
{
    VALConfiguration configuration = {
        .group = identifier,
        .kind = VALET_KIND_CLOUD,
        .accessibility = accessibility,
    };
    return [VALValet sandboxWithConfiguration:configuration];
}

+ (VALValet *)sharedAccessGroupValetWithAppIDPrefix:(NSString *)appIDPrefix
                        sharedAccessGroupIdentifier:(NSString *)identifier
                                      accessibility:(VALAccessibility)accessibility
{
    return [VALValet sharedGroupValetWithAppIDPrefix:appIDPrefix
                               sharedGroupIdentifier:identifier
                                       accessibility:accessibility];
}

@end

@implementation VALSynchronizableValet

+ (int32_t)legacyKind
{
    return VALET_KIND_CLOUD;
}

+ (BOOL)supportsSynchronizableKeychainItems
{
    return YES;
}

@end

@implementation VALEnclaveSandbox (VALLegacy)

+ (BOOL)supportsSecureEnclaveKeychainItems
{
    return YES;
}

- (instancetype)initWithIdentifier:(NSString *)identifier
                     accessControl:(VALSecureEnclaveAccessControl)accessControl
{
    VALConfiguration configuration = {
        .identifier = identifier,
        .kind = [[self class] kind],
        .accessControl = accessControl,
    };
    return [self initWithConfiguration:configuration];
}

- (instancetype)initWithSharedAccessGroupIdentifier:(NSString *)sharedAccessGroupIdentifier
                                      accessControl:(VALSecureEnclaveAccessControl)accessControl
{
    VALConfiguration configuration = {
        .group = sharedAccessGroupIdentifier,
        .kind = [[self class] kind],
        .accessControl = accessControl,
    };
    return [self initWithConfiguration:configuration];
}

- (instancetype)initWithIdentifier:(NSString *)identifier
{
    return [self initWithIdentifier:identifier
                      accessControl:VALSecureEnclaveAccessControlUserPresence];
}

- (instancetype)initWithSharedAccessGroupIdentifier:(NSString *)sharedAccessGroupIdentifier
{
    return [self initWithSharedAccessGroupIdentifier:sharedAccessGroupIdentifier
                                       accessControl:VALSecureEnclaveAccessControlUserPresence];
}

- (instancetype)initWithIdentifier:(NSString *)identifier
                     accessibility:(VALAccessibility)accessibility
{
    if (accessibility == VALAccessibilityWhenPasscodeSetThisDeviceOnly) {
        return [self initWithIdentifier:identifier];
    }
    RELEASE(self);
    return nil;
}

- (instancetype)initWithSharedAccessGroupIdentifier:(NSString *)sharedAccessGroupIdentifier
                                      accessibility:(VALAccessibility)accessibility
{
    if (accessibility == VALAccessibilityWhenPasscodeSetThisDeviceOnly) {
        return [self initWithSharedAccessGroupIdentifier:sharedAccessGroupIdentifier];
    }
    RELEASE(self);
    return nil;
}

+ (instancetype)sharedAccessGroupValetWithIdentifier:(NSString *)identifier
                                       accessControl:(VALSecureEnclaveAccessControl)accessControl
{
    return AUTORELEASE([[self alloc] initWithSharedAccessGroupIdentifier:identifier
                                                           accessControl:accessControl]);
}

+ (instancetype)sharedAccessGroupValetWithAppIDPrefix:(NSString *)appIDPrefix
                          sharedAccessGroupIdentifier:(NSString *)identifier
                                        accessControl:(VALSecureEnclaveAccessControl)accessControl
{
    return [self sharedGroupValetWithAppIDPrefix:appIDPrefix
                           sharedGroupIdentifier:identifier
                                   accessControl:accessControl];
}

/// Whether `error` means that the user declined or could not authenticate.
static BOOL isCancellation(NSError *error)
{
    return [[error domain] isEqualToString:VALKeychainErrorDomain]
        && [error code] == VALKeychainErrorUserCancelled;
}

- (BOOL)setObject:(NSData *)value forKey:(NSString *)key userPrompt:(NSString *)userPrompt
{
    return [self setObject:value forKey:key error:NULL];
}

- (BOOL)setString:(NSString *)string forKey:(NSString *)key userPrompt:(NSString *)userPrompt
{
    return [self setString:string forKey:key error:NULL];
}

- (NSSet *)allKeysWithUserPrompt:(NSString *)userPrompt
{
    NSSet *keys = [self readKeysWithPrompt:userPrompt == nil ? @"" : userPrompt error:NULL];
    return keys == nil ? [NSSet set] : keys;
}

- (NSData *)objectForKey:(NSString *)key userPrompt:(NSString *)userPrompt
{
    return [self objectForKey:key withPrompt:userPrompt error:NULL];
}

- (NSString *)stringForKey:(NSString *)key userPrompt:(NSString *)userPrompt
{
    return [self stringForKey:key withPrompt:userPrompt error:NULL];
}

- (NSData *)objectForKey:(NSString *)key
              userPrompt:(NSString *)userPrompt
           userCancelled:(BOOL *)userCancelled
{
    NSError *error = nil;
    NSData *object = [self objectForKey:key withPrompt:userPrompt error:&error];
    if (userCancelled != NULL) *userCancelled = object == nil && isCancellation(error);
    return object;
}

- (NSString *)stringForKey:(NSString *)key
                userPrompt:(NSString *)userPrompt
             userCancelled:(BOOL *)userCancelled
{
    NSError *error = nil;
    NSString *string = [self stringForKey:key withPrompt:userPrompt error:&error];
    if (userCancelled != NULL) *userCancelled = string == nil && isCancellation(error);
    return string;
}

@end

@implementation VALLegacyValet
@end

@implementation VALLegacySynchronizableValet
@end

@implementation VALLegacySecureEnclaveValet
@end

@implementation VALLegacySinglePromptSecureEnclaveValet
@end
