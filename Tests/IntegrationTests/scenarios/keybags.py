# SPDX-License-Identifier: Apache-2.0
"""Reads keybags with the knowledge of docs/FORMAT.md alone, as an attacker would."""

import ctypes
import ctypes.util
import importlib.util
import pathlib
import sqlite3
import struct

from support import Skip, expect

_PATH = pathlib.Path(__file__).parents[2] / "Vectors" / "sealing" / "generate.py"
_spec = importlib.util.spec_from_file_location("sealing", _PATH)
sealing = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sealing)
h, lp = sealing.h, sealing.lp

MAGIC = b"VALETBAG\0\1"
CODES = {1: b"ak", 2: b"ck", 3: b"dk", 4: b"aku", 5: b"cku", 6: b"dku", 7: b"akpu"}
SYNC_SCOPES = {0x0501: b"f", 0x0502: b"u"}
ROOT_BY_DEVICE, ROOT_BY_PASSCODE, ARGON2, INDEX = 0x0101, 0x0102, 0x0110, 0x0301


class Keybag:
    """A keybag at `start` in `data`, which may be incomplete."""

    def __init__(self, data, start=0):
        self.chain = data[start + 10:start + 26]
        self.epoch, self.protector, self.source = struct.unpack_from(">QBB", data, start + 26)
        self.device_key_id = data[start + 36:start + 52]
        count, = struct.unpack_from(">H", data, start + 52)
        self.records, place = {}, start + 54
        for _ in range(min(count, 64)):
            if place + 6 > len(data):
                break
            tag, size = struct.unpack_from(">HI", data, place)
            if size > 4096:
                break
            self.records[tag] = data[place + 6:place + 6 + size]
            place += 6 + size

    def keys(self, device_secret, passcode=None):
        """Returns the keys that these two open, by name."""
        kdev = h(device_secret, b"device-kek", self.chain)
        kpass = None
        if passcode is not None and ARGON2 in self.records:
            stretched = stretch(passcode, self.records[ARGON2])
            kpass = h(device_secret, b"passcode-kek", self.chain, stretched)
        found = {}
        if ROOT_BY_DEVICE in self.records:
            found["root"] = self.unwrap(ROOT_BY_DEVICE, kdev, b"root", b"")
        if kpass and ROOT_BY_PASSCODE in self.records:
            found["root"] = self.unwrap(ROOT_BY_PASSCODE, kpass, b"root", self.records[ARGON2])
        root = found.get("root")
        if root is None:
            return {}
        found["index"] = self.unwrap(INDEX, h(root, b"index-kek"), b"index", b"")
        for number, code in CODES.items():
            if number < 4:
                kek = h(root, b"class-kek", code)
            elif number < 7:
                kek = h(root, b"class-kek-device", code, kdev)
            elif kpass:
                kek = h(root, b"class-kek-passcode", code, kdev, kpass)
            else:
                continue
            if 0x0200 + number in self.records:
                found[code.decode()] = self.unwrap(0x0200 + number, kek, b"class", code)
        return {name: key for name, key in found.items() if key is not None}

    def sync_secrets(self, device_secret, root):
        """Returns the sync secrets by name; none if the keychain has none."""
        kdev = h(device_secret, b"device-kek", self.chain)
        return {f"sync {scope.decode()}":
                self.unwrap(tag, h(root, b"sync-kek", scope, kdev), b"sync", scope)
                for tag, scope in SYNC_SCOPES.items() if tag in self.records}

    def unwrap(self, tag, kek, kind, parameters):
        body = self.records[tag]
        if len(body) != 121 or body[17:49] != h(kek, b"commit"):
            return None
        nonce, sealed = body[49:73], body[73:105]
        data = lp(b"valet/1/wrap", kind, self.chain, struct.pack(">Q", self.epoch), body[1:17],
                  parameters)
        # With a stream cipher, sealing twice opens.
        key = sealing.seal(kek, nonce, sealed, data)[24:56]
        return key if sealing.seal(kek, nonce, key, data) == body[49:] else None


def stretch(passcode, record):
    name = ctypes.util.find_library("sodium")
    if name is None:
        raise Skip("needs libsodium")
    library, out = ctypes.CDLL(name), ctypes.create_string_buffer(32)
    memory, passes = struct.unpack_from(">II", record, 16)
    code = library.crypto_pwhash(
        out, ctypes.c_ulonglong(32), passcode, ctypes.c_ulonglong(len(passcode)), record[:16],
        ctypes.c_ulonglong(passes), ctypes.c_size_t(memory * 1024), 2)
    expect(code == 0, "Argon2id")
    return out.raw


def stored(path):
    """Returns the keybags of a database by epoch."""
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT epoch, bytes FROM keybag").fetchall()
    connection.close()
    return {epoch: Keybag(data) for epoch, data in rows}


def device_secret(path):
    data = open(path, "rb").read()
    expect(len(data) == 122 and data[:8] == b"VALETDEV", "a device key")
    return data[42:74]


def subkeys(keys):
    """Returns the subkeys that programs hold: those that seal attributes and values."""
    return {f"{name}/{kind}": h(key, kind.encode())
            for name, key in keys.items() if name not in ("root", "index")
            for kind in ("seal-attributes", "seal-value")}


def carve(data, chain):
    """Returns all keybags of a keychain that raw bytes contain."""
    place, found = data.find(MAGIC), []
    while place >= 0:
        if data[place + 10:place + 26] == chain:
            found.append(Keybag(data[place:place + 8192]))
        place = data.find(MAGIC, place + 1)
    return found
