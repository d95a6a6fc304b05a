#!/usr/bin/env python3
"""Makes reports/page/page.html, into which --report puts its documents, of what lies in reports/page/src.

    scripts/page.py            checks types (tsc), bundles (esbuild), writes
    scripts/page.py --check    writes nothing: is what is committed what the sources give?

The page is committed, so that a build needs neither tool. Debian has both: esbuild, node-typescript. Another version of esbuild
may give other bytes: --check then says so and ends with 77, as where a tool is missing."""

import base64
import hashlib
import pathlib
import shutil
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parents[1] / "reports" / "page"
SOURCES = PAGE / "src"
MADE = PAGE / "page.html"
ESBUILD = "0.17.0"  # Debian 12's
MOST_BYTES = 300_000
SKIPPED = 77


def bundled(source):
    """Minified, with no character that UTF-8 or a string literal could stumble over."""
    made = subprocess.run(
        ["esbuild", source, "--bundle", "--minify", "--format=iife", "--target=es2022", "--charset=ascii",
         "--legal-comments=none", "--log-level=warning"], cwd=SOURCES, check=True, capture_output=True, text=True)
    return made.stdout.strip()


def policy(text):
    """What the page's policy calls this script or style: nothing else runs."""
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def page():
    script, style = bundled("main.js"), bundled("page.css")
    assert "</script" not in script.lower() and "</style" not in style.lower(), "would end its own element"
    made = (SOURCES / "page.html").read_text()
    for place, text in {"script-hash": policy(script), "style-hash": policy(style), "style": style,
                        "script": script}.items():
        assert made.count(f"@@{place}@@") == 1, place
        made = made.replace(f"@@{place}@@", text)
    return made


def missing():
    absent = [tool for tool in ("esbuild", "tsc") if not shutil.which(tool)]
    if absent:
        return f"{' and '.join(absent)} not found: install esbuild and node-typescript (scripts/setup.sh --page)"
    version = subprocess.run(["esbuild", "--version"], capture_output=True, text=True).stdout.strip()
    return f"esbuild is {version}, the page is made by {ESBUILD}" if version != ESBUILD else None


def main(arguments):
    check = arguments == ["--check"]
    if arguments and not check:
        sys.exit("usage: scripts/page.py [--check]")
    if reason := missing():
        print(f"page: {reason}", file=sys.stderr)
        sys.exit(SKIPPED if check else 1)
    if subprocess.run(["tsc", "-p", PAGE]).returncode:
        sys.exit(1)
    made = page()
    if len(made.encode()) > MOST_BYTES:
        sys.exit(f"page: {len(made.encode())} bytes of code and style, {MOST_BYTES} at most")
    if not check:
        MADE.write_text(made)
        print(f"{MADE.relative_to(PAGE.parents[1])}: {len(made.encode())} bytes")
    elif MADE.read_text() != made:
        sys.exit("page: reports/page/page.html is not what its sources give: run scripts/page.py")


if __name__ == "__main__":
    main(sys.argv[1:])
