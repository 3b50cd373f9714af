# SPDX-License-Identifier: Apache-2.0
"""Writes the Python package and the bill of materials of a release. scripts/package calls it.

release.py python FOLDER                    the package and its metadata, as files in FOLDER
release.py wheel LIBRARY FOLDER             a wheel with the library inside; prints its path
release.py bill VERSION FILE…               an SPDX 2.3 document about FILEs, to standard output

SOURCE_DATE_EPOCH is the time of everything. The same input gives the same bytes.
"""

import base64
import hashlib
import json
import os
import pathlib
import platform
import subprocess
import sys
import time
import tomllib
import zipfile

SOURCE = pathlib.Path(__file__).parents[2] / "Bindings/Python"
PROJECT = tomllib.loads((SOURCE / "pyproject.toml").read_text())["project"]
EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])
INFORMATION = f"{PROJECT['name'].replace('-', '_')}-{PROJECT['version']}.dist-info"
# What libvalet.so.0 needs is in glibc 2.36.
TAG = "py3-none-manylinux_2_36_" + platform.machine()

# What our programs contain and load: name, licence, the Debian package that has it.
PARTS = [
    ("Swift runtime and standard library", "Apache-2.0 WITH Swift-exception", None),
    ("libstdc++", "GPL-3.0-or-later WITH GCC-exception-3.1", "libstdc++-12-dev"),
    ("libsodium", "ISC", "libsodium-dev"),
    ("SQLite", "blessing", "libsqlite3-dev"),
]


def metadata():
    """The file METADATA: https://packaging.python.org/en/latest/specifications/core-metadata/"""
    lines = [
        "Metadata-Version: 2.4", f"Name: {PROJECT['name']}", f"Version: {PROJECT['version']}",
        f"Summary: {PROJECT['description']}", f"Requires-Python: {PROJECT['requires-python']}",
        f"License-Expression: {PROJECT['license']}", "License-File: LICENSE",
        "Description-Content-Type: text/markdown",
    ]
    lines += [f"Classifier: {name}" for name in PROJECT["classifiers"]]
    for extra, needs in PROJECT["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f"Requires-Dist: {need}; extra == '{extra}'" for need in needs]
    return "\n".join(lines) + "\n\n" + (SOURCE / "README.md").read_text()


def files(tag):
    """The names and bytes of the installed package, sorted, without its RECORD."""
    found = {f"valet/{path.name}": path.read_bytes()
             for path in (SOURCE / "src/valet").iterdir() if path.is_file()}
    points = "".join(
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in entries.items())
        for group, entries in PROJECT["entry-points"].items())
    wheel = (f"Wheel-Version: 1.0\nGenerator: valet\n"
             f"Root-Is-Purelib: {str(tag.endswith('any')).lower()}\nTag: {tag}\n")
    found |= {
        f"{INFORMATION}/METADATA": metadata().encode(),
        f"{INFORMATION}/WHEEL": wheel.encode(),
        f"{INFORMATION}/entry_points.txt": points.encode(),
        f"{INFORMATION}/licenses/LICENSE": (SOURCE / "LICENSE").read_bytes(),
    }
    return dict(sorted(found.items()))


def record(found):
    """The file RECORD, which has the hash of every other one."""
    lines = []
    for name, data in found.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}")
    return "\n".join(lines + [f"{INFORMATION}/RECORD,,"]) + "\n"


def write_python(folder):
    for name, data in files("py3-none-any").items():
        path = pathlib.Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def write_wheel(library, folder):
    found = files(TAG)
    found["valet/libvalet.so.0"] = pathlib.Path(library).read_bytes()
    # The library contains these, and their licences ask to be passed on.
    notices = {"valet": pathlib.Path(__file__).with_name("copyright")}
    notices |= {package: pathlib.Path("/usr/share/doc", package, "copyright")
                for package in ("libsodium-dev", "libsqlite3-dev", "libstdc++-12-dev")}
    for part, path in notices.items():
        found[f"{INFORMATION}/licenses/{part}.copyright"] = path.read_bytes()
    found = dict(sorted(found.items()))
    found[f"{INFORMATION}/RECORD"] = record(found).encode()
    name = f"{PROJECT['name'].replace('-', '_')}-{PROJECT['version']}-{TAG}.whl"
    path = pathlib.Path(folder, name)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in found.items():
            entry = zipfile.ZipInfo(name, time.gmtime(max(EPOCH, 315532800))[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if name.endswith(".so.0") else 0o100644) << 16
            archive.writestr(entry, data)
    print(path)


def version(package):
    """The version of a part: of a Debian package, or of Swift."""
    command = ["dpkg-query", "-W", "-f", "${Version}", package] if package else [
        "swift", "-print-target-info"]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return answer if package else json.loads(answer)["compilerVersion"]


def bill(release, paths):
    """An SPDX 2.3 document: https://spdx.github.io/spdx-spec/v2.3/"""
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH))
    files = [
        {"SPDXID": f"SPDXRef-File-{index}", "fileName": "./" + pathlib.Path(path).name,
         "checksums": [{"algorithm": "SHA256", "checksumValue":
                        hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()}]}
        for index, path in enumerate(sorted(paths))]
    packages = [package("Valet", release, "Apache-2.0")]
    packages += [package(name, version(source), licence) for name, licence, source in PARTS]
    valet = packages[0]["SPDXID"]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", valet)]
    relations += [(valet, "GENERATES", file["SPDXID"]) for file in files]
    relations += [(valet, "DEPENDS_ON", part["SPDXID"]) for part in packages[1:]]
    digest = hashlib.sha256(json.dumps(files).encode()).hexdigest()
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"valet-{release}",
        "documentNamespace": f"https://spdx.org/spdxdocs/valet-{release}-{digest[:32]}",
        "creationInfo": {"created": created, "creators": ["Tool: scripts/package"]},
        "packages": packages, "files": files,
        "relationships": [
            {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
            for one, kind, other in relations],
    }


def package(name, release, licence):
    identifier = "".join(letter if letter.isalnum() else "-" for letter in name)
    return {
        "SPDXID": f"SPDXRef-Package-{identifier}", "name": name, "versionInfo": release,
        "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": licence,
        "licenseDeclared": licence, "copyrightText": "NOASSERTION",
    }


match sys.argv[1:]:
    case ["python", folder]: write_python(folder)
    case ["wheel", library, folder]: write_wheel(library, folder)
    case ["bill", release, *paths]: print(json.dumps(bill(release, paths), indent=1))
    case _: sys.exit(__doc__)
