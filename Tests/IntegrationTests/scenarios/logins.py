# SPDX-License-Identifier: Apache-2.0
"""The PAM module: real libpam and pamtester, with services of the scenario's own (pam_wrapper)."""

import contextlib
import fcntl
import glob
import json
import os
import pwd
import shutil
import subprocess
import time

from support import COMMAND, EVERY_USER, Skip, expect, need, need_root, scenario, wait_for

PASSWORD = "correct horse"
OTHER = "battery staple"
SHARED = {"VALET_LOCK_STATE": "kernel"}
SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../Bindings/PAM")
LIBRARIES = glob.glob("/usr/lib/*/libpam_wrapper.so")
# What the module runs; {folder} belongs to the user who logs in. The environment is the module's.
RUNS = """#!/bin/sh
export VALET_HOME={folder}/keychain VALET_LOCK_STATE=kernel
exec {valet} "$@"
"""


class Login:
    """A service `login` whose only user has `PASSWORD`. Root logs another user in; other callers
    log themselves in."""

    def __init__(self, world, *arguments, script=RUNS, asks=""):
        for program in ("gcc", "pamtester", "setpriv"):
            need(program)
        if not LIBRARIES or not os.path.exists("/usr/include/security/pam_modules.h"):
            raise Skip("needs libpam-wrapper and libpam0g-dev")
        self.world = world
        self.is_root = os.geteuid() == 0
        self.number = world.add_user() if self.is_root else os.geteuid()
        try:
            self.user = pwd.getpwuid(self.number).pw_name
        except KeyError:
            raise Skip("needs a user with a name") from None
        self.prefix = (
            "setpriv", f"--reuid={self.number}", f"--regid={self.number}", "--clear-groups")
        self.folder = os.path.join(world.folder, "user")
        self.home = os.path.join(self.folder, "keychain")
        os.mkdir(self.folder, 0o700)
        if self.is_root:
            os.chown(self.folder, self.number, -1)
        self.services = self.path("pam.d")
        os.mkdir(self.services, 0o755)
        # Where every user can run it.
        self.valet = shutil.copy(COMMAND, self.path("valet"))
        os.chmod(self.valet, 0o755)
        self.write("command", script, 0o755)
        self.write("password", PASSWORD)
        self.build()
        self.configure(*arguments, asks=asks)

    def path(self, name):
        return os.path.join(self.world.folder, name)

    def write(self, name, text, mode=0o644):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text.format(folder=self.folder, valet=self.valet))
        os.chmod(self.path(name), mode)

    def build(self):
        done = self.world.run(self.world.folder, command=f"{SOURCES}/build")
        expect(done.code == 0, done)
        done = self.world.run("-shared", "-fPIC", "-o", self.path("pam_asks.so"),
                              f"{SOURCES}/Tests/pam_asks.c", "-lpam", command="gcc")
        expect(done.code == 0, done)

    def configure(self, *arguments, asks="", auth="", session=""):
        """Writes the service; `auth` and `session` are lines in front of the module's."""
        asking = f"required {self.path('pam_asks.so')} {self.path('password')} {asks}"
        module = (f"optional {self.path('pam_valet.so')} command={self.path('command')} "
                  + " ".join(arguments))
        lines = [f"auth {auth or asking}", f"auth {module}", f"account {asking}",
                 f"session {session or asking}", f"session {module}",
                 f"password {asking}", f"password {module}"]
        with open(f"{self.services}/login", "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")

    def wrapped(self, *words, env=None, **options):
        """Runs a program whose services of PAM are the scenario's. One at a time: the library
        looks for a name in /tmp that nobody has, takes it afterwards, and fails if it is gone."""
        variables = {"LD_PRELOAD": LIBRARIES[0], "PAM_WRAPPER": "1",
                     "PAM_WRAPPER_SERVICE_DIR": self.services, **(env or {})}
        with open(LIBRARIES[0], "rb") as library:
            fcntl.flock(library, fcntl.LOCK_EX)
            return self.world.run(*words, env=variables, **options)

    def pam(self, *operations, lines=(PASSWORD,), code=0, env=None, **options):
        """Runs operations in one transaction of PAM; returns all that was printed and logged."""
        outcome = self.wrapped(
            "login", self.user, *operations, command="pamtester",
            input="".join(line + "\n" for line in lines).encode(),
            env={"PAM_WRAPPER_DEBUGLEVEL": "2", **(env or {})}, **options)
        expect((outcome.code == 0) == (code == 0), operations, outcome)
        text = outcome.out.decode() + outcome.err
        for line in lines:
            expect(line not in text, "a password is shown", text)
        return text

    def login(self, **options):
        return self.pam("authenticate", "open_session", **options)

    def run(self, *words, lines=(), code=0):
        """Runs the command as the user."""
        outcome = self.world.run(
            *words, input="".join(line + "\n" for line in lines).encode(), command=self.valet,
            prefix=self.prefix if self.is_root else (), env={**SHARED, "VALET_HOME": self.home})
        expect(outcome.code == code, *words, outcome)
        return outcome.out

    def state(self):
        return json.loads(self.run("status", "--json"))["state"]

    @contextlib.contextmanager
    def keychain(self, passcode=PASSWORD):
        """A locked keychain; leaves no key in the kernel at the end."""
        try:
            self.run("passcode", "set", "--passcode-fd", "0", lines=[passcode])
            self.run("lock", "--all")
            yield self
        finally:
            self.run("lock", "--all")

    def opens(self, passcode, code=0):
        self.run("lock", "--all")
        self.run("unlock", "--passcode-fd", "0", lines=[passcode], code=code)


def notes(text):
    """What the module has logged for administrators."""
    return [line for line in text.splitlines() if "SYSLOG(5)" in line]


# Promise: 21.1
@scenario(users=EVERY_USER)
def unlocked(world):
    """A login unlocks the keychain with the password, and only a successful one."""
    with Login(world).keychain() as login:
        text = login.pam("authenticate", "open_session", lines=[OTHER], code=1)
        expect(login.state() == "beforeFirstUnlock" and not notes(text), text)
        text = login.pam("authenticate")
        expect(login.state() == "beforeFirstUnlock" and not notes(text), text)
        text = login.login()
        expect(login.state() == "unlocked" and not notes(text), text)
        login.run("lock")
        login.pam("authenticate", "setcred", "acct_mgmt", "open_session", "close_session")
        expect(login.state() == "unlocked", "locked without the argument `lock`")


# Promise: 21.1
@scenario(users=EVERY_USER)
def unlocked_with_the_screen(world):
    """A screen locker, which renews the credentials of a session, unlocks the keychain."""
    with Login(world).keychain() as login:
        login.pam("authenticate", "setcred(PAM_ESTABLISH_CRED)")
        expect(login.state() == "beforeFirstUnlock", "without a session")
        for flag in ("PAM_REFRESH_CRED", "PAM_REINITIALIZE_CRED"):
            login.pam("authenticate", f"setcred({flag})", lines=[OTHER], code=1)
            expect(login.state() != "unlocked", "with another password")
            text = login.pam("authenticate", f"setcred({flag})")
            expect(login.state() == "unlocked" and not notes(text), flag, text)
            login.run("lock")


# Promise: 21.1
@scenario(users=EVERY_USER)
def other_passcode(world):
    """A login with another password than the passcode succeeds, and leaves the keychain locked."""
    with Login(world).keychain(OTHER) as login:
        text = login.login()
        expect(login.state() == "beforeFirstUnlock", login.state())
        note, = notes(text)
        expect(f"did not unlock the keychain of {login.user}: its passcode is not" in note, note)
        # The exit status arrives although the host ignores its children.
        again, = notes(login.login(prefix=("env", "--ignore-signal=CHLD")))
        expect("its passcode is not" in again, again)


# Promise: 21.1
@scenario(users=EVERY_USER)
def without_keychain(world):
    """A login without a keychain, or without its passcode, makes and says nothing."""
    login = Login(world, "lock")
    text = login.pam("authenticate", "open_session", "close_session")
    expect(os.listdir(login.folder) == [], os.listdir(login.folder))
    expect(not notes(text), text)
    text = login.pam("chauthtok", lines=[PASSWORD, OTHER, OTHER])
    expect(os.listdir(login.folder) == [] and not notes(text), text)
    login.run("set", "a", lines=["value"])
    login.write("password", PASSWORD)
    text = login.pam("authenticate", "open_session", "close_session")
    expect(not notes(text), text)
    text = login.pam("chauthtok", lines=[PASSWORD, OTHER, OTHER])
    note, = notes(text)
    expect("was not changed: there is none" in note, note)
    expect(login.state() == "noPasscode", login.state())


# Promise: 21.4
@scenario(users=EVERY_USER)
def hanging(world):
    """A login waits at most five seconds for a command, and ends it with its children."""
    login = Login(world, script="""#!/bin/sh
trap '' TERM HUP INT
sleep 321 &
echo $$ $! >{folder}/running
wait
sleep 321
""")
    begin = time.monotonic()
    text = login.login()
    seconds = time.monotonic() - begin
    expect(4.5 < seconds < 15, f"{seconds} seconds")
    note, = notes(text)
    expect("did not end in five seconds" in note, note)
    with open(f"{login.folder}/running", encoding="utf-8") as file:
        for number in file.read().split():
            wait_for(lambda: has_ended(number), f"the end of {number}")
    login.write("command", "#!/no/such/program\n", 0o755)
    note, = notes(login.login())
    expect("could not be executed" in note, note)
    login.write("command", "#!/bin/sh\nkill -9 $$\n", 0o755)
    note, = notes(login.login())
    expect("the command failed" in note, note)


def has_ended(process):
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


# Promise: 21.5
@scenario(users=EVERY_USER)
def password_changed(world):
    """A change of the password changes the passcode, if that was the old password."""
    with Login(world).keychain() as login:
        text = login.pam("chauthtok", lines=[PASSWORD, "short", "short"])
        expect(not notes(text), text)
        login.opens(PASSWORD, code=77)
        login.opens("short")
        # A wrong old password changes neither.
        login.pam("chauthtok", lines=[PASSWORD, OTHER, OTHER], code=1)
        login.opens("short")
        # The keychain has another passcode.
        login.write("password", PASSWORD)
        text = login.pam("chauthtok", lines=[PASSWORD, OTHER, OTHER])
        note, = notes(text)
        expect("keychain was not changed: it is not the old password" in note, note)
        expect("valet: the passcode of the keychain was not changed" in text, text)
        login.opens("short")


# Promise: 21.5
@scenario(users=EVERY_USER)
def password_set(world):
    """A password that is set without the old one leaves the passcode, and says so."""
    with Login(world, asks="without-old").keychain() as login:
        text = login.pam("chauthtok", lines=[OTHER, OTHER])
        note, = notes(text)
        expect("if there is one, was not changed: the old password was not" in note, note)
        login.opens(PASSWORD)


# Promise: 21.5
@scenario(users=EVERY_USER)
def password_expired(world):
    """An expired password that is changed during the login unlocks the keychain as well."""
    with Login(world).keychain() as login:
        text = login.pam("authenticate", "chauthtok", "open_session",
                         lines=[PASSWORD, PASSWORD, OTHER, OTHER])
        expect(login.state() == "unlocked" and not notes(text), text)
        login.opens(PASSWORD, code=77)
        login.opens(OTHER)


@scenario(users=EVERY_USER)
def locked_at_the_end(world):
    """The end of a session locks the keychain, with the argument `lock`."""
    with Login(world, "lock").keychain() as login:
        login.login()
        expect(login.state() == "unlocked", login.state())
        text = login.pam("close_session")
        expect(login.state() == "locked" and not notes(text), text)


# Promise: 21.2
@scenario(users=EVERY_USER)
def rights(world):
    """The module's command has the user's rights and nothing of the host's, and no secret in its
    arguments and variables."""
    login = Login(world, script="""#!/bin/sh
cd {folder}
cat /proc/self/status >status
tr '\\0' '\\n' </proc/$$/environ >environment
tr '\\0' '\\n' </proc/$$/cmdline >arguments
ls -l /proc/$$/fd >descriptors
ulimit -c >core
cat <&0 >input
cat /proc/$$/fd/0 >opened 2>&1
""")
    inherited, end = os.pipe()
    # A host that ignores signals, and has a descriptor open.
    limit = ("sh", "-c", 'ulimit -S -c "$(ulimit -H -c)" && exec "$0" "$@"')
    login.login(prefix=(*limit, "env", "--ignore-signal=CHLD,HUP,PIPE,USR1"),
                pass_fds=(inherited,), env={"SECRET": "of the host", "VALET_HOME": "/elsewhere"})
    os.close(inherited)
    os.close(end)

    def seen(name):
        with open(os.path.join(login.folder, name), encoding="utf-8") as file:
            return file.read()
    status = dict(line.split(":", 1) for line in seen("status").splitlines())
    number, group = login.number, pwd.getpwnam(login.user).pw_gid
    expect(status["Uid"].split() == [str(number)] * 4, status["Uid"])
    expect(status["Gid"].split() == [str(group)] * 4, status["Gid"])
    if login.is_root:
        expect(status["Groups"].split() == [str(group)], status["Groups"])
    # The C library refuses to change 32 and 33, which the tests' own parent may ignore.
    own = 1 << 31 | 1 << 32
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb", "SigBlk", "SigIgn"):
        expect(int(status[name], 16) & ~own == 0, name, status[name])
    expect(status["NoNewPrivs"].strip() == "1" and seen("core") == "0\n", status, seen("core"))
    expect_own_descriptors(world, seen("descriptors"))
    variables = {line.split("=")[0] for line in seen("environment").splitlines()}
    expect(variables - {"XDG_RUNTIME_DIR"} ==
           {"HOME", "USER", "LOGNAME", "PATH", "LANG", "LC_ALL"}, variables)
    words = seen("arguments").splitlines()
    expect(words[-4:] == ["unlock", "--passcode-fd", "0", "--no-questions"], words)
    expect(seen("input") == PASSWORD + "\n", "the password does not arrive")
    expect(PASSWORD not in seen("opened"), "the input can be opened by its name")
    # Shells block no signal, whatever they inherit.
    login.write("command", """#!/usr/bin/awk -f
BEGIN {{ while ((getline line <"/proc/self/status") > 0) print line >"{folder}/status"; exit }}
""", 0o755)
    login.login(prefix=("env", "--block-signal=USR2"))
    blocked, = (line for line in seen("status").splitlines() if line.startswith("SigBlk"))
    expect(int(blocked.split()[1], 16) == 0, blocked)


def expect_own_descriptors(world, listed):
    """All but the standard ones are the shell's own: its script, and the file of this list."""
    found = {}
    for line in listed.splitlines():
        if " -> " in line and world.folder not in line:
            name, _, target = line.partition(" -> ")
            found[name.split()[-1]] = target.split(":")[0]
    # The shell keeps its own output elsewhere while it writes the list.
    expect(set(found.values()) == {"socket", "/dev/null"} and found["0"] == "socket"
           and list(found.values()).count("socket") == 1 and found["2"] == "/dev/null", listed)


# Promise: 21.3
@scenario(users=EVERY_USER)
def odd_passwords(world):
    """Passwords that are no line, or too long, are not passed on; all others are."""
    login = Login(world, script="#!/bin/sh\ncat >{folder}/input\n")
    items = f"{os.path.dirname(LIBRARIES[0])}/pam_wrapper/pam_set_items.so"
    login.configure(auth=f"required {items}")
    path = os.path.join(login.folder, "input")
    for password in ("x" * 1000, "x" * 1024, " ", "%s %n", "p\u00e4ss'\"\\\t"):
        login.login(lines=[], env={"PAM_AUTHTOK": password})
        with open(path, encoding="utf-8") as file:
            expect(file.read() == password + "\n", f"not passed on: {password!r}")
        os.remove(path)
    for password in ("", "x" * 1025, "x" * 5000, "two\nlines", "end\n", "\rreturn"):
        text = login.login(lines=[], env={"PAM_AUTHTOK": password})
        expect(not os.path.exists(path), f"passed on: {password!r}")
        expect(not notes(text), text)


@scenario(users=EVERY_USER)
def long_password(world):
    """A password of a thousand characters unlocks, and can be changed."""
    long = "x" * 999 + "y"
    with Login(world).keychain(long) as login:
        login.write("password", long)
        login.login(lines=[long])
        expect(login.state() == "unlocked", login.state())
        login.pam("chauthtok", lines=[long, "z" + long, "z" + long])
        login.opens("z" + long)


# Promise: 21.3
@scenario
def sessions_of_others(world):
    """A password does not go to the keychain of another user, whose session sudo opens."""
    need_root()
    login = Login(world, script="#!/bin/sh\nid -u >>{folder}/ran\n")
    items = f"{os.path.dirname(LIBRARIES[0])}/pam_wrapper/pam_set_items.so"
    login.configure(session=f"required {items}")
    ran = os.path.join(login.folder, "ran")
    for name in ("root", "daemon", "no-such-user"):
        login.login(env={"PAM_USER": name})
        expect(not os.path.exists(ran), f"ran for {name}")
    login.login(env={"PAM_USER": login.user})
    with open(ran, encoding="utf-8") as file:
        expect(file.read() == f"{login.number}\n", "not as the user")


# Promise: 21.2
@scenario
def hosts_without_rights(world):
    """A host that is neither root nor the user runs nothing."""
    need_root()
    login = Login(world, script="#!/bin/sh\nid -u >/dev/null; touch {folder}/ran\n")
    os.chmod(login.folder, 0o777)
    text = login.login(prefix=("setpriv", "--reuid=daemon", "--regid=daemon", "--clear-groups"))
    expect(not os.path.exists(os.path.join(login.folder, "ran")) and not notes(text), text)
    login.login()
    expect(os.path.exists(os.path.join(login.folder, "ran")), "the control does not run")


# Promise: 21.3
@scenario(users=EVERY_USER)
def hosts(world):
    """The module leaves its host's signals, children and descriptors alone, and keeps the password
    in locked memory only until the session."""
    with Login(world, script=RUNS.replace(
            "exec", "ls -l /proc/$$/fd >{folder}/descriptors\nexec")).keychain() as login:
        host = login.path("host")
        done = world.run("-O1", "-Wall", "-Wextra", "-Werror", "-o", host,
                         f"{SOURCES}/Tests/host.c", "-lpam", command="gcc")
        expect(done.code == 0, done)
        shifted = "".join(chr(ord(letter) + 1) for letter in PASSWORD)
        for words in ((), ("closed",)):
            login.run("lock")
            outcome = login.wrapped(login.user, shifted, *words, command=host)
            expect(outcome.code == 0, outcome)
            expect(login.state() == "unlocked", words, login.state())
            with open(f"{login.folder}/descriptors", encoding="utf-8") as file:
                expect_own_descriptors(world, file.read())


# Promise: 21.2
@scenario(users=EVERY_USER)
def module_libraries(world):
    """The module needs the C library and libpam alone, and exports PAM's functions alone."""
    need("readelf")
    login = Login(world)
    found = subprocess.run(["readelf", "--wide", "--dynamic", "--dyn-syms",
                            login.path("pam_valet.so")], capture_output=True, text=True)
    needed = {line.split("[")[1].rstrip("]") for line in found.stdout.splitlines()
              if "(NEEDED)" in line}
    expect(needed == {"libpam.so.0", "libc.so.6"}, needed)
    exported = {line.split()[-1] for line in found.stdout.splitlines()
                if " GLOBAL " in line and " UND " not in line}
    expect(exported == {f"pam_sm_{name}" for name in (
        "authenticate", "setcred", "open_session", "close_session", "chauthtok")}, exported)
