#!/usr/bin/env python3
"""Measures the host time of DeepSpeed's ZeRO, stages 1 to 3: per module, parameter, bucket and all-gather.

    tests/lab/zero_host.py [--python PYTHON] [--repeats 30] [-o tests/lab/measured/zero_host.json]
    tests/lab/zero_host.py --table tests/lab/measured/zero_host.json

The first runs a process for each case, under a Python with torch and deepspeed, on DeepSpeed's CPU accelerator. A model
is a chain of linear layers of 20 elements, so that arithmetic vanishes. Its collectives are those of one rank of a
group of PyTorch's fake backend, which end at once. So only the host's own work is left. Each repetition runs the step
under DeepSpeed and then the same layers without it. The times are CPU times of the thread that trains, and what counts
is the difference.

What one module, parameter, bucket or all-gather takes is fitted over all cases of a stage: the least squares of relative
errors, without negative times. The spread is that of fits which leave out one case each.

Garbage collection is off, and so is DeepSpeed's operator of shared memory, which nothing here uses. LOCAL_SIZE tells
how many devices there are. Without it, stage 3 on a CPU starts numactl to count them for each bucket, which takes
1.2 ms. A GPU's driver knows."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

# 16 elements of a weight, 4 of a bias.
WIDTH = 4
PHASES = ("forward", "backward", "step")
WARM = 8
# Every parameter is gathered, when its module needs it, and freed after it.
LET_GO = {
    "stage3_param_persistence_threshold": 0,
    "stage3_max_reuse_distance": 0,
    "stage3_prefetch_bucket_size": 0,
}
KEPT = {"stage3_param_persistence_threshold": 0}


def cases(stage):
    """Cases that differ in what is counted, but for 'ranks' and 'overlap_comm', which ought to make no difference."""
    base = {"stage": stage, "layers": 100, "bias": True, "idle": 0, "ranks": 2, "zero": {}}
    if stage < 3:
        for layers in (50, 100, 200):
            yield {**base, "layers": layers}
        for layers in (100, 200):
            yield {**base, "layers": layers, "bias": False}
        for size in (100, 40):
            yield {**base, "zero": {"reduce_bucket_size": size}}
        yield {**base, "layers": 200, "ranks": 8}
        yield {**base, "dtype": "bf16"}
        yield {**base, "accumulate": 2}
        yield {**base, "zero": {"overlap_comm": True, "reduce_bucket_size": 100}}
        return
    for layers in (100, 200):
        yield {**base, "layers": layers}
        yield {**base, "layers": layers, "bias": False}
    yield {**base, "idle": 2}
    yield {**base, "layers": 50, "idle": 4}
    yield {**base, "zero": KEPT}
    for size in (100, 20):
        yield {**base, "zero": {**KEPT, "reduce_bucket_size": size}}
    yield {**base, "zero": {**KEPT, "stage3_prefetch_bucket_size": 0}}
    yield {**base, "zero": LET_GO}
    yield {**base, "bias": False, "zero": LET_GO}
    yield {**base, "layers": 200, "bias": False, "zero": LET_GO}
    yield {**base, "zero": {**LET_GO, "overlap_comm": False}}
    yield {**base, "ranks": 8, "zero": LET_GO}


def train(case, repeats):
    """Runs one case. Returns the times by phase, in us, with and without DeepSpeed, and what happened how often."""
    ranks = str(case["ranks"])
    os.environ.update(DS_ACCELERATOR="cpu", RANK="0", LOCAL_RANK="0", WORLD_SIZE=ranks, LOCAL_SIZE=ranks)
    import gc

    import torch
    from torch.testing._internal.distributed.fake_pg import FakeStore
    from torch.utils._python_dispatch import TorchDispatchMode

    torch.set_num_threads(1)
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=case["ranks"])
    import deepspeed
    import deepspeed.ops

    deepspeed.ops.__compatible_ops__.update(deepspeed_shm_comm=False)
    deepspeed.init_distributed("gloo", auto_mpi_discovery=False)
    # In stage 3, DeepSpeed replaces the function that nn.Linear calls.
    linear = torch.nn.functional.linear

    class Plain(torch.nn.Linear):
        def forward(self, x):
            return linear(x, self.weight, self.bias)

    def chain(kind):
        layers = []
        for _ in range(case["layers"]):
            layers += [kind(WIDTH, WIDTH, bias=case["bias"]), *(torch.nn.Identity() for _ in range(case["idle"]))]
        return torch.nn.Sequential(*layers)

    config = {
        "train_micro_batch_size_per_gpu": 2,
        "gradient_accumulation_steps": case.get("accumulate", 1),
        "steps_per_print": 10**9,
        "zero_optimization": {"stage": case["stage"], **case["zero"]},
        "zero_allow_untested_optimizer": True,
    }
    x = torch.ones(2, WIDTH)
    if case.get("dtype") == "bf16":
        config["bf16"] = {"enabled": True}
        x = x.bfloat16()
    model, plain = chain(torch.nn.Linear), chain(Plain).to(x.dtype)
    engine, *_ = deepspeed.initialize(
        model=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.01), config=config
    )
    flat = torch.zeros(8, requires_grad=True)
    flat.grad = torch.zeros(8)
    optimizer = torch.optim.SGD([flat], lr=0.01)  # DeepSpeed steps one flat parameter, too
    loss, cpu = None, time.thread_time

    def zero_forward():
        nonlocal loss
        loss = engine(x).float().pow(2).mean()

    def plain_forward():
        nonlocal loss
        loss = plain(x).float().pow(2).mean()

    def plain_step():
        optimizer.step()
        for parameter in plain.parameters():
            parameter.grad = None

    def timed(*phases):
        told = []
        for phase in phases:
            begin = cpu()
            phase()
            told.append((cpu() - begin) * 1e6)
        return told

    def complete():
        """Runs the other micro-batches of the step, which are not timed."""
        for _ in range(case.get("accumulate", 1) - 1):
            for phase in zero:
                phase()

    zero = (zero_forward, lambda: engine.backward(loss), engine.step)
    without = (plain_forward, lambda: loss.backward(), plain_step)
    rounds = []
    for k in range(repeats + WARM):
        if k == WARM:
            gc.collect()
            gc.disable()
        rounds.append((timed(*zero), timed(*without)))
        complete()
    rounds = rounds[WARM:]

    class Counts(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func.namespace == "c10d":
                counted[func._opname] = counted.get(func._opname, 0) + 1
            return func(*args, **(kwargs or {}))

    collectives = {}
    for name, phase in zip(PHASES, zero):
        counted = {}
        with Counts():
            phase()
        collectives[name] = counted
    return {
        **case,
        "versions": {"torch": torch.__version__, "deepspeed": deepspeed.__version__},
        "zero_us": {name: [each[0][k] for each in rounds] for k, name in enumerate(PHASES)},
        "plain_us": {name: [each[1][k] for each in rounds] for k, name in enumerate(PHASES)},
        "collectives": collectives,
    }


def counted(record, phase):
    """How often what takes time happens in this phase."""
    parameters = record["layers"] * (2 if record["bias"] else 1)
    issued = record["collectives"][phase]
    gathers, buckets = issued.get("_allgather_base_", 0), issued.get("_reduce_scatter_base_", 0)
    if record["stage"] < 3:
        found = {
            "backward": {
                "parameter": parameters,
                "parameter reduced": parameters * ("allreduce_" in issued),
                "bucket": issued.get("allreduce_", 0),
            },
            "step": {
                "parameter": parameters,
                "own parameter": parameters / record["ranks"],
                "own parameter, read for overflow": parameters / record["ranks"] * (issued.get("allreduce_", 0) > 1),
            },
        }
        return found[phase]
    if phase == "step":
        return {"parameter": parameters, "persistent parameter": gathers}
    modules = record["layers"] * (1 + record["idle"])
    zero = record["zero"]
    shards = "stage3_param_persistence_threshold" in zero
    again = shards and "stage3_max_reuse_distance" in zero
    return {
        "module": modules,
        "parameter": parameters,
        "all-gather": gathers,
        "parameter gathered": parameters * (gathers > 0),
        "parameter freed": parameters * (again if phase == "forward" else shards),
        **({"bucket": buckets} if phase == "backward" else {}),
    }


def solved(rows, names):
    """Least squares of relative errors by coordinate descent, without negative times."""
    times = dict.fromkeys(names, 0.0)
    for _ in range(4000):
        for name in names:
            above = below = 0.0
            for counts, total in rows:
                rest = total - sum(times[other] * counts[other] for other in names if other != name)
                above += counts[name] * rest / total**2
                below += counts[name] ** 2 / total**2
            times[name] = max(0.0, above / below) if below else 0.0
    return times


def fitted(records, phase):
    """By name: what one takes in us, and the least and most of fits that leave out one case. And the errors of all
    cases, in per cent."""
    rows = []
    for record in records:
        if phase == "step" and not record["collectives"][phase]:
            continue  # no step, but the end of a micro-batch
        more = [zero - plain for zero, plain in zip(record["zero_us"][phase], record["plain_us"][phase])]
        rows.append(({"call": 1, **counted(record, phase)}, statistics.median(more)))
    names = list(rows[0][0])
    times = solved(rows, names)
    left_out = [solved(rows[:k] + rows[k + 1 :], names) for k in range(len(rows))]
    errors = [sum(times[name] * counts[name] for name in names) / total * 100 - 100 for counts, total in rows]
    spread = {name: (min(each[name] for each in left_out), max(each[name] for each in left_out)) for name in names}
    return times, spread, errors


def report(records):
    for versions in sorted({tuple(record["versions"].values()) for record in records}):
        print("torch {}, DeepSpeed {}".format(*versions))
        for stage in (1, 2, 3):
            those = [
                each for each in records if each["stage"] == stage and tuple(each["versions"].values()) == versions
            ]
            for phase in PHASES if those else ():
                if phase == "forward" and stage < 3:
                    continue  # nothing beyond the noise
                times, spread, errors = fitted(those, phase)
                typical = statistics.median(map(abs, errors))
                worst = max(errors, key=abs)
                print(
                    f"  stage {stage}, {phase}: {len(errors)} cases, errors of the fit: median {typical:.0f} %, worst {worst:+.0f} %"
                )
                for name, value in times.items():
                    print(f"    {name:<33} {value:7.1f} us   {spread[name][0]:7.1f} to {spread[name][1]:7.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="a Python with torch and deepspeed")
    parser.add_argument("--stages", default="1,2,3")
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--case", help="run this case here (JSON), and print its record")
    parser.add_argument("--table", help="measured once: fit it anew")
    parser.add_argument("-o", "--output", help="JSON, to which records are added")
    arguments = parser.parse_args()
    if arguments.case:
        answers = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)  # DeepSpeed prints to stdout, too
        print(json.dumps(train(json.loads(arguments.case), arguments.repeats)), file=answers, flush=True)
        return
    if arguments.table:
        report(json.loads(pathlib.Path(arguments.table).read_text(encoding="utf-8")))
        return
    records = []
    for case in (case for stage in arguments.stages.split(",") for case in cases(int(stage))):
        # A process each, because DeepSpeed's stage 3 changes torch.
        told = subprocess.run(
            [
                arguments.python,
                "-W",
                "ignore",
                __file__,
                "--repeats",
                str(arguments.repeats),
                "--case",
                json.dumps(case),
            ],
            env={**os.environ, "OMP_NUM_THREADS": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"},
            capture_output=True,
            text=True,
            check=False,
        )
        if told.returncode:
            sys.exit(f"{case}: exit code {told.returncode}\n{told.stderr[-2000:]}")
        record = json.loads(told.stdout)
        for side in ("zero_us", "plain_us"):
            record[side] = {name: [round(each, 1) for each in values] for name, values in record[side].items()}
        records.append(record)
        print(f"{record['stage']}: {len(records)}", file=sys.stderr)
    if arguments.output:
        path = pathlib.Path(arguments.output)
        records = (json.loads(path.read_text(encoding="utf-8")) if path.exists() else []) + records
        text = ",\n".join(json.dumps(record, separators=(",", ":")) for record in records)
        path.write_text(f"[{text}]\n", encoding="utf-8")
    report(records)


if __name__ == "__main__":
    main()
