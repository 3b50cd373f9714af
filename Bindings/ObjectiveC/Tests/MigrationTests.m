// SPDX-License-Identifier: Apache-2.0
// Migrations: from valets, by queries, with and without a compactMap.

#import "Checks.h"

#import <string.h>

static VALValet *valetNamed(NSString *identifier)
{
    return [VALValet valetWithIdentifier:identifier
                           accessibility:VALAccessibilityAfterFirstUnlock];
}

/// A valet without items.
static VALValet *emptyValet(NSString *identifier)
{
    CHECK([valetNamed(identifier) removeAllObjectsAndReturnError:NULL]);
    return valetNamed(identifier);
}

/// A valet with the keys a and b.
static VALValet *source(void)
{
    VALValet *valet = emptyValet(@"Source");
    CHECK([valet setString:@"1" forKey:@"a" error:NULL]);
    CHECK([valet setString:@"2" forKey:@"b" error:NULL]);
    return valet;
}

static NSMutableDictionary *queryFor(NSString *service)
{
    return [NSMutableDictionary
        dictionaryWithObjectsAndKeys:(__bridge id)kSecClassGenericPassword, (__bridge id)kSecClass,
                                     service, (__bridge id)kSecAttrService, nil];
}

static NSString *const sourceService =
    @"VAL_VALValet_initWithIdentifier:accessibility:_Source_AccessibleAfterFirstUnlock";

void testMigrations(void)
{
    VALValet *from = source(), *to = emptyValet(@"Destination");
    NSSet *both = [NSSet setWithObjects:@"a", @"b", nil];
    NSError *error = nil;
    CHECK_EQUAL(VALMigrationResultDomain, @"Valet.MigrationError");
    CHECK([to migrateObjectsFrom:from removeOnCompletion:NO error:&error]);
    CHECK_EQUAL([to allKeys:NULL], both);
    CHECK_EQUAL([from allKeys:NULL], both);
    CHECK_ERROR(![to migrateObjectsFrom:from removeOnCompletion:YES error:&error], error,
                VALMigrationResultDomain, VALMigrationResultKeyToMigrateAlreadyExistsInValet);
    CHECK_EQUAL([from allKeys:NULL], both);
    CHECK([to removeAllObjectsAndReturnError:NULL]);
    CHECK([to migrateObjectsFrom:from removeOnCompletion:YES error:&error]);
    CHECK_EQUAL([to stringForKey:@"b" error:NULL], @"2");
    CHECK_EQUAL([from allKeys:NULL], [NSSet set]);
    CHECK_ERROR(![to migrateObjectsFrom:from removeOnCompletion:NO error:&error], error,
                VALKeychainErrorDomain, VALKeychainErrorItemNotFound);
    CHECK_ERROR(![to migrateObjectsFrom:to removeOnCompletion:NO error:&error], error,
                VALMigrationResultDomain, VALMigrationResultKeyToMigrateAlreadyExistsInValet);
    CHECK(![to migrateObjectsFrom:from removeOnCompletion:NO error:NULL]);
}

void testQueries(void)
{
    VALValet *from = source(), *to = emptyValet(@"Destination");
    NSMutableDictionary *query = queryFor(sourceService);
    NSError *error = nil;
    CHECK([to migrateObjectsMatching:query removeOnCompletion:NO error:&error]);
    CHECK_EQUAL([to stringForKey:@"a" error:NULL], @"1");
    CHECK([to removeAllObjectsAndReturnError:NULL]);
    [query setObject:[NSNumber numberWithInt:0] forKey:@"sync"];
    [query setObject:@"a" forKey:@"acct"];
    CHECK([to migrateObjectsMatching:query removeOnCompletion:YES error:&error]);
    CHECK_EQUAL([to allKeys:NULL], [NSSet setWithObject:@"a"]);
    CHECK_EQUAL([from allKeys:NULL], [NSSet setWithObject:@"b"]);
    CHECK_ERROR(![to migrateObjectsMatching:query removeOnCompletion:NO error:&error], error,
                VALKeychainErrorDomain, VALKeychainErrorItemNotFound);

    CHECK_ERROR(![to migrateObjectsMatching:[NSDictionary dictionary]
                         removeOnCompletion:NO
                                      error:&error],
                error, VALMigrationResultDomain, VALMigrationResultInvalidQuery);
    [query setObject:@"inet" forKey:@"class"];
    CHECK_ERROR(![to migrateObjectsMatching:query removeOnCompletion:NO error:&error], error,
                VALMigrationResultDomain, VALMigrationResultInvalidQuery);
    query = queryFor(sourceService);
    [query setObject:@"m_LimitOne" forKey:@"m_Limit"];
    CHECK_ERROR(![to migrateObjectsMatching:query removeOnCompletion:NO error:&error], error,
                VALMigrationResultDomain, VALMigrationResultInvalidQuery);
    query = queryFor(sourceService);
    [query setObject:[NSNumber numberWithBool:YES] forKey:@"r_Data"];
    CHECK_ERROR(![to migrateObjectsMatching:query removeOnCompletion:NO error:&error], error,
                VALMigrationResultDomain, VALMigrationResultInvalidQuery);
    query = queryFor(sourceService);
    [query setObject:bytesOf(@"any") forKey:@"accc"];
    CHECK_ERROR(![to migrateObjectsMatching:query removeOnCompletion:NO error:&error], error,
                VALMigrationResultDomain, VALMigrationResultInvalidQuery);
    query = queryFor(sourceService);
    while ([query count] < 66) {
        [query setObject:@"text" forKey:[NSString stringWithFormat:@"%lu", [query count]]];
    }
    CHECK_ERROR(![to migrateObjectsMatching:query removeOnCompletion:NO error:&error], error,
                VALMigrationResultDomain, VALMigrationResultInvalidQuery);
    query = queryFor(sourceService);
    [query setObject:[NSDate date] forKey:@"cdat"];
    CHECK_ERROR(![to migrateObjectsMatching:query removeOnCompletion:NO error:&error], error,
                VALKeychainErrorDomain, VALKeychainErrorCouldNotAccessKeychain);
    query = queryFor(sourceService);
    [query setObject:[NSNumber numberWithDouble:0.5] forKey:@"sync"];
    CHECK_ERROR(![to migrateObjectsMatching:query removeOnCompletion:NO error:&error], error,
                VALKeychainErrorDomain, VALKeychainErrorCouldNotAccessKeychain);
    CHECK_EQUAL([from allKeys:NULL], [NSSet setWithObject:@"b"]);
}

#if defined(__BLOCKS__)

/// Migrates all pairs under one key, so that two of them collide.
static VALMigratableKeyValuePairOutput *same(NSString *key, NSString *value)
{
    return [[[VALMigratableKeyValuePairOutput alloc] initWithKey:key stringValue:value]
        autorelease];
}

static void testMapResults(VALValet *from, VALValet *to)
{
    NSError *error = nil;
    CHECK_ERROR(![to migrateObjectsFrom:from
                             compactMap:^(VALMigratableKeyValuePairInput *pair) {
                                 return same(@"same", @"value");
                             }
                                  error:&error],
                error, VALMigrationResultDomain, VALMigrationResultDuplicateKeyToMigrate);
    CHECK_ERROR(![to migrateObjectsFrom:from
                             compactMap:^(VALMigratableKeyValuePairInput *pair) {
                                 return same(@"", @"value");
                             }
                                  error:&error],
                error, VALMigrationResultDomain, VALMigrationResultKeyToMigrateInvalid);
    CHECK_ERROR(![to migrateObjectsFrom:from
                             compactMap:^(VALMigratableKeyValuePairInput *pair) {
                                 return same([pair key], @"");
                             }
                                  error:&error],
                error, VALMigrationResultDomain, VALMigrationResultDataToMigrateInvalid);
    CHECK_EQUAL([to allKeys:NULL], [NSSet set]);
}

/// Texts with a surrogate alone are refused as what they are, and not as empty ones.
static void testMapTexts(VALValet *from, VALValet *to)
{
    NSString *invalid = [NSString stringWithFormat:@"%C", 0xD800];
    NSError *error = nil;
    CHECK_ERROR(![to migrateObjectsFrom:from
                             compactMap:^(VALMigratableKeyValuePairInput *pair) {
                                 return same(invalid, @"value");
                             }
                                  error:&error],
                error, VALMigrationResultDomain, VALMigrationResultKeyToMigrateInvalid);
    CHECK([[error localizedDescription] rangeOfString:@"not valid Unicode"].length > 0);
    CHECK_ERROR(![to migrateObjectsMatching:queryFor(sourceService)
                                 compactMap:^(VALMigratableKeyValuePairInput *pair) {
                                     return same([pair key], invalid);
                                 }
                                      error:&error],
                error, VALMigrationResultDomain, VALMigrationResultDataToMigrateInvalid);
    CHECK([[error localizedDescription] rangeOfString:@"not valid Unicode"].length > 0);
    CHECK_EQUAL([to allKeys:NULL], [NSSet set]);
}

/// A program that prevents a migration wants it not to happen: that is no failure.
static void testPrevention(VALValet *from, VALValet *to)
{
    VALCompactMap prevent = ^(VALMigratableKeyValuePairInput *pair) {
        return [VALMigratableKeyValuePairOutput preventMigration];
    };
    __block int calls = 0;
    NSError *error = nil;
    CHECK([to migrateObjectsFrom:from compactMap:prevent error:&error]);
    CHECK([to migrateObjectsMatching:queryFor(sourceService) compactMap:prevent error:&error]);
    // What earlier calls returned is not stored either.
    CHECK([to migrateObjectsFrom:from
                      compactMap:^(VALMigratableKeyValuePairInput *pair) {
                          return ++calls == 1 ? same([pair key], @"value")
                                              : [VALMigratableKeyValuePairOutput preventMigration];
                      }
                           error:&error]);
    CHECK(calls == 2);
    CHECK([to migrateObjectsFrom:from compactMap:prevent error:NULL]);
    CHECK(error == nil);
    CHECK_EQUAL([to allKeys:NULL], [NSSet set]);
    CHECK_EQUAL([from allKeys:NULL], ([NSSet setWithObjects:@"a", @"b", nil]));
}

void testMaps(void)
{
    VALValet *from = source(), *to = emptyValet(@"Destination");
    NSMutableSet *seen = [NSMutableSet set];
    NSError *error = nil;
    BOOL isCaught = NO;
    CHECK([to migrateObjectsFrom:from
                      compactMap:^VALMigratableKeyValuePairOutput *(
                          VALMigratableKeyValuePairInput *pair) {
                          NSString *key = [@"new " stringByAppendingString:[pair key]];
                          [seen addObject:[[[NSString alloc]
                                              initWithData:[pair value]
                                                  encoding:NSUTF8StringEncoding] autorelease]];
                          if ([[pair key] isEqual:@"b"]) return nil;
                          return [[[VALMigratableKeyValuePairOutput alloc]
                              initWithKey:key
                                    value:[pair value]] autorelease];
                      }
                           error:&error]);
    CHECK_EQUAL(seen, ([NSSet setWithObjects:@"1", @"2", nil]));
    CHECK_EQUAL([to allKeys:NULL], [NSSet setWithObject:@"new a"]);
    CHECK_EQUAL([to stringForKey:@"new a" error:NULL], @"1");
    CHECK([to removeAllObjectsAndReturnError:NULL]);
    CHECK([to migrateObjectsMatching:queryFor(sourceService)
                          compactMap:^(VALMigratableKeyValuePairInput *pair) {
                              return same([pair key], @"mapped");
                          }
                               error:&error]);
    CHECK_EQUAL([to stringForKey:@"b" error:NULL], @"mapped");
    CHECK([to removeAllObjectsAndReturnError:NULL]);
    testMapResults(from, to);
    testMapTexts(from, to);
    testPrevention(from, to);
    @try {
        [to migrateObjectsFrom:from
                    compactMap:^VALMigratableKeyValuePairOutput *(
                        VALMigratableKeyValuePairInput *pair) {
                        [NSException raise:@"Raised" format:@"by the block"];
                        return nil;
                    }
                         error:&error];
    } @catch (NSException *exception) {
        isCaught = [[exception name] isEqualToString:@"Raised"];
    }
    CHECK(isCaught);
    CHECK_EQUAL([to allKeys:NULL], [NSSet set]);
    isCaught = NO;
    @try {
        VALCompactMap none = nil;
        [to migrateObjectsFrom:from compactMap:none error:&error];
    } @catch (NSException *exception) {
        isCaught = [[exception name] isEqualToString:NSInvalidArgumentException];
    }
    CHECK(isCaught);
    CHECK_EQUAL([same(@"key", @"text") value], bytesOf(@"text"));
    CHECK_EQUAL([same(@"key", @"text") key], @"key");
}

#else

void testMaps(void)
{
    // A compiler without blocks builds a library without these methods.
    CHECK(![VALValet instancesRespondToSelector:@selector(migrateObjectsFrom:compactMap:error:)]);
}

#endif
