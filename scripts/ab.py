#!/usr/bin/env python3
"""Measures what `ddpsim advise --export plan.py` proposes against today's setting, in your own script under torchrun.

    import plan                           # before init_process_group
    import ab

    def step(model):                      # one whole training step, by the wrapped model it is given
        loss(model(next(batches))).backward()
        optimizer.step()
        optimizer.zero_grad()

    ab.compare(plan, model, step, device_ids=[local_rank])     # in place of wrapping and the loop

Both settings run in turns in blocks of `steps` steps, today proposed, proposed today, and so on: what drifts slowly (clocks,
heat, other jobs) meets both alike, and each round is a pair. There is one model: a second one would take twice the memory,
and two wrappers around one would both reduce its gradients. So each block wraps it anew, and takes its wrapper apart at the
end: DDP's reducer removes its hooks when it is destroyed, and gradients, which may be views into its buckets, are dropped.
The first steps of each block are not counted: buckets are rebuilt after the first backward, memory is allocated.

A step is timed on the device (events; nothing waits between steps), on a CPU by its clock. A block counts as the median of
its steps, on the rank where that is largest. Of the rounds' differences, the value is the median of all means of two
(Hodges-Lehmann), the interval Wilcoxon's: exact for any distribution that swapping labels mirrors.

What a process reads once (NCCL's environment), or a wrapper cannot undo, takes processes of its own. There

    ab.measure(plan, model, step, "ab.jsonl")

measures the one setting that DDPSIM_SETTING names. Run the script in turns, and lay the runs beside each other:

    for setting in today proposed proposed today today proposed proposed today today proposed proposed today; do
      DDPSIM_SETTING=$setting torchrun train.py
    done
    python3 ab.py ab.jsonl
"""

import dataclasses
import gc
import json
import sys
import time
import weakref

FEWEST_ROUNDS = 6  # of which the least and greatest difference hold the median 31 times in 32


@dataclasses.dataclass
class Difference:
    """Of today's step less the proposed one: positive where the proposal is faster. In seconds."""

    today: float
    proposed: float
    gain: float
    low: float
    high: float
    level: float
    rounds: int


def compare(plan, model, step, *, steps=20, rounds=8, discard=5, level=0.95, **arguments):
    """A Difference, the same on every rank; rank 0 prints it. `arguments` are those of DistributedDataParallel."""
    reason = needs_processes(plan)
    if reason:
        raise ValueError(f"{reason}: measure each in a process of its own, by ab.measure")
    if rounds < FEWEST_ROUNDS or rounds % 2 or steps < 1 or discard < 2:
        raise ValueError(f"{FEWEST_ROUNDS} rounds or more, an even number; 1 step or more, 2 or more not counted")
    times = {"today": [], "proposed": []}
    gc.collect()
    gc.freeze()  # what each block collects are its own objects alone: of all of torch's it would take seconds
    try:
        for index in range(rounds):
            for name in ("today", "proposed") if index % 2 == 0 else ("proposed", "today"):
                setting = plan.TODAY if name == "today" else plan.PROPOSED
                times[name].append(block(plan, setting, model, step, steps, discard, arguments))
    finally:
        gc.unfreeze()
    result = difference(times["today"], times["proposed"], level)
    report(result, plan.PREDICTED, f"{rounds} rounds of {steps} steps each", arguments.get("process_group"))
    return result


def measure(plan, model, step, file, *, steps=100, discard=20, **arguments):
    """Seconds a step takes under plan.SETTING, which becomes a line of `file`."""
    import torch.distributed as dist

    taken = block(plan, plan.SETTING, model, step, steps, discard, arguments)
    if dist.get_rank(arguments.get("process_group")) == 0:
        name = "today" if plan.SETTING is plan.TODAY else "proposed"
        with open(file, "a", encoding="utf-8") as lines:
            lines.write(json.dumps({"setting": name, "step_s": taken, "predicted": plan.PREDICTED}) + "\n")
    return taken


def needs_processes(plan):
    """Why one process cannot run both settings, or None."""
    today, proposed = plan.TODAY, plan.PROPOSED
    if today.get("environment") != proposed.get("environment"):
        return "NCCL reads its environment once"
    if today.get("sync_batchnorm") != proposed.get("sync_batchnorm"):
        return "SyncBatchNorm stays in a model once converted"
    if today.get("optimizer_in_backward") or proposed.get("optimizer_in_backward"):
        return "an optimizer once applied in backward stays there"
    if "powerSGD_hook" in (today.get("hook"), proposed.get("hook")):
        return "PowerSGD compresses from the 1000th step on (discard=1000)"
    if today.get("accumulate") != proposed.get("accumulate"):
        return "their steps are of different batches"
    return None


def block(plan, setting, model, step, steps, discard, arguments):
    """Seconds of the median step, on the rank where it is largest."""
    import torch
    import torch.distributed as dist

    parameter = next(model.parameters())
    wrapped = plan.wrap(model, setting=setting, **arguments)
    for _ in range(discard):
        step(wrapped)
    clock = DeviceClock(torch) if parameter.is_cuda else HostClock()
    dist.barrier(arguments.get("process_group"))
    clock.tick()
    for _ in range(steps):
        step(wrapped)
        clock.tick()
    worst = torch.tensor([median(clock.intervals())], dtype=torch.float64, device=parameter.device)
    dist.all_reduce(worst, dist.ReduceOp.MAX, arguments.get("process_group"))
    gone = weakref.ref(wrapped)
    del wrapped
    for parameter in model.parameters():
        parameter.grad = None
    gc.collect()
    if gone() is not None:
        raise RuntimeError("something still holds the wrapped model: step must not keep what it is given")
    return worst.item()


class HostClock:
    def __init__(self):
        self.ticks = []

    def tick(self):
        self.ticks.append(time.perf_counter())

    def intervals(self):
        return [after - before for before, after in zip(self.ticks, self.ticks[1:])]


class DeviceClock:
    """Events on the stream of the step: the host runs ahead of the device as it does in training."""

    def __init__(self, torch):
        self.torch, self.events = torch, []

    def tick(self):
        self.events.append(self.torch.cuda.Event(enable_timing=True))
        self.events[-1].record()

    def intervals(self):
        self.events[-1].synchronize()
        return [before.elapsed_time(after) / 1e3 for before, after in zip(self.events, self.events[1:])]


def median(values):
    values, half = sorted(values), len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


def difference(today, proposed, level=0.95):
    """Of rounds, each a pair of step times."""
    pairs = [before - after for before, after in zip(today, proposed)]
    means = sorted((a + b) / 2 for i, a in enumerate(pairs) for b in pairs[i:])
    outside = ranks_outside(len(pairs), level)
    return Difference(
        median(today), median(proposed), median(means), means[outside], means[-1 - outside], level, len(pairs)
    )


def ranks_outside(rounds, level):
    """How many of the means of two lie outside the interval on either side: by the distribution of Wilcoxon's sum of
    ranks, each rank positive or negative like the toss of a coin."""
    ways = [1]
    for rank in range(1, rounds + 1):
        longer = ways + [0] * rank
        ways = [count + (ways[i - rank] if i >= rank else 0) for i, count in enumerate(longer)]
    below, outside = 0, -1
    while below + ways[outside + 1] <= (1 - level) / 2 * 2**rounds:
        outside += 1
        below += ways[outside]
    if outside < 0:
        raise ValueError(f"{rounds} rounds are too few for an interval that holds {level:.1%} of the time")
    return outside


def report(result, predicted, how, group=None):
    import torch.distributed as dist

    if dist.get_rank(group) == 0:
        print(text_of(result, predicted, f"{how}, {dist.get_world_size(group)} ranks"), flush=True)


def text_of(result, predicted, how):
    unit, scale = ("ms", 1e3) if result.today >= 1e-3 else ("us", 1e6)

    def line(head, step, gain, low, high, of):
        word = "saves" if gain >= 0 else "costs"
        return (
            f"{head:<10} {word} {abs(gain) * scale:.3g} of {step * scale:.3g} {unit} a step "
            f"({low * scale:.3g} to {high * scale:.3g} {unit} {of})"
        )

    lines = [
        line(
            "measured",
            result.today,
            result.gain,
            result.low,
            result.high,
            f"holds {result.level * 100:.4g} times in 100; {how}",
        )
    ]
    if predicted:
        gain, low, high = (predicted[key] / 1e6 for key in ("gain_us", "low_us", "high_us"))
        lines.append(
            line(
                "predicted",
                predicted["iteration_us"] / 1e6,
                gain,
                low,
                high,
                f"is meant to hold 80; confidence {predicted['confidence']}",
            )
        )
        apart = low > result.high or high < result.low
        lines.append(
            "           "
            + ("the two contradict each other: believe what was measured" if apart else "the intervals overlap")
        )
    return "\n".join(lines)


def run_of(line):
    """(setting, seconds of a step, what was predicted) of a line that `measure` wrote. Raises ValueError where it did not."""
    run = json.loads(line)
    if (
        not isinstance(run, dict)
        or run.get("setting") not in ("today", "proposed")
        or not is_number(run.get("step_s"))
        or run["step_s"] <= 0
    ):
        raise ValueError(line)
    predicted = run.get("predicted")
    if predicted is not None and not (
        isinstance(predicted, dict)
        and predicted.get("confidence") in ("A", "B", "C")
        and all(is_number(predicted.get(key)) for key in ("iteration_us", "gain_us", "low_us", "high_us"))
    ):
        raise ValueError(line)
    return run["setting"], float(run["step_s"]), predicted


def is_number(value):
    """NaN and infinity, which Python's json reads, are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: ab.py FILE, which ab.measure wrote\n\n" + __doc__)
    times, predicted = {"today": [], "proposed": []}, None
    try:
        with open(sys.argv[1], encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(lines, 1):
                setting, step_s, predicted = run_of(line)
                times[setting].append(step_s)
    except OSError as error:
        sys.exit(f"{sys.argv[1]!r} cannot be read: {error.strerror}")
    except (ValueError, RecursionError):
        sys.exit(
            f"{sys.argv[1]}: line {number} is not what ab.measure writes: "
            '{"setting": "today", "step_s": 0.014, "predicted": null}. Take it out, or measure that run again'
        )
    today, proposed = times["today"], times["proposed"]
    if len(today) != len(proposed) or len(today) < FEWEST_ROUNDS:
        sys.exit(
            f"{sys.argv[1]}: {len(today)} runs of today's setting and {len(proposed)} of the proposed one; "
            f"expected as many of each, {FEWEST_ROUNDS} or more, in turns"
        )
    print(text_of(difference(today, proposed), predicted, f"{len(today)} runs of each"))


if __name__ == "__main__":
    main()
