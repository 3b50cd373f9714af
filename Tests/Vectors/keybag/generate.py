#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the vectors of docs/FORMAT.md sections 3.1, 4 and 5: one keychain whose keys and nonces
are fixed, its device.key, its keybag and rows of its items, with what becomes of them when changed.

The primitives are those of ../sealing/generate.py; nothing here calls libsodium or SQLite.
"""
import hashlib
import importlib.util
import pathlib
import struct

VECTORS = pathlib.Path(__file__).parent.parent
OURS = "Tests/Vectors/keybag/generate.py, from docs/FORMAT.md alone"

spec = importlib.util.spec_from_file_location("sealing", VECTORS / "sealing" / "generate.py")
sealing = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sealing)
lp, h, wrap, seal, count, flip = (
    sealing.lp, sealing.h, sealing.wrap, sealing.seal, sealing.count, sealing.flip)

u8, u16, u32, u64 = (lambda n: struct.pack(">B", n), lambda n: struct.pack(">H", n),
                     lambda n: struct.pack(">I", n), lambda n: struct.pack(">Q", n))
i64 = lambda n: struct.pack(">q", n)

D, KC, ROOT, INDEX, EPOCH = count(1, 32), count(200, 16), count(33, 32), count(65, 32), 1
CODES = {1: "ak", 2: "ck", 3: "dk", 4: "aku", 5: "cku", 6: "dku"}
CLASS_KEYS = {number: count(97 + 7 * number, 32) for number in CODES}
KDEV = h(D, b"device-kek", KC)
SYNC = {0x66: count(11, 32), 0x75: count(22, 32)}


def key_id(key):
    return h(key, b"key-id")[:16]


def write(area, name, expect, **fields):
    folder = VECTORS / area
    lines = [f"source: {OURS}", f"expect: {expect}", f"operation: {area}", ""]
    for field, value in fields.items():
        for one in value if isinstance(value, list) else [value]:
            text = one.hex() if isinstance(one, bytes) else str(one)
            lines.append(f"{field}: {text}".rstrip())
    (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")


# Section 3.1.
def device_key(version=1, kid=key_id(D), reserved=bytes(16), magic=b"VALETDEV"):
    body = magic + u16(version) + KC + kid + D + reserved
    return body + hashlib.blake2b(body, digest_size=32).digest()


def device_key_vectors():
    good = device_key()
    assert len(good) == 122
    cases = {
        "good": ("success", good),
        "bad-magic": ("malformed", device_key(magic=b"VALETDEW")),
        "version-2": ("unsupported", device_key(version=2)),
        "cut": ("malformed", good[:-1]),
        "longer": ("malformed", good + b"\0"),
        "empty": ("malformed", b""),
        "flipped-keychain-id": ("tampered", flip(good, 10)),
        "flipped-key-id": ("tampered", flip(good, 26)),
        "flipped-secret": ("tampered", flip(good, 42)),
        "flipped-checksum": ("tampered", flip(good, 121)),
        "reserved-not-zero": ("tampered", device_key(reserved=bytes(15) + b"\1")),
        "other-key-id": ("tampered", device_key(kid=bytes(16))),
    }
    for name, (expect, file) in cases.items():
        write("device-key", name, expect, file=file, keychain=KC, secret=D)


# Section 4.
def settings(min_writer=1):
    return u32(1) + u32(1) + u32(min_writer) + u64(0) + KC + u64(EPOCH)


def records():
    nonces = iter(count(16 * i, 24) for i in range(1, 20))
    out = {0x0101: wrap(ROOT, KDEV, b"root", KC, EPOCH, b"", next(nonces))}
    for number, code in CODES.items():
        code = code.encode()
        kek = h(ROOT, b"class-kek", code) if number < 4 else \
            h(ROOT, b"class-kek-device", code, KDEV)
        out[0x0200 + number] = wrap(
            CLASS_KEYS[number], kek, b"class", KC, EPOCH, code, next(nonces))
    out[0x0301] = wrap(INDEX, h(ROOT, b"index-kek"), b"index", KC, EPOCH, b"", next(nonces))
    return out


def sync_records(scopes=(0x66, 0x75), epoch=EPOCH):
    """The wraps of the sync secrets, with the scope that each is made for."""
    return [(tag, wrap(SYNC[scope], h(ROOT, b"sync-kek", u8(scope), KDEV), b"sync", KC, epoch,
                       u8(scope), count(17 * tag % 256, 24)))
            for tag, scope in zip((0x0501, 0x0502), scopes)]


def keybag(body=None, version=1, chain=KC, epoch=EPOCH, protector=1, source=1, kid=key_id(D),
           number=None, mac=None):
    body = list(records().items()) if body is None else body
    out = b"VALETBAG" + u16(version) + chain + u64(epoch) + u8(protector) + u8(source) + kid
    out += u16(len(body) if number is None else number)
    for tag, bytes_ in body:
        out += u16(tag) + u32(len(bytes_)) + bytes_
    return out + (h(ROOT, b"keybag-mac", out, settings()) if mac is None else mac)


def keybag_vectors():
    good, all_ = keybag(), list(records().items())
    swapped = [(t, dict(all_)[{0x201: 0x202, 0x202: 0x201}.get(t, t)]) for t, _ in all_]
    unknown = all_ + [(0x0601, b"")]
    cases = {
        "good": ("success", good),
        "bad-magic": ("malformed", flip(good, 0)),
        "version-2": ("unsupported", keybag(version=2)),
        "other-keychain": ("tampered", keybag(chain=bytes(16))),
        "epoch-0": ("malformed", keybag(epoch=0)),
        "other-epoch": ("tampered", keybag(epoch=2)),
        "protector-4": ("unsupported", keybag(protector=4)),
        "source-5": ("unsupported", keybag(source=5)),
        "other-source": ("tampered", keybag(source=3, mac=good[-32:])),
        "other-device-key-id": ("wrong secret", keybag(kid=bytes(16))),
        "tags-in-other-order": ("malformed", keybag(all_[::-1])),
        "tag-twice": ("malformed", keybag(all_[:1] + all_)),
        "tag-unknown": ("unsupported", keybag(unknown)),
        "one-record-too-few": ("malformed", keybag(number=7)),
        "65-records": ("malformed", keybag([(t, b"") for t in range(1, 66)])),
        "body-too-long": ("malformed", keybag([(0x0101, bytes(4097))])),
        "wraps-swapped": ("tampered", keybag(swapped, mac=good[-32:])),
        "wraps-swapped-with-mac": ("tampered", keybag(swapped)),
        "root-missing": ("malformed", keybag(all_[1:])),
        "class-key-missing": ("malformed", keybag(all_[:2] + all_[3:])),
        "root-wrap-flipped": ("tampered", flip(good, 60 + 6 + 100)),
        "flipped-mac": ("tampered", flip(good, len(good) - 1)),
        "cut": ("malformed", good[:-1]),
        "longer": ("malformed", good + b"\0"),
        "in-a-circle": ("success", keybag(all_ + sync_records())),
        "one-sync-secret": ("malformed", keybag(all_ + sync_records()[:1])),
        "other-sync-secret-alone": ("malformed", keybag(all_ + sync_records()[1:])),
        "sync-secrets-swapped": ("tampered", keybag(all_ + sync_records((0x75, 0x66)))),
        "sync-secrets-of-another-epoch": ("tampered", keybag(all_ + sync_records(epoch=2))),
    }
    place = dict(secret=D, settings=settings())
    for name, (expect, bytes_) in cases.items():
        fields = place | dict(keybag=bytes_)
        if expect == "success":
            fields |= dict(
                sync=list(SYNC.values()) if name == "in-a-circle" else [],
                keychain=KC, epoch=EPOCH, index=INDEX, root=ROOT,
                key_id=[key_id(CLASS_KEYS[n]) for n in CODES],
                attributes_subkey=[h(CLASS_KEYS[n], b"seal-attributes") for n in CODES],
                value_subkey=[h(CLASS_KEYS[n], b"seal-value") for n in CODES])
        write("keybag", name, expect, **fields)
    write("keybag", "other-settings", "tampered", **place | dict(
        keybag=good, settings=settings(min_writer=2)))
    write("keybag", "other-device-secret", "wrong secret", **place | dict(
        keybag=good, secret=count(2, 32)))


# Sections 5 and 6. Values are (type, bytes): 1 text, 2 data, 3 number, 4 date.
text = lambda s: (1, s.encode())
data = lambda b: (2, b)
number = lambda n: (3, i64(n))
date = lambda d: (4, struct.pack(">d", d))

TAGS = {name: tag for tag, name in enumerate(
    "acct svce gena sdmn srvr ptcl atyp port path agrp sync vwht tkid labl desc icmt crtr type scrp "
    "invi nega cusi alis prot pdmn accc cdat mdat".split(), 1)}
NUMBERS = {"ptcl", "port", "crtr", "type", "scrp", "invi", "nega", "cusi"}
STRINGS = {"agrp", "vwht", "tkid"}
KEYS = {1: "svce vwht tkid acct".split(),
        2: "sdmn srvr ptcl atyp port path vwht tkid acct".split()}
DEFAULTS = {name: number(0) if name in ("ptcl", "port") else text("")
            for name in KEYS[1] + KEYS[2]}


def normal(name, value):
    kind, bytes_ = value
    if kind == 4:
        return b"\3" + bytes_
    if name in NUMBERS:
        return (b"\1" if kind == 3 else b"\2") + bytes_
    if name in STRINGS:
        return b"\2" + bytes_
    if kind == 3:
        n = struct.unpack(">q", bytes_)[0]
        return b"\0" + struct.pack("<i" if -2**31 <= n < 2**31 else "<q", n)
    return b"\0" + bytes_


def attribute_hash(class_, name, group, value):
    return h(INDEX, b"index", u8(class_), u8(TAGS[name]), group, normal(name, value))[:16]


def place_hash(class_, group, sync, attributes):
    parts = [normal(name, attributes.get(name, DEFAULTS[name]))
             for name in KEYS[class_] if name != "acct"]
    return h(INDEX, b"place", u8(class_), group, u8(sync), *parts)[:16]


def account_hash(class_, group, attributes):
    return attribute_hash(class_, "acct", group, attributes.get("acct", text("")))


def other_hashes(class_, group, sync, attributes):
    out = {}
    service = "svce" if class_ == 1 else "srvr"
    for name, value in attributes.items():
        if name not in ("acct", service, "cdat", "mdat", "accc") and value != DEFAULTS.get(name):
            out[TAGS[name]] = attribute_hash(class_, name, group, value)
    plain = {k: v for k, v in attributes.items() if k not in ("vwht", "tkid")}
    if len(plain) < len(attributes):
        out[127] = h(INDEX, b"index", u8(class_), u8(127), group,
                     place_hash(class_, group, sync, plain),
                     account_hash(class_, group, plain))[:16]
    return b"".join(u8(tag) + out[tag] for tag in sorted(out))


def encode(values):
    return b"".join(u8(tag) + u8(values[tag][0]) + lp(values[tag][1]) for tag in sorted(values))


def pad(plaintext, step):
    plaintext += b"\x80"
    return plaintext + bytes(-len(plaintext) % step)


NONCE = count(11, 24)


def nonce(part):
    return NONCE[:-1] + u8(NONCE[-1] ^ part)


def header(part, row):
    """The associated data that all parts of a row begin with."""
    return (b"valet/1/row" + part + KC + i64(row["number"]) + i64(row["salt"])
            + u64(row["version"]) + u64(row["epoch"]) + u8(row["class"]) + u8(row["protection"])
            + u32(row["flags"]) + row["place_hash"] + row["account_hash"])


def seal_part(number_, key, plaintext, data):
    """Seals without the nonce, which the row has once."""
    return seal(key, nonce(number_), plaintext, data)[24:]


def seal_value(row, plaintext):
    values = h(CLASS_KEYS[row["protection"]], b"seal-value")
    return seal_part(2, values, plaintext, header(b"V", row) + row["names"][-16:])


def row(class_, protection, attributes, value, group="com.example.app", flags=0, number_=7,
        salt=-2**62, version=3):
    group, sync = group.encode(), flags & 1
    service = "svce" if class_ == 1 else "srvr"
    out = {"class": class_} | dict(
        number=number_, salt=salt, version=version, protection=protection, flags=flags,
        epoch=EPOCH,
        group_hash=attribute_hash(class_, "agrp", group, (1, group)),
        service_hash=attribute_hash(class_, service, group, attributes.get(service, text(""))),
        place_hash=place_hash(class_, group, sync, attributes),
        account_hash=account_hash(class_, group, attributes), nonce=NONCE,
        hashes=other_hashes(class_, group, sync, attributes))
    list_ = {TAGS["agrp"]: (1, group)} | {
        TAGS[name]: one for name, one in attributes.items() if one != DEFAULTS.get(name)}
    if value is not None:
        list_[64] = number(len(value))
    names = h(CLASS_KEYS[protection], b"seal-attributes")
    data = header(b"N", out) + out["group_hash"] + out["service_hash"] + out["hashes"]
    out["names"] = seal_part(1, names, pad(encode(list_), 32), data)
    if value is not None:
        out["secret"] = seal_value(out, pad(value, 32 if len(value) <= 1024 else 1024))
    return out


def expected(attributes, value, group="com.example.app"):
    """What opening gives; an attribute is its tag, its type and its bytes."""
    fields = dict(group_name=group.encode(), attribute=[
        u8(TAGS[name]) + u8(kind) + bytes_ for name, (kind, bytes_) in attributes.items()])
    if value is not None:
        fields["value"] = value
    return fields


def row_vectors():
    place = dict(device_secret=D, settings=settings(), keybag=keybag())
    dates = dict(cdat=date(700000000.25), mdat=date(700000000.5))
    login = dict(acct=text("alice"), svce=text("mail")) | dates
    everything = login | dict(
        gena=data(b"\0\1\2"), labl=text("L\u00e4bel"), desc=number(5), icmt=number(2**40),
        crtr=text("abcd"), type=number(-1), invi=number(1), alis=data(b""), prot=text("p"))
    web = dict(
        acct=data(b"\xff"), sdmn=text("realm"), srvr=text("example.com"), ptcl=text("http"),
        atyp=text("form"), port=number(443), path=text("/"), labl=text("l")) | dates
    hinted = login | dict(vwht=text("Manatee"), tkid=text("token"))
    good = {
        "generic": row(1, 1, login, b"secret"), "everything": row(1, 2, everything, count(0, 32)),
        "internet": row(2, 5, web, b"x"), "hint-and-token": row(1, 3, hinted, b"y"),
        "defaults": row(1, 6, dates, b""), "without-value": row(1, 4, login, None),
        "synchronizable": row(1, 1, login, b"z", flags=1),
        "tombstone": row(1, 1, login, None, flags=3),
        "value-31": row(1, 1, login, count(0, 31)), "value-1024": row(1, 1, login, count(3, 1024)),
        "value-1025": row(1, 1, login, count(3, 1025)),
    }
    contents = {
        "generic": (login, b"secret"), "everything": (everything, count(0, 32)),
        "internet": (web, b"x"), "hint-and-token": (hinted, b"y"), "defaults": (dates, b""),
        "without-value": (login, None), "synchronizable": (login, b"z"),
        "tombstone": (login, None), "value-31": (login, count(0, 31)),
        "value-1024": (login, count(3, 1024)), "value-1025": (login, count(3, 1025))}
    for name, columns in good.items():
        write("row", name, "success", **place, **columns, **expected(*contents[name]))
    one, two = good["generic"], row(1, 1, login | dict(acct=text("bob")), b"secret", number_=8)
    older = row(1, 1, login, b"older", version=2)
    labelled = row(1, 1, login | dict(labl=text("l")), b"secret")
    changes = {
        "names-and-secret-swapped": dict(names=one["secret"], secret=one["names"]),
        "names-of-another-row": dict(names=two["names"]),
        "names-of-an-older-version": dict(names=older["names"]),
        "secret-of-another-row": dict(secret=two["secret"]),
        "secret-of-an-older-version": dict(secret=older["secret"]),
        "another-nonce": dict(nonce=nonce(1)),
        "another-number": dict(number=8), "another-salt": dict(salt=0),
        "another-version": dict(version=4), "another-class": {"class": 2},
        "another-protection": dict(protection=4), "another-epoch": dict(epoch=2),
        "made-synchronizable": dict(flags=1), "made-a-tombstone": dict(flags=2),
        "another-place": dict(place_hash=two["account_hash"]),
        "another-account": dict(account_hash=two["account_hash"]),
        "another-service": dict(service_hash=two["account_hash"]),
        "another-group": dict(group_hash=two["account_hash"]),
        "hashes-added": dict(hashes=labelled["hashes"]),
    }
    for name, change in changes.items():
        write("row", f"bad-{name}", "tampered", **place, **one | change)


if __name__ == "__main__":
    for area in "device-key", "keybag", "row":
        for old in (VECTORS / area).glob("*.txt"):
            old.unlink()
    device_key_vectors()
    keybag_vectors()
    row_vectors()
