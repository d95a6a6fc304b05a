"""Logs the collectives of FSDP1, FSDP2, replicate and ZeroRedundancyOptimizer in small trainings, for test_scheme_collectives.py.

    main(FOLDER, RANK, RANKS, EVERY)

One of RANKS ranks, in a Python with torch. It runs every EVERY-th training of each scheme. Rank 0 prints one line of
JSON per training: the scheme, options as --scheme spells them, and the log of collective_log.py for a settled step. The
log of the first step is added if it differs."""

import contextlib
import functools
import itertools
import json
import types

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed._composable.replicate_with_fsdp import replicate
from torch.distributed.algorithms.ddp_comm_hooks import ddp_zero_hook
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import (
    BackwardPrefetch,
    FullyShardedDataParallel,
    MixedPrecision,
    MixedPrecisionPolicy,
    ShardingStrategy,
    fully_shard,
)
from torch.distributed.fsdp.wrap import CustomPolicy, size_based_auto_wrap_policy
from torch.distributed.optim import ZeroRedundancyOptimizer

from collective_log import CollectiveLog
from scheme_models import MODELS, freeze

# FSDP1 knows its prefetching in the second step, and overlapped ZeroRedundancyOptimizer the owners of its buckets in
# the third.
STEPS = {"fsdp1": 3, "fsdp2": 3, "replicate": 3, "zero_redundancy": 4}
STRATEGIES = {
    "full_shard": ShardingStrategy.FULL_SHARD,
    "shard_grad_op": ShardingStrategy.SHARD_GRAD_OP,
    "no_shard": ShardingStrategy.NO_SHARD,
    "hybrid_shard": ShardingStrategy.HYBRID_SHARD,
    "hybrid_shard_zero2": ShardingStrategy._HYBRID_SHARD_ZERO2,
}
PREFETCH = {"pre": BackwardPrefetch.BACKWARD_PRE, "post": BackwardPrefetch.BACKWARD_POST, "none": None}
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
BLOCKS = {
    "numbered": "layers.0+layers.1+layers.2+layers.3",
    "nested": "stages.0+stages.1+stages.2",
    "tiny": "layers.0+layers.1+layers.2",
}
BLOCKS["tied"] = BLOCKS["numbered"]
INNER = "+".join(f"stages.{s}.{b}" for s in range(3) for b in range(2))
# Units in the middle and at the start of another unit.
WITHIN = (
    "stages.1.0.up+stages.1.0+stages.2",
    "stages.1.0.norm+stages.1.0+stages.2",
)
MORE = BLOCKS["nested"] + "+tail.0+tail.2"


def precision(options, kind):
    return kind(**{key: DTYPES[options[key]] for key in ("param_dtype", "reduce_dtype") if key in options})


@functools.lru_cache(maxsize=None)
def mesh(ranks, group=None):
    if not group:
        return init_device_mesh("cpu", (ranks,))
    return init_device_mesh("cpu", (ranks // group, group), mesh_dim_names=("replicate", "shard"))


def wrapped(model, name, options):
    """The modules that `wrap` names, inner modules first."""
    wrap = options.get("wrap", "blocks")
    names = BLOCKS[name] if wrap == "blocks" else "" if wrap == "none" else wrap
    return [model.get_submodule(path) for path in names.split("+") if path]


def fsdp1(model, name, options, ranks):
    if options.get("wrap") == "size":
        policy = functools.partial(size_based_auto_wrap_policy, min_num_params=options["min_num_params"])
    else:
        chosen = wrapped(model, name, options)
        policy = CustomPolicy(lambda module: any(module is one for one in chosen))
    sharded = FullyShardedDataParallel(
        model,
        sharding_strategy=STRATEGIES[options["strategy"]],
        auto_wrap_policy=policy,
        device_id=torch.device("cpu"),
        backward_prefetch=PREFETCH[options.get("backward_prefetch", "pre")],
        forward_prefetch=options.get("forward_prefetch", False),
        limit_all_gathers=options.get("limit_all_gathers", True),
        mixed_precision=precision(options, MixedPrecision),
        use_orig_params=options.get("use_orig_params", False),
        device_mesh=mesh(ranks, options["group"]) if "group" in options else None,
    )
    for path, module in sharded.named_modules():
        if isinstance(module, FullyShardedDataParallel) and module._handle is not None:
            module._handle.unit_name = path.replace("_fsdp_wrapped_module", "").replace("..", ".").strip(".") or "root"
    return sharded


def fsdp2(model, name, options, ranks):
    settings = {
        "mesh": mesh(ranks, options.get("group")),
        "mp_policy": precision(options, MixedPrecisionPolicy),
        "reshard_after_forward": options.get("reshard_after_forward"),
    }
    blocks = wrapped(model, name, options)
    for block in blocks:
        kept = options.get("last") == "kept" and block is blocks[-1]
        fully_shard(
            block, **{**settings, "reshard_after_forward": False if kept else settings["reshard_after_forward"]}
        )
    if options.get("root") == "default":
        settings["reshard_after_forward"] = None
    return fully_shard(model, **settings)


def replicated(model, name, options, ranks):
    settings = {"mesh": mesh(ranks), "mp_policy": precision(options, MixedPrecisionPolicy)}
    for block in wrapped(model, name, options):
        replicate(block, **settings)
    return replicate(model, **settings)


def zero_redundancy(model, name, options, _):
    return nn.parallel.DistributedDataParallel(model, bucket_cap_mb=options.get("bucket_cap_mb", 25))


WRAPPERS = {"fsdp1": fsdp1, "fsdp2": fsdp2, "replicate": replicated, "zero_redundancy": zero_redundancy}


def optimizer_of(scheme, model, options):
    if scheme != "zero_redundancy":
        return torch.optim.SGD(model.parameters(), lr=0.01)
    if "overlap" not in options:
        return ZeroRedundancyOptimizer(
            model.parameters(),
            optimizer_class=torch.optim.SGD,
            lr=0.01,
            parameters_as_bucket_view=options["parameters_as_bucket_view"],
        )
    optimizer = ZeroRedundancyOptimizer(
        model.parameters(), optimizer_class=torch.optim.SGD, lr=0.01, overlap_with_ddp=True
    )
    # It refuses gloo, whose futures wait for each other. NCCL's futures are complete once they are enqueued, and so are
    # these.
    ddp_zero_hook.dist = types.SimpleNamespace(**{**vars(dist), "get_backend": lambda group: "nccl"})
    wrap = {"step": ddp_zero_hook.hook_with_zero_step, "interleaved": ddp_zero_hook.hook_with_zero_step_interleaved}[
        options["overlap"]
    ]
    model.register_comm_hook(None, wrap(reduced, model, optimizer))
    return optimizer


def reduced(_, bucket):
    dist.all_reduce(bucket.buffer())
    future = torch.futures.Future()
    future.set_result(bucket.buffer().div_(dist.get_world_size()))
    return future


def micro_batch(model, options, last):
    """The context of a micro-batch. Plain `accumulate` reduces each one, and no_sync only the last."""
    if "sync" not in options:
        return contextlib.nullcontext()
    if isinstance(model, FullyShardedDataParallel):
        return contextlib.nullcontext() if last else model.no_sync()
    if options["sync"] == "no_sync":
        model.set_requires_gradient_sync(last)
    if options["sync"] == "no_all_reduce":
        model.set_requires_all_reduce(last)
    if options.get("reshard_after_backward") is False:
        model.set_reshard_after_backward(last)
    model.set_is_last_backward(last)
    return contextlib.nullcontext()


def train(scheme, name, options, ranks):
    torch.manual_seed(0)
    log = CollectiveLog()
    make, data = MODELS[name]
    module = make(log)
    freeze(module, options)
    model = WRAPPERS[scheme](module, name, options, ranks)
    optimizer = optimizer_of(scheme, model, options)
    steps = []
    for _ in range(STEPS[scheme]):
        with log:
            parts = options.get("accumulate", 1)
            for part in range(parts):
                with micro_batch(model, options, part == parts - 1):
                    log.enter("forward")
                    loss = model(data()).float().pow(2).mean()
                    log.enter("backward")
                    loss.backward()
            log.enter("optimizer")
            optimizer.step()
            optimizer.zero_grad()
        steps.append(log.taken())
    assert steps[-1] == steps[-2], "no steady step"
    told = {"scheme": scheme, "model": name, "ranks": ranks, "options": options, "log": steps[-1]}
    return told if steps[0] == steps[-1] else {**told, "first": steps[0]}


MIXED = {"param_dtype": "bf16", "reduce_dtype": "fp32"}
TWICE = {"accumulate": 2}
AT_LAST = {"accumulate": 2, "sync": "no_sync"}


def cases_of_fsdp1(ranks):
    """The cases of FSDP1. Two ranks show every order, four ranks padding and groups of ranks."""
    for strategy in ("full_shard", "shard_grad_op", "no_shard"):
        for options in ({}, MIXED, AT_LAST, {"use_orig_params": True}, {"use_orig_params": True, **MIXED}):
            yield "numbered", {"strategy": strategy, **options}
        for model in ("tiny", "tied", "nested"):
            yield model, {"strategy": strategy}
        if ranks == 2:
            for options in (
                {"wrap": "none"},
                {"forward_prefetch": True},
                {"param_dtype": "bf16"},
                {"reduce_dtype": "bf16"},
                TWICE,
            ):
                yield "numbered", {"strategy": strategy, **options}
            for wrap in (INNER, MORE):
                yield "nested", {"strategy": strategy, "wrap": wrap}
    if ranks == 2:
        for options in (
            {"backward_prefetch": "post"},
            {"backward_prefetch": "none"},
            {"limit_all_gathers": False},
            *({"backward_prefetch": prefetch, "forward_prefetch": True} for prefetch in ("post", "none")),
        ):
            yield "numbered", {"strategy": "full_shard", **options}
        for size in (100, 400, 1000, 1500, 3000):
            for model in ("numbered", "nested"):
                yield model, {"strategy": "full_shard", "wrap": "size", "min_num_params": size}
        for wrap in WITHIN:
            for prefetch in (False, True):
                yield "nested", {"strategy": "full_shard", "wrap": wrap, "forward_prefetch": prefetch}
    if ranks == 4:
        for strategy in ("hybrid_shard", "hybrid_shard_zero2"):
            for options in ({}, {"backward_prefetch": "post"}, MIXED, TWICE, AT_LAST):
                yield "numbered", {"strategy": strategy, "group": 2, **options}


def cases_of_fsdp2(ranks):
    """The cases of FSDP2, like those of FSDP1. reshard_after_forward is set for blocks and root, or for blocks only."""
    whole = ({}, {"reshard_after_forward": True}, {"reshard_after_forward": False})
    parts = ({"reshard_after_forward": 2}, {"reshard_after_forward": 2, "root": "default"})
    for reshard in whole if ranks == 2 else parts:
        for options in ({}, {"wrap": "none"}, MIXED, AT_LAST, {"last": "kept"}):
            yield "numbered", {**reshard, **options}
        for model in ("tiny", "tied", "nested"):
            yield model, reshard
        for wrap in (INNER, MORE):
            yield "nested", {"wrap": wrap, **reshard}
    if ranks == 2:
        for options in (
            {"param_dtype": "bf16"},
            {"reduce_dtype": "bf16"},
            TWICE,
            {**AT_LAST, "reshard_after_backward": False},
            {"reshard_after_forward": False, **AT_LAST, "reshard_after_backward": False},
        ):
            yield "numbered", options
        for wrap in WITHIN:
            yield "nested", {"wrap": wrap}
    if ranks == 4:
        for model in ("numbered", "tiny", "nested"):
            yield model, {}
        for reshard in ({}, {"reshard_after_forward": False}):
            for options in ({}, MIXED, TWICE, AT_LAST, {"accumulate": 2, "sync": "no_all_reduce"}):
                yield "numbered", {"group": 2, **reshard, **options}


def cases_of_replicate(ranks):
    """No rank pads, so that two ranks show every size, and four that there is one group."""
    if ranks == 4:
        yield "numbered", {}
        yield "nested", MIXED
        return
    for options in ({}, {"wrap": "none"}, {"param_dtype": "bf16"}, {"reduce_dtype": "bf16"}, MIXED, TWICE, AT_LAST):
        yield "numbered", options
    yield "numbered", {**MIXED, **AT_LAST}
    for model in ("tiny", "tied", "nested"):
        yield model, {}
    for wrap in (INNER, MORE, *WITHIN):
        yield "nested", {"wrap": wrap}


def cases_of_zero_redundancy(ranks):
    for model in MODELS:
        for view in (False, True):
            yield model, {"parameters_as_bucket_view": view}
        if ranks == 2:
            for overlap in ("step", "interleaved"):
                yield model, {"overlap": overlap, "bucket_cap_mb": 0.002}


CASES = {
    "fsdp1": cases_of_fsdp1,
    "fsdp2": cases_of_fsdp2,
    "replicate": cases_of_replicate,
    "zero_redundancy": cases_of_zero_redundancy,
}


def train_all(cases_by_scheme, folder, rank, ranks, every):
    rank, ranks = int(rank), int(ranks)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=ranks)
    for scheme, cases in cases_by_scheme.items():
        for model, options in itertools.islice(cases(ranks), None, None, int(every)):
            told = train(scheme, model, options, ranks)
            if rank == 0:
                print(json.dumps(told), flush=True)


def main(*arguments):
    train_all(CASES, *arguments)
