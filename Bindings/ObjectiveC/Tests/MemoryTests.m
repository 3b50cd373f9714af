// SPDX-License-Identifier: Apache-2.0
// A value is gone from the memory of the process once its NSData is.

#import "Checks.h"

#import <fcntl.h>
#import <stdlib.h>
#import <string.h>
#import <unistd.h>

/// The value, byte by byte: no copy of it may exist for the sake of the test.
static uint8_t byteOfValue(size_t index)
{
    return (uint8_t)((index * 37 + 11) ^ 0x5A);
}

enum { valueLength = 40 };

static NSMutableData *newValue(void)
{
    NSMutableData *value = [[NSMutableData alloc] initWithLength:valueLength];
    uint8_t *bytes = [value mutableBytes];
    size_t index;
    for (index = 0; index < valueLength; index++) bytes[index] = byteOfValue(index);
    return value;
}

/// How often the second half of the value stands in a block. The allocator overwrites the start of
/// a block that is freed.
static int occurrences(const uint8_t *bytes, size_t length)
{
    size_t start, index;
    int count = 0;
    for (start = 0; start + valueLength / 2 <= length; start++) {
        for (index = valueLength / 2; index < valueLength; index++) {
            if (bytes[start + index - valueLength / 2] != byteOfValue(index)) break;
        }
        if (index == valueLength) count++;
    }
    return count;
}

/// How often the value stands in the writable memory of this process.
static int copiesInMemory(void)
{
    static uint8_t buffer[1 << 16];
    int memory = open("/proc/self/mem", O_RDONLY), count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512], mode[5];
    unsigned long start, end;
    CHECK(memory >= 0 && maps != NULL);
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "%lx-%lx %4s", &start, &end, mode) != 3 || mode[1] != 'w') continue;
        // The shadow of the address sanitizer has terabytes.
        if (end - start > 1ul << 28) continue;
        while (start < end) {
            ssize_t length = pread(memory, buffer, sizeof buffer, (off_t)start);
            // The buffer itself is no copy.
            int isOwn = (uint8_t *)start < buffer + sizeof buffer
                && (uint8_t *)start + sizeof buffer > buffer;
            if (length <= 0) break;
            if (!isOwn) count += occurrences(buffer, (size_t)length);
            memset(buffer, 0, sizeof buffer);
            start += (unsigned long)length;
        }
    }
    if (maps != NULL) fclose(maps);
    close(memory);
    return count;
}

void testWiped(void)
{
    VALValet *valet = [VALValet valetWithIdentifier:@"Memory"
                                      accessibility:VALAccessibilityAfterFirstUnlock];
    NSMutableData *value = newValue();
    NSAutoreleasePool *pool;
    CHECK(copiesInMemory() == 1);
    CHECK([valet setObject:value forKey:@"key" error:NULL]);
    memset([value mutableBytes], 0, [value length]);
    CHECK(copiesInMemory() == 0);
    pool = [[NSAutoreleasePool alloc] init];
    CHECK([[valet objectForKey:@"key" error:NULL] length] == valueLength);
    CHECK(copiesInMemory() == 1);
    [pool release];
    CHECK(copiesInMemory() == 0);
    [value release];
}
