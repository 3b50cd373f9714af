// SPDX-License-Identifier: Apache-2.0
// Text and its UTF-8. GNUstep's own conversion drops a byte order mark at the start, so that two
// keys could become one, and leaves copies in memory that nobody wipes.

#import "VALInternal.h"

#import <string.h>

@implementation VALWipedData

- (id)initWithBytesNoCopy:(void *)bytes length:(NSUInteger)length freeWhenDone:(BOOL)frees
{
    // Only this library makes these objects, each from a block of malloc that it gives away.
    _bytes = bytes;
    _length = length;
    return self;
}

- (void)dealloc
{
    if (_bytes != NULL) explicit_bzero(_bytes, _length);
    free(_bytes);
    DEALLOC
}

- (const void *)bytes
{
    return _bytes;
}

- (NSUInteger)length
{
    return _length;
}

/// That of NSData shows the bytes, and descriptions end up in logs.
- (NSString *)description
{
    return [NSString stringWithFormat:@"<%lu bytes>", (unsigned long)_length];
}

- (NSString *)debugDescription
{
    return [self description];
}

/// A copy of the bytes would not be wiped. They never change.
- (id)copyWithZone:(NSZone *)zone
{
    return RETAIN(self);
}

@end

/// The longest text that the C library takes, if every character of it is one byte. What a subclass
/// of NSString says about its length is not believed beyond it.
static const NSUInteger maximumTextLength = 16 << 20;

/// Writes the UTF-8 of `units` to `bytes`, three bytes a unit at most.
///
/// - Returns: The number of bytes; -1 if a surrogate has no partner.
static ssize_t encode(const unichar *units, size_t count, uint8_t *bytes)
{
    uint8_t *end = bytes;
    size_t index;
    for (index = 0; index < count; index++) {
        uint32_t scalar = units[index];
        if (scalar >= 0xD800 && scalar <= 0xDFFF) {
            uint32_t low = index + 1 < count ? units[index + 1] : 0;
            if (scalar > 0xDBFF || low < 0xDC00 || low > 0xDFFF) return -1;
            scalar = 0x10000 + ((scalar - 0xD800) << 10) + (low - 0xDC00);
            index++;
        }
        if (scalar < 0x80) {
            *end++ = (uint8_t)scalar;
        } else if (scalar < 0x800) {
            *end++ = (uint8_t)(0xC0 | scalar >> 6);
            *end++ = (uint8_t)(0x80 | (scalar & 0x3F));
        } else if (scalar < 0x10000) {
            *end++ = (uint8_t)(0xE0 | scalar >> 12);
            *end++ = (uint8_t)(0x80 | (scalar >> 6 & 0x3F));
            *end++ = (uint8_t)(0x80 | (scalar & 0x3F));
        } else {
            *end++ = (uint8_t)(0xF0 | scalar >> 18);
            *end++ = (uint8_t)(0x80 | (scalar >> 12 & 0x3F));
            *end++ = (uint8_t)(0x80 | (scalar >> 6 & 0x3F));
            *end++ = (uint8_t)(0x80 | (scalar & 0x3F));
        }
    }
    return end - bytes;
}

/// Reads one character of UTF-8, in its shortest form only (RFC 3629).
///
/// - Returns: The number of its bytes; 0 if they are not UTF-8.
static size_t decodeOne(const uint8_t *bytes, size_t length, uint32_t *scalar)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint8_t first = bytes[0];
    size_t count = first < 0x80 ? 1
        : first < 0xC0          ? 0
        : first < 0xE0          ? 2
        : first < 0xF0          ? 3
        : first < 0xF8          ? 4
                                : 0;
    size_t index;
    if (count == 0 || count > length) return 0;
    *scalar = count == 1 ? first : first & (0xFFu >> (count + 1));
    for (index = 1; index < count; index++) {
        if ((bytes[index] & 0xC0) != 0x80) return 0;
        *scalar = *scalar << 6 | (bytes[index] & 0x3F);
    }
    if (*scalar < least[count] || *scalar > 0x10FFFF) return 0;
    return *scalar >= 0xD800 && *scalar <= 0xDFFF ? 0 : count;
}

NSData *VALNewUTF8(NSString *text, VAL_ERROR error)
{
    NSUInteger count = [text length];
    BOOL isTooLong = count > maximumTextLength;
    unichar *units = isTooLong ? NULL : malloc(count * sizeof(unichar) + 1);
    uint8_t *bytes = isTooLong ? NULL : malloc(3 * count + 1);
    BOOL isMemoryShort = units == NULL || bytes == NULL;
    ssize_t length = -1;
    if (!isMemoryShort) {
        [text getCharacters:units range:NSMakeRange(0, count)];
        length = encode(units, count, bytes);
        explicit_bzero(units, count * sizeof(unichar));
    }
    free(units);
    if (length >= 0) {
        return [[VALWipedData alloc] initWithBytesNoCopy:bytes
                                                  length:(NSUInteger)length
                                            freeWhenDone:YES];
    }
    if (bytes != NULL) explicit_bzero(bytes, 3 * count);
    free(bytes);
    VALFail(error, VALKeychainErrorDomain, VALKeychainErrorCouldNotAccessKeychain,
            isTooLong           ? @"the text is longer than 16 MiB"
                : isMemoryShort ? @"no memory for the text"
                                : @"the text is not valid Unicode: a surrogate has no partner");
    return nil;
}

NSData *VALUTF8(NSString *text, VAL_ERROR error)
{
    return AUTORELEASE(VALNewUTF8(text, error));
}

NSString *VALText(const void *bytes, size_t length, BOOL *isMemoryShort)
{
    unichar *units = malloc((length + 1) * sizeof(unichar));
    NSString *text = nil;
    size_t count = 1, offset = 0, step = 1;
    *isMemoryShort = units == NULL;
    if (units == NULL) return nil;
    units[0] = ' ';
    while (offset < length && step > 0) {
        uint32_t scalar = 0;
        step = decodeOne((const uint8_t *)bytes + offset, length - offset, &scalar);
        offset += step;
        if (step == 4) {
            units[count++] = (unichar)(0xD800 + ((scalar - 0x10000) >> 10));
            scalar = 0xDC00 + ((scalar - 0x10000) & 0x3FF);
        }
        units[count++] = (unichar)scalar;
    }
    if (step > 0 && count > 1 && (units[1] == 0xFEFF || units[1] == 0xFFFE)) {
        // GNUstep would take the first character of a new string for a byte order mark.
        text = [[NSString stringWithCharacters:units length:count] substringFromIndex:1];
    } else if (step > 0) {
        text = [NSString stringWithCharacters:units + 1 length:count - 1];
    }
    explicit_bzero(units, (length + 1) * sizeof(unichar));
    free(units);
    return text;
}
