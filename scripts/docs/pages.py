# SPDX-License-Identifier: Apache-2.0
"""usage: pages.py [CATALOG]

Copies every page of docs/ into a documentation catalog, as an article; that of the promises also
names the tests of each. Links between pages lead to the articles; of links to other files the text
stays. scripts/docs.sh calls it. Without CATALOG: prints the page of the promises.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from style import promises  # noqa: E402

DOCS = ROOT / "docs"
# Code with a backtick, which would be a link to a symbol there.
CODE = re.compile(r"(?<!`)`` ?(.+?) ?``(?!`)")
LINK = re.compile(r"\[([^\]\[]*)\]\(([^)\s]+)\)")


def name(page):
    """The name of a page's article: no two pages have the same."""
    return page.relative_to(DOCS).with_suffix("").as_posix().replace("/", "-")


def article(page, pages):
    def link(match):
        label, target = match.groups()
        if re.match(r"[a-z]+:", target):
            return match.group()
        path = (page.parent / target.partition("#")[0]).resolve()
        return f"[{label}](doc:{pages[path]})" if path in pages else label

    def plain(match):
        return re.sub(r"([\\`*_])", r"\\\1", match.group(1))

    lines, is_code = [], False
    text = promises.page(ROOT) if page == ROOT / promises.PAGE else page.read_text()
    for line in text.splitlines():
        is_code ^= line.lstrip().startswith("```")
        lines.append(line if is_code else CODE.sub(plain, LINK.sub(link, line)))
    return "\n".join(lines) + "\n"


def main(catalog):
    pages = {page.resolve(): name(page) for page in sorted(DOCS.rglob("*.md"))}
    for page, title in pages.items():
        (pathlib.Path(catalog) / f"{title}.md").write_text(article(page, pages))
    groups = {
        "Using it": ["CLIENTS", "TESTING", "PORTING", "SECITEM-COMPATIBILITY", "OBJECTIVE-C",
                     "INSTALL", "STORES"],
        "How it works": ["ARCHITECTURE", "GLOSSARY", "FORMAT", "SYNC", "THREAT-MODEL", "PROMISES",
                         "PERFORMANCE", "DAMAGED-LOG"],
    }
    known = set(pages.values())
    groups = {title: [one for one in names if one in known] for title, names in groups.items()}
    listed = {one for names in groups.values() for one in names}
    groups["Decisions and specifications"] = sorted(known - listed)
    lines = [f"\n### {title}\n\n" + "\n".join(f"- <doc:{one}>" for one in names)
             for title, names in groups.items()]
    start = pathlib.Path(catalog) / "Valet.md"
    start.write_text(start.read_text().rstrip() + "\n" + "\n".join(lines) + "\n")


if len(sys.argv) == 1:
    print(promises.page(ROOT))
elif len(sys.argv) == 2 and not sys.argv[1].startswith("-"):
    main(sys.argv[1])
else:
    sys.exit(__doc__)
