# SPDX-License-Identifier: Apache-2.0
"""The verbs of the truth table (truth.py): how the keychain of each is prepared, its command, and
what a run leaves to chance."""

ONE, TWO, PAPER = "first-passcode", "second-passcode", "backup-passphrase"
# What every keychain has. Commands, their input, and the lines of their descriptor.
ITEMS = (
    ("set kept", b"kept 1"), ("set kept", b"kept 2"), ("set target", b"target 1"),
    ("set target", b"target 2"), ("set many/1", b"first"), ("set many/2", b"second"),
    ("set shared --cloud", b"shared 1"), ("set gone", b"gone 1"), ("remove gone --yes", b""),
    ("set mail --app Mailer --id Box --accessibility after-first-unlock", b"mail 1"),
    ("set code", b"otpauth://hotp/valet:anna?secret=JBSWY3DPEHPK3PXP&counter=7"),
    ("git-credential store", b"protocol=https\nhost=git.example\nusername=anna\npassword=g1\n\n"),
)
PROTECT = "passcode set --passcode-fd {fd}"
RECOVERABLE = "recovery create --passcode-fd {fd}"
# The keychains that verbs begin with: commands that prepare them, and the lines for descriptors.
BASES = {
    "plain": ITEMS,
    "guarded": (*ITEMS, (PROTECT, b"", ONE), (RECOVERABLE, b"", ONE),
                ("set bound --accessibility when-passcode-set-this-device-only", b"bound 1")),
    "circle": (*ITEMS, ("sync create --folder {store} --name mine", b"")),
    "none": (),
}
# The applications whose items are compared.
APPLICATIONS = ("valet", "Mailer", "Other")


class Verb:
    """One row of the table."""

    def __init__(self, words, base="plain", input=b"", lines=(), before=(), **rest):
        self.words, self.base, self.input, self.lines = words, base, input, lines
        self.before = before
        # Names whose former values are compared.
        self.names = rest.pop("names", ("target",))
        # Fields that are compared, "KEY NAME" each.
        self.fields = rest.pop("fields", ())
        # Names whose values are random.
        self.random = rest.pop("random", ())
        # Whether the keychain is locked when the verb begins.
        self.is_locked = rest.pop("is_locked", False)
        # Whether it changes keys: passcodes and recovery keys are tried afterwards.
        self.changes_keys = rest.pop("changes_keys", False)
        # Whether it only reads, and so has to give the right answer.
        self.reads = False
        # Whether a key change before it was interrupted, so that it also erases old keys.
        self.follows_key_change = rest.pop("follows_key_change", False)
        # Whether it changes the keys beside its own effect.
        self.begins_key_change = rest.pop("begins_key_change", False)
        # By what it says that it is done, if the exit speaks of something else.
        self.done = rest.pop("done", None)
        # Whether an index is damaged when the verb begins.
        self.damages_index = rest.pop("damages_index", False)
        # Whether it may have its effect although it fails: a lock that is not complete locks.
        self.may_be_done = rest.pop("may_be_done", False)
        # Whether it needs a terminal, as an editor does.
        self.is_at_terminal = rest.pop("is_at_terminal", False)
        # The name of a file that it writes, and its exit code if nothing fails.
        self.file, self.code = rest.pop("file", None), rest.pop("code", 0)
        self.env = rest.pop("env", {})
        if rest:
            raise ValueError(f"{words}: {rest}")


READING = {
    "get": Verb("get target"),
    "get_former": Verb("get target --version 1"),
    "get_of_another": Verb("get mail --app Mailer --id Box"),
    "get_locked": Verb("get mail --app Mailer --id Box", "guarded", is_locked=True),
    "get_guarded": Verb("get target", "guarded"),
    "get_login": Verb("get anna --server git.example"),
    "get_field": Verb("get target --field pin", before=(("set target --field pin", b"1"),)),
    "contains": Verb("contains target"),
    "contains_locked": Verb("contains target", "guarded", is_locked=True, code=75),
    "read": Verb("read valet://Mailer/Box/mail"),
    "show": Verb("show target --json"),
    "list": Verb("list --json"),
    "list_all": Verb("list --all --json"),
    "list_guarded": Verb("list --all --json", "guarded"),
    "search": Verb("search many"),
    "history": Verb("history target --json"),
    "history_of_all": Verb("history --json"),
    "settings": Verb("settings --json"),
    "status": Verb("status --json"),
    "status_guarded": Verb("status --json", "guarded"),
    "device_status": Verb("device status --json"),
    "doctor": Verb("doctor --json", "guarded"),
    "run": Verb("run --env A=target --env B=kept -- printenv A B"),
    "inject": Verb("inject", input=b"a={{ valet:target }} b={{ valet://Mailer/Box/mail }}\n"),
    "export": Verb("export --format json --yes"),
    "export_dotenv": Verb("export --format dotenv --yes --app Mailer --id Box"),
    "git_get": Verb("git-credential get", input=b"protocol=https\nhost=git.example\n\n"),
    "docker_list": Verb("docker-credential list"),
    "backup_list": Verb("backup list {folder}/given --passphrase-fd {fd} --json", lines=(PAPER,),
                        before=(("backup create {folder}/given --passphrase-fd {fd}", b"",
                                 PAPER),)),
    "backup_verify": Verb("backup verify {folder}/given --passphrase-fd {fd}", lines=(PAPER,),
                          before=(("backup create {folder}/given --passphrase-fd {fd}", b"",
                                   PAPER),)),
    "sync_status": Verb("sync status --json", "circle"),
    "sync_devices": Verb("sync devices list", "circle"),
    "sync_conflicts": Verb("sync conflicts list", "circle"),
}

OTP = b"otpauth://totp/valet:anna?secret=JBSWY3DPEHPK3PXP"
CHANGING_ITEMS = {
    "set_first": Verb("set target", "none", b"new"),
    "set_new": Verb("set fresh", input=b"new", names=("fresh",)),
    "set_existing": Verb("set target", input=b"new"),
    "set_guarded": Verb("set target", "guarded", b"new"),
    "set_of_two_kinds": Verb("set target --accessibility after-first-unlock", input=b"new"),
    "set_shared": Verb("set target --cloud", input=b"new"),
    "set_after_key_change": Verb("set target", input=b"new", follows_key_change=True),
    "set_field": Verb("set target --field pin", input=b"1", fields=("target pin",)),
    "set_of_entry": Verb("set target", input=b"new", fields=("target pin",),
                         before=(("set target --field pin", b"1"),)),
    "remove_field": Verb("remove target --field pin --yes", fields=("target pin", "target note"),
                         before=(("set target --field pin", b"1"),
                                 ("set target --field note", b"2"))),
    "move_entry": Verb("move target --to-cloud", fields=("target pin",),
                       before=(("set target --field pin", b"1"),)),
    "undo_entry": Verb("undo target", fields=("target pin",),
                       before=(("set target --field pin", b"1"),)),
    "set_if_absent": Verb("set fresh --if-absent", input=b"new", names=("fresh",)),
    "remove": Verb("remove target --yes"),
    "remove_locked": Verb("remove target --yes", "guarded", is_locked=True),
    "remove_several": Verb("remove target many/1 --yes", names=("target", "many/1")),
    "remove_matching": Verb("remove --matching many/* --yes", names=("many/1", "many/2")),
    "remove_all": Verb("remove --all --yes", names=("target", "kept")),
    "remove_purge": Verb("remove target --purge --yes"),
    "rename": Verb("rename target fresh", names=("target", "fresh")),
    "rename_force": Verb("rename target kept --force", names=("target", "kept")),
    "move": Verb("move target --to-accessibility after-first-unlock"),
    "move_all": Verb("move --all --to-id new"),
    "move_shared": Verb("move target --to-cloud"),
    "copy_to": Verb("copy-to target --to-app Other"),
    "migrate": Verb("migrate --app Mailer --to-app Other"),
    "undo": Verb("undo target"),
    "undo_older": Verb("undo target --version 2", before=(("set target", b"target 3"),)),
    "undo_removed": Verb("undo gone", names=("gone",)),
    "undo_matching": Verb("undo --matching go*", names=("gone",)),
    "generate": Verb("generate fresh", names=("fresh",), random=("fresh",)),
    "generate_force": Verb("generate target --force", random=("target",)),
    "otp": Verb("otp code", names=("code",)),
    "otp_field": Verb("otp target", fields=("target otp",), before=(
        ("otp add target", b"otpauth://hotp/valet:anna?secret=JBSWY3DPEHPK3PXP&counter=7"),)),
    "otp_add_field": Verb("otp add target", input=OTP, fields=("target otp",)),
    "otp_add": Verb("otp add fresh", input=OTP, names=("fresh",)),
    "edit": Verb("edit target", env={"EDITOR": "{editor}"}, is_at_terminal=True),
    "edit_new": Verb("edit fresh", env={"EDITOR": "{editor}"}, names=("fresh",),
                     is_at_terminal=True),
    "git_store": Verb("git-credential store", input=(
        b"protocol=https\nhost=other.example\nusername=anna\npassword=g2\n\n")),
    "git_erase": Verb("git-credential erase", input=(
        b"protocol=https\nhost=git.example\nusername=anna\npassword=g1\n\n")),
    "docker_store": Verb("docker-credential store", input=(
        b'{"ServerURL":"https://reg.example","Username":"anna","Secret":"d1"}')),
    "docker_erase": Verb("docker-credential erase", input=b"https://reg.example", before=(
        ("docker-credential store",
         b'{"ServerURL":"https://reg.example","Username":"anna","Secret":"d1"}'),)),
    "import_json": Verb("import --from json --replace -",
                        input=b'{"fresh": "new", "target": "new"}', names=("target", "fresh")),
    "import_dotenv": Verb("import --from dotenv --id web -", input=b"A=1\nB=2\n"),
}

GIVEN = (("backup create {folder}/given --passphrase-fd {fd}", b"", PAPER),
         ("set target", b"target 3"), ("remove kept --purge --yes", b""))
CHANGING_ALL = {
    "settings_history": Verb("settings history 1"),
    "settings_purge": Verb("settings history 0 --purge --yes"),
    "repair": Verb("doctor --repair-indexes", damages_index=True,
                   done="rebuilt the indexes"),
    "backup_create": Verb("backup create {folder}/written --passphrase-fd {fd}", lines=(PAPER,),
                          file="written"),
    "backup_restore": Verb("backup restore {folder}/given --replace --passphrase-fd {fd}",
                           lines=(PAPER,), before=GIVEN),
    "backup_restore_new": Verb("backup restore {folder}/given --skip-existing --passphrase-fd {fd}",
                               lines=(PAPER,), before=GIVEN),
    "sync_create": Verb("sync create --folder {store} --name mine", begins_key_change=True),
    "sync_pause": Verb("sync pause", "circle"),
    "sync_resume": Verb("sync resume", "circle", before=(("sync pause", b""),)),
    "sync_rename": Verb("sync devices rename mine other", "circle"),
    "sync_leave": Verb("sync leave --here --yes", "circle"),
    "unlock": Verb("unlock --passcode-fd {fd}", "guarded", lines=(ONE,), is_locked=True),
    "lock": Verb("lock", "guarded", may_be_done=True),
    "lock_all": Verb("lock --all", "guarded", may_be_done=True),
    "lock_wait": Verb("lock --wait", "guarded", may_be_done=True),
}

FD = "--passcode-fd {fd}"
CHANGING_KEYS = {
    "passcode_set": Verb(f"passcode set {FD}", lines=(TWO,)),
    "passcode_set_first": Verb(f"passcode set {FD}", "none", lines=(TWO,)),
    "passcode_change": Verb(f"passcode change {FD}", "guarded", lines=(ONE, TWO)),
    "passcode_change_locked": Verb(f"passcode change {FD}", "guarded", lines=(ONE, TWO),
                                   is_locked=True),
    "passcode_remove": Verb(f"passcode remove --yes {FD}", "guarded", lines=(ONE,)),
    "recovery_create": Verb("recovery create"),
    "recovery_create_guarded": Verb(f"recovery create --yes {FD}", "guarded", lines=(ONE,)),
    "recovery_use": Verb("recovery use --recovery-key-fd {fd} --set-passcode --yes", "guarded",
                         lines=("{paper}", TWO)),
    "recovery_revoke": Verb(f"recovery revoke --yes {FD}", "guarded", lines=(ONE,)),
    "rotate": Verb("rotate"),
    "rotate_guarded": Verb(f"rotate {FD}", "guarded", lines=(ONE,)),
    "rotate_locked": Verb(f"rotate {FD}", "guarded", lines=(ONE,), is_locked=True),
    "device_bind": Verb("device bind --key-file {key}",
                        env={"VALET_DEVICE_KEY_FILE": "{key}"}),
    "device_bind_back": Verb("device bind --own-file --lower",
                             before=(("device bind --key-file {key}", b""),),
                             env={"VALET_DEVICE_KEY_FILE": "{key}"}),
}
for verb in CHANGING_KEYS.values():
    verb.changes_keys = True
for verb in READING.values():
    verb.reads = True
