"""Where the program is, and a run of it."""

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
    raise Failure(
        "the program ddpsim is neither beside this Python nor on PATH",
        "Install it (pip install ddpsim), or let DDPSIM_PROGRAM name it",
    )


def run(arguments: Sequence[str], folder: str | None = None) -> subprocess.CompletedProcess[str]:
    """`ddpsim ARGUMENTS` in that folder, by default this one, to its end: an interrupt ends it, too. Several threads may run it
    at once."""
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
                "Write them to a file and name it, or give fewer values",
            ) from error
        if folder is not None and error.filename == folder:
            raise Failure(f"{_shown(folder)}, where this was asked, is no folder any more: {error.strerror}") from error
        raise Failure(f"{program()} cannot be run: {error.strerror}", "Let DDPSIM_PROGRAM name another") from error


def _require_word(word: str) -> None:
    """Raises UsageError where no command line can hold this word."""
    if "\0" in word:
        raise UsageError(f"{_shown(word)}: a command line holds no NUL character", "Leave it out")
    try:
        os.fsencode(word)
    except UnicodeEncodeError as error:
        raise UsageError(
            f"{_shown(word)}: {ascii(word[error.start])} is half of a character, which no command line holds",
            "Leave it out",
        ) from error


def _shown(word: str) -> str:
    return ascii(word if len(word) <= 60 else word[:59] + "…")[1:-1]


_lock = threading.Lock()
_runs = 0  # in progress while SIGCHLD was ignored
_ignored: int | None = None  # the handler to be set again


@contextlib.contextmanager
def exit_codes_kept() -> Generator[None, None, None]:
    """A process that ignores SIGCHLD is never told how its children ended, and Python reads each as exit code 0. While one runs here the
    signal has its default, which does nothing."""
    global _runs, _ignored
    if os.name != "posix" or signal.getsignal(signal.SIGCHLD) is not signal.SIG_IGN:
        yield
        return
    import ctypes

    set_handler = ctypes.pythonapi.PyOS_setsig  # signal.signal is for the main thread alone
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
