#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs Valet from this folder, for systems without Debian's packages.
set -eu

usage() {
    cat <<'END'
usage: ./install.sh [--help | --uninstall] PREFIX

Copies the programs, the library, the manual pages and the completions into PREFIX, an absolute
path: /usr/local, for example, or "$HOME/.local". They need libsodium 1.0.18 (libsodium.so.23),
SQLite 3.40 and glibc 2.36, or newer ones.

--uninstall   removes what was installed there. Secrets stay where they are.
END
}

fail() {
    printf 'install: error: %s\n' "$1" >&2
    exit 1
}

uninstall=
case "${1-}" in
    -h | --help) usage; exit 0 ;;
    --uninstall) uninstall=yes; shift ;;
esac
[ $# = 1 ] || { usage >&2; exit 64; }
prefix=${1%/}
case $prefix in
    /*) ;;
    *) fail "PREFIX must be an absolute path: $1" ;;
esac
list=$prefix/share/valet/installed-files

remove() {
    while IFS= read -r file; do rm -f -- "$prefix/$file"; done <"$list"
    rm -f -- "$list"
    rmdir -- "$prefix/share/valet" 2>/dev/null || true
}

if [ -n "$uninstall" ]; then
    [ -f "$list" ] || fail "Valet is not installed in $prefix: there is no $list"
    remove
    printf 'install: removed Valet from %s\n' "$prefix"
    # shellcheck disable=SC2016 # the reader's home
    printf 'install: secrets stay in %s and %s of each user\n' \
        '~/.local/share/valet' '~/.local/state/valet'
    exit 0
fi

cd "$(dirname "$0")"
[ -d files ] || fail "there is no folder 'files' beside this script"
mkdir -p -- "$prefix/share/valet"
# Files that the new version no longer has.
if [ -f "$list" ]; then remove; mkdir -p -- "$prefix/share/valet"; fi
(cd files && find . ! -type d | sed 's|^\./||' | LC_ALL=C sort) >"$list"
while IFS= read -r file; do
    mkdir -p -- "$(dirname "$prefix/$file")"
    # A program that runs keeps its old file.
    cp -P -- "files/$file" "$prefix/$file.new"
    mv -f -- "$prefix/$file.new" "$prefix/$file"
    case $file in
        *.pc | *.service)
            sed "s|@prefix@|$prefix|g" "files/$file" >"$prefix/$file.new"
            mv -f -- "$prefix/$file.new" "$prefix/$file" ;;
    esac
done <"$list"
"$prefix/bin/valet" --version >/dev/null || fail "$prefix/bin/valet does not start here"
printf 'install: installed Valet in %s\n' "$prefix"
case ":$PATH:" in
    *":$prefix/bin:"*) ;;
    *) printf 'install: hint: add %s to PATH\n' "$prefix/bin" ;;
esac
