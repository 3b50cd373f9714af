# SPDX-License-Identifier: Apache-2.0
"""Every verb of the command, in keychains of which one bit has changed: in each column of each
table and index, and in each part of a page that leads to others.

A bit that changes on the disk is *raw*: the checksum of its page does not fit any more. One that
changes before the page is written, or by somebody who knows the format, is *consistent*: all
checksums fit, and only the seals can tell. What a verb does in the sound keychain is what it has to
do in the damaged one, unless it says that the keychain is damaged."""

import collections
import concurrent.futures
import json
import os
import random
import re
import shutil
import sqlite3
import threading

import pages
from support import CRASH_TEST, ORDINARY, expect, scenario

RANDOM = random.Random(os.environ.get("VALET_TEST_SEED", "1"))

RAW, CONSISTENT = "raw", "consistent"
DAMAGED, ABSENT, LOCKED, SEVERAL = 65, 44, 75, 64
OTHER, MANY = ("--app", "com.example.other"), ("--app", "com.example.many")
APPS = ((), OTHER, MANY)
# More places than have positive ids.
SERVER_COUNT = 66
LARGE = "x" * 9000
COUNTER = "otpauth://hotp/a?secret=JBSWY3DPEHPK3PXP&counter=3"
HOST = ("--server", "host.example")
PASSPHRASE = b"a long passphrase\n"
GIT = "protocol=https\nhost=git.example\n\n"

# Words that select an item, and its value.
ITEMS = [
    (("plain",), "first"), (("plain",), "second"), (("plain",), "third"),
    (("after", "--accessibility", "after-first-unlock"), "value 5"),
    (("device", "--accessibility", "when-unlocked-this-device-only"), "device"),
    (("late", "--accessibility", "after-first-unlock-this-device-only"), "value 6"),
    (("cloud", "--cloud"), "cloud 1"), (("cloud", "--cloud"), "cloud 2"),
    (("dropped", "--cloud"), "dropped"),
    (("plain", "--id", "other"), "of another valet"), (("plain", *OTHER), "of another program"),
    (("mail", "--service", "imap.example", "--label", "Mail"), "mail 1"),
    (("mail", "--service", "imap.example"), "mail 2"),
    (("second", "--service", "imap.example"), "second of a service"),
    (("root", *HOST, "--port", "443", "--protocol", "https"), "root 1"),
    (("root", *HOST, "--port", "443", "--protocol", "https"), "root 2"),
    (("swift", "--keychain-swift"), "swift"), (("large",), LARGE), (("gone",), "gone"),
    (("counter",), COUNTER),
]
REMOVED = [("gone",), ("dropped", "--cloud")]
# Long enough not to be in other texts.
KNOWN = {value: words for words, value in ITEMS if len(value) > 4}
KNOWN |= {f"many {number}": (f"a{number}", *MANY) for number in (0, 64, 65)}


class Verb:
    """A command line, what it reads, and the calls that show its effect."""

    def __init__(self, *words, input="", effects=()):
        self.words, self.effects = words, effects
        self.input = input if isinstance(input, bytes) else input.encode()
        self.name = " ".join(words)


def reads():
    found = [Verb("get", *words) for words in dict(ITEMS)]
    found += [Verb("get", f"a{number}", "--server", f"s{number}", *MANY) for number in (0, 64, 65)]
    found += [Verb(*line.split()) for line in """
        get --server host.example --account root
        get --server host.example
        get root --server host.example --port 443
        get --service imap.example
        get --label Mail
        get plain --version 1
        get plain --version 3
        get root --server host.example --version 1
        contains plain
        contains cloud
        contains absent
        contains root --server host.example
        show plain --json
        show mail --service imap.example --json
        show root --server host.example --json
        list --json
        list --all --json
        list --id other --json
        list --service imap.example --json
        list --server host.example --json
        list --label Mail --json
        list --accessibility after-first-unlock --json
        list --cloud --json
        list --app com.example.many --json
        list pl* --names
        search pl --json
        history plain --json
        history root --server host.example --json
        history --json
        export --format json --yes
        export --format dotenv --yes --id other
        read valet:plain
        read valet://com.example.other/default/plain
        run --env X=valet:after -- printenv X
        docker-credential list
        status --json
        settings --json
        """.strip().splitlines()]
    return found + [
        Verb("inject", input="{{ valet:plain }} {{ valet:device }}"),
        Verb("git-credential", "get", input=GIT),
        Verb("docker-credential", "get", input="https://docker.example"),
    ]


def get(*words):
    return Verb("get", *words)


def item(**members):
    return json.dumps({"format": "valet-export-1", "items": [
        {"class": "generic-password", "accessibility": "when-unlocked", "cloud": False, **members}]})


def writes():
    imap, yes = ("--service", "imap.example"), "--yes"
    former = Verb("get", "plain", "--version", "1")
    lasting = [verb for verb in reads() if verb.words[0] != "status"]
    return [
        Verb("set", "plain", input="new", effects=[get("plain"), former]),
        Verb("set", "plain", *OTHER, input="new", effects=[get("plain", *OTHER), get("plain")]),
        Verb("set", "fresh", input="new", effects=[get("fresh"), Verb("contains", "fresh")]),
        Verb("set", "cloud", input="new", effects=[get("cloud"), get("cloud", "--cloud")]),
        Verb("set", "mail", *imap, input="new", effects=[get("mail", *imap), get("--label", "Mail")]),
        Verb("set", "root", *HOST, input="new",
             effects=[get("root", *HOST), get(*HOST, "--account", "root"),
                      get("root", *HOST, "--port", "443", "--protocol", "https")]),
        Verb("set", "a65", "--server", "s65", *MANY, input="new",
             effects=[get("a65", "--server", "s65", *MANY)]),
        Verb("set", "third", *imap, input="new",
             effects=[get("third", *imap), Verb("list", *imap, "--names")]),
        Verb("set", "plain", "--if-absent", input="new", effects=[get("plain")]),
        Verb("set", "mail", *imap, "--if-absent", input="new", effects=[get("mail", *imap)]),
        Verb("set", "after", "--accessibility", "when-unlocked", input="new",
             effects=[get("after"), get("after", "--accessibility", "after-first-unlock")]),
        Verb("generate", "random", effects=[Verb("contains", "random")]),
        Verb("rename", "plain", "renamed", effects=[
            get("renamed"), get("plain"), Verb("get", "renamed", "--version", "1")]),
        Verb("rename", "plain", "large", "--force", effects=[
            get("plain"), get("large"), Verb("get", "large", "--version", "1")]),
        Verb("move", "plain", "--to-id", "new", effects=[get("plain"), get("plain", "--id", "new")]),
        Verb("move", "plain", "--to-id", "other", "--force", effects=[
            get("plain"), get("plain", "--id", "other")]),
        Verb("move", "after", "--to-accessibility", "when-unlocked", effects=[
            get("after", "--accessibility", "when-unlocked"), get("after")]),
        Verb("copy-to", "plain", "--to-app", "com.example.copy", effects=[
            get("plain", "--app", "com.example.copy"), get("plain")]),
        Verb("migrate", *OTHER, "--to-app", "com.example.moved", effects=[
            get("plain", *OTHER), get("plain", "--app", "com.example.moved")]),
        Verb("remove", "plain", yes, effects=[get("plain"), former, Verb("contains", "plain")]),
        Verb("remove", "plain", "--purge", yes, effects=[get("plain"), former]),
        Verb("remove", *HOST, yes, effects=[get("root", *HOST)]),
        Verb("remove", "cloud", yes, effects=[get("cloud")]),
        Verb("remove", "--all", *imap, yes, effects=[get("mail", *imap), get("second", *imap)]),
        Verb("remove", "--all", "--id", "other", yes, effects=[get("plain", "--id", "other")]),
        Verb("remove", "--matching", "l*", yes, effects=[get("late"), get("large")]),
        Verb("undo", "plain", effects=[get("plain"), former]),
        Verb("undo", "plain", "--version", "2", effects=[get("plain"), former]),
        Verb("undo", "gone", effects=[get("gone")]),
        Verb("undo", "root", *HOST, effects=[get("root", *HOST)]),
        Verb("undo", "--matching", "g*", effects=[get("gone")]),
        Verb("otp", "counter", effects=[get("counter")]),
        Verb("import", "--from", "json", "-", input=item(account="n", service="s", value="new"),
             effects=[get("n", "--service", "s")]),
        Verb("import", "--from", "json", "--replace", "-",
             input=item(account="mail", service="imap.example", value="new"),
             effects=[get("mail", *imap)]),
        Verb("git-credential", "store",
             input="password=new\nusername=u\n" + GIT,
             effects=[Verb("git-credential", "get", input=GIT)]),
        Verb("git-credential", "erase",
             input="password=git\nusername=u\n" + GIT,
             effects=[Verb("git-credential", "get", input=GIT)]),
        Verb("docker-credential", "erase", input="https://docker.example", effects=[
            Verb("docker-credential", "get", input="https://docker.example")]),
        Verb("settings", "history", "1", effects=[Verb("settings", "--json")]),
        Verb("settings", "history", "0", "--purge", "--yes", effects=[Verb("settings", "--json"), former]),
        Verb("rotate", effects=lasting),
        Verb("doctor", "--repair-indexes", effects=lasting),
        Verb("backup", "restore", "{backup}", "--replace", "--passphrase-fd", "0", input=PASSPHRASE,
             effects=[get("plain"), get("root", *HOST)]),
    ]


class Wrong(Exception):
    """What a verb did is neither right nor said to be damage."""


class Bench:
    """A copy of the sample's folder, in which one verb after the other runs."""

    def __init__(self, sample, name):
        self.sample = sample
        self.home = os.path.join(sample.world.folder, name)

    def restore(self, case=None):
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.copytree(self.sample.home, self.home)
        if case:
            pages.Database(f"{self.home}/keychain.db").flip(
                case.page, case.offset, case.mask, case.damage == CONSISTENT)

    def run(self, verb):
        words = [self.sample.backup if word == "{backup}" else word for word in verb.words]
        outcome = self.sample.world.run(*words, input=verb.input, env={
            **self.sample.env, "VALET_HOME": self.home})
        outcome.out = outcome.out.replace(self.home.encode(), b"HOME")
        if verb.words[0] == "status":
            outcome.out = re.sub(rb'"byteCount":\d+', b"", outcome.out)
        return outcome

    def stored(self):
        """Returns the items of all programs with their values, as far as they can be read."""
        found, self.is_whole = {}, True
        for app in self.sample.apps:
            outcome = self.run(Verb("export", "--format", "json", "--yes", *app))
            self.is_whole &= outcome.code == 0
            for one in json.loads(outcome.out or "{}").get("items", ()):
                value = one.pop("value")
                found[json.dumps([app, one])] = value
        return found


class Sample:
    """The sound keychain, and what each verb does there."""

    def __init__(self, world, env=()):
        self.world, self.env = world, dict(env)
        self.home, self.backup = world.home, os.path.join(world.folder, "backup")
        self.reads, self.writes, self.apps = reads(), writes(), APPS
        self.answers, self.changes, self.lock = {}, {}, threading.RLock()
        self.bench = Bench(self, "sound")

    def fill(self, halfway=lambda: None):
        half = len(ITEMS) // 2
        for index, (words, value) in enumerate(ITEMS):
            self.world.set(words[0], value, *words[1:], env=self.env)
            if index == half:
                halfway()
        for words in REMOVED:
            self.do("remove", *words, "--yes")
        self.do("git-credential", "store", input="password=git\nusername=u\n" + GIT)
        self.do("docker-credential", "store", input=json.dumps(
            {"ServerURL": "https://docker.example", "Username": "d", "Secret": "docker"}))
        self.do("import", "--from", "json", "-", *MANY, input=json.dumps(
            {"format": "valet-export-1", "items": [
                {"class": "internet-password", "account": f"a{number}", "server": f"s{number}",
                 "accessibility": "when-unlocked", "cloud": False, "value": f"many {number}"}
                for number in range(SERVER_COUNT)]}))
        self.do("backup", "create", self.backup, "--passphrase-fd", "0", input=PASSPHRASE)

    def do(self, *words, **options):
        verb = Verb(*words, **options)
        outcome = self.world.run(*words, input=verb.input, env=self.env)
        expect(outcome.code == 0, verb.name, outcome)

    def answer(self, verb):
        """Returns what a verb says in the sound keychain."""
        with self.lock:
            if verb.name not in self.answers:
                self.bench.restore()
                self.answers[verb.name] = self.bench.run(verb)
            return self.answers[verb.name]

    def change(self, verb):
        """Returns what a verb does in the sound keychain: its outcome, the outcomes of the calls
        that show it, and the items that have changed."""
        with self.lock:
            if verb.name not in self.changes:
                self.bench.restore()
                before = self.bench.stored()
                outcome = self.bench.run(verb)
                effects = [self.bench.run(effect) for effect in verb.effects]
                after = self.bench.stored()
                self.changes[verb.name] = outcome, effects, set(differences(before, after))
            return self.changes[verb.name]


class Case(collections.namedtuple("Case", "damage tree column row page offset mask")):
    """A bit, and what it belongs to."""

    def __str__(self):
        return (f"{self.damage} {self.tree}.{self.column} {self.row}, page {self.page}, "
                f"byte {self.offset} ^ {self.mask}")


def chosen_rows(database, trees):
    """Returns the numbers of the rows to change, of each table: of many alike, three."""
    root = {tree.name: tree.root for tree in trees}
    found = [(database.value(page, fields[0]), database.value(page, fields[8]))
             for _, fields, page in database.rows(root["item"])]
    if len(found) > SERVER_COUNT:
        found[-SERVER_COUNT + 1:-2] = []
    return {"item": {number for number, _ in found}, "place": {place for _, place in found}}


def column_cases(database, tree, chosen):
    """Yields the bits of each column of each row that count for that column."""
    kept = chosen["place" if tree.name.startswith("place") else "item"]
    for page, fields, bytes_ in database.rows(tree.root):
        row = database.value(bytes_, fields[0] if fields[0].serial is None else fields[-1])
        if tree.name.startswith(("place", "item", "attribute")) and row not in kept:
            continue
        for index, (column, field) in enumerate(zip(tree.columns, fields)):
            # SQLite keeps the row number outside of the row, and NULL in its column.
            if index and fields[0].serial is None and column == tree.columns[0]:
                continue
            for offset, mask in bits(field, column in ("class", "protection", "flags")):
                yield Case(CONSISTENT, tree.name, column, row, page, offset, mask)


def bits(field, is_sort):
    """The bits of a field to change: lowest and highest ones; all of a column that says what sort
    of row it is."""
    end = field.offset + field.length - 1
    if field.serial is None:
        return [(end, 1), (end, 0x20)]
    if field.serial in (0, 8, 9):
        # 0 and 1 are types of their own, and so is NULL, which may become 0.
        return [(field.header, 8 if field.serial == 0 else 1)]
    if is_sort:
        return [(field.offset + at // 8, 1 << at % 8) for at in range(8 * field.length)]
    return [(field.offset, 0x80), (end, 1)] if field.length else [(field.header, 2)]


def page_cases(database, tree):
    """Yields a bit of each page of a tree."""
    for page in database.tree(tree.root):
        yield Case(RAW, tree.name, "page", "-", page, page * 37 % pages.PLACE, 1 << page % 8)


def parts(out):
    """Counts the entries of a list, or the lines of a text."""
    return collections.Counter(entries(out))


def entries(out):
    text = out.decode(errors="replace").strip()
    try:
        found = json.loads(text)
    except ValueError:
        return [line.rstrip(",") for line in text.splitlines() if line != "]}"]
    if isinstance(found, dict):
        rows = next((value for value in found.values() if isinstance(value, list)), None)
        found = [f"{key}: {value}" for key, value in found.items()] if rows is None else rows
    return [json.dumps(row) for row in found]


# Where an index leads, and columns that a search trusts because it meets too many rows.
NUMBERS = ("rowid", "number")
UNSEEN = (("item", "hashes"), ("former", "group_hash"), ("former", "service_hash"),
          ("former", "account_hash"))
RIGHT, SAID, HIDDEN, UNREADABLE = "right", "damaged", "hidden", "unreadable"


def judge(verb, sound, outcome, case):
    """Says whether an answer is that of the sound keychain, says that something is damaged, or
    leaves out what is there."""
    if (outcome.code, outcome.out) == (sound.code, sound.out):
        return RIGHT
    if is_damage(outcome, case):
        check_values(verb, sound, outcome)
        return SAID
    is_less = outcome.code == sound.code == 0 and parts(outcome.out) < parts(sound.out)
    is_absent = sound.code == 0 and (
        outcome.code == ABSENT or outcome.code == 1 and b"not found" in outcome.out)
    # The state counts rows by columns that nobody has authenticated, as it needs no key.
    is_count = verb.words[0] == "status" and (case.tree, case.column) == ("item", "flags")
    if is_count or misleads(case) or (is_less or is_absent) and may_hide(verb, case):
        check_values(verb, sound, outcome)
        return HIDDEN
    raise Wrong(f"not {sound}, but {outcome}")


def check_values(verb, sound, outcome):
    """Checks that no value of another item is shown."""
    shown, known = (one.out.decode(errors="replace") for one in (outcome, sound))
    for value, words in KNOWN.items():
        is_own = (all(word in verb.words for word in words) or sound.code == SEVERAL
                  or "--label" in verb.words and words[0] == "mail")
        if value in shown and value not in known and not is_own:
            raise Wrong(f"{value!r} is shown")


def misleads(case):
    """Says whether an entry of an index is not where a search looks, or leads to another place.
    Nothing but a comparison with the rows can tell, which `doctor` makes."""
    return is_of_index(case) and (case.column not in NUMBERS or case.tree.startswith("place"))


def may_hide(verb, case):
    """Says whether a verb may miss an item, and only `doctor` sees why: docs/decisions/0076."""
    if misleads(case):
        return True
    if case.damage == CONSISTENT and (case.tree, case.column) in UNSEEN:
        return True
    # A list looks at each row after its search: the row may be another one by then.
    return is_of_index(case) and verb.words[0] in ("list", "export", "docker-credential")


def is_of_index(case):
    return case.damage == CONSISTENT and ("_by_" in case.tree or case.tree == "attribute")


def is_damage(outcome, case):
    if outcome.code == DAMAGED:
        return True
    # An export leaves out what is damaged, and says so.
    if outcome.code in (0, 1) and "damaged" in outcome.err:
        return True
    # A list of former values says so in its line.
    if outcome.code == 0 and b'"set":null' in outcome.out:
        return True
    said = outcome.err + outcome.out.decode(errors="replace")
    # Docker's helper has one exit code for every error, and tells it on standard output.
    if outcome.code == 1 and outcome.out.startswith(b"could not"):
        return True
    if case.tree not in ("keychain", "keybag"):
        return False
    # Published keys belong to the settings and the keybag that were authenticated.
    return outcome.code == 1 and "newer" in said or (
        outcome.code == LOCKED and "keys have changed" in said)


class Trial:
    """One bit, and the verbs that meet it."""

    def __init__(self, bench, case, tally):
        self.bench, self.case, self.tally = bench, case, tally
        self.sample = bench.sample
        bench.restore(case)
        outcome = bench.run(Verb("doctor"))
        # With a passcode, the next unlock authenticates settings and keybag.
        self.is_seen = outcome.code != 0 or b"keys have changed" in outcome.out
        self.tally.count(case, "doctor", SAID if self.is_seen else RIGHT)
        if not self.is_seen:
            self.tally.unseen[f"{case.tree}.{case.column}"] += 1
        if outcome.code not in (0, DAMAGED) and not is_damage(outcome, case):
            self.tally.fail(case, "doctor", outcome)

    def read(self, verb):
        self.attempt(verb, lambda: self.allowed(
            judge(verb, self.sample.answer(verb), self.bench.run(verb), self.case)))

    def attempt(self, verb, body):
        try:
            self.tally.count(self.case, verb.words[0], body())
        except Wrong as wrong:
            self.tally.fail(self.case, verb.name, wrong)

    def allowed(self, verdict):
        if verdict != RIGHT and not self.is_seen:
            raise Wrong(f"{verdict}, and doctor sees nothing")
        return verdict

    def write(self, verb):
        self.attempt(verb, lambda: self.allowed(self.judge_write(verb)))

    def judge_write(self, verb):
        bench, case = self.bench, self.case
        sound, sound_effects, touched = self.sample.change(verb)
        bench.restore(case)
        before, seen = bench.stored(), [bench.run(effect) for effect in verb.effects[:4]]
        bench.restore(case)
        outcome = bench.run(verb)
        effects, after = [bench.run(effect) for effect in verb.effects], bench.stored()
        is_misled = misleads(case) and outcome.code in (0, 1)
        if (outcome.code != 0 or sound.code != 0) and not is_misled:
            is_hidden = outcome.code == ABSENT and may_hide(verb, case)
            if outcome.code != sound.code and not is_hidden and not is_damage(outcome, case):
                raise Wrong(f"not {sound}, but {outcome}")
            # These erase what they can, and report the rest.
            if "erase" not in verb.words or not set(differences(before, after)) <= touched:
                check_unchanged(verb, outcome, (before, seen), (after, effects))
            return SAID if is_damage(outcome, case) else (
                RIGHT if outcome.code == sound.code else HIDDEN)
        lost = {key: value for key, value in before.items()
                if key not in touched and after.get(key) != value}
        # A table in a wrong order is read otherwise after each change. Rows may be damaged then.
        is_said = is_disordered(case) and not bench.is_whole and not set(lost) & set(after)
        if lost and not is_said:
            raise Wrong(f"other items have changed: {differences(lost, after)}")
        # Former values that do not open stay where they were, which the command says.
        if "under the old name" in outcome.err:
            effects, sound_effects = effects[:1], sound_effects[:1]
        return self.judge_effects(verb, sound_effects, effects, seen)

    def judge_effects(self, verb, sound_effects, effects, seen):
        """Says whether an acknowledged change is there."""
        verdicts = set()
        is_lasting = len(verb.effects) > 4
        for index, (effect, wanted, found) in enumerate(zip(verb.effects, sound_effects, effects)):
            try:
                verdict = judge(effect, wanted, found, self.case)
            except Wrong as wrong:
                if is_disordered(self.case) and found.code != 0:
                    verdicts.add(UNREADABLE)
                    continue
                # It may be that of a value which was not readable before.
                if index == 0 or is_lasting or self.is_sound_before(effect, seen[index]):
                    raise Wrong(f"done, but {effect.name}: {wrong}") from None
                verdict = HIDDEN
            must_be_there = is_lasting or index == 0 and not misleads(self.case)
            if verdict == HIDDEN and must_be_there:
                raise Wrong(f"done, but {effect.name} does not find it: {found}")
            if verdict == SAID and index == 0 and not is_lasting:
                verdict = UNREADABLE
            verdicts.add(verdict)
        return next((one for one in (UNREADABLE, HIDDEN, SAID) if one in verdicts), RIGHT)

    def is_sound_before(self, effect, seen):
        sound = self.sample.answer(effect)
        return (sound.code, sound.out) == (seen.code, seen.out)


def check_unchanged(verb, outcome, old, new):
    """Checks that a call that has failed has changed nothing."""
    if old[0] != new[0]:
        raise Wrong(f"{outcome}, but items have changed: {differences(old[0], new[0])}")
    for effect, before, after in zip(verb.effects, old[1], new[1]):
        if (before.code, before.out) != (after.code, after.out):
            raise Wrong(f"{outcome}, but {effect.name} had {before} and now {after}")


def is_disordered(case):
    """Says whether rows of a table are out of order, so that some lookups miss them."""
    return case.damage == CONSISTENT and case.column in ("number", "id", "kept", "rowid")


def differences(before, after):
    return {key: (before.get(key), after.get(key))
            for key in {*before, *after} if before.get(key) != after.get(key)}


class Tally:
    """What came out, of each kind of damage and each verb."""

    def __init__(self):
        self.counts, self.failures = collections.Counter(), []
        self.unseen, self.hidden = collections.Counter(), collections.Counter()
        self.lock = threading.Lock()

    def count(self, case, verb, verdict):
        with self.lock:
            if verdict in (HIDDEN, UNREADABLE):
                self.hidden[f"{case.tree}.{case.column}", verb, verdict] += 1
            self.counts[case.damage, verb, verdict] += 1

    def fail(self, case, verb, reason):
        with self.lock:
            self.counts[case.damage, verb.split()[0], "WRONG"] += 1
            self.failures.append(f"{case}: {verb}: {reason}")

    def report(self):
        kinds = (RIGHT, SAID, HIDDEN, UNREADABLE, "WRONG")
        print(f"{'':34}" + "".join(f"{kind:>11}" for kind in kinds))
        for damage, verb in sorted({key[:2] for key in self.counts}):
            row = "".join(f"{self.counts[damage, verb, kind]:11}" for kind in kinds)
            print(f"{damage:12}{verb:22}{row}")
        print("doctor sees nothing:", dict(self.unseen))
        for key, count in sorted(self.hidden.items()):
            print(*key, count)


def all_cases(sample, is_thorough):
    """Returns the bits to change; in a test run, one of each column, and a page of each tree."""
    database = pages.Database(f"{sample.home}/keychain.db")
    trees = database.trees()
    chosen = chosen_rows(database, trees)
    found = []
    for tree in trees:
        found += column_cases(database, tree, chosen)
        found += page_cases(database, tree)
    if is_thorough:
        return found
    groups = collections.defaultdict(list)
    for case in found:
        groups[case.tree, case.column].append(case)
    return [RANDOM.choice(group) for group in groups.values()]


def run_all(sample, cases, read_count, write_count):
    """Tries verbs with each case: all reads, or some; some writes."""
    tally, queue = Tally(), iter(list(enumerate(cases)))
    lock = threading.Lock()
    every = {kind: RANDOM.sample(verbs, len(verbs))
             for kind, verbs in (("read", sample.reads), ("write", sample.writes))}

    def work(name):
        bench = Bench(sample, name)
        while True:
            with lock:
                index, case = next(queue, (0, None))
            if case is None:
                return
            trial = Trial(bench, case, tally)
            for verb in turn(every["read"], index, read_count):
                trial.read(verb)
            for verb in turn(every["write"], index, write_count):
                trial.write(verb)

    with concurrent.futures.ThreadPoolExecutor() as pool:
        count = min(4, os.cpu_count() or 1)
        for done in [pool.submit(work, f"bench{number}") for number in range(count)]:
            done.result()
    print(f"{len(cases)} bits")
    tally.report()
    for failure in tally.failures[:40]:
        print(failure)
    expect(not tally.failures, f"{len(tally.failures)} wrong answers")


def turn(verbs, index, count):
    """Returns some of the verbs: each index has the next ones."""
    count = min(count, len(verbs))
    return [verbs[(index * count + at) % len(verbs)] for at in range(count)]


# Promise: 1.5, 1.6, 1.8
@scenario(script=CRASH_TEST)
def columns(world):
    """No verb gives a wrong answer or loses an item where one bit of a column or page changed."""
    sample = Sample(world)
    sample.fill()
    world.settle()
    cases = all_cases(sample, world.is_thorough)
    run_all(sample, cases if world.is_thorough else cases[::2], *(
        (99, 8) if world.is_thorough else (2, 1)))


@scenario(script=CRASH_TEST)
def in_log(world):
    """No verb gives a wrong answer where one bit of the log changed."""
    sample, readers = Sample(world), []

    def halfway():
        world.settle()
        # While it reads, the log is not begun anew.
        readers.append(sqlite3.connect(world.path("keychain.db"), isolation_level=None))
        readers[0].execute("BEGIN").execute("SELECT count(*) FROM item").fetchall()
    sample.fill(halfway)
    sample.home += "-with-log"
    shutil.copytree(world.home, sample.home)
    os.remove(f"{sample.home}/keychain.db-shm")
    readers[0].close()
    database = pages.Database(f"{sample.home}/keychain.db")
    expect(len(database.frames) > 20, "the log is short:", len(database.frames))
    # A bit in the last transaction looks like a power cut.
    cases = [case for case in all_cases(sample, world.is_thorough)
             if database.frames.get(case.page, -1) < database.last_frames[0]]
    step = 1 if world.is_thorough else 6
    run_all(sample, cases[::step], *((15, 4) if world.is_thorough else (3, 1)))


@scenario(users=(ORDINARY,), script=CRASH_TEST)
def guarded(world):
    """No verb gives a wrong answer where one bit of a guarded item changed."""
    passcode = "correct horse"
    app = ("--app", "ValetTestAgent", "--id", "integration")
    enclave = (*app[:2], "--service", "VAL_VALSecureEnclaveValet_initWithIdentifier:"
               "accessibility:_integration_AccessibleWhenPasscodeSetThisDeviceOnly")
    bound = ("bound", "--accessibility", "when-passcode-set-this-device-only")
    sample = Sample(world, {"VALET_LOCK_STATE": "kernel"})
    sample.apps = ((), app[:2])
    agent = world.agent(env=sample.env)
    agent.do(f"app passcode {passcode.split()[0]}")
    for line in ("person set token one", "person set token two", "person seal sealed value word",
                 "person set other value"):
        agent.do(line)
    agent.end()
    for words, value in ((bound, "bound 1"), (bound, "bound 2"), (("plain",), "plain 1")):
        world.set(words[0], value, *words[1:], env=sample.env)
    sample.do("remove", "other", *enclave, "--yes")
    world.settle()
    sample.reads = [Verb(*words) for words in (
        ("get", *bound), ("get", "token", *enclave), ("get", "sealed", *app), ("get", "plain"),
        ("contains", "token", *enclave), ("contains", "bound"), ("show", "token", *enclave, "--json"),
        ("show", "sealed", *app, "--json"), ("list", "--json"), ("list", *app[:2], "--json"),
        ("list", "--all", "--json"), ("history", *bound, "--json"),
        ("history", "token", *enclave, "--json"), ("history", *app[:2], "--json"),
        ("get", *bound, "--version", "1"), ("status", "--json"))]
    token = Verb("contains", "token", *enclave)
    sample.writes = [
        Verb("set", *bound, input="new", effects=[get("bound"), get("bound", "--version", "1")]),
        Verb("set", "plain", input="new", effects=[get("plain"), token]),
        Verb("remove", "token", *enclave, "--yes", effects=[token]),
        Verb("remove", "sealed", *app, "--yes", effects=[Verb("contains", "sealed", *app)]),
        Verb("undo", "bound", effects=[get("bound")]),
        Verb("undo", "other", *enclave, effects=[Verb("contains", "other", *enclave)]),
        Verb("undo", "token", *enclave, effects=[token]),
        Verb("rename", "bound", "renamed", effects=[get("renamed"), get("bound")]),
        Verb("move", "bound", "--to-accessibility", "when-unlocked", effects=[
            get("bound"), get("bound", "--accessibility", "when-unlocked")]),
        Verb("doctor", "--repair-indexes", effects=sample.reads[:-1]),
    ]
    step = 1 if world.is_thorough else 3
    run_all(sample, all_cases(sample, world.is_thorough)[::step], *(
        (99, 3) if world.is_thorough else (3, 1)))
