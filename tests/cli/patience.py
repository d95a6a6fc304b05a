"""How long tests wait for what should happen: limits that only a hang reaches, on a slow or busy machine too.

    export DDPSIM_PATIENCE=$(python3 tests/cli/patience.py)     # what scripts/test.sh does first; unset, it is 1

prints how many times slower than usual this machine is now, rounded up: every limit is multiplied by that."""

import math
import os
import subprocess
import sys
import time

FACTOR = int(os.environ.get("DDPSIM_PATIENCE", "1"))
WORK = "for _ in range(40): sum(range(500_000))"
USUAL_S = 1.0  # for that work on every core at once; a quiet core of 2.8 GHz needs half of it


def seconds(limit):
    return limit * FACTOR


def until(holds, limit=60, pause=0.01):
    """Asks again and again, and returns the first answer that is true."""
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
