// SPDX-License-Identifier: Apache-2.0
// The names of versions 1 to 4, and the items that those versions stored.

#import "Checks.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static VALValet *legacyValet(NSString *identifier, VALAccessibility accessibility)
{
    return [[[VALValet alloc] initWithIdentifier:identifier
                                   accessibility:accessibility] autorelease];
}

void testLegacy(void)
{
    VALValet *valet = legacyValet(@"Legacy", VALAccessibilityWhenUnlocked);
    VALValet *newer = [VALValet valetWithIdentifier:@"Legacy"
                                      accessibility:VALAccessibilityWhenUnlocked];
    VALSynchronizableValet *cloud = [[[VALSynchronizableValet alloc]
        initWithIdentifier:@"Legacy"
             accessibility:VALAccessibilityWhenUnlocked] autorelease];
    CHECK(valet == newer);
    CHECK([valet removeAllObjects]);
    CHECK([valet setString:@"text" forKey:@"key"]);
    CHECK([valet setObject:bytesOf(@"bytes") forKey:@"other"]);
    CHECK_EQUAL([valet stringForKey:@"key"], @"text");
    CHECK_EQUAL([valet objectForKey:@"other"], bytesOf(@"bytes"));
    CHECK([valet stringForKey:@"no such key"] == nil);
    CHECK([valet objectForKey:@""] == nil);
    CHECK(![valet setString:@"" forKey:@"key"]);
    CHECK([valet containsObjectForKey:@"key"]);
    CHECK_EQUAL([valet allKeys], ([NSSet setWithObjects:@"key", @"other", nil]));
    CHECK([valet removeObjectForKey:@"other"]);
    CHECK([valet removeObjectForKey:@"other"]);
    CHECK([valet canAccessKeychain]);
    CHECK_EQUAL([valet identifier], @"Legacy");
    CHECK(![valet isSharedAcrossApplications]);
    CHECK([valet isEqualToValet:newer]);
    CHECK([[valet copy] autorelease] == valet);
    CHECK(legacyValet(@"", VALAccessibilityWhenUnlocked) == nil);
    CHECK(legacyValet(@"Legacy", 0) == nil);

    CHECK([VALSynchronizableValet supportsSynchronizableKeychainItems]);
    CHECK([cloud setString:@"shared" forKey:@"key"]);
    CHECK_EQUAL([valet stringForKey:@"key"], @"text");
    CHECK_EQUAL(cloud, [VALValet iCloudValetWithIdentifier:@"Legacy"
                                             accessibility:VALCloudAccessibilityWhenUnlocked]);
    CHECK([[[VALSynchronizableValet alloc]
              initWithIdentifier:@"Legacy"
                   accessibility:VALAccessibilityWhenUnlockedThisDeviceOnly] autorelease] == nil);
    CHECK([VALSecureEnclaveValet supportsSecureEnclaveKeychainItems]);
}

/// The names of single versions, each with what has replaced it.
void testLegacyNames(void)
{
    NSInteger names[][2] = {
        {VALAccessibleWhenUnlocked, VALAccessibilityWhenUnlocked},
        {VALAccessibleAfterFirstUnlock, VALAccessibilityAfterFirstUnlock},
        {VALAccessibleAlways, VALAccessibilityAlways},
        {VALAccessibleWhenPasscodeSetThisDeviceOnly, VALAccessibilityWhenPasscodeSetThisDeviceOnly},
        {VALAccessibleWhenUnlockedThisDeviceOnly, VALAccessibilityWhenUnlockedThisDeviceOnly},
        {VALAccessibleAfterFirstUnlockThisDeviceOnly,
         VALAccessibilityAfterFirstUnlockThisDeviceOnly},
        {VALAccessibleAlwaysThisDeviceOnly, VALAccessibilityAlwaysThisDeviceOnly},
        {VALLegacyAccessibilityWhenUnlocked, VALAccessibilityWhenUnlocked},
        {VALLegacyAccessibilityAfterFirstUnlock, VALAccessibilityAfterFirstUnlock},
        {VALLegacyAccessibilityAlways, VALAccessibilityAlways},
        {VALLegacyAccessibilityWhenPasscodeSetThisDeviceOnly,
         VALAccessibilityWhenPasscodeSetThisDeviceOnly},
        {VALLegacyAccessibilityWhenUnlockedThisDeviceOnly,
         VALAccessibilityWhenUnlockedThisDeviceOnly},
        {VALLegacyAccessibilityAfterFirstUnlockThisDeviceOnly,
         VALAccessibilityAfterFirstUnlockThisDeviceOnly},
        {VALLegacyAccessibilityAlwaysThisDeviceOnly, VALAccessibilityAlwaysThisDeviceOnly},
        {VALMigrationInvalidQueryError, VALMigrationErrorInvalidQuery},
        {VALMigrationNoItemsToMigrateFoundError, VALMigrationErrorNoItemsToMigrateFound},
        {VALMigrationCouldNotReadKeychainError, VALMigrationErrorCouldNotReadKeychain},
        {VALMigrationKeyInQueryResultInvalidError, VALMigrationErrorKeyInQueryResultInvalid},
        {VALMigrationDataInQueryResultInvalidError, VALMigrationErrorDataInQueryResultInvalid},
        {VALMigrationDuplicateKeyInQueryResultError, VALMigrationErrorDuplicateKeyInQueryResult},
        {VALMigrationKeyInQueryResultAlreadyExistsInValetError,
         VALMigrationErrorKeyInQueryResultAlreadyExistsInValet},
        {VALMigrationCouldNotWriteToKeychainError, VALMigrationErrorCouldNotWriteToKeychain},
        {VALMigrationRemovalFailedError, VALMigrationErrorRemovalFailed},
    };
    size_t index;
    for (index = 0; index < sizeof names / sizeof *names; index++) {
        CHECK(names[index][0] == names[index][1]);
    }
}

/// The valets of version 3.2 that were those of version 2.
void testLegacyClasses(void)
{
    VALValet *valet = legacyValet(@"Legacy", VALAccessibilityWhenUnlocked);
    VALLegacyValet *legacy = [[[VALLegacyValet alloc]
        initWithIdentifier:@"Legacy"
             accessibility:VALLegacyAccessibilityWhenUnlocked] autorelease];
    VALLegacySynchronizableValet *cloud = [[[VALLegacySynchronizableValet alloc]
        initWithIdentifier:@"Legacy"
             accessibility:VALLegacyAccessibilityWhenUnlocked] autorelease];
    VALLegacySecureEnclaveValet *enclave =
        [[[VALLegacySecureEnclaveValet alloc] initWithIdentifier:@"Legacy"] autorelease];
    VALLegacySinglePromptSecureEnclaveValet *once = [[[VALLegacySinglePromptSecureEnclaveValet
        alloc] initWithIdentifier:@"Legacy" accessControl:1] autorelease];
    VALValet *to = legacyValet(@"New", VALAccessibilityWhenUnlocked), *none = nil;
    CHECK_EQUAL(legacy, valet);
    CHECK_EQUAL(cloud, [VALValet iCloudValetWithIdentifier:@"Legacy" accessibility:1]);
    CHECK_EQUAL(enclave, [VALSecureEnclaveValet valetWithIdentifier:@"Legacy" accessControl:1]);
    CHECK_EQUAL(once, [VALSinglePromptSecureEnclaveValet valetWithIdentifier:@"Legacy"
                                                               accessControl:1]);
    CHECK([valet removeAllObjects] && [to removeAllObjects]);
    CHECK([to migrateObjectsFromKeychain:legacy removeOnCompletion:NO]
          == (VALMigrationResult)VALMigrationResultNoItemsToMigrateFound);
    CHECK([legacy setString:@"text" forKey:@"key"]);
    CHECK([to migrateObjectsFromKeychain:legacy removeOnCompletion:NO]
          == (VALMigrationResult)VALMigrationResultSuccess);
    CHECK_EQUAL([to stringForKey:@"key"], @"text");
    CHECK([to migrateObjectsFromKeychain:legacy removeOnCompletion:YES]
          == (VALMigrationResult)VALMigrationResultKeyInQueryResultAlreadyExistsInValet);
    CHECK([to migrateObjectsFromKeychain:none removeOnCompletion:YES]
          == (VALMigrationResult)VALMigrationResultCouldNotReadKeychain);
    CHECK([to removeAllObjects]);
}

/// Items under the very services that older versions wrote.
void testLegacyMigrations(void)
{
    VALValet *stored = [VALValet
        valetWithExplicitlySetIdentifier:
            @"VAL_VALValet_initWithIdentifier:accessibility:_Old_AccessibleWhenUnlocked"
                           accessibility:VALAccessibilityWhenUnlocked];
    VALValet *old = legacyValet(@"Old", VALAccessibilityWhenUnlocked);
    VALValet *to = legacyValet(@"New", VALAccessibilityAfterFirstUnlock);
    NSDictionary *query = [NSDictionary dictionaryWithObject:@"inet" forKey:@"class"];
    NSError *error;
    CHECK([stored setString:@"of version 1" forKey:@"key" error:NULL]);
    CHECK_EQUAL([old stringForKey:@"key"], @"of version 1");
    CHECK([to removeAllObjects]);
    CHECK([to migrateObjectsFromValet:old removeOnCompletion:NO] == nil);
    CHECK_EQUAL([to stringForKey:@"key"], @"of version 1");
    error = [to migrateObjectsFromValet:old removeOnCompletion:YES];
    CHECK_ERROR(error != nil, error, VALMigrationErrorDomain,
                VALMigrationErrorKeyInQueryResultAlreadyExistsInValet);
    CHECK_EQUAL([[[error userInfo] objectForKey:NSUnderlyingErrorKey] domain],
                VALMigrationResultDomain);
    error = [to migrateObjectsMatchingQuery:query removeOnCompletion:NO];
    CHECK_ERROR(error != nil, error, VALMigrationErrorDomain, VALMigrationErrorInvalidQuery);
    CHECK([to removeAllObjects]);
    query = [NSDictionary
        dictionaryWithObjectsAndKeys:
            @"genp", @"class",
            @"VAL_VALValet_initWithIdentifier:accessibility:_Old_AccessibleWhenUnlocked", @"svce",
            nil];
    CHECK([to migrateObjectsMatchingQuery:query removeOnCompletion:YES] == nil);
    CHECK_EQUAL([to allKeys], [NSSet setWithObject:@"key"]);
    error = [to migrateObjectsMatchingQuery:query removeOnCompletion:YES];
    CHECK_ERROR(error != nil, error, VALMigrationErrorDomain,
                VALMigrationErrorNoItemsToMigrateFound);
}

void testLegacyGroups(void)
{
    VALValet *valet = [[[VALValet alloc]
        initWithSharedAccessGroupIdentifier:@"shared"
                              accessibility:VALAccessibilityAfterFirstUnlock] autorelease];
    VALValet *newer = [VALValet sharedGroupValetWithAppIDPrefix:@"TEAM"
                                          sharedGroupIdentifier:@"shared"
                                                  accessibility:VALAccessibilityAfterFirstUnlock];
    VALSecureEnclaveValet *enclave = [[[VALSecureEnclaveValet alloc]
        initWithSharedAccessGroupIdentifier:@"shared"] autorelease];
    VALSynchronizableValet *cloud = [[[VALSynchronizableValet alloc]
        initWithSharedAccessGroupIdentifier:@"shared"
                              accessibility:VALAccessibilityAfterFirstUnlock] autorelease];
    CHECK_EQUAL([valet identifier], @"shared");
    CHECK([valet isSharedAcrossApplications]);
    CHECK_EQUAL(valet, newer);
    CHECK([newer setString:@"text" forKey:@"legacy" error:NULL]);
    CHECK_EQUAL([valet stringForKey:@"legacy"], @"text");
    CHECK([cloud setString:@"shared" forKey:@"legacy"]);
    CHECK_EQUAL([valet stringForKey:@"legacy"], @"text");
    CHECK_EQUAL(enclave,
                [VALSecureEnclaveValet sharedGroupValetWithAppIDPrefix:@"TEAM"
                                                 sharedGroupIdentifier:@"shared"
                                                         accessControl:1]);
    CHECK_EQUAL([VALValet valetWithSharedAccessGroupIdentifier:@"shared" accessibility:2], valet);
    CHECK_EQUAL([VALValet iCloudValetWithSharedAccessGroupIdentifier:@"shared" accessibility:2],
                cloud);
    CHECK([VALValet iCloudValetWithSharedAccessGroupIdentifier:@"unknown" accessibility:2] == nil);
    CHECK_EQUAL([VALValet sharedAccessGroupValetWithAppIDPrefix:@"TEAM"
                                    sharedAccessGroupIdentifier:@"shared"
                                                  accessibility:2],
                valet);
    CHECK_EQUAL([VALSecureEnclaveValet sharedAccessGroupValetWithIdentifier:@"shared"
                                                              accessControl:1],
                enclave);
    CHECK_EQUAL([VALSecureEnclaveValet sharedAccessGroupValetWithAppIDPrefix:@"TEAM"
                                                 sharedAccessGroupIdentifier:@"shared"
                                                               accessControl:1],
                enclave);
    CHECK([[[VALValet alloc] initWithSharedAccessGroupIdentifier:@"unknown"
                                                   accessibility:2] autorelease] == nil);
}

/// Items with the retired accessibilities: another program stored them.
void testRetired(void)
{
    VALValet *always = legacyValet(@"Retired", VALAccessibilityAlways);
    VALValet *alwaysHere = legacyValet(@"Retired", VALAccessibilityAlwaysThisDeviceOnly);
    VALValet *to = [VALValet valetWithIdentifier:@"Retired"
                                   accessibility:VALAccessibilityAfterFirstUnlock];
    NSError *error = nil;
    CHECK_EQUAL([always description], @"Retired AccessibleAlways (Valet)");
    CHECK_EQUAL([always stringForKey:@"key"], @"always");
    CHECK_EQUAL([alwaysHere stringForKey:@"here"], @"this-device");
    CHECK_EQUAL([always allKeys], [NSSet setWithObject:@"key"]);
    CHECK(![always setString:@"more" forKey:@"another"]);
    CHECK([to migrateObjectsFromAlwaysAccessibleValetWithRemoveOnCompletion:NO error:&error]);
    CHECK_EQUAL([to allKeys:NULL], [NSSet setWithObject:@"key"]);
    CHECK([to migrateObjectsFromAlwaysAccessibleThisDeviceOnlyValetWithRemoveOnCompletion:YES
                                                                                    error:&error]);
    CHECK_EQUAL([to stringForKey:@"here" error:NULL], @"this-device");
    CHECK([alwaysHere stringForKey:@"here"] == nil);
    CHECK(![to migrateObjectsFromAlwaysAccessibleThisDeviceOnlyValetWithRemoveOnCompletion:NO
                                                                                     error:&error]);
    CHECK_ERROR(YES, error, VALKeychainErrorDomain, VALKeychainErrorItemNotFound);
    CHECK([to removeAllObjectsAndReturnError:NULL]);
    CHECK([to migrateObjectsFromValet:always removeOnCompletion:YES] == nil);
    CHECK_EQUAL([always allKeys], [NSSet set]);
}
