# SPDX-License-Identifier: Apache-2.0
"""usage: stamp.py STAMP FILE…

Writes commit and date over the characters of Version.build in programs and libraries, and takes
out what depends on the folder of the build: the hashes of Swift's modules become zeros, and the
build id becomes the hash of all the rest.
"""

import hashlib
import pathlib
import struct
import sys

PLACE = b"development build" + b"|" * 31
NOTE_HEADER = 16  # Three lengths and the name "GNU".


def sections(data):
    """The name, offset and size of each section of a 64-bit little-endian ELF file."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError("is no ELF file of 64 bits")
    table, = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", data, table + size * index)
               for index in range(count)]
    start = headers[names][4]
    for name, _, _, _, offset, length in headers:
        begin = start + name
        yield data[begin:data.index(b"\0", begin)].decode(), offset, length


def stamped(data, stamp, needs_place):
    places = data.count(PLACE)
    if places > 1 or (needs_place and places == 0):
        raise ValueError(f"has {places} places for its commit instead of one")
    found = {name: (offset, length) for name, offset, length in sections(data)}
    result = bytearray(data.replace(PLACE, stamp.encode().ljust(len(PLACE), b"|")))
    offset, length = found.get(".swift_modhash", (0, 0))
    result[offset:offset + length] = bytes(length)
    offset, length = found.get(".note.gnu.build-id", (0, NOTE_HEADER))
    offset, length = offset + NOTE_HEADER, length - NOTE_HEADER
    result[offset:offset + length] = bytes(length)
    result[offset:offset + length] = hashlib.sha256(result).digest()[:length]
    return bytes(result)


def main(stamp, paths):
    if len(stamp.encode()) > len(PLACE):
        sys.exit(f"package: error: {stamp!r} is longer than {len(PLACE)} bytes")
    for path in map(pathlib.Path, paths):
        try:
            # libvalet shows no commit, and the linker may leave the place out.
            result = stamped(path.read_bytes(), stamp, needs_place=".so" not in path.name)
        except ValueError as error:
            sys.exit(f"package: error: {path} {error}")
        path.write_bytes(result)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
