# SPDX-License-Identifier: Apache-2.0
"""A secret in an editor: what is stored, and what is left."""

import os
import re
import signal
import subprocess
import tempfile
import time

from seats import Seat
from support import (COMMAND, EVERY_USER, LEAK_TEST, expect, kill_session, mount, need,
                     need_root, private_mounts, scenario)

PLACES = ("/dev/shm/", "/run/user/")
# A configuration that keeps copies of everything.
VIMRC = """set backup writebackup undofile swapfile viminfo='100,<1000 history=1000
set backupdir=~/copies directory=~/copies undodir=~/copies
"""
NVIMRC = VIMRC.replace("viminfo", "shada")


def script(world, text):
    """An editor that is a shell script, and notes its folder first; its file is "$1"."""
    path = f"{world.folder}/editor"
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\ndirname -- "$1" >{world.folder}/noted\n{text}')
    os.chmod(path, 0o755)
    return {"EDITOR": path, "VISUAL": None}


def noted(world):
    """The folder of the script's last run."""
    with open(f"{world.folder}/noted", encoding="utf-8") as file:
        path = file.read().strip()
    expect(path.startswith(PLACES), "not in memory:", path)
    return path


def edit(world, text, *words, key="k"):
    """Edits by a script. Returns what was shown, and the exit code."""
    output, code = Seat(world, "edit", key, *words, env=script(world, text)).finish()
    if os.path.exists(f"{world.folder}/noted"):
        expect(not os.path.exists(noted(world)), "the folder is left")
    return output, code


def child_of(pid):
    """The only child of a process."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        return int(file.read())


def state_of(pid):
    """The letter of a process's state, as ps(1) has it."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rsplit(") ", 1)[1][0]


def folder_of(pid):
    """The folder of the file that the editor of a command has open."""
    with open(f"/proc/{child_of(pid)}/cmdline", "rb") as file:
        return os.path.dirname(file.read().split(b"\0")[-2].decode())


def configured(world):
    """Has vim and neovim keep copies in the home folder, if they were left to."""
    os.makedirs(f"{world.folder}/copies", exist_ok=True)
    os.makedirs(f"{world.folder}/.config/nvim", exist_ok=True)
    for path, text in ((".vimrc", VIMRC), (".config/nvim/init.vim", NVIMRC)):
        with open(f"{world.folder}/{path}", "w", encoding="utf-8") as file:
            file.write(text)


def has(folder, text):
    """The files below a folder that contain a text."""
    return subprocess.run(
        ["grep", "-rlaF", text, folder], capture_output=True, check=False).stdout.decode().split()


KEYS = {
    "vim": (b"~", b"Aplus\x1b:wq\r"), "nvim": (b"~", b"Aplus\x1b:wq\r"),
    "nano": (b"Exit", b"\x05plus\x0f\r\x18"),
}


# Promise: 4.10
@scenario(users=EVERY_USER, script=LEAK_TEST)
def with_each_editor(world):
    """An editor changes a secret, adds no newline, and leaves nothing in the home folder."""
    configured(world)
    for editor, (sign, keys) in KEYS.items():
        need(editor)
        world.set("k", "hunter2-7f3a")
        seat = Seat(world, "edit", "k", env={"EDITOR": editor, "VISUAL": None})
        seat.see(sign)
        folder = folder_of(seat.process.pid)
        expect(folder.startswith(PLACES), "not in memory:", folder)
        expect(os.stat(folder).st_mode & 0o777 == 0o700, "not private")
        seat.type(keys)
        output, code = seat.finish()
        expect(code == 0, editor, code, output)
        expect(b"valet: 'k' is stored" in output, editor, output)
        expect(world.get("k") == "hunter2-7f3aplus", editor, world.get("k"))
        expect(not os.path.exists(folder), editor, "left its folder")
        left = has(world.folder, "hunter2-7f3a")
        expect(not left, editor, "left copies in", left)


# Promise: 4.10
@scenario(script=LEAK_TEST)
def creates_no_file_elsewhere(world):
    """While a secret is edited no file is created outside of the memory's folder."""
    need("strace")
    configured(world)
    world.set("k", "hunter2-7f3a")
    for editor, (sign, keys) in KEYS.items():
        need(editor)
        trace = f"{world.folder}/trace"
        seat = Seat(world, "edit", "k", env={"EDITOR": editor, "VISUAL": None},
                    prefix=("strace", "-f", "-o", trace, "-s", "300", "-e",
                            "trace=open,openat,creat,rename,renameat,renameat2,link,linkat,mkdir"))
        seat.see(sign, 60)
        seat.type(keys)
        output, code = seat.finish(60)
        expect(code == 0, editor, output)
        with open(trace, encoding="utf-8", errors="replace") as file:
            lines = [line for line in file if re.search(r"O_CREAT|creat\(|rename|link|mkdir", line)
                     and "= -1" not in line]
        inside = [line for line in lines if re.search(r'"(?:/dev/shm|/run/user/\d+)/valet-', line)]
        expect(inside or editor == "nano", editor, "the trace shows nothing")
        paths = [path for line in lines for path in re.findall(r'"(/[^"]*)"', line)]
        foreign = [path for path in paths if not path.startswith(
            (*PLACES, world.home, "/dev/", "/proc/"))]
        # neovim listens in a folder of its own, and makes folders for its state; vim checks
        # whether it may write beside the file. None is a file with text.
        foreign = [path for path in foreign if not re.search(r"/nvim(?:\.|/|$)|/\.local|/\.cache",
                                                             path)]
        expect(not foreign, editor, "created", foreign)
        expect(not has(f"{world.folder}/copies", "hunter2"), "copies")


@scenario(users=EVERY_USER)
def stores_what_changed(world):
    """Editing stores a changed text after the editor has ended well, and nothing otherwise."""
    world.set("k", "one")
    output, code = edit(world, "exit 0")
    expect(code == 0 and b"'k' is unchanged" in output, code, output)
    output, code = edit(world, 'echo >>"$1"')
    expect(code == 0 and b"'k' is unchanged" in output, "an added newline:", code, output)
    output, code = edit(world, 'printf two >"$1"; exit 1')
    expect(code == 1 and b"the editor failed: nothing was changed" in output, code, output)
    output, code = edit(world, 'printf two >"$1"; kill -KILL $$')
    expect(code == 1 and b"the editor failed" in output, code, output)
    output, code = edit(world, 'printf "" >"$1"')
    expect(code == 64 and b"the secret is empty" in output, code, output)
    output, code = edit(world, 'rm "$1"')
    expect(code == 1 and b"No such file" in output, code, output)
    output, code = edit(world, 'ln -sf /etc/passwd "$1"')
    expect(code == 1, "a link was followed:", code, output)
    expect(world.get("k") == "one", world.get("k"))
    output, code = edit(world, 'printf "two\\n" >"$1".new; mv "$1".new "$1"', "--json")
    expect(code == 0 and b'{"name":"k","byteCount":3,"changed":true}' in output, code, output)
    expect(world.get("k") == "two", world.get("k"))
    world.set("lines", "a\nb\n")
    edit(world, 'echo c >>"$1"', key="lines")
    expect(world.get("lines") == "a\nb\nc\n", world.get("lines"))
    # The whole environment, with options and a shell's words in the name of the editor.
    env = script(world, 'printf %s "$1|$LONG" >"$2"')
    env |= {"VISUAL": env["EDITOR"] + " -x", "EDITOR": "false", "LONG": "é" * 99}
    _, code = Seat(world, "edit", "k", env=env).finish()
    expect(world.get("k") == "-x|" + "é" * 99, world.get("k"))
    env["VISUAL"] = "true; LONG=$(echo short) " + env["VISUAL"]
    Seat(world, "edit", "k", env=env).finish()
    expect(world.get("k") == "-x|short", world.get("k"))


@scenario(users=EVERY_USER)
def a_new_secret(world):
    """Editing a name that has no secret makes one, where the options say."""
    output, code = edit(world, 'test ! -s "$1" && echo value >"$1"', "--cloud")
    expect(code == 0 and b"'k' is stored" in output, code, output)
    expect(world.get("k", "--cloud") == "value", "not shared")
    output, code = edit(world, 'printf x >"$1"', "--local")
    expect(code == 64 and b"'k' is stored otherwise: when-unlocked, shared" in output, output)
    output, code = edit(world, "exit 0", key="none")
    expect(code == 0 and b"unchanged" in output, code, output)
    expect(world.run("contains", "none").code == 44, "an empty secret was stored")


# Promise: 4.10
@scenario(users=EVERY_USER)
def overtaken(world):
    """A secret that another program changes while it is edited keeps that program's value.

    What was typed becomes a secret of its own.
    """
    world.set("k", "one", "--accessibility", "after-first-unlock")
    late = b"another program changed 'k' meanwhile: your text is now the secret 'k.edited"
    output, code = edit(world, f'printf other | {COMMAND} set k; printf mine >"$1"')
    expect(code == 1 and late + b"'" in output, code, output)
    expect(world.get("k") == "other", world.get("k"))
    expect(world.get("k.edited", "--accessibility", "after-first-unlock") == "mine", "the text")
    # The same value again, and a removal: both are changes.
    output, code = edit(world, f'printf other | {COMMAND} set k; printf second >"$1"')
    expect(code == 1 and late + b"-2'" in output, code, output)
    output, code = edit(world, f'{COMMAND} remove --yes k; printf third >"$1"')
    expect(code == 1 and late + b"-3'" in output, output)
    expect(world.run("contains", "k").code == 44, "a removed secret is there again")
    output, code = edit(world, f'printf other | {COMMAND} set k; printf fourth >"$1"')
    expect(code == 1 and late + b"-4'" in output, code, output)
    expect(world.get("k") == "other" and world.get("k.edited-4") == "fourth", world.get("k"))


@scenario
def tried_again(world):
    """A text that cannot be stored is kept for another try, and gone only if nobody wants it."""
    world.set("k", "old")
    holder = world.agent()
    for answer, code, value in ((b"y", 0, "mine"), (b"n", 75, "mine")):
        holder.do(f"hold {world.home}")
        seat = Seat(world, "edit", "k", env=script(world, f'printf {value}{code} >"$1"'))
        seat.see(b"busy")
        seat.see(b"Try again? [y/N] ")
        holder.do("release")
        seat.type(answer + b"\n")
        output, ended = seat.finish()
        expect(ended == code, answer, ended, output)
        expect(world.get("k") == "mine0", answer, world.get("k"))
    expect(b"nothing was stored: your text is gone" in output, output)
    holder.end()


# Promise: 4.10
@scenario(users=EVERY_USER)
def leaves_no_files(world):
    """What an editor writes beside the secret's file, and into its temporary folder, goes."""
    world.set("k", "one")
    output, code = edit(world, '''
        test "$TMPDIR" = "$(dirname "$1")" || exit 9
        test "$(stat -f -c %T "$TMPDIR")" = tmpfs || exit 8
        cp "$1" "$1~"; cp "$1" "$TMPDIR/.secret.swp"; chmod 000 "$1~"
        mkdir -p "$TMPDIR/a/b/c"; cp "$1" "$TMPDIR/a/b/c/d"; ln "$1" "$TMPDIR/hard"
        ln -s /etc/passwd "$TMPDIR/link"; mkfifo "$TMPDIR/pipe"; printf two >"$1"''')
    expect(code == 0 and os.path.getsize("/etc/passwd") > 0, code, output)
    expect(world.get("k") == "two", world.get("k"))


# Promise: 4.10
@scenario(users=EVERY_USER)
def signals(world):
    """Signals end editor and command, with nothing left and nothing stored."""
    world.set("k", "one")
    for number, resists in ((signal.SIGTERM, False), (signal.SIGHUP, False),
                            (signal.SIGTERM, True)):
        trap = "trap '' TERM; " if resists else ""
        seat = Seat(world, "edit", "k", env=script(
            world, trap + 'printf two >"$1"; echo ready; while :; do sleep 0.1; done'))
        seat.see(b"ready")
        expect(os.path.exists(f"{noted(world)}/secret"), "no folder")
        begin = time.monotonic()
        os.kill(seat.process.pid, number)
        _, code = seat.finish()
        expect(code == -number, "ended with", code)
        expect(time.monotonic() - begin < 8, "too slow")
        expect(not os.path.exists(noted(world)), "the folder is left")
    # Nobody can tidy up after SIGKILL but the next edit.
    seat = Seat(world, "edit", "k", env=script(world, "echo ready; sleep 60"))
    seat.see(b"ready")
    left = noted(world)
    kill_session(seat.process)
    expect(os.path.exists(left), "SIGKILL was not too fast")
    edit(world, "exit 0")
    expect(not os.path.exists(left), "the folder of the killed command is left")
    # The interrupt key is the editor's.
    seat = Seat(world, "edit", "k", env=script(
        world, "trap 'printf three >\"$1\"; exit 0' INT; echo ready; while :; do sleep 0.1; done"))
    seat.see(b"ready")
    seat.type(b"\x03")
    output, code = seat.finish()
    expect(code == 0 and world.get("k") == "three", code, output)
    expect(not os.path.exists(noted(world)), "the folder is left")


# Promise: 4.10
@scenario(users=EVERY_USER)
def as_a_job(world):
    """A shell stops, continues and ends an editor with the command as one job."""
    need("bash")
    need("vim")
    world.set("k", "one")
    shell = Seat(world, "--norc", "-i", command="/bin/bash",
                 env={"EDITOR": "vim", "VISUAL": None, "PS1": "READY> "})
    for ending in (b"fg\n", b"kill %1\n"):
        shell.see(b"READY> ")
        shell.type(f"{COMMAND} edit k\n".encode())
        shell.see(b"~")
        job = child_of(shell.process.pid)
        folder = folder_of(job)
        shell.type(b"\x1a")
        shell.see(b"READY> ")
        # vim stops itself after it has stopped the job: 'fg' before that would stop it once more.
        end = time.monotonic() + 20
        while state_of(child_of(job)) != "T":
            expect(time.monotonic() < end, "the editor does not stop")
        expect(os.path.isdir(folder), "no folder:", folder)
        shell.type(ending)
        if ending == b"fg\n":
            shell.see(b"~")
            shell.type(b"Aplus\x1b:wq\r")
            shell.see(b"'k' is stored")
        end = time.monotonic() + 20
        while os.path.exists(folder):
            shell.read()
            expect(time.monotonic() < end, "the folder is left after", ending)
    # From the background the editor cannot use the terminal.
    # What the shell says of the former job comes before this.
    shell.type(b"echo for''mer\n")
    shell.see(b"former\r\n")
    shell.type(f"{COMMAND} edit k & sleep 1; jobs\n".encode())
    shell.see(b"Stopped")
    shell.type(b"fg\n")
    shell.see(b"~")
    shell.type(b":q!\r")
    shell.see(b"'k' is unchanged")
    shell.type(b"exit\n")
    shell.finish()
    expect(world.get("k") == "oneplus", world.get("k"))


@scenario(users=EVERY_USER)
def stopped_alone(world):
    """An editor that stops without the command stops the whole job; the shell continues both."""
    need("bash")
    world.set("k", "one")
    env = script(world, 'kill -STOP $$\nprintf two >"$1"')
    shell = Seat(world, "--norc", "-i", command="/bin/bash", env={**env, "PS1": "READY> "})
    shell.see(b"READY> ")
    shell.type(f"{COMMAND} edit k\n".encode())
    shell.see(b"Stopped")
    shell.see(b"READY> ")
    shell.type(b"fg\n")
    shell.see(b"'k' is stored")
    shell.type(b"exit\n")
    shell.finish()
    expect(world.get("k") == "two", world.get("k"))


@scenario(users=EVERY_USER)
def refusals(world):
    """Without a terminal, an editor or a text there is nothing to edit."""
    world.set("k", "one")
    env = script(world, 'printf two >"$1"')
    outcome = world.run("edit", "k", env=env)
    expect(outcome.code == 64 and "an editor needs a terminal" in outcome.err, outcome)
    for words, changes in ((("-n",), {}), ((), {"VALET_INTERACTION": "never"})):
        output, code = Seat(world, "edit", "k", *words, env=env | changes).finish()
        expect(code == 64 and b"cannot open an editor" in output, code, output)
    output, code = Seat(world, "edit", "k", env={"EDITOR": "no-such", "VISUAL": ""}).finish()
    expect(code == 127 and b"there is no editor 'no-such'" in output, code, output)
    world.set("binary", b"a\0b")
    output, code = edit(world, 'printf two >"$1"', key="binary")
    expect(code == 1 and b"'binary' is not text" in output, code, output)
    output, code = edit(world, 'printf "a\\000b" >"$1"', key="k")
    expect(code == 64 and b"the editor left no text" in output, code, output)
    expect(world.get("k") == "one" and world.run("get", "binary").out == b"a\0b", "changed")


# Promise: 4.10
@scenario
def without_memory(world):
    """Where no folder is in memory the secret is not written to a disk."""
    need_root()
    world.set("k", "one")
    private_mounts()
    disk, image = f"{world.folder}/disk", f"{world.folder}/image"
    os.mkdir(disk)
    subprocess.run(["mkfs.ext4", "-q", "-F", image, "8M"], check=True, timeout=60)
    mount("-o", "loop", image, disk)
    empty = f"{disk}/empty"
    os.mkdir(empty)
    if os.path.isdir(f"/run/user/{os.geteuid()}"):
        mount("--bind", empty, f"/run/user/{os.geteuid()}")
    # Tests may run there themselves: their folder stays.
    own = "/".join(world.folder.split("/")[:4]) if world.folder.startswith("/dev/shm/") else None
    stash = tempfile.mkdtemp(dir="/var/tmp")
    if own:
        mount("--rbind", own, stash)
    mount("--bind", empty, "/dev/shm")
    if own:
        os.mkdir(own)
        mount("--rbind", stash, own)
        subprocess.run(["umount", "--lazy", stash], check=True, timeout=60)
    os.rmdir(stash)
    before = os.listdir(empty)
    output, code = edit(world, f'cp "$1" {world.folder}/seen')
    expect(code == 1 and b"could not make a folder in memory" in output, code, output)
    expect(b"must be a tmpfs" in output and os.listdir(empty) == before, output)
    expect(not os.path.exists(f"{world.folder}/seen"), "the editor ran")
