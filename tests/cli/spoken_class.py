"""Finds the class of cost that a first line names: memory, input, host, ranks, communication, or compute."""

import re

LEAST_SHARE = 0.05  # smaller losses are not worth a change

# The words of each class. The word that comes first in the line decides.
WORDS = {
    "memory": r"not fit|out of memory|needs? [\d.]+ Gi?B|more memory than",
    "input": r"DataLoader|data loader|data loading|num_workers|\binput\b|for (?:its |the |a )?(?:data|batch)|storage|decod",
    "host": r"\bhost\b|launch|CUDA graph|torch\.compile|profiler",
    "ranks": r"slow(?:er|est)? (?:GPU|rank)|straggler|(?<!of )\b(?:rank|GPU) \d|(?:late|last) rank|(?:other|late) ranks|ranks (?:that )?(?:differ|wait)|jitter",
    "communication": r"communication|all-reduce|compress_hook|powerSGD|post_localSGD|no_sync|bucket_cap_mb=|network|broadcast|interconnect",
}
NOTHING = r"nothing (?:worth|to)|\bkeep (?:the|today)|compute[- ]bound|bound by compute|kernels themselves"
IN_MS = {"us": 0.001, "µs": 0.001, "ms": 1, "s": 1000}
TIME = r"([\d.]+) (ms|µs|us|s)\b"


def earliest(text, classes):
    found = [(match.start(), name) for name in classes if (match := re.search(WORDS[name], text, re.IGNORECASE))]
    return min(found)[1] if found else None


def milliseconds(match):
    return float(match[1]) * IN_MS[match[2]]


def spoken_of(line, failed=False):
    """The class that a first line names, or None. `failed`: the line is an error, which only memory can cause."""
    if failed:
        return "memory" if re.search(WORDS["memory"] + r"|GiB|\d GB|memory", line) else None
    line = line.split(" GPUs: ", 1)[-1].split(" GPU: ", 1)[-1]  # skip the names of job and cluster
    step = re.search(TIME + r" a step", line)
    loss = re.search(r"largest (?:simulated )?loss: (.*?),? (?:of )?" + TIME, line)
    if step and loss:
        small = float(loss[2]) * IN_MS[loss[3]] < LEAST_SHARE * milliseconds(step)
        return "compute" if small else earliest(loss[1], WORDS)
    line = re.sub(
        r"([\d.]+) % of it (?:is )?(?:exposed|blocked by) communication[^;.]*",
        lambda share: "" if float(share[1]) < 100 * LEAST_SHARE else share[0],
        line,
    )
    if re.search(NOTHING, line, re.IGNORECASE):
        return earliest(line, [name for name in WORDS if name != "communication"]) or "compute"
    return earliest(line, WORDS)
