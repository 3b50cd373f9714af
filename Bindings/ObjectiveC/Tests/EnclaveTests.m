// SPDX-License-Identifier: Apache-2.0
// The valets that ask the user. A scripted pinentry answers, and keeps its questions in a file.

#import "Checks.h"

#import <stdlib.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/// The questions so far, a line each.
static NSArray *questions(void)
{
    NSString *path = [NSString stringWithUTF8String:getenv("VALET_TEST_ASKED")];
    NSString *text = [NSString stringWithContentsOfFile:path
                                               encoding:NSUTF8StringEncoding
                                                  error:NULL];
    NSArray *lines = [text componentsSeparatedByString:@"\n"];
    return text == nil ? [NSArray array]
                       : [lines subarrayWithRange:NSMakeRange(0, [lines count] - 1)];
}

/// How many questions were asked since the last call of this function.
static int newQuestions(void)
{
    static int known;
    int count = (int)[questions() count], added = count - known;
    known = count;
    return added;
}

static VALSecureEnclaveValet *enclave(void)
{
    return [VALSecureEnclaveValet
        valetWithIdentifier:@"Enclave"
              accessControl:VALSecureEnclaveAccessControlDevicePasscode];
}

static VALSinglePromptSecureEnclaveValet *singlePrompt(void)
{
    return [VALSinglePromptSecureEnclaveValet
        valetWithIdentifier:@"Enclave"
              accessControl:VALSecureEnclaveAccessControlDevicePasscode];
}

static void testEnclaveFactories(void)
{
    VALSecureEnclaveValet *legacy = [[[VALSecureEnclaveValet alloc]
        initWithIdentifier:@"Enclave"
             accessControl:VALAccessControlDevicePasscode] autorelease];
    VALSecureEnclaveValet *first =
        [[[VALSecureEnclaveValet alloc] initWithIdentifier:@"First"] autorelease];
    CHECK(legacy == enclave());
    CHECK([[[VALSinglePromptSecureEnclaveValet alloc]
              initWithIdentifier:@"Enclave"
                   accessControl:VALAccessControlDevicePasscode] autorelease]
          == singlePrompt());
    CHECK([legacy accessControl] == VALSecureEnclaveAccessControlDevicePasscode);
    CHECK([first accessControl] == VALSecureEnclaveAccessControlUserPresence);
    CHECK_EQUAL([legacy description],
                @"Enclave AccessibleWhenPasscodeSetThisDeviceOnly_AccessControlDevicePasscode "
                @"(SecureEnclaveValet)");
    CHECK([[[VALSecureEnclaveValet alloc]
              initWithIdentifier:@"First"
                   accessibility:VALAccessibilityWhenPasscodeSetThisDeviceOnly] autorelease]
          == first);
    CHECK([[[VALSecureEnclaveValet alloc]
              initWithIdentifier:@"First"
                   accessibility:VALAccessibilityWhenUnlocked] autorelease] == nil);
    CHECK([VALSecureEnclaveValet valetWithIdentifier:@"" accessControl:1] == nil);
    CHECK([VALSecureEnclaveValet valetWithIdentifier:@"A" accessControl:5] == nil);
    CHECK([VALSinglePromptSecureEnclaveValet valetWithIdentifier:@"A" accessControl:0] == nil);
    CHECK([VALSecureEnclaveValet sharedGroupValetWithAppIDPrefix:@"TEAM"
                                           sharedGroupIdentifier:@""
                                                   accessControl:1] == nil);
    CHECK([VALSecureEnclaveValet sharedGroupValetWithGroupPrefix:@"TEAM"
                                           sharedGroupIdentifier:@"shared"
                                                   accessControl:1] == nil);
    CHECK([VALSecureEnclaveValet sharedGroupValetWithGroupPrefix:@"group"
                                           sharedGroupIdentifier:@"mail"
                                                   accessControl:1] != nil);
    CHECK(![legacy isEqual:singlePrompt()]);
}

void testEnclaves(void)
{
    VALSecureEnclaveValet *valet = enclave();
    (void)newQuestions();
    BOOL isCancelled = YES;
    NSError *error = nil;
    testEnclaveFactories();
    CHECK([valet canAccessKeychain]);
    CHECK([valet canMeetAccessControl]);
    VALSecureEnclaveValet *finger = [VALSecureEnclaveValet
        valetWithIdentifier:@"Finger" accessControl:VALSecureEnclaveAccessControlBiometricAny];
    CHECK([finger canAccessKeychain]);
    CHECK(![finger canMeetAccessControl]);
    CHECK([valet setString:@"first" forKey:@"key" error:&error]);
    CHECK([valet setObject:bytesOf(@"second") forKey:@"key" error:&error]);
    CHECK([valet containsObjectForKey:@"key"]);
    CHECK(newQuestions() == 0);
    CHECK_EQUAL([valet stringForKey:@"key" withPrompt:@"to check" error:&error], @"second");
    CHECK([[questions() lastObject] rangeOfString:@"to check"].length > 0);
    CHECK_EQUAL([valet objectForKey:@"key" withPrompt:@"to check" error:&error],
                bytesOf(@"second"));
    CHECK(newQuestions() == 2);
    CHECK_EQUAL([valet stringForKey:@"key" error:&error], @"second");
    CHECK_EQUAL([valet objectForKey:@"key" error:&error], bytesOf(@"second"));
    CHECK(newQuestions() == 2);
    CHECK_EQUAL([valet stringForKey:@"key"], @"second");
    CHECK_EQUAL([valet stringForKey:@"key" userPrompt:@"please"], @"second");
    CHECK_EQUAL([valet objectForKey:@"key" userPrompt:@"please"], bytesOf(@"second"));
    CHECK_EQUAL([valet objectForKey:@"key" userPrompt:@"please" userCancelled:&isCancelled],
                bytesOf(@"second"));
    CHECK(!isCancelled);
    CHECK(newQuestions() == 4);
    CHECK_ERROR(![valet objectForKey:@"no such key" withPrompt:@"" error:&error], error,
                VALKeychainErrorDomain, VALKeychainErrorItemNotFound);
    CHECK([valet removeObjectForKey:@"key" error:&error]);
    CHECK(![valet containsObjectForKey:@"key"]);
    CHECK([valet removeAllObjectsAndReturnError:&error]);
    CHECK(newQuestions() == 0);
}

/// Storing the items of other valets asks nobody.
void testEnclaveMigrations(void)
{
    VALValet *plain = [VALValet valetWithIdentifier:@"Plain" accessibility:1];
    NSDictionary *query = [NSDictionary
        dictionaryWithObjectsAndKeys:
            @"genp", @"class",
            @"VAL_VALValet_initWithIdentifier:accessibility:_Plain_AccessibleWhenUnlocked", @"svce",
            nil];
    NSArray *valets = [NSArray arrayWithObjects:enclave(), singlePrompt(), nil];
    NSError *error = nil;
    NSUInteger index;
    (void)newQuestions();
    CHECK([plain setString:@"plain" forKey:@"moved" error:&error]);
    for (index = 0; index < 2; index++) {
        VALEnclaveSandbox *valet = [valets objectAtIndex:index];
        CHECK([valet migrateObjectsMatching:query removeOnCompletion:NO error:&error]);
        CHECK_ERROR(![valet migrateObjectsFrom:plain removeOnCompletion:NO error:&error], error,
                    VALMigrationResultDomain, VALMigrationResultKeyToMigrateAlreadyExistsInValet);
        CHECK([valet containsObjectForKey:@"moved"]);
        CHECK([valet removeAllObjectsAndReturnError:&error]);
        CHECK([valet migrateObjectsFromValet:plain removeOnCompletion:NO] == nil);
        CHECK(newQuestions() == 0);
        CHECK_EQUAL([valet stringForKey:@"moved" withPrompt:@"" error:&error], @"plain");
        CHECK(newQuestions() == 1);
        CHECK([valet removeAllObjectsAndReturnError:&error]);
    }
    CHECK([plain removeAllObjectsAndReturnError:&error]);
}

/// The names of older versions, which take no error.
static void testLegacySinglePrompt(VALSinglePromptSecureEnclaveValet *valet)
{
    CHECK([valet setString:@"text" forKey:@"key" userPrompt:@"not shown"]);
    CHECK([valet setObject:bytesOf(@"bytes") forKey:@"other" userPrompt:nil]);
    CHECK(newQuestions() == 0);
    [valet requirePromptOnNextAccess];
    CHECK_EQUAL([valet allKeysWithUserPrompt:@"to list"],
                ([NSSet setWithObjects:@"key", @"other", nil]));
    CHECK([[questions() lastObject] rangeOfString:@"to list"].length > 0);
    CHECK_EQUAL([valet stringForKey:@"key" userPrompt:nil], @"text");
    CHECK(newQuestions() == 1);
    CHECK([enclave()
        migrateObjectsFromSinglePromptSecureEnclaveValetWithRemoveOnCompletion:YES
                                                                         error:NULL]);
    CHECK(newQuestions() == 1);
    CHECK_EQUAL([valet allKeysWithUserPrompt:nil], [NSSet set]);
    CHECK([valet migrateObjectsFromKeychain:enclave() removeOnCompletion:YES]
          == (VALMigrationResult)VALMigrationResultSuccess);
    CHECK(newQuestions() == 1);
    CHECK([valet containsObjectForKey:@"other"]);
    CHECK([valet removeAllObjectsAndReturnError:NULL]);
}

void testSinglePrompt(void)
{
    VALSinglePromptSecureEnclaveValet *valet = singlePrompt();
    VALValet *plain = [VALValet valetWithIdentifier:@"Enclave" accessibility:1];
    (void)newQuestions();
    NSError *error = nil;
    CHECK([plain setString:@"plain" forKey:@"moved" error:&error]);
    CHECK([valet migrateObjectsFrom:plain removeOnCompletion:YES error:&error]);
    CHECK([valet setString:@"value" forKey:@"key" error:&error]);
    CHECK(newQuestions() == 0);
    CHECK_EQUAL([valet stringForKey:@"key" withPrompt:@"once" error:&error], @"value");
    CHECK_EQUAL([valet stringForKey:@"moved" withPrompt:@"once" error:&error], @"plain");
    CHECK_EQUAL([valet allKeysWithUserPrompt:@"once" error:&error],
                ([NSSet setWithObjects:@"key", @"moved", nil]));
    CHECK(newQuestions() == 1);
    [valet requirePromptOnNextAccess];
    CHECK_EQUAL([valet allKeys], ([NSSet setWithObjects:@"key", @"moved", nil]));
    CHECK(newQuestions() == 1);
    CHECK([enclave() migrateObjectsFromSinglePromptSecureEnclaveValetWithPrompt:@"to move"
                                                             removeOnCompletion:YES
                                                                          error:&error]);
    CHECK([[questions() lastObject] rangeOfString:@"to move"].length > 0);
    CHECK(newQuestions() == 1);
    CHECK([enclave() containsObjectForKey:@"key"]);
    CHECK(![valet containsObjectForKey:@"key"]);
    CHECK([enclave() removeAllObjectsAndReturnError:NULL]);
    testLegacySinglePrompt(valet);
}

/// The pinentry refuses.
void testDeclined(void)
{
    VALSecureEnclaveValet *valet = enclave();
    NSError *error = nil;
    BOOL isCancelled = NO;
    CHECK([valet setString:@"value" forKey:@"key" error:&error]);
    CHECK_ERROR(![valet stringForKey:@"key" withPrompt:@"" error:&error], error,
                VALKeychainErrorDomain, VALKeychainErrorUserCancelled);
    CHECK([valet stringForKey:@"key" userPrompt:@"" userCancelled:&isCancelled] == nil);
    CHECK(isCancelled);
    CHECK_EQUAL([singlePrompt() allKeysWithUserPrompt:@"" error:&error], [NSSet set]);
    CHECK([singlePrompt() setString:@"value" forKey:@"key" error:&error]);
    CHECK_ERROR(![singlePrompt() allKeysWithUserPrompt:@"" error:&error], error,
                VALKeychainErrorDomain, VALKeychainErrorUserCancelled);
    CHECK([singlePrompt() removeAllObjectsAndReturnError:&error]);
    CHECK([valet removeAllObjectsAndReturnError:NULL]);
}

/// There is no pinentry and no terminal.
void testUnasked(void)
{
    NSError *error = nil;
    CHECK([enclave() setString:@"value" forKey:@"key" error:&error]);
    CHECK_ERROR(![enclave() stringForKey:@"key" withPrompt:@"" error:&error], error,
                VALKeychainErrorDomain, VALKeychainErrorCouldNotAccessKeychain);
    CHECK([enclave() removeAllObjectsAndReturnError:NULL]);
}

/// The keychain is locked.
void testLocked(void)
{
    VALValet *valet = [VALValet valetWithIdentifier:@"Locked" accessibility:1];
    (void)newQuestions();
    NSError *error = nil;
    CHECK_ERROR(![valet setString:@"value" forKey:@"key" error:&error], error,
                VALKeychainErrorDomain, VALKeychainErrorCouldNotAccessKeychain);
    CHECK([[error localizedDescription] rangeOfString:@"locked"].length > 0);
    CHECK([[error localizedRecoverySuggestion] length] > 0);
    CHECK([[[error userInfo] objectForKey:VALReasonErrorKey] intValue] == VALReasonLocked);
    CHECK([[[error userInfo] objectForKey:NSUnderlyingErrorKey] code] == -25308);
    CHECK(![valet canAccessKeychain]);
    CHECK(![valet containsObjectForKey:@"key"]);
    CHECK(newQuestions() == 0);
}

/// What the command `valet` reads afterwards.
void testWrite(void)
{
    VALValet *valet = [VALValet valetWithIdentifier:@"Interchange" accessibility:2];
    VALValet *cloud = [VALValet iCloudValetWithIdentifier:@"Interchange" accessibility:2];
    CHECK([valet setString:@"of Objective-C \u00e9" forKey:@"objective-c" error:NULL]);
    CHECK([cloud setString:@"cloud of Objective-C" forKey:@"objective-c" error:NULL]);
}

/// What the command `valet` has stored.
void testRead(void)
{
    VALValet *valet = [VALValet valetWithIdentifier:@"Interchange" accessibility:2];
    VALValet *cloud = [VALValet iCloudValetWithIdentifier:@"Interchange" accessibility:2];
    CHECK_EQUAL([valet stringForKey:@"swift" error:NULL], @"of Swift \u00e9");
    CHECK_EQUAL([cloud stringForKey:@"shared-swift" error:NULL], @"cloud of Swift");
    CHECK_EQUAL([valet allKeys:NULL], ([NSSet setWithObjects:@"objective-c", @"swift", nil]));
}
