# SPDX-License-Identifier: Apache-2.0
"""Secrets that come from other programs, and go back to them: valet import and valet export."""

import fcntl
import hashlib
import json
import os
import shutil
import signal
import subprocess
import termios
import time
import zipfile

from kills import calls, chosen, killed, report
from support import (COMMAND, CRASH_TEST, Skip, expect, is_listening, kill_session, need,
                     scenario, wait_for)


def imported(world, source, *words, input=b"", code=0, env=None):
    """Imports, and returns the report."""
    outcome = world.run("import", "--from", source, "--json", *words, input=input, env=env)
    expect(outcome.code == code, source, *words, outcome)
    return json.loads(outcome.out) if outcome.out else None


def counts(report):
    return {name: report[name] for name in ("added", "replaced", "kept", "same", "conflicts")
            if report[name]}


def names(report):
    return sorted((item["kind"], item["owner"], item["name"]) for item in report["items"])


def digest(folder):
    """Returns what is in a folder."""
    found = {}
    for path, _, files in os.walk(folder):
        for name in files:
            with open(os.path.join(path, name), "rb") as file:
                found[os.path.join(path, name)] = hashlib.sha256(file.read()).digest()
    return found


# Promise: 4.4
@scenario
def with_collisions(world):
    """An import changes all or nothing, and an option decides about items that exist already."""
    first, second = b"A=1\nB=2\n", b"A=1\nB=other\nC=3\n"
    expect(counts(imported(world, "dotenv", "--dry-run", input=first)) == {"added": 2}, "dry run")
    expect(world.run("list", "--json").out.count(b'"name"') == 0, "a dry run stores")
    expect(counts(imported(world, "dotenv", input=first)) == {"added": 2}, "first")
    expect(counts(imported(world, "dotenv", input=first)) == {"same": 2}, "again")
    report = imported(world, "dotenv", input=second, code=73)
    expect(counts(report) == {"same": 1, "conflicts": 1}, report)
    told = world.run("import", "--from", "dotenv", input=second)
    expect("would import: 1 added, 1 unchanged, 1 in conflict" in told.err, told)
    expect(world.run("get", "C").code == 44, "a part was imported")
    expect(counts(imported(world, "dotenv", "--dry-run", input=second))["conflicts"] == 1, "dry")
    report = imported(world, "dotenv", "--skip-existing", input=second)
    expect(counts(report) == {"added": 1, "kept": 1, "same": 1}, report)
    expect(world.get("B") == "2", "an item was replaced")
    report = imported(world, "dotenv", "--replace", input=second)
    expect(counts(report) == {"replaced": 1, "same": 2} and world.get("B") == "other", report)
    # Two values for one name in the source.
    twice = b"D=1\nD=1\nD=2\n"
    told = world.run("import", "--from", "dotenv", input=twice)
    expect(told.code == 73 and "the file has two values for 'D': nothing" in told.err, told)
    expect(counts(imported(world, "dotenv", "--skip-existing", input=twice)) ==
           {"added": 1, "same": 1, "kept": 1} and world.get("D") == "1", "the first")
    imported(world, "dotenv", "--replace", input=twice)
    expect(world.get("D") == "2", "the last")
    imported(world, "dotenv", "--replace", "--skip-existing", code=64)
    # Another accessibility is a conflict that no new value solves.
    login = b"machine a login u password p\n"
    imported(world, "netrc", "-", input=login)
    for words in ((), ("--replace",), ("--replace", "--dry-run")):
        report = imported(world, "netrc", "-", "--accessibility", "after-first-unlock", *words,
                          input=login, code=0 if "--dry-run" in words else 73)
        expect(counts(report) == {"conflicts": 1}, words, report)
    # A valet of another program, and what no file can be.
    imported(world, "dotenv", "--app", "Mailer", "--id", "Mailer", input=b"password=p\n")
    expect(world.get("password", "--app", "Mailer", "--id", "Mailer") == "p", "another program")
    imported(world, "dotenv", world.path("missing"), code=44)
    imported(world, "dotenv", world.folder, code=64)
    for source in ("dotenv", "netrc", "json", "csv", "macos-dump"):
        outcome = world.run("import", "--from", source, "-", input=os.urandom(65536))
        expect(outcome.code in (64, 65) and outcome.err.count("\n") <= 2, source, outcome)


@scenario
def of_names_that_are_there(world):
    """An import replaces a secret where it is: shared, or of another accessibility."""
    world.run("set", "A", "--cloud", input=b"1")
    world.run("set", "B", "--accessibility", "after-first-unlock", input=b"2")
    before = json.loads(world.run("list", "--all", "--json").out)
    expect(counts(imported(world, "dotenv", input=b"A=1\nB=2\n")) == {"same": 2}, "same")
    imported(world, "dotenv", input=b"A=x\nB=y\n", code=73)
    report = imported(world, "dotenv", "--replace", input=b"A=x\nB=y\nC=z\n")
    expect(counts(report) == {"added": 1, "replaced": 2}, report)
    for name, value in (("A", "x"), ("B", "y"), ("C", "z")):
        expect(world.get(name) == value, name, "was stored twice, or not replaced")
    after = json.loads(world.run("list", "--all", "--json").out)
    places = lambda items: {(item["name"], item["accessibility"], item["cloud"]) for item in items}
    expect(places(before["items"]) < places(after["items"]), before, after)
    # Options that say otherwise do not make a second secret.
    for words in (("--local",), ("--accessibility", "when-unlocked-this-device-only")):
        report = imported(world, "dotenv", "--replace", *words, input=b"A=other\n", code=73)
        expect(counts(report) == {"conflicts": 1}, words, report)
        report = imported(world, "dotenv", "--skip-existing", *words, input=b"A=other\n")
        expect(counts(report) == {"kept": 1} and world.get("A") == "x", words, report)


@scenario(script=CRASH_TEST)
def that_are_killed(world):
    """A kill of valet import leaves everything imported or nothing."""
    world.set("A", "old")
    world.fill("other")
    template = f"{world.home}-template"
    shutil.copytree(world.home, template)
    keys = {f"KEY_{number}" for number in range(20)}
    text = b"A=new\n" + b"".join(f"{key}=v\n".encode() for key in keys)
    words = ("import", "--from", "dotenv", "--replace")
    every = calls(world, *words, input=text)
    kill_count, tried = 0, chosen(world, every, 10)
    for call in tried:
        shutil.rmtree(world.home)
        shutil.copytree(template, world.home)
        was_killed = killed(world, call, *words, input=text)
        listed = json.loads(world.run("list", "--json").out)["items"]
        found = {item["name"] for item in listed}
        is_new = world.get("A") == "new"
        expect(is_new or was_killed, f"{call}: acknowledged, and lost")
        expect(found == (keys | {"A", "other"} if is_new else {"A", "other"}), call, found)
        world.check("other")
        world.doctor()
        kill_count += was_killed
    report(kill_count, tried, every)


# Promise: 4.4
@scenario
def that_are_large(world):
    """A large import that is killed is completed by the next one, and others write in between."""
    count = 3_000
    rows = [f"n{number},,user{number},{number:>2000}" for number in range(count)]
    path = os.path.join(world.folder, "large.csv")
    with open(path, "w", encoding="utf-8") as file:
        file.write("name,url,username,password\n" + "\n".join(
            row.replace(",,", ",https://same.example.com,") for row in rows))
    world.set("other", "x")

    def stored():
        return [item for item in json.loads(world.run("list", "--all", "--json").out)["items"]
                if item["name"].startswith("user")]
    process = world.start([COMMAND, "import", "--from", "csv", path],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(stored, "the first items")
    # A writer passes while the import goes on.
    begin = time.monotonic()
    world.set("other", "y")
    passed = time.monotonic() - begin
    expect(passed < 3, f"a write waited for {passed:.1f} s")
    expect(process.poll() is None, "the import has ended: it is too small to be killed")
    process.kill()
    process.wait()
    found = stored()
    expect(0 < len(found) < count, f"{len(found)} items")
    # An interrupt says how many are in.
    before = len(found)
    process = world.start([COMMAND, "import", "--from", "csv", path],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    wait_for(lambda: len(stored()) > before, "more items")
    process.send_signal(signal.SIGINT)
    outcome = world.finish(process)
    found = stored()
    told = f"interrupted: {len(found) - before} of {count - before} items are stored; import again"
    expect(outcome.code == -signal.SIGINT and told in outcome.err, outcome.err)
    expect(before < len(found) < count, f"{len(found)} items")
    report = imported(world, "csv", path)
    expect(counts(report) == {"added": count - len(found), "same": len(found)}, counts(report))
    expect(len(stored()) == count and world.get("other") == "y", "the rest")
    expect(counts(imported(world, "csv", path)) == {"same": count}, "again")
    world.doctor()


@scenario
def from_their_own_places(world):
    """valet import reads a source's own file unless it is told otherwise, and no empty input."""
    imported(world, "netrc", input=b"machine a login u password p\n", code=44)
    with open(os.path.join(world.folder, ".netrc"), "wb") as file:
        file.write(b"\xef\xbb\xbfmachine a.example login u password p\r\n")
    report = imported(world, "netrc", env={"HOME": world.folder})
    expect(names(report) == [("internet", "a.example", "u")], report)
    expect(counts(imported(world, "netrc", "-", input=b"machine b.example login u password p\n"))
           == {"added": 1}, "standard input")
    for source in ("csv", "json", "dotenv", "macos-dump"):
        outcome = world.run("import", "--from", source)
        expect(outcome.code == 64 and "is empty" in outcome.err, source, outcome)
    table = "name;password\r\nTür;geheim\r\n".encode("utf-16")
    expect(counts(imported(world, "csv", input=table)) == {"added": 1}, "UTF-16")
    expect(world.get("Tür") == "geheim", "UTF-16")


@scenario(script=CRASH_TEST)
def of_large_values(world):
    """An export of more than 64 MiB can be imported, and one that others can read is warned of."""
    byte_count = 16_000_000 if world.is_thorough else 1_000_000
    values = {f"key{number}": os.urandom(byte_count) for number in range(4)}
    path = os.path.join(world.folder, "export.json")
    world.set("small", "value")
    for mode, is_open in ((0o644, True), (0o640, True), (0o600, False)):
        if not is_open:
            for key, value in values.items():
                world.set(key, value)
        with open(path, "wb") as file:
            os.fchmod(file.fileno(), mode)
            process = world.start([COMMAND, "export", "--format", "json", "--yes"], stdout=file,
                                  stderr=subprocess.PIPE)
            outcome = world.finish(process, timeout=300)
        expect(outcome.code == 0, outcome)
        expect(("other users may read" in outcome.err) == is_open, f"{mode:o}", outcome)
    world.home = os.path.join(world.folder, "second")
    outcome = world.run("import", "--from", "json", path, timeout=300)
    expect(outcome.code == 0, outcome)
    for key, value in values.items():
        expect(world.run("get", key).out == value, key)


@scenario
def of_what_was_exported(world):
    """What valet export writes, valet import reads back, byte by byte."""
    binary = bytes(range(256)) * 5
    for key, value in (("not-a-name", "a\n\"b\"\\$x`é"), ("PLAIN", "a\n\"b\"\\$x`é"), ("binary", binary)):
        world.set(key, value)
    world.set("other", "value", "--id", "second", "--accessibility", "after-first-unlock")
    world.run("git-credential", "store", input=b"protocol=https\nhost=a:1\nusername=u\npassword=p\n")
    # The same host and user twice, shared and not.
    world.run("git-credential", "store", "--cloud",
              input=b"protocol=https\nhost=a:1\nusername=u\npassword=shared\n")
    # An internet password without a protocol, with a number and with bytes.
    strange = {"class": "internet-password", "server": "s", "value": "v", "creator": 7,
               "comment": {"base64": "AP8="}}
    imported(world, "json", input=json.dumps(
        {"format": "valet-export-1", "items": [strange]}).encode())
    # Fields, of which one has bytes.
    world.run("set", "PLAIN", "--field", "note", input=b"a\n\"note\"")
    world.run("set", "PLAIN", "--field", "bytes", input=binary)
    world.run("set", "PLAIN", "--field", "username", input=b"ann")
    refused = world.run("export", "--format", "json")
    expect(refused.code == 64 and not refused.out, refused)
    exported = world.run("export", "--format", "json", "--yes")
    expect(exported.code == 0 and json.loads(exported.out), exported)
    variables = world.run("export", "--format", "dotenv", "--yes")
    expect(variables.code == 1 and variables.out == b"PLAIN='a\n\"b\"\\$x`\xc3\xa9'\n",
           variables)
    expect("left out" in variables.err, variables)
    expect("the fields of 1 items were left out: '--format json' has" in variables.err, variables)
    world.set("LINE", "it's \"one\" line")
    world.set("WORD", "a-b.c")
    variables = world.run("export", "--format", "docker-env", "--yes")
    expect(variables.code == 1 and b"LINE=it's \"one\" line\nWORD=a-b.c\n" == variables.out,
           variables)
    expect("'PLAIN' was left out: docker cannot read several lines" in variables.err, variables)
    for name in ("LINE", "WORD"):
        expect(world.run("remove", name, "--purge", "--yes").code == 0, name)
    variables = world.run("export", "--format", "dotenv", "--yes")
    listed = world.run("list", "--json").out
    world.home = os.path.join(world.folder, "second")
    report = imported(world, "json", input=exported.out)
    expect(counts(report) == {"added": 7}, report)
    expect(counts(imported(world, "json", input=exported.out)) == {"same": 7}, "again")

    def without_times(text):
        return sorted((sorted(item.items()) for item in (
            {key: value for key, value in item.items() if key not in ("modified", "id")}
            for item in json.loads(text)["items"])), key=str)
    expect(without_times(world.run("list", "--json").out) == without_times(listed), "it differs")
    expect(world.run("get", "binary").out == binary, "bytes differ")
    for field, value in (("note", b"a\n\"note\""), ("bytes", binary), ("username", b"ann")):
        expect(world.run("get", "PLAIN", "--field", field).out == value, field, "differs")
    again = world.run("export", "--format", "json", "--yes")
    expect(again.out == exported.out, "a second export differs")
    world.home = os.path.join(world.folder, "third")
    imported(world, "dotenv", input=variables.out)
    expect(world.get("PLAIN") == "a\n\"b\"\\$x`é", "the variable differs")


# Promise: 4.4
@scenario
def of_entries(world):
    """An entry of a password manager is one item with fields, and is compared with them."""
    head = b"name,url,username,password,note,otpauth\n"
    entry = head + b"GitHub,https://github.com/login,ann,p,hello,JBSWY3DPEHPK3PXP\n"
    report = imported(world, "csv", input=entry)
    expect(names(report) == [("internet", "github.com", "ann")], report)
    place = ("ann", "--server", "github.com")
    for field, value in (("username", "ann"), ("url", "https://github.com/login"),
                         ("note", "hello"),
                         ("otp", "otpauth://totp/?secret=JBSWY3DPEHPK3PXP")):
        found = world.run("get", *place, "--field", field)
        expect(found.out.decode() == value, field, found)
    expect(world.run("get", *place).out == b"p", "the password")
    expect(world.run("otp", *place).code == 0, "no codes")
    shown = world.run("show", *place).out
    expect(b"hello" not in shown and b"JBSW" not in shown and b"/login" in shown, shown)
    expect(counts(imported(world, "csv", input=entry)) == {"same": 1}, "again")
    other = entry.replace(b"hello", b"other")
    expect(counts(imported(world, "csv", input=other, code=73)) == {"conflicts": 1}, "a field")
    expect(counts(imported(world, "csv", "--replace", input=other)) == {"replaced": 1}, "replaced")
    expect(world.run("get", *place, "--field", "note").out == b"other", "the field")
    # A source without fields keeps them.
    plain = head + b"GitHub,https://github.com,ann,q,,\n"
    expect(counts(imported(world, "csv", "--replace", input=plain)) == {"replaced": 1}, "plain")
    expect(world.run("get", *place, "--field", "note").out == b"other", "a field was lost")
    expect(counts(imported(world, "csv", input=plain)) == {"same": 1}, "plain again")
    # An entry without a password.
    imported(world, "csv", input=head + b"Note,,,,text,\n")
    expect(world.run("get", "Note").out == b"", "a value")
    expect(world.run("get", "Note", "--field", "note").out == b"text", "the note")


# Promise: 4.4
@scenario
def without_a_source(world):
    """valet import finds out what a file is, says so, and reads the archive of 1Password."""
    need("unzip")

    def file(name, data):
        path = os.path.join(world.folder, name)
        with open(path, "wb") as out:
            out.write(data)
        return path

    def tried(*words, code=0):
        outcome = world.run("import", "--dry-run", *words)
        expect(outcome.code == code, words, outcome)
        return outcome.err + outcome.out.decode()
    table = b"name,url,username,password\nA,https://a.example,ann,p\n"
    for data, what in (
            (table, "a table of logins of a browser"), (b"A=1\n", "a .env file"),
            (b'{"a":"1"}', "a JSON object with names and secrets"),
            (b"machine a.example login u password p\n", "a netrc file")):
        told = tried(file("given", data))
        expect(f"is read as {what}\n" in told and "would import: 1 added" in told, told)
    for data, code, what in (
            (b"\x03\xd9\xa2\x9a\x67\xfb\x4b\xb5", 65, "an encrypted database of KeePass"),
            (b'{"encrypted":true,"items":[]}', 65, "the export is encrypted"),
            (b"hello\n", 64, "cannot tell what"), (b"", 64, "is empty"), (b"PK\x03\x04", 65, "none of 1Password")):
        told = tried(file("given", data), code=code)
        expect(what in told and "would import" not in told, told)
    for maker in ("chrome", "firefox", "bitwarden"):
        expect("1 added" in tried("--from", maker, file("given", table)), maker)
    expect("but a .env file" in tried("--from", "chrome", file("given", b"A=1\n"), code=65), "maker")
    keeper = file("given", b"Web,K,ann,p,https://k.example,n,,pin,9\n")
    expect("internet  k.example  ann" in tried("--from", "keeper", keeper), "keeper")
    tried(code=64)
    tried(world.folder, code=64)
    # The archive of 1Password.
    item = {"state": "active", "overview": {"title": "One", "url": "https://one.example"},
            "details": {"loginFields": [
                {"value": "ann", "designation": "username", "fieldType": "T"},
                {"value": "p", "designation": "password", "fieldType": "P"}],
                "sections": [{"fields": [{"title": "PIN", "value": {"concealed": "9"}}]}]}}
    path = os.path.join(world.folder, "-a[b].1pux")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("export.data", json.dumps(
            {"accounts": [{"vaults": [{"items": [item, {**item, "state": "archived"}]}]}]}))
    report = imported(world, "1password", path)
    expect(names(report) == [("internet", "one.example", "ann")], report)
    expect(report["skipped"] == [{"source": "One (item 2)", "reason": "it is archived"}], report)
    pin = world.run("get", "ann", "--server", "one.example", "--field", "PIN")
    expect(pin.out == b"9", pin)


@scenario
def of_a_damaged_item(world):
    """valet export leaves damaged items out with a warning, and does not succeed."""
    world.fill(*(f"key{number}" for number in range(6)))
    expect(world.run("export", "--format", "json", "--yes").code == 0, "not whole")
    world.settle()
    # An item whose value is damaged, and one whose name is.
    world.doctored("UPDATE item SET secret = zeroblob(length(secret)) WHERE number = "
                   "(SELECT max(number) FROM item)")
    world.doctored("UPDATE item SET names = zeroblob(length(names)) WHERE number = "
                   "(SELECT max(number) - 1 FROM item)")
    outcome = world.run("export", "--format", "json", "--yes")
    expect(outcome.code == 1 and "damaged" in outcome.err, outcome)
    expect(len(json.loads(outcome.out)["items"]) == 4, outcome)
    expect("more than" in outcome.err, outcome)


@scenario
def of_an_export_at_a_terminal(world):
    """valet export asks at a terminal before it shows secrets."""
    world.set("key", "value of key")
    for answer, code in ((b"n\n", 77), (b"y\n", 0)):
        terminal, theirs = os.openpty()
        process = world.start(
            [COMMAND, "export", "--format", "json"], stdin=theirs, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(theirs)
        time.sleep(0.5)
        os.write(terminal, answer)
        outcome = world.finish(process)
        expect(outcome.code == code and (b"value of key" in outcome.out) == (code == 0), outcome)
        os.close(terminal)


# Promise: 4.4
@scenario
def of_pass(world):
    """valet import reads the store of pass, which gpg decrypts, and leaves it as it is."""
    need("pass")
    need("gpg")
    gnupg = os.path.join(world.folder, "gpg")
    os.mkdir(gnupg, 0o700)
    env = {"GNUPGHOME": gnupg}
    store = os.path.join(world.folder, ".password-store")
    home = world.home

    def run(program, *words, input=b""):
        outcome = world.run(*words, input=input, env=env, command=program, timeout=120)
        expect(outcome.code == 0, program, *words, outcome)
        return outcome.out
    try:
        run("gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key",
            "test@example.com", "default", "default", "never")
        run("pass", "init", "test@example.com")
        entries = {"mail": b"one\n", "web/a b": b"two\nuser: ann\n", "web/deep/er": b"\xff\0",
                   "empty": b"\n"}
        for name, value in entries.items():
            run("pass", "insert", "--multiline", name, input=value)
        os.mkdir(os.path.join(store, ".git"))
        os.symlink("/", os.path.join(store, "loop"))
        before = digest(store)
        report = imported(world, "pass", env=env)
        expect(names(report) == [("valet", "default", name) for name in sorted(entries)], report)
        wanted = {"mail": b"one", "web/a b": b"two", "web/deep/er": b"\xff\0", "empty": b""}
        for name, value in wanted.items():
            found = world.run("get", name).out
            expect(found == value, name, found)
        found = world.run("get", "web/a b", "--field", "username").out
        expect(found == b"ann", "the user name", found)
        expect(digest(store) == before, "the store was changed")
        expect(counts(imported(world, "pass", store + "/", env=env)) == {"same": 4}, "again")
        unset = {**env, "PASSWORD_STORE_DIR": ""}
        expect(counts(imported(world, "pass", env=unset)) == {"same": 4}, "an empty variable")
        # Whole entries have another value, and keep their fields.
        world.home = os.path.join(world.folder, "whole")
        imported(world, "pass", "--whole", env=env)
        expect(world.run("get", "web/a b").out == entries["web/a b"], "not whole")
        imported(world, "dotenv", "--whole", input=b"A=1\n", code=64)
        world.home = home
        # An entry that is too large is left out and named, and gpg does not wait for a reader.
        run("pass", "insert", "--multiline", "large", input=b"x" * (17 << 20))
        report = imported(world, "pass", env=env)
        expect(counts(report) == {"same": 4}, report)
        expect({"source": "large.gpg", "reason": "its value is larger than 16 MiB"}
               in report["skipped"], report)
        os.remove(os.path.join(store, "large.gpg"))
        # gpg fails: nothing is imported, or an option leaves the entry out and names it.
        with open(os.path.join(store, "broken.gpg"), "wb") as file:
            file.write(b"nonsense")
        world.home = os.path.join(world.folder, "second")
        outcome = world.run("import", "--from", "pass", env=env)
        expect(outcome.code == 1 and "broken.gpg" in outcome.err, outcome)
        expect("--skip-unreadable" in outcome.err, outcome)
        expect(json.loads(world.run("list", "--json").out)["items"] == [], "a part was imported")
        report = imported(world, "pass", "--skip-unreadable", env=env)
        expect(counts(report) == {"added": 4}, report)
        expect({"source": "broken.gpg", "reason": "gpg could not decrypt it"}
               in report["skipped"], report)
        # With a key that is missing altogether, everything would be left out.
        for name in entries:
            os.remove(os.path.join(store, f"{name}.gpg"))
        imported(world, "pass", "--skip-unreadable", env=env, code=1)
        imported(world, "pass", os.path.join(world.folder, "nowhere"), code=44, env=env)
    finally:
        world.run("--kill", "all", env=env, command="gpgconf")


# Promise: 4.4
@scenario
def of_a_keyring(world):
    """valet import reads GNOME Keyring over D-Bus, and leaves it as it is."""
    for program in ("dbus-daemon", "gnome-keyring-daemon", "secret-tool"):
        need(program)
    runtime = os.path.join(world.folder, "run")
    os.mkdir(runtime, 0o700)
    address = f"unix:path={runtime}/bus"
    env = {"DBUS_SESSION_BUS_ADDRESS": address, "XDG_RUNTIME_DIR": runtime, "LC_ALL": "C.UTF-8"}

    def tool(*words, input=b""):
        outcome = world.run(*words, input=input, env=env, command="secret-tool")
        expect(outcome.code == 0, *words, outcome)
    silence = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    imported(world, "secret-service", code=1, env=env)
    world.start(["dbus-daemon", "--session", "--nofork", "--address", address], env, **silence)
    wait_for(lambda: is_listening(f"{runtime}/bus"), "the bus")
    keyring = world.start(
        ["gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets"], env,
        stdin=subprocess.PIPE, **silence)
    keyring.stdin.write(b"keyring's password")
    keyring.stdin.close()
    collection = "/org/freedesktop/secrets/collection/login"

    def ask(*words, of="org.freedesktop.secrets"):
        return world.run("--session", "--print-reply", f"--dest={of}", *words, env=env,
                         command="dbus-send")
    # The bus answers a message to an unused name by starting a daemon, which would stay locked.
    wait_for(lambda: b"boolean true" in ask(
        "/", "org.freedesktop.DBus.NameHasOwner", "string:org.freedesktop.secrets",
        of="org.freedesktop.DBus").out, "the keyring's name")
    # The daemon takes its name, and the keyring its file, before the keyring is unlocked.
    wait_for(lambda: b"boolean false" in ask(
        collection, "org.freedesktop.DBus.Properties.Get",
        "string:org.freedesktop.Secret.Collection", "string:Locked").out, "the open keyring")
    for label, secret, *attributes in (
            ("git", b"pass 1", "protocol", "https", "server", "example.com", "port", "8443",
             "object", "a.git", "user", "ann"),
            ("python", b"pass 2", "service", "app", "username", "ben"),
            ("Chrome Safe Storage", b"key 1", "application", "chrome"),
            ("Chrome Safe Storage", b"key 2", "application", "chromium"),
            ("bytes", "\u00fc\n".encode(), "id", "1")):
        tool("store", "--label", label, *attributes, input=secret)
    time.sleep(1)
    before = digest(f"{world.folder}/.local/share/keyrings")
    report = imported(world, "secret-service", "--dry-run", env=env)
    expect(counts(report) == {"added": 5}, report)
    expect(counts(imported(world, "secret-service", env=env)) == {"added": 5}, "import")
    found = names(imported(world, "secret-service", env=env))
    expect(found == [
        ("generic", "Secret Service", "Chrome Safe Storage (application=chrome)"),
        ("generic", "Secret Service", "Chrome Safe Storage (application=chromium)"),
        ("generic", "Secret Service", "bytes"),
        ("generic", "app", "ben"), ("internet", "example.com", "ann")], found)
    git = world.run("git-credential", "get",
                    input=b"protocol=https\nhost=example.com:8443\npath=a.git\n")
    expect(git.out == b"username=ann\npassword=pass 1\n", git)
    expect(digest(f"{world.folder}/.local/share/keyrings") == before, "the keyring was changed")
    # Of a locked keyring, nothing.
    locked = ask("/org/freedesktop/secrets", "org.freedesktop.Secret.Service.Lock",
                 f"array:objpath:{collection}")
    expect(locked.code == 0, locked)
    imported(world, "secret-service", code=75, env=env)
    kill_session(keyring)


HOSTILE = """
import sys, time, dbus, dbus.service, dbus.mainloop.glib
from gi.repository import GLib
dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
root, paths = "/org/freedesktop/secrets", {}

class Keyring(dbus.service.Object):
    @dbus.service.method("org.freedesktop.Secret.Service", "sv", "vo")
    def OpenSession(self, algorithm, key):
        return "", dbus.ObjectPath(root + "/session")

    @dbus.service.method("org.freedesktop.DBus.Properties", "ss", "v")
    def Get(self, interface, name):
        if name == "Locked":
            return dbus.Boolean(sys.argv[1] == "locked")
        if name == "Items" and sys.argv[1] == "long":
            return dbus.Array(["/a"] * 250_001, signature="o")
        if name == "Items" and sys.argv[1] == "type":
            return dbus.Array(["/a"], signature="s")
        one = [dbus.ObjectPath(root + "/c")] if name == "Collections" else []
        return dbus.Array(one, signature="o")

bus = dbus.SessionBus()
while True:  # Until the bus has noticed that the one before has ended.
    try:
        name = dbus.service.BusName("org.freedesktop.secrets", bus, do_not_queue=True)
        break
    except dbus.exceptions.NameExistsException:
        time.sleep(0.05)
objects = [Keyring(bus, root), Keyring(bus, root + "/c")]
print("ready", flush=True)
GLib.MainLoop().run()
"""


@scenario
def of_a_hostile_keyring(world):
    """valet import takes no wrong or endless answer of a keyring for an empty list."""
    need("dbus-daemon")
    probe = subprocess.run(["/usr/bin/python3", "-c", "import dbus, gi"], check=False,
                           stderr=subprocess.DEVNULL)
    if probe.returncode != 0:
        raise Skip("needs python3-dbus and python3-gi")
    runtime = os.path.join(world.folder, "run")
    os.mkdir(runtime, 0o700)
    address = f"unix:path={runtime}/bus"
    env = {"DBUS_SESSION_BUS_ADDRESS": address, "XDG_RUNTIME_DIR": runtime}
    world.start(["dbus-daemon", "--session", "--nofork", "--address", address], env,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: is_listening(f"{runtime}/bus"), "the bus")
    for kind, code in (("empty", 0), ("type", 1), ("long", 1), ("locked", 75)):
        keyring = world.start(["/usr/bin/python3", "-c", HOSTILE, kind], env,
                              stdout=subprocess.PIPE)
        expect(keyring.stdout.readline() == b"ready\n", "the keyring does not start")
        imported(world, "secret-service", code=code, env=env)
        keyring.kill()
        keyring.wait()
