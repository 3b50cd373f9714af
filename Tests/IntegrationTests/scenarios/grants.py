# SPDX-License-Identifier: Apache-2.0
"""valet serve with a policy: what each program may do, and what is noted."""

import json
import os
import shutil
import subprocess
import time

from desktop import LOGIN, PASSCODE, SHARED, Desktop, asker, by_hand, need_bindings
from support import EVERY_USER, expect, need, need_root, scenario, wait_for

TOOL = "/usr/bin/secret-tool"
PYTHON = "/usr/bin/python3"


def write(desktop, *lines):
    """Writes the policy, and waits until it counts."""
    path = os.path.join(desktop.world.folder, ".config", "valet", "secret-service.policy")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in lines))
    os.chmod(path + ".new", 0o644)
    os.rename(path + ".new", path)
    settle(desktop)
    return path


def settle(desktop):
    """Waits until a change of the policy counts: a quarter of a second after a call has seen it."""
    if desktop.is_there():
        desktop.send(LOGIN, "org.freedesktop.DBus.Introspectable.Introspect")
        time.sleep(0.3)


TASKS = r"""
LOGIN = ROOT + "/collection/login"
def find(): return call(ROOT, "Secret.Service.SearchItems", "(a{ss})", {"service": "mail"})
def unlock(*paths): return call(ROOT, "Secret.Service.Unlock", "(ao)", list(paths))

def reads():
    (item,), locked = find()
    assert locked == [] and read(item) == "pass 1"

def sees_nothing():
    assert find() == ([], []), find()
    assert get(LOGIN, "Collection", "Locked") and get(LOGIN, "Collection", "Items") == []
    for item in (sys.argv[2], LOGIN + "/" + 32 * "0"):
        assert error(lambda: read(item)) == "IsLocked", (item, error(lambda: read(item)))
        assert error(lambda: get(item, "Item", "Label")) == "NoSuchObject"
        assert error(lambda: call(item, "Secret.Item.Delete")) == "IsLocked"
        assert error(lambda: call(item, "Secret.Item.SetSecret", "((oayays))",
                                  secret("x"))) == "IsLocked"
        assert error(lambda: call(item, "DBus.Properties.Set", "(ssv)",
                                  "org.freedesktop.Secret.Item", "Label",
                                  GLib.Variant("s", "x"))) == "IsLocked"
    assert error(lambda: create(LOGIN, "a", {"n": "1"}, "one")) == "IsLocked"
    assert error(lambda: call(LOGIN, "Secret.Collection.Delete")) == "IsLocked"
    assert error(lambda: call(LOGIN, "DBus.Properties.Set", "(ssv)",
                              "org.freedesktop.Secret.Collection", "Label",
                              GLib.Variant("s", "x"))) == "IsLocked"
    for path in ("/", ROOT + "/collection/session"):
        assert error(lambda: call(ROOT, "Secret.Service.SetAlias", "(so)", "default",
                                  path)) == "IsLocked"
    assert error(lambda: call(ROOT, "Secret.Service.CreateCollection", "(a{sv}s)", {
        "org.freedesktop.Secret.Collection.Label": GLib.Variant("s", "x")}, "login")) == "IsLocked"
    secrets = call(ROOT, "Secret.Service.GetSecrets", "(aoo)", [sys.argv[2]], session)
    assert secrets == ({},), secrets
    assert unlock(LOGIN, sys.argv[2]) == ([], "/")
    assert call(ROOT, "Secret.Service.Lock", "(ao)", [LOGIN, sys.argv[2]]) == ([], "/")

def portal():
    be_portal()
    def answer(application):
        reading, writing = os.pipe()
        result = bus.call_with_unix_fd_list_sync(
            "org.freedesktop.impl.portal.desktop.valet", "/org/freedesktop/portal/desktop",
            "org.freedesktop.impl.portal.Secret", "RetrieveSecret",
            GLib.Variant("(osha{sv})", ("/a", application, 0, {})), None, 0, 20000,
            Gio.UnixFDList.new_from_array([writing]), None)[0].unpack()
        os.set_blocking(reading, False)
        try:
            return result[0], len(os.read(reading, 1000))
        except BlockingIOError:
            return result[0], 0
    if sys.argv[2] == "refused":
        # A change of the policy counts a quarter of a second after a call has seen it.
        answer("org.example.Allowed")
        GLib.usleep(400_000)
        assert error(lambda: answer("org.example.Allowed")) == "IsLocked"
        return
    assert answer("org.example.Allowed") == (0, 64)
    assert answer("org.example.Asked") == (2, 0)
    assert answer("org.example.Denied") == (2, 0)
    assert error(lambda: answer("x" * 256)) == "InvalidArgs"

def leaves():
    # Its connection ends with it, and no answer is wanted.
    bus.call("org.freedesktop.secrets", sys.argv[2], "org.freedesktop.Secret.Item", "Delete", None,
             None, Gio.DBusCallFlags.NONE, -1, None, None)
    bus.flush_sync()
    os._exit(0)

def becomes():
    import socket, struct
    assert find()[0] == [sys.argv[2]]
    # The same connection, in another program.
    stream = bus.get_stream().get_socket()
    os.set_inheritable(stream.get_fd(), True)
    fields = b""
    for code, kind, text in ((1, b"o", sys.argv[2]), (2, b"s", "org.freedesktop.Secret.Item"),
                             (3, b"s", "Delete"), (6, b"s", "org.freedesktop.secrets")):
        fields += -len(fields) % 8 * b"\0" + bytes([code, 1]) + kind + b"\0"
        fields += -len(fields) % 4 * b"\0" + struct.pack("<I", len(text)) + text.encode() + b"\0"
    message = b"l\1\1\1" + struct.pack("<III", 0, 99999, len(fields)) + fields
    message += -len(message) % 8 * b"\0"
    os.execv(sys.argv[3], ["python3", "-c",
                           f"import os, time; os.write({stream.get_fd()}, {message!r}); time.sleep(1)"])

def reads_upgraded():
    (item,), locked = find()
    os.rename(sys.argv[2], sys.argv[2] + ".old")
    os.unlink(sys.argv[2] + ".old")
    open(sys.argv[2], "w").close()
    assert read(item) == "pass 1"
    assert read(create(LOGIN, "a", {"n": "1"}, "one")) == "one"

def makes_nothing():
    assert error(lambda: call(ROOT, "Secret.Service.CreateCollection", "(a{sv}s)", {
        "org.freedesktop.Secret.Collection.Label": GLib.Variant("s", "new")}, "")) == "IsLocked"
    assert len(get(ROOT, "Service", "Collections")) == 2

def reads_elsewhere():
    other = call(ROOT, "Secret.Service.CreateCollection", "(a{sv}s)", {
        "org.freedesktop.Secret.Collection.Label": GLib.Variant("s", "other")}, "")[0]
    item = create(other, "a", {"n": "1"}, "one")
    assert read(item) == "one" and unlock(item, LOGIN) == ([item], "/")

def agreed(heard, item):
    bus.signal_subscribe("org.freedesktop.secrets", None, None, None, None, 0,
                         lambda *signal: heard.append((signal[4], signal[5].unpack())))
    opened, prompt = unlock(item)
    assert opened == [] and prompt != "/", (opened, prompt)
    assert call(prompt, "Secret.Prompt.Prompt", "(s)", "") == ()
    wait(lambda: any(member == "Completed" for member, _ in heard))
    assert ("Completed", (False, [item])) in heard, heard

def locks(heard):
    return [values[1]["Locked"] for member, values in heard
            if member == "PropertiesChanged" and values[0].endswith(".Collection")
            and "Locked" in values[1]]

def reads_once():
    unlocked, (item,) = find()
    heard = []
    agreed(heard, item)
    assert get(item, "Item", "Label") == "a label" and get(item, "Item", "Locked") is False
    assert read(item) == "pass 1"
    assert error(lambda: read(item)) == "IsLocked"
    assert find() == ([], [item])
    wait(lambda: locks(heard) == [False, True])

def loses():
    unlocked, (item,) = find()
    heard = []
    agreed(heard, item)
    for _ in range(3):
        assert read(item) == "pass 1" and find() == ([item], [])
    assert os.system(f"{sys.argv[2]} grants remove {sys.argv[3]}") == 0
    assert error(lambda: read(item)) == "IsLocked"
    assert find() == ([], [item])
    wait(lambda: locks(heard)[-1:] == [True])

def asks():
    heard, others = [], []
    bus.signal_subscribe("org.freedesktop.secrets", None, None, None, None, 0,
                         lambda *signal: heard.append((signal[4], signal[5].unpack())))
    flags = (Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT |
             Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION)
    other = Gio.DBusConnection.new_for_address_sync(
        os.environ["DBUS_SESSION_BUS_ADDRESS"], flags, None, None)
    other.signal_subscribe("org.freedesktop.secrets", None, None, None, None, 0,
                           lambda *signal: others.append(signal[4]))
    unlocked, (item,) = find()
    assert unlocked == [] and get(item, "Item", "Locked") and get(item, "Item", "Label") == ""
    assert error(lambda: read(item)) == "IsLocked"
    session_item = create(ROOT + "/collection/session", "a", {"n": "1"}, "one")
    opened, prompt = unlock(item, session_item)
    assert opened == [session_item] and prompt != "/", (opened, prompt)
    assert call(prompt, "Secret.Prompt.Prompt", "(s)", "") == ()
    wait(lambda: any(member == "Completed" for member, _ in heard))
    dismissed, objects = next(values for member, values in heard if member == "Completed")
    if sys.argv[2] == "no":
        assert dismissed and objects == []
        assert error(lambda: read(item)) == "IsLocked"
        return
    assert not dismissed and objects == [item], heard
    # Nobody else hears what was opened.
    create(ROOT + "/collection/session", "b", {"n": "2"}, "two")
    wait(lambda: "ItemCreated" in others)
    assert "Completed" not in others, others
    changed = lambda: [values[1]["Locked"] for member, values in heard
                       if member == "PropertiesChanged" and values[0].endswith(".Collection")]
    wait(lambda: changed() == [False])
    assert read(item) == "pass 1" and get(item, "Item", "Locked") is False
    assert unlock(item) == ([item], "/") and find() == ([item], [])
    # It ends with a lock.
    os.system(sys.argv[3] + " lock")
    wait(lambda: changed()[1:] == [True])
    os.system(sys.argv[3] + " unlock --passcode-fd 0 <" + sys.argv[4])
    # All hear that it is unlocked, and this program that it is not for it.
    wait(lambda: changed()[2:] == [False, True])
    assert error(lambda: read(item)) == "IsLocked"

def stays_open():
    heard = []
    bus.signal_subscribe("org.freedesktop.secrets", None, None, None, None, 0,
                         lambda *signal: heard.append((signal[4], signal[5].unpack())))
    _, (item,) = find()
    _, prompt = unlock(item)
    call(prompt, "Secret.Prompt.Prompt", "(s)", "")
    wait(lambda: any(member == "Completed" for member, _ in heard))
    # Longer than until the program is looked at anew.
    for _ in range(15):
        assert get(item, "Item", "Locked") is False
        GLib.usleep(100_000)

def hears_changes():
    login, labels, lists, collections = ROOT + "/collection/login", [], [], []
    def hear(*signal):
        changed = signal[5].unpack()[1]
        labels.extend([changed["Label"]] if "Label" in changed else [])
        lists.extend([changed["Items"]] if "Items" in changed else [])
        collections.extend(changed.get("Collections", []))
    bus.signal_subscribe("org.freedesktop.secrets", None, "PropertiesChanged", None, None, 0, hear)
    call(login, "DBus.Properties.Set", "(ssv)", "org.freedesktop.Secret.Collection", "Label",
         GLib.Variant("s", "renamed"))
    wait(lambda: "renamed" in labels)
    item = create(login, "a", {"n": "1"}, "one")
    wait(lambda: item in lists[-1:][0] if lists else False)
    call(ROOT, "Secret.Service.CreateCollection", "(a{sv}s)", {
        "org.freedesktop.Secret.Collection.Label": GLib.Variant("s", "other")}, "")
    wait(lambda: ROOT + "/collection/other" in collections)
"""


def by_python(world, desktop, *words, **options):
    by_hand(world, *words, tasks=TASKS, desktop=desktop, **options)


# Promise: 20.7
@scenario(users=EVERY_USER)
def by_program(world):
    """A program that the policy denies finds and changes nothing; others do as before."""
    desktop = Desktop(world)
    desktop.serve()
    desktop.store(b"pass 1", "service", "mail")
    found = desktop.tool("search", "service", "mail")
    item = f"{LOGIN}/{found.split(b']')[0].split(b'/')[-1].decode()}"
    write(desktop, "# mine", "", f"allow\t* {TOOL}", "deny login *")
    expect(desktop.lookup("service", "mail") == b"pass 1", "allowed")
    by_python(world, desktop, "sees_nothing", item)
    by_python(world, desktop, "reads_elsewhere")
    write(desktop, f"deny * {TOOL}")
    desktop.lookup("service", "mail", code=1)
    desktop.tool("store", "--label", "a", "service", "mail", input=b"other", code=1)
    by_python(world, desktop, "reads")
    # A rule may name a link to the program. One for a Flatpak is for no other program.
    os.symlink(PYTHON, os.path.join(world.folder, "link"))
    write(desktop, f"allow * {world.folder}/link", "allow * flatpak:org.example.App", "deny * *")
    by_python(world, desktop, "reads")
    desktop.lookup("service", "mail", code=1)
    os.remove(write(desktop))
    settle(desktop)
    expect(desktop.lookup("service", "mail") == b"pass 1", "without a policy")


@scenario
def changed_before_the_answer(world):
    """A change that is made is answered so, even if the policy has closed it since; a read is
    not."""
    desktop = Desktop(world)
    desktop.serve()
    write(desktop, f"allow * {TOOL}")
    desktop.store(b"pass 1", "service", "mail")
    holder = world.agent()
    holder.do(f"hold {world.home}")
    storing = world.start(
        [TOOL, "store", "--label", "a", "service", "news"], desktop.env, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    storing.stdin.write(b"pass 2")
    storing.stdin.close()
    # The call waits for the writers' lock.
    time.sleep(1)
    write(desktop, f"deny * {TOOL}")
    holder.do("release")
    code = storing.wait(20)
    expect(code == 0, "the change was made:", code, storing.stderr.read())
    desktop.lookup("service", "mail", code=1)
    os.remove(write(desktop))
    settle(desktop)
    expect(desktop.lookup("service", "news") == b"pass 2", "not stored")
    holder.end()


# Promise: 20.7
@scenario(users=EVERY_USER)
def mistaken(world):
    """A policy that cannot be read leaves the last good one in force, and lets nobody in without one.

    The service says which line is wrong, and reads the file again when it changes.
    """
    desktop = Desktop(world)
    desktop.serve()
    desktop.store(b"pass 1", "service", "mail")
    path = write(desktop, "allow * *", "allow everything")
    # The service tells of the item, and reads the file for that.
    time.sleep(0.2)
    desktop.lookup("service", "mail", code=1)
    wait_for(lambda: f"{path}: line 2: " in desktop.logged(), "the warning")
    desktop.lookup("service", "mail", code=1)
    expect(desktop.logged().count("warning") == 1, desktop.logged())
    for text in ("allow * mail", "permit * *", "log writes", "allow *", "deny default *",
                 "deny log-in *", f"deny login {TOOL} # mine", f"deny login {TOOL}/"):
        write(desktop, text)
        desktop.lookup("service", "mail", code=1)
    write(desktop, f"allow * {TOOL}", "deny * *")
    expect(desktop.lookup("service", "mail") == b"pass 1", "without a mistake")
    for text in ("", "# nothing\n", f"deny * {TOOL}", f"deny * {TOOL}\nallow"):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        settle(desktop)
        expect(desktop.lookup("service", "mail") == b"pass 1", "the last good one", text)
        wait_for(lambda: "stays in force" in desktop.logged(), "the warning")
        need_bindings()
        by_python(world, desktop, "sees_nothing", LOGIN + "/" + 32 * "0")
    write(desktop, "allow * *")
    for place, mode in ((path, 0o666), (os.path.dirname(path), 0)):
        if mode or os.geteuid() != 0:
            before = os.stat(place).st_mode
            os.chmod(place, mode)
            settle(desktop)
            expect(desktop.lookup("service", "mail") == b"pass 1", "the last good one", mode)
            os.chmod(place, before)
            settle(desktop)
    expect(desktop.lookup("service", "mail") == b"pass 1", "mended")
    # A link to nowhere is not an absent file.
    os.rename(path, path + ".old")
    os.symlink("nowhere", path)
    settle(desktop)
    write(desktop, "deny * *")
    desktop.lookup("service", "mail", code=1)
    os.unlink(path)
    os.symlink("nowhere", path)
    settle(desktop)
    desktop.lookup("service", "mail", code=1)
    os.unlink(path)
    settle(desktop)
    expect(desktop.lookup("service", "mail") == b"pass 1", "without a policy")
    # A service does not start with one.
    desktop.kill()
    write(desktop, "allow")
    outcome = world.run("serve", env=desktop.env)
    expect(outcome.code == 64 and "line 1" in outcome.err, outcome)


# Promise: 20.7
@scenario(users=EVERY_USER)
def asked(world):
    """Where the policy says 'ask' a person lets a program use a collection, until a lock."""
    passcode = os.path.join(world.folder, "passcode")
    with open(passcode, "wb") as file:
        file.write(PASSCODE)
    outcome = world.run("passcode", "set", "--passcode-fd", "0", input=PASSCODE, env=SHARED)
    expect(outcome.code == 0, outcome)
    shown, answer = (os.path.join(world.folder, name) for name in ("shown", "yes"))
    pinentry = asker(world, f"""SETDESC) echo "$rest" >>{shown}; echo OK ;;
    CONFIRM) if [ -e {answer} ]; then echo OK; else echo "$NO"; fi ;;""")
    desktop = Desktop(world, VALET_PINENTRY=pinentry)
    desktop.serve()
    desktop.store(b"pass 1", "service", "mail")
    write(desktop, "ask login *")
    desktop.lookup("service", "mail", code=1)
    by_python(world, desktop, "asks", "no")
    with open(answer, "w", encoding="utf-8"), open(shown, "r+", encoding="utf-8") as file:
        texts = file.read().splitlines()
        expect(len(texts) == 2 and texts[0].startswith(f"{TOOL} (process ")
               and "'login'" in texts[0], texts)
        expect(os.path.realpath(PYTHON) in texts[1], texts)
        file.truncate(0)
    expect(desktop.lookup("service", "mail") == b"pass 1", "after a yes")
    expect(desktop.lookup("service", "mail") == b"pass 1", "after another")
    with open(shown, encoding="utf-8") as file:
        expect(len(file.readlines()) == 2, "each process is asked for")
    by_python(world, desktop, "asks", "yes", os.environ["VALET_TEST_COMMAND"], passcode)


# Promise: 20.13
@scenario
def beside_an_endless_path(world):
    """A yes until the next lock holds although a path of the policy cannot be followed."""
    pinentry = asker(world, "CONFIRM) echo OK ;;")
    desktop = Desktop(world, VALET_PINENTRY=pinentry)
    desktop.serve()
    desktop.store(b"pass 1", "service", "mail")
    for name in ("loop", "dangling"):
        os.symlink(name if name == "loop" else "nowhere", os.path.join(world.folder, name))
    write(desktop, f"allow * {world.folder}/loop/x", f"allow * {world.folder}/dangling",
          "ask login *")
    by_python(world, desktop, "stays_open")


@scenario
def told_of_changes(world):
    """Programs hear of labels, items and collections under a policy that lets them use these."""
    desktop = Desktop(world)
    desktop.serve()
    desktop.store(b"pass 1", "service", "mail")
    write(desktop, "allow login *", "allow other *")
    by_python(world, desktop, "hears_changes")


class Person:
    """Presses buttons of pinentry, and reads what it shows."""

    def __init__(self, world):
        self.shown, self.buttons = (os.path.join(world.folder, name) for name in ("shown", "buttons"))
        self.pinentry = asker(world, f"""SETDESC) echo "$rest" >>{self.shown}; echo OK ;;
    SETOK) echo "$rest" >>{self.shown}; echo OK ;;
    CONFIRM) read -r button <{self.buttons} || button=none
        sed -i 1d {self.buttons}
        case $button in ok) echo OK ;; other) echo ERR 83886194 ;; *) echo "$NO" ;; esac ;;""")
        self.presses()

    def presses(self, *buttons):
        """Answers the next questions so, and all later ones with no. Forgets what was shown."""
        for path, lines in ((self.buttons, buttons), (self.shown, ())):
            with open(path, "w", encoding="utf-8") as file:
                file.write("".join(line + "\n" for line in lines))

    def read(self):
        with open(self.shown, encoding="utf-8") as file:
            return file.read()


def granted(world):
    outcome = world.run("grants", "--json", env=SHARED)
    expect(outcome.code == 0, outcome)
    return [(grant["program"], grant["collection"], grant["lastUsed"] is not None)
            for grant in json.loads(outcome.out)["grants"]]


# Promise: 20.13, 20.14
@scenario(users=EVERY_USER)
def allowed_always(world):
    """'Always' lets the program use a collection until somebody takes it back, or the program
    changes; it outlives locks and the service, and opens nothing that the policy denies."""
    person = Person(world)
    desktop = Desktop(world, VALET_PINENTRY=person.pinentry)
    tool = os.path.join(world.folder, "mail-tool")
    shutil.copy(TOOL, tool)

    def lookup(code=0):
        outcome = world.run("lookup", "service", "mail", env=desktop.env, command=tool)
        expect(outcome.code == code, person.read(), outcome)
        return outcome.out

    desktop.serve()
    desktop.store(b"pass 1", "service", "mail")
    write(desktop, "ask login *")
    person.presses("other", "ok")
    expect(lookup() == b"pass 1", "after 'always'")
    expect("Until locked" in person.read() and "Always" in person.read(), person.read())
    person.presses()
    expect(lookup() == b"pass 1" and person.read() == "", "without a question", person.read())
    wait_for(lambda: granted(world) == [(tool, "login", True)], "the use")
    desktop.kill()
    desktop.serve()
    expect(lookup() == b"pass 1" and person.read() == "", "after a restart", person.read())
    # Other programs are asked for.
    desktop.lookup("service", "mail", code=1)
    expect(TOOL in person.read(), person.read())
    write(desktop, f"deny login {tool}", "ask login *")
    lookup(code=1)
    write(desktop, "ask login *")
    expect(lookup() == b"pass 1", "allowed again")
    # Another file at its path.
    shutil.copy(TOOL, tool + ".new")
    os.rename(tool + ".new", tool)
    person.presses()
    lookup(code=1)
    expect("has changed" in person.read(), person.read())
    person.presses("other", "ok")
    expect(lookup() == b"pass 1", "after another 'always'")
    expect(granted(world)[0][:2] == (tool, "login") and len(granted(world)) == 1, granted(world))
    outcome = world.run("grants", "remove", tool, "login", env=SHARED)
    expect(outcome.code == 0, outcome)
    person.presses()
    lookup(code=1)
    expect("has changed" not in person.read() and tool in person.read(), person.read())
    expect(granted(world) == [], granted(world))


# Promise: 20.14
@scenario(users=EVERY_USER)
def taken_back(world):
    """A program that is connected loses at once what it was allowed always, and hears of it."""
    need_bindings()
    person = Person(world)
    desktop = Desktop(world, VALET_PINENTRY=person.pinentry)
    python = os.path.join(world.folder, "mail-program")
    shutil.copy(PYTHON, python)
    desktop.serve()
    desktop.store(b"pass 1", "service", "mail")
    write(desktop, "ask login *")
    person.presses("other", "ok")
    by_python(world, desktop, "loses", os.environ["VALET_TEST_COMMAND"], python, command=python)


# Promise: 20.13
@scenario(users=EVERY_USER)
def allowed_once(world):
    """'Once' is for the next secret of the connection, and interpreters are not offered 'always'."""
    need_bindings()
    person = Person(world)
    desktop = Desktop(world, VALET_PINENTRY=person.pinentry)
    desktop.serve()
    desktop.store(b"pass 1", "service", "mail")
    write(desktop, "ask login *")
    person.presses("other", "ok")
    by_python(world, desktop, "reads_once")
    expect("Once" in person.read() and "Always" not in person.read(), person.read())
    expect("scripts" in person.read(), person.read())
    expect(granted(world) == [], granted(world))


# Promise: 20.8
@scenario
def impostors(world):
    """Neither a copy of a program nor another file at its path in a sandbox is allowed in its name."""
    need_root()
    need("unshare")
    need_bindings()
    desktop = Desktop(world)
    desktop.serve()
    desktop.store(b"pass 1", "service", "mail")
    write(desktop, f"allow * {TOOL}", f"allow * {PYTHON}", "deny * *")
    copy = os.path.join(world.folder, "python3")
    shutil.copy(PYTHON, copy)
    by_python(world, desktop, "reads")
    item = LOGIN + "/" + 32 * "0"
    by_python(world, desktop, "sees_nothing", item, command=copy)
    by_python(world, desktop, "makes_nothing", command=copy)
    path = os.path.realpath(PYTHON)
    by_python(world, desktop, "sees_nothing", item, prefix=(
        "unshare", "-m", "sh", "-c", f'mount --bind {copy} {path} && exec {path} "$@"'))


# Promise: 20.8
@scenario(users=EVERY_USER)
def not_shown(world):
    """What denies and asks holds for a program that the kernel does not show, and for one that is
    gone or has become another before its call is carried out."""
    need_bindings()
    desktop = Desktop(world)
    desktop.serve()
    desktop.store(b"pass 1", "service", "mail")
    found = desktop.tool("search", "service", "mail")
    item = f"{LOGIN}/{found.split(b']')[0].split(b'/')[-1].decode()}"
    write(desktop, f"deny * {PYTHON}")
    hidden = "import ctypes\nctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n"
    by_hand(world, "sees_nothing", item, tasks=TASKS, desktop=desktop, first=hidden)
    for _ in range(10):
        by_python(world, desktop, "leaves", item)
    copy = os.path.join(world.folder, "python3")
    shutil.copy(PYTHON, copy)
    write(desktop, f"allow * {PYTHON}", f"allow * {TOOL}", "deny * *")
    by_python(world, desktop, "becomes", item, copy)
    time.sleep(0.3)
    expect(desktop.lookup("service", "mail") == b"pass 1", "removed")


# Promise: 20.8
@scenario(users=EVERY_USER)
def upgraded(world):
    """A program whose file is replaced while it runs goes on as before, if no rule names it."""
    need_bindings()
    desktop = Desktop(world)
    desktop.serve()
    desktop.store(b"pass 1", "service", "mail")
    write(desktop, "log reads")
    copy = os.path.join(world.folder, "python3")
    shutil.copy(PYTHON, copy)
    by_python(world, desktop, "reads_upgraded", copy, command=copy)


# Promise: 20.10
@scenario(users=EVERY_USER)
def locks_by_itself(world):
    """The service that watches a shared group keeps no keychain unlocked beyond its idle time."""
    app = ("--app", "com.example.app")
    outcome = world.run("passcode", "set", "--passcode-fd", "0", input=PASSCODE, env=SHARED)
    expect(outcome.code == 0, outcome)
    world.set("early", "value", *app, env=SHARED)
    desktop = Desktop(world)
    desktop.serve("--share-group", "com.example.app")
    outcome = world.run("unlock", "--auto-lock", "4s", "--passcode-fd", "0", input=PASSCODE,
                        env=SHARED)
    expect(outcome.code == 0, outcome)
    # Writes that need no unlocked keychain do not count either.
    for number in range(14):
        world.set(f"later-{number}", "value", *app, "--accessibility", "after-first-unlock",
                  env=SHARED)
        time.sleep(0.5)
    outcome = world.run("status", "--json", env=SHARED)
    expect(json.loads(outcome.out)["state"] == "locked", outcome)


# Promise: 20.7
@scenario(users=EVERY_USER)
def portal_policy(world):
    """A policy decides for each Flatpak that asks the portal, and for the program that speaks for it."""
    desktop = Desktop(world)
    desktop.serve()
    write(desktop, "log reads", "allow portal flatpak:org.example.Allowed",
          "ask portal flatpak:org.example.Asked", "deny portal flatpak:org.example.Denied")
    by_python(world, desktop, "portal", "answered")
    wait_for(lambda: "org.example.Allowed reads portal" in desktop.logged(), "the note of a read")
    expect("Denied reads" not in desktop.logged(), desktop.logged())
    write(desktop, "allow portal flatpak:org.example.Allowed", f"deny portal {PYTHON}")
    by_python(world, desktop, "portal", "refused")


# Promise: 20.9
@scenario(users=EVERY_USER)
def noted(world):
    """With 'log reads' each secret that a program gets is noted, without the secret."""
    desktop = Desktop(world)
    desktop.serve()
    desktop.store(b"hunter2-7f3a", "service", "mail")
    write(desktop, "log reads")
    expect(desktop.lookup("service", "mail") == b"hunter2-7f3a", "the secret")
    wait_for(lambda: f"valet: {TOOL} (process " in desktop.logged(), "the note")
    expect(f" reads {LOGIN}/" in desktop.logged(), desktop.logged())
    expect("hunter2" not in desktop.logged(), "the secret is noted")
    before = desktop.logged()
    desktop.tool("search", "other", "mail")
    write(desktop, "log reads", "deny * *")
    desktop.lookup("service", "mail", code=1)
    expect(desktop.logged() == before, desktop.logged())


# Promise: 20.10
@scenario(users=EVERY_USER)
def shared_group(world):
    """Programs read the passwords of a group that is shared, and change none of them."""
    app = ("--app", "com.example.app")
    world.set("mail", "native 1", *app, "--service", "web")
    world.set("guarded", "native 2", "--app", "com.example.other")
    desktop = Desktop(world)
    desktop.serve()
    desktop.lookup("service", "web", code=1)
    desktop.kill()
    desktop.serve("--share-group", "com.example.app")
    expect(desktop.lookup("service", "web", "account", "mail") == b"native 1", "shared")
    expect(desktop.lookup("username", "mail") == b"native 1", "as Python's keyring asks")
    desktop.lookup("account", "guarded", code=1)
    world.set("mail", "native 3", *app, "--service", "web")
    expect(desktop.lookup("service", "web") == b"native 3", "changed by its owner")
    desktop.tool("clear", "service", "web", code=1)
    desktop.store(b"own", "service", "web", "account", "mail")
    expect(world.get("mail", *app, "--service", "web") == "native 3", "changed by a program")
    collection = "/org/freedesktop/secrets/collection/group_com_example_app"
    label = desktop.get(collection, "org.freedesktop.Secret.Collection", "Label")
    expect(b'"com.example.app"' in label.out, label)
    for words in (("--share-group", "app"), ("--share-group", "a.b\n[Service]"),
                  ("--share-group", "org.freedesktop.secrets"),
                  ("--share-group", "a.b-c", "--share-group", "a.b_c")):
        expect(world.run("serve", *words, env=desktop.env).code == 64, words)
