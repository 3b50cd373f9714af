# SPDX-License-Identifier: Apache-2.0
"""The Secret Service API, draft 0.2, as a client sees it: every method, property, signal and error
of the specification, and the standard interfaces of D-Bus. A scenario makes all its checks, and
then fails with the names of those that went wrong."""

import hashlib
import hmac
import os
import re
import subprocess
import time

from desktop import PASSCODE, SHARED, Desktop, asker
from support import EVERY_USER, Skip, expect, need, scenario, wait_for

try:
    from jeepney import DBusAddress, MatchRule, MessageType, new_method_call
    from jeepney.bus_messages import message_bus
    from jeepney.io.blocking import open_dbus_connection
except ImportError:
    open_dbus_connection = None

ROOT = "/org/freedesktop/secrets"
LOGIN, MEMORY = ROOT + "/collection/login", ROOT + "/collection/session"
ALIAS = ROOT + "/aliases/default"
SECRET, DBUS = "org.freedesktop.Secret.", "org.freedesktop.DBus."
PLAIN, ENCRYPTED = "plain", "dh-ietf1024-sha256-aes128-cbc-pkcs7"
GENERAL = {"xdg:schema": "org.freedesktop.Secret.Generic"}
# RFC 2409, section 6.2.
PRIME = int("ffffffffffffffffc90fdaa22168c234c4c6628b80dc1cd129024e088a67cc74020bbea63b139b22"
            "514a08798e3404ddef9519b3cd3a431b302b0a6df25f14374fe1356d6d51c245e485b576625e7ec6"
            "f44c42e9a637ed6b0bff5cb6f406b7edee386bfb5a899fa5ae9f24117c4b1fe649286651ece65381"
            "ffffffffffffffff", 16)


class Refused(Exception):
    """The service answered with an error; the argument is the last part of its name."""


class Client:
    """A connection to the bus, and one session in plain text."""

    def __init__(self, desktop):
        self.bus = open_dbus_connection(bus=desktop.env["DBUS_SESSION_BUS_ADDRESS"])
        self.signals = self.bus.filter(MatchRule(type="signal"), bufsize=10_000).queue
        rule = MatchRule(type="signal", sender="org.freedesktop.secrets")
        self.bus.send_and_get_reply(message_bus.AddMatch(rule), timeout=20)
        self.session = self.call(ROOT, "Service.OpenSession", "sv", PLAIN, ("s", ""))[1]

    def close(self):
        self.bus.close()

    def call(self, path, method, signature=None, *values, to="org.freedesktop.secrets"):
        """The results of a call; interfaces without a dot are those of the specification."""
        interface, _, member = method.rpartition(".")
        if "." not in interface and interface:
            standard = ("Properties", "Introspectable", "Peer")
            interface = (DBUS if interface in standard else SECRET) + interface
        address = DBusAddress(path, bus_name=to, interface=interface or None)
        reply = self.bus.send_and_get_reply(
            new_method_call(address, member, signature, values), timeout=30)
        if reply.header.message_type == MessageType.error:
            raise Refused(reply.header.fields[4].rpartition(".")[2])
        return reply.body

    def get(self, path, interface, name):
        """A property, as its type and value."""
        return self.call(path, "Properties.Get", "ss", SECRET + interface, name)[0]

    def set(self, path, interface, name, value):
        self.call(path, "Properties.Set", "ssv", SECRET + interface, name, value)

    def all(self, path, interface):
        return self.call(path, "Properties.GetAll", "s", SECRET + interface)[0]

    def secret(self, value, parameters=b"", session=None, content="text/plain"):
        return (session or self.session, parameters, value, content)

    def create(self, collection, attributes=None, value=b"value", label="a label", replace=False,
               **properties):
        """A new item's path. Further properties are given by their names."""
        chosen = {"Label": ("s", label), "Attributes": ("a{ss}", attributes or {}), **properties}
        item, prompt = self.call(
            collection, "Collection.CreateItem", "a{sv}(oayays)b",
            {SECRET + "Item." + name: given for name, given in chosen.items() if given},
            self.secret(value), replace)
        expect(prompt == "/", "a new item needs no question", prompt)
        return item

    def make(self, label, alias="", **properties):
        """A new collection's path."""
        chosen = {"Label": ("s", label), **properties}
        made, prompt = self.call(ROOT, "Service.CreateCollection", "a{sv}s", {
            SECRET + "Collection." + name: given for name, given in chosen.items()}, alias)
        expect(prompt == "/", "a new collection needs no question", prompt)
        return made

    def read(self, item, session=None):
        return self.call(item, "Item.GetSecret", "o", session or self.session)[0]

    def search(self, attributes):
        return self.call(ROOT, "Service.SearchItems", "a{ss}", attributes)

    def introspect(self, path):
        return self.call(path, "Introspectable.Introspect")[0]

    def children(self, path):
        return re.findall(r'<node name="([^"]+)"', self.introspect(path))

    def heard(self, member, path=None, body=None, seconds=5):
        """Whether a signal comes. It may have come before, since the last `forget`."""
        end = time.monotonic() + seconds
        while True:
            for signal in self.signals:
                fields = signal.header.fields
                if fields[3] == member and path in (None, fields[1]) and (
                        body is None or (body(signal.body) if callable(body)
                                         else signal.body == body)):
                    return True
            if time.monotonic() > end:
                return False
            self.listen(0.2)

    def listen(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                self.bus.recv_messages(timeout=max(0.01, end - time.monotonic()))
            except TimeoutError:
                return

    def forget(self):
        self.listen(0.4)
        self.signals.clear()


class Checks:
    """Counts checks, and keeps the names of those that went wrong."""

    def __init__(self):
        self.count, self.wrong = 0, []

    def __call__(self, name, isRight, *facts):
        self.count += 1
        if not isRight:
            self.wrong.append(" ".join([name, *map(repr, facts)]))

    def same(self, name, found, wanted):
        self(name, found == wanted, found)

    def fails(self, name, error, work, *words):
        """`work` is refused with an error of that name, or of one of several."""
        try:
            found = work(*words)
        except Refused as refusal:
            found = refusal.args[0]
        self(f"{name}: {error}", found in error.split("|") if isinstance(found, str) else False,
             found)

    def end(self, least):
        expect(not self.wrong, f"{len(self.wrong)} of {self.count} checks:", *(
            f"\n  {name}" for name in self.wrong))
        expect(self.count >= least, "only", self.count, "checks were made")


def begin(world, **env):
    """A service on a bus, two clients, and checks."""
    if not open_dbus_connection:
        raise Skip("needs python3-jeepney")
    desktop = Desktop(world, **env)
    desktop.serve()
    return desktop, Client(desktop), Checks()


def set_passcode(world):
    outcome = world.run("passcode", "set", "--passcode-fd", "0", input=PASSCODE, env=SHARED)
    expect(outcome.code == 0, outcome)


@scenario(users=EVERY_USER)
def service_object(world):
    """The Service object has all methods and properties of the specification."""
    _, client, check = begin(world)
    call = client.call
    # SearchItems.
    first = client.create(LOGIN, {"n": "1", "m": "x"})
    second = client.create(LOGIN, {"n": "1"})
    memory = client.create(MEMORY, {"n": "1"})
    for wanted, found in (
            ({"n": "1"}, {first, second, memory}), ({"m": "x"}, {first}), ({"m": "y"}, set()),
            ({"n": "1", "m": "x"}, {first}), ({"n": "1", "k": ""}, set()), ({"n": ""}, set()),
            ({"N": "1"}, set()), ({}, {first, second, memory})):
        unlocked, locked = client.search(wanted)
        check.same(f"SearchItems {wanted}: unlocked", set(unlocked), found)
        check.same(f"SearchItems {wanted}: locked", locked, [])
    # The general schema is that of items without one.
    named = client.create(LOGIN, {"g": "1", **GENERAL})
    bare = client.create(LOGIN, {"g": "1"})
    other = client.create(LOGIN, {"g": "1", "xdg:schema": "com.example.Other"})
    check.same("SearchItems with the general schema", set(client.search({"g": "1", **GENERAL})[0]),
               {named, bare})
    check.same("SearchItems without a schema", set(client.search({"g": "1"})[0]),
               {named, bare, other})
    check.same("SearchItems with another schema",
               client.search({"g": "1", "xdg:schema": "com.example.Other"})[0], [other])
    check.fails("SearchItems with other types", "InvalidArgs", call, ROOT, "Service.SearchItems",
                "a{sv}", {"n": ("s", "1")})
    check.fails("SearchItems without arguments", "InvalidArgs", call, ROOT, "Service.SearchItems")
    # Collections and CreateCollection.
    check.same("Collections", client.get(ROOT, "Service", "Collections"), ("ao", [LOGIN, MEMORY]))
    made = client.make("Mine & more", "mine")
    check("CreateCollection: path", made.startswith(ROOT + "/collection/"), made)
    check("Collections has the new one", made in client.get(ROOT, "Service", "Collections")[1])
    check.same("CreateCollection: label", client.get(made, "Collection", "Label"),
               ("s", "Mine & more"))
    check.same("CreateCollection: empty", client.get(made, "Collection", "Items"), ("ao", []))
    check.same("CreateCollection: unlocked", client.get(made, "Collection", "Locked"),
               ("b", False))
    check.same("CreateCollection with the alias of one", client.make("renamed", "mine"), made)
    twin = client.make("Mine & more")
    check("CreateCollection with the same label makes another", twin != made, twin)
    check.same("CreateCollection without properties", call(
        ROOT, "Service.CreateCollection", "a{sv}s", {}, "")[1], "/")
    for name, value in (("Label", ("u", 1)), ("Label", ("as", ["x"])), ("Nothing", ("s", "x")),
                        ("Locked", ("b", True)), ("Items", ("ao", []))):
        count = len(client.get(ROOT, "Service", "Collections")[1])
        check.fails(f"CreateCollection with {name} {value}", "InvalidArgs", lambda name=name, value=
                    value: client.make("x", **{name: value}))
        check.same(f"CreateCollection with {name} {value} makes none",
                   len(client.get(ROOT, "Service", "Collections")[1]), count)
    check.fails("CreateCollection with a short name of a property", "InvalidArgs", call, ROOT,
                "Service.CreateCollection", "a{sv}s", {"Label": ("s", "x")}, "")
    check.fails("CreateCollection with a property of items", "InvalidArgs", call, ROOT,
                "Service.CreateCollection", "a{sv}s", {SECRET + "Item.Label": ("s", "x")}, "")
    # Aliases.
    for alias, path in (("default", LOGIN), ("login", LOGIN), ("session", MEMORY), ("mine", made),
                        ("none", "/"), ("", "/")):
        check.same(f"ReadAlias {alias}", call(ROOT, "Service.ReadAlias", "s", alias), (path,))
    check.same("SetAlias", call(ROOT, "Service.SetAlias", "so", "default", made), ())
    check.same("SetAlias: ReadAlias", call(ROOT, "Service.ReadAlias", "s", "default"), (made,))
    check.same("the alias as an object", client.get(ALIAS, "Collection", "Label"), ("s", "renamed"))
    item = client.create(ALIAS, {"a": "1"})
    check("CreateItem in an alias", item.startswith(made + "/"), item)
    check.same("SearchItems in an alias", call(ALIAS, "Collection.SearchItems", "a{ss}",
                                               {"a": "1"}), ([item],))
    check.same("SetAlias to nothing", call(ROOT, "Service.SetAlias", "so", "default", "/"), ())
    check.same("SetAlias to nothing: the usual one", call(ROOT, "Service.ReadAlias", "s",
                                                          "default"), (LOGIN,))
    call(ROOT, "Service.SetAlias", "so", "mine", "/")
    check.same("SetAlias takes an alias away", call(ROOT, "Service.ReadAlias", "s", "mine"), ("/",))
    for path in (ROOT + "/collection/none", ROOT, item, client.session, "/other"):
        check.fails(f"SetAlias to {path}", "NoSuchObject|InvalidArgs", call, ROOT,
                    "Service.SetAlias", "so", "default", path)
    # GetSecrets.
    found = call(ROOT, "Service.GetSecrets", "aoo", [first, memory], client.session)[0]
    check.same("GetSecrets", {path: bytes(secret[2]) for path, secret in found.items()},
               {first: b"value", memory: b"value"})
    check.same("GetSecrets: session", found[first][0], client.session)
    check.same("GetSecrets: parameters", bytes(found[first][1]), b"")
    check.same("GetSecrets: content type", found[first][3], "text/plain")
    check.same("GetSecrets leaves out what is no item", call(
        ROOT, "Service.GetSecrets", "aoo", [LOGIN + "/none", LOGIN, ROOT, "/x"],
        client.session), ({},))
    check.same("GetSecrets of none", call(ROOT, "Service.GetSecrets", "aoo", [], client.session),
               ({},))
    for session in ("/", ROOT + "/session/99999", LOGIN):
        check.fails(f"GetSecrets through {session}", "NoSession", call, ROOT, "Service.GetSecrets",
                    "aoo", [first], session)
    # Unlock and Lock of what is open.
    for path in (LOGIN, MEMORY, made, first, memory, ALIAS):
        check.same(f"Unlock {path}", call(ROOT, "Service.Unlock", "ao", [path]), ([path], "/"))
    for path in (ROOT + "/collection/none", LOGIN + "/none", LOGIN + "/" + "0" * 32,
                 ROOT + "/aliases/none", ROOT, client.session, "/", "/other"):
        check.same(f"Unlock leaves out {path}", call(ROOT, "Service.Unlock", "ao", [path]),
                   ([], "/"))
        check.same(f"Lock leaves out {path}", call(ROOT, "Service.Lock", "ao", [path]), ([], "/"))
    check.same("Unlock of none", call(ROOT, "Service.Unlock", "ao", []), ([], "/"))
    check.same("Lock of none", call(ROOT, "Service.Lock", "ao", []), ([], "/"))
    check.same("Lock of what is never locked", call(ROOT, "Service.Lock", "ao", [MEMORY, memory]),
               ([], "/"))
    check.same("Unlock names each once asked", call(
        ROOT, "Service.Unlock", "ao", [LOGIN, ROOT + "/collection/none", first])[0],
        [LOGIN, first])
    check.fails("Unlock with another type", "InvalidArgs", call, ROOT, "Service.Unlock", "as",
                [LOGIN])
    check.end(90)


def crypt(key, vector, data, *words):
    return subprocess.run(
        ["openssl", "enc", "-aes-128-cbc", "-K", key.hex(), "-iv", vector.hex(), *words],
        input=data, check=True, capture_output=True).stdout


@scenario(users=EVERY_USER)
def session_object(world):
    """Sessions agree on a cipher, belong to their client, and end when it closes them."""
    need("openssl")
    desktop, client, check = begin(world)
    call = client.call
    item = client.create(LOGIN, {"n": "1"}, b"a value")
    output, session = call(ROOT, "Service.OpenSession", "sv", PLAIN, ("s", ""))
    check.same("OpenSession plain: output", output, ("s", ""))
    check("OpenSession: path", session.startswith(ROOT + "/session/"), session)
    check("OpenSession makes another session", session != client.session)
    check.same("GetSecret through it", client.read(item, session)[0], session)
    check.same("Close", call(session, "Session.Close"), ())
    check.fails("GetSecret through a closed one", "NoSession", client.read, item, session)
    check.fails("Close again", "NoSession", call, session, "Session.Close")
    check.fails("Close of none", "NoSession", call, ROOT + "/session/99999", "Session.Close")
    for name, value in (("rot13", ("s", "")), ("", ("s", "")), ("PLAIN", ("s", "")),
                        ("dh-ietf1024-aes128-cbc-pkcs7", ("ay", b"\x02"))):
        check.fails(f"OpenSession {name!r}", "NotSupported", call, ROOT, "Service.OpenSession",
                    "sv", name, value)
    for name, value in ((PLAIN, ("u", 1)), (PLAIN, ("ay", b"")), (ENCRYPTED, ("s", "x")),
                        (ENCRYPTED, ("ay", b"")), (ENCRYPTED, ("ay", b"\x01")),
                        (ENCRYPTED, ("ay", b"\x01" * 129))):
        check.fails(f"OpenSession {name} {value}", "InvalidArgs", call, ROOT,
                    "Service.OpenSession", "sv", name, value)
    check.fails("OpenSession without input", "InvalidArgs", call, ROOT, "Service.OpenSession", "s",
                PLAIN)
    # Encrypted.
    number = int.from_bytes(os.urandom(127), "big")
    public = pow(2, number, PRIME).to_bytes(128, "big")
    (kind, answer), session = call(ROOT, "Service.OpenSession", "sv", ENCRYPTED, ("ay", public))
    check("OpenSession encrypted: a key", kind == "ay" and 0 < len(answer) <= 128)
    shared = pow(int.from_bytes(bytes(answer), "big"), number, PRIME).to_bytes(128, "big")
    extracted = hmac.new(b"\0" * 32, shared, hashlib.sha256).digest()
    key = hmac.new(extracted, b"\x01", hashlib.sha256).digest()[:16]
    path, vector, sealed, content = client.read(item, session)
    check("encrypted: parameters", path == session and len(vector) == 16)
    check.same("encrypted: content type", content, "text/plain")
    check.same("encrypted: value", crypt(key, bytes(vector), bytes(sealed), "-d"), b"a value")
    check("encrypted: a new vector for each answer", bytes(client.read(item, session)[1]) !=
          bytes(vector))
    found = call(ROOT, "Service.GetSecrets", "aoo", [item], session)[0][item]
    check.same("encrypted GetSecrets", crypt(key, bytes(found[1]), bytes(found[2]), "-d"),
               b"a value")
    given = client.secret(crypt(key, b"v" * 16, b"another"), b"v" * 16, session)
    check.same("encrypted SetSecret", call(item, "Item.SetSecret", "(oayays)", given), ())
    check.same("encrypted SetSecret: value", bytes(client.read(item)[2]), b"another")
    for name, vector, sealed in (("no vector", b"", given[2]), ("a short one", b"v", given[2]),
                                 ("no block", b"v" * 16, b""), ("half a block", b"v" * 16, b"x")):
        check.fails(f"encrypted SetSecret with {name}", "InvalidArgs", call, item,
                    "Item.SetSecret", "(oayays)", client.secret(sealed, vector, session))
    check.fails("plain SetSecret with parameters", "InvalidArgs", call, item, "Item.SetSecret",
                "(oayays)", client.secret(b"x", b"v" * 16))
    check.same("a refused SetSecret changes nothing", bytes(client.read(item)[2]), b"another")
    # Of another client.
    stranger = Client(desktop)
    for name, work in (
            ("GetSecret", lambda: stranger.read(item, client.session)),
            ("GetSecrets", lambda: stranger.call(ROOT, "Service.GetSecrets", "aoo", [item],
                                                 client.session)),
            ("SetSecret", lambda: stranger.call(item, "Item.SetSecret", "(oayays)",
                                                stranger.secret(b"x", session=client.session))),
            ("CreateItem", lambda: stranger.call(
                LOGIN, "Collection.CreateItem", "a{sv}(oayays)b", {},
                stranger.secret(b"x", session=client.session), False)),
            ("Close", lambda: stranger.call(client.session, "Session.Close"))):
        check.fails(f"{name} through the session of another", "NoSession", work)
    stranger.close()
    check.same("the session is still there", bytes(client.read(item)[2]), b"another")
    client.close()
    check.end(39)


@scenario(users=EVERY_USER)
def collection_object(world):
    """The Collection object has all methods, properties and signals of the specification."""
    _, client, check = begin(world)
    call = client.call
    before = int(time.time()) - 1
    made = client.make("one")
    check("CollectionCreated", client.heard("CollectionCreated", ROOT, (made,)))
    check("PropertiesChanged of Collections", client.heard(
        "PropertiesChanged", ROOT, lambda body: made in body[1].get("Collections", ("", []))[1]))
    # Properties.
    for path, label in ((LOGIN, "Login"), (MEMORY, "Session"), (made, "one"), (ALIAS, "Login")):
        found = client.all(path, "Collection")
        check.same(f"GetAll {path}", {name: kind for name, (kind, _) in found.items()},
                   {"Items": "ao", "Label": "s", "Locked": "b", "Created": "t", "Modified": "t"})
        check.same(f"Label {path}", client.get(path, "Collection", "Label"), ("s", label))
        check.same(f"Locked {path}", client.get(path, "Collection", "Locked"), ("b", False))
        created = client.get(path, "Collection", "Created")[1]
        modified = client.get(path, "Collection", "Modified")[1]
        check(f"Created {path}", 0 < created <= time.time() + 1, created)
        check(f"Modified {path}", created <= modified <= time.time() + 1, created, modified)
    check("Created of a new one", client.get(made, "Collection", "Created")[1] >= before)
    client.forget()
    check.same("Set Label", client.set(made, "Collection", "Label", ("s", "zwei")), None)
    check.same("Set Label: Get", client.get(made, "Collection", "Label"), ("s", "zwei"))
    check("CollectionChanged", client.heard("CollectionChanged", ROOT, (made,)))
    check("PropertiesChanged of Label", client.heard(
        "PropertiesChanged", made, lambda body: body[1].get("Label") == ("s", "zwei")))
    check.same("Set Label of login", client.set(LOGIN, "Collection", "Label", ("s", "Mine")), None)
    check.same("Set Label of login: Get", client.get(LOGIN, "Collection", "Label"), ("s", "Mine"))
    for name, value in (("Label", ("u", 1)), ("Label", ("as", [])), ("Label", ("v", ("s", "x")))):
        check.fails(f"Set {name} {value}", "InvalidArgs", client.set, made, "Collection", name,
                    value)
    for name, value in (("Locked", ("b", True)), ("Items", ("ao", [])), ("Created", ("t", 1)),
                        ("Modified", ("t", 1))):
        check.fails(f"Set {name}", "PropertyReadOnly", client.set, made, "Collection", name, value)
    check.fails("Set of the collection in memory", "NotSupported", client.set, MEMORY, "Collection",
                "Label", ("s", "x"))
    check.same("Label after refused changes", client.get(made, "Collection", "Label"),
               ("s", "zwei"))
    # CreateItem.
    client.forget()
    item = client.create(made, {"n": "1"})
    check("CreateItem: path", item.startswith(made + "/"), item)
    check("ItemCreated", client.heard("ItemCreated", made, (item,)))
    check("PropertiesChanged of Items", client.heard(
        "PropertiesChanged", made, lambda body: body[1].get("Items") == ("ao", [item])))
    check.same("Items", client.get(made, "Collection", "Items"), ("ao", [item]))
    other = client.create(made, {"n": "1"})
    check("CreateItem without replacing makes another", other != item)
    call(other, "Item.Delete")
    client.forget()
    check.same("CreateItem replaces", client.create(made, {"n": "1"}, b"new", "l", True), item)
    check("ItemChanged", client.heard("ItemChanged", made, (item,)))
    check.same("CreateItem replaces: value", bytes(client.read(item)[2]), b"new")
    check.same("CreateItem replaces: label", client.get(item, "Item", "Label"), ("s", "l"))
    for attributes in ({"n": "2"}, {"n": "1", "m": "2"}, {}, {"n": "1", "xdg:schema": "x"}):
        check(f"CreateItem with {attributes} replaces none",
              client.create(made, attributes, replace=True) != item)
    check.same("CreateItem with the general schema replaces",
               client.create(made, {"n": "1", **GENERAL}, replace=True), item)
    bare = call(made, "Collection.CreateItem", "a{sv}(oayays)b", {}, client.secret(b""), False)[0]
    check.same("CreateItem without properties: label", client.get(bare, "Item", "Label"), ("s", ""))
    check.same("CreateItem without properties: attributes", client.get(bare, "Item", "Attributes"),
               ("a{ss}", {}))
    check.same("CreateItem without a value", bytes(client.read(bare)[2]), b"")
    typed = client.create(made, {"t": "1"}, Type=("s", "com.example.Type"))
    check.same("CreateItem with the type of older drafts", client.get(typed, "Item", "Attributes"),
               ("a{ss}", {"t": "1", "xdg:schema": "com.example.Type"}))
    count = len(client.get(made, "Collection", "Items")[1])
    for name, value in (
            ("Attributes", ("a{sv}", {"n": ("s", "1")})), ("Attributes", ("as", ["n"])),
            ("Attributes", ("s", "n")), ("Label", ("u", 1)), ("Label", ("as", [])),
            ("Label", ("v", ("s", "x"))), ("Type", ("u", 1)), ("Locked", ("b", True)),
            ("Created", ("t", 1)), ("Modified", ("t", 1)), ("Nothing", ("s", "x"))):
        check.fails(f"CreateItem with {name} {value}", "InvalidArgs", lambda name=name, value=value:
                    client.create(made, **{name: value}))
    for name in ("Label", SECRET + "Collection.Label", "com.example.Label"):
        check.fails(f"CreateItem with {name}", "InvalidArgs", call, made, "Collection.CreateItem",
                    "a{sv}(oayays)b", {name: ("s", "x")}, client.secret(b"x"), False)
    check.fails("CreateItem through no session", "NoSession", call, made, "Collection.CreateItem",
                "a{sv}(oayays)b", {}, client.secret(b"x", session="/"), False)
    for types, values in (("a{sv}(oayay)b", ({}, client.secret(b"x")[:3], False)),
                          ("a{sv}(oayays)", ({}, client.secret(b"x"))),
                          ("a{ss}(oayays)b", ({}, client.secret(b"x"), False)),
                          ("a{sv}(oayays)u", ({}, client.secret(b"x"), 0))):
        check.fails(f"CreateItem with {types}", "InvalidArgs", call, made, "Collection.CreateItem",
                    types, *values)
    check.same("refused calls store nothing", len(client.get(made, "Collection", "Items")[1]),
               count)
    check.fails("CreateItem in no collection", "NoSuchObject", client.create,
                ROOT + "/collection/none")
    # SearchItems.
    for wanted, found in (({"n": "2"}, 1), ({"n": "1"}, 3), ({"n": "9"}, 0), ({}, count)):
        check.same(f"SearchItems {wanted}", len(call(made, "Collection.SearchItems", "a{ss}",
                                                     wanted)[0]), found)
    client.create(LOGIN, {"n": "2"})
    check.same("SearchItems keeps to the collection", len(call(
        made, "Collection.SearchItems", "a{ss}", {"n": "2"})[0]), 1)
    check.fails("SearchItems in none", "NoSuchObject", call, ROOT + "/collection/none",
                "Collection.SearchItems", "a{ss}", {})
    check.fails("SearchItems with other types", "InvalidArgs", call, made, "Collection.SearchItems",
                "as", [])
    # Delete.
    client.forget()
    check.same("Delete", call(made, "Collection.Delete"), ("/",))
    check("CollectionDeleted", client.heard("CollectionDeleted", ROOT, (made,)))
    for name, work in (
            ("Delete again", lambda: call(made, "Collection.Delete")),
            ("Get", lambda: client.get(made, "Collection", "Label")),
            ("GetAll", lambda: client.all(made, "Collection")),
            ("Set", lambda: client.set(made, "Collection", "Label", ("s", "x"))),
            ("GetSecret of its item", lambda: client.read(item)),
            ("Get of its item", lambda: client.get(item, "Item", "Label")),
            ("an alias of none", lambda: client.get(ROOT + "/aliases/none", "Collection", "Label")),
            ("Delete by an alias of none", lambda: call(ROOT + "/aliases/none",
                                                        "Collection.Delete"))):
        check.fails(f"after Delete: {name}", "NoSuchObject", work)
    check("after Delete: Collections", made not in client.get(ROOT, "Service", "Collections")[1])
    check.fails("Delete of the collection in memory", "NotSupported", call, MEMORY,
                "Collection.Delete")
    check("the collection in memory stays", MEMORY in client.get(ROOT, "Service", "Collections")[1])
    client.close()
    check.end(97)


@scenario(users=EVERY_USER)
def item_object(world):
    """The Item object has all methods and properties of the specification."""
    _, client, check = begin(world)
    call = client.call
    for collection in (LOGIN, MEMORY):
        place = collection.rpartition("/")[2]
        attributes = {"n": "1", "é": "\n", "": "", "xdg:schema": "com.example.Schema"}
        before = int(time.time()) - 1
        item = client.create(collection, attributes, b"\0\xff", "läbel")
        found = client.all(item, "Item")
        check.same(f"{place}: GetAll", {name: kind for name, (kind, _) in found.items()}, {
            "Locked": "b", "Attributes": "a{ss}", "Label": "s", "Type": "s", "Created": "t",
            "Modified": "t"})
        for name, value in (("Locked", ("b", False)), ("Attributes", ("a{ss}", attributes)),
                            ("Label", ("s", "läbel")), ("Type", ("s", "com.example.Schema"))):
            check.same(f"{place}: {name}", client.get(item, "Item", name), value)
        created, modified = (client.get(item, "Item", name)[1] for name in ("Created", "Modified"))
        check(f"{place}: Created", before <= created <= time.time() + 1, created)
        check(f"{place}: Modified", created <= modified <= time.time() + 1, modified)
        session, parameters, value, content = client.read(item)
        check.same(f"{place}: GetSecret: session", session, client.session)
        check.same(f"{place}: GetSecret: parameters", bytes(parameters), b"")
        check.same(f"{place}: GetSecret: value", bytes(value), b"\0\xff")
        check.same(f"{place}: GetSecret: content type", content, "text/plain")
        client.forget()
        time.sleep(1.1)
        given = client.secret(b"other", content="application/x")
        check.same(f"{place}: SetSecret", call(item, "Item.SetSecret", "(oayays)", given), ())
        check(f"{place}: SetSecret: ItemChanged", client.heard("ItemChanged", collection, (item,)))
        found = client.read(item)
        check.same(f"{place}: SetSecret: value", (bytes(found[2]), found[3]),
                   (b"other", "application/x"))
        check(f"{place}: SetSecret: Modified", client.get(item, "Item", "Modified")[1] > modified)
        check.same(f"{place}: SetSecret: Created", client.get(item, "Item", "Created")[1], created)
        client.forget()
        check.same(f"{place}: Set Label", client.set(item, "Item", "Label", ("s", "new")), None)
        check.same(f"{place}: Set Label: Get", client.get(item, "Item", "Label"), ("s", "new"))
        check(f"{place}: Set Label: ItemChanged", client.heard("ItemChanged", collection, (item,)))
        changed = {"k": "v"}
        check.same(f"{place}: Set Attributes", client.set(item, "Item", "Attributes",
                                                          ("a{ss}", changed)), None)
        check.same(f"{place}: Set Attributes: Get", client.get(item, "Item", "Attributes"),
                   ("a{ss}", changed))
        check.same(f"{place}: Set Attributes: found", client.search(changed)[0], [item])
        check.same(f"{place}: Set Attributes: not found", client.search({"n": "1"})[0], [])
        check.same(f"{place}: Type without a schema", client.get(item, "Item", "Type"), ("s", ""))
        for name, value in (("Label", ("u", 1)), ("Label", ("a{ss}", {})), ("Attributes", ("s", "")),
                            ("Attributes", ("a{sv}", {})), ("Attributes", ("as", []))):
            check.fails(f"{place}: Set {name} {value}", "InvalidArgs", client.set, item, "Item",
                        name, value)
        for name, value in (("Locked", ("b", True)), ("Created", ("t", 1)), ("Modified", ("t", 1)),
                            ("Type", ("s", "x"))):
            check.fails(f"{place}: Set {name}", "PropertyReadOnly", client.set, item, "Item", name,
                        value)
        check.same(f"{place}: after refused changes", [
            client.get(item, "Item", name)[1] for name in ("Label", "Attributes")],
            ["new", changed])
        for session in ("/", ROOT, ROOT + "/session/99999", ROOT + "/session/x"):
            check.fails(f"{place}: GetSecret through {session}", "NoSession", client.read, item,
                        session)
            check.fails(f"{place}: SetSecret through {session}", "NoSession", call, item,
                        "Item.SetSecret", "(oayays)", client.secret(b"x", session=session))
        check.fails(f"{place}: GetSecret without a session", "InvalidArgs", call, item,
                    "Item.GetSecret")
        check.fails(f"{place}: SetSecret with other types", "InvalidArgs", call, item,
                    "Item.SetSecret", "(oayay)", client.secret(b"x")[:3])
        client.forget()
        check.same(f"{place}: Delete", call(item, "Item.Delete"), ("/",))
        check(f"{place}: ItemDeleted", client.heard("ItemDeleted", collection, (item,)))
        check.same(f"{place}: Delete: not found", client.search(changed), ([], []))
        for gone in (item, collection + "/none", collection + "/99999"):
            for name, work in (
                    ("GetSecret", lambda gone=gone: client.read(gone)),
                    ("SetSecret", lambda gone=gone: call(gone, "Item.SetSecret", "(oayays)",
                                                         client.secret(b"x"))),
                    ("Delete", lambda gone=gone: call(gone, "Item.Delete")),
                    ("Get", lambda gone=gone: client.get(gone, "Item", "Label")),
                    ("Set", lambda gone=gone: client.set(gone, "Item", "Label", ("s", "x")))):
                check.fails(f"{place}: {name} of none", "NoSuchObject", work)
    client.close()
    check.end(100)


@scenario(users=EVERY_USER)
def standard_interfaces(world):
    """Objects have the standard interfaces of D-Bus, and introspection names all objects."""
    desktop, client, check = begin(world)
    call = client.call
    item, memory = client.create(LOGIN, {"n": "1"}), client.create(MEMORY, {"n": "1"})
    call(ROOT, "Service.SetAlias", "so", "mine", LOGIN)
    # Every object is reached from the root, and has its interface.
    reached, todo = {}, ["/"]
    while todo:
        path = todo.pop()
        text = reached[path] = client.introspect(path)
        todo += [(path.rstrip("/") + "/" + name) for name in client.children(path)
                 if (path.rstrip("/") + "/" + name) not in reached]
    kinds = {ROOT: "Service", LOGIN: "Collection", MEMORY: "Collection", ALIAS: "Collection",
             ROOT + "/aliases/mine": "Collection", item: "Item", memory: "Item",
             client.session: "Session"}
    for path, kind in kinds.items():
        text = reached.get(path, "")
        check(f"introspection reaches {path}", path in reached, sorted(reached))
        for interface in (SECRET + kind, DBUS + "Properties", DBUS + "Introspectable",
                          DBUS + "Peer"):
            check(f"introspection of {path}: {interface}", f'"{interface}"' in text)
    check.same("no other objects are reached",
               {path for path in reached if SECRET in reached[path]} - {ROOT + "/aliases/login"},
               set(kinds))
    for path in ("collection", "aliases", "session"):
        check(f"the folder {path} can be introspected", "<node>" in client.introspect(
            f"{ROOT}/{path}"))
    check("the folder of collections names them", "login" in client.children(ROOT + "/collection"))
    stranger = Client(desktop)
    check("introspection names no sessions of others", client.session.rpartition("/")[2] not in
          stranger.children(ROOT + "/session"))
    stranger.close()
    # What introspection says of the specification's members.
    for path, members in (
            (ROOT, ("OpenSession", "CreateCollection", "SearchItems", "Unlock", "Lock",
                    "GetSecrets", "ReadAlias", "SetAlias", "Collections", "CollectionCreated",
                    "CollectionDeleted", "CollectionChanged")),
            (LOGIN, ("Delete", "SearchItems", "CreateItem", "Items", "Label", "Locked", "Created",
                     "Modified", "ItemCreated", "ItemDeleted", "ItemChanged")),
            (item, ("Delete", "GetSecret", "SetSecret", "Locked", "Attributes", "Label", "Created",
                    "Modified")),
            (client.session, ("Close",))):
        for member in members:
            check(f"introspection of {path}: {member}", f'name="{member}"' in reached.get(path, ""))
    # Properties.
    for path, kind in kinds.items():
        for interface in (SECRET + "Nothing", SECRET + "Prompt", "x"):
            check.fails(f"GetAll {interface} at {path}", "UnknownInterface|InvalidArgs", call, path,
                        "Properties.GetAll", "s", interface)
        check.fails(f"Get of no property at {path}", "UnknownProperty|InvalidArgs", client.get,
                    path, kind, "Nothing")
        check.fails(f"Set of no property at {path}", "UnknownProperty|InvalidArgs", client.set,
                    path, kind, "Nothing", ("s", ""))
        check.fails(f"no method at {path}", "UnknownMethod", call, path, kind + ".Nothing")
        check.fails(f"no interface at {path}", "UnknownInterface|UnknownMethod", call, path,
                    "org.example.Other.Close")
        check.same(f"Ping {path}", call(path, "Peer.Ping"), ())
    check.fails("Set of Collections", "PropertyReadOnly", client.set, ROOT, "Service",
                "Collections", ("ao", []))
    check("GetMachineId", len(call(ROOT, "Peer.GetMachineId")[0]) == 32)
    check.fails("a method without its interface", "InvalidArgs", call, ROOT, "ReadAlias", "u", 1)
    check.same("a method without an interface", call(ROOT, "ReadAlias", "s", "default"), (LOGIN,))
    for path in (ROOT + "/collection/none", LOGIN + "/none", ROOT + "/session/99999",
                 ROOT + "/prompt/99999", ROOT + "/other", "/other", ROOT + "/collection/login/a/b"):
        check.fails(f"Introspect {path}", "UnknownObject", client.introspect, path)
    client.close()
    check.end(110)


@scenario(users=EVERY_USER)
def locked_objects(world):
    """What is locked says so, keeps its secrets, and is unlocked by a prompt alone."""
    answer = os.path.join(world.folder, "answer")
    pinentry = asker(world, f"""GETPIN) while [ -e {answer}.wait ]; do sleep 0.1; done
        [ -s {answer} ] || {{ echo "$NO"; continue; }}
        printf 'D %s\\nOK\\n' "$(cat {answer})" ;;""")
    set_passcode(world)
    desktop, client, check = begin(world, VALET_PINENTRY=pinentry)
    call = client.call
    made = client.make("other")
    item, memory = client.create(made, {"n": "1"}, b"kept"), client.create(MEMORY, {"n": "1"})
    client.forget()
    check.same("Lock", call(ROOT, "Service.Lock", "ao", [made, MEMORY]), ([made], "/"))
    for path in (LOGIN, made):
        check(f"PropertiesChanged of Locked {path}", client.heard(
            "PropertiesChanged", path, lambda body: body[1].get("Locked") == ("b", True)))
        check.same(f"Locked {path}", client.get(path, "Collection", "Locked"), ("b", True))
    check.same("Locked of the collection in memory", client.get(MEMORY, "Collection", "Locked"),
               ("b", False))
    check.same("Locked of an item", client.get(item, "Item", "Locked"), ("b", True))
    check.same("Locked of an item in memory", client.get(memory, "Item", "Locked"), ("b", False))
    check("ItemChanged of a locked item", client.heard("ItemChanged", made, (item,)))
    check.same("Items of a locked collection", client.get(made, "Collection", "Items"),
               ("ao", [item]))
    check.same("Label of a locked collection", client.get(made, "Collection", "Label"),
               ("s", "other"))
    check.same("SearchItems", client.search({"n": "1"}), ([memory], [item]))
    check.same("SearchItems of a locked collection", call(
        made, "Collection.SearchItems", "a{ss}", {"n": "1"}), ([item],))
    check.same("SearchItems of what is not there", client.search({"n": "2"}), ([], []))
    check.same("ReadAlias", call(ROOT, "Service.ReadAlias", "s", "default"), (LOGIN,))
    check("Collections", made in client.get(ROOT, "Service", "Collections")[1])
    check.same("GetSecrets", list(call(ROOT, "Service.GetSecrets", "aoo", [item, memory],
                                       client.session)[0]), [memory])
    for name, work in (
            ("GetSecret", lambda: client.read(item)),
            ("SetSecret", lambda: call(item, "Item.SetSecret", "(oayays)", client.secret(b"x"))),
            ("Set Label", lambda: client.set(item, "Item", "Label", ("s", "x"))),
            ("Set Attributes", lambda: client.set(item, "Item", "Attributes", ("a{ss}", {}))),
            ("Delete of an item", lambda: call(item, "Item.Delete")),
            ("CreateItem", lambda: client.create(made, {"n": "2"})),
            ("CreateItem that replaces", lambda: client.create(made, {"n": "1"}, replace=True)),
            ("Delete of a collection", lambda: call(made, "Collection.Delete"))):
        check.fails(name, "IsLocked", work)
    check.same("a value in memory", bytes(client.read(memory)[2]), b"value")
    # Prompts.
    check.same("Unlock of what is open", call(ROOT, "Service.Unlock", "ao", [MEMORY, memory]),
               ([MEMORY, memory], "/"))
    open_, prompt = call(ROOT, "Service.Unlock", "ao", [MEMORY, made, item])
    check.same("Unlock of both: open", open_, [MEMORY])
    check("Unlock of both: prompt", prompt.startswith(ROOT + "/prompt/"), prompt)
    check("introspection of a prompt", f'"{SECRET}Prompt"' in client.introspect(prompt))
    for member in ("Prompt", "Dismiss", "Completed"):
        check(f"introspection of a prompt: {member}", f'name="{member}"' in
              client.introspect(prompt))
    check("introspection names the prompt", prompt[len(ROOT) + 1:] in client.children(ROOT))
    stranger = Client(desktop)
    for member, types, *words in (("Prompt", "s", ""), ("Dismiss", None)):
        check.fails(f"{member} of another's prompt", "NoSuchObject", stranger.call, prompt,
                    "Prompt." + member, types, *words)
    check.fails("Prompt with other types", "InvalidArgs", call, prompt, "Prompt.Prompt", "u", 1)
    # Dismissed by the client before it is asked, by the person, and by the client while it is asked.
    dismissed = (True, ("ao", []))
    check.same("Dismiss", call(prompt, "Prompt.Dismiss"), ())
    check("Dismiss: Completed", client.heard("Completed", prompt, dismissed))
    check.fails("Dismiss again", "NoSuchObject", call, prompt, "Prompt.Dismiss")
    prompt = call(ROOT, "Service.Unlock", "ao", [made])[1]
    check.same("Prompt", call(prompt, "Prompt.Prompt", "s", "window"), ())
    check("dismissed by the person: Completed", client.heard("Completed", prompt, dismissed, 20))
    check.same("still locked", client.get(made, "Collection", "Locked"), ("b", True))
    open(answer + ".wait", "w", encoding="utf-8").close()
    prompt = call(ROOT, "Service.Unlock", "ao", [made])[1]
    call(prompt, "Prompt.Prompt", "s", "")
    call(prompt, "Prompt.Dismiss")
    check("Dismiss while it is asked: Completed", client.heard("Completed", prompt, dismissed, 20))
    os.remove(answer + ".wait")
    check("nothing was unlocked", client.get(made, "Collection", "Locked") == ("b", True))
    # Answered.
    with open(answer, "wb") as file:
        file.write(PASSCODE.strip())
    client.forget()
    prompt = call(ROOT, "Service.Unlock", "ao", [item, LOGIN])[1]
    check.same("Prompt of both", call(prompt, "Prompt.Prompt", "s", ""), ())
    check("Completed", client.heard("Completed", prompt, lambda body: body[0] is False and
                                    set(body[1][1]) == {item, LOGIN}, 20))
    check("Completed goes to the one who asked", not stranger.heard("Completed", seconds=1))
    for path in (LOGIN, made):
        check(f"PropertiesChanged of Locked {path}", client.heard(
            "PropertiesChanged", path, lambda body: body[1].get("Locked") == ("b", False)))
    check("PropertiesChanged of the item", client.heard(
        "PropertiesChanged", item, lambda body: body[1].get("Locked") == ("b", False)))
    check.same("GetSecret", bytes(client.read(item)[2]), b"kept")
    check.same("Unlock of what is open now", call(ROOT, "Service.Unlock", "ao", [item, LOGIN]),
               ([item, LOGIN], "/"))
    check.fails("Prompt again", "NoSuchObject", call, prompt, "Prompt.Prompt", "s", "")
    check.fails("Prompt of none", "NoSuchObject", call, ROOT + "/prompt/99999", "Prompt.Prompt",
                "s", "")
    stranger.close()
    client.close()
    check.end(55)
