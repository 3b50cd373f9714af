#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the vectors of docs/FORMAT.md section 10: payloads of opened keys, sharing files and pages
of locks, good and bad.

Only the standard library and libsodium are used, and nothing of the program.
"""
import ctypes
import hashlib
import pathlib
import struct

FOLDER = pathlib.Path(__file__).parent
OURS = "Tests/Vectors/lock-state/generate.py, from docs/FORMAT.md alone"

u8, u16, u32, u64 = (lambda n: struct.pack(">B", n), lambda n: struct.pack(">H", n),
                     lambda n: struct.pack(">I", n), lambda n: struct.pack(">Q", n))
KC = bytes(range(200, 216))
BOOT = bytes(range(50, 66))
USER = 1000
MARKS = {"f": bytes(range(1, 17)), "u": bytes(range(33, 49))}
SODIUM = ctypes.CDLL("libsodium.so.23")


def named(*words):
    return hashlib.blake2b(" ".join(map(str, words)).encode(), digest_size=32).digest()


def lp(part):
    return u32(len(part)) + part


def bound(key, context, scope):
    """B of section 10."""
    parts = [context.encode(), KC, scope.encode(), MARKS[scope], BOOT, u32(USER)]
    return hashlib.blake2b(b"".join(map(lp, parts)), key=key, digest_size=32).digest()


def sharing_key(scope):
    return named("sharing key", scope)


def sealed(body, scope, head=b"VALETKEY" + u16(2), bound_head=None):
    """The payload of scope in the kernel; bound_head is what the seal is bound to, if not head."""
    nonce = named("nonce", scope)[:24]
    text = ctypes.create_string_buffer(len(body) + 16)
    data = head if bound_head is None else bound_head
    SODIUM.crypto_aead_xchacha20poly1305_ietf_encrypt(
        text, None, body, ctypes.c_ulonglong(len(body)), data, ctypes.c_ulonglong(len(data)), None,
        nonce, bound(sharing_key(scope), "valet/1/sharing", scope))
    return head + nonce + text.raw


def part(number, epoch):
    return (u8(number) + named("id", number, epoch)[:16] + named("attributes", number, epoch)
            + named("value", number, epoch))


def keys(scope, epoch, classes=None, count=None, person=b"\0", sync=b"\0"):
    """The keys of an epoch; person is the flag of the presence pair and what follows it, and sync
    that of the sync secret."""
    classes = classes or {"u": [1, 4, 7], "f": [2, 3, 5, 6]}[scope]
    index = named("index", epoch) if scope == "f" else b""
    return (u64(epoch) + named("keybag", epoch) + index
            + u8(len(classes) if count is None else count)
            + b"".join(part(number, epoch) for number in classes)
            + (person if scope == "u" else b"") + sync)


def present(epoch, what="person"):
    return b"\1" + named(what, epoch)


def body(scope, keys, deadline=0, idle=0, end=None):
    """Without an end of its own, it is the deadline."""
    end = deadline if end is None else end
    return KC + scope.encode() + keys + u64(deadline) + u64(idle) + u64(end)


def write(name, expect, operation, **fields):
    lines = [f"source: {OURS}", f"expect: {expect}", f"operation: {operation}", ""]
    for field, value in fields.items():
        for one in value if isinstance(value, list) else [value]:
            lines.append(f"{field}: {one.hex() if isinstance(one, bytes) else one}")
    (FOLDER / f"{name}.txt").write_text("\n".join(lines) + "\n")


def payload(name, expect, scope, sealed, **fields):
    write(name, expect, "payload", scope=scope, payload=sealed, keychain=KC, boot=BOOT, user=USER,
          mark=MARKS[scope], sharing_key=sharing_key(scope), **fields)


def success(name, scope, epoch, deadline=0, classes=None, idle=0, end=None, has_person=False,
            has_sync=False):
    """has_person: whether there is the secret half of a presence pair; has_sync: a sync secret."""
    end = deadline if end is None else end
    classes = classes or {"u": [1, 4, 7], "f": [2, 3, 5, 6]}[scope]
    plain = body(scope, keys(
        scope, epoch, classes, person=present(epoch) if has_person else b"\0",
        sync=present(epoch, "sync " + scope) if has_sync else b"\0"), deadline, idle, end)
    payload(
        name, "success", scope, sealed(plain, scope), body=plain, nonce=named("nonce", scope)[:24],
        deadline=deadline, idle=idle, end=end, epoch=epoch,
        person=[named("person", epoch)] if has_person else [],
        sync=[named("sync " + scope, epoch)] if has_sync else [], digest=named("keybag", epoch),
        index=[named("index", epoch)] if scope == "f" else [],
        **{"class": classes},
        key_id=[named("id", number, epoch)[:16] for number in classes],
        attributes_subkey=[named("attributes", number, epoch) for number in classes],
        value_subkey=[named("value", number, epoch) for number in classes])


def main():
    for old in FOLDER.glob("*.txt"):
        old.unlink()
    success("unlocked", "u", 3, 86_400_000)
    success("unlocked-without-deadline", "u", 1)
    success("unlocked-by-recovery", "u", 2, 1, [1, 4])
    success("unlocked-until-the-last-millisecond", "u", 2**64 - 1, 2**64 - 1)
    success("unlocked-until-unused", "u", 3, 86_400_000, idle=900_000, end=0)
    success("unlocked-until-unused-or-the-end", "u", 3, 86_400_000, idle=900_000, end=2**63)
    success("unlocked-until-the-end-is-near", "u", 3, 800_000, idle=900_000, end=800_000)
    success("unlocked-with-person", "u", 3, has_person=True)
    success("unlocked-in-a-circle", "u", 3, has_sync=True)
    success("unlocked-in-a-circle-with-person", "u", 3, has_person=True, has_sync=True)
    success("first-unlock", "f", 3)
    success("first-unlock-of-a-late-epoch", "f", 2**63)
    success("first-unlock-in-a-circle", "f", 3, has_sync=True)
    u1, f1 = keys("u", 1), keys("f", 1)
    good = sealed(body("u", u1, 5), "u")
    changed = {
        "empty": b"", "magic": sealed(body("u", u1), "u", head=b"VALETKEZ" + u16(2)),
        "head-alone": good[:10], "too-short-for-a-seal": good[:49],
        "flipped-nonce": good[:10] + bytes([good[10] ^ 1]) + good[11:],
        "flipped-body": good[:200] + bytes([good[200] ^ 1]) + good[201:],
        "flipped-tag": good[:-1] + bytes([good[-1] ^ 128]), "cut": good[:-1],
        "longer": good + b"\0", "of-the-other-scope": sealed(body("f", f1), "f"),
        "bound-to-another-head": sealed(body("u", u1), "u", bound_head=b"VALETKEY" + u16(1)),
    }
    for name, bytes_of in changed.items():
        payload(f"changed-{name}", "tampered", "u", bytes_of)
    bad = {
        "longer-inside": body("u", u1) + b"\0",
        "no-epoch": body("u", b""), "two-epochs": body("u", u1 + keys("u", 2)),
        "epoch-0": body("u", keys("u", 0)),
        "scope": body("x", u1), "scope-of-the-other": body("f", u1),
        "class-missing": body("u", keys("u", 1, [1])),
        "class-twice": body("u", keys("u", 1, [1, 1, 4])),
        "classes-in-other-order": body("u", keys("u", 1, [4, 1])),
        "class-of-the-other": body("u", keys("u", 1, [1, 4, 5])),
        "class-too-many": body("f", keys("f", 1, [2, 3, 5, 6, 7])),
        "class-count": body("u", keys("u", 1, [1, 4], count=3)),
        "first-unlock-with-deadline": body("f", f1, 5),
        "first-unlock-with-idle": body("f", f1, 5, idle=5, end=0),
        "first-unlock-with-person": body("f", f1 + present(1)),
        "person-flag-2": body("u", keys("u", 1, person=b"\2" + named("person", 1))),
        "person-without-flag": body("u", keys("u", 1, person=b"\0" + present(1)[1:])),
        "person-missing": body("u", keys("u", 1, person=b"\1")),
        "person-short": body("u", keys("u", 1, person=present(1)[:-1])),
        "no-flag-of-person": body("u", keys("u", 1, person=b"")),
        "sync-flag-2": body("u", keys("u", 1, sync=b"\2" + named("sync u", 1))),
        "sync-without-flag": body("u", keys("u", 1, sync=b"\0" + named("sync u", 1))),
        "sync-missing": body("u", keys("u", 1, sync=b"\1")),
        "sync-short": body("u", keys("u", 1, sync=present(1, "sync u")[:-1])),
        "no-flag-of-sync": body("u", keys("u", 1, sync=b"")),
        "deadline-without-limit": body("u", u1, 5, end=0),
        "end-without-deadline": body("u", u1, 0, end=5),
        "deadline-after-end": body("u", u1, 6, end=5),
        "deadline-before-end": body("u", u1, 5, end=6),
        "idle-without-deadline": body("u", u1, 0, idle=5),
        "idle-longer-than-deadline": body("u", u1, 4, idle=5, end=0),
        "idle-longer-than-deadline-before-end": body("u", u1, 4, idle=5, end=9),
        "idle-deadline-after-end": body("u", u1, 10, idle=5, end=9),
    }
    for name, plain in bad.items():
        payload(f"bad-{name}", "malformed", "u", sealed(plain, "u"))
    of_first_unlock = {
        "sync-flag-2": keys("f", 1, sync=b"\2" + named("sync f", 1)),
        "no-flag-of-sync": keys("f", 1, sync=b""),
    }
    for name, section in of_first_unlock.items():
        payload(f"bad-first-unlock-{name}", "malformed", "f", sealed(body("f", section), "f"))
    for version in (0, 1, 3):
        payload(f"bad-version-{version}", "unsupported", "u",
                sealed(body("u", u1), "u", head=b"VALETKEY" + u16(version)))
    sharing_files()
    pages()


def entry(scope, serial):
    key = sharing_key(scope)
    return u32(serial) + key + bound(key, "valet/1/sharing-id", scope)[:16]


def sharing_files():
    head = b"VALETSHR" + u16(1) + KC + BOOT
    none = bytes(52)
    first, unlocked = entry("f", 1), entry("u", 2**31 - 1)

    def file(name, expect, contents, **fields):
        write(f"sharing-{name}", expect, "sharing-file", file=contents, keychain=KC, boot=BOOT,
              user=USER, mark_f=MARKS["f"], mark_u=MARKS["u"], **fields)

    file("both", "success", head + first + unlocked, serial_f=1, serial_u=2**31 - 1)
    file("locked", "success", head + first + none, serial_f=1)
    file("locked-all", "success", head + none + none)
    bad = {
        "empty": b"", "cut": head + first + unlocked[:-1], "longer": head + first + unlocked + b"\0",
        "magic": b"VALETSHS" + head[8:] + first + unlocked,
        "version": head[:8] + u16(2) + head[10:] + first + unlocked,
        "another-keychain": head[:10] + bytes(16) + BOOT + first + unlocked,
        "another-boot": head[:26] + bytes(16) + first + unlocked,
        "serial-0": head + u32(0) + first[4:] + unlocked,
        "negative-serial": head + u32(2**31) + first[4:] + unlocked,
    }
    for name, contents in bad.items():
        file(f"bad-{name}", "malformed", contents)
    # Of another form it is not, but no key opens with it.
    file("after-a-lock", "wrong secret", head + first[:-1] + bytes([first[-1] ^ 1]) + unlocked,
         serial_f=1, serial_u=2**31 - 1)


def pages():
    head = b"VALETPGE" + u16(1) + bytes(6)
    good = head + MARKS["f"] + MARKS["u"]

    def page(name, expect, contents, **fields):
        write(f"page-{name}", expect, "page", head=contents, **fields)

    page("new", "success", good, mark_f=MARKS["f"], mark_u=MARKS["u"])
    bad = {
        "magic": b"VALETPGF" + good[8:], "version": good[:8] + u16(2) + good[10:],
        "padding": good[:15] + b"\1" + good[16:], "no-mark-f": head + bytes(16) + MARKS["u"],
        "no-mark-u": head + MARKS["f"] + bytes(16), "zeros": bytes(48),
    }
    for name, contents in bad.items():
        page(f"bad-{name}", "malformed", contents)


if __name__ == "__main__":
    main()
