#!/usr/bin/env python3
"""Writes the manual pages, and the completions for bash, zsh and fish.

    scripts/command_pages.py -o FOLDER PROGRAM...

They are made from what the program says about itself: `ddpsim list --commands --json`, and `ddpsim list --json` for the
bundled names that completions offer. FOLDER gets the same folders as an install prefix: share/man/man1,
share/bash-completion/completions, share/zsh/site-functions, share/fish/vendor_completions.d. PROGRAM may be several
words, such as an emulator and its program. The manual has the date of SOURCE_DATE_EPOCH, or none if that is not set."""

import argparse
import json
import pathlib
import subprocess

from completions import bash_completion, fish_completion, zsh_completion
from man_page import man_pages


def asked(program, *arguments):
    answer = subprocess.run([*program, "list", *arguments, "--json"], check=True, capture_output=True, text=True)
    return json.loads(answer.stdout)


def command_pages(offered, bundled):
    """The text of each file, by its path below the prefix."""
    pages = {f"share/man/man1/{name}": page for name, page in man_pages(offered).items()}
    pages["share/bash-completion/completions/ddpsim"] = bash_completion(offered["commands"], bundled)
    pages["share/zsh/site-functions/_ddpsim"] = zsh_completion(offered["commands"], bundled)
    pages["share/fish/vendor_completions.d/ddpsim.fish"] = fish_completion(offered["commands"], bundled)
    return pages


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs=argparse.REMAINDER)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, metavar="FOLDER")
    arguments = parser.parse_args()
    names = asked(arguments.program)
    bundled = {
        kind: [entry["name"] for entry in names[kind]] for kind in ("workloads", "clusters", "models", "gpus", "torch")
    }
    for name, page in command_pages(asked(arguments.program, "--commands"), bundled).items():
        place = arguments.output / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
