"""What FSDP1, FSDP2 and ZeroRedundancyOptimizer ask of a process group, in small trainings; for test_scheme_collectives.py.

    scheme_trainings.py FOLDER RANK RANKS [PART OF A NAME]

prints one line of JSON per training on rank 0: its scheme, model and options, parameters, and its log (collective_log.py) in the
first step and in a steady one."""

import contextlib
import functools
import json
import pathlib
import sys
import traceback

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import (BackwardPrefetch, FullyShardedDataParallel, MixedPrecision, MixedPrecisionPolicy,
                                    ShardingStrategy, fully_shard)
from torch.distributed.fsdp.wrap import ModuleWrapPolicy, size_based_auto_wrap_policy

from collective_log import CollectiveLog
from scheme_models import MODELS, Block, Bent

STEPS = 4
STRATEGIES = {"full_shard": ShardingStrategy.FULL_SHARD, "shard_grad_op": ShardingStrategy.SHARD_GRAD_OP,
              "no_shard": ShardingStrategy.NO_SHARD, "hybrid_shard": ShardingStrategy.HYBRID_SHARD,
              "hybrid_shard_zero2": ShardingStrategy._HYBRID_SHARD_ZERO2}
PREFETCH = {"pre": BackwardPrefetch.BACKWARD_PRE, "post": BackwardPrefetch.BACKWARD_POST, "none": None}
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


def precision(options, kind):
    chosen = {key: DTYPES[options[key]] for key in ("param_dtype", "reduce_dtype") if key in options}
    return kind(**chosen) if chosen else None


def mesh(ranks, group):
    if not group or group == ranks:
        return init_device_mesh("cpu", (ranks,))
    return init_device_mesh("cpu", (ranks // group, group), mesh_dim_names=("replicate", "shard"))


def fsdp1(model, options, ranks):
    hybrid = options["strategy"].startswith("hybrid")
    wrap = options.get("wrap", "blocks")
    policy = {"blocks": ModuleWrapPolicy({Block, Bent}), "none": None,
              "size": functools.partial(size_based_auto_wrap_policy, min_num_params=options.get("min_num_params", 0))}[wrap]
    sharded = FullyShardedDataParallel(
        model, sharding_strategy=STRATEGIES[options["strategy"]], auto_wrap_policy=policy, device_id=torch.device("cpu"),
        backward_prefetch=PREFETCH[options.get("backward_prefetch", "pre")],
        forward_prefetch=options.get("forward_prefetch", False), limit_all_gathers=options.get("limit_all_gathers", True),
        mixed_precision=precision(options, MixedPrecision), use_orig_params=options.get("use_orig_params", False),
        device_mesh=mesh(ranks, options["group"]) if hybrid else None)
    units = {}
    for name, module in sharded.named_modules():
        if isinstance(module, FullyShardedDataParallel) and module._handle is not None:
            unit = name.replace("_fsdp_wrapped_module", "").replace("..", ".").strip(".") or "root"
            module._handle.unit_name = unit
            units[unit] = module._handle.flat_param._unpadded_unsharded_size.numel()
    return sharded, units


def blocks_of(model):
    return [module for module in model.modules() if isinstance(module, (Block, Bent))]


def fsdp2(model, options, ranks):
    settings = {"mesh": mesh(ranks, options.get("group")), "reshard_after_forward": options.get("reshard_after_forward")}
    policy = precision(options, MixedPrecisionPolicy)
    if policy:
        settings["mp_policy"] = policy
    blocks = blocks_of(model) if options.get("wrap", "blocks") == "blocks" else []
    for k, block in enumerate(blocks):
        own = dict(settings)
        if options.get("last") == "kept" and k == len(blocks) - 1:
            own["reshard_after_forward"] = False
        fully_shard(block, **own)
    fully_shard(model, **settings)
    return model, {}


def zero_redundancy(model, options, _):
    return nn.parallel.DistributedDataParallel(model, bucket_cap_mb=options.get("bucket_cap_mb", 25)), {}


WRAPPERS = {"fsdp1": fsdp1, "fsdp2": fsdp2, "zero_redundancy": zero_redundancy}


def optimizer_of(scheme, model, options):
    if scheme == "zero_redundancy":
        from torch.distributed.optim import ZeroRedundancyOptimizer
        return ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.SGD, lr=0.01,
                                       parameters_as_bucket_view=options.get("parameters_as_bucket_view", False))
    return torch.optim.SGD(model.parameters(), lr=0.01)


def without_sync(scheme, model, options, last):
    """What a micro-batch but the last runs in."""
    if options.get("sync") == "no_sync" and not last and scheme != "fsdp2":
        return model.no_sync()
    if scheme == "fsdp2" and options.get("sync"):
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
    model = make(log)
    parameters = [[key, list(value.shape)] for key, value in model.named_parameters()]
    model, units = WRAPPERS[scheme](model, options, ranks)
    optimizer = optimizer_of(scheme, model, options)
    steps = []
    for _ in range(STEPS):
        with log:
            parts = options.get("accumulate", 1)
            for part in range(parts):
                with without_sync(scheme, model, options, part == parts - 1):
                    log.phase = "forward"
                    loss = model(data()).float().pow(2).mean()
                    log.phase = "backward"
                    loss.backward()
            log.phase = "optimizer"
            optimizer.step()
            optimizer.zero_grad()
        steps.append(log.taken())
    told = {"scheme": scheme, "model": name, "ranks": ranks, "options": options, "parameters": parameters, "units": units,
            "steady": steps[-1]}
    if steps[-1] != steps[-2]:
        told["step before"] = steps[-2]
    if steps[0] != steps[-1]:
        told["first"] = steps[0]
    return told


def cases(ranks):
    for strategy in ("full_shard", "shard_grad_op", "no_shard"):
        for prefetch in ("pre", "post", "none"):
            yield "fsdp1", "numbered", {"strategy": strategy, "backward_prefetch": prefetch}
        for more in ({"wrap": "none"}, {"forward_prefetch": True}, {"param_dtype": "bf16"}, {"reduce_dtype": "bf16"},
                     {"param_dtype": "bf16", "reduce_dtype": "fp32"}, {"accumulate": 2},
                     {"accumulate": 2, "sync": "no_sync"}, {"use_orig_params": True}, {"limit_all_gathers": False}):
            yield "fsdp1", "numbered", {"strategy": strategy, **more}
        yield "fsdp1", "tiny", {"strategy": strategy}
        yield "fsdp1", "nested", {"strategy": strategy}
    for size in (100, 400, 1000, 1500, 3000):
        for model in ("numbered", "nested"):
            yield "fsdp1", model, {"strategy": "full_shard", "wrap": "size", "min_num_params": size}
    if ranks == 4:
        for strategy in ("hybrid_shard", "hybrid_shard_zero2"):
            for more in ({}, {"backward_prefetch": "post"}, {"param_dtype": "bf16", "reduce_dtype": "fp32"},
                         {"accumulate": 2}, {"accumulate": 2, "sync": "no_sync"}):
                yield "fsdp1", "numbered", {"strategy": strategy, "group": 2, **more}
    for reshard in (None, True, False, *([2] if ranks == 4 else [])):
        for more in ({}, {"wrap": "none"}, {"param_dtype": "bf16"}, {"reduce_dtype": "bf16"},
                     {"param_dtype": "bf16", "reduce_dtype": "fp32"},
                     {"accumulate": 2}, {"accumulate": 2, "sync": "no_sync"},
                     {"accumulate": 2, "sync": "no_sync", "reshard_after_backward": False}, {"last": "kept"}):
            yield "fsdp2", "numbered", {"reshard_after_forward": reshard, **more}
        yield "fsdp2", "tiny", {"reshard_after_forward": reshard}
        yield "fsdp2", "nested", {"reshard_after_forward": reshard}
        if ranks == 4 and reshard != 2:
            for more in ({}, {"param_dtype": "bf16", "reduce_dtype": "fp32"}, {"accumulate": 2},
                         {"accumulate": 2, "sync": "no_sync"}, {"accumulate": 2, "sync": "no_all_reduce"}):
                yield "fsdp2", "numbered", {"reshard_after_forward": reshard, "group": 2, **more}
    for model in ("numbered", "nested", "tiny"):
        for view in (False, True):
            yield "zero_redundancy", model, {"parameters_as_bucket_view": view}


def main():
    folder, rank, ranks = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    wanted = sys.argv[4] if len(sys.argv) > 4 else ""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=ranks)
    for scheme, model, options in cases(ranks):
        if wanted not in f"{scheme} {model} {json.dumps(options)}":
            continue
        try:
            told = train(scheme, model, options, ranks)
        except Exception:
            told = {"scheme": scheme, "model": model, "ranks": ranks, "options": options, "failed": traceback.format_exc()}
        if rank == 0:
            print(json.dumps(told), flush=True)


main()
