"""Makes a tuner change wrappers, and compares a training with and without it.

Without this, the result would depend on the test machine, which is busy and has no network worth tuning for."""

import json
import sys

import torch
import torch.distributed as dist

from ddpsim import _autotune, _proposal, _wrapper
from ddpsim._wrapper import Setting

# In MiB. Each divides a model of a few thousand parameters into several buckets.
CAPS = (0.02, 0.004)
OPTIONS = {"record": 4, "horizon": 10_000_000}


def begin():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")


def force(share):
    """Makes every candidate gain `share` of a step, as predicted and as measured, after a short measurement."""
    _autotune.MOST_STEPS = _autotune.FEWEST_STEPS
    _proposal.propose = lambda evidence, _: _proposal.Proposal(
        evidence.step_us,
        [_proposal.Candidate(Setting(bucket_cap_mb=cap), 3, 0.7 * evidence.step_us) for cap in CAPS],
        "C",
    )

    def trial(candidate, series, proposal):
        gain = share * proposal.today_us / 1e6
        return _autotune.Trial(
            candidate.setting, 0.3 * proposal.today_us / 1e6, gain, gain - abs(gain) / 2, gain + abs(gain) / 2
        )

    _autotune._trial = trial
    _count_wrappers()


BUILT = []


def _count_wrappers():
    built = _wrapper.rewrapped

    def counted(*arguments):
        BUILT.append(built(*arguments))
        return BUILT[-1]

    if built.__name__ == "rewrapped":
        _wrapper.rewrapped = counted


def copied(module):
    return {name: value.detach().clone() for name, value in module.state_dict().items()}


def told(case, plain, tuned, tuner, **more):
    """Prints whether both trainings agree. `plain`, `tuned`: state dictionaries of the model without its wrapper."""
    same = list(plain) == list(tuned) and all(torch.equal(plain[name], tuned[name]) for name in plain)
    outcome = tuner.outcome if tuner is not None else None
    facts = {
        "same": same,
        "built": len(BUILT),
        "said": outcome and outcome.said,
        "changed": outcome and outcome.changed,
        "cap": outcome and outcome.chosen.bucket_cap_mb,
        **more,
    }
    BUILT.clear()
    print(json.dumps({case: facts}), flush=True)


def run(cases):
    """Runs the cases named on the command line."""
    begin()
    for name in sys.argv[1:]:
        cases[f"case_{name}"](name)
        dist.barrier()
    dist.destroy_process_group()
