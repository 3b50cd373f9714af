// SPDX-License-Identifier: Apache-2.0
// The test runner: counted checks, and groups of tests that Checks.m calls by name.

#import <Valet/VALLegacyValet.h>
#import <Valet/Valet.h>
#import <stdio.h>

/// Counts a check, and reports the line of one that fails.
#define CHECK(condition) checkHolds((condition) != 0, #condition, __FILE__, __LINE__)

/// Checks that two objects are equal; both may be nil.
#define CHECK_EQUAL(one, other) checkEqual((one), (other), #one, __FILE__, __LINE__)

/// Checks that a call failed with that error, and that the error describes itself.
#define CHECK_ERROR(failed, error, domain, code)                                             \
    do {                                                                                     \
        BOOL hasFailed = (failed) != 0;                                                      \
        checkError(hasFailed, (error), (domain), (code), #failed, __FILE__, __LINE__);       \
    } while (0)

void checkHolds(BOOL holds, const char *text, const char *file, int line);
void checkEqual(id one, id other, const char *text, const char *file, int line);
void checkError(BOOL failed, NSError *error, NSString *domain, NSInteger code, const char *text,
                const char *file, int line);

/// The UTF-8 of a text.
NSData *bytesOf(NSString *text);

// The groups of tests, one function each.
void testFactories(void);
void testValues(void);
void testTexts(void);
void testIdentity(void);
void testWiped(void);
void testThreads(void);
void testFork(void);
void testGroups(void);
void testMigrations(void);
void testQueries(void);
void testMaps(void);
void testLegacy(void);
void testLegacyNames(void);
void testLegacyClasses(void);
void testLegacyMigrations(void);
void testLegacyGroups(void);
void testRetired(void);
void testEnclaves(void);
void testEnclaveMigrations(void);
void testSinglePrompt(void);
void testDeclined(void);
void testLocked(void);
void testUnasked(void);
void testWrite(void);
void testRead(void);
