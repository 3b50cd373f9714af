// SPDX-License-Identifier: Apache-2.0
// Runs the groups of tests that its arguments name. `--selectors FILE` checks instead that the
// classes have the methods which the lines of FILE name: a class, + or -, and a selector.
// `--constants FILE` checks that the library's texts are those of FILE: a name and a text a line.

#import "Checks.h"

#import <dlfcn.h>
#import <stdlib.h>
#import <string.h>

static int checks, failures;

void checkHolds(BOOL holds, const char *text, const char *file, int line)
{
    checks++;
    if (holds) return;
    failures++;
    fprintf(stderr, "%s:%d: error: not so: %s\n", file, line, text);
}

void checkEqual(id one, id other, const char *text, const char *file, int line)
{
    BOOL isEqual = one == other || [one isEqual:other];
    checkHolds(isEqual, text, file, line);
    if (!isEqual) {
        fprintf(stderr, "    is %s, not %s\n", [[one description] UTF8String],
                [[other description] UTF8String]);
    }
}

void checkError(BOOL failed, NSError *error, NSString *domain, NSInteger code, const char *text,
                const char *file, int line)
{
    BOOL isExpected = failed && [[error domain] isEqualToString:domain] && [error code] == code
        && [[error localizedDescription] length] > 0;
    checkHolds(isExpected, text, file, line);
    if (!isExpected) fprintf(stderr, "    the error is %s\n", [[error description] UTF8String]);
}

NSData *bytesOf(NSString *text)
{
    return [text dataUsingEncoding:NSUTF8StringEncoding];
}

typedef struct {
    const char *name;
    void (*run)(void);
} Group;

static const Group groups[] = {
    {"factories", testFactories},
    {"values", testValues},
    {"texts", testTexts},
    {"identity", testIdentity},
    {"wiped", testWiped},
    {"threads", testThreads},
    {"fork", testFork},
    {"groups", testGroups},
    {"migrations", testMigrations},
    {"queries", testQueries},
    {"maps", testMaps},
    {"legacy", testLegacy},
    {"legacy-names", testLegacyNames},
    {"legacy-classes", testLegacyClasses},
    {"legacy-migrations", testLegacyMigrations},
    {"legacy-groups", testLegacyGroups},
    {"retired", testRetired},
    {"enclaves", testEnclaves},
    {"enclave-migrations", testEnclaveMigrations},
    {"single-prompt", testSinglePrompt},
    {"declined", testDeclined},
    {"locked", testLocked},
    {"unasked", testUnasked},
    {"write", testWrite},
    {"read", testRead},
};

static BOOL runGroup(const char *name)
{
    size_t index;
    for (index = 0; index < sizeof groups / sizeof *groups; index++) {
        if (strcmp(groups[index].name, name) == 0) {
            NSAutoreleasePool *pool = [[NSAutoreleasePool alloc] init];
            groups[index].run();
            [pool release];
            return YES;
        }
    }
    return NO;
}

static void checkSelectors(const char *path)
{
    char class[80], kind[4], selector[160];
    FILE *file = fopen(path, "r");
    while (file != NULL && fscanf(file, "%79s %3s %159s", class, kind, selector) == 3) {
#if !defined(__BLOCKS__)
        if (strstr(selector, "compactMap") != NULL) continue;
#endif
        Class found = NSClassFromString([NSString stringWithUTF8String:class]);
        SEL method = NSSelectorFromString([NSString stringWithUTF8String:selector]);
        BOOL responds = *kind == '+' ? [found respondsToSelector:method]
                                     : [found instancesRespondToSelector:method];
        checkHolds(responds, selector, class, 0);
    }
    if (file != NULL) fclose(file);
    CHECK(checks > 30);
}

static void checkConstants(const char *path)
{
    char name[80], text[40];
    FILE *file = fopen(path, "r");
    while (file != NULL && fscanf(file, "%79s %39s", name, text) == 2) {
        NSString *const *constant = dlsym(RTLD_DEFAULT, name);
        BOOL isSame =
            constant != NULL && [*constant isEqual:[NSString stringWithUTF8String:text]];
        checkHolds(isSame, name, text, 0);
    }
    if (file != NULL) fclose(file);
    CHECK(checks > 30);
}

int main(int count, char **arguments)
{
    NSAutoreleasePool *pool = [[NSAutoreleasePool alloc] init];
    int index;
    if (count == 3 && strcmp(arguments[1], "--selectors") == 0) {
        checkSelectors(arguments[2]);
        count = 0;
    }
    if (count == 3 && strcmp(arguments[1], "--constants") == 0) {
        checkConstants(arguments[2]);
        count = 0;
    }
    for (index = 1; index < count; index++) {
        if (!runGroup(arguments[index])) {
            fprintf(stderr, "no tests of that name: %s\n", arguments[index]);
            return 64;
        }
    }
    [pool release];
    printf("%d checks, %d failed\n", checks, failures);
    return failures == 0 && checks > 0 ? 0 : 1;
}
