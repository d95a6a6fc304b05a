"""Runs ddpsim (named by DDPSIM_BIN) as a user does, and writes small inputs for it."""

import json
import os
import pathlib
import pty
import subprocess

import patience

BINARY = os.environ["DDPSIM_BIN"]
ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"  # real data, may be missing

# Whether the program has the address sanitizer. That reserves terabytes of addresses, so its memory cannot be limited.
SANITIZED = b"__asan_init" in pathlib.Path(BINARY).read_bytes() if os.path.exists(BINARY) else False

TORCH_SIZES = {"float32": 4, "float16": 2, "bfloat16": 2, "float64": 8}


def on_terminal(*words, cwd=None, **environment):
    """The exit code of a command on a pseudo-terminal, and its output there."""
    controller, terminal = pty.openpty()
    with subprocess.Popen(
        [BINARY, *map(str, words)],
        stdout=terminal,
        stderr=terminal,
        stdin=subprocess.DEVNULL,
        cwd=cwd,
        env={**os.environ, "TERM": "xterm", **environment},
    ) as process:
        os.close(terminal)
        text = b""
        while True:
            try:
                piece = os.read(controller, 65536)
            except OSError:  # end of a pseudo-terminal on Linux
                break
            if not piece:
                break
            text += piece
    os.close(controller)
    return process.returncode, text.decode("utf-8")


class Outcome:
    def __init__(self, process):
        self.code = process.returncode
        self.out = process.stdout
        self.err = process.stderr

    def json(self):
        return json.loads(self.out)


def ddpsim(*arguments, cwd=None, **environment):
    process = subprocess.run(
        [BINARY, *map(str, arguments)],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, **environment},
        timeout=patience.seconds(300),
    )
    return Outcome(process)


def answer(*arguments, **keywords):
    """The document of a command that must succeed."""
    outcome = ddpsim(*arguments, "--json", **keywords)
    assert outcome.code == 0, f"ddpsim {arguments}: exit {outcome.code}: {outcome.err}"
    return outcome.json()


def workload(parameters, ready=None):
    """A workload document. `ready` lists parameter indices in the order of their gradients."""
    document = {"schema": "ddpsim.workload/1", "name": "case", "parameters": parameters}
    if ready is not None:
        document["backward"] = {
            "duration_us": len(ready) + 1,
            "ready": [{"parameter": p, "at_us": at} for at, p in enumerate(ready)],
        }
    return document


def write_json(path, document):
    path.write_text(json.dumps(document))
    return path
