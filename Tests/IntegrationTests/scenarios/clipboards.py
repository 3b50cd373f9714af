# SPDX-License-Identifier: Apache-2.0
"""A secret on the clipboard: how it gets there, how it goes, and what is left."""

import base64
import os
import shutil
import signal
import subprocess
import time

from leaks import memory, pattern
from seats import Seat
from support import (EVERY_USER, LEAK_TEST, expect, mount, need, need_root, private_mounts,
                     scenario)

SECRET = "hunter2-7f3a-é"
NOTHING = {"DISPLAY": None, "WAYLAND_DISPLAY": None}


class Display:
    """An X server without a screen."""

    def __init__(self, world, *programs):
        need("Xvfb")
        need("xclip")
        read, write = os.pipe()
        # Without "-noreset" it restarts when its last client leaves, and refuses the next one.
        world.start(["Xvfb", "-displayfd", str(write), "-nolisten", "tcp", "-ac", "-noreset"],
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL, pass_fds=(write,))
        os.close(write)
        with os.fdopen(read) as file:
            number = file.readline().strip()
        expect(number, "there is no display")
        self.world = world
        self.env = NOTHING | {"DISPLAY": f":{number}", "PATH": only(world, *programs)}

    def paste(self):
        """What the clipboard has; None if its owner went away in the middle of an answer."""
        try:
            done = subprocess.run(
                ["xclip", "-selection", "clipboard", "-out"], capture_output=True, timeout=5,
                env=self.world.environment(self.env | {"PATH": os.environ["PATH"]}), check=False)
        except subprocess.TimeoutExpired:
            return None
        return done.stdout if done.returncode == 0 else b""

    def copy(self, text):
        subprocess.run(
            ["xclip", "-selection", "clipboard"], input=text, timeout=20, check=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=self.world.environment(self.env | {"PATH": os.environ["PATH"]}))


def only(world, *programs):
    """A PATH with these programs alone, and with cat, which wl-copy needs."""
    folder = f"{world.folder}/only-{'-'.join(programs)}"
    os.makedirs(folder, exist_ok=True)
    for name in (*programs, "cat"):
        need(name)
        if not os.path.lexists(f"{folder}/{name}"):
            os.symlink(shutil.which(name, path="/usr/bin:/bin"), f"{folder}/{name}")
    return folder


def clearing(world):
    """The processes in the background that wait to clear a clipboard of this scenario."""
    pids = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            if b"clear-clipboard" not in words:
                continue
            with open(f"/proc/{pid}/environ", "rb") as file:
                variables = file.read().split(b"\0")
        except OSError:
            continue
        if f"HOME={world.folder}".encode() in variables:
            pids.append(int(pid))
    return pids


def wait_until(condition, what, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        expect(time.monotonic() < end, what)
        time.sleep(0.05)


def copies_and_clears(world, program):
    display = Display(world, program)
    world.set("k", SECRET)
    outcome = world.run("copy", "k", "--clear-after", "2s", env=display.env)
    expect(outcome.code == 0 and not outcome.out, outcome)
    expect(outcome.err.startswith("valet: 'k' is on the clipboard for 2s\n"), outcome.err)
    expect("a clipboard manager may keep it in its history" in outcome.err, outcome.err)
    # xsel takes the clipboard a moment after it has returned.
    wait_until(lambda: display.paste() == SECRET.encode(), "it was not copied")
    wait_until(lambda: display.paste() == b"", "the clipboard was not cleared")
    wait_until(lambda: not clearing(world), "the process stays")
    # What the user copies meanwhile is not ours.
    outcome = world.run("copy", "k", "--clear-after=1s", "--json", env=display.env)
    expect(outcome.out.decode() == '{"name":"k","byteCount":15,"clipboard":"%s",'
           '"clearedAfterSeconds":1}\n' % program and not outcome.err, outcome)
    wait_until(lambda: display.paste() == SECRET.encode(), "it was not copied")
    display.copy(b"mine")
    wait_until(lambda: not clearing(world), "the process stays")
    expect(display.paste() == b"mine", display.paste())
    outcome = world.run("copy", "k", "--clear-after", "never", env=display.env)
    expect("until something else is copied" in outcome.err and not clearing(world), outcome.err)
    wait_until(lambda: display.paste() == SECRET.encode(), "it was not copied")


# Promise: 4.11
@scenario
def by_xclip(world):
    """xclip gets a secret, which goes after its time unless something else was copied."""
    copies_and_clears(world, "xclip")


# Promise: 4.11
@scenario
def by_xsel(world):
    """xsel gets a secret where there is no xclip."""
    copies_and_clears(world, "xsel")


@scenario(users=EVERY_USER)
def interrupted(world):
    """A signal at the moment of copying does not keep the clipboard from being cleared."""
    world.set("k", SECRET)
    folder = only(world, "sh", "sleep")
    program = f"{folder}/xclip"
    with open(program, "w", encoding="utf-8") as file:
        # A clipboard that is a file, and a copy in the middle of which the user gives up.
        file.write(f"""#!/bin/sh
            case "$3" in
                -out) cat {world.folder}/clipboard;;
                *) cat >{world.folder}/clipboard
                   test -s {world.folder}/clipboard && kill -INT $PPID && sleep 0.2;;
            esac
            exit 0""")
    os.chmod(program, 0o755)
    outcome = world.run("copy", "k", "--clear-after", "2s",
                        env=NOTHING | {"DISPLAY": ":987", "PATH": folder})
    expect(outcome.code == -signal.SIGINT, outcome)
    path = f"{world.folder}/clipboard"
    expect(os.path.getsize(path) > 0, "it was not copied")
    wait_until(lambda: os.path.getsize(path) == 0, "the clipboard was not cleared")


@scenario(users=EVERY_USER)
def of_a_silent_owner(world):
    """A clipboard whose owner does not answer is cleared: it may have the secret."""
    world.set("k", SECRET)
    folder, path = only(world, "sh", "sleep"), f"{world.folder}/clipboard"
    with open(f"{folder}/xclip", "w", encoding="utf-8") as file:
        file.write(f"""#!/bin/sh
            case "$3" in -out) exec sleep 60;; *) cat >{path};; esac""")
    os.chmod(f"{folder}/xclip", 0o755)
    # The kernel would not tell how a child of a process that ignores SIGCHLD has ended.
    for number in (signal.SIGALRM, signal.SIGCHLD):
        outcome = world.run(
            "copy", "k", "--clear-after", "1s", preexec_fn=lambda: ignore(number),
            env=NOTHING | {"DISPLAY": ":987", "PATH": folder})
        expect(outcome.code == 0 and os.path.getsize(path) > 0, outcome)
        wait_until(lambda: os.path.getsize(path) == 0, "the clipboard was not cleared")


def ignore(number):
    signal.signal(number, signal.SIG_IGN)


def clipboard_of_files(world):
    """Makes an xclip whose clipboard is a file, and which does what other files say. Returns the
    path of that file and the environment."""
    folder, path = only(world, "sh", "sleep", "mv"), f"{world.folder}/clipboard"
    with open(f"{folder}/xclip", "w", encoding="utf-8") as file:
        file.write(f"""#!/bin/sh
            case "$*" in
                *TARGETS*) : >{path}.asked; test -e {path}.targets || exit 1; cat {path}.targets;;
                *-out) test -e {path}.unreadable && exit 1; cat {path};;
                *) test -e {path}.stuck && exit 1
                   cat >{path}.new; test -s {path}.new && given=1; mv {path}.new {path}
                   test "$given" || exit 0
                   test -e {path}.closing && : >{path}.stuck
                   test -e {path}.slow && sleep 30
                   test -e {path}.failing && exit 1;;
            esac
            exit 0""")
    os.chmod(f"{folder}/xclip", 0o755)
    return path, NOTHING | {"DISPLAY": ":987", "PATH": folder}


def touch(path, text=""):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


# Promise: 4.11
@scenario(users=EVERY_USER)
def by_a_program_that_fails(world):
    """A program that takes the secret and then fails leaves nothing on the clipboard."""
    world.set("k", SECRET)
    path, env = clipboard_of_files(world)
    for fault in ("failing", "slow"):
        touch(f"{path}.{fault}")
        outcome = world.run("copy", "k", env=env)
        os.remove(f"{path}.{fault}")
        expect(outcome.code == 1 and "there is no clipboard" in outcome.err, outcome)
        expect(os.path.getsize(path) == 0 and not clearing(world), fault)
    # If it cannot be emptied, the command says so.
    touch(f"{path}.failing")
    touch(f"{path}.closing")
    outcome = world.run("copy", "k", env=env)
    expect(outcome.code == 1 and "the secret may be on the clipboard" in outcome.err, outcome)
    # One that cannot be emptied in the first place gets no secret.
    touch(path, "mine")
    outcome = world.run("copy", "k", env=env)
    expect(outcome.code == 1 and "there is no clipboard" in outcome.err, outcome)
    with open(path, encoding="utf-8") as file:
        expect(file.read() == "mine", "it was given the secret")


# Promise: 4.11
@scenario(users=EVERY_USER)
def that_nobody_can_read(world):
    """A clipboard that cannot be read is emptied, unless what is on it is no text."""
    world.set("k", SECRET)
    path, env = clipboard_of_files(world)
    for targets, stays in ((None, False), ("TARGETS\nUTF8_STRING\n", False),
                           ("TARGETS\nimage/png\n", True)):
        outcome = world.run("copy", "k", "--clear-after", "1s", env=env)
        expect(outcome.code == 0 and os.path.getsize(path) > 0, outcome)
        touch(f"{path}.unreadable")
        if targets:
            touch(f"{path}.targets", targets)
        wait_until(lambda: os.path.exists(f"{path}.asked"), "nobody looks")
        if stays:
            time.sleep(1)
            expect(os.path.getsize(path) > 0, "a picture was removed")
        else:
            wait_until(lambda: os.path.getsize(path) == 0, "the clipboard was not emptied")
        os.remove(f"{path}.asked")
        os.remove(f"{path}.unreadable")


# Promise: 4.11
@scenario(script=LEAK_TEST)
def the_process_that_clears(world):
    """The process that clears a clipboard has neither the secret, a terminal nor the keychain."""
    need_root()
    display = Display(world, "xclip")
    secret, canary = pattern(5)[:32].hex().encode(), pattern(6)[:32].hex().encode()
    world.set("k", secret)
    seat = Seat(world, "copy", "k", "--clear-after", "1h",
                env=display.env | {"LANG": canary.decode()})
    output, code = seat.finish()
    expect(code == 0 and b"is on the clipboard for 1h" in output, code, output)
    wait_until(lambda: display.paste() == secret, "it was not copied")
    wait_until(lambda: len(clearing(world)) == 1, "there is no process")
    pid = clearing(world)[0]
    try:
        files = {number: os.readlink(f"/proc/{pid}/fd/{number}")
                 for number in os.listdir(f"/proc/{pid}/fd")}
        expect(set(files) == {"0", "1", "2"}, files)
        expect(files["1"] == files["2"] == "/dev/null" and files["0"].startswith("pipe:"), files)
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            fields = file.read().rpartition(")")[2].split()
        expect(int(fields[3]) == pid and fields[4] == "0", "a session and no terminal:", fields)
        with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
            expect("keychain" not in file.read(), "the keychain is mapped")
        regions = list(memory(pid))
        def holding(text):
            return [name for name, data in regions if text[:24] in data]
        expect(holding(canary), "the canary is not found: the search is worth nothing")
        expect(not holding(secret), "the secret is in", holding(secret))
        for process in filter(str.isdigit, os.listdir("/proc")):
            for name in ("cmdline", "environ"):
                try:
                    with open(f"/proc/{process}/{name}", "rb") as file:
                        expect(secret not in file.read(), f"in the {name} of {process}")
                except OSError:
                    pass
    finally:
        os.kill(pid, 15)


# Promise: 4.11
@scenario
def by_wayland(world):
    """wl-copy gets a secret first, unless it would keep it in a file on a disk."""
    need_root()
    for program in ("sway", "wl-copy", "wl-paste"):
        need(program)
    display = Display(world, "wl-copy", "wl-paste", "xclip")
    world.set("k", SECRET)
    private_mounts()
    runtime = "/mnt"
    mount("-t", "tmpfs", "none", runtime)
    os.chown(runtime, 65534, 65534)
    os.chmod(runtime, 0o700)
    env = {"XDG_RUNTIME_DIR": runtime}
    # The compositor refuses to run as root; root may connect to it.
    world.start(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sway", "-c", "/dev/null"],
        env | {"WLR_BACKENDS": "headless", "WLR_RENDERER": "pixman",
               "WLR_LIBINPUT_NO_DEVICES": "1", "HOME": runtime},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: os.path.exists(f"{runtime}/wayland-1"), "there is no compositor")
    env = display.env | env | {"WAYLAND_DISPLAY": "wayland-1"}

    def paste():
        done = subprocess.run(["wl-paste", "--no-newline"], env=world.environment(env),
                              capture_output=True, timeout=20, check=False)
        return done.stdout if done.returncode == 0 else b""

    outcome = world.run("copy", "k", env=env)
    expect(outcome.code == 0 and "wl-copy is left out" in outcome.err, outcome)
    wait_until(lambda: display.paste() == SECRET.encode(), "it was not copied")
    expect(paste() == b"", "copied by another program")
    for pid in clearing(world):
        os.kill(pid, 15)
    # From here on the temporary folder is in memory, as on newer systems.
    mount("-t", "tmpfs", "none", "/tmp")
    if not os.path.exists(world.home):
        world.home = f"{runtime}/home"
        world.set("k", SECRET)
        env["PATH"] = "/usr/bin:/bin"
    outcome = world.run("copy", "k", "--clear-after", "2s", "--json", env=env)
    expect(outcome.code == 0 and b'"clipboard":"wl-copy"' in outcome.out, outcome)
    wait_until(lambda: paste() == SECRET.encode(), "it was not copied")
    wait_until(lambda: paste() == b"", "the clipboard was not cleared")
    outcome = world.run("copy", "k", "--clear-after", "1s", env=env)
    wait_until(lambda: paste() == SECRET.encode(), "it was not copied")
    subprocess.run(["wl-copy", "mine"], env=world.environment(env), timeout=20, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: not clearing(world), "the process stays")
    expect(paste() == b"mine", paste())
    # A newer version, which has a hint for clipboard managers.
    os.mkdir(f"{runtime}/newer")
    for name in ("wl-copy", "wl-paste"):
        with open(f"{runtime}/newer/{name}", "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\ncat >/dev/null; echo '  -s, --sensitive  a secret'\n"
                       f"echo \"$@\" >>{runtime}/words\n")
        os.chmod(f"{runtime}/newer/{name}", 0o755)
    env["PATH"] = f"{runtime}/newer:{env['PATH']}"
    outcome = world.run("copy", "k", "--clear-after", "never", env=env)
    with open(f"{runtime}/words", encoding="utf-8") as file:
        expect(file.read() == "--clear\n--help\n--sensitive --type text/plain\n", outcome)


# Promise: 4.11
@scenario
def by_the_terminal(world):
    """Without a graphical session the terminal gets a secret, by OSC 52."""
    world.set("k", SECRET)
    sequence = b"\x1b]52;c;" + base64.b64encode(SECRET.encode()) + b"\x07"
    for env in (NOTHING, NOTHING | {"DISPLAY": ":987", "PATH": only(world, "xclip", "xsel")}):
        output, code = Seat(world, "copy", "k", env=env).finish()
        expect(code == 0 and output.count(sequence) == 1, code, output)
        expect(b"was sent to the terminal's clipboard until something else is copied" in output,
               output)
        expect(SECRET.encode() not in output and not clearing(world), output)
    # It can never be cleared: who asks for that gets nothing.
    output, code = Seat(world, "copy", "k", "--clear-after", "9s", env=NOTHING).finish()
    expect(code == 1 and b"\x1b]52" not in output, code, output)
    expect(b"'--clear-after never' copies by the terminal" in output, output)
    for name in ("linux", "dumb", "", "vt220"):
        output, code = Seat(world, "copy", "k", env=NOTHING | {"TERM": name}).finish()
        expect(code == 1 and b"\x1b]52" not in output, name, code, output)
    outcome = world.run("copy", "k", env=NOTHING)
    expect(outcome.code == 1 and not outcome.out, outcome)
    expect("there is no clipboard" in outcome.err and "install wl-clipboard" in outcome.err,
           outcome.err)


# Promise: 22.4
@scenario
def of_keys_of_codes(world):
    """A copy of what makes one-time codes is the code, and never the key."""
    display = Display(world, "xclip")
    key = b"GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
    uri = b"otpauth://hotp/x?secret=" + key + b"&counter=0"
    world.set("k", uri)
    world.set("lines", b"password\nuser: anna\n" + uri)
    world.set("p", b"pw")
    outcome = world.run("set", "p", "--field", "otp", input=uri)
    expect(outcome.code == 0, outcome)
    for words, text in ((("k",), b"755224"), (("k",), b"287082"), (("lines",), b"password"),
                        (("p", "--field", "otp"), b"755224"), (("p",), b"pw")):
        outcome = world.run("copy", *words, "--clear-after", "never", env=display.env)
        expect(outcome.code == 0 and key.decode() not in outcome.err, words, outcome)
        wait_until(lambda: display.paste() == text, f"{words}: not {text}")
    outcome = world.run("copy", "k", env=NOTHING | {"PATH": "/nowhere", "TERM": "dumb"})
    expect(outcome.code == 1 and "the code of counter 2 is used up" in outcome.err, outcome)


@scenario
def what_no_clipboard_takes(world):
    """Binary, empty and large secrets are not copied, nor is a time that cannot be."""
    display = Display(world, "xclip")
    display.copy(b"mine")
    world.set("binary", b"a\0b")
    world.set("large", b"x" * ((1 << 20) + 1))
    world.set("k", SECRET)
    for words, code, text in (
            (("binary",), 1, "'binary' is not text"), (("large",), 1, "is larger than 1 MiB"),
            (("none",), 44, "no 'none'"), (("k", "--clear-after", "0s"), 64, "does not take '0s'"),
            (("k", "--clear-after", "soon"), 64, "does not take 'soon'"),
            (("k", "other"), 64, "unexpected argument"), ((), 64, "expected KEY")):
        outcome = world.run("copy", *words, env=display.env)
        expect(outcome.code == code and text in outcome.err, words, outcome)
    expect(display.paste() == b"mine" and not clearing(world), display.paste())
    world.set("megabyte", b"y" * (1 << 20))
    outcome = world.run("copy", "megabyte", "--clear-after", "3s", env=display.env)
    expect(outcome.code == 0, outcome)
    wait_until(lambda: display.paste() == b"y" * (1 << 20), "it was not copied")
    # xclip gives a large text to one program at a time.
    wait_until(lambda: not clearing(world), "the process stays", 40)
    wait_until(lambda: display.paste() == b"", "the clipboard was not cleared")
    # Nobody else starts the process that clears: it does nothing without its hash.
    outcome = world.run("clear-clipboard", "--after", "1s", "--clipboard", "xclip",
                        env=display.env)
    expect(outcome.code == 64, outcome)
