#!/usr/bin/env python3
"""Measures the setting that `ddpsim advise --export plan.py` proposes, in your own script under torchrun.

    import plan                           # before init_process_group
    import ab

    def step(model):                      # one whole training step with the wrapped model
        loss(model(next(batches))).backward()
        optimizer.step()
        optimizer.zero_grad()

    ab.compare(plan, model, step, device_ids=[local_rank])     # instead of wrapping and the loop

Both settings run in turns in blocks of `steps` steps: today proposed, proposed today, and so on. So slow drift (clocks,
heat, other jobs) affects both equally, and each round is a pair. There is only one model: a second one would double the
memory. Two wrappers around one model would both reduce its gradients, so each block wraps the model anew and drops its
wrapper at the end. DDP's reducer removes its hooks when it is destroyed. Gradients may be views into its buckets, so
they are dropped, too. The first steps of each block do not count, because DDP rebuilds its buckets after the first
backward and memory is allocated.

Steps are timed by events on the device, which waits for nothing between steps, or by the clock of a CPU. A block counts
as the median of its steps, on the rank where that is largest. The value is the Hodges-Lehmann estimate, which is the
median of all means of two differences. The interval is Wilcoxon's. It is exact if swapping the two settings would
mirror the distribution.

Some settings need a process for each: those that a process reads only once (NCCL's environment), and those that a
wrapper cannot undo. For them,

    ab.measure(plan, model, step, "ab.jsonl")

measures the one setting that DDPSIM_SETTING names. Run the script in turns, then compare the runs:

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

# With 6 rounds, the median lies between the least and the greatest difference with a probability of 31 / 32.
FEWEST_ROUNDS = 6


@dataclasses.dataclass
class Difference:
    """Step times of both settings and the gain of the proposed one, in seconds. It is positive if that one is
    faster."""

    today: float
    proposed: float
    gain: float
    low: float
    high: float
    level: float
    rounds: int


def compare(plan, model, step, *, steps=20, rounds=8, discard=5, level=0.95, **arguments):
    """Measures both settings and returns a Difference, the same on every rank. Rank 0 prints it.

    `arguments` are passed to DistributedDataParallel.
    """
    reason = needs_processes(plan)
    if reason:
        raise ValueError(f"{reason}. Measure each setting in a process of its own, with ab.measure")
    if rounds < FEWEST_ROUNDS or rounds % 2 or steps < 1 or discard < 2:
        raise ValueError(f"rounds must be even and {FEWEST_ROUNDS} or more, steps 1 or more, and discard 2 or more")
    times = {"today": [], "proposed": []}
    gc.collect()
    # Each block then collects its own objects only. Collecting all of torch's would take seconds.
    gc.freeze()
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
    """Measures the seconds per step with plan.SETTING, appends them to `file` as a line, and returns them."""
    import torch.distributed as dist

    taken = block(plan, plan.SETTING, model, step, steps, discard, arguments)
    if dist.get_rank(arguments.get("process_group")) == 0:
        name = "today" if plan.SETTING is plan.TODAY else "proposed"
        with open(file, "a", encoding="utf-8") as lines:
            lines.write(json.dumps({"setting": name, "step_s": taken, "predicted": plan.PREDICTED}) + "\n")
    return taken


def needs_processes(plan):
    """The reason why one process cannot run both settings, or None if it can."""
    today, proposed = plan.TODAY, plan.PROPOSED
    if today.get("environment") != proposed.get("environment"):
        return "NCCL reads its environment only once"
    if today.get("sync_batchnorm") != proposed.get("sync_batchnorm"):
        return "a model keeps SyncBatchNorm once it was converted"
    if today.get("optimizer_in_backward") or proposed.get("optimizer_in_backward"):
        return "an optimizer cannot be taken out of backward again"
    if "powerSGD_hook" in (today.get("hook"), proposed.get("hook")):
        return "PowerSGD compresses only from the 1000th step on, so pass discard=1000"
    if today.get("accumulate") != proposed.get("accumulate"):
        return "the steps of the two settings have different batches"
    return None


def block(plan, setting, model, step, steps, discard, arguments):
    """The median step time of one block in seconds, on the rank where it is largest."""
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
        raise RuntimeError("something still holds the wrapped model. Change step() so that it keeps no reference to it")
    return worst.item()


class HostClock:
    def __init__(self):
        self.ticks = []

    def tick(self):
        self.ticks.append(time.perf_counter())

    def intervals(self):
        return [after - before for before, after in zip(self.ticks, self.ticks[1:])]


class DeviceClock:
    """Times steps by events on the current stream, so that the host runs ahead of the device as in training."""

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
    """The Difference of two settings from one step time of each per round."""
    pairs = [before - after for before, after in zip(today, proposed)]
    means = sorted((a + b) / 2 for i, a in enumerate(pairs) for b in pairs[i:])
    outside = ranks_outside(len(pairs), level)
    return Difference(
        median(today), median(proposed), median(means), means[outside], means[-1 - outside], level, len(pairs)
    )


def ranks_outside(rounds, level):
    """How many of the sorted pairwise means lie outside the confidence interval, on each side.

    The interval is that of Wilcoxon's signed-rank test. Its statistic orders the differences by size and
    adds up the positions of the positive ones. If the settings do not differ, each position is in the sum with
    probability 1/2.
    """
    ways = [1]
    for rank in range(1, rounds + 1):
        longer = ways + [0] * rank
        ways = [count + (ways[i - rank] if i >= rank else 0) for i, count in enumerate(longer)]
    below, outside = 0, -1
    while below + ways[outside + 1] <= (1 - level) / 2 * 2**rounds:
        outside += 1
        below += ways[outside]
    if outside < 0:
        raise ValueError(f"{rounds} rounds are too few for a {level:.1%} interval. Measure more rounds")
    return outside


def report(result, predicted, how, group=None):
    import torch.distributed as dist

    if dist.get_rank(group) == 0:
        print(text_of(result, predicted, f"{how}, {dist.get_world_size(group)} ranks"), flush=True)


def text_of(result, predicted, how):
    unit, scale = ("ms", 1e3) if result.today >= 1e-3 else ("us", 1e6)

    def line(head, step, gain, low, high, percent, how):
        word = "saves" if gain >= 0 else "costs"
        return (
            f"{head:<10} {word} {abs(gain) * scale:.3g} of {step * scale:.3g} {unit} a step "
            f"({percent:.4g} % interval {low * scale:.3g} to {high * scale:.3g} {unit}; {how})"
        )

    lines = [
        line(
            "measured",
            result.today,
            result.gain,
            result.low,
            result.high,
            result.level * 100,
            how,
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
                80,
                f"confidence {predicted['confidence']}",
            )
        )
        apart = low > result.high or high < result.low
        lines.append(
            "           "
            + ("the intervals do not overlap: trust the measurement" if apart else "the intervals overlap")
        )
    return "\n".join(lines)


def run_of(line):
    """The setting, the seconds per step and the prediction in a line of `measure`. Raises ValueError for any other
    line."""
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
    """Whether `value` is a finite number. Python's json also reads NaN and infinity."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: ab.py FILE, with FILE written by ab.measure\n\n" + __doc__)
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
            f"{sys.argv[1]}: line {number} is not a line of ab.measure such as "
            '{"setting": "today", "step_s": 0.014, "predicted": null}. Remove it, or measure that run again'
        )
    today, proposed = times["today"], times["proposed"]
    if len(today) != len(proposed) or len(today) < FEWEST_ROUNDS:
        sys.exit(
            f"{sys.argv[1]} holds {len(today)} runs of the current setting and {len(proposed)} of the proposed one. "
            f"Run both equally often and in turns, {FEWEST_ROUNDS} times or more"
        )
    print(text_of(difference(today, proposed), predicted, f"{len(today)} runs of each"))


if __name__ == "__main__":
    main()
