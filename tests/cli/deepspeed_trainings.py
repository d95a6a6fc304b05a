"""Logs the collectives of DeepSpeed's ZeRO in small trainings, for test_scheme_collectives.py.

    main(FOLDER, RANK, RANKS, EVERY)

One of RANKS ranks, in a Python with torch and deepspeed, on its CPU accelerator; otherwise like scheme_trainings.py.
The log is that of a step in which ZeRO-3 knows its trace. The first step has a long log, which is kept only for the
defaults."""

import itertools
import json
import os

import torch

os.environ["DS_ACCELERATOR"] = "cpu"

import deepspeed  # noqa: E402

from collective_log import CollectiveLog  # noqa: E402
from scheme_models import MODELS, freeze  # noqa: E402

STEPS = 5
OURS = {"accumulate", "dtype", "frozen"}  # not options of zero_optimization


def train(name, stage, options):
    torch.manual_seed(0)
    log = CollectiveLog()
    make, data = MODELS[name]
    model = make(log)
    freeze(model, options)
    parts = options.get("accumulate", 1)
    zero = {key: value for key, value in options.items() if key not in OURS}
    config = {
        "train_micro_batch_size_per_gpu": 2,
        "gradient_accumulation_steps": parts,
        "zero_optimization": {"stage": stage, **zero},
        "zero_allow_untested_optimizer": True,
    }
    if options.get("dtype") == "bf16":
        config["bf16"] = {"enabled": True}
    engine, *_ = deepspeed.initialize(
        model=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.01), config=config
    )
    steps = []
    for _ in range(STEPS):
        with log:
            for _ in range(parts):
                log.enter("forward")
                loss = engine(data()).float().pow(2).mean()
                log.enter("backward")
                engine.backward(loss)
                log.enter("optimizer")
                engine.step()
        steps.append(log.taken())
    assert steps[-1] == steps[-2], "no steady step"
    told = {
        "scheme": f"zero{stage}",
        "model": name,
        "ranks": torch.distributed.get_world_size(),
        "options": options,
        "log": steps[-1],
    }
    return told if options or steps[0] == steps[-1] else {**told, "first": steps[0]}


def cases(_):
    """The cases, with stage 3 last.

    In stage 3, DeepSpeed replaces torch.nn.functional.linear for all later models by a function that finishes weights
    before biases.
    """
    for stage in (1, 2, 3):
        yield "numbered", stage, {}
        for size in (1000, 300):
            yield "numbered", stage, {"reduce_bucket_size": size, "allgather_bucket_size": size}
        for more in ({"overlap_comm": stage < 3}, {"accumulate": 2}, {"dtype": "bf16"}):
            yield "numbered", stage, {"reduce_bucket_size": 1000, **more}
        if stage < 3:
            for more in (
                {"reduce_scatter": False},
                {"use_multi_rank_bucket_allreduce": False},
                {"round_robin_gradients": True},
            ):
                yield "numbered", stage, {"reduce_bucket_size": 1000, **more}
        yield "tied", stage, {"reduce_bucket_size": 1000}
        yield "tiny", stage, {}
        yield "nested", stage, {"reduce_bucket_size": 1500}
    kept = {"stage3_param_persistence_threshold": 0, "reduce_bucket_size": 1000}
    let_go = {**kept, "stage3_max_reuse_distance": 0}
    yield "numbered", 3, kept
    yield "numbered", 3, {**kept, "stage3_param_persistence_threshold": 100}
    for prefetch in (0, 300, 900):
        yield "numbered", 3, {**kept, "stage3_prefetch_bucket_size": prefetch}
        yield "numbered", 3, {**let_go, "stage3_prefetch_bucket_size": prefetch}
        yield "numbered", 3, {**let_go, "stage3_prefetch_bucket_size": prefetch, "stage3_max_live_parameters": 1000}
    yield "numbered", 3, {**let_go, "stage3_param_persistence_threshold": 100}
    yield "numbered", 3, {**let_go, "stage3_prefetch_bucket_size": 300, "accumulate": 2}
    yield "nested", 3, {**let_go, "stage3_prefetch_bucket_size": 300}
    yield "nested", 3, {**let_go, "stage3_prefetch_bucket_size": 0}


def train_all(cases, folder, rank, ranks, every):
    os.environ.update(RANK=rank, LOCAL_RANK=rank, WORLD_SIZE=ranks)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # DeepSpeed prints to stdout, too
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=int(rank), world_size=int(ranks)
    )
    deepspeed.init_distributed("gloo")
    for name, stage, options in itertools.islice(cases(int(ranks)), None, None, int(every)):
        told = train(name, stage, options)
        if rank == "0":
            print(json.dumps(told), file=answers, flush=True)


def main(*arguments):
    train_all(cases, *arguments)
