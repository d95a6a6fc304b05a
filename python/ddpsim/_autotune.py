"""Finds and sets the bucket cap of a running training job.

    model = DistributedDataParallel(model, device_ids=[local_rank])
    tuner = ddpsim.autotune(model, horizon=100_000)
    for batch in loader:
        loss(model(batch)).backward()
        optimizer.step()
        optimizer.zero_grad()
        model = tuner.step()        # call this wrapper from the next step on

It records some twenty steps of the loop on every rank and times a few all-reduces of the job's process group. Rank 0
then asks the simulator for better settings. Each proposal is measured against the current setting in turns of some
steps: A/B/A. A setting is kept only if it was measured to be faster. Either all ranks change or none does.
"""

# Type checkers read this without torch, whose types are incomplete.
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

# Number of steps to skip after a wrapper was built. The first has provisional buckets. Before the second, DDP rebuilds
# the buckets in the order in which gradients arrived.
DISCARDED = 2
# Sizes of the timed all-reduces in bytes. Sizes larger than all gradients together are left out.
ALL_REDUCES = (4 << 10, 64 << 10, 1 << 20, 4 << 20, 25 << 20)
REPETITIONS = 5
FEWEST_SIZES = 3
# Ranks count as equally fast if their compute times differ by at most this factor.
EQUALLY_FAST = 1.02
# Standard error of the median of normal values, divided by that of their mean.
MEDIAN_ERROR = 1.2533
# Fraction of the horizon's time that the search may cost.
SHARE = 0.01
# If the time between two steps is at least this many step times, it counts as a pause (evaluation, checkpoint) and not
# as a cost of the search.
PAUSE = 10.0
# Fewest and most steps of one turn.
FEWEST_STEPS, MOST_STEPS = 5, 30
MOST_ROUNDS = 3
# Longest wait for the simulator's answer, in seconds.
SOLVE_S = 20.0

Protocol = Generator[None, None, str]


@dataclasses.dataclass(frozen=True)
class Trial:
    """A setting that was measured in turns with the original one. Gains are in seconds per step.

    `low_s` and `high_s` lie two standard errors below and above the measured `gain_s`.
    """

    setting: Setting
    predicted_gain_s: float
    gain_s: float
    low_s: float
    high_s: float


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The result of `autotune`, the same on every rank.

    `today`: the setting at the start.
    `chosen`: the setting at the end.
    `said`: the result in a sentence.
    `step_s`: seconds per step with the setting at the start; None if it was not measured.
    `trials`: the settings that were measured.
    `spent_s`: seconds that this rank spent beyond the time of as many ordinary steps.
    `steps`: the number of calls of `step()`.
    """

    today: Setting
    chosen: Setting
    said: str
    step_s: Optional[float]
    trials: tuple[Trial, ...]
    spent_s: float
    steps: int

    @property
    def changed(self) -> bool:
        """Whether the setting was changed."""
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
    """Starts to search for the best bucket cap of a running job, and returns the tuner.

    Every rank must call the tuner's `step()` after each training step, or the job hangs. `step()` returns the wrapper
    to train with. Keep the tuner until it is `finished`: if you drop it earlier, the setting on trial stays.

    `model`: the DistributedDataParallel that trains, over NCCL or gloo.

    `cluster`: the cluster, as `ddpsim tune` takes it. By default it is derived from the job's own all-reduces and, over
    NCCL, from `nvidia-smi topo -m`.

    `apply`: "rewrap" sets the best setting in this run; "restart" only prints it.

    `horizon`: the number of steps this run will take. The search may cost 1 % of their time.

    `record`: the number of steps used for recording; every other one of them is recorded.

    `least_gain`: the smallest gain that is worth a change, as a fraction of a step.

    `rebind`: called with each new wrapper, to store it in any object that holds the old one.

    `spell`: returns the text that sets a `Setting` in the script or framework that starts this job.

    `lists`: whether a bucket_cap_mb_list can be set in that script or framework.

    `log`: called on rank 0 with the line that tells the result. By default the line is printed to stderr.
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
    """The search for the best bucket cap of one job. See `ddpsim.autotune` for the arguments.

    `model`: the wrapper to call.
    `finished`: whether the search has ended.
    `outcome`: the result, an Outcome; None until then.
    """

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
            raise TypeError(f"model is a {type(model).__name__}; pass the DistributedDataParallel that trains")
        if apply not in ("rewrap", "restart"):
            raise ValueError(
                f'apply="{apply}" is unknown. Pass "rewrap" to set the best cap in this run, "restart" to print it'
            )
        if horizon < 1 or record < 2 or not 0 < least_gain < 1:
            raise ValueError(
                "horizon must be 1 step or more, record 2 or more, and least_gain a fraction of a step such as 0.01"
            )
        self.model, self.finished = model, False
        self.outcome: Optional[Outcome] = None
        self._cluster, self._apply, self._horizon, self._record = cluster, apply, horizon, record
        self._least_gain, self._rebind, self._log = least_gain, rebind, log
        self._spell, self._lists = spell, lists and _wrapper.knows_lists()
        self._today = self._setting = _wrapper.setting_of(model)
        self._ranks: Ranks = Ranks(model.process_group, model.device)
        self._clock = _Clock(model.device)
        # What went wrong on this rank. The other ranks learn it at the next vote.
        self._problem = ""
        # Why the best setting can only be set at a restart.
        self._because = ""
        # Seconds per step with the setting at the start.
        self._step_s: Optional[float] = None
        # Standard deviation of those steps, as a fraction of a step.
        self._variation = 0.0
        self._wrap_s = 0.0
        self._trials: list[Trial] = []
        # Total time in step(), and each time between two calls of it.
        self._inside_s, self._between_s = 0.0, array.array("d")
        self._entered = self._left = time.perf_counter()
        self._steps = 0
        self._protocol: Optional[Protocol] = self._run()
        next(self._protocol)

    def step(self) -> DistributedDataParallel:
        """Returns the wrapper to train with from now on.

        Every rank must call this once per training step, after optimizer.step() and outside of no_sync().
        """
        if self._protocol is None:
            return self.model
        if getattr(getattr(self.model, "_join_config", None), "enable", False):
            self._end("gave up: under join() ranks may end at different steps, so they cannot switch together")
            return self.model
        self._entered = time.perf_counter()
        self._between_s.append(self._entered - self._left)
        try:
            self._clock.tick()
            self._steps += 1
            next(self._protocol)
        except StopIteration as end:
            self._end(str(end.value))
        except RuntimeError as error:
            # A collective failed because a rank is gone. The next collective of the training will fail, too.
            self._end(f"gave up: {_first_line(error)}")
            if self.model.reducer is None:  # no new wrapper was built yet
                raise
        self._left = time.perf_counter()
        self._inside_s += self._left - self._entered
        return self.model

    def close(self) -> None:
        """Ends the search early, because training ends on all ranks or on this one. The wrapper stays as it is."""
        if self._protocol is not None:
            self._protocol.close()
            on_trial = self._setting != self._today
            tried = f"; the wrapper still has {self._setting}, which was on trial" if on_trial else ""
            self._end(f"training ended after {self._steps} steps, before a cap was found{tried}")

    # The protocol that all ranks follow. Each `yield` waits for one training step.

    def _run(self) -> Protocol:
        """The whole search; returns the result in words. All ranks reach every collective: a local error waits for the
        next vote."""
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
        """The reason why nothing can be tuned, or "" if something can."""
        if self._ranks.size == 1:
            return "a single rank has no all-reduces, so there is no cap to tune"
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
        """The reason why the wrapper cannot be replaced on this rank, or "" if it can."""
        reason = _wrapper.why_not(self.model)
        if not reason and self._rebind is None:
            held = _wrapper.holders(self.model, self)
            if held:
                reason = f"the wrapper is held by {', '.join(held[:3])} (pass rebind= to replace it there)"
        return reason

    def _recorded(self) -> Generator[None, None, Optional[Evidence]]:
        ranks, warmup, recorded = self._ranks, 2, max(1, self._record // 2)
        recorder = Recorder(self.model, None, warmup=warmup, steps=recorded)
        try:
            # Even if the recorder gives up on this rank, go on: all ranks must take the same number of steps.
            for step in range(warmup + 2 * recorded):
                if step:
                    yield
                recorder.step()
        finally:
            # Removes the recorder's hooks if the recorder did not end by itself.
            recorder._leave()
        document = recorder.document
        self._problem = recorder.problem or ""
        times = self._guarded(lambda: _times_of(document)) if document is not None else None
        if not ranks.agree(times is not None) or times is None:
            return None
        step_s, computing_us, self._variation = times
        self._step_s = ranks.slowest([step_s])[0]
        compute = ranks.gathered(computing_us)
        late = compute.index(max(compute)) if max(compute) > EQUALLY_FAST * min(compute) else 0
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
        """Time of an all-reduce by size, in microseconds. The sizes are those that buckets may have. The measurement
        costs at most a quarter of the budget."""
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
        """The simulator's proposal. Rank 0 asks for it in a thread while training goes on. After about a second, all
        ranks wait for the proposal."""
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
                self._problem = f"the simulator did not answer within {SOLVE_S:g} s"
        proposal: Optional[Proposal]
        proposal, self._problem = self._ranks.told((answers[0] if answers else None, self._problem))
        return proposal

    def _tried(self, proposal: Proposal) -> Protocol:
        """Measures the candidates in rounds. A round takes the original setting, each candidate, and the original
        setting again; every other round takes the candidates in reverse order."""
        steps = self._steps_of_a_block()
        candidates = list(proposal.candidates)
        while candidates and self._spent_s() + self._cost_s(len(candidates), steps) > self._budget_s():
            candidates.pop()
        if not candidates:
            return self._at_restart(proposal, f"a trial takes more than {100 * SHARE:g} % of {self._horizon} steps")
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
                f"{_ms(self._step_s)} a step, but measured {_span(best.low_s, best.high_s)}"
            )
        self._rewrap(best.setting)
        return (
            f"set {best.setting}: saves {_ms(best.gain_s)} of {_ms(self._step_s)} a step (measured "
            f"{_span(best.low_s, best.high_s)}; predicted {_ms(best.predicted_gain_s)}). From the next start on: "
            f"{self._spell(best.setting)}"
        )

    def _undecided(self, candidates: Sequence[Any]) -> list[Any]:
        """Candidates that need another round: they may still beat the best by half the least gain, or prove to gain
        enough."""
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
        """Seconds of each step under this setting, on the rank that is slowest in that step."""
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
        """Steps of one turn, such that twice the standard error of the difference of two medians is half the least
        gain."""
        variation = self._ranks.slowest([self._variation])[0]
        return min(
            MOST_STEPS,
            max(FEWEST_STEPS, math.ceil((4 * MEDIAN_ERROR * math.sqrt(2) * variation / self._least_gain) ** 2)),
        )

    # The cost of the search, and the messages.

    def _step(self) -> float:
        assert self._step_s is not None
        return self._step_s

    def _least_s(self) -> float:
        return self._least_gain * self._step()

    def _budget_s(self) -> float:
        return SHARE * self._horizon * self._step()

    def _spent_s(self) -> float:
        """Seconds spent beyond the time of as many ordinary steps, on the slowest rank. Savings of faster steps do not
        add budget."""
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
        """Seconds that a round will cost at least: building wrappers, and the slower first steps after that."""
        return (candidates + 1) * (self._wrap_s + DISCARDED * self._step() / 2)

    def _at_restart(self, proposal: Proposal, because: str) -> str:
        best = proposal.candidates[0]
        gain = (proposal.today_us - best.predicted_us) / 1e6
        span = f", {_span(best.gain_us[0] / 1e6, best.gain_us[1] / 1e6)}" if best.gain_us else ""
        return (
            f"at restart: {self._spell(best.setting)}: predicted to save {_ms(gain)} of {_ms(self._step_s)} a step{span}, "
            f"confidence {proposal.confidence}; not tried in this run" + (f": {because}" if because else "")
        )

    def _guarded(self, function: Callable[[], Any]) -> Any:
        """Calls `function`, which may fail on one rank alone. If it does, returns None; the ranks learn why at the next
        vote."""
        try:
            return function()
        except Exception as error:  # noqa: BLE001  (training goes on)
            self._problem = f"{type(error).__name__}: {_first_line(error)}"
            return None

    def _trouble(self) -> str:
        found = next((one for one in self._ranks.gathered(self._problem) if one), "a rank could not record its step")
        return f"keep {self._today}: {found}"

    def _end(self, said: str) -> None:
        self.outcome = Outcome(
            self._today, self._setting, said, self._step_s, tuple(self._trials), self._spent_here_s(), self._steps
        )
        self.finished, self._protocol = True, None
        if self._ranks.rank == 0:
            cost = (
                f" (took {self._steps} steps, {max(0.0, self.outcome.spent_s):.2g} s longer than usual)"
                if self._step_s
                else ""
            )
            (self._log or _to_stderr)(f"ddpsim autotune: {said}{cost}")


class _Clock:
    """Times at which steps ended, on the device that computes them. Neither host nor device waits between two steps."""

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
    """Rounds of one candidate: its steps between two turns of the original setting. Times are in seconds."""

    def __init__(self) -> None:
        self._gains: list[float] = []
        self._variances: list[float] = []

    def add(self, before: list[float], times: list[float], after: list[float]) -> None:
        first, last = statistics.median(before), statistics.median(after)
        self._gains.append((first + last) / 2 - statistics.median(times))
        # The candidate's turn lay somewhere between the other two: the variance of a uniform distribution.
        drift = (last - first) ** 2 / 12
        self._variances.append(drift + _variance(times) + (_variance(before) + _variance(after)) / 4)

    def gain(self) -> tuple[float, float]:
        """The mean gain and its standard error."""
        rounds = len(self._gains)
        return statistics.mean(self._gains), math.sqrt(sum(self._variances)) / rounds


def _times_of(document: dict[str, Any]) -> tuple[float, float, float]:
    """Time of a recorded step (s), time of its compute (us), and the relative deviation of steps. Raises if the
    recording lacks them."""
    periods = [step["iteration_us"] for step in document["steps"] if "iteration_us" in step]
    step_s = document["iteration"]["duration_us"] / 1e6
    if not step_s > 0:
        raise ValueError(f"the recorded step took {step_s:g} s")
    computing_us = document["backward"]["duration_us"] + document.get("forward", {}).get("duration_us", 0)
    return step_s, computing_us, _deviation(periods) / statistics.median(periods)


def _variance(times: list[float]) -> float:
    """The variance of the median of `times`."""
    return (MEDIAN_ERROR * _deviation(times)) ** 2 / len(times)


def _deviation(times: list[float]) -> float:
    """The standard deviation, estimated from the median absolute deviation. One slow step in ten does not change it
    much."""
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
    """Prints `line`. A closed stream or a full disk is ignored, because it must not end the training."""
    try:
        if sys.stderr is not None:
            print("".join(one if one.isprintable() else ascii(one)[1:-1] for one in line), file=sys.stderr, flush=True)
    except (OSError, ValueError):
        pass
