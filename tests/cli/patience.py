"""Time limits of tests, which only a hang should reach, even on a slow or busy machine.

    export DDPSIM_PATIENCE=$(python3 tests/cli/patience.py)     # scripts/test.sh starts with this; the default is 1

Prints how many times slower than usual this machine is now, rounded up. Every limit is multiplied by this number."""

import math
import os
import subprocess
import sys
import time

FACTOR = int(os.environ.get("DDPSIM_PATIENCE", "1"))
WORK = "for _ in range(40): sum(range(500_000))"
# Usual time of that work on every core at once. A quiet core of 2.8 GHz needs half of it.
USUAL_S = 1.0


def seconds(limit):
    return limit * FACTOR


def until(holds, limit=60, pause=0.01):
    """Calls `holds` again and again, and returns the first result that is true."""
    end = time.monotonic() + seconds(limit)
    while not (answer := holds()):
        assert time.monotonic() < end, f"this did not happen within {seconds(limit)} s"
        time.sleep(pause)
    return answer


def calibrated():
    begin = time.monotonic()
    running = [subprocess.Popen([sys.executable, "-c", WORK]) for _ in range(os.cpu_count())]
    for process in running:
        process.wait()
    return max(1, math.ceil((time.monotonic() - begin) / USUAL_S))


if __name__ == "__main__":
    print(calibrated())
