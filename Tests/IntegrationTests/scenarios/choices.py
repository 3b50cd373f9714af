# SPDX-License-Identifier: Apache-2.0
"""Damage of one item does not decide which other item a command or a helper takes."""

import json
import os

from clients import SITE, docker, git
from desktop import Desktop, by_hand, gnome_keyring
from support import expect, scenario, wait_for

ENTITLEMENTS = """<?xml version="1.0" encoding="UTF-8"?>
<plist version="1.0"><dict><key>application-identifier</key><string>TEAM.app</string>
<key>keychain-access-groups</key><array><string>TEAM.g1</string><string>TEAM.g2</string></array>
</dict></plist>
"""


def damage(world, where="number = (SELECT min(number) FROM item)"):
    """Damages the item that was stored first."""
    world.doctored(f"UPDATE item SET salt = salt + 1 WHERE {where}")


def refused(world, *words, input=b"", **options):
    outcome = world.run(*words, input=input, **options)
    expect(outcome.code == 65 and "damaged" in outcome.err, words, outcome)


# Promise: 14.2
@scenario
def of_passwords(world):
    """A command does not take the second of two passwords as the only one.

    A password that the command line names is found beside a damaged one.
    """
    for name in ("anna", "bert"):
        world.set(name, f"of {name}", "--service", "svc")
    expect(world.run("get", "--service", "svc").code == 64, "not ambiguous")
    damage(world)
    for words in (("get",), ("set",), ("show",), ("remove", "--yes"),
                  ("remove", "--yes", "--purge"), ("otp",)):
        refused(world, *words, "--service", "svc", input=b"new")
    expect(world.get("bert", "--service", "svc") == "of bert", "bert was changed")
    expect(world.run("contains", "--service", "svc").code == 0, "bert is there")
    world.set("bert", "new", "--service", "svc")
    expect(world.get("bert", "--service", "svc") == "new", "bert was not changed")
    listed = world.run("list", "--names")
    expect(listed.code == 65 and listed.out == b"bert\n", listed)


# Promise: 14.2
@scenario
def of_groups(world):
    """A damaged item of the first access group does not make a command take that of the second."""
    path = os.path.join(world.folder, "two.entitlements")
    with open(path, "w", encoding="utf-8") as file:
        file.write(ENTITLEMENTS)
    os.chmod(path, 0o600)
    env = {"VALET_ENTITLEMENTS": path}
    for group in ("TEAM.g1", "TEAM.g2"):
        world.set("a", f"value of {group}", "--service", "svc", "--group", group, env=env)
    damage(world)
    for words in (("get",), ("set",), ("remove", "--yes")):
        refused(world, *words, "a", "--service", "svc", input=b"new", env=env)
    refused(world, "get", "a", "--service", "svc", "--group", "TEAM.g1", env=env)
    found = world.get("a", "--service", "svc", "--group", "TEAM.g2", env=env)
    expect(found == "value of TEAM.g2", found)


# Promise: 14.2
@scenario
def of_logins(world):
    """A helper of git, docker or AWS does not return another login than the damaged one.

    It returns those that the damaged login cannot be, and stores in place of it.
    """
    named = (*SITE, "username=ann")
    git(world, "store", *named, "password=one")
    git(world, "store", *SITE, "username=ben", "password=two")
    other = ("protocol=https", "host=other.example")
    git(world, "store", *other, "username=cid", "password=three")
    expect("username=ben" in git(world, "get", *SITE), "not the newest")
    damage(world, "number = 2")
    git(world, "get", *SITE, code=65)
    git(world, "get", *SITE, "username=ben", code=65)
    expect("password=one" in git(world, "get", *named), "named")
    expect("password=three" in git(world, "get", *other), "another server")
    # A stored login of another form may be the damaged one.
    git(world, "get", "protocol=https", "host=third.example", code=65)
    git(world, "erase", *SITE, code=65)
    git(world, "store", *SITE, "username=ben", "password=four")
    expect("password=four" in git(world, "get", *SITE), "not replaced")
    world.doctored("UPDATE item SET secret = zeroblob(length(secret)) WHERE number = "
                   "(SELECT max(number) FROM item)")
    git(world, "get", *SITE, code=65)
    git(world, "store", *SITE, "username=ben", "password=four")
    expect("password=four" in git(world, "get", *SITE), "the value is not replaced")
    expect(git(world, "get", "protocol=https", "host=third.example") == [], "not sound")

    login = {"ServerURL": "r.example", "Username": "u", "Secret": "s"}
    docker(world, "store", json.dumps(login))
    world.doctored("UPDATE item SET salt = salt + 1 WHERE number = (SELECT max(number) FROM item)")
    expect(b"damaged" in docker(world, "get", "r.example", code=1), "docker")
    expect(json.loads(docker(world, "list")) == {}, "a damaged login is listed")
    docker(world, "store", json.dumps({**login, "Secret": "t"}))
    expect(json.loads(docker(world, "get", "r.example"))["Secret"] == "t", "docker")

    keys = json.dumps({"Version": 1, "AccessKeyId": "A", "SecretAccessKey": "B"}).encode()
    expect(world.run("aws-credentials", "store", "p", input=keys).code == 0, "aws")
    world.doctored("UPDATE item SET salt = salt + 1 WHERE number = (SELECT max(number) FROM item)")
    refused(world, "aws-credentials", "get", "p")
    refused(world, "aws-credentials", "remove", "p")
    expect(world.run("aws-credentials", "store", "p", input=keys).code == 0, "aws")
    expect(world.run("aws-credentials", "get", "p").code == 0, "aws")


# Promise: 14.2
@scenario
def of_imports(world):
    """An import does not put an item in the place of a damaged one."""
    def import_(*words, code=0):
        lines = b"".join(b"machine a login %s password %s\n" % (name, words[0]) for name in
                         (b"ann", b"ben"))
        outcome = world.run("import", "--from", "netrc", "-", *words[1:], input=lines)
        expect(outcome.code == code, words, outcome)
    import_(b"one")
    damage(world)
    for words in ((), ("--replace",), ("--skip-existing",), ("--dry-run",)):
        import_(b"two", *words, code=65)
    expect(world.get("ben", "--server", "a") == "one", "an item was replaced")
    refused(world, "get", "ann", "--server", "a")


# Promise: 14.2
@scenario
def of_exports(world):
    """An export to another keyring does not overwrite there what belongs to a damaged item."""
    desktop = Desktop(world)
    desktop.serve()
    desktop.store(b"first", "application", "chrome", label="a label")

    def export(*words, code=0):
        outcome = world.run("export", "--to", "secret-service", *words, env=desktop.env)
        expect(outcome.code == code, words, outcome)

    def in_keyring(*words, code=0):
        desktop.kill()
        keyring = gnome_keyring(world, desktop)
        export(*words, code=code)
        found = desktop.lookup("application", "chrome")
        keyring.kill()
        wait_for(lambda: not desktop.is_there(), "the end of the keyring")
        desktop.serve()
        return found
    expect(in_keyring() == b"first", "exported")
    by_hand(world, "twin", desktop=desktop)
    damage(world)
    expect(in_keyring("--replace", code=65) == b"first", "overwritten")
