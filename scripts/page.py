#!/usr/bin/env python3
"""Makes the page of --report, reports/page/page.html, and the page with the simulator inside, ddpsim.html.

    scripts/page.py --program build/release/cli/ddpsim            checks types (tsc), bundles (esbuild) and writes
    scripts/page.py --program build/release/cli/ddpsim --check    checks that the committed page matches its sources
    scripts/page.py --engine build/wasm/engine -o build/wasm/ddpsim.html

The first page is made from reports/page/src; --report puts its documents into it. The second page is made from the same
sources, reports/page/workbench and the output of the preset wasm. The first two commands also write the types of the
program's documents (page_types.py) to build/page, where tsc and editors find them.

The first page is committed, so that a build needs neither tool. Debian has both: esbuild, node-typescript. Another
version of esbuild may give other bytes; --check then says so and ends with 77, as it does if a tool is missing. The
second page is not committed, because its two megabytes change with every source of the program. It is only bundled;
checking the first page checks the types of both."""

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
TYPES = ROOT / "build" / "page" / "documents.d.ts"  # the path in reports/page/tsconfig.json
ESBUILD = "0.17.0"  # Debian 12's
MOST_BYTES = 300_000
SKIPPED = 77


PLAIN = "This page runs the simulator in your browser. Switch scripts on for it, or run ddpsim on a command line."


def bundled(source):
    """The minified bundle of `source`, in ASCII only, so that it is safe in any encoding and string literal."""
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
    """The hash of a script or style for the content security policy, which allows nothing else."""
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def packed(path):
    """The file, compressed by gzip, in base64. The same file always gives the same text."""
    return base64.b64encode(gzip.compress(path.read_bytes(), 9, mtime=0)).decode()


def page(folder="src", engine=None):
    """The text of a page. `engine` is the folder of the compiled program, for the page with the simulator inside."""
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
    # The program fills the first two places later, and the third if the simulator is inside.
    for place in ['id="plain">', 'id="documents">'] + ['id="inputs">'] * bool(engine):
        assert made.count(place) == 1, place
    return made


def types_fit(program):
    """Whether the sources use the documents as the schemas of the program describe them."""
    TYPES.parent.mkdir(parents=True, exist_ok=True)
    TYPES.write_text(page_types.declarations(program))
    return subprocess.run(["tsc", "-p", PAGE]).returncode == 0


def missing(tools):
    absent = [tool for tool in tools if not shutil.which(tool)]
    if absent:
        return f"{' and '.join(absent)} not found. Install esbuild and node-typescript (scripts/setup.sh --page)"
    version = subprocess.run(["esbuild", "--version"], capture_output=True, text=True).stdout.strip()
    return f"esbuild has version {version}, but the page is made with {ESBUILD}" if version != ESBUILD else None


def main():
    parser = argparse.ArgumentParser(description="Makes the page of --report, and ddpsim.html.")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; check that the committed page matches its sources"
    )
    inputs = parser.add_mutually_exclusive_group(required=True)
    inputs.add_argument("--program", help="program whose documents the page draws")
    inputs.add_argument(
        "--engine",
        type=pathlib.Path,
        help="folder of ddpsim-worker.js and ddpsim.wasm; make the page with them inside",
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
        sys.exit(f"page: code and style have {len(made.encode())} bytes, and may have at most {MOST_BYTES}")
    if not given.check:
        given.out.write_text(made)
        print(f"{given.out}: {len(made.encode())} bytes")
    elif MADE.read_text() != made:
        sys.exit("page: reports/page/page.html does not match its sources. Run scripts/page.py")


if __name__ == "__main__":
    main()
