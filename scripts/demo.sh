#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Stores a secret with the real command, and reads it in another process.
set -euo pipefail

usage() {
    cat <<'END'
usage: scripts/demo.sh [--help]

Installs what building needs and nothing else (scripts/bootstrap.sh), builds the `valet` command for
release, and checks which libraries it needs. In a temporary keychain it stores a secret, reads it
in another process, lists it, and searches every file of the keychain for the secret and its name.
Exits 1 if any step fails.
END
}

say() { printf '\n%s\n' "$*"; }
fail() {
    printf 'demo: error: %s\n' "$*" >&2
    exit 1
}

# Runs valet as typed, after showing it.
valet() {
    printf '    $ valet %s\n' "$*" >&2
    command "$valet" "$@"
}

# How many files below the keychain's folder hold these bytes, in their names or inside.
files_holding() {
    local inside named
    inside="$({ LC_ALL=C grep -r -l -a -F -e "$1" -- "$VALET_HOME" || true; } | wc -l)"
    named="$(find "$VALET_HOME" -name "*$1*" | wc -l)"
    echo "$((inside + named))"
}

case "${1-}" in
    "") ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 64 ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/bootstrap.sh
say "Building the valet command for release …"
build=(scripts/build -c release --enable-all-traits --static-swift-stdlib --disable-local-rpath)
{ "${build[@]}" --product valet; "${build[@]}" --target ValetSync; } >&2
valet="$("${build[@]}" --show-bin-path)/valet"
scripts/check-libraries "$valet"

folder="$(mktemp -d "${TMPDIR:-/tmp}/valet-demo.XXXXXX")"
trap 'rm -rf -- "$folder"' EXIT
trap 'exit 130' INT; trap 'exit 143' TERM
export VALET_HOME="$folder/keychain"
unset STATE_DIRECTORY CREDENTIALS_DIRECTORY VALET_DEVICE_KEY_FILE VALET_ENTITLEMENTS

tag="$(od -An -N6 -tx1 /dev/urandom | tr -d ' \n')"
name="mail-password-$tag"
secret="correct horse battery staple $tag"

say "1. A secret goes in, through standard input:"
printf '%s' "$secret" | valet set "$name" || fail "set exits $?"

say "2. It comes out in another process:"
answer="$(valet get "$name" && printf .)" || fail "get exits $?"
[[ $answer == "$secret." ]] || fail "get answers other bytes than set was given"
printf '    %s\n' "${answer%.}"
valet contains "$name" >/dev/null || fail "contains denies the name that is there"

say "3. It is listed by name, without its value:"
listed="$(valet list)" || fail "list exits $?"
printf '%s\n' "$listed" | sed 's/^/    /'
[[ $listed == *"$name"* ]] || fail "list leaves out the name"
[[ $listed != *"$secret"* ]] || fail "list shows the value"
json="$(valet list --json)" || fail "list --json exits $?"
[[ $json == [\[{]*[\]}] && $json == *"\"$name\""* ]] || fail "list --json leaves out the name"

say "4. What was never stored is not found, which is not the same as an error:"
code=0
valet get "no-such-$tag" >/dev/null || code=$?
[[ $code == 44 ]] || fail "get of an absent name exits $code instead of 44"
printf '    exit code %s\n' "$code"

say "5. The files of the keychain hold neither the secret nor its name:"
find "$VALET_HOME" -type f -printf '    %m %7s bytes  %P\n'
[[ -n "$(find "$VALET_HOME" -type f -size +0)" ]] || fail "the keychain has no files to search"
for word in "$secret" "$name"; do
    [[ "$(files_holding "$word")" == 0 ]] || fail "a file of the keychain holds: $word"
    # Control: the same search must find the same bytes in a file that has them.
    printf 'before\0%s\0after' "$word" >"$VALET_HOME/canary"
    [[ "$(files_holding "$word")" == 1 ]] || fail "the search does not find its canary"
    rm -- "$VALET_HOME/canary"
    printf '    in 0 files: %s\n' "$word"
done
printf '    (the same search found both in a file that was made for it)\n'

say "6. What guards this keychain:"
valet status | sed 's/^/    /' || fail "status exits $?"

say "All as it should be."
