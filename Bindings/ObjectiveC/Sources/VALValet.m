// SPDX-License-Identifier: Apache-2.0
// The factories and reads of the valets that ask nobody.

#import "VALInternal.h"

@implementation VALValet

/// Nil for a retired accessibility: only VALLegacyValet.h makes valets that have one.
+ (VALValet *)valetWithConfiguration:(VALConfiguration)configuration
{
    if (configuration.accessibility == VALET_ALWAYS
        || configuration.accessibility == VALET_ALWAYS_THIS_DEVICE_ONLY) {
        return nil;
    }
    return [self sandboxWithConfiguration:configuration];
}

+ (VALValet *)valetWithIdentifier:(NSString *)identifier
                             cloud:(BOOL)isCloud
                     accessibility:(NSInteger)accessibility
                     explicitlySet:(BOOL)isExplicitlySet
{
    VALConfiguration configuration = {
        .identifier = identifier,
        .kind = isCloud ? VALET_KIND_CLOUD : VALET_KIND_LOCAL,
        .accessibility = accessibility,
        .isExplicitlySet = isExplicitlySet,
    };
    return [identifier length] == 0 ? nil : [self valetWithConfiguration:configuration];
}

+ (VALValet *)valetWithPrefix:(NSString *)prefix
                        group:(NSString *)group
                        cloud:(BOOL)isCloud
                accessibility:(NSInteger)accessibility
                explicitlySet:(BOOL)isExplicitlySet
{
    VALConfiguration configuration = {
        .groupPrefix = prefix,
        .group = group,
        .kind = isCloud ? VALET_KIND_CLOUD : VALET_KIND_LOCAL,
        .accessibility = accessibility,
        .isExplicitlySet = isExplicitlySet,
    };
    if ([prefix length] == 0 || [group length] == 0) return nil;
    return [self valetWithConfiguration:configuration];
}

+ (VALValet *)valetWithIdentifier:(NSString *)identifier
                    accessibility:(VALAccessibility)accessibility
{
    return [self valetWithIdentifier:identifier
                               cloud:NO
                       accessibility:accessibility
                       explicitlySet:NO];
}

+ (VALValet *)iCloudValetWithIdentifier:(NSString *)identifier
                          accessibility:(VALCloudAccessibility)accessibility
{
    return [self valetWithIdentifier:identifier
                               cloud:YES
                       accessibility:accessibility
                       explicitlySet:NO];
}

+ (VALValet *)valetWithExplicitlySetIdentifier:(NSString *)identifier
                                 accessibility:(VALAccessibility)accessibility
{
    return [self valetWithIdentifier:identifier
                               cloud:NO
                       accessibility:accessibility
                       explicitlySet:YES];
}

+ (VALValet *)iCloudValetWithExplicitlySetIdentifier:(NSString *)identifier
                                       accessibility:(VALCloudAccessibility)accessibility
{
    return [self valetWithIdentifier:identifier
                               cloud:YES
                       accessibility:accessibility
                       explicitlySet:YES];
}

+ (VALValet *)sharedGroupValetWithAppIDPrefix:(NSString *)appIDPrefix
                        sharedGroupIdentifier:(NSString *)identifier
                                accessibility:(VALAccessibility)accessibility
{
    return [self valetWithPrefix:appIDPrefix
                           group:identifier
                           cloud:NO
                   accessibility:accessibility
                   explicitlySet:NO];
}

+ (VALValet *)sharedGroupValetWithGroupPrefix:(NSString *)groupPrefix
                        sharedGroupIdentifier:(NSString *)identifier
                                accessibility:(VALAccessibility)accessibility
{
    if (![groupPrefix isEqualToString:@"group"]) return nil;
    return [self valetWithPrefix:groupPrefix
                           group:identifier
                           cloud:NO
                   accessibility:accessibility
                   explicitlySet:NO];
}

+ (VALValet *)iCloudValetWithAppIDPrefix:(NSString *)appIDPrefix
                   sharedGroupIdentifier:(NSString *)identifier
                           accessibility:(VALCloudAccessibility)accessibility
{
    return [self valetWithPrefix:appIDPrefix
                           group:identifier
                           cloud:YES
                   accessibility:accessibility
                   explicitlySet:NO];
}

+ (VALValet *)iCloudValetWithGroupPrefix:(NSString *)groupPrefix
                   sharedGroupIdentifier:(NSString *)identifier
                           accessibility:(VALCloudAccessibility)accessibility
{
    if (![groupPrefix isEqualToString:@"group"]) return nil;
    return [self valetWithPrefix:groupPrefix
                           group:identifier
                           cloud:YES
                   accessibility:accessibility
                   explicitlySet:NO];
}

+ (VALValet *)valetWithAppIDPrefix:(NSString *)appIDPrefix
    explicitlySetSharedGroupIdentifier:(NSString *)identifier
                         accessibility:(VALAccessibility)accessibility
{
    return [self valetWithPrefix:appIDPrefix
                           group:identifier
                           cloud:NO
                   accessibility:accessibility
                   explicitlySet:YES];
}

+ (VALValet *)iCloudValetWithAppIDPrefix:(NSString *)appIDPrefix
      explicitlySetSharedGroupIdentifier:(NSString *)identifier
                           accessibility:(VALCloudAccessibility)accessibility
{
    return [self valetWithPrefix:appIDPrefix
                           group:identifier
                           cloud:YES
                   accessibility:accessibility
                   explicitlySet:YES];
}

- (VALAccessibility)accessibility
{
    return _accessibility;
}

- (NSData *)objectForKey:(NSString *)key error:(VAL_ERROR)error
{
    return [self readObjectForKey:key prompt:nil error:error];
}

- (NSString *)stringForKey:(NSString *)key error:(VAL_ERROR)error
{
    return [self readStringForKey:key prompt:nil error:error];
}

- (NSSet *)allKeysAndReturnError:(VAL_ERROR)error
{
    return [self readKeysWithPrompt:nil error:error];
}

- (NSSet *)allKeysWithError:(VAL_ERROR)error
{
    return [self readKeysWithPrompt:nil error:error];
}

- (NSSet *)allKeys:(VAL_ERROR)error
{
    return [self readKeysWithPrompt:nil error:error];
}

@end
