#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the documentation of the products as a static site, and checks it.
set -euo pipefail

usage() {
    cat <<'END'
usage: scripts/docs.sh [--help | --check]

Builds the articles in Sources/Libraries/Valet/Valet.docc, the pages of docs/ and the reference of
the libraries with the toolchain's docc, from the build in .build, into .build-docs/site. To read
it:
    python3 -m http.server --bind 127.0.0.1 --directory .build-docs/site
    http://127.0.0.1:8000/

--check   fails as well if a public symbol is not documented or a link leads nowhere
END
}

die() {
    printf 'docs: error: %s\n' "$1" >&2
    exit 1
}

# Security and LocalAuthentication declare nothing; SecItem and CoreFoundationNames do.
symbol_graphs() {
    local module map modules triple
    local -a maps=()
    for module in Valet KeychainSwift ValetTesting; do
        [[ -d Sources/Libraries/$module ]] || continue
        scripts/build --quiet --enable-all-traits --target "$module"
    done
    modules="$(scripts/build --show-bin-path)/Modules"
    triple="$(swiftc -print-target-info | sed -n 's/^ *"triple": "\(.*\)",$/\1/p' | head -n 1)"
    for map in Sources/*/*/module.modulemap; do maps+=(-Xcc "-fmodule-map-file=$PWD/$map"); done
    for module in Valet{KeychainModel,KeychainServices,SecItem,CoreFoundationNames,Testing} \
        Valet KeychainSwift; do
        swift-symbolgraph-extract -module-name "$module" -target "$triple" -I "$modules" \
            "${maps[@]}" -minimum-access-level public -skip-synthesized-members \
            -emit-extension-block-symbols -output-dir "$graphs"
    done
}

# Shows docc's messages, except those about parameters without a sentence of their own.
convert() {
    local log=$work/docc.log
    cp -R Sources/Libraries/Valet/Valet.docc "$catalog"
    python3 -B scripts/docs/pages.py "$catalog"
    docc convert "$catalog" --additional-symbol-graph-dir "$graphs" \
        --fallback-display-name Valet --fallback-bundle-identifier valet \
        --transform-for-static-hosting --output-path "$site" --emit-fixits >"$log" 2>&1 ||
        { cat "$log" >&2; die "docc fails"; }
    if grep -E '(warning|error): ' "$log" | grep -v ' is missing documentation' >&2; then
        [[ -z $checks ]] || die "docc has warnings"
    fi
    # The page that docc writes there finds nothing.
    printf '%s\n' '<!DOCTYPE html><meta charset="utf-8"><title>Valet</title>' \
        '<meta http-equiv="refresh" content="0; url=documentation/valet/">' >"$site/index.html"
}

case "${1-}" in
    "") checks="" ;;
    --check) checks=yes ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 64 ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/.."
for tool in docc swift-symbolgraph-extract; do
    command -v "$tool" >/dev/null || die "there is no $tool on the PATH: it comes with Swift"
done

work=.build-docs graphs=.build-docs/symbols site=.build-docs/site catalog=.build-docs/Valet.docc
rm -rf -- "$graphs" "$site" "$catalog"
mkdir -p "$graphs"
symbol_graphs
convert
printf 'docs: the site is in %s\n' "$site"
if [[ -n $checks ]]; then
    python3 -B scripts/docs/check_symbols.py "$graphs"
fi
