// SPDX-License-Identifier: Apache-2.0
// The factories and reads of the two kinds of valets that ask the user.

#import "VALInternal.h"

@implementation VALEnclaveSandbox

/// Overridden by both kinds.
+ (int32_t)kind
{
    return -1;
}

/// A valet for an identifier, or for a group if there is none.
+ (instancetype)valetWithIdentifier:(NSString *)identifier
                             prefix:(NSString *)prefix
                              group:(NSString *)group
                      accessControl:(NSInteger)accessControl
{
    VALConfiguration configuration = {
        .identifier = identifier,
        .groupPrefix = prefix,
        .group = group,
        .kind = [self kind],
        .accessControl = accessControl,
    };
    return [self sandboxWithConfiguration:configuration];
}

+ (instancetype)valetWithIdentifier:(NSString *)identifier
                      accessControl:(VALSecureEnclaveAccessControl)accessControl
{
    if ([identifier length] == 0) return nil;
    return [self valetWithIdentifier:identifier
                              prefix:nil
                               group:nil
                       accessControl:accessControl];
}

+ (instancetype)sharedGroupValetWithAppIDPrefix:(NSString *)appIDPrefix
                          sharedGroupIdentifier:(NSString *)identifier
                                  accessControl:(VALSecureEnclaveAccessControl)accessControl
{
    if ([appIDPrefix length] == 0 || [identifier length] == 0) return nil;
    return [self valetWithIdentifier:nil
                              prefix:appIDPrefix
                               group:identifier
                       accessControl:accessControl];
}

+ (instancetype)sharedGroupValetWithGroupPrefix:(NSString *)groupPrefix
                          sharedGroupIdentifier:(NSString *)identifier
                                  accessControl:(VALSecureEnclaveAccessControl)accessControl
{
    if (![groupPrefix isEqualToString:@"group"]) return nil;
    return [self sharedGroupValetWithAppIDPrefix:groupPrefix
                           sharedGroupIdentifier:identifier
                                   accessControl:accessControl];
}

- (VALSecureEnclaveAccessControl)accessControl
{
    return _accessControl;
}

- (BOOL)canMeetAccessControl
{
    int32_t canMeet = 0;
    return valet_can_meet_access_control([self handle], &canMeet) == VALET_OK && canMeet != 0;
}

- (NSData *)objectForKey:(NSString *)key
              withPrompt:(NSString *)userPrompt
                   error:(VAL_ERROR)error
{
    return [self readObjectForKey:key prompt:userPrompt == nil ? @"" : userPrompt error:error];
}

- (NSString *)stringForKey:(NSString *)key
                withPrompt:(NSString *)userPrompt
                     error:(VAL_ERROR)error
{
    return [self readStringForKey:key prompt:userPrompt == nil ? @"" : userPrompt error:error];
}

@end

@implementation VALSecureEnclaveValet

+ (int32_t)kind
{
    return VALET_KIND_SECURE_ENCLAVE;
}

- (NSData *)objectForKey:(NSString *)key error:(VAL_ERROR)error
{
    return [self readObjectForKey:key prompt:@"" error:error];
}

- (NSString *)stringForKey:(NSString *)key error:(VAL_ERROR)error
{
    return [self readStringForKey:key prompt:@"" error:error];
}

- (BOOL)migrateObjectsFromSinglePromptSecureEnclaveValetWithPrompt:(NSString *)userPrompt
                                                removeOnCompletion:(BOOL)removeOnCompletion
                                                             error:(VAL_ERROR)error
{
    valet_migration migration = VALET_INIT(valet_migration);
    VALConfiguration source = {
        .identifier = [self givenIdentifier],
        .groupPrefix = [self givenGroupPrefix],
        .group = [self givenGroup],
        .kind = VALET_KIND_SINGLE_PROMPT,
        .accessControl = _accessControl,
    };
    // A handle of its own, for which an earlier answer of the user does not count.
    valet_t handle = VALOpen(source);
    BOOL isDone;
    migration.from = handle;
    migration.remove_on_completion = removeOnCompletion;
    isDone = [self perform:migration prompt:userPrompt == nil ? @"" : userPrompt error:error];
    valet_close(handle);
    return isDone;
}

- (BOOL)migrateObjectsFromSinglePromptSecureEnclaveValetWithRemoveOnCompletion:
            (BOOL)removeOnCompletion
        error:(VAL_ERROR)error
{
    return [self migrateObjectsFromSinglePromptSecureEnclaveValetWithPrompt:@""
                                                         removeOnCompletion:removeOnCompletion
                                                                      error:error];
}

@end

@implementation VALSinglePromptSecureEnclaveValet

+ (int32_t)kind
{
    return VALET_KIND_SINGLE_PROMPT;
}

- (void)requirePromptOnNextAccess
{
    valet_require_prompt([self handle]);
}

- (NSSet *)allKeysWithUserPrompt:(NSString *)userPrompt error:(VAL_ERROR)error
{
    return [self readKeysWithPrompt:userPrompt == nil ? @"" : userPrompt error:error];
}

@end
