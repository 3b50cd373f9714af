# SPDX-License-Identifier: Apache-2.0
"""The identity of programs whose file or environment suggests another one."""

import os
import pwd
import shutil
import subprocess

from support import ORDINARY, expect, need_root, scenario
import support


# Promise: 2.9
@scenario
def setuid(world):
    """A setuid program takes neither its name nor its keychain from a variable."""
    need_root()
    os.makedirs(f"{world.folder}/bin", mode=0o755)
    program = shutil.copy(support.COMMAND, f"{world.folder}/bin/valet")
    os.chown(program, 65534, -1)
    os.chmod(program, 0o4755)
    decoy = f"{world.folder}/decoy"
    env = {name: decoy for name in (
        "VALET_HOME", "HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "STATE_DIRECTORY",
        "VALET_DEVICE_KEY_FILE", "CREDENTIALS_DIRECTORY", "VALET_ENTITLEMENTS")}
    home = pwd.getpwuid(65534).pw_dir
    for words in (["status"], ["set", "k"], ["doctor"]):
        outcome = subprocess.run(
            [program, *words], env=world.environment(env), input=b"v", capture_output=True,
            user=1234, group=1234, extra_groups=[])
        text = (outcome.stdout + outcome.stderr).decode()
        expect(decoy not in text, words, "believes the environment:", text)
        expect(not os.path.exists(decoy), "something was made where a variable says")
        expect(home in text, words, f"says nothing of {home}:", text)


@scenario
def replaced(world):
    """A program whose file is replaced or removed keeps its name and its items."""
    os.makedirs(f"{world.folder}/bin")
    program = f"{world.folder}/bin/mailer"
    for change in ("removed", "replaced"):
        shutil.copy(support.AGENT, program)
        agent = world.agent(program=program)
        if change == "replaced":
            shutil.copy(support.AGENT, program + ".new")
            os.rename(program + ".new", program)
        else:
            os.remove(program)
        identity = agent.do("identity")
        expect(identity == "mailer", change, identity)
        agent.do(f"set {change} value")
        expect(agent.do(f"get {change}") == "value", change)
        agent.end()
    again = world.agent(program=program)
    expect(set(again.do("keys").split()) == {"removed", "replaced"}, "after a new start")
    again.end()
    world.doctor()


@scenario
def named_by_bundle(world):
    """An Info.plist that valet writes names the program for Foundation and the keychain."""
    folder = f"{world.folder}/bin"
    os.makedirs(folder)
    for name in ("mailer", "other"):
        shutil.copy(support.AGENT, f"{folder}/{name}")
    words = ["entitlements", "init", f"{folder}/mailer", "com.example.mailer"]
    outcome = world.run(*words, prefix=["sh", "-c", 'umask 0; exec "$@"', "sh"])
    expect(outcome.code == 0, "init", outcome)
    expect(world.run(*words).code == 73, "a second init")
    agent = world.agent(program=f"{folder}/mailer")
    expect(agent.do("bundle") == "com.example.mailer", "Foundation", agent.do("bundle"))
    expect(agent.do("identity") == "com.example.mailer", "the keychain", agent.do("identity"))
    agent.do("set token value")
    agent.end()
    other = world.agent(program=f"{folder}/other")
    expect(other.do("identity") == "other", "a program beside it", other.do("identity"))
    other.end()
    os.chmod(f"{folder}/Contents/Info.plist", 0o664)
    refused = world.agent(program=f"{folder}/mailer")
    answer = refused.ask("identity")
    expect("others may write the file" in answer, "a file that others may write", answer)
    refused.end()


ENTITLEMENTS = """<?xml version="1.0" encoding="UTF-8"?>
<plist version="1.0"><dict>
<key>application-identifier</key><string>declared</string>
<key>keychain-access-groups</key><array><string>declared.first</string></array>
</dict></plist>
"""


@scenario
def app_outranks(world):
    """The option --app names the program whatever the entitlements say."""
    path = f"{world.folder}/declared.entitlements"
    with open(path, "w") as file:
        file.write(ENTITLEMENTS)
    os.chmod(path, 0o644)
    declared = {"VALET_ENTITLEMENTS": path}
    world.set("k", "of nobody")
    world.set("k", "of the file", env=declared)
    world.set("k", "of the option", "--app", "chosen", env=declared)
    expect(world.get("k") == "of nobody", "without either")
    expect(world.get("k", env=declared) == "of the file", "with the file")
    for env in (None, declared):
        expect(world.get("k", "--app", "chosen", env=env) == "of the option", "--app", env)
        expect(world.run("remove", "k", "--app", "another", env=env).code == 44, "another", env)
    # With --app not even an unusable file matters.
    broken = {"VALET_ENTITLEMENTS": f"{world.folder}/missing"}
    expect(world.get("k", "--app", "chosen", env=broken) == "of the option", "a missing file")
    expect(world.run("get", "k", env=broken).code == 1, "a missing file counts without --app")


@scenario
def named_by_a_variable(world):
    """valet entitlements add completes the file that a variable names, which the program reads."""
    path = f"{world.folder}/named/mailer.entitlements"
    words = ("entitlements", "add", support.AGENT, "--identifier", "com.example.mailer")
    outcome = world.run(*words, env={"VALET_ENTITLEMENTS": path})
    expect(outcome.code == 0 and os.path.exists(path) and "warning" not in outcome.err, outcome)
    outcome = world.run("entitlements", "show", support.AGENT, env={"VALET_ENTITLEMENTS": path})
    expect(b"com.example.mailer" in outcome.out, outcome)
    # A file that was asked for is written, with a warning that the program does not read it.
    outcome = world.run(*words, "--for", "user", env={"VALET_ENTITLEMENTS": path})
    expect(outcome.code == 0 and "does not read it" in outcome.err, outcome)
    for verb in ("add", "show"):
        outcome = world.run("entitlements", verb, support.AGENT, *words[3:] * (verb == "add"),
                            env={"VALET_ENTITLEMENTS": "named"})
        expect(outcome.code == 1 and "not an absolute path" in outcome.err, outcome)


@scenario
def set_down(world):
    """A program finds what the command stores for it, and the command what the program stores."""
    world.set("token", "from the command", *support.AGENT_ITEMS)
    agent = world.agent()
    expect(agent.do("get token") == "from the command", "the program")
    agent.do("set token from-the-program")
    agent.end()
    expect(world.get("token", *support.AGENT_ITEMS) == "from-the-program", "the command")
    expect(world.run("get", "token").code == 44, "another program sees it")


@scenario
def given_another(world):
    """A program that gets an identifier finds its items again after a migration."""
    os.makedirs(f"{world.folder}/bin")
    program = shutil.copy(support.AGENT, f"{world.folder}/bin/mailer")

    def answer(*lines):
        agent = world.agent(program=program)
        answers = [agent.do(line) for line in lines]
        agent.end()
        return answers

    expect(answer("identity", "set k value") [0] == "mailer", "before")
    outcome = world.run("entitlements", "add", program, "--identifier", "com.example.mailer",
                        "--group", "team.shared")
    path = f"{world.folder}/.config/valet/entitlements/mailer.entitlements"
    expect(outcome.code == 0 and os.path.exists(path), outcome)
    outcome = world.run("entitlements", "show", program)
    expect(b"team.shared, com.example.mailer" in outcome.out, outcome)
    expect(answer("identity", "keys") == ["com.example.mailer", ""], "after")
    outcome = world.run("entitlements", "check", program)
    expect(outcome.code == 0 and b"migrate --app mailer --to-app com.example.mailer" in outcome.out,
           outcome)
    outcome = world.run("migrate", "--app", "mailer", "--to-app", "com.example.mailer")
    expect(outcome.code == 0, outcome)
    expect(answer("get k") == ["value"], "after the migration")


@scenario(users=(ORDINARY,))
def closed_home(world):
    """A folder that a program may not search has no file for it, as in a service without homes."""
    closed = f"{world.folder}/closed"
    os.mkdir(closed, 0)
    env = {"XDG_CONFIG_HOME": f"{closed}/config"}
    outcome = world.run("set", "a", input=b"value", env=env)
    expect(outcome.code == 0, outcome)
    expect(world.run("get", "a", env=env).out == b"value", "not found")
    os.chmod(closed, 0o700)
