#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the vectors of docs/SYNC.md sections 2, 3 and 6: a circle whose keys and random numbers
are fixed, its roster, messages of one device, an invitation, and what becomes of them when changed.

The primitives are those of ../sealing/generate.py; nothing here calls libsodium.
"""
import hashlib
import importlib.util
import itertools
import pathlib
import struct

HERE = pathlib.Path(__file__).parent
OURS = "Tests/Vectors/sync/generate.py, from docs/SYNC.md alone"

spec = importlib.util.spec_from_file_location("sealing", HERE.parent / "sealing" / "generate.py")
sealing = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sealing)
lp, count, flip = sealing.lp, sealing.count, sealing.flip
u8, u16, u32, u64 = (lambda n: struct.pack(">B", n), lambda n: struct.pack(">H", n),
                     lambda n: struct.pack(">I", n), lambda n: struct.pack(">Q", n))
ZERO, NOTHING = bytes(16), bytes(32)
NOW = 1_700_000_000_000
SCOPES = {"f": b"f", "u": b"u"}
# With this key the id of `b` is above that of the founder, and its log has index 1 in tables.
RANDOM = (hashlib.blake2b(u32(n), key=b"3", digest_size=32).digest()
          for n in itertools.count())


def write(name, operation, expect="success", **fields):
    lines = [f"source: {OURS}", f"expect: {expect}", f"operation: {operation}", ""]
    for field, value in fields.items():
        for one in value if isinstance(value, list) else [value]:
            text = one.hex() if isinstance(one, bytes) else str(one)
            lines.append(f"{field}: {text}".rstrip())
    (HERE / f"{name}.txt").write_text("\n".join(lines) + "\n")


# The notation.
def digest(context, *parts):
    return hashlib.blake2b(lp(b"valet/1/sync-" + context, *parts), digest_size=32).digest()


def h(key, context, *parts):
    return sealing.h(key, b"sync-" + context, *parts)


def key_id(key):
    return sealing.h(key, b"key-id")[:16]


def commitment(key):
    return sealing.h(key, b"commit")


def signature(seed, context, message):
    return sealing.ed25519(seed, lp(b"valet/1/sync-" + context, message))[1]


def padded(plaintext, step):
    return plaintext + b"\x80" + bytes(-(len(plaintext) + 1) % step)


def sealed(key, context, data, plaintext, used):
    used.append(next(RANDOM))
    nonce = h(key, b"nonce", b"valet/1/sync-" + context, data, used[-1], plaintext)[:24]
    return sealing.seal(h(key, context), nonce, plaintext, data)


def name_hash(data):
    return digest(b"file", data)[:16].hex()


# Section 2, and the members of section 3.4.
class Device:
    def __init__(self, secret_f, secret_u, circle, kind=1):
        self.secrets, self.circle, self.kind = {"f": secret_f, "u": secret_u}, circle, kind
        self.seeds = {s: h(key, b"sign", circle) for s, key in self.secrets.items()}
        self.agreement = {s: h(key, b"agree", circle) for s, key in self.secrets.items()}
        self.sign = {s: sealing.ed25519(seed, b"")[0] for s, seed in self.seeds.items()}
        self.agree = {s: sealing.x25519(key, sealing.BASE) for s, key in self.agreement.items()}
        keys = self.sign["f"], self.sign["u"], self.agree["f"], self.agree["u"]
        self.id = digest(b"device", circle, *keys)[:16]
        fields = u8(kind) + b"".join(keys)
        self.member = fields + signature(self.seeds["u"], b"member", circle + fields)

    def vector(self, name, **more):
        write(f"identity-{name}", "identity", secret_f=self.secrets["f"],
              secret_u=self.secrets["u"], **more, circle=self.circle, kind=self.kind,
              sign_f=self.sign["f"], sign_u=self.sign["u"], agree_f=self.agree["f"],
              agree_u=self.agree["u"], member=self.member, id=self.id)


# Section 3.4.
def wraps(epoch, keys, members, circle, parent, ephemeral, used, commitments=None):
    public = sealing.x25519(ephemeral, sealing.BASE)
    boxes = b""
    for member in sorted(members, key=lambda one: one.id):
        boxes += member.id
        for scope in "fu":
            shared = sealing.x25519(ephemeral, member.agree[scope])
            key = h(shared, b"box", SCOPES[scope], circle, parent, member.id, public,
                    member.agree[scope])
            boxes += sealed(key, b"box", b"", keys[scope], used)
    proof = commitments or commitment(keys["f"]) + commitment(keys["u"])
    return u32(epoch) + proof + public + u8(len(members)) + boxes


def former(old, new, circle, epoch, used):
    return b"".join(sealed(new[s], b"former", circle + u32(epoch), old[s], used) for s in "fu")


def entry(circle, number, parent, signer, operation, body, body_size=None):
    size = len(body) if body_size is None else body_size
    data = (b"VALETRST" + u16(1) + circle + u32(number) + parent + u64(NOW) + signer.id
            + u8(operation) + u32(size) + body)
    name = digest(b"roster", data)
    return data + signature(signer.seeds["u"], b"roster", name), name


def keys(epoch):
    return {"f": count(epoch, 32), "u": count(100 + epoch, 32)}


FOUNDER = Device(count(10, 32), count(50, 32), ZERO)


class Roster:
    """Writes the vectors of a roster, one entry after the other."""

    def __init__(self):
        self.circle, self.number, self.parent, self.members = ZERO, 0, NOTHING, []

    def append(self, name, signer, operation, body, used, epoch, members, **more):
        self.number += 1
        data, self.parent = entry(self.circle, self.number, self.parent, signer, operation, body)
        if operation == 1:
            self.circle = self.parent[:16]
        self.members = members
        write(f"roster-{self.number}-{name}", "roster", bytes=data, hash=self.parent,
              member=[one.id for one in sorted(members, key=lambda one: one.id)], epoch=epoch,
              file=f"roster/{self.number:016x}-{name_hash(data)}", random=used, **more)

    def add(self, name, device, epoch, ephemeral):
        used = []
        body = device.member + wraps(epoch, keys(epoch), [device], self.circle, self.parent,
                                     ephemeral, used)
        self.append(name, FOUNDER, 2, body, used, epoch, self.members + [device],
                    ephemeral=ephemeral)

    def renew(self, name, signer, removed, epoch, ephemeral):
        """Removes a device, or only makes new keys."""
        used, left = [], [one for one in self.members if one is not removed]
        body = wraps(epoch, keys(epoch), left, self.circle, self.parent, ephemeral, used)
        body += former(keys(epoch - 1), keys(epoch), self.circle, epoch, used)
        if removed:
            body = u8(1) + removed.id + body
        self.append(name, signer, 3 if removed else 5, body, used, epoch, left,
                    ephemeral=ephemeral)


ROSTER = Roster()
DEVICES = {}


def roster_vectors():
    used, salt, ephemeral = [], count(200, 32), count(61, 32)
    body = salt + FOUNDER.member + wraps(1, keys(1), [FOUNDER], ZERO, NOTHING, ephemeral, used)
    ROSTER.append("create", FOUNDER, 1, body, used, 1, [FOUNDER], ephemeral=ephemeral,
                  key_f=keys(1)["f"], key_u=keys(1)["u"], key_id_f=key_id(keys(1)["f"]),
                  commitment_f=commitment(keys(1)["f"]), salt=salt)
    circle, seed = ROSTER.circle, count(0, 20)
    DEVICES.update({letter: Device(count(n, 32), count(n + 40, 32), circle)
                    for letter, n in (("b", 20), ("c", 30), ("d", 40))})
    assert FOUNDER.id < DEVICES["b"].id < count(250, 16)
    paper = Device(digest(b"recovery-f", seed), digest(b"recovery-u", seed), circle, kind=2)
    write("circle", "circle", circle=circle, file=b"VALETCIR" + u16(1) + circle)
    FOUNDER.vector("founder")
    DEVICES["b"].vector("b")
    DEVICES["c"].vector("c")
    paper.vector("paper-key", seed=seed)
    ROSTER.add("add", DEVICES["b"], 1, count(62, 32))
    ROSTER.add("add", DEVICES["c"], 1, count(63, 32))
    ROSTER.add("add-a-recovery-member", paper, 1, count(64, 32))
    ROSTER.renew("remove", DEVICES["b"], DEVICES["c"], 2, count(70, 32))
    ROSTER.add("add", DEVICES["d"], 2, count(71, 32))
    last = [scope + DEVICES["d"].id[:8] + count(n, 8) + u64(number) + count(first, 32)
            for scope, n, number, first in ((b"f", 4, 3, 8), (b"u", 5, 1, 7))]
    left = [one for one in ROSTER.members if one is not DEVICES["d"]]
    ROSTER.append("leave", DEVICES["d"], 4, u8(2) + b"".join(last), [], 2, left, last=last)
    ROSTER.renew("rotate", FOUNDER, None, 3, count(72, 32))


# Section 3.3.
def attribute(tag, kind, value):
    return u8(tag) + u8(kind) + lp(value)


def record(time, salt, content, size=None):
    return u64(time) + salt + u32(len(content) if size is None else size) + content


def tag(one):
    return digest(b"record", one)[:8]


def attributes(account=b"me", group=b"com.example.app", dates=(0.0, 0.0)):
    data = attribute(1, 1, account) + attribute(2, 1, b"mail") + attribute(10, 1, group)
    for number, date in zip((27, 28), dates):
        data += attribute(number, 4, struct.pack(">d", date))
    return data


def contents(log, other):
    internet = (attribute(1, 1, b"me") + attribute(6, 3, u64(443)) + attribute(9, 1, b"host")
                + attribute(10, 1, b"g"))
    return {
        "generic": ("f", b"\1\2\1" + lp(attributes(dates=(1.5, 2.5))) + lp(b"secret")),
        "class-1": ("u", b"\1\1\1" + lp(attributes()) + lp(b"s")),
        "without-a-value": ("f", b"\1\3\0" + lp(attributes(b"none"))),
        "internet": ("f", b"\2\2\1" + lp(internet) + lp(bytes(40))),
        "moved-to-class-1": ("f", b"\1\1\2" + lp(attributes(dates=())) + other + u64(9)),
        "moved-to-class-2": ("u", b"\1\2\2" + lp(attributes(dates=())) + log + u64(2)),
    }


RECORDS = {}


def record_vectors():
    log, other = log_id(), FOUNDER.id[:8] + count(6, 8)
    for number, (name, (scope, content)) in enumerate(contents(log, other).items()):
        time, salt = NOW << 16, count(number, 16)
        RECORDS[name] = record(time, salt, content)
        write(f"record-{name}", "record", scope=scope, time=time, salt=salt, content=content,
              record=RECORDS[name], tag=tag(RECORDS[name]))


# Sections 3.1 and 3.2.
def log_id():
    return DEVICES["b"].id[:8] + count(1, 8)


def seal_message(kind, scope, number, previous, plaintext, used=None, roster=None, **wrong):
    """A message of `b`; `wrong` has fields of the header to put in place of the right ones."""
    author, key = DEVICES["b"], keys(3)[scope]
    plaintext = padded(plaintext, 512 if len(plaintext) < 8192 else 4096)
    fields = dict(magic=b"VALETBA" + (b"T" if kind == b"batch" else b"S"), version=1,
                  circle=ROSTER.circle, log=log_id(), number=number) | wrong
    head = (fields["magic"] + u16(fields["version"]) + fields["circle"] + SCOPES[scope]
            + author.id + fields["log"] + u64(fields["number"]) + previous
            + (roster or ROSTER.parent) + key_id(key) + u32(len(plaintext) + 40))
    data = head + sealed(key, kind, head, plaintext, [] if used is None else used)
    name = digest(b"message", data)
    return data + signature(author.seeds[scope], b"message", name), name, len(plaintext)


def table(*logs):
    return u16(len(logs)) + b"".join(log + u64(n) + name for log, n, name in sorted(logs))


def listed(*entries):
    return u16(len(entries)) + b"".join(entries)


def dot(index, number, name):
    return u16(index) + u64(number) + name


def batch(logs, covers=(), records=(), now=NOW, reads=1):
    return u64(now) + u16(reads) + logs + listed(*covers) + listed(*sorted(records))


def message_vector(name, kind, scope, number, previous, plaintext, **more):
    used = []
    data, name_, size = seal_message(kind, scope, number, previous, plaintext, used)
    path = f"{DEVICES['b'].id.hex()}/{scope}/{log_id().hex()}/{number:016x}-{name_hash(data)}"
    write(f"message-{name}", "message", scope=scope, device=DEVICES["b"].id, log=log_id(),
          number=number, previous=previous, key=keys(3)[scope], plaintext=plaintext, padded=size,
          random=used, bytes=data, hash=name_, file=path, **more)
    return name_


def seal_part(scope, number, index, plaintext, used=None):
    key = keys(3)[scope]
    data = ROSTER.circle + SCOPES[scope] + log_id() + u64(number) + u32(index) + key_id(key)
    return sealed(key, b"part", data, padded(plaintext, 4096), [] if used is None else used)


def part(*entries, number=None):
    return u32(len(entries) if number is None else number) + b"".join(entries)


def lives(index, number, one):
    return dot(index, number, tag(one)) + b"\1" + one


HASHES = {}


def message_vectors():
    log, other, r = log_id(), FOUNDER.id[:8] + count(2, 8), RECORDS
    HASHES[1] = message_vector("first-batch", b"batch", "f", 1, NOTHING, batch(
        table((log, 0, NOTHING)), records=[r["generic"], r["without-a-value"], r["internet"]]))
    HASHES[2] = message_vector("batch-with-covers", b"batch", "f", 2, HASHES[1], batch(
        table((other, 7, count(9, 32)), (log, 1, HASHES[1])),
        [dot(0, 2, count(4, 8)), dot(0, 7, count(3, 8)), dot(1, 1, tag(r["generic"]))],
        [r["moved-to-class-1"]], now=NOW + 1))
    first = message_vector("first-batch-of-scope-u", b"batch", "u", 1, NOTHING, batch(
        table((log, 0, NOTHING)), records=[r["class-1"], r["moved-to-class-2"]]))
    long = [record(NOW << 16, count(n, 16), b"\1\2\1" + lp(
        attribute(1, 1, str(n).encode()) + attribute(2, 1, b"long")
        + attribute(10, 1, b"com.example.app") + attribute(27, 4, bytes(8))
        + attribute(28, 4, bytes(8))) + lp(count(n, 900))) for n in range(9)]
    message_vector("padded-to-4-096", b"batch", "f", 3, HASHES[2], batch(
        table((log, 2, HASHES[2])), records=long))
    old = DEVICES["b"].id[:8] + count(9, 8)
    message_vector("covers-of-its-own-logs-above-the-table", b"batch", "u", 2, first, batch(
        table((log, 1, first), (old, 0, NOTHING)), [dot(1, 4, count(1, 8))], now=NOW))
    base_vectors()


def base(logs, own, dots, parts, reads=1, part_count=None):
    return (u64(NOW) + u16(reads) + logs + listed(*own) + u32(dots)
            + u16(len(parts) if part_count is None else part_count) + b"".join(parts))


def own(number, name):
    return u64(number) + name[:8]


def base_table():
    return table((FOUNDER.id[:8] + count(2, 8), 7, count(9, 32)), (log_id(), 2, HASHES[2]),
                 (count(250, 16), 0, NOTHING))


def base_parts():
    r, old, unread = RECORDS, FOUNDER.id[:8] + count(2, 8), count(250, 16)
    live = sorted((tag(r[name]), r[name]) for name in ("internet", "without-a-value"))
    plain = [part(dot(0, 8, count(6, 8)) + b"\0")]
    plain += [part(lives(1, 1, one)) for _, one in live]
    plain += [part(lives(1, 2, r["moved-to-class-1"]), dot(2, 3, count(5, 8)) + b"\0")]
    text = lambda log, n, name, one: f"{log.hex()} {n} {name.hex()} {one}"
    dots = [text(old, 8, count(6, 8), "cloud")]
    dots += [text(log_id(), 1, name, one.hex()) for name, one in live]
    dots += [text(log_id(), 2, tag(r["moved-to-class-1"]), r["moved-to-class-1"].hex()),
             text(unread, 3, count(5, 8), "cloud")]
    return plain, dots


BASE = {}


def base_vectors():
    plain, dots = base_parts()
    used = []
    parts = [seal_part("f", 5, index, one, used) for index, one in enumerate(plain)]
    names = [digest(b"part", one) for one in parts]
    BASE.update(parts=parts, names=names, plaintext=base(
        base_table(), [own(1, HASHES[1]), own(2, HASHES[2])], 5, names))
    message_vector(
        "base-in-parts-one-number-missing-before-it", b"base", "f", 5, HASHES[2],
        BASE["plaintext"], part=parts, part_hash=names, part_random=used,
        part_file=[f"{5:016x}.{index:016x}-{name_hash(one)}" for index, one in enumerate(parts)],
        dot=dots)
    message_vector("base-of-nothing", b"base", "u", 1, NOTHING,
                   base(table((log_id(), 0, NOTHING)), [], 0, []))


# Section 6.
def invitation_vectors():
    characters = b"0123456789ABCDEFGHJKMNPQRS"
    text = checked_text(b"J1" + characters, b"valet-invitation")
    key, r = digest(b"invitation", characters), count(77, 32)
    mailbox = h(key, b"mailbox")[:16]
    joiner = Device(count(41, 32), count(81, 32), ROSTER.circle)
    plain = [ROSTER.circle + u32(ROSTER.number) + ROSTER.parent + FOUNDER.id + h(r, b"commit"),
             joiner.member + lp(b"new device"), r, b"\1"]
    bits = h(key, b"words", digest(b"transcript", *plain[:3]))
    words = [int.from_bytes(bits, "big") >> 256 - 11 * n & 2047 for n in range(1, 5)]
    used, mails = [], []
    for step, one in enumerate(plain, 1):
        mails.append(mail(key, mailbox, step, one, used))
    write("invitation", "invitation", characters=characters, text=text, key=key,
          mailbox=mailbox, word=[word_list()[n] for n in words], plaintext=plain, random=used,
          mail=mails, file=[f"join/{mailbox.hex()}/{step:016x}-{name_hash(one)}"
                            for step, one in enumerate(mails, 1)])
    return key, mailbox, plain, mails


def mail(key, mailbox, step, plaintext, used=None, data=None):
    head = b"VALETINV" + u16(1) + u8(step)
    return head + sealed(key, b"mail", data or mailbox + u8(step), padded(plaintext, 256),
                         [] if used is None else used)


def word_list():
    """The words as the program has them."""
    root = pathlib.Path(__file__).parent.parent.parent.parent
    source = (root / "Sources/Sync/Circle/WordList.swift").read_text()
    return source.split('"""')[1].split()


def checked_text(characters, name):
    """Bech32m of BIP 350 in Crockford's alphabet, in groups of four."""
    alphabet = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    values = [alphabet.index(one) for one in characters]
    state = 1
    expanded = [one >> 5 for one in name] + [0] + [one & 31 for one in name]
    for value in expanded + values + [0] * 6:
        top, state = state >> 25, (state & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate(
                (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
            state ^= generator if top >> bit & 1 else 0
    state ^= 0x2BC830A3
    text = characters + bytes(alphabet[state >> 5 * (5 - n) & 31] for n in range(6))
    return "-".join(text[n:n + 4].decode() for n in range(0, len(text), 4))


def good_vectors():
    used, key = [], count(1, 32)
    data = sealed(key, b"batch", b"associated", b"plaintext", used)
    write("seal", "seal", key=key, context="batch", data=b"associated", plaintext=b"plaintext",
          random=used, derived_key=h(key, b"batch"), sealed=data)
    write("hash", "hash", context="device", part=[b"a", b""], hash=digest(b"device", b"a", b""))
    roster_vectors()
    record_vectors()
    message_vectors()
    return invitation_vectors()


# What is refused. Each is one change away from something that is taken.
def bad_messages():
    log, other, r = log_id(), FOUNDER.id[:8] + count(2, 8), RECORDS
    logs, generic = table((log, 0, NOTHING)), RECORDS["generic"]
    plain = batch(logs, records=[generic])
    good, name, _ = seal_message(b"batch", "f", 1, NOTHING, plain)
    length = good.index(u32(512 + 40), 140)
    sealed_byte = length + 4 + 100

    def refuse(name, expect, data):
        write(f"bad-message-{name}", "bad-message", expect, bytes=data)

    def signed(data):
        body = data[:-64]
        return body + signature(DEVICES["b"].seeds["f"], b"message", digest(b"message", body))

    def message(**wrong):
        return seal_message(b"batch", "f", 1, NOTHING, plain, **wrong)[0]

    refuse("empty", "malformed", b"")
    refuse("cut", "malformed", good[:-1])
    refuse("longer", "malformed", good + b"\0")
    refuse("magic", "malformed", b"W" + good[1:])
    refuse("scope-g", "malformed", good[:26] + b"g" + good[27:])
    refuse("length-one-less", "malformed", good[:length] + u32(551) + good[length + 4:])
    refuse("length-greatest", "malformed", good[:length] + u32(2**32 - 1) + good[length + 4:])
    refuse("version-0-signed", "malformed", message(version=0))
    refuse("version-2-signed", "unsupported", message(version=2))
    refuse("signature", "tampered", flip(good, len(good) - 1))
    refuse("sealed-byte", "tampered", flip(good, sealed_byte))
    refuse("sealed-byte-signed-again", "invalid", signed(flip(good, sealed_byte)))
    refuse("circle-signed-again", "invalid", signed(flip(good, 10)))
    refuse("roster-signed-again", "invalid", signed(flip(good, length - 40)))
    refuse("number-0", "invalid", seal_message(b"batch", "f", 0, NOTHING, plain)[0])
    refuse("log-of-another-device", "invalid", message(log=other))

    def refuse_batch(name, plaintext, number=1, previous=NOTHING):
        data = seal_message(b"batch", "f", number, previous, plaintext)[0]
        write(f"bad-batch-{name}", "bad-message", "invalid", bytes=data)

    refuse_batch("own-log-missing", batch(table((other, 0, NOTHING))))
    refuse_batch("own-log-with-another-hash", batch(table((log, 1, HASHES[2]))), 2, HASHES[1])
    refuse_batch("own-log-not-below-the-number", batch(table((log, 2, HASHES[1]))), 2, HASHES[1])
    refuse_batch("number-0-with-a-hash", batch(table((log, 0, NOTHING), (other, 0, HASHES[1]))))
    refuse_batch("logs-in-other-order", u64(NOW) + u16(1) + u16(2) + log + u64(0) + NOTHING
                 + other + u64(0) + NOTHING + u16(0) + u16(0))
    refuse_batch("cover-above-the-table", batch(
        table((log, 0, NOTHING), (other, 7, HASHES[1])), [dot(0, 8, count(1, 8))]))
    refuse_batch("cover-of-number-0", batch(logs, [dot(0, 0, count(1, 8))]))
    refuse_batch("cover-of-no-log", batch(logs, [dot(1, 1, count(1, 8))]))
    refuse_batch("one-cover-twice", batch(logs, [dot(0, 1, count(1, 8))] * 2))
    refuse_batch("one-record-twice", batch(logs, records=[generic, generic]))
    refuse_batch("reads-0", batch(logs, reads=0))
    refuse_batch("a-byte-left-over", plain + b"\0")
    refuse_batch("cut", plain[:-1])
    refuse_batch("time-above-2-62", batch(logs, records=[record(2**62 + 1, bytes(16),
                                                                 generic[28:])]))
    refuse_batch("class-1-in-scope-f", batch(logs, records=[r["class-1"]]))
    refuse_batch("moved-to-class-2-in-scope-f", batch(logs, records=[r["moved-to-class-2"]]))
    moved = b"\1\1\2" + lp(attributes(dates=())) + other
    for name, content in (
            ("moved-names-number-0", moved + u64(0)), ("moved-without-its-message", moved),
            ("moved-with-a-label", b"\1\1\2" + lp(attributes(dates=()) + attribute(14, 1, b"a"))
             + other + u64(1))):
        refuse_batch(name, batch(logs, records=[record(NOW << 16, bytes(16), content)]))


def bad_bases():
    mine = [own(1, HASHES[1]), own(2, HASHES[2])]
    parts, names = BASE["parts"], BASE["names"]
    for name, plaintext in (
            ("own-not-ending-with-the-message-before", base(base_table(), mine[:1], 5, names)),
            ("own-that-falls", base(base_table(), mine[::-1], 5, names)),
            ("parts-without-dots", base(base_table(), mine, 0, names)),
            ("dots-without-parts", base(base_table(), mine, 5, [])),
            ("more-parts-than-there-are", base(base_table(), mine, 5, names, part_count=5))):
        data = seal_message(b"base", "f", 5, HASHES[2], plaintext)[0]
        write(f"bad-base-{name}", "bad-message", "invalid", bytes=data)
    write("bad-base-parts-swapped", "bad-parts", "tampered", bytes=b"".join(parts[::-1]))
    write("bad-base-a-part-less", "bad-parts", "invalid", bytes=b"".join(parts[:-1]))
    one = RECORDS["internet"]
    good = lives(1, 1, one)
    for name, dots, plaintext in (
            ("lives-2", 1, part(dot(1, 1, tag(one)) + b"\2")),
            ("tag-of-another-record", 1, part(dot(1, 1, count(1, 8)) + b"\1" + one)),
            ("number-0", 1, part(dot(1, 0, count(1, 8)) + b"\0")),
            ("index-not-in-the-table", 1, part(dot(3, 1, count(1, 8)) + b"\0")),
            ("one-dot-twice", 2, part(good, good)), ("no-dots", 1, part()),
            ("more-dots-than-it-says", 2, part(good, number=2)),
            ("fewer-dots-than-the-base-says", 2, part(good)),
            ("a-byte-left-over", 1, part(good) + b"\0")):
        sealed_part = seal_part("f", 5, 0, plaintext)
        head = base(base_table(), mine, dots, [digest(b"part", sealed_part)])
        data = seal_message(b"base", "f", 5, HASHES[2], head)[0]
        write(f"bad-part-{name}", "bad-part", "invalid", bytes=sealed_part, base=data)


def bad_entries():
    circle, parent, number = ROSTER.circle, ROSTER.parent, ROSTER.number + 1
    new, d, c = Device(count(42, 32), count(82, 32), circle), DEVICES["d"], DEVICES["c"]

    def refuse(name, expect, operation, body, signer=FOUNDER, number=number, change=None):
        data = entry(circle, number, parent, signer, operation, body)[0]
        write(f"bad-roster-{name}", "bad-entry", expect, bytes=change(data) if change else data)

    def wrapped(members, epoch=3, of=3, commitments=None):
        return wraps(epoch, keys(of), members, circle, parent, count(73, 32), [], commitments)

    add = new.member + wrapped([new])
    refuse("cut", "malformed", 2, add, change=lambda data: data[:-1])
    refuse("flipped-body", "tampered", 2, add, change=lambda data: flip(data, len(data) - 70))
    refuse("operation-6", "malformed", 6, b"")
    refuse("number", "malformed", 4, b"\0", signer=DEVICES["b"], number=20)
    refuse("signer-is-no-member", "tampered", 2, add, signer=new)
    refuse("proof-of-other-keys", "tampered", 2, flip(add, 1))
    refuse("an-id-returns", "invalid", 2, d.member + wrapped([d]))
    refuse("add-with-a-new-epoch", "invalid", 2, new.member + wrapped([new], 4, 4))
    refuse("add-with-other-keys", "invalid", 2, new.member + wrapped([new], 3, 4))
    refuse("add-with-a-box-for-another", "invalid", 2, new.member + wrapped([c]))
    b, everybody = DEVICES["b"], ROSTER.members
    left = [one for one in everybody if one is not b]
    old = former(keys(3), keys(4), circle, 4, [])
    remove = u8(1) + b.id + wrapped(left, 4, 4) + old
    refuse("remove-of-no-member", "invalid", 3, u8(1) + c.id + wrapped(everybody, 4, 4) + old)
    refuse("remove-of-nobody", "malformed", 3, b"\0" + wrapped(everybody, 4, 4) + old)
    refuse("remove-of-its-own-signer", "invalid", 3, remove, signer=b)
    refuse("remove-with-a-box-for-the-removed", "invalid", 3,
           u8(1) + b.id + wrapped(everybody, 4, 4) + old)
    refuse("rotate-without-everybody", "invalid", 5, wrapped(left, 4, 4) + old)
    refuse("rotate-with-the-same-epoch", "invalid", 5, wrapped(everybody) + old)
    log = FOUNDER.id[:8] + count(4, 8)
    refuse("leave-without-its-count", "malformed", 4, b"")
    for name, last in (
            ("leave-names-a-log-twice", [b"f" + log + u64(1) + NOTHING,
                                         b"f" + log + u64(2) + NOTHING]),
            ("leave-names-the-log-of-another", [b"f" + log_id() + u64(1) + NOTHING]),
            ("leave-names-number-0", [b"f" + log + u64(0) + NOTHING]),
            ("leave-in-a-scope-g", [b"g" + log + u64(1) + NOTHING])):
        refuse(name, "malformed", 4, u8(len(last)) + b"".join(last))
    fields = u8(1) + new.sign["f"] + new.sign["u"] + new.agree["f"] + bytes(32)
    write("bad-member-agree-u-zero", "member", "tampered", circle=circle,
          member=fields + signature(new.seeds["u"], b"member", circle + fields))


def bad_mails(key, mailbox, plain, mails):
    def refuse(name, expect, step, data):
        write(f"bad-mail-{name}", "bad-mail", expect, step=step, bytes=data)

    refuse("another-step", "malformed", 2, mails[0])
    refuse("of-another-mailbox", "tampered", 1,
           mail(key, mailbox, 1, plain[0], data=flip(mailbox, 0) + u8(1)))
    refuse("p1-cut", "malformed", 1, mail(key, mailbox, 1, plain[0][:-1]))
    refuse("p2-with-a-long-name", "malformed", 2,
           mail(key, mailbox, 2, plain[1][:193] + lp(b"n" * 65)))
    refuse("p4-of-2", "malformed", 4, mail(key, mailbox, 4, b"\2"))
    refuse("flipped", "tampered", 1, flip(mails[0], 60))


if __name__ == "__main__":
    for old_file in HERE.glob("*.txt"):
        old_file.unlink()
    invited = good_vectors()
    bad_messages()
    bad_bases()
    bad_entries()
    bad_mails(*invited)
