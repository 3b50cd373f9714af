# SPDX-License-Identifier: Apache-2.0
"""Executes the blocks of docs/INSTALL.md in a clean Debian. scripts/test-packages calls it.

sh, sh root      executed by bash, in the folder of the packages, as anna or root
text             what the block before it printed to standard output
ini              a unit: written, verified, and its ExecStart run as systemd would run it
yaml, shell, dockerfile   written to the path in the first line; YAML has to parse
console          not executed
"""

import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
from typing import NamedTuple

import yaml

ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8",
               "DEBIAN_FRONTEND": "noninteractive"}
# What a login makes for anna.
SESSION = "/run/user/1000"
HOMES = {"root": "/root", "anna": "/home/anna"}


class Block(NamedTuple):
    kind: str
    body: str


class Part(NamedTuple):
    title: str
    blocks: list


def parts(text):
    """The parts of the page, each with its blocks, in their order."""
    found = []
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        blocks = re.findall(r"^```(\S[^\n]*)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
        found.append(Part(section.split("\n")[0], [Block(*block) for block in blocks]))
    return found


def inside(root, user, *command, home=None, **variables):
    """Runs a command in the root, where it sees only itself and what it starts."""
    words = ["unshare", "--mount", "--pid", "--fork", "--kill-child", f"--mount-proc={root}/proc",
             "chroot", str(root)]
    if user != "root":
        words += ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]
    environment = ENVIRONMENT | {"HOME": home or HOMES[user]} | variables
    if user == "anna":
        environment["XDG_RUNTIME_DIR"] = SESSION
    return subprocess.run([*words, *command], text=True, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=600, env=environment)


def follow(part, root, say, fail):
    """Executes the blocks of a part, and returns what each printed."""
    printed, answer = [], None
    for block in part.blocks:
        kind, body = block
        if kind == "console":
            say(f"{part.title}: not executed: {'; '.join(body.strip().splitlines())}")
            continue
        if kind == "text":
            # A value that is not written to a terminal has no newline.
            if answer not in (body, body.removesuffix("\n")):
                fail(f"{part.title}: the page says\n{body}and the block before it printed\n"
                     + answer)
            continue
        if kind in ("sh", "sh root"):
            user = "root" if kind.endswith("root") else "anna"
            script = "set -e\numask 022\ncd /packages\n" + body
            result = inside(root, user, "bash", "-c", script)
        elif kind == "ini":
            result = start_service(write(root, block), root, say)
        else:
            path = write(root, block)
            if kind == "yaml":
                yaml.safe_load(path.read_text())
            continue
        if result.returncode != 0:
            fail(f"{part.title}: exit code {result.returncode} of\n{body}"
                 f"{result.stdout}{result.stderr}")
        answer = result.stdout
        printed.append(result.stdout + result.stderr)
    return printed


def write(root, block):
    """Writes a file to the path that its first line names."""
    name = block.body.split("\n")[0].removeprefix("# ")
    path = root / name.replace("~", HOMES["anna"], 1).removeprefix("/")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.body)
    return path


def start_service(unit, root, say):
    """Does for a service what systemd would do: the clean root has no manager that runs."""
    name = "/" + str(unit.relative_to(root))
    verified = inside(root, "root", "systemd-analyze", "verify", name)
    if verified.returncode != 0 or verified.stderr.strip():
        verified.returncode = verified.returncode or 1
        return verified
    settings = dict(re.findall(r"^(\w+)=(.*)$", unit.read_text(), re.MULTILINE))
    user, state = settings["User"], "/var/lib/" + settings["StateDirectory"]
    credential, sealed = settings["LoadCredentialEncrypted"].split(":")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="credentials.", dir=root / "run"))
    place = "/" + str(folder.relative_to(root))
    try:
        opened = inside(root, "root", "sh", "-c", (
            f"umask 377; systemd-creds decrypt --name={credential} {sealed} "
            f"{place}/{credential} && chown -R {user} {place}"))
        if opened.returncode != 0:
            return opened
        say(f"{unit.name}: verified; systemd does not run here, so its ExecStart is run without it")
        return inside(root, user, *shlex.split(settings["ExecStart"]), home="/nonexistent",
                      STATE_DIRECTORY=state, CREDENTIALS_DIRECTORY=place)
    finally:
        shutil.rmtree(folder)


def build_container(part, root, say, fail):
    """Builds the image of the page from the clean root, and reads a secret in a container of it."""
    [block] = [block for block in part.blocks if block.kind == "dockerfile"]
    say("Containers: not executed: the stage 'build', which needs Swift's image")
    build, final = block.body.split("FROM docker.io/library/debian:bookworm-slim\n")
    stages = "FROM scratch AS build\nCOPY packages /packages\nFROM scratch\nCOPY base /\n" + final
    if "AS build\n" not in build:
        fail("Containers: the first stage is not called build")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "Containerfile").write_text(stages)
        shutil.copytree(root / "packages", folder / "packages")
        (folder / "base").mkdir()
        subprocess.run(["mount", "--bind", root, folder / "base"], check=True)
        try:
            return run_container(folder, root, fail)
        finally:
            subprocess.run(["umount", folder / "base"], check=True)


def run_container(folder, root, fail):
    keychain = folder / "keychain"
    shutil.copytree(root / "home/anna/.local/share/valet", keychain)
    shutil.copytree(root / "home/anna/.local/state/valet", keychain / "device")
    buildah = ["buildah", "--storage-driver=vfs", f"--root={folder}/store",
               f"--runroot={folder}/run"]
    for command in [
        ["bud", "--isolation=chroot", "--quiet", "--tag=valet", str(folder)],
        ["from", "--name=one", "valet"],
        ["run", "--isolation=chroot", f"--volume={keychain}:/keychain", "--user=root",
         "--env=VALET_HOME=/keychain", "one", "--", "valet", "get", "mail-password"],
    ]:
        result = subprocess.run(buildah + command, text=True, stdin=subprocess.DEVNULL,
                                capture_output=True, timeout=600)
        if result.returncode != 0:
            fail(f"Containers: buildah {command[0]} exits {result.returncode}:\n{result.stderr}")
    if result.stdout.strip() != "correct horse battery staple":
        fail(f"Containers: the container printed {result.stdout}")
