"""Trains modules under DDP over gloo and traces the same ones with ddpsim.estimate, for test_own_modules.py; one of two ranks.

main(FOLDER, RANK, NAME…)     one JSON line each on rank 0: what DDP logged of its buckets, parameters, and the file of the
                              trace in FOLDER
"""

import json
import os
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cli"))
sys.path.insert(0, str(pathlib.Path(os.environ["DDPSIM_BIN"]).resolve().parents[1] / "python"))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

import own_modules  # noqa: E402

STEPS = 3


def integers(text):
    return [int(word) for word in str(text).replace(",", " ").split()]


def unused_by(model, inputs):
    """Parameters that one backward gives no gradient."""
    own_modules.run(model, inputs).backward()
    unused = [
        name for name, parameter in model.named_parameters() if parameter.requires_grad and parameter.grad is None
    ]
    model.zero_grad()
    return unused


def logged(name):
    """What DDP logs of this module's buckets, and the order in which its gradients became ready."""
    model, inputs = own_modules.build(name)
    unused = unused_by(model, inputs)
    facts = {
        "parameters": [[one, list(tensor.shape)] for one, tensor in model.named_parameters()],
        "trained": sum(parameter.requires_grad for parameter in model.parameters()),
        "unused": unused,
        "buffers": sorted(
            [str(buffer.dtype).partition(".")[2], buffer.numel() * buffer.element_size()] for buffer in model.buffers()
        ),
    }
    ddp = torch.nn.parallel.DistributedDataParallel(model, find_unused_parameters=bool(unused))
    facts["built"] = integers(ddp._get_ddp_logging_data()["bucket_sizes"])
    for _ in range(STEPS):
        own_modules.run(ddp, inputs).backward()
    log = ddp._get_ddp_logging_data()
    facts["rebuilt"] = integers(log.get("rebuilt_bucket_sizes", ""))
    facts["order"] = integers(log.get("prev_iteration_grad_ready_order_indices", ""))
    return facts


def traced(name, path):
    """The trace of the same module without its weights; how long it took, or why there is none."""
    from ddpsim import _estimate

    try:
        with torch.device("meta"):
            model, inputs = own_modules.build(name)
    except Exception:
        model, inputs = own_modules.build(name)
    begin = time.process_time()
    try:
        _estimate.write_model(_estimate.trace_model(model, inputs), str(path))
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return {"seconds": time.process_time() - begin}


def main(folder, rank, *names):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=int(rank), world_size=2)
    for number, name in enumerate(names):
        facts = logged(name)
        if dist.get_rank() == 0:
            path = pathlib.Path(folder, f"model-{number}.json")
            print(json.dumps({"name": name, "file": path.name, **facts, **traced(name, path)}), flush=True)
        dist.barrier()
    dist.destroy_process_group()
