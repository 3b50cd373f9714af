#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the vectors of docs/FORMAT.md section 10: whole files, headers and contents.

The primitives are those of ../sealing/generate.py; nothing here calls libsodium.
"""
import base64
import hashlib
import importlib.util
import pathlib
import struct

HERE = pathlib.Path(__file__).parent
OURS = "Tests/Vectors/backup/generate.py, from docs/FORMAT.md alone"

spec = importlib.util.spec_from_file_location("sealing", HERE.parent / "sealing" / "generate.py")
sealing = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sealing)
lp, h, count, flip, Stream = (
    sealing.lp, sealing.h, sealing.count, sealing.flip, sealing.Stream)

u8, u16, u32, u64 = (lambda n: struct.pack(">B", n), lambda n: struct.pack(">H", n),
                     lambda n: struct.pack(">I", n), lambda n: struct.pack(">Q", n))
i64 = lambda n: struct.pack(">q", n)

MESSAGE, FINAL = 0, 3
CHUNK = 65536
KC, KEY, SALT, STREAM = count(200, 16), count(32, 32), count(90, 16), count(150, 24)
MILLISECONDS = 1_790_000_000_000
PASSPHRASE = "correct horse ü".encode()


def write(folder, name, operation, expect, **fields):
    lines = [f"source: {OURS}", f"expect: {expect}", f"operation: {operation}", ""]
    for field, value in fields.items():
        for one in value if isinstance(value, list) else [value]:
            text = one.hex() if isinstance(one, bytes) else str(one)
            lines.append(f"{field}: {text}".rstrip())
    (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")


# Section 10.1.
def header(version=1, memory=65536, passes=3, lanes=1, magic=b"VALETBAK", kek=count(7, 32),
           checksum=None):
    body = magic + u16(version) + KC + i64(MILLISECONDS) + SALT
    body += u32(memory) + u32(passes) + u8(lanes)
    assert len(body) == 59
    body += sealing.wrap(KEY, kek, b"backup", KC, 0, body, count(50, 24)) + STREAM
    return body + (checksum or hashlib.blake2b(body, digest_size=32).digest())


def rechecked(bytes_):
    return bytes_[:204] + hashlib.blake2b(bytes_[:204], digest_size=32).digest()


def header_vectors():
    good = header()
    assert len(good) == 236
    cases = {
        "good": ("success", good),
        "greatest-cost": ("success", header(memory=1 << 20, passes=64)),
        "bad-magic": ("malformed", header(magic=b"VALETBAG")),
        "empty": ("malformed", b""),
        "magic-alone": ("malformed", good[:8]),
        "cut": ("malformed", good[:-1]),
        "version-0": ("tampered", header(version=0)),
        "version-2": ("unsupported", header(version=2)),
        "version-2-short": ("unsupported", header(version=2)[:10]),
        "memory-too-small": ("tampered", header(memory=65535)),
        "memory-too-great": ("tampered", header(memory=(1 << 20) + 1)),
        "memory-greatest": ("tampered", header(memory=2**32 - 1)),
        "memory-0": ("tampered", header(memory=0)),
        "passes-2": ("tampered", header(passes=2)),
        "passes-65": ("tampered", header(passes=65)),
        "passes-greatest": ("tampered", header(passes=2**32 - 1)),
        "lanes-2": ("tampered", header(lanes=2)),
        "wrap-version-2": ("unsupported", rechecked(good[:59] + b"\2" + good[60:])),
        "flipped-keychain": ("tampered", flip(good, 10)),
        "flipped-salt": ("tampered", flip(good, 34)),
        "flipped-stream": ("tampered", flip(good, 180)),
        "flipped-checksum": ("tampered", flip(good, 235)),
    }
    for name, (expect, bytes_) in cases.items():
        write(HERE, f"header-{name}", "header", expect, header=bytes_, keychain=KC, salt=SALT,
              milliseconds=MILLISECONDS)


# Section 10.3. An attribute is (tag, type, bytes): 1 text, 2 data, 3 number, 4 date, 5 control.
text = lambda tag, s: (tag, 1, s.encode())
AGRP, ACCT, SVCE, SRVR, PORT, LABL = 10, 1, 2, 5, 8, 14
GROUP = text(AGRP, "com.example.app")
MINIMAL = [GROUP]


def record(kind, body, length=None):
    return u8(kind) + u32(len(body) if length is None else length) + body


def item(attributes, value=None, class_=1, protection=1, flags=0, time=1 << 40, list_=None,
         value_length=None, length=None, tail=b""):
    if list_ is None:
        list_ = b"".join(u8(t) + u8(k) + lp(b) for t, k, b in sorted(attributes))
    body = u8(class_) + u8(protection) + u8(flags | (2 if value is not None else 0))
    body += i64(time) + lp(list_)
    if value is not None:
        body += u32(len(value) if value_length is None else value_length) + value
    return record(1, body + tail, length)


def trailer(number):
    return record(2, u64(number))


def every_type():
    return [GROUP, text(ACCT, "Zoë 🗝"), text(SVCE, ""), (3, 2, count(0, 9)), (16, 2, b""),
            (17, 3, i64(-1)), (20, 3, i64(1)), (27, 4, struct.pack(">d", 0.5)),
            (28, 4, struct.pack(">d", -7.5e8)), text(LABL, "a label")]


GOOD = [
    item(every_type(), b"a secret", flags=1, time=-5),
    item(MINIMAL, b"", protection=2),
    item([GROUP, text(SRVR, "example.com"), (PORT, 3, i64(443))], None, class_=2, protection=3),
]


def content_vectors():
    bad = lambda *records, n=None: b"".join(records) + trailer(len(records) if n is None else n)
    one = GOOD[1]
    attribute = lambda *a: item([GROUP, *a])
    raw = lambda *a: item([], list_=b"".join(u8(t) + u8(k) + lp(b) for t, k, b in a))
    cases = {
        "no-items": ("success", trailer(0)),
        "items": ("success", bad(*GOOD)),
        "former-values": ("success", bad(
            one, item(MINIMAL, b"before", flags=4), item(MINIMAL, flags=8 | 1), item(MINIMAL, b"", flags=12))),
        "same-item-twice": ("success", bad(one, one)),
        "empty": ("tampered", b""),
        "no-trailer": ("tampered", one),
        "trailer-counts-one-more": ("tampered", bad(one, n=2)),
        "trailer-counts-one-less": ("tampered", bad(one, n=0)),
        "trailer-counts-2-to-64-minus-1": ("tampered", bad(one, n=2**64 - 1)),
        "trailer-of-7-bytes": ("tampered", one + record(2, bytes(6) + b"\1")),
        "trailer-of-9-bytes": ("tampered", one + record(2, u64(1) + b"\0")),
        "trailer-twice": ("tampered", bad(one) + trailer(1)),
        "item-after-trailer": ("tampered", bad(one) + one),
        "not-zero-after-trailer": ("tampered", bad(one) + bytes(100) + b"\1"),
        "kind-0": ("tampered", bad(record(0, b"x"))),
        "kind-3": ("tampered", bad(record(3, b"x"))),
        "class-0": ("tampered", bad(item(MINIMAL, class_=0))),
        "class-3": ("tampered", bad(item(MINIMAL, class_=3))),
        "protection-0": ("tampered", bad(item(MINIMAL, protection=0))),
        **{f"protection-{n}-this-device-only": ("tampered", bad(item(MINIMAL, protection=n)))
           for n in (4, 5, 6, 7)},
        "protection-8": ("tampered", bad(item(MINIMAL, protection=8))),
        "flags-bit-4": ("tampered", bad(item(MINIMAL, flags=16))),
        "flags-highest": ("tampered", bad(item(MINIMAL, flags=128))),
        "no-group": ("tampered", bad(item([text(ACCT, "a")]))),
        "group-of-data": ("tampered", bad(item([(AGRP, 2, b"com.example.app")]))),
        "attribute-twice": ("tampered", bad(raw(GROUP, GROUP))),
        "attributes-in-other-order": ("tampered", bad(raw(GROUP, text(ACCT, "a")))),
        "attribute-sync": ("tampered", bad(attribute((11, 3, i64(1))))),
        "attribute-pdmn": ("tampered", bad(attribute(text(25, "ak")))),
        "attribute-accc": ("tampered", bad(attribute((26, 5, b"x")))),
        "attribute-accc-as-data": ("tampered", bad(attribute((26, 2, b"x")))),
        "attribute-of-type-access-control": ("tampered", bad(attribute((ACCT, 5, b"x")))),
        "attribute-64": ("tampered", bad(attribute((64, 3, i64(0))))),
        "attribute-0": ("tampered", bad(attribute((0, 1, b"x")))),
        "attribute-29": ("tampered", bad(attribute((29, 1, b"x")))),
        "attribute-of-other-class": ("tampered", bad(attribute(text(SRVR, "example.com")))),
        "type-0": ("tampered", bad(attribute((ACCT, 0, b"x")))),
        "type-6": ("tampered", bad(attribute((ACCT, 6, b"x")))),
        "text-not-utf-8": ("tampered", bad(attribute((ACCT, 1, b"\xff")))),
        "number-of-7-bytes": ("tampered", bad(attribute((17, 3, bytes(7))))),
        "date-of-9-bytes": ("tampered", bad(attribute((27, 4, bytes(9))))),
        "attribute-longer-than-list": ("tampered", bad(
            item([], list_=u8(AGRP) + u8(1) + u32(9) + b"x"))),
        "list-cut": ("tampered", bad(item([], list_=u8(AGRP)))),
        "list-longer-than-record": ("tampered", bad(
            record(1, u8(1) + u8(1) + u8(0) + i64(0) + u32(400) + b"x"))),
        "list-of-4-gib": ("tampered", bad(
            record(1, u8(1) + u8(1) + u8(0) + i64(0) + u32(2**32 - 1), 2**32 - 1))),
        "list-of-17-mib": ("tampered", bad(
            record(1, u8(1) + u8(1) + u8(0) + i64(0) + u32(17 << 20), 15 + (17 << 20)))),
        "record-too-short": ("tampered", bad(record(1, bytes(14)))),
        "bytes-after-item": ("tampered", bad(item(MINIMAL, tail=b"x"))),
        "bytes-after-value": ("tampered", bad(item(MINIMAL, b"v", tail=b"x"))),
        "value-shorter-than-record": ("tampered", bad(item(MINIMAL, b"abc", value_length=2))),
        "value-longer-than-record": ("tampered", bad(item(MINIMAL, b"abc", value_length=4))),
        "value-without-length": ("tampered", bad(item(MINIMAL, flags=2, tail=b"abc"))),
        "value-of-17-mib": ("tampered", bad(
            item(MINIMAL, b"", value_length=17 << 20, length=46 + (17 << 20)))),
    }
    for name, (expect, content) in cases.items():
        write(HERE, f"content-{name}", "content", expect, content=content,
              records=content.count(b"com.example.app") if expect == "success" else 0)


# Section 10.2: whole files, at a cost that only tests take.
def backup(content, key=KEY):
    w = sealing.argon2id(PASSPHRASE, SALT, 1, 8)
    head = header(memory=8, passes=1, kek=h(w, b"backup", KC))
    stream, out = Stream(key, STREAM), head
    chunks = [content[i:i + CHUNK] for i in range(0, len(content), CHUNK)]
    for i, chunk in enumerate(chunks):
        tag = FINAL if i == len(chunks) - 1 else MESSAGE
        out += stream.push(chunk + bytes(CHUNK - len(chunk)), head, tag)
    return out


def file_vectors():
    # With its value the second record ends 3 bytes after the first chunk.
    long = item(MINIMAL, b"")
    long = item(MINIMAL, count(1, CHUNK + 3 - len(GOOD[0]) - len(long)))
    for name, records in {"one-chunk": GOOD, "two-chunks": [GOOD[0], long]}.items():
        file = backup(b"".join(records) + trailer(len(records)))
        for who, expect, passphrase in (("", "success", PASSPHRASE),
                                        ("-other-passphrase", "wrong secret", b"correct horse")):
            if who and name != "one-chunk":
                continue
            write(HERE, f"file-{name}{who}", "file", expect, passphrase=passphrase, keychain=KC,
                  milliseconds=MILLISECONDS,
                  record_digest=[hashlib.blake2b(r, digest_size=32).digest() for r in records],
                  base64=base64.b64encode(file).decode())


if __name__ == "__main__":
    for old in HERE.glob("*.txt"):
        old.unlink()
    header_vectors()
    content_vectors()
    file_vectors()
