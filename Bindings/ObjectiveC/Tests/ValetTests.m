// SPDX-License-Identifier: Apache-2.0
// VALValet: its factories, its calls, its errors, its identity, and its use from threads.

#import "Checks.h"

#import <pthread.h>
#import <string.h>
#import <sys/wait.h>
#import <unistd.h>

static VALValet *valetNamed(NSString *identifier)
{
    return [VALValet valetWithIdentifier:identifier
                           accessibility:VALAccessibilityAfterFirstUnlock];
}

void testFactories(void)
{
    NSInteger accessibility;
    VALValet *cloud = [VALValet iCloudValetWithIdentifier:@"Cloud"
                                            accessibility:VALCloudAccessibilityAfterFirstUnlock];
    CHECK([valetNamed(@"Plain") accessibility] == VALAccessibilityAfterFirstUnlock);
    CHECK(valetNamed(@"") == nil);
    CHECK(cloud != nil);
    CHECK_EQUAL([cloud description], @"Cloud AccessibleAfterFirstUnlock (iCloud)");
    CHECK_EQUAL([valetNamed(@"Plain") description], @"Plain AccessibleAfterFirstUnlock (Valet)");
    for (accessibility = -1; accessibility < 9; accessibility++) {
        BOOL isKnown = (accessibility >= 1 && accessibility <= 6) && accessibility != 3;
        CHECK(([VALValet valetWithIdentifier:@"A" accessibility:accessibility] != nil) == isKnown);
        CHECK(([VALValet valetWithExplicitlySetIdentifier:@"A" accessibility:accessibility] != nil)
              == isKnown);
        isKnown = accessibility == 1 || accessibility == 2;
        CHECK(([VALValet iCloudValetWithIdentifier:@"A" accessibility:accessibility] != nil)
              == isKnown);
    }
    CHECK([VALValet valetWithIdentifier:@"A" accessibility:(1L << 32) + 1] == nil);
    CHECK([VALSecureEnclaveValet valetWithIdentifier:@"A" accessControl:(1L << 32) + 1] == nil);
    CHECK([VALValet iCloudValetWithExplicitlySetIdentifier:@"A" accessibility:2] != nil);
    CHECK([VALValet iCloudValetWithExplicitlySetIdentifier:@"" accessibility:2] == nil);
    CHECK([VALValet valetWithExplicitlySetIdentifier:@"" accessibility:2] == nil);
    CHECK([VALValet sharedGroupValetWithAppIDPrefix:@""
                              sharedGroupIdentifier:@"shared"
                                      accessibility:2] == nil);
    CHECK([VALValet sharedGroupValetWithGroupPrefix:@"TEAM"
                              sharedGroupIdentifier:@"shared"
                                      accessibility:2] == nil);
    CHECK([VALValet iCloudValetWithGroupPrefix:@"TEAM"
                         sharedGroupIdentifier:@"shared"
                                 accessibility:2] == nil);
    CHECK([VALValet valetWithAppIDPrefix:@"TEAM"
              explicitlySetSharedGroupIdentifier:@""
                                   accessibility:2] == nil);
}

void testValues(void)
{
    VALValet *valet = valetNamed(@"Values");
    NSError *error = nil;
    NSString *const domain = VALKeychainErrorDomain;
    CHECK_EQUAL(domain, @"Valet.KeychainError");
    CHECK([valet canAccessKeychain]);
    CHECK([valet removeAllObjectsAndReturnError:&error]);
    CHECK_EQUAL([valet allKeysAndReturnError:NULL], [NSSet set]);
    CHECK([valet setObject:bytesOf(@"one") forKey:@"key" error:&error]);
    CHECK([valet setObject:bytesOf(@"two") forKey:@"key" error:NULL]);
    CHECK_EQUAL([valet objectForKey:@"key" error:&error], bytesOf(@"two"));
    CHECK([valet setString:@"drei" forKey:@"other" error:NULL]);
    CHECK_EQUAL([valet stringForKey:@"other" error:NULL], @"drei");
    CHECK([valet containsObjectForKey:@"key"]);
    CHECK(![valet containsObjectForKey:@"no such key"]);
    CHECK_EQUAL([valet allKeysWithError:NULL], ([NSSet setWithObjects:@"key", @"other", nil]));
    CHECK_EQUAL([valet allKeys:NULL], [valet allKeysAndReturnError:NULL]);
    CHECK([valet removeObjectForKey:@"key" error:&error]);
    CHECK([valet removeObjectForKey:@"key" error:&error]);
    CHECK(error == nil);

    CHECK_ERROR(![valet objectForKey:@"key" error:&error], error, domain,
                VALKeychainErrorItemNotFound);
    CHECK([[[error userInfo] objectForKey:NSUnderlyingErrorKey] code] == -25300);
    CHECK_ERROR(![valet stringForKey:@"key" error:&error], error, domain,
                VALKeychainErrorItemNotFound);
    CHECK_ERROR(![valet setString:@"" forKey:@"key" error:&error], error, domain,
                VALKeychainErrorEmptyValue);
    CHECK_ERROR(![valet setObject:[NSData data] forKey:@"key" error:&error], error, domain,
                VALKeychainErrorEmptyValue);
    CHECK_ERROR(![valet setString:@"value" forKey:@"" error:&error], error, domain,
                VALKeychainErrorEmptyKey);
    CHECK_ERROR(![valet objectForKey:@"" error:&error], error, domain, VALKeychainErrorEmptyKey);
    CHECK_ERROR(![valet removeObjectForKey:@"" error:&error], error, domain,
                VALKeychainErrorEmptyKey);
    CHECK(![valet containsObjectForKey:@""]);
    CHECK(![valet objectForKey:@"key" error:NULL]);
}

/// A text that claims a length which no memory holds. Sums and products with it must not overflow.
@interface HugeText : NSString
@end

@implementation HugeText

- (NSUInteger)length
{
    return NSUIntegerMax / 2 + 1;
}

- (unichar)characterAtIndex:(NSUInteger)index
{
    return 'a';
}

@end

static BOOL mentions(NSError *error, NSString *part)
{
    return [[error localizedDescription] rangeOfString:part].length > 0;
}

/// Texts that are refused, each with its own reason.
static void testRefusedTexts(VALValet *valet)
{
    NSString *alone = [NSString stringWithFormat:@"%C", 0xD800];
    NSString *huge = [[[HugeText alloc] init] autorelease];
    NSError *error = nil;
    CHECK(![valet setString:alone forKey:@"x" error:&error] && mentions(error, @"valid Unicode"));
    CHECK(![valet setString:@"v" forKey:alone error:&error] && mentions(error, @"valid Unicode"));
    CHECK(![valet stringForKey:alone error:&error] && mentions(error, @"valid Unicode"));
    CHECK(![valet removeObjectForKey:alone error:&error] && mentions(error, @"valid Unicode"));
    CHECK(valetNamed(alone) == nil);
    CHECK(![valet setString:huge forKey:@"x" error:&error] && mentions(error, @"16 MiB"));
    CHECK(![valet setString:@"v" forKey:huge error:&error] && mentions(error, @"16 MiB"));
    CHECK(valetNamed(huge) == nil);
}

/// Descriptions end up in logs, so they show no bytes of values.
static void testDescriptions(VALValet *valet)
{
    NSData *read;
    CHECK([valet setString:@"hunter2" forKey:@"secret" error:NULL]);
    read = [valet objectForKey:@"secret" error:NULL];
    CHECK_EQUAL([read description], @"<7 bytes>");
    CHECK_EQUAL([read performSelector:@selector(debugDescription)], @"<7 bytes>");
    CHECK_EQUAL(([NSString stringWithFormat:@"%@", read]), @"<7 bytes>");
    CHECK([[valet description] rangeOfString:@"hunter"].length == 0);
}

void testTexts(void)
{
    VALValet *valet = valetNamed(@"Texts");
    NSError *error = nil;
    unichar strange[] = {'a', 0, 0xE9, 0x20AC, 0xD83D, 0xDE00, 0xFEFF};
    // GNUstep makes such strings in few ways.
    NSString *marked = [NSString stringWithFormat:@"%Cx", 0xFEFF];
    NSString *swapped = [NSString stringWithFormat:@"%Cx", 0xFFFE];
    NSString *all = [NSString stringWithCharacters:strange length:7];
    NSString *invalid = [NSString stringWithFormat:@"a%Cb", 0xD800];
    NSMutableData *value = [NSMutableData dataWithLength:1 << 20];
    NSData *read;
    CHECK([valet setString:@"plain" forKey:@"x" error:&error]);
    CHECK([valet setString:all forKey:marked error:&error]);
    CHECK_EQUAL([valet stringForKey:@"x" error:&error], @"plain");
    CHECK_EQUAL([valet stringForKey:marked error:&error], all);
    CHECK([[valet allKeys:NULL] containsObject:marked]);
    CHECK([marked length] == 2 && [invalid length] == 3);
    CHECK([valet setString:swapped forKey:swapped error:&error]);
    CHECK_EQUAL([valet stringForKey:swapped error:&error], swapped);
    CHECK([[valet stringForKey:marked error:&error] length] == 7);
    CHECK([valet setString:marked forKey:all error:&error]);
    CHECK([[valet objectForKey:all error:&error] length] == 4);
    CHECK_EQUAL([valet stringForKey:all error:&error], marked);
    CHECK_ERROR(![valet setString:invalid forKey:@"x" error:&error], error, VALKeychainErrorDomain,
                VALKeychainErrorCouldNotAccessKeychain);
    CHECK_ERROR(![valet setString:@"v" forKey:invalid error:&error], error, VALKeychainErrorDomain,
                VALKeychainErrorCouldNotAccessKeychain);
    CHECK_ERROR(![valet objectForKey:invalid error:&error], error, VALKeychainErrorDomain,
                VALKeychainErrorCouldNotAccessKeychain);
    CHECK(![valet containsObjectForKey:invalid]);
    CHECK([valet setObject:[NSData dataWithBytes:"\xC0\x80" length:2] forKey:@"bad" error:NULL]);
    CHECK_ERROR(![valet stringForKey:@"bad" error:&error], error, VALKeychainErrorDomain,
                VALKeychainErrorItemNotFound);
    testRefusedTexts(valet);
    testDescriptions(valet);
    memset([value mutableBytes], 0xA5, [value length]);
    CHECK([valet setObject:value forKey:@"large" error:&error]);
    read = [valet objectForKey:@"large" error:&error];
    CHECK_EQUAL(read, value);
    CHECK([[read copy] autorelease] == read);
    CHECK_EQUAL([[read mutableCopy] autorelease], value);
    CHECK([valet removeAllObjectsAndReturnError:NULL]);
}

void testIdentity(void)
{
    VALValet *one = valetNamed(@"Identity");
    VALValet *explicit =
        [VALValet valetWithExplicitlySetIdentifier:
                      @"VAL_VALValet_initWithIdentifier:accessibility:_Identity_"
                      @"AccessibleAfterFirstUnlock"
                                     accessibility:VALAccessibilityAfterFirstUnlock];
    VALValet *locked = [VALValet valetWithIdentifier:@"Identity"
                                       accessibility:VALAccessibilityWhenUnlocked];
    NSAutoreleasePool *pool;
    int index;
    CHECK(one == valetNamed(@"Identity"));
    CHECK(one != explicit);
    CHECK_EQUAL(one, explicit);
    CHECK([one hash] == [explicit hash]);
    CHECK(![one isEqual:locked]);
    CHECK(![one isEqual:@"Identity"]);
    CHECK(![one isEqual:nil]);
    CHECK(![one isEqual:[VALValet iCloudValetWithIdentifier:@"Identity" accessibility:2]]);
    // Texts that look alike are two names.
    CHECK(valetNamed(@"\u00e9") != valetNamed(@"e\u0301"));
    CHECK(![valetNamed(@"\u00e9") isEqual:valetNamed(@"e\u0301")]);
    // The registry does not keep valets alive, and does not hand out dead ones.
    for (index = 0; index < 300; index++) {
        pool = [[NSAutoreleasePool alloc] init];
        CHECK([valetNamed([NSString stringWithFormat:@"Short-lived %d", index % 3])
            canAccessKeychain]);
        [pool release];
    }
}

/// What the threads of testThreads found.
static int wrong[16];

static void *useValets(void *argument)
{
    int index = (int)(long)argument, round;
    for (round = 0; round < 20; round++) {
        NSAutoreleasePool *pool = [[NSAutoreleasePool alloc] init];
        // All threads make and drop the same objects.
        VALValet *valet = valetNamed([NSString stringWithFormat:@"Thread %d", round % 2]);
        NSString *key = [NSString stringWithFormat:@"%d", index];
        NSString *text = [NSString stringWithFormat:@"%d %d", index, round];
        NSError *error = nil;
        if (![valet setString:text forKey:key error:&error]) wrong[index]++;
        if (![[valet stringForKey:key error:&error] isEqualToString:text]) wrong[index]++;
        [valet objectForKey:@"no such key" error:&error];
        if ([error code] != VALKeychainErrorItemNotFound) wrong[index]++;
        [pool release];
    }
    return NULL;
}

static void *useValetsOfGNUstep(void *argument)
{
    GSRegisterCurrentThread();
    useValets(argument);
    GSUnregisterCurrentThread();
    return NULL;
}

void testThreads(void)
{
    pthread_t threads[16];
    long index;
    for (index = 0; index < 16; index++) {
        pthread_create(&threads[index], NULL, useValetsOfGNUstep, (void *)index);
    }
    for (index = 0; index < 16; index++) {
        pthread_join(threads[index], NULL);
        CHECK(wrong[index] == 0);
    }
    CHECK([[valetNamed(@"Thread 0") allKeys:NULL] count] == 16);
}

/// Makes and drops valets until it is cancelled.
static void *churn(void *argument)
{
    GSRegisterCurrentThread();
    while (*(volatile int *)argument == 0) {
        NSAutoreleasePool *pool = [[NSAutoreleasePool alloc] init];
        valetNamed(@"Churned");
        [pool release];
    }
    GSUnregisterCurrentThread();
    return NULL;
}

void testFork(void)
{
    volatile int isOver = 0;
    pthread_t thread;
    int round;
    CHECK([valetNamed(@"Fork") setString:@"inherited" forKey:@"key" error:NULL]);
    pthread_create(&thread, NULL, churn, (void *)&isOver);
    for (round = 0; round < 10; round++) {
        int status = -1;
        pid_t child = fork();
        if (child == 0) {
            // A lock that the other thread held would hang the child here.
            alarm(20);
            _exit([[valetNamed(@"Fork") stringForKey:@"key"
                                               error:NULL] isEqualToString:@"inherited"]
                      ? 0
                      : 1);
        }
        waitpid(child, &status, 0);
        CHECK(status == 0);
    }
    isOver = 1;
    pthread_join(thread, NULL);
}

void testGroups(void)
{
    VALValet *shared = [VALValet sharedGroupValetWithAppIDPrefix:@"TEAM"
                                           sharedGroupIdentifier:@"shared"
                                                   accessibility:2];
    VALValet *explicit = [VALValet valetWithAppIDPrefix:@"TEAM"
                     explicitlySetSharedGroupIdentifier:@"shared"
                                          accessibility:2];
    VALValet *cloud = [VALValet iCloudValetWithAppIDPrefix:@"TEAM"
                                     sharedGroupIdentifier:@"shared"
                                             accessibility:2];
    VALValet *explicitCloud = [VALValet iCloudValetWithAppIDPrefix:@"TEAM"
                                explicitlySetSharedGroupIdentifier:@"shared"
                                                     accessibility:2];
    VALValet *appGroup = [VALValet sharedGroupValetWithGroupPrefix:@"group"
                                             sharedGroupIdentifier:@"mail"
                                                     accessibility:2];
    VALValet *foreign = [VALValet sharedGroupValetWithAppIDPrefix:@"TEAM"
                                            sharedGroupIdentifier:@"foreign"
                                                    accessibility:2];
    NSArray *valets =
        [NSArray arrayWithObjects:shared, explicit, cloud, explicitCloud, appGroup, nil];
    NSError *error = nil;
    NSUInteger index;
    CHECK([valets count] == 5);
    CHECK([VALValet iCloudValetWithGroupPrefix:@"group"
                         sharedGroupIdentifier:@"mail"
                                 accessibility:1] != nil);
    for (index = 0; index < [valets count]; index++) {
        NSString *text = [NSString stringWithFormat:@"%lu", (unsigned long)index];
        CHECK([[valets objectAtIndex:index] setString:text forKey:@"key" error:&error]);
    }
    // None of them has replaced the value of another.
    for (index = 0; index < [valets count]; index++) {
        NSString *text = [NSString stringWithFormat:@"%lu", (unsigned long)index];
        CHECK_EQUAL([[valets objectAtIndex:index] stringForKey:@"key" error:&error], text);
    }
    CHECK_EQUAL([shared description], @"TEAM.shared AccessibleAfterFirstUnlock (Valet)");
    CHECK_ERROR(![foreign setString:@"v" forKey:@"k" error:&error], error, VALKeychainErrorDomain,
                VALKeychainErrorMissingEntitlement);
    CHECK(![foreign canAccessKeychain]);
}
