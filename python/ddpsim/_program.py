"""Finds the program `ddpsim` and runs it."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import shutil
import signal
import subprocess
import sys
import threading
from typing import Generator, Sequence

from ._errors import Failure, UsageError

_NAME = "ddpsim.exe" if os.name == "nt" else "ddpsim"


def program() -> str:
    """The path of the program that is run.

    It is the path in the environment variable DDPSIM_PROGRAM. If that is not set, it is the program installed with this
    package; if there is none, the one on PATH.
    """
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
    raise Failure(
        "the program ddpsim is neither installed with this Python nor on PATH",
        "Install it (pip install ddpsim), or set DDPSIM_PROGRAM to its path",
    )


def run(arguments: Sequence[str], folder: str | None = None) -> subprocess.CompletedProcess[str]:
    """Runs `ddpsim ARGUMENTS` in `folder`, by default the current one, and waits for its end. An interrupt ends the
    program.

    Several threads may call this at once.
    """
    for word in arguments:
        _require_word(word)
    try:
        with exit_codes_kept():
            return subprocess.run(
                [program(), *arguments],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                check=False,
            )
    except OSError as error:
        if error.errno == errno.E2BIG:
            longest = max(arguments, key=len)
            raise UsageError(
                f"{_shown(longest)}: {len(longest)} characters are more than a command line takes",
                "Write them to a file and pass its path, or pass fewer values",
            ) from error
        if folder is not None and error.filename == folder:
            raise Failure(
                f"{_shown(folder)}, the folder of the original call, no longer exists: {error.strerror}"
            ) from error
        raise Failure(
            f"{program()} cannot be run: {error.strerror}", "Set DDPSIM_PROGRAM to the path of the program ddpsim"
        ) from error


def _require_word(word: str) -> None:
    """Raises UsageError if this word cannot stand on a command line."""
    if "\0" in word:
        raise UsageError(f"{_shown(word)}: a command line cannot hold a NUL character", "Remove it")
    try:
        os.fsencode(word)
    except UnicodeEncodeError as error:
        raise UsageError(
            f"{_shown(word)}: {ascii(word[error.start])} is half of a character, which a command line cannot hold",
            "Remove it",
        ) from error


def _shown(word: str) -> str:
    return ascii(word if len(word) <= 60 else word[:59] + "…")[1:-1]


_lock = threading.Lock()
_runs = 0  # running now, with SIGCHLD reset
_ignored: int | None = None  # the handler to restore


@contextlib.contextmanager
def exit_codes_kept() -> Generator[None, None, None]:
    """Resets SIGCHLD to its default while a child runs, if this process ignores it.

    A process that ignores SIGCHLD never learns how its children ended, and Python takes each for exit code 0.
    """
    global _runs, _ignored
    if os.name != "posix" or signal.getsignal(signal.SIGCHLD) is not signal.SIG_IGN:
        yield
        return
    import ctypes

    set_handler = ctypes.pythonapi.PyOS_setsig  # signal.signal works in the main thread only
    set_handler.restype, set_handler.argtypes = ctypes.c_void_p, (ctypes.c_int, ctypes.c_void_p)
    with _lock:
        if _runs == 0:
            _ignored = set_handler(signal.SIGCHLD, int(signal.SIG_DFL))
        _runs += 1
    try:
        yield
    finally:
        with _lock:
            _runs -= 1
            if _runs == 0:
                set_handler(signal.SIGCHLD, _ignored)
