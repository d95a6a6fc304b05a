"""Where the program is, and a run of it."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from typing import Sequence

from ._errors import Failure

_NAME = "ddpsim.exe" if os.name == "nt" else "ddpsim"


def program() -> str:
    """The program's path: what the environment's DDPSIM_PROGRAM names, else the one installed with this package, else
    the one on PATH."""
    return os.environ.get("DDPSIM_PROGRAM") or _installed()


@functools.lru_cache(maxsize=None)
def _installed() -> str:
    beside = os.path.join(os.path.dirname(sys.executable), _NAME)
    if os.path.isfile(beside):
        return beside
    import sysconfig

    for scheme in sysconfig.get_scheme_names():
        path = os.path.join(sysconfig.get_path("scripts", scheme), _NAME)
        if os.path.isfile(path):
            return path
    on_path = shutil.which(_NAME)
    if on_path:
        return on_path
    raise Failure.of("the program ddpsim is neither beside this Python nor on PATH. "
                     "Install it (pip install ddpsim), or let DDPSIM_PROGRAM name it")


def run(arguments: Sequence[str], folder: str | None = None) -> subprocess.CompletedProcess[str]:
    """`ddpsim ARGUMENTS` in that folder, by default this one, to its end: an interrupt ends it, too. Several threads may run it
    at once."""
    try:
        return subprocess.run([program(), *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, encoding="utf-8", errors="replace", check=False)
    except OSError as error:
        raise Failure.of(f"{program()} cannot be run: {error.strerror}. Let DDPSIM_PROGRAM name another") from error
