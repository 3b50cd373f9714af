# SPDX-License-Identifier: Apache-2.0
"""The checksums of pages, as docs/FORMAT.md, 2.2, has them."""

import struct

SIZE, PLACE = 4096, 4080
_LIMIT = 1 << 64
_FACTOR = 0x9E3779B97F4A7C15


def checksum(page, number):
    """Returns the checksum of a page, whatever its last 16 bytes are."""
    words = [*struct.unpack("<510Q", page[:PLACE]), number, 0]
    result = 0
    for column in range(8):
        total = totals = 0
        for word in words[column::8]:
            total = (total + word) % _LIMIT
            totals = (totals + total) % _LIMIT
        product = _distinct(total, column + 1) * _distinct(totals, column + 9)
        result += product >> 64 ^ product % _LIMIT
    return result % _LIMIT


def _distinct(total, place):
    return total ^ place * _FACTOR % _LIMIT


def fits(page, number):
    return page[PLACE:PLACE + 8] == struct.pack("<Q", checksum(page, number))


def sum_anew(path):
    """Puts checksums into all pages of a database without a log."""
    with open(path, "r+b") as file:
        data = file.read()
        for start in range(0, len(data), SIZE):
            page = data[start:start + SIZE]
            if not fits(page, start // SIZE + 1):
                file.seek(start + PLACE)
                file.write(struct.pack("<Q", checksum(page, start // SIZE + 1)))
