"""One rank of the job of autotune.py: real DistributedDataParallel over timed waits.

It measures every cap in turns, then runs autotune several times from PyTorch's default. At the end it measures in turns
the chosen settings, the default and the best cap."""

import argparse
import gc
import json
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from settings_job import WARMUP, Training  # noqa: E402
from rank_of_job import begin_rank  # noqa: E402

import ddpsim  # noqa: E402
from ddpsim import _proposal  # noqa: E402
from ddpsim._ranks import Ranks  # noqa: E402

CAPS = (0.1, 0.25, 0.5, 1, 2, 4, 8, 16)  # MiB; PyTorch's default is added


class Turns:
    """Measures settings in turns, in blocks, forwards and backwards. Each setting has a model of its own."""

    def __init__(self, setup, settings):
        self.trainings, seen = {}, []
        for name, setting in settings.items():
            training = Training(setup, setting)
            training.steps(WARMUP)
            if training.bucket_bytes() not in seen:  # equal buckets are measured once
                seen.append(training.bucket_bytes())
                self.trainings[name] = training

    def measured(self, rounds, steps):
        """The median step of each block in microseconds, by setting."""
        blocks = {name: [] for name in self.trainings}
        gc.collect()
        for number in range(rounds):
            for name in list(blocks) if number % 2 == 0 else list(reversed(blocks)):
                dist.barrier()
                blocks[name].append(statistics.median(self.trainings[name].steps(steps + 1)[1:]))
        return blocks


def setting_of(chosen):
    return {"arguments": chosen.arguments()}


def tuned(setup, horizon):
    """Runs autotune once from PyTorch's default. Returns its result."""
    training, proposals = Training(setup, {}), []
    propose = _proposal.propose

    def noting(*arguments):
        proposals.append(propose(*arguments))
        return proposals[-1]

    _proposal.propose = noting
    try:
        tuner = ddpsim.autotune(
            training.called, horizon=horizon, rebind=training.rebind, log=lambda line: print(line, file=sys.stderr)
        )
        while not tuner.finished:
            training.step()
            tuner.step()
    finally:
        _proposal.propose = propose
    outcome = tuner.outcome
    told = lambda setting: setting.arguments()  # noqa: E731
    first = proposals[0].candidates if proposals else []
    return {
        "chosen": told(outcome.chosen),
        "said": outcome.said,
        "steps": outcome.steps,
        "spent_us": outcome.spent_s * 1e6,
        "predicted": told(first[0].setting) if first else {},
        "trials": [
            {
                "setting": told(trial.setting),
                "predicted_us": trial.predicted_gain_s * 1e6,
                "gain_us": trial.gain_s * 1e6,
                "low_us": trial.low_s * 1e6,
                "high_us": trial.high_s * 1e6,
            }
            for trial in outcome.trials
        ],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--setup", required=True, help="JSON")
    parser.add_argument("--runs", type=int, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--horizon", type=int, required=True)
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    begin_rank()
    setup = json.loads(pathlib.Path(arguments.setup).read_text(encoding="utf-8"))
    gc.disable()
    curve = Turns(
        setup, {"default": {}, **{f"bucket_cap_mb={cap}": {"arguments": {"bucket_cap_mb": cap}} for cap in CAPS}}
    )
    found = {
        "curve": curve.measured(arguments.rounds, arguments.steps),
        "buckets": {name: len(training.bucket_bytes()) for name, training in curve.trainings.items()},
    }
    medians = {name: statistics.median(blocks) for name, blocks in found["curve"].items()}
    ranks = Ranks(dist.group.WORLD, torch.device("cpu"))
    best = ranks.told(min(medians, key=medians.get))  # ranks may differ by 1 us
    del curve
    found["runs"] = []
    for _ in range(arguments.runs):
        gc.collect()
        found["runs"].append(tuned(setup, arguments.horizon))
    settings = {
        "default": {},
        "best": {"arguments": {} if best == "default" else {"bucket_cap_mb": float(best.split("=")[1])}},
    }
    for number, run in enumerate(ranks.told(found["runs"])):  # rank 0 has the predictions
        settings[f"run {number}"] = {"arguments": run["chosen"]}
        settings[f"predicted {number}"] = {"arguments": run["predicted"]}
    places, unique = {}, {}
    for name, setting in settings.items():
        key = json.dumps(setting, sort_keys=True)
        places[name] = unique.setdefault(key, name)
    turns = Turns(setup, {name: settings[name] for name in dict.fromkeys(places.values())})
    same = {json.dumps(training.bucket_bytes()): name for name, training in reversed(list(turns.trainings.items()))}
    blocks = turns.measured(arguments.rounds, arguments.steps)
    bytes_of = {}
    for name in dict.fromkeys(places.values()):
        if name not in turns.trainings:  # another setting has its buckets
            training = Training(setup, settings[name])
            training.steps(WARMUP)
            bytes_of[name] = same[json.dumps(training.bucket_bytes())]
    found["turns"] = {name: blocks[bytes_of.get(place, place)] for name, place in places.items()}
    found["best"] = best
    if dist.get_rank() == 0:
        (pathlib.Path(arguments.output) / "measurement.json").write_text(json.dumps(found), encoding="utf-8")
    dist.barrier()


if __name__ == "__main__":
    main()
