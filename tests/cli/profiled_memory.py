"""Reads memory from a trace of PyTorch's profiler on a CPU (profile_memory=True)."""

import json


def allocated(path, step):
    """The most memory within record_function(`step`), from the times at which memory was allocated and freed."""
    events = json.loads(path.read_text())["traceEvents"]
    span = next(event for event in events if event.get("name") == step and "dur" in event)
    begin, end = float(span["ts"]), float(span["ts"]) + float(span["dur"])
    level = most = 0
    for event in sorted((e for e in events if e.get("name") == "[memory]"), key=lambda event: float(event["ts"])):
        level += event["args"]["Bytes"]
        if begin <= float(event["ts"]) <= end:
            most = max(most, level)
    return most
