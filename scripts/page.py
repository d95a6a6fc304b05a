#!/usr/bin/env python3
"""Makes reports/page/page.html, into which --report puts its documents, of what lies in reports/page/src; and ddpsim.html, which is
the same page with the simulator inside, of these, of reports/page/workbench and of what preset wasm built.

    scripts/page.py --program build/release/cli/ddpsim            checks types (tsc), bundles (esbuild), writes
    scripts/page.py --program build/release/cli/ddpsim --check    writes no page: is the committed one what the sources give?
    scripts/page.py --engine build/wasm/engine -o build/wasm/ddpsim.html

The first two write the types of the program's documents (page_types.py) to build/page, where tsc and editors find them.

The first page is committed, so that a build needs neither tool. Debian has both: esbuild, node-typescript. Another version of esbuild
may give other bytes: --check then says so and ends with 77, as where a tool is missing. The second page is not: two megabytes that
change with every source of the program. It is bundled alone: whoever checks the first page checks the types of both."""

import argparse
import base64
import gzip
import hashlib
import pathlib
import shutil
import subprocess
import sys

import page_types

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "reports" / "page"
SOURCES = PAGE / "src"
MADE = PAGE / "page.html"
TYPES = ROOT / "build" / "page" / "documents.d.ts"  # as reports/page/tsconfig.json has it
ESBUILD = "0.17.0"  # Debian 12's
MOST_BYTES = 300_000
SKIPPED = 77


PLAIN = "This page runs the simulator in your browser: it needs scripts, which are switched off here. ddpsim on a command line does the same."


def bundled(source):
    """Minified, with no character that UTF-8 or a string literal could stumble over."""
    made = subprocess.run(
        [
            "esbuild",
            source,
            "--bundle",
            "--minify",
            "--format=iife",
            "--target=es2022",
            "--charset=ascii",
            "--legal-comments=none",
            "--log-level=warning",
        ],
        cwd=SOURCES,
        check=True,
        capture_output=True,
        text=True,
    )
    return made.stdout.strip()


def policy(text):
    """What the page's policy calls this script or style: nothing else runs."""
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def packed(path):
    """Base64 of gzip, of the same bytes whenever it is made."""
    return base64.b64encode(gzip.compress(path.read_bytes(), 9, mtime=0)).decode()


def page(folder="src", engine=None):
    """`engine`: the folder of the compiled program, for the page that has it inside."""
    script, style = bundled(f"../{folder}/main.js"), bundled(f"../{folder}/{'workbench' if engine else 'page'}.css")
    assert "</script" not in script.lower() and "</style" not in style.lower(), "would end its own element"
    allowed = f"script-src {policy(script)}"
    inside = ""
    if engine:
        allowed += " 'wasm-unsafe-eval'; worker-src blob:"
        for name, file in {"engine-script": "ddpsim-worker.js", "engine-program": "ddpsim.wasm"}.items():
            inside += f'<script type="application/gzip" id="{name}">{packed(engine / file)}</script>\n'
        inside += '<script type="application/gzip" id="inputs"></script>\n'
    made = (SOURCES / "page.html").read_text()
    for place, text in {
        "policy": f"default-src 'none'; {allowed}; style-src {policy(style)}; base-uri 'none'; form-action 'none'",
        "style": style,
        "script": script,
        "inside": inside,
        "plain": PLAIN if engine else "",
        "title": "ddpsim" if engine else "ddpsim report",
    }.items():
        assert made.count(f"@@{place}@@") == 1, place
        made = made.replace(f"@@{place}@@", text)
    # The program fills these two, and where there is an engine the third.
    for place in ['id="plain">', 'id="documents">'] + ['id="inputs">'] * bool(engine):
        assert made.count(place) == 1, place
    return made


def types_fit(program):
    """Whether the sources use the documents as the program's schemas describe them."""
    TYPES.parent.mkdir(parents=True, exist_ok=True)
    TYPES.write_text(page_types.declarations(program))
    return subprocess.run(["tsc", "-p", PAGE]).returncode == 0


def missing(tools):
    absent = [tool for tool in tools if not shutil.which(tool)]
    if absent:
        return f"{' and '.join(absent)} not found: install esbuild and node-typescript (scripts/setup.sh --page)"
    version = subprocess.run(["esbuild", "--version"], capture_output=True, text=True).stdout.strip()
    return f"esbuild is {version}, the page is made by {ESBUILD}" if version != ESBUILD else None


def main():
    parser = argparse.ArgumentParser(description="makes the page of --report, and ddpsim.html")
    parser.add_argument(
        "--check", action="store_true", help="writes no page: is the committed page what its sources give?"
    )
    inputs = parser.add_mutually_exclusive_group(required=True)
    inputs.add_argument("--program", help="the program whose documents the page draws")
    inputs.add_argument(
        "--engine",
        type=pathlib.Path,
        help="folder of ddpsim-worker.js and ddpsim.wasm: makes the page with them inside",
    )
    parser.add_argument("-o", dest="out", type=pathlib.Path, default=MADE)
    given = parser.parse_args()
    if reason := missing(["esbuild", "tsc"] if given.program else ["esbuild"]):
        print(f"page: {reason}", file=sys.stderr)
        sys.exit(SKIPPED if given.check else 1)
    if given.program and not types_fit(given.program):
        sys.exit(1)
    made = page("workbench", given.engine.resolve()) if given.engine else page()
    if not given.engine and len(made.encode()) > MOST_BYTES:
        sys.exit(f"page: {len(made.encode())} bytes of code and style, {MOST_BYTES} at most")
    if not given.check:
        given.out.write_text(made)
        print(f"{given.out}: {len(made.encode())} bytes")
    elif MADE.read_text() != made:
        sys.exit("page: reports/page/page.html is not what its sources give: run scripts/page.py")


if __name__ == "__main__":
    main()
