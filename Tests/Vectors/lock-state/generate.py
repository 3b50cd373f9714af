#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the vectors of docs/FORMAT.md section 10: payloads of opened keys, good and bad.

Only the standard library is used, and nothing of the program.
"""
import hashlib
import pathlib
import struct

FOLDER = pathlib.Path(__file__).parent
OURS = "Tests/Vectors/lock-state/generate.py, from docs/FORMAT.md alone"

u8, u16, u64 = (lambda n: struct.pack(">B", n), lambda n: struct.pack(">H", n),
                lambda n: struct.pack(">Q", n))
KC = bytes(range(200, 216))


def named(*words):
    return hashlib.blake2b(" ".join(map(str, words)).encode(), digest_size=32).digest()


def part(number, epoch):
    return (u8(number) + named("id", number, epoch)[:16] + named("attributes", number, epoch)
            + named("value", number, epoch))


def keys(scope, epoch, classes=None, count=None, person=b"\0"):
    """The section of one epoch; person is the flag of the presence pair and what follows it."""
    classes = classes or {"u": [1, 4, 7], "f": [2, 3, 5, 6]}[scope]
    index = named("index", epoch) if scope == "f" else b""
    return (u64(epoch) + named("keybag", epoch) + index
            + u8(len(classes) if count is None else count)
            + b"".join(part(number, epoch) for number in classes)
            + (person if scope == "u" else b""))


def present(epoch):
    return b"\1" + named("person", epoch)


def body(scope, epochs, deadline=0, magic=b"VALETKEY", version=1, count=None, idle=0, end=None):
    """Without an end of its own, it is the deadline."""
    end = deadline if end is None else end
    return (magic + u16(version) + KC + scope.encode()
            + u8(len(epochs) if count is None else count) + b"".join(epochs) + u64(deadline)
            + u64(idle) + u64(end))


def summed(body):
    return body + hashlib.blake2b(body, digest_size=32).digest()


def write(name, expect, payload, **fields):
    lines = [f"source: {OURS}", f"expect: {expect}", "operation: lock-state", "",
             f"payload: {payload.hex()}", f"keychain: {KC.hex()}"]
    for field, value in fields.items():
        for one in value if isinstance(value, list) else [value]:
            lines.append(f"{field}: {one.hex() if isinstance(one, bytes) else one}")
    (FOLDER / f"{name}.txt").write_text("\n".join(lines) + "\n")


def success(name, scope, epochs, deadline=0, classes=None, idle=0, end=None, persons=()):
    """persons: the epochs with the secret half of a presence pair."""
    end = deadline if end is None else end
    classes = classes or {"u": [1, 4, 7], "f": [2, 3, 5, 6]}[scope]
    every = [(number, epoch) for epoch in epochs for number in classes]
    sections = [keys(scope, n, classes, person=present(n) if n in persons else b"\0")
                for n in epochs]
    write(
        name, "success", summed(body(scope, sections, deadline, idle=idle, end=end)),
        scope=scope, deadline=deadline, idle=idle, end=end, epoch=epochs,
        person=[named("person", n) for n in persons], digest=[named("keybag", n) for n in epochs],
        index=[named("index", n) for n in epochs] if scope == "f" else [],
        **{"class": [number for number, _ in every]},
        key_id=[named("id", *one)[:16] for one in every],
        attributes_subkey=[named("attributes", *one) for one in every],
        value_subkey=[named("value", *one) for one in every])


def main():
    for old in FOLDER.glob("*.txt"):
        old.unlink()
    success("unlocked", "u", [3], 86_400_000)
    success("unlocked-without-deadline", "u", [1])
    success("unlocked-by-recovery", "u", [2], 1, [1, 4])
    success("unlocked-two-epochs", "u", [7, 8], 2**64 - 1)
    success("unlocked-until-unused", "u", [3], 86_400_000, idle=900_000, end=0)
    success("unlocked-until-unused-or-the-end", "u", [3], 86_400_000, idle=900_000, end=2**63)
    success("unlocked-until-the-end-is-near", "u", [3], 800_000, idle=900_000, end=800_000)
    success("unlocked-with-person", "u", [3], persons=[3])
    success("unlocked-two-epochs-with-persons", "u", [7, 8], persons=[7, 8])
    success("unlocked-two-epochs-with-one-person", "u", [7, 8], persons=[8])
    success("first-unlock", "f", [3])
    success("first-unlock-two-epochs", "f", [2**63, 2**63 + 1])
    u1, f1 = keys("u", 1), keys("f", 1)
    good = summed(body("u", [u1], 5))
    bad = {
        "empty": b"", "magic": summed(body("u", [u1], magic=b"VALETKEZ")),
        "flipped-key": good[:200] + bytes([good[200] ^ 1]) + good[201:],
        "flipped-deadline": good[:-49] + bytes([good[-49] ^ 1]) + good[-48:],
        "flipped-checksum": good[:-1] + bytes([good[-1] ^ 128]), "cut": good[:-1],
        "longer": good + b"\0", "longer-inside": summed(body("u", [u1]) + b"\0"),
        "no-epoch": summed(body("u", [])), "three-epochs": summed(
            body("u", [keys("u", n, [1, 4]) for n in (1, 2, 3)])),
        "one-epoch-too-few": summed(body("u", [u1], count=2)),
        "epoch-twice": summed(body("u", [u1, u1])),
        "epochs-fall": summed(body("u", [keys("u", 2), u1])),
        "epoch-0": summed(body("u", [keys("u", 0)])),
        "scope": summed(body("x", [u1])), "scope-of-the-other": summed(body("f", [u1])),
        "class-missing": summed(body("u", [keys("u", 1, [1])])),
        "class-twice": summed(body("u", [keys("u", 1, [1, 1, 4])])),
        "classes-in-other-order": summed(body("u", [keys("u", 1, [4, 1])])),
        "class-of-the-other": summed(body("u", [keys("u", 1, [1, 4, 5])])),
        "class-too-many": summed(body("f", [keys("f", 1, [2, 3, 5, 6, 7])])),
        "class-count": summed(body("u", [keys("u", 1, [1, 4], count=3)])),
        "first-unlock-with-deadline": summed(body("f", [f1], 5)),
        "first-unlock-with-idle": summed(body("f", [f1], 5, idle=5, end=0)),
        "first-unlock-with-person": summed(body("f", [f1 + present(1)])),
        "person-flag-2": summed(body("u", [keys("u", 1, person=b"\2" + named("person", 1))])),
        "person-without-flag": summed(body("u", [keys("u", 1, person=b"\0" + present(1)[1:])])),
        "person-missing": summed(body("u", [keys("u", 1, person=b"\1")])),
        "person-short": summed(body("u", [keys("u", 1, person=present(1)[:-1])])),
        "no-flag-of-person": summed(body("u", [keys("u", 1, person=b"")])),
        "deadline-without-limit": summed(body("u", [u1], 5, end=0)),
        "end-without-deadline": summed(body("u", [u1], 0, end=5)),
        "deadline-after-end": summed(body("u", [u1], 6, end=5)),
        "deadline-before-end": summed(body("u", [u1], 5, end=6)),
        "idle-without-deadline": summed(body("u", [u1], 0, idle=5)),
        "idle-longer-than-deadline": summed(body("u", [u1], 4, idle=5, end=0)),
        "idle-longer-than-deadline-before-end": summed(body("u", [u1], 4, idle=5, end=9)),
        "idle-deadline-after-end": summed(body("u", [u1], 10, idle=5, end=9)),
    }
    for name, payload in bad.items():
        write(f"bad-{name}", "malformed", payload)
    write("bad-version-2", "unsupported", summed(body("u", [u1], version=2)))
    write("bad-version-0", "unsupported", summed(body("u", [u1], version=0)))


if __name__ == "__main__":
    main()
