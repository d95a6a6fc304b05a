"""Copies of profiler traces that look like other schemes: other collectives, no names of DDP, merged steps."""

import gzip
import json

DDP_NAMES = ("torch::distributed::reducer::", "torch.distributed.ddp.reducer::", "DistributedDataParallel.forward")
KERNELS = {
    "reduce_scatter_tensor": "ReduceScatter",
    "all_gather_into_tensor": "AllGather",
    "send": "SendRecv",
    "all_to_all": "SendRecv",
    "reduce": "Reduce",
    "all_reduce": "AllReduce",
    "broadcast": "Broadcast",
}


def read(path):
    return json.loads(gzip.decompress(path.read_bytes()))


def copied(trace):
    """A deep copy, in a third of the time of copy.deepcopy."""
    return json.loads(json.dumps(trace))


def spans(trace):
    return [event for event in trace["traceEvents"] if event.get("ph") == "X"]


def keep(trace, wanted):
    """A copy with only the events for which `wanted` is true."""
    return {**trace, "traceEvents": [event for event in trace["traceEvents"] if wanted(event)]}


def without_ddp(trace):
    return copied(keep(trace, lambda event: not str(event.get("name")).startswith(DDP_NAMES)))


def is_collective(event, operation):
    """Whether an event is a call or kernel of "all_reduce" or "broadcast", in any spelling."""
    short = operation.replace("_", "")
    name = event.get("name", "")
    return (
        name in (f"nccl:{operation}", f"c10d::{short}_")
        or event.get("args", {}).get("Collective name") == short
        or event.get("cat") == "kernel"
        and name.startswith("nccl")
        and KERNELS[operation] in name
    )


def renamed(trace, operation, other, which=lambda k: True):
    """Changes the trace: calls and kernels of one operation become those of another.

    Of each kind of event, the k-th is changed if `which(k)` is true.
    """
    seen = {}
    for event in sorted(spans(trace), key=lambda event: float(event["ts"])):
        if not is_collective(event, operation):
            continue
        sort = (event.get("cat"), event["name"])
        seen[sort] = seen.get(sort, -1) + 1
        if not which(seen[sort]):
            continue
        if event["name"].startswith("nccl:"):
            event["name"] = f"nccl:{other}"
        elif event["name"].startswith("c10d::"):
            event["name"] = f"c10d::{other}_"
        elif event.get("cat") == "kernel":
            event["name"] = f"ncclDevKernel_{KERNELS[other]}_Sum_f32_RING_LL"
        arguments = event.get("args", {})
        if "Collective name" in arguments:
            arguments["Collective name"] = other
        if "dtype" in arguments:
            arguments["dtype"] = "Float"
    return trace


def without(trace, operation, within=((float("-inf"), float("inf")),)):
    """A copy without the calls and kernels of an operation that the host called in these intervals of time."""

    def inside(event):
        return any(begin <= float(event["ts"]) < end for begin, end in within)

    launched = {
        event["args"]["correlation"]
        for event in spans(trace)
        if "correlation" in event.get("args", {}) and event.get("cat") != "kernel" and inside(event)
    }

    def unwanted(event):
        if event.get("ph") != "X" or not is_collective(event, operation):
            return False
        return event["args"].get("correlation") in launched if event.get("cat") == "kernel" else inside(event)

    return keep(trace, lambda event: not unwanted(event))


def markers(trace):
    found = [
        event
        for event in spans(trace)
        if event["name"].startswith("ProfilerStep") and event.get("cat") != "gpu_user_annotation"
    ]
    return sorted(found, key=lambda event: float(event["ts"]))


def step_times(trace):
    return [(float(event["ts"]), float(event["ts"]) + float(event["dur"])) for event in markers(trace)]


def optimizers(trace):
    return [
        event
        for event in spans(trace)
        if event["name"].startswith("Optimizer.step") and event.get("cat") != "gpu_user_annotation"
    ]


def with_range(trace, name, count=3):
    """Adds `count` ranges with this name at the start of each step."""
    for marker in markers(trace):
        for k in range(count):
            trace["traceEvents"].append({**marker, "name": name, "ts": float(marker["ts"]) + 2 + 2 * k, "dur": 1})
    return trace


def with_collective(trace, operation, elements, before_end=20.0):
    """Adds one more collective at the end of each step, called by the thread that calls backward."""
    for k, marker in enumerate(markers(trace)):
        at = float(marker["ts"]) + float(marker["dur"]) - before_end
        arguments = {"Collective name": operation, "dtype": "Float", "In msg nelems": elements}
        host = {"ph": "X", "pid": marker["pid"], "tid": marker["tid"]}
        launch = {"correlation": 10**8 + k}
        trace["traceEvents"] += [
            {**host, "cat": "cpu_op", "name": "record_param_comms", "ts": at, "dur": 10, "args": arguments},
            {**host, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": at + 2, "dur": 2, "args": launch},
            {
                **host,
                "cat": "kernel",
                "name": f"ncclDevKernel_{KERNELS[operation]}_RING_LL",
                "tid": 99,
                "ts": at + 6,
                "dur": 5,
                "args": {**arguments, **launch},
            },
        ]
    return trace


def merged(trace, count=3, with_marker=True, optimizer_steps="all"):
    """Merges the first steps into one, with a marker or none. `optimizer_steps` keeps "all", "the last" or "none"."""
    first, *others = markers(trace)[:count]
    result = copied(keep(trace, lambda event: event not in others and (with_marker or event is not first)))
    if with_marker:
        end = max(float(event["ts"]) + float(event["dur"]) for event in [first, *others])
        markers(result)[0]["dur"] = end - float(first["ts"])
    inner = sorted(float(event["ts"]) for event in optimizers(trace))[:count]
    gone = {"all": [], "the last": inner[:-1], "none": inner}[optimizer_steps]
    return keep(
        result, lambda event: not (str(event.get("name")).startswith("Optimizer.step") and float(event["ts"]) in gone)
    )


def of_group(trace, operation, name, ranks):
    """Adds the name and ranks of a group to calls and kernels of an operation."""
    for event in spans(trace):
        if is_collective(event, operation) and not event["name"].startswith("c10d::"):
            event["args"].update({"Process Group Description": name, "Group size": ranks})
    return trace


def from_script(trace):
    """Moves the all-reduces after backward, to the thread that calls it."""
    for marker in markers(trace):
        begin, end = float(marker["ts"]), float(marker["ts"]) + float(marker["dur"])
        calls = [
            event
            for event in spans(trace)
            if event.get("cat") in ("cpu_op", "user_annotation")
            and begin <= float(event["ts"]) < end
            and is_collective(event, "all_reduce")
        ]
        nodes = [
            event
            for event in spans(trace)
            if "evaluate_function" in event["name"] and begin <= float(event["ts"]) < end
        ]
        behind = max(float(event["ts"]) + float(event["dur"]) for event in nodes) + 1
        kernels = {
            event["args"]["correlation"]
            for event in spans(trace)
            if event.get("cat") == "kernel" and is_collective(event, "all_reduce")
        }
        launches = [
            event
            for event in spans(trace)
            if event.get("cat") == "cuda_runtime"
            and begin <= float(event["ts"]) < end
            and event["args"].get("correlation") in kernels
        ]
        for k, launch in enumerate(sorted(launches, key=lambda event: float(event["ts"]))):
            own = [
                event
                for event in calls
                if event["tid"] == launch["tid"]
                and float(event["ts"]) <= float(launch["ts"]) < float(event["ts"]) + float(event["dur"])
            ]
            for event in own:
                event.update(ts=behind + 3 * k, dur=2, tid=marker["tid"])
            launch.update(ts=behind + 3 * k + 1, dur=0.5, tid=marker["tid"])
    return trace
