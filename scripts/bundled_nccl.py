#!/usr/bin/env python3
"""Checks the NCCL version that ddpsim assumes for each PyTorch 2.x against the requirement of its CUDA wheel:

    scripts/bundled_nccl.py --program build/release/cli/ddpsim

pip reads the metadata of each wheel from the configured index by range requests; nothing is installed. If the index
cannot be reached, the script says so and ends with 0. If a version differs, it ends with 1. Wheels before 2.0 state no
requirement.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile

NEWER = "is newer than the rules known here"
PLATFORMS = ("manylinux1_x86_64", "manylinux2014_x86_64", "manylinux_2_28_x86_64")
UNREACHABLE = (
    "Connection",
    "connection",
    "Name or service not known",
    "Temporary failure",
    "timed out",
    "ProxyError",
    "from versions: none",
)


def taken(program, torch):
    """The NCCL version that the program assumes for this PyTorch; None for releases that it does not know."""
    answer = json.loads(
        subprocess.run(
            [program, "simulate", "resnet50-v100-b32", "2xv100-nvlink", "--torch", torch, "--json"],
            check=True,
            capture_output=True,
            encoding="utf-8",
        ).stdout
    )
    return None if any(NEWER in warning for warning in answer["warnings"]) else answer["nccl"]


def python_of(torch):
    """A version of Python for which every patch release of this PyTorch has a wheel."""
    return "3.10" if torch in ("2.0", "2.1") else "3.12"


def required(torch):
    """The nvidia-nccl version in the metadata of the newest patch release. Raises LookupError with pip's message."""
    with tempfile.TemporaryDirectory() as folder:
        words = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--dry-run",
            "--quiet",
            "--ignore-installed",
            "--no-deps",
            "--use-feature=fast-deps",
            "--only-binary=:all:",
            "--python-version",
            python_of(torch),
            "--target",
            folder,
            "--report",
            "-",
            f"torch=={torch}.*",
        ]
        for platform in PLATFORMS:
            words += ["--platform", platform]
        run = subprocess.run(words, capture_output=True, encoding="utf-8")
    if run.returncode != 0:
        raise LookupError(run.stderr)
    metadata = json.loads(run.stdout)["install"][0]["metadata"]
    for requirement in metadata.get("requires_dist", []):
        found = re.match(r"nvidia-nccl-cu\d+ *\(?==([\d.]+)", requirement)
        if found:
            return metadata["version"], found[1]
    return metadata["version"], None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="ddpsim")
    program = parser.parse_args().program
    differ = 0
    minor = 0
    while (nccl := taken(program, f"2.{minor}")) is not None:
        try:
            release, wheel = required(f"2.{minor}")
        except LookupError as error:
            if any(word in str(error) for word in UNREACHABLE):
                print(f"skipped: the package index cannot be reached\n{error}")
                return 0
            raise SystemExit(f"torch 2.{minor}: {error}")
        same = wheel == nccl
        differ += not same
        print(f"torch {release}: NCCL {wheel}" + ("" if same else f", but ddpsim assumes {nccl}"), flush=True)
        minor += 1
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
