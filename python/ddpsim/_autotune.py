"""Finds and sets the bucket cap of a training that runs.

    model = DistributedDataParallel(model, device_ids=[local_rank])
    tuner = ddpsim.autotune(model, horizon=100_000)
    for batch in loader:
        loss(model(batch)).backward()
        optimizer.step()
        optimizer.zero_grad()
        model = tuner.step()        # from the next step on, this is the wrapper to call

It records some twenty steps of the loop on every rank, times a few all-reduces of the job's process group, asks the simulator on
rank 0, and tries what that proposes against today's setting, in turns, some steps each: A/B/A. What is not measured to be
faster is not kept. All ranks change together, or none does.
"""

# Seen without torch and its frameworks, whose types are incomplete.
# pyright: basic, reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

import array
import dataclasses
import math
import statistics
import sys
import threading
import time
from typing import Any, Callable, Generator, Optional, Sequence

import torch
from torch.nn.parallel import DistributedDataParallel

from . import _proposal, _wrapper
from ._proposal import Evidence, Proposal
from ._ranks import Ranks
from ._wrapper import Setting
from .ddpsim_recorder import Recorder, ddp_options

# Steps after a wrapper was built: the first has buckets of its own, the second builds them anew in the order gradients came in.
DISCARDED = 2
ALL_REDUCES = (4 << 10, 64 << 10, 1 << 20, 4 << 20, 25 << 20)  # bytes; none larger than the gradients
REPETITIONS = 5
FEWEST_SIZES = 3
ALIKE = 1.02  # ranks whose compute takes at most that many times another's
MEDIAN_ERROR = 1.2533  # of the median of normal values, times what the mean's is
SHARE = 0.01  # of the horizon may be spent
PAUSE = 10.0  # steps' time between two: an evaluation or a checkpoint is there, which is not spent on this
FEWEST_STEPS, MOST_STEPS = 5, 30  # of a block of A or B
MOST_ROUNDS = 3
SOLVE_S = 20.0  # after which an answer is no longer waited for

Protocol = Generator[None, None, str]


@dataclasses.dataclass(frozen=True)
class Trial:
    """A setting measured in turns with today's; times in seconds of a step."""

    setting: Setting
    predicted_gain_s: float
    gain_s: float
    low_s: float  # within twice the standard error
    high_s: float


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What came of it; the same on every rank."""

    today: Setting
    chosen: Setting
    said: str  # in a sentence
    step_s: Optional[float]  # today's, where it was measured
    trials: tuple[Trial, ...]
    spent_s: float  # beyond what as many of today's steps take
    steps: int  # that it looked at

    @property
    def changed(self) -> bool:
        return self.chosen != self.today


def autotune(
    model: DistributedDataParallel,
    *,
    cluster: Optional[str] = None,
    apply: str = "rewrap",
    horizon: int = 10_000,
    record: int = 20,
    least_gain: float = 0.01,
    rebind: Optional[Callable[[DistributedDataParallel], None]] = None,
    spell: Callable[[Setting], str] = Setting.line,
    lists: bool = True,
    log: Optional[Callable[[str], None]] = None,
) -> Autotuner:
    """A tuner whose `step()` is to be called by every rank after each training step, or the job hangs; it returns the wrapper to
    train with. Keep it until it is `finished`: what is dropped in the middle leaves the setting that was being tried.

    model: the wrapper that trains. Over NCCL and over gloo.
    cluster: as `ddpsim tune` takes one; by default what the job's own all-reduces tell, over NCCL beside `nvidia-smi topo -m`.
    apply: "rewrap" sets what is found in this run; "restart" only says it.
    horizon: steps this run is to take; a hundredth of their time may be spent.
    record: steps to be recorded, every other one.
    least_gain: of a step; what gains less is not worth a change.
    rebind: called with each new wrapper, where another object than the caller holds it.
    spell: what a setting is called where this job is started, `lists` whether bucket_cap_mb_list can be told there.
    log: called with the line that says what came of it, on rank 0; by default it is printed to stderr.
    """
    return Autotuner(
        model,
        cluster=cluster,
        apply=apply,
        horizon=horizon,
        record=record,
        least_gain=least_gain,
        rebind=rebind,
        spell=spell,
        lists=lists,
        log=log,
    )


class Autotuner:
    """One job's. `model`: the wrapper to call; `finished`, and then `outcome`. `spell`: what a setting is called where this job is
    started; `lists`: whether bucket_cap_mb_list can be told there."""

    def __init__(
        self,
        model: DistributedDataParallel,
        *,
        cluster: Optional[str] = None,
        apply: str = "rewrap",
        horizon: int = 10_000,
        record: int = 20,
        least_gain: float = 0.01,
        rebind: Optional[Callable[[DistributedDataParallel], None]] = None,
        spell: Callable[[Setting], str] = Setting.line,
        lists: bool = True,
        log: Optional[Callable[[str], None]] = None,
    ) -> None:
        if not isinstance(model, DistributedDataParallel):
            raise TypeError(f"autotune needs the DistributedDataParallel that trains, not a {type(model).__name__}")
        if apply not in ("rewrap", "restart"):
            raise ValueError(f'apply="{apply}": "rewrap" sets what is found in this run, "restart" only says it')
        if horizon < 1 or record < 2 or not 0 < least_gain < 1:
            raise ValueError(
                "horizon: 1 step or more; record: 2 steps or more; least_gain: a fraction of a step, as 0.01"
            )
        self.model, self.finished = model, False
        self.outcome: Optional[Outcome] = None
        self._cluster, self._apply, self._horizon, self._record = cluster, apply, horizon, record
        self._least_gain, self._rebind, self._log = least_gain, rebind, log
        self._spell, self._lists = spell, lists and _wrapper.knows_lists()
        self._today = self._setting = _wrapper.setting_of(model)
        self._ranks: Ranks = Ranks(model.process_group, model.device)
        self._clock = _Clock(model.device)
        self._problem = ""  # of this rank, told at the next vote
        self._because = ""  # what is found waits for a restart
        self._step_s: Optional[float] = None  # today's
        self._variation = 0.0  # standard deviation of today's steps, as a fraction
        self._wrap_s = 0.0
        self._trials: list[Trial] = []
        self._inside_s, self._between_s = 0.0, array.array("d")  # of step(), and of what lies between two calls
        self._entered = self._left = time.perf_counter()
        self._steps = 0
        self._protocol: Optional[Protocol] = self._run()
        next(self._protocol)

    def step(self) -> DistributedDataParallel:
        """To be called by every rank once a training step, after optimizer.step(), outside of no_sync(). Returns the wrapper to
        train with from here on."""
        if self._protocol is None:
            return self.model
        if getattr(getattr(self.model, "_join_config", None), "enable", False):
            self._end("gave up: under join() ranks may end at different steps, and cannot agree")
            return self.model
        self._entered = time.perf_counter()
        self._between_s.append(self._entered - self._left)
        try:
            self._clock.tick()
            self._steps += 1
            next(self._protocol)
        except StopIteration as end:
            self._end(str(end.value))
        except RuntimeError as error:  # of a collective: a rank is gone, of which the training's next one tells, too
            self._end(f"gave up: {_first_line(error)}")
            if self.model.reducer is None:  # there is none: while a wrapper was built
                raise
        self._left = time.perf_counter()
        self._inside_s += self._left - self._entered
        return self.model

    def close(self) -> None:
        """Training ends, for all ranks or this one alone: what was not found by now is not. The wrapper stays as it is."""
        if self._protocol is not None:
            self._protocol.close()
            tried = "" if self._setting == self._today else f"; the wrapper has {self._setting}, which was being tried"
            self._end(f"training ended after {self._steps} steps, before a cap was found{tried}")

    # What all ranks do, in steps of training: each `yield` is one.

    def _run(self) -> Protocol:
        """Every collective here is reached by all ranks, whatever befell one of them: local trouble waits for a vote."""
        yield
        reason = yield from self._why_not()
        if reason:
            return reason
        evidence = yield from self._recorded()
        if evidence is None:
            return self._trouble()
        proposal = yield from self._solved(evidence)
        if proposal is None:
            return self._trouble()
        if not proposal.candidates:
            return (
                f"keep {self._today}: no bucket cap is predicted to gain {100 * self._least_gain:g} % of a step of "
                f"{_ms(self._step_s)}"
            )
        if self._apply == "restart":
            return self._at_restart(proposal, self._because)
        return (yield from self._tried(proposal))

    def _why_not(self) -> Generator[None, None, str]:
        """Why there is nothing to be tuned; empty where there is."""
        if self._ranks.size == 1:
            return "one rank reduces nothing: there is no cap to tune"
        for _ in range(DISCARDED):
            yield
        reason = self._guarded(self._obstacle)
        if reason is None:
            reason, self._problem = self._problem, ""
        found = next((one for one in self._ranks.gathered(reason) if one), "")
        if found and self._apply == "rewrap":
            self._apply, self._because = "restart", found
        return ""

    def _obstacle(self) -> str:
        """Why nothing can be rewrapped here; empty where it can."""
        reason = _wrapper.why_not(self.model)
        if not reason and self._rebind is None:
            held = _wrapper.holders(self.model, self)
            if held:
                reason = f"the wrapper is held by {', '.join(held[:3])} (rebind= could renew it there)"
        return reason

    def _recorded(self) -> Generator[None, None, Optional[Evidence]]:
        ranks, warmup, recorded = self._ranks, 2, max(1, self._record // 2)
        recorder = Recorder(self.model, None, warmup=warmup, steps=recorded)
        try:
            for step in range(warmup + 2 * recorded):  # whether or not it gives up on this rank
                if step:
                    yield
                recorder.step()
        finally:
            recorder._leave()  # of one that did not end nothing stays on the model
        document = recorder.document
        self._problem = recorder.problem or ""
        times = self._guarded(lambda: _times_of(document)) if document is not None else None
        if not ranks.agree(times is not None) or times is None:
            return None
        step_s, computing_us, self._variation = times
        self._step_s = ranks.slowest([step_s])[0]
        compute = ranks.gathered(computing_us)
        late = compute.index(max(compute)) if max(compute) > ALIKE * min(compute) else 0
        workload = ranks.gathered(document if ranks.rank == late else None)[late]
        nodes, ranks_per_node = ranks.nodes() if ranks.backend != "gloo" else (ranks.size, 1)
        return Evidence(
            workload=workload,
            all_reduces=self._all_reduces(),
            backend=ranks.backend,
            nodes=nodes,
            ranks_per_node=ranks_per_node,
            options=self._options(),
            step_us=self._step_s * 1e6,
            first_follows_cap=hasattr(self.model, "bucket_bytes_cap_default"),
            lists=self._lists,
            cluster=self._cluster,
        )

    def _all_reduces(self) -> dict[int, float]:
        """Sizes of the job's buckets, as far as a quarter of what may be spent reaches."""
        most = sum(
            parameter.numel() * parameter.element_size()
            for parameter in self.model.parameters()
            if parameter.requires_grad
        )
        found: dict[int, float] = {}
        left_s = self._budget_s() / 4
        for size in (*(size for size in ALL_REDUCES if size < most), min(most, ALL_REDUCES[-1])):
            expected_s = size / max(found) * found[max(found)] / 1e6 if found else 0.0
            if len(found) >= FEWEST_SIZES and expected_s * (REPETITIONS + 2) > left_s:
                break
            times = self._ranks.all_reduce_us(size, REPETITIONS)
            if not times:
                break
            left_s -= sum(times) / 1e6
            found[size] = statistics.median(times)
        return found

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"torch": ".".join(torch.__version__.split(".")[:2])}
        for option in ddp_options(self.model):
            name, _, value = option.partition(" ")
            options[name[2:].replace("-", "_")] = value or True
        return options

    def _solved(self, evidence: Evidence) -> Generator[None, None, Optional[Proposal]]:
        """Rank 0 asks while the training goes on; for a second's steps nobody waits."""
        answers: list[Proposal] = []
        asking = None
        if self._ranks.rank == 0:
            asking = threading.Thread(
                target=lambda: self._guarded(lambda: answers.append(_proposal.propose(evidence, self._least_gain))),
                name="ddpsim autotune",
                daemon=True,
            )
            asking.start()
        for _ in range(min(MOST_STEPS, math.ceil(1 / self._step()))):
            yield
        if asking is not None:
            asking.join(SOLVE_S)
            if not answers and not self._problem:
                self._problem = f"the simulator had no answer after {SOLVE_S:g} s"
        proposal: Optional[Proposal]
        proposal, self._problem = self._ranks.told((answers[0] if answers else None, self._problem))
        return proposal

    def _tried(self, proposal: Proposal) -> Protocol:
        """A round: today's setting, each candidate, today's again; the next round the other way round."""
        steps = self._steps_of_a_block()
        candidates = list(proposal.candidates)
        while candidates and self._spent_s() + self._cost_s(len(candidates), steps) > self._budget_s():
            candidates.pop()
        if not candidates:
            return self._at_restart(proposal, f"trying it takes more than {100 * SHARE:g} % of {self._horizon} steps")
        series = {candidate.setting: _Series() for candidate in candidates}
        today = yield from self._block(self._today, steps)
        self._step_s = statistics.median(today)
        for number in range(MOST_ROUNDS):
            blocks = []
            for candidate in candidates if number % 2 == 0 else list(reversed(candidates)):
                blocks.append((candidate.setting, (yield from self._block(candidate.setting, steps))))
            again = yield from self._block(self._today, steps)
            for setting, times in blocks:
                series[setting].add(today, times, again)
            today = again
            self._trials = [
                _trial(candidate, series[candidate.setting], proposal)
                for candidate in proposal.candidates
                if candidate.setting in series
            ]
            candidates = self._undecided(candidates)
            if not candidates or self._spent_s() + self._cost_s(len(candidates), steps) > self._budget_s():
                break
        best = max(self._trials, key=lambda trial: trial.gain_s)
        if best.gain_s < self._least_s() or best.low_s <= 0:
            return (
                f"keep {self._today}: {best.setting} was predicted to save {_ms(best.predicted_gain_s)} of "
                f"{_ms(self._step_s)} a step, and measured {_span(best.low_s, best.high_s)}"
            )
        self._rewrap(best.setting)
        return (
            f"set {best.setting}: saves {_ms(best.gain_s)} of {_ms(self._step_s)} a step (measured "
            f"{_span(best.low_s, best.high_s)}; predicted {_ms(best.predicted_gain_s)}). From the next start on: "
            f"{self._spell(best.setting)}"
        )

    def _undecided(self, candidates: Sequence[Any]) -> list[Any]:
        """Those that another round may still put first by half the least gain, or may show to gain enough at all."""
        trials = {trial.setting: trial for trial in self._trials}
        best = max(self._trials, key=lambda trial: trial.gain_s)
        least = self._least_s()
        close = [
            candidate
            for candidate in candidates
            if trials[candidate.setting] is best
            and best.low_s < least <= best.high_s
            or trials[candidate.setting].high_s > max(least, best.gain_s + least / 2)
        ]
        if close and best.setting not in [candidate.setting for candidate in close]:
            close += [candidate for candidate in candidates if candidate.setting == best.setting]
        return close

    def _block(self, setting: Setting, steps: int) -> Generator[None, None, list[float]]:
        """Seconds of each step under this setting, on its slowest rank."""
        if setting != self._setting:
            self._rewrap(setting)
            for _ in range(DISCARDED):
                yield
        self._clock.begin()
        for _ in range(steps):
            yield
        return self._ranks.slowest(self._clock.intervals())

    def _rewrap(self, setting: Setting) -> None:
        begin = time.perf_counter()
        self.model, self._setting = _wrapper.rewrapped(self.model, setting), setting
        if self._rebind is not None:
            self._rebind(self.model)
        self._wrap_s = self._ranks.slowest([time.perf_counter() - begin])[0]

    def _steps_of_a_block(self) -> int:
        """So many that twice the standard error of a difference of two medians is half the least gain."""
        variation = self._ranks.slowest([self._variation])[0]
        return min(
            MOST_STEPS,
            max(FEWEST_STEPS, math.ceil((4 * MEDIAN_ERROR * math.sqrt(2) * variation / self._least_gain) ** 2)),
        )

    # What is spent, and said.

    def _step(self) -> float:
        assert self._step_s is not None
        return self._step_s

    def _least_s(self) -> float:
        return self._least_gain * self._step()

    def _budget_s(self) -> float:
        return SHARE * self._horizon * self._step()

    def _spent_s(self) -> float:
        """Beyond what as many of today's steps take, on the slowest rank; what faster ones saved is not there to be spent."""
        return max(0.0, self._ranks.slowest([self._spent_here_s()])[0])

    def _spent_here_s(self) -> float:
        step_s = self._step_s or 0.0
        return (
            self._inside_s
            + time.perf_counter()
            - self._entered
            + sum(between_s - step_s for between_s in self._between_s if between_s < PAUSE * step_s)
        )

    def _cost_s(self, candidates: int, steps: int) -> float:
        """Of a round, what is known before: wrappers, and steps with buckets as after a start."""
        return (candidates + 1) * (self._wrap_s + DISCARDED * self._step() / 2)

    def _at_restart(self, proposal: Proposal, because: str) -> str:
        best = proposal.candidates[0]
        gain = (proposal.today_us - best.predicted_us) / 1e6
        span = f", {_span(best.gain_us[0] / 1e6, best.gain_us[1] / 1e6)}" if best.gain_us else ""
        return (
            f"at restart: {self._spell(best.setting)}: predicted to save {_ms(gain)} of {_ms(self._step_s)} a step{span}, "
            f"confidence {proposal.confidence}; not tried here" + (f": {because}" if because else "")
        )

    def _guarded(self, function: Callable[[], Any]) -> Any:
        """What may fail on one rank alone: why is told at the next vote."""
        try:
            return function()
        except Exception as error:  # noqa: BLE001  (training goes on)
            self._problem = f"{type(error).__name__}: {_first_line(error)}"
            return None

    def _trouble(self) -> str:
        found = next((one for one in self._ranks.gathered(self._problem) if one), "a rank recorded nothing")
        return f"keep {self._today}: {found}"

    def _end(self, said: str) -> None:
        self.outcome = Outcome(
            self._today, self._setting, said, self._step_s, tuple(self._trials), self._spent_here_s(), self._steps
        )
        self.finished, self._protocol = True, None
        if self._ranks.rank == 0:
            cost = (
                f" ({self._steps} steps, {max(0.0, self.outcome.spent_s):.2g} s beyond what they take)"
                if self._step_s
                else ""
            )
            (self._log or _to_stderr)(f"ddpsim autotune: {said}{cost}")


class _Clock:
    """When steps ended, on the device that computes them; nothing waits between two."""

    def __init__(self, device: torch.device) -> None:
        self._device = device if device.type == "cuda" else None
        self._marks: list[Any] = []

    def tick(self) -> None:
        if self._device is None:
            self._marks.append(time.perf_counter())
        else:
            event = torch.cuda.Event(enable_timing=True)
            event.record(torch.cuda.current_stream(self._device))
            self._marks.append(event)

    def begin(self) -> None:
        self._marks = []
        self.tick()

    def intervals(self) -> list[float]:
        if self._device is None:
            return [after - before for before, after in zip(self._marks, self._marks[1:])]
        self._marks[-1].synchronize()
        return [before.elapsed_time(after) / 1e3 for before, after in zip(self._marks, self._marks[1:])]


class _Series:
    """Rounds of one candidate: its steps between two blocks of today's."""

    def __init__(self) -> None:
        self._gains: list[float] = []
        self._variances: list[float] = []

    def add(self, before: list[float], times: list[float], after: list[float]) -> None:
        first, last = statistics.median(before), statistics.median(after)
        self._gains.append((first + last) / 2 - statistics.median(times))
        drift = (last - first) ** 2 / 12  # where between the two the candidate's block lay
        self._variances.append(drift + _variance(times) + (_variance(before) + _variance(after)) / 4)

    def gain(self) -> tuple[float, float]:
        """Its mean, and the standard error."""
        rounds = len(self._gains)
        return statistics.mean(self._gains), math.sqrt(sum(self._variances)) / rounds


def _times_of(document: dict[str, Any]) -> tuple[float, float, float]:
    """Seconds of a recorded step, microseconds of its compute, and how its steps vary as a fraction. Raises where it tells none."""
    periods = [step["iteration_us"] for step in document["steps"] if "iteration_us" in step]
    step_s = document["iteration"]["duration_us"] / 1e6
    if not step_s > 0:
        raise ValueError(f"a step was recorded that took {step_s:g} s")
    computing_us = document["backward"]["duration_us"] + document.get("forward", {}).get("duration_us", 0)
    return step_s, computing_us, _deviation(periods) / statistics.median(periods)


def _variance(times: list[float]) -> float:
    """Of their median."""
    return (MEDIAN_ERROR * _deviation(times)) ** 2 / len(times)


def _deviation(times: list[float]) -> float:
    """Standard deviation as the median absolute one tells it: a step in ten may take any time."""
    middle = statistics.median(times)
    return 1.4826 * statistics.median(abs(time - middle) for time in times)


def _trial(candidate: Any, series: _Series, proposal: Proposal) -> Trial:
    gain, error = series.gain()
    return Trial(
        candidate.setting, (proposal.today_us - candidate.predicted_us) / 1e6, gain, gain - 2 * error, gain + 2 * error
    )


def _ms(seconds: Optional[float]) -> str:
    return f"{(seconds or 0.0) * 1e3:.3g} ms"


def _span(low: float, high: float) -> str:
    return f"{low * 1e3:.3g} to {high * 1e3:.3g} ms"


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _to_stderr(line: str) -> None:
    """What was decided holds whether or not anyone can be told: a closed stream or a full disk must not end a training."""
    try:
        if sys.stderr is not None:
            print("".join(one if one.isprintable() else ascii(one)[1:-1] for one in line), file=sys.stderr, flush=True)
    except (OSError, ValueError):
        pass
