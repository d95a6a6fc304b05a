"""A program run under limits: a mutant may loop for ever or ask for all memory there is."""

import os
import resource
import subprocess

MEMORY = 6 << 30  # address space, bytes: what the unmutated tests need several times over


def run(command, seconds, environment=None, cwd=None):
    """(exit code, or None after `seconds`; output)"""
    process = subprocess.Popen(
        [str(word) for word in command],
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=limited,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
        return process.returncode, output.decode(errors="replace")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        return None, ""


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def allowed(normal):
    """How long something may take that normally takes `normal` seconds."""
    return 10 * normal + 5
