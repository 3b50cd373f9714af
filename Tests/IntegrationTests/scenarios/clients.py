# SPDX-License-Identifier: Apache-2.0
"""The helpers that git, docker and the tools of AWS call, called by git itself and as they do."""

import base64
import fcntl
import http.server
import json
import os
import select
import shlex
import subprocess
import termios
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from support import COMMAND, Failure, Skip, expect, need, scenario

NOT_FOUND = b"credentials not found in native keychain\n"


def install(world):
    """Makes the links by which git and docker find the helpers, and returns their folder."""
    folder = os.path.join(world.folder, "bin")
    os.makedirs(folder, exist_ok=True)
    for name in ("git-credential-valet", "docker-credential-valet"):
        if not os.path.lexists(os.path.join(folder, name)):
            os.symlink(COMMAND, os.path.join(folder, name))
    return folder


def git(world, operation, *lines, code=0, env=None, words=()):
    """Calls the helper as git does, and returns the lines of its answer."""
    helper = os.path.join(install(world), "git-credential-valet")
    text = b"".join(line if isinstance(line, bytes) else line.encode() + b"\n" for line in lines)
    outcome = world.run(*words, operation, input=text + b"\n", command=helper, env=env)
    expect(outcome.code == code, operation, *lines, outcome)
    expect(outcome.seconds < 30, outcome)
    return outcome.out.decode().splitlines()


def docker(world, operation, text="", code=0, words=()):
    helper = os.path.join(install(world), "docker-credential-valet")
    outcome = world.run(*words, operation, input=text.encode(), command=helper)
    expect(outcome.code == code, operation, outcome)
    return outcome.out


SITE = ("protocol=https", "host=example.com")


@scenario
def of_stores_at_once(world):
    """Of several stores of one name at once one is kept, and nothing is stored twice."""
    install(world)

    def by_docker(server, secret):
        docker(world, "store", json.dumps({"ServerURL": server, "Username": "u", "Secret": secret}))

    def by_git(server, secret):
        git(world, "store", "protocol=https", f"host={server}", "username=u", f"password={secret}")

    for number in range(3):
        for store in (by_docker, by_git):
            server = f"{store.__name__}-{number}.example".replace("_", "-")
            secrets = [f"secret-{caller}" for caller in range(4)]
            with ThreadPoolExecutor(len(secrets)) as pool:
                for done in [pool.submit(store, server, secret) for secret in secrets]:
                    done.result()
            outcome = world.run("get", "--server", server, "u")
            expect(outcome.code == 0 and outcome.out.decode().strip() in secrets, server, outcome)


@scenario
def servers_in_any_form(world):
    """The command finds and stores the password of a server in the form that git's helper has."""
    named = ("protocol=https", "host=github.example", "username=u")
    git(world, "store", *named, "password=p")
    for host in ("GitHub.example", "github.EXAMPLE.", "github.example"):
        world.run("set", "--server", host, "u", input=host.encode())
        outcome = world.run("get", "--server", host, "u")
        expect(outcome.out.rstrip(b"\n") == host.encode(), outcome)
        expect(f"password={host}" in git(world, "get", *named), "a second password was made", host)
    for words in (["--protocol", "https", "--port", "443"], ["--protocol", "https"]):
        outcome = world.run("get", "--server", "GITHUB.example", *words, "u")
        expect(outcome.code == 0, words, outcome)
    # A new password has that form, too.
    world.run("set", "--server", "B\u00dcCHER.example", "--protocol", "https", "v", input=b"w")
    outcome = world.run("get", "--server", "xn--bcher-kva.example", "v")
    expect(outcome.out.rstrip(b"\n") == b"w", outcome)


@scenario
def of_git(world):
    """git-credential-valet keeps what git sends, and returns it to git alone."""
    expect(git(world, "get", *SITE) == [], "a new keychain has a password")
    git(world, "store", *SITE, "username=ann", "password=one=1 ü",
        "password_expiry_utc=9999999999", "oauth_refresh_token=token")
    expect(git(world, "get", *SITE) == [
        "username=ann", "password=one=1 ü", "password_expiry_utc=9999999999",
        "oauth_refresh_token=token"], git(world, "get", *SITE))
    # Another port, protocol or account is another password.
    for other in (("protocol=http", "host=example.com"), ("protocol=https", "host=example.com:1"),
                  (*SITE, "username=ben"), ("protocol=https", "host=www.example.com")):
        expect(git(world, "get", *other) == [], other)
    git(world, "store", *SITE, "username=ben", "password=two")
    expect(git(world, "get", *SITE, "username=ann")[1] == "password=one=1 ü", "ann's is gone")
    expect(git(world, "get", *SITE) == ["username=ben", "password=two"], "not the newest")
    # git names the password that was refused; another one stays.
    git(world, "erase", *SITE, "username=ben", "password=old")
    expect(len(git(world, "get", *SITE, "username=ben")) == 2, "another password was erased")
    git(world, "erase", *SITE, "username=ben", "password=two")
    expect(git(world, "get", *SITE, "username=ben") == [], "the password was not erased")
    # A secret of a kind that its authtype cannot have was never refused: nothing is erased.
    for words in (("authtype=Bearer", "password=one=1 ü"), ("credential=one=1 ü",),
                  ("oauth_refresh_token=token",), ("authtype=Bearer", "credential=one=1 ü"),
                  ("authtype=Bearer",)):
        git(world, "erase", *SITE, *words)
        expect(len(git(world, "get", *SITE)) == 4, "erased by", words)
    git(world, "erase", *SITE)
    expect(git(world, "get", *SITE) == [], "not all were erased")
    # An IPv6 address, a port, a path and a certificate's password.
    for place in (("protocol=http", "host=[::1]:8080"), ("protocol=cert", "host=", "path=/a.pem")):
        git(world, "store", *place, "username=", "password=three")
        expect(git(world, "get", *place) == ["username=", "password=three"], place)
    expect(git(world, "nonsense", *SITE) == [], "an unknown operation answers")
    expect(git(world, "capability") == ["version 0", "capability authtype"], "capability")


@scenario
def of_git_with_paths(world):
    """git-credential-valet tells paths apart if git sends them."""
    for path in ("a.git", "b.git"):
        git(world, "store", *SITE, f"path={path}", f"username=user of {path}", "password=p")
    expect(git(world, "get", *SITE, "path=a.git")[0] == "username=user of a.git", "a")
    expect(git(world, "get", *SITE, "path=c.git") == [], "c")
    git(world, "store", *SITE, "username=any", "password=p")
    git(world, "store", *SITE, "path=a.git", "username=user of a.git", "password=newer")
    expect(git(world, "get", *SITE)[0] == "username=any", "the one without a path comes first")


@scenario
def of_git_with_an_authtype(world):
    """git-credential-valet returns a credential with an authtype only to a git that knows these."""
    git(world, "store", *SITE, "capability[]=authtype", "authtype=Bearer", "credential=secret",
        "oauth_refresh_token=token")
    expect(git(world, "get", *SITE) == [], "an old git gets a credential")
    expect(git(world, "get", "capability[]=authtype", *SITE) == [
        "capability[]=authtype", "authtype=Bearer", "credential=secret",
        "oauth_refresh_token=token"], "the credential is not returned")
    git(world, "erase", *SITE, "authtype=Bearer", "credential=another")
    expect(len(git(world, "get", "capability[]=authtype", *SITE)) == 4, "erased for another")
    git(world, "erase", *SITE, "authtype=Bearer", "credential=secret")
    expect(git(world, "get", "capability[]=authtype", *SITE) == [], "not erased")
    git(world, "store", *SITE, "authtype=Bearer", "credential=secret", "ephemeral=1")
    expect(git(world, "get", "capability[]=authtype", *SITE) == [], "an ephemeral one is kept")
    # An expired password is no password, but its refresh token helps to get a new one.
    git(world, "store", *SITE, "username=u", "password=p", "password_expiry_utc=1",
        "oauth_refresh_token=token")
    expect(git(world, "get", *SITE) == [
        "username=u", "password_expiry_utc=1", "oauth_refresh_token=token"], "expired")
    # Without a token it is passed over, and an older password is returned.
    git(world, "erase", *SITE)
    git(world, "store", *SITE, "username=v", "password=valid")
    git(world, "store", *SITE, "username=u", "password=p", "password_expiry_utc=1")
    expect(git(world, "get", *SITE) == ["username=v", "password=valid"], "not the valid one")
    git(world, "store", *SITE, "username=u", "password=p", "password_expiry_utc=soon", code=64)


def dated(world):
    """The items by account and path, each with its value and the time of its last change."""
    dates = {}
    for item in json.loads(world.run("list", "--json", "--all").out)["items"]:
        dates.setdefault(item["name"], []).append(item["modified"])
    export = json.loads(world.run("export", "--format", "json", "--yes").out)["items"]
    return dates, {(item["account"], item.get("path", ""), item.get("securityDomain", "")):
                   item["value"] for item in export}


@scenario
def of_git_that_stores_one_of_several(world):
    """A password that git stores changes the item of exactly that name, and no other one."""
    late = ("--accessibility", "after-first-unlock")
    git(world, "store", *SITE, "username=u", "path=org/one", "password=ONE")
    git(world, "store", *SITE, "username=u", "path=org/two", "password=TWO", words=late)
    domain = {"class": "internet-password", "server": "example.com", "protocol": "htps",
              "account": "u", "authenticationType": "dflt", "securityDomain": "D", "value": "DOM"}
    world.run("import", "--from", "json", input=json.dumps(
        {"format": "valet-export-1", "items": [domain]}).encode())
    others = {("u", "org/one", ""): "ONE", ("u", "org/two", ""): "TWO", ("u", "", "D"): "DOM"}
    for first, then in (((), late), (late, ())):
        git(world, "store", *SITE, "username=u", "password=OLD", words=first)
        expect(dated(world)[1] == {**others, ("u", "", ""): "OLD"}, dated(world)[1])
        git(world, "store", *SITE, "username=u", "password=NEW", words=then)
        expect(dated(world)[1] == {**others, ("u", "", ""): "NEW"}, dated(world)[1])
        git(world, "erase", *SITE, "username=u", "password=NEW")
        expect(dated(world)[1] == others, "another password was erased", dated(world)[1])
    # docker's and AWS's items keep their accessibility, too.
    for words in ((), late):
        docker(world, "store", '{"ServerURL":"b.example","Username":"u","Secret":"%d"}' % len(words),
               words=words)
        keys = {"AccessKeyId": "A", "SecretAccessKey": str(len(words))}
        # As some editors write it, with a byte order mark.
        stored = world.run("aws-credentials", "store", "p", *words,
                           input=json.dumps(keys).encode("utf-8-sig"))
        expect(stored.code == 0, stored)
        secret = json.loads(world.run("aws-credentials", "get", "p").out)["SecretAccessKey"]
        expect(secret == keys["SecretAccessKey"], secret)
        expect(json.loads(docker(world, "get", "b.example"))["Secret"] == str(len(words)), words)


@scenario
def of_a_store_without_a_change(world):
    """A helper that stores what the keychain has writes nothing."""
    def store(value):
        git(world, "store", *SITE, "username=g", "password=" + value)
        docker(world, "store", json.dumps(
            {"ServerURL": "c.example", "Username": "d", "Secret": value}))
        keys = {"AccessKeyId": "A", "SecretAccessKey": value}
        world.run("aws-credentials", "store", "a", input=json.dumps(keys).encode())
        table = f"name,url,username,password\nI,https://i.example,i,{value}\n"
        imported = world.run("import", "--from", "csv", "--replace", input=table.encode())
        expect(imported.code == 0, imported)
        return dated(world)[0]
    first = store("one")
    expect(set(first) >= set("gdai"), first)
    time.sleep(1.2)
    expect(store("one") == first, "written again", first)
    time.sleep(1.2)
    second = store("two")
    expect(all(second[name] != first[name] for name in "gdai"), "not written", second)
    # A password that sync brought stays where it is.
    git(world, "store", *SITE, "username=s", "password=shared", words=("--cloud",))
    before = dated(world)[0]["s"]
    git(world, "store", *SITE, "username=s", "password=shared")
    expect(dated(world)[0]["s"] == before, "there are two now", dated(world)[0])


def put(world, *items):
    """Stores items as a program does that writes names in forms of its own."""
    stored = world.run("import", "--from", "json", input=json.dumps({
        "format": "valet-export-1", "items": [
            {"class": "internet-password", "protocol": "htps", **item} for item in items]}).encode())
    expect(stored.code == 0, stored)


@scenario
def of_one_server_with_several_names(world):
    """Capitals, a dot, brackets, and the port of the protocol make no other server."""
    git(world, "store", "protocol=https", "host=GitHub.Example.:443", "username=u", "password=p")
    for host in ("github.example", "GITHUB.EXAMPLE:443", "GitHub.example."):
        expect(git(world, "get", "protocol=HTTPS", "host=" + host) == ["username=u", "password=p"],
               host)
    for other in ("protocol=http", "protocol=https", "protocol=ssh"):
        expect(git(world, "get", other, "host=github.example:444") == [], other)
    docker(world, "store", '{"ServerURL":"https://Registry.Example:443/","Username":"u","Secret":"s"}')
    expect(json.loads(docker(world, "get", "registry.example"))["Secret"] == "s", "docker")
    expect(json.loads(docker(world, "list")) == {"https://Registry.Example:443/": "u"}, "list")
    git(world, "store", "protocol=https", "host=[2001:DB8::0:1]:8443", "username=u", "password=6")
    expect(git(world, "get", "protocol=https", "host=[2001:db8:0::1]:8443")[1] == "password=6", "v6")
    international = "host=b\u00fccher.example"
    git(world, "store", "protocol=https", international, "username=u", "password=idn")
    expect(git(world, "get", "protocol=https", "host=xn--bcher-kva.example")[1] == "password=idn",
           "an international name is another server")


@scenario
def of_what_a_person_has_stored(world):
    """git and docker find what a person or an import has stored for a host, and keep it single."""
    def add(account, value, *words):
        outcome = world.run("set", account, "--server", *words, input=value.encode())
        expect(outcome.code == 0, outcome)

    def found(host):
        return git(world, "get", "protocol=https", "host=" + host)

    def count():
        return len(json.loads(world.run("list", "--json").out)["items"])
    add("u", "one", "a.example", "--protocol", "https")
    add("u", "two", "B.example:8443")
    add("u", "three", "https://c.example/login")
    add("u", "four", "d.example", "--protocol", "https", "--port", "443", "--label", "mine")
    add("u", "other", "e.example", "--protocol", "imaps")
    add("u", "other", "e.example:9")
    expect(world.run("import", "--from", "csv", input=b"name,url,username,password\n"
                     b"Site,https://f.example,u,five\n").code == 0, "import")
    sites = {"a.example": "one", "b.example:8443": "two", "c.example": "three",
             "d.example": "four", "f.example": "five"}
    for host, value in sites.items():
        expect(found(host) == ["username=u", "password=" + value], host, found(host))
        expect(json.loads(docker(world, "get", host))["Secret"] == value, host)
        # What git approves after that is no second password.
        before = count()
        git(world, "store", "protocol=https", "host=" + host, "username=u", "password=" + value)
        expect(count() == before, host, world.run("list").out)
        expect(world.run("get", host).out == value.encode(), world.run("get", host))
    expect(found("e.example") == [], found("e.example"))
    put(world, {"account": "u", "server": "G.Example", "protocol": 0, "value": "six"})
    expect(found("g.example") == ["username=u", "password=six"], found("g.example"))
    expect(git(world, "get", "protocol=https", "host=a.example", "username=v") == [], "account")
    expect(git(world, "get", "protocol=http", "host=a.example") == [], "protocol")
    # A refused one is gone for git, and not lost.
    git(world, "erase", "protocol=https", "host=f.example", "username=u", "password=wrong")
    expect(found("f.example")[1:] == ["password=five"], "another password was erased")
    git(world, "erase", "protocol=https", "host=f.example", "username=u")
    expect(found("f.example")[1:] == ["password=five"], "erased although nothing was refused")
    git(world, "erase", "protocol=https", "host=f.example", "username=u", "password=five")
    expect(found("f.example") == [], "the password was not erased")
    expect(world.run("undo", "Site").code == 0, world.run("undo", "Site"))
    expect(found("f.example")[1:] == ["password=five"], "it is lost")
    # git's and docker's own come first.
    git(world, "store", "protocol=https", "host=f.example", "username=u", "password=git")
    expect(found("f.example")[1:] == ["password=git"], "git")
    docker(world, "store", '{"ServerURL":"f.example","Username":"u","Secret":"docker"}')
    expect(json.loads(docker(world, "get", "f.example"))["Secret"] == "docker", "docker")
    expect(found("f.example")[1:] == ["password=git"], "git")
    # Each of the three has a line of its own, whose words choose it.
    outcome = world.run("get", "u", "--server", "f.example")
    lines = [line[11:] for line in outcome.err.splitlines() if line.startswith("valet:     ")]
    expect(outcome.code == 64 and len(lines) == 3, outcome)
    values = {world.run("get", *shlex.split(line)).out for line in lines}
    expect(values == {b"five", b"git", b"docker"}, values, lines)
    table = world.run("list", "--server", "f.example").out.decode().splitlines()[1:]
    expect(len(set(table)) == 3, table)
    docker(world, "erase", "f.example")
    git(world, "erase", "protocol=https", "host=f.example", "username=u", "password=git")
    expect(found("f.example")[1:] == ["password=five"], "the person's is gone")
    # docker gets no token of git's that it cannot use, and nothing beside a password.
    for number, (rest, code) in enumerate((
            (("password_expiry_utc=9999999999", "oauth_refresh_token=r"), 0),
            (("password_expiry_utc=1000000",), 1))):
        host = f"t{number}.example"
        git(world, "store", "protocol=https", "host=" + host, "username=u", "password=p", *rest)
        outcome = world.run("docker-credential", "get", input=host.encode())
        expect(outcome.code == code, outcome)
        expect(code or json.loads(outcome.out)["Secret"] == "p", outcome)
    # A newline that `echo` writes belongs to no password, and makes no second item.
    add("u", "line\n", "k.example")
    expect(found("k.example") == ["username=u", "password=line"], found("k.example"))
    expect(json.loads(docker(world, "get", "k.example"))["Secret"] == "line", "docker")
    before = count()
    git(world, "store", "protocol=https", "host=k.example", "username=u", "password=line")
    expect(count() == before, "a second item", world.run("list").out)
    git(world, "erase", "protocol=https", "host=k.example", "username=u", "password=line")
    expect(found("k.example") == [], "not erased")
    # A login without a protocol is for https alone, unless its own protocol says so.
    add("u", "web", "l.example")
    add("u", "post", "m.example", "--protocol", "smtp")
    for scheme, host, value in (("https", "l", "web"), ("http", "l", None), ("smtp", "l", None),
                                ("smtp", "m", "post"), ("https", "m", None)):
        answer = git(world, "get", f"protocol={scheme}", f"host={host}.example")
        expect(answer == (["username=u", "password=" + value] if value else []), scheme, answer)
    expect(docker(world, "get", "http://l.example", code=1) == NOT_FOUND, "docker over http")
    # With useHttpPath git sends a path, which a person does not name.
    for host in ("l.example", "B.example:8443"):
        request = ("protocol=https", "host=" + host, "path=org/one.git")
        value = "web" if host == "l.example" else "two"
        expect(git(world, "get", *request) == ["username=u", "password=" + value], host)
        before = count()
        git(world, "store", *request, "username=u", "password=" + value)
        expect(count() == before, "a second item", world.run("list").out)
    request = ("protocol=https", "host=l.example", "path=org/one.git")
    git(world, "store", *request, "username=u", "password=own")
    expect(git(world, "get", *request)[1] == "password=own", "the one of that path comes first")
    git(world, "erase", *request, "username=u", "password=own")
    git(world, "erase", *request, "username=u", "password=web")
    expect(git(world, "get", *request) == [], "not erased")
    expect(world.run("undo", "u", "--server", "l.example", "--local").code in (0, 64), "undo")
    # git may have been refused what a person has put into an item of git's own.
    git(world, "store", "protocol=https", "host=h.example", "username=u", "password=one")
    world.run("set", "u", "--server", "h.example", input=b"two")
    git(world, "erase", "protocol=https", "host=h.example", "username=u", "password=two")
    expect(world.run("undo", "u", "--server", "h.example").code == 0, "nothing to undo")
    expect(world.run("get", "u", "--server", "h.example").out == b"two", "it is lost")


@scenario
def of_names_that_older_versions_stored(world):
    """A password whose server was stored with capitals is found, changed where it is, and erased."""
    old = {"account": "u", "authenticationType": "dflt"}
    put(world, {**old, "server": "GitHub.Example", "port": 443, "value": "old"},
        {**old, "server": "H.Example", "path": "org/one", "value": "one"},
        {**old, "server": "GitHub.Example", "port": 8443, "value": "other port"},
        {"account": "u", "server": "R.Example", "path": "v2/", "label": "Docker Credentials",
         "value": "layers"})

    def values():
        return sorted((item["server"], item["value"]) for item in json.loads(
            world.run("export", "--format", "json", "--yes").out)["items"])
    expect(git(world, "get", "protocol=https", "host=github.example")[1] == "password=old", "get")
    expect(git(world, "get", "protocol=https", "host=h.example", "path=org/two") == [], "path")
    git(world, "store", "protocol=https", "host=github.example", "username=u", "password=new",
        words=("--accessibility", "after-first-unlock"))
    kept = [("GitHub.Example", "new"), ("GitHub.Example", "other port"), ("H.Example", "one"),
            ("R.Example", "layers")]
    expect(values() == kept, values())
    git(world, "store", "protocol=https", "host=h.example", "username=u", "password=no path")
    expect(values() == sorted(kept + [("h.example", "no path")]), values())
    git(world, "erase", "protocol=https", "host=h.example", "username=u", "password=no path")
    git(world, "erase", "protocol=https", "host=github.example", "username=u", "password=new")
    expect(values() == kept[1:], values())
    url = "https://r.example/v2/"
    expect(json.loads(docker(world, "get", url))["Secret"] == "layers", "docker get")
    docker(world, "store", json.dumps({"ServerURL": url, "Username": "u", "Secret": "newer"}))
    expect(values() == kept[1:3] + [("R.Example", "newer")], values())
    docker(world, "erase", url)
    expect(values() == kept[1:3], values())
    # An import changes the same item.
    put(world, {"account": "u", "server": "I.Example", "authenticationType": "form", "value": "1"})
    table = b"name,url,username,password\nA,https://i.example,u,2\n"
    expect(world.run("import", "--from", "csv", input=table).code != 0, "no conflict")
    expect(world.run("import", "--from", "csv", "--replace", input=table).code == 0, "replace")
    expect(values() == kept[1:3] + [("I.Example", "2")], values())
    # Damaged, it may be the one that the import means.
    world.settle()
    world.doctored("UPDATE item SET names = zeroblob(length(names)) WHERE number = "
                   "(SELECT max(number) FROM item)")
    outcome = world.run("import", "--from", "csv", "--replace", input=table.replace(b"2", b"3"))
    expect(outcome.code == 65, outcome)


# Promise: 4.3
@scenario
def of_git_with_wrong_bytes(world):
    """git-credential-valet refuses carriage returns, null bytes and lines without a key."""
    for line in (b"username=a\rb\n", b"password=a\0b\n", b"host=a\rb\n", b"no key\n", b"=x\n",
                 b"username=\xff\n", b"path=\r\n"):
        for operation in ("get", "store", "erase"):
            git(world, operation, *SITE, line, code=64)
    for lines in (["protocol=https"], ["host=example.com"], ["protocol=htps", "host=a"], []):
        git(world, "get", *lines, code=64)
    expect(git(world, "get", *SITE) == [], "something was stored")
    # What another program stored is never sent as lines of the protocol, and not erased either.
    evil = {"class": "internet-password", "server": "example.com", "protocol": "htps", "port": 0,
            "authenticationType": "dflt", "cloud": False}
    stored = world.run("import", "--from", "json", input=json.dumps({
        "format": "valet-export-1", "items": [
            {**evil, "account": "a\npassword=x", "value": "p"},
            {**evil, "account": "b", "value": "p\r"},
            {**evil, "account": "d", "value": "p\nhost\n"}]}).encode())
    expect(stored.code == 0, stored)
    expect(git(world, "get", *SITE) == [], git(world, "get", *SITE))
    for account in "bd":
        git(world, "erase", *SITE, f"username={account}", "password=p")
    expect(world.run("list", "--json").out.count(b'"name"') == 3, "a foreign item was erased")
    git(world, "store", *SITE, "username=u", "password=" + "p" * 70_000)
    expect(len(git(world, "get", *SITE)[1]) == 70_009, "a long password is cut")


# Promise: 4.5
@scenario
def of_a_locked_keychain(world):
    """Helpers fail at once while the keychain is locked, and git then asks by itself."""
    git(world, "store", *SITE, "username=u", "password=p")
    docker(world, "store", '{"ServerURL":"example.com","Username":"u","Secret":"p"}')
    put(world, {"account": "u", "server": "Stray.Example", "authenticationType": "dflt",
                "label": "Docker Credentials", "value": "stray"})
    shared = {"VALET_LOCK_STATE": "kernel"}
    read, write = os.pipe()
    os.write(write, b"correct horse\n")
    os.close(write)
    try:
        set_passcode = world.run("passcode", "set", f"--passcode-fd={read}", env=shared,
                                 pass_fds=(read,))
    finally:
        os.close(read)
    expect(set_passcode.code == 0, set_passcode)
    expect(world.run("lock", env=shared).code == 0, "not locked")
    for never in (None, "never"):
        git(world, "get", *SITE, code=75, env={**shared, "VALET_INTERACTION": never})
    # What an older version stored in another form is unknown, not absent.
    git(world, "get", "protocol=https", "host=stray.example", code=75, env=shared)
    for operation in ("get", "erase"):
        stray = world.run("docker-credential", operation, input=b"stray.example", env=shared)
        expect(stray.code == 1 and b"locked" in stray.out, operation, stray)
    helper = os.path.join(install(world), "docker-credential-valet")
    outcome = world.run("get", input=b"example.com", command=helper, env=shared)
    expect(outcome.code == 1 and b"locked" in outcome.out and outcome.seconds < 30, outcome)
    asked = world.run(
        "-c", "credential.helper=valet", "credential", "fill", command="git",
        input="\n".join(SITE).encode() + b"\n\n", env={
            **shared, "PATH": install(world) + ":" + os.environ["PATH"], "GIT_ASKPASS": "echo"})
    expect(asked.code == 0 and b"password=Password for" in asked.out, asked)
    # Where each process unlocks for itself, too, and although there is a terminal.
    for state in ("kernel", "process"):
        for words in (("git-credential", "get"), ("docker-credential", "get"),
                      ("aws-credentials", "get", "x"), ("aws-credentials", "store", "x"),
                      ("aws-credentials", "remove", "x")):
            shown, seconds, code = at_a_terminal(world, words, {"VALET_LOCK_STATE": state})
            known = words[0] == "aws-credentials" and state == "kernel" and code == 44
            expect(known or b"the keychain is locked" in shown, state, words, shown)
            expect(seconds < 5 and code not in (0, None), state, words, seconds, code, shown)


def at_a_terminal(world, words, env):
    """Runs a verb at a terminal, with the request of a client as its input if it reads one."""
    terminal, theirs = os.openpty()
    request = {"git-credential": "\n".join(SITE) + "\n\n", "docker-credential": "example.com"}
    start = time.monotonic()
    typed = words[0] == "aws-credentials"
    process = world.start(
        [COMMAND, *words], env=env, stdin=theirs if typed else subprocess.PIPE, stdout=theirs,
        stderr=theirs, preexec_fn=lambda: fcntl.ioctl(1, termios.TIOCSCTTY, 0))
    os.close(theirs)
    if not typed:
        process.stdin.write(request[words[0]].encode())
        process.stdin.close()
    shown = b""
    while time.monotonic() - start < 5 and select.select([terminal], [], [], 5)[0]:
        try:
            shown += os.read(terminal, 4096)
        except OSError:
            break
    seconds = time.monotonic() - start
    os.close(terminal)
    process.kill() if process.poll() is None and seconds >= 5 else None
    return shown, seconds, process.wait(10)


@scenario
def of_docker(world):
    """docker-credential-valet keeps one account for each registry, with docker's errors."""
    url = "https://index.docker.io/v1/"
    expect(docker(world, "get", url, code=1) == NOT_FOUND, "get")
    expect(docker(world, "list") == b"{}\n", "list")
    secret = "s\u00e9cret \" \\ \u0007 \U0001f511"
    for name, value in (("ann", "old"), ("ben", secret)):
        docker(world, "store", json.dumps({"ServerURL": url, "Username": name, "Secret": value}))
    expect(json.loads(docker(world, "get", url + "\n")) == {
        "ServerURL": url, "Username": "ben", "Secret": secret}, docker(world, "get", url))
    docker(world, "store", json.dumps(
        {"ServerURL": "localhost:5000", "Username": "u", "Secret": ""}))
    expect(json.loads(docker(world, "list")) == {url: "ben", "localhost:5000": "u"}, "list")
    expect(json.loads(docker(world, "get", "localhost:5000"))["Secret"] == "", "empty secret")
    docker(world, "erase", url)
    docker(world, "erase", url)
    expect(docker(world, "get", url, code=1) == NOT_FOUND, "erase")
    expect(json.loads(docker(world, "list")) == {"localhost:5000": "u"}, "list")
    for operation, text, error in (
            ("get", "", "no credentials server URL"), ("erase", "", "no credentials server URL"),
            ("store", "{}", "no credentials server URL"),
            ("store", '{"ServerURL":"a"}', "no credentials username"),
            ("store", '{"ServerURL":"a","Username":"u","Secret":1}', "no credentials secret"),
            ("store", "nonsense", "the input is not JSON"),
            ("store", '{"ServerURL":"a","Username":"u","Secret":"\\u0000"}', "not JSON"),
            ("store", '{"ServerURL":"a","Username":"u","Secret":"\\ud800"}', "not JSON"),
            ("get", "ftp://a", "is not the address of a registry"),
            ("get", "https://u:hunter2@a/", "is not the address of a registry"),
            ("nonsense", "", "unknown action")):
        out = docker(world, operation, text, code=1).decode()
        expect(error in out and out.count("\n") == 1, operation, text, out)
        expect("hunter2" not in out, "the error shows a password", out)
    for word in ("version", "--version", "-v"):
        expect(docker(world, word).startswith(b"docker-credential-valet "), word)
    # git has passwords of its own for the same server.
    docker(world, "store", json.dumps(
        {"ServerURL": "example.com", "Username": "u", "Secret": "docker's"}))
    git(world, "store", *SITE, "username=u", "password=git's")
    expect(json.loads(docker(world, "get", "example.com"))["Secret"] == "docker's", "replaced")
    expect(git(world, "get", *SITE)[1] == "password=git's", "replaced")
    # An item of another program with the same name is not changed; the own one gets its new text.
    foreign = {"class": "internet-password", "server": "b.example", "protocol": "htps",
               "account": "u", "label": "theirs", "value": "their value"}
    stored = world.run("import", "--from", "json", input=json.dumps(
        {"format": "valet-export-1", "items": [foreign]}).encode())
    expect(stored.code == 0, stored)
    login = {"ServerURL": "b.example", "Username": "u", "Secret": "s"}
    expect(b"another program" in docker(world, "store", json.dumps(login), code=1), "foreign")
    expect(b"their value" in world.run("export", "--format", "json", "--yes").out, "overwritten")
    for address in ("https://c.example", "c.example/"):
        docker(world, "store", json.dumps({**login, "ServerURL": address}))
        expect(address in json.loads(docker(world, "list")), address, docker(world, "list"))


@scenario
def of_aws(world):
    """Keys for AWS are stored from JSON, and returned as a credential_process does."""
    def call(*words, text="", code=0):
        outcome = world.run("aws-credentials", *words, input=text.encode())
        expect(outcome.code == code, words, text, outcome)
        return outcome.out
    keys = {"AccessKeyId": "AKIA", "SecretAccessKey": "a/b+\"c"}
    call("store", "work", text=json.dumps({"Version": 1, **keys}))
    expect(json.loads(call("get", "work")) == {"Version": 1, **keys}, call("get", "work"))
    call("store", "work", text=json.dumps({"AccessKey": {"UserName": "u", **keys}}))
    expect(json.loads(call("get", "work")) == {"Version": 1, **keys}, "iam")
    temporary = {**keys, "SessionToken": "t", "Expiration": "2999-01-01T00:00:00+01:00",
                 "AccountId": "012345678901"}
    call("store", "session", text=json.dumps({"Credentials": temporary}))
    expect(json.loads(call("get", "session")) == {"Version": 1, **temporary}, "sts")
    for end in ("2020-01-01T00:00:00Z", "2020-01-01T00:00Z", "20200101T000000+0000", 1577836800,
                1577836800000):
        call("store", "session", text=json.dumps({**temporary, "Expiration": end}))
        call("get", "session", code=1)
    # What the program says about a name does not act on a terminal.
    outcome = world.run("aws-credentials", "get", "a\x1b[2J\u202e")
    expect(outcome.code == 44 and not set("\x1b\u202e") & set(outcome.err), outcome)
    for text in ("", "{}", "[]", json.dumps({"AccessKeyId": "a"}), "{" * 100_000,
                 json.dumps({**temporary, "Expiration": "now"}),
                 json.dumps({**temporary, "Expiration": -1}),
                 json.dumps({**temporary, "SessionToken": 1}), json.dumps({**keys, "Version": 2}),
                 json.dumps({**keys, "Version": "1"}), json.dumps({**keys, "AccessKeyId": ""}),
                 json.dumps({**keys, "SecretAccessKey": ""}),
                 json.dumps({**keys, "SecretAccessKey": {}}),
                 json.dumps({**keys, "Credentials": keys})):
        call("store", "session", text=text, code=65)
    call("store", "null", text=json.dumps({**keys, "SessionToken": None, "Expiration": None}))
    expect(json.loads(call("get", "null")) == {"Version": 1, **keys}, "null")
    call("remove", "work")
    call("remove", "work", code=44)
    call("get", "work", code=44)
    # Older keys of the name, here and shared, do not come out again.
    call("store", "work", text=json.dumps(keys))
    call("store", "work", "--cloud", text=json.dumps({**keys, "AccessKeyId": "NEW"}))
    expect(json.loads(call("get", "work"))["AccessKeyId"] == "NEW", "newest")
    call("remove", "work")
    call("get", "work", code=44)
    expect(world.run("list", "--all").out.count(b"work") == 0, "an item stays")


KEYRING = """
import json, sys, dbus, dbus.service, dbus.mainloop.glib
from gi.repository import GLib
dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
root = "/org/freedesktop/secrets"

class Part(dbus.service.Object):
    def __init__(self, bus, path, properties, secret=b""):
        super().__init__(bus, path)
        self.properties, self.secret = dbus.Dictionary(properties, signature="sv"), secret
    @dbus.service.method("org.freedesktop.Secret.Service", "sv", "vo")
    def OpenSession(self, algorithm, key):
        return "", dbus.ObjectPath(root + "/session")
    @dbus.service.method("org.freedesktop.DBus.Properties", "ss", "v")
    def Get(self, interface, name):
        return self.properties[name]
    @dbus.service.method("org.freedesktop.DBus.Properties", "s", "a{sv}")
    def GetAll(self, interface):
        return self.properties
    @dbus.service.method("org.freedesktop.Secret.Item", "o", "(oayays)")
    def GetSecret(self, session):
        return dbus.Struct((session, dbus.Array([], signature="y"), dbus.ByteArray(self.secret),
                            "text/plain"), signature="oayays")

bus = dbus.SessionBus()
name = dbus.service.BusName("org.freedesktop.secrets", bus)
items = json.loads(sys.argv[1])
paths = [dbus.ObjectPath(f"{root}/collection/login/{place}") for place in range(len(items))]
folders = [dbus.ObjectPath(root + "/collection/login"), dbus.ObjectPath(root + "/collection/old")]
parts = [Part(bus, root, {"Collections": dbus.Array(folders, signature="o")}),
         Part(bus, folders[0], {"Locked": False, "Items": dbus.Array(paths, signature="o"),
                                "Label": "Login"}),
         Part(bus, folders[1], {"Locked": True, "Items": dbus.Array([], signature="o"),
                                "Label": "Old"})]
parts += [Part(bus, path, {"Label": "item", "Locked": False,
                           "Attributes": dbus.Dictionary(item, signature="ss")}, secret.encode())
          for path, (item, secret) in zip(paths, items)]
print("ready", flush=True)
GLib.MainLoop().run()
"""


@scenario
def of_a_keyring_of_other_helpers(world):
    """What other helpers keep in a keyring is found by the helpers here."""
    need("dbus-daemon")
    probe = subprocess.run(["/usr/bin/python3", "-c", "import dbus, gi"], check=False,
                           stderr=subprocess.DEVNULL)
    if probe.returncode != 0:
        raise Skip("needs python3-dbus and python3-gi")
    url = "https://index.docker.io/v1/"
    items = [
        ({"xdg:schema": "io.docker.Credentials", "label": "Docker Credentials", "server": url,
          "username": "ann", "docker_cli": "1"}, "docker"),
        ({"xdg:schema": "com.microsoft.GitCredentialManager", "account": "ann",
          "service": "git:https://GitHub.Example"}, "gcm"),
        ({"xdg:schema": "com.microsoft.GitCredentialManager", "account": "ann",
          "service": "team:https://named.example/org"}, "named"),
        ({"protocol": "https", "server": "Zero.Example", "port": "0", "user": "ann"}, "zero"),
        ({"protocol": "https", "server": "::1", "port": "8443", "user": "ann"}, "six"),
        ({"server": "https://address.example:443/", "user": "ann"}, "address"),
        ({"protocol": "https", "server": "odd.example", "port": "70000", "user": "ann"}, "odd")]
    address = f"unix:path={world.folder}/bus"
    env = {"DBUS_SESSION_BUS_ADDRESS": address, "XDG_RUNTIME_DIR": world.folder}
    world.start(["dbus-daemon", "--session", "--nofork", "--address", address], env,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 20
    while not os.path.exists(f"{world.folder}/bus") and time.monotonic() < deadline:
        time.sleep(0.05)
    keyring = world.start(["/usr/bin/python3", "-c", KEYRING, json.dumps(items)], env,
                          stdout=subprocess.PIPE)
    expect(keyring.stdout.readline() == b"ready\n", "the keyring does not start")
    refused = world.run("import", "--from", "secret-service", env=env)
    expect(refused.code == 75 and "Old (/org/freedesktop/secrets/collection/old)" in refused.err,
           refused)
    stored = world.run("import", "--from", "secret-service", "--skip-unreadable", env=env)
    expect(stored.code == 0 and b"skip  Old (" in stored.out, stored)
    expect(stored.out.count(b"add ") == len(items), stored)
    expect(json.loads(docker(world, "get", url))["Secret"] == "docker", "docker")
    expect(json.loads(docker(world, "list")) == {url: "ann"}, "the list of docker")
    for host, path, value in (
            ("github.example", "", "gcm"), ("named.example", "org", "named"),
            ("zero.example", "", "zero"), ("[::1]:8443", "", "six"),
            ("address.example", "", "address")):
        found = git(world, "get", "protocol=https", "host=" + host, "path=" + path)
        expect(found == ["username=ann", "password=" + value], host, found)
    again = world.run("import", "--from", "secret-service", "--skip-unreadable", env=env)
    expect(again.out.count(b"same ") == len(items), again)


@scenario
def of_files_of_other_helpers(world):
    """What helpers keep in files is imported from their place, a file or standard input."""
    home = world.folder
    keys = {"AccessKeyId": "A", "SecretAccessKey": "S"}
    files = {
        "git-credentials": (".git-credentials", "https://ann:p%40@GitHub.Example\n"),
        "docker-config": (".docker/config.json", json.dumps({"auths": {
            "r.example": {"auth": base64.b64encode(b"ann:p").decode()}}})),
        "aws-credentials": (".aws/credentials",
                            "[work]\naws_access_key_id = A\naws_secret_access_key = S\n"),
        "aws-csv": ("keys.csv", "User name,Access key ID,Secret access key\nben,A,S\n")}
    for source, (name, text) in files.items():
        path = os.path.join(home, name)
        if source != "aws-csv":
            expect(world.run("import", "--from", source).code == 44, source, "is there")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        words = [path] if source == "aws-csv" else []
        stored = world.run("import", "--from", source, *words)
        expect(stored.code == 0 and stored.out.startswith(b"add "), source, stored)
        for given, file in ((words, b""), ([path], b""), (["-"], text.encode())):
            # A variable without text counts as unset.
            again = world.run("import", "--from", source, *given, input=file, env=dict.fromkeys(
                ("DOCKER_CONFIG", "XDG_CONFIG_HOME", "AWS_SHARED_CREDENTIALS_FILE"), ""))
            expect(again.code == 0 and again.out.startswith(b"same "), source, given, again)
    expect(git(world, "get", "protocol=https", "host=github.example")
           == ["username=ann", "password=p@"], "git")
    expect(json.loads(docker(world, "get", "r.example"))["Secret"] == "p", "docker")
    for profile in ("work", "ben"):
        found = world.run("aws-credentials", "get", profile)
        expect(json.loads(found.out) == {"Version": 1, **keys}, found)
    # The places that variables name, and git's second file.
    for source, variable, name, text in (
            ("docker-config", "DOCKER_CONFIG", "config.json", files["docker-config"][1]),
            ("git-credentials", "XDG_CONFIG_HOME", "git/credentials", "https://b:q@b.example\n"),
            ("aws-credentials", "AWS_SHARED_CREDENTIALS_FILE", "", files["aws-credentials"][1])):
        path = os.path.join(home, "other-" + source, name).rstrip("/")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("r.example", "s.example").replace("[work]", "[other]"))
        stored = world.run("import", "--from", source,
                           env={variable: os.path.join(home, "other-" + source)})
        expect(stored.code == 0 and b"add " in stored.out, source, stored)
    # What is exported is imported again.
    exported = world.run("export", "--format", "json", "--yes")
    world.home = os.path.join(world.folder, "second")
    stored = world.run("import", "--from", "json", input=exported.out)
    expect(stored.code == 0, stored)
    expect(world.run("export", "--format", "json", "--yes").out == exported.out, "it differs")


class Backend(http.server.BaseHTTPRequestHandler):
    """git http-backend, behind a password."""

    def do_GET(self):
        word = base64.b64encode(f"{self.server.user}:{self.server.password}".encode()).decode()
        if self.headers.get("Authorization") != "Basic " + word:
            self.server.refused += "Authorization" in self.headers
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="test"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        answer = subprocess.run(
            ["git", "http-backend"], input=body, stdout=subprocess.PIPE, check=True, env={
                "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": self.server.root,
                "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path, "QUERY_STRING": query,
                "REQUEST_METHOD": self.command, "REMOTE_USER": self.server.user,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", "")}).stdout
        head, _, body = answer.partition(b"\r\n\r\n")
        self.send_response(200)
        for line in head.decode().split("\r\n"):
            self.send_header(*line.split(": ", 1))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *_):
        """The standard error of a scenario is the reason of its failure."""


@scenario
def of_git_over_http(world):
    """git clones and pushes over HTTP with the password that it has stored."""
    need("git")
    folder = install(world)
    root = os.path.join(world.folder, "server")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Backend) as server:
        server.root, server.user, server.password, server.refused = root, "ann", "secret 1", 0
        threading.Thread(target=server.serve_forever, daemon=True).start()
        asked = os.path.join(world.folder, "asked")
        askpass = os.path.join(world.folder, "askpass")
        with open(askpass, "w", encoding="utf-8") as script:
            script.write(f"#!/bin/sh\necho \"$1\" >> {asked}\n"
                         "case $1 in User*) echo ann ;; *) echo \"$TYPED\" ;; esac\n")
        os.chmod(askpass, 0o755)

        def run(*words, typed="", code=0):
            outcome = world.run(*words, command="git", cwd=world.folder, env={
                "PATH": folder + ":" + os.environ["PATH"], "GIT_ASKPASS": askpass,
                "TYPED": typed, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"})
            expect((outcome.code == 0) == (code == 0), "git", *words, outcome)
            questions = open(asked).read().splitlines() if os.path.exists(asked) else []
            if questions:
                os.remove(asked)
            return len(questions)

        run("config", "--global", "credential.helper", "valet")
        run("config", "--global", "user.name", "Ann")
        run("config", "--global", "user.email", "ann@example.com")
        run("init", "--quiet", "--bare", f"{root}/a.git")
        run("-C", f"{root}/a.git", "config", "http.receivepack", "true")
        url = f"http://127.0.0.1:{server.server_port}/a.git"
        # A wrong password is not stored; the right one is asked for once.
        run("clone", "--quiet", url, "one", typed="wrong", code=1)
        expect(git(world, "get", "protocol=http", f"host=127.0.0.1:{server.server_port}") == [],
               "a wrong password was stored")
        expect(run("clone", "--quiet", url, "one", typed="secret 1") == 2, "not asked")
        run("-C", "one", "commit", "--quiet", "--allow-empty", "-m", "first")
        expect(run("-C", "one", "push", "--quiet", "origin", "HEAD:main") == 0, "asked again")
        expect(run("clone", "--quiet", url, "two") == 0, "asked again")
        # A password that the server refuses is erased, and git asks for another one.
        server.password = "secret 2"
        run("-C", "two", "fetch", "--quiet", typed="wrong", code=1)
        expect(run("-C", "two", "fetch", "--quiet", typed="secret 2") == 2, "not asked")
        expect(run("-C", "two", "fetch", "--quiet") == 0, "asked again")
        # The same through the command itself.
        run("config", "--global", "credential.helper", f"!{COMMAND} git-credential")
        expect(run("-C", "two", "fetch", "--quiet") == 0, "asked again")
        listed = world.run("list").out.decode()
        if "127.0.0.1" not in listed or "internet" not in listed:
            raise Failure("the password is no internet password:", listed)
        server.shutdown()
