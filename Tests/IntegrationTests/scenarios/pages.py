# SPDX-License-Identifier: Apache-2.0
"""The pages of a database: their checksums, as docs/FORMAT.md, 2.2, has them, and what lies where
in them, as SQLite's file format has it."""

import collections
import os
import re
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


# How far a payload may reach into its page, of a table and of an index.
_USABLE = SIZE - 16
_LONGEST = {True: _USABLE - 35, False: (_USABLE - 12) * 64 // 255 - 23}
_WIDTHS = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)

# A stored number, text or blob: its serial type, and where it and that type lie in the page. A row
# number has the serial type None.
Field = collections.namedtuple("Field", "serial offset length header")
Tree = collections.namedtuple("Tree", "name root columns")


class Database:
    """The pages of a database as a reader of the database and its log sees them."""

    def __init__(self, path):
        self.path = path
        self.file, self.log = _contents(path), _contents(path + "-wal")
        # Of each page, the frame in the log that has it, if one does.
        self.frames = {}
        self.frame_count, self.last_frames = 0, range(0)
        if self.log:
            self._read_log()
        self.count = len(self.file) // SIZE

    def _read_log(self):
        salt, seen = self.log[16:24], {}
        for index in range((len(self.log) - 32) // (SIZE + 24)):
            head = self.log[self._frame(index):self._frame(index) + 24]
            if head[8:16] != salt:
                break
            number, size = struct.unpack(">II", head[:8])
            seen[number] = index
            if size:
                self.frames.update(seen)
                # Those of the last transaction.
                self.last_frames = range(self.frame_count, index + 1)
                seen, self.frame_count = {}, index + 1

    @staticmethod
    def _frame(index):
        return 32 + index * (SIZE + 24)

    def page(self, number):
        index = self.frames.get(number)
        data, start = (self.file, (number - 1) * SIZE) if index is None else (
            self.log, self._frame(index) + 24)
        return bytes(data[start:start + SIZE])

    def flip(self, number, offset, mask, sums):
        """Flips bits of a page, where it lies; with `sums` it gets a checksum that fits, and the
        log sums that fit."""
        index = self.frames.get(number)
        data, start = (self.file, (number - 1) * SIZE) if index is None else (
            self.log, self._frame(index) + 24)
        data[start + offset] ^= mask
        if sums:
            sum_ = checksum(bytes(data[start:start + SIZE]), number)
            data[start + PLACE:start + PLACE + 8] = struct.pack("<Q", sum_)
            if index is not None:
                self._sum_log()
        with open(self.path if index is None else self.path + "-wal", "r+b") as file:
            file.write(data)

    def _sum_log(self):
        order = ">" if self.log[3] & 1 else "<"
        sums = struct.unpack(">II", self.log[24:32])
        for index in range(self.frame_count):
            start = self._frame(index)
            sums = _log_sums(order, self.log[start:start + 8], sums)
            sums = _log_sums(order, self.log[start + 24:start + 24 + SIZE], sums)
            self.log[start + 16:start + 24] = struct.pack(">II", *sums)

    def trees(self):
        """Returns the tables and indexes: of each its name, its root page, and the names of its
        fields, as `rows` gives them."""
        found = [Tree("sqlite_schema", 1, ("rowid", "type", "name", "tbl_name", "rootpage", "sql"))]
        for _, fields, page in self.rows(1):
            kind, name, _, root, sql = (self.value(page, field) for field in fields[1:])
            if kind == "table":
                columns = re.findall(r"^ +([a-z_]+) [A-Z]+", sql, re.MULTILINE)
                number = re.search(r"([a-z_]+) INTEGER PRIMARY KEY", sql)
                if "WITHOUT ROWID" not in sql:
                    columns.insert(0, number[1] if number else "rowid")
            else:
                columns = [*re.search(r"\(([^)]+)\)", sql)[1].split(", "), "rowid"]
            found.append(Tree(name, root, tuple(columns)))
        return found

    def rows(self, root):
        """Yields the cells of a tree with contents: the page's number, the fields, the page. The
        first field of a table is its row number."""
        for number in self.tree(root):
            page = self.page(number)
            begin = 100 if number == 1 else 0
            kind = page[begin]
            count, = struct.unpack_from(">H", page, begin + 3)
            head = begin + (8 if kind in (10, 13) else 12)
            for offset in struct.unpack_from(f">{count}H", page, head):
                if kind != 5:
                    yield number, _fields(page, offset, kind), page

    def tree(self, root):
        """Yields the numbers of a tree's pages, those of long contents left out."""
        yield root
        page, begin = self.page(root), 100 if root == 1 else 0
        if page[begin] in (2, 5):
            count, = struct.unpack_from(">H", page, begin + 3)
            children = [struct.unpack_from(">I", page, offset)[0]
                        for offset in struct.unpack_from(f">{count}H", page, begin + 12)]
            for child in (*children, struct.unpack_from(">I", page, begin + 8)[0]):
                yield from self.tree(child)

    @staticmethod
    def value(page, field):
        """Returns what a field holds, as far as its page has it."""
        held = page[field.offset:field.offset + field.length]
        if field.serial is None:
            return _varint(page, field.offset)[0]
        if field.serial < 12:
            if field.serial in (0, 8, 9):
                return (None, 0, 1)[max(0, field.serial - 7)]
            return int.from_bytes(held, "big", signed=True)
        return held.decode() if field.serial % 2 else held


def _contents(path):
    if not os.path.exists(path):
        return bytearray()
    with open(path, "rb") as file:
        return bytearray(file.read())


def _log_sums(order, data, sums):
    first, second = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for index in range(0, len(words), 2):
        first = (first + words[index] + second) & 0xFFFFFFFF
        second = (second + words[index + 1] + first) & 0xFFFFFFFF
    return first, second


def _varint(page, offset):
    """Returns a number, and where it ends."""
    value = 0
    for index in range(9):
        byte = page[offset + index]
        if index == 8:
            return value << 8 | byte, offset + 9
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, offset + index + 1


def _fields(page, offset, kind):
    fields = []
    if kind == 2:
        offset += 4
    length, offset = _varint(page, offset)
    if kind == 13:
        _, end = _varint(page, offset)
        fields.append(Field(None, offset, end - offset, offset))
        offset = end
    local = _local(length, kind == 13)
    size, at = _varint(page, offset)
    body, end = offset + size, offset + size
    while at < end:
        header = at
        serial, at = _varint(page, at)
        width = _WIDTHS[serial] if serial < 12 else (serial - 12) // 2
        width = max(0, min(width, offset + local - body))
        fields.append(Field(serial, body, width, header))
        body += width
    return fields


def _local(length, is_table):
    """Returns how much of a payload is in its page."""
    if length <= _LONGEST[is_table]:
        return length
    least = (_USABLE - 12) * 32 // 255 - 23
    rest = least + (length - least) % (_USABLE - 4)
    return rest if rest <= _LONGEST[is_table] else least
