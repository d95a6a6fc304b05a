"""One rank of a training with ddpsim.autotune, for test_autotune.py.

    main(FOLDER, RANK, CASE…)

Prints one line of JSON per case. Proposals and measured gains are made up, because a test machine is busy and has no
network worth tuning for."""

import json
import os
import pathlib
import signal
import sys
import tempfile
import types
from unittest import mock

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import ddpsim
from ddpsim import _autotune, _proposal, _wrapper
from ddpsim._wrapper import Setting

HALF = Setting(bucket_cap_mb=0.03)  # several buckets of this model
# A horizon in steps, so long that even a busy machine has time to try settings.
LONG = 10**7


def network():
    torch.manual_seed(3)
    return nn.Sequential(
        nn.Linear(32, 96), nn.BatchNorm1d(96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 8)
    )


class Job:
    """A training whose batches differ between the ranks.

    `count`: batches accumulated in one step. `clear`: gradients are set to zero after this many steps."""

    def __init__(self, rank, count=1, hook=None, clear=1, **options):
        self.rank, self.count, self.clear, self.module = rank, count, clear, network()
        self.ddp = DistributedDataParallel(self.module, **options)
        if hook is not None:
            self.ddp.register_comm_hook(*hook)
        self.optimizer = torch.optim.SGD(self.ddp.parameters(), 0.05, momentum=0.9)
        self.done = 0

    def step(self, model):
        for k in range(self.count):
            torch.manual_seed(1000 * self.rank + 10 * self.done + k)
            model.require_backward_grad_sync = k + 1 == self.count
            model(torch.rand(16, 32)).square().mean().backward()
        self.optimizer.step()
        self.done += 1
        if self.done % self.clear == 0:
            self.optimizer.zero_grad()

    def weights(self):
        return [parameter.detach().clone() for parameter in self.module.parameters()]


# What the running case reports.
TOLD = {}


def tell(**facts):
    TOLD.update(facts)


def proposed(*settings, gain=0.3):
    """Replaces the answer of the simulator by these settings."""

    def propose(evidence, least_gain):
        step = evidence.step_us
        return _proposal.Proposal(
            step, [_proposal.Candidate(setting, 3, (1 - gain) * step) for setting in settings], "C"
        )

    _proposal.propose = propose


def gains(share):
    """Replaces the measured gain of every candidate by `share` of the default step."""

    def trial(candidate, series, proposal):
        step = proposal.today_us / 1e6
        return _autotune.Trial(candidate.setting, 0.3 * step, share * step, share * step * 0.9, share * step * 1.1)

    _autotune._trial = trial


def run(job, most=400, after=10, **options):
    """Trains until the tuner has finished, and `after` more steps. Returns the tuner and the lines it logged."""
    lines = []
    model, job.ddp = job.ddp, None  # only this function holds it
    tuner = ddpsim.autotune(model, record=4, **{"horizon": LONG, "log": lines.append, **options})
    while not tuner.finished:
        job.step(model)
        model = tuner.step()
        assert job.done < most, "the tuner never finishes"
    for _ in range(after):
        job.step(model)
        assert tuner.step() is model
    return tuner, lines


def facts(tuner, lines):
    outcome = tuner.outcome
    return {
        "chosen": str(outcome.chosen),
        "said": outcome.said,
        "changed": outcome.changed,
        "steps": outcome.steps,
        "lines": lines,
        "cap": _wrapper.setting_of(tuner.model).bucket_cap_mb,
    }


def plain(job, count):
    for _ in range(count):
        job.step(job.ddp)
    return job


def same_weights(job, other):
    return all(torch.equal(one, two) for one, two in zip(job.weights(), other.weights()))


def case_rewrap(rank, folder, count=1, share=0.3, **options):
    """The setting is applied, and weights equal those of a training without autotune, bit for bit."""
    proposed(HALF)
    gains(share)
    job = Job(rank, count, **options)
    called = []
    handle = job.ddp.register_forward_hook(lambda *_: called.append(True))
    tuner, lines = run(job)
    handle.remove()
    called.clear()
    job.step(tuner.model)
    tell(
        **facts(tuner, lines),
        same=same_weights(job, plain(Job(rank, count, **options), job.done)),
        called=len(called),
        buckets=len(_wrapper.bucket_bytes(tuner.model)),
    )


def case_not_faster(rank, folder):
    case_rewrap(rank, folder, share=-0.05)


def case_views(rank, folder):
    case_rewrap(rank, folder, gradient_as_bucket_view=True, broadcast_buffers=False)


def case_kept_gradients(rank, folder):
    """Gradients are views into buckets, and later steps add to them."""
    case_rewrap(rank, folder, gradient_as_bucket_view=True, clear=5)


def case_accumulating(rank, folder):
    case_rewrap(rank, folder, count=3)


def case_unused(rank, folder):
    case_rewrap(rank, folder, find_unused_parameters=True)


def case_static(rank, folder):
    case_rewrap(rank, folder, static_graph=True)


def case_hook(rank, folder):
    """A communication hook moves to the new wrapper, and each bucket is reduced once."""
    seen = []
    proposed(HALF)
    gains(0.3)
    job = Job(rank, hook=(None, counted(seen)))
    job.ddp.register_forward_hook(lambda *_: seen.append("forward"))
    tuner, lines = run(job, after=0)
    model = tuner.model
    job.step(model)
    job.step(model)
    seen.clear()
    job.step(model)
    tell(**facts(tuner, lines), seen=seen, buckets=len(_wrapper.bucket_bytes(model)))


def counted(seen):
    def hook(state, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        seen.append("bucket")
        tensor = bucket.buffer().div_(2)
        return dist.all_reduce(tensor, async_op=True).get_future().then(lambda future: future.value()[0])

    return hook


def case_held(rank, folder):
    """Another object holds the wrapper, so the setting is only suggested. With `rebind`, it is applied."""
    proposed(HALF)
    gains(0.3)
    job = Job(rank)
    trainer = type("Trainer", (), {})()
    trainer.model = job.ddp
    tuner, lines = run(job)
    job.ddp = trainer.model
    other, more = run(job, rebind=lambda model: setattr(trainer, "model", model))
    tell(**facts(tuner, lines), again=facts(other, more), renewed=trainer.model is other.model)


def case_old_wrapper(rank, folder):
    """A training is the same if it still calls a wrapper that was replaced."""
    job, other = Job(rank), Job(rank)
    plain(job, 3)
    old = job.ddp
    new = _wrapper.rewrapped(old, HALF)
    newer = _wrapper.rewrapped(new, Setting(bucket_cap_mb=0.01))
    for model in (old, new, newer, old):
        job.step(model)
    tell(same=same_weights(job, plain(other, job.done)), keys=list(newer.state_dict()) == list(other.ddp.state_dict()))


def case_passed_on(rank, folder):
    """no_sync() of the first wrapper reaches the third. Frozen modules stay frozen."""
    job = Job(rank)
    job.module[1].eval()
    newer = _wrapper.rewrapped(_wrapper.rewrapped(job.ddp, HALF), Setting(bucket_cap_mb=0.01))
    with job.ddp.no_sync():
        silent = not newer.require_backward_grad_sync
    tell(
        silent=silent, again=newer.require_backward_grad_sync, modes=[module.training for module in newer.modules()][:4]
    )


def case_buffers(rank, folder):
    """Each rank keeps its own buffers, unless rank 0's are to be sent."""
    job = Job(rank)
    plain(job, 2)
    job.ddp.require_forward_param_sync = False
    mean = job.module[1].running_mean
    mean.fill_(rank)
    _wrapper.rewrapped(job.ddp, HALF)(torch.rand(16, 32))
    tell(mean=round(float(mean.mean())))


def case_pauses(rank, folder):
    """Time between steps, as for evaluation, does not count as tuning.

    On the replaced clock, time passes only there, so that the load of the machine does not matter."""
    proposed(HALF)
    gains(0.3)
    job = Job(rank)
    step = job.step
    evaluations = []
    job.step = lambda model: (step(model), evaluations.append(1000) if job.done % 8 == 0 else None)
    with mock.patch.object(_autotune, "time", types.SimpleNamespace(perf_counter=lambda: float(sum(evaluations)))):
        tuner, lines = run(job, after=0, horizon=100_000)
    tell(**facts(tuner, lines), spent=tuner.outcome.spent_s, evaluations=len(evaluations))


def case_joined(rank, folder):
    """Under join(), ranks end after different numbers of steps."""
    proposed(HALF)
    gains(0.3)
    job, lines = Job(rank), []
    tuner = ddpsim.autotune(job.ddp, log=lines.append)
    with job.ddp.join():
        for _ in range(60 + 20 * rank):
            job.step(job.ddp)
            assert tuner.step() is job.ddp
    tell(**facts(tuner, lines))


def case_closed(rank, folder):
    """Training ends during recording, or while a setting is tried. No hook remains on the model."""
    proposed(HALF)
    gains(0.3)
    for name, ends in (
        ("recording", lambda _, done: done == 6),
        ("trying", lambda tuner, _: _wrapper.setting_of(tuner.model) != Setting()),
    ):
        job, lines = Job(rank), []
        model, job.ddp = job.ddp, None
        tuner = ddpsim.autotune(model, record=4, log=lines.append, horizon=LONG)
        patched = False
        while not ends(tuner, job.done):
            assert not tuner.finished, f"the tuner finished before it was {name}: {tuner.outcome.said}"
            job.step(model)
            model = tuner.step()
            patched |= hasattr(torch.autograd.backward, "__wrapped__")
        tuner.close()
        tuner.close()
        tell(**{name: {**facts(tuner, lines), "patched": [patched, hasattr(torch.autograd.backward, "__wrapped__")]}})


def case_no_wrapper(rank, folder):
    """No rank can build a wrapper. Training cannot continue, and the error tells why."""
    proposed(HALF)
    gains(0.3)
    job = Job(rank)
    build = _wrapper.DistributedDataParallel.__init__

    def refuse(*_, **__):
        raise RuntimeError("connection closed by peer")

    error = ""
    try:
        _wrapper.DistributedDataParallel.__init__ = refuse
        run(job)
    except RuntimeError as raised:
        error = str(raised)
    _wrapper.DistributedDataParallel.__init__ = build
    tell(error=error)


def case_one_rank_fails(rank, folder):
    """The recorder of rank 1 fails. No rank changes its setting, and none waits for rank 1."""
    proposed(HALF)
    gains(0.3)
    if rank == 1:

        class Failing(_autotune.Recorder):
            def step(self):
                super().step()
                self._safely(lambda: 1 / 0)

        _autotune.Recorder = Failing
    job = Job(rank)
    tuner, lines = run(job)
    tell(**facts(tuner, lines), same=same_weights(job, plain(Job(rank), job.done)))


def case_no_answer(rank, folder):
    def propose(*_):
        raise RuntimeError("no program here\nand more")

    _proposal.propose = propose
    tuner, lines = run(Job(rank))
    tell(**facts(tuner, lines))


def case_short(rank, folder):
    proposed(HALF)
    tuner, lines = run(Job(rank), horizon=1)
    tell(**facts(tuner, lines))


def case_restart(rank, folder):
    proposed(HALF)
    tuner, lines = run(Job(rank), apply="restart")
    tell(**facts(tuner, lines))


def case_keep(rank, folder):
    proposed()
    tuner, lines = run(Job(rank))
    tell(**facts(tuner, lines))


def case_real(rank, folder):
    """The real ddpsim is asked for proposals."""
    told = []
    propose = _proposal.propose

    def noting(*arguments):
        told.append((arguments[0], propose(*arguments)))
        return told[-1][1]

    _proposal.propose = noting
    tuner, lines = run(Job(rank), least_gain=1e-6)
    evidence, proposal = told[0] if told else (None, None)
    tell(
        **facts(tuner, lines),
        sizes=sorted(evidence.all_reduces) if evidence else [],
        candidates=len(proposal.candidates) if proposal else None,
        step_us=evidence.step_us if evidence else None,
        predicted_us=proposal.today_us if proposal else None,
    )


def case_nobody_listens(rank, folder):
    """Standard error is closed, or its disk is full. The setting is applied all the same."""
    proposed(HALF)
    gains(0.3)
    before, ends = sys.stderr, []
    full, closed = open("/dev/full", "w"), open(os.devnull, "w")
    closed.close()
    try:
        for stream in (full, closed, None):
            sys.stderr = stream
            tuner, _ = run(Job(rank), log=None)
            ends.append(tuner.outcome.changed)
    finally:
        sys.stderr = before
    try:
        full.close()
    except OSError:  # lines that could not be written
        pass
    tell(ends=ends)


def case_odd_document(rank, folder):
    """The recorder of rank 1 leaves a document without steps, or with impossible times."""
    proposed(HALF)
    gains(0.3)
    said = []
    for change in (
        lambda document: document.pop("steps"),
        lambda document: document.update(steps=[]),
        lambda document: document.pop("iteration"),
        lambda document: document["iteration"].update(duration_us=0),
        lambda document: document["iteration"].update(duration_us=float("nan")),
    ):

        class Odd(_autotune.Recorder):
            def step(self):
                super().step()
                if self.document is not None and rank == 1:
                    change(self.document)
                    type(self).step = lambda _: None

        real, _autotune.Recorder = _autotune.Recorder, Odd
        tuner, _ = run(Job(rank))
        _autotune.Recorder = real
        said.append(tuner.outcome.said)
    tell(said=said)


def case_no_memory(rank, folder):
    """Rank 1 has no memory for the timed all-reduces. All ranks do without them."""
    seen = []

    def propose(evidence, least_gain):
        seen.append(sorted(evidence.all_reduces))
        return _proposal.Proposal(evidence.step_us, [_proposal.Candidate(HALF, 3, 0.7 * evidence.step_us)], "C")

    _proposal.propose = propose
    gains(0.3)
    zeros = torch.zeros

    def scarce(*arguments, **options):
        if rank == 1 and sys._getframe(1).f_code.co_name == "all_reduce_us":
            raise RuntimeError("out of memory")
        return zeros(*arguments, **options)

    torch.zeros = scarce
    job = Job(rank)
    tuner, lines = run(job)
    torch.zeros = zeros
    tell(**facts(tuner, lines), seen=seen, same=same_weights(job, plain(Job(rank), job.done)))


def case_hostile_environment(rank, folder):
    """DDPSIM_PROGRAM names no program or one with a wrong answer, or folders cannot be written to."""
    answer = (
        '{"today": null, "default": {"iteration_us": 9, "first_bucket_mb": 1}, "recommended": {"action": "keep", "bucket_cap_mb": null}, "curve": '
        '[{"reachable": true, "bucket_cap_mb": 5, "first_bucket_mb": 1, "cap_range_mb": [%s], "buckets": %s, "iteration_us": 1}], '
        '"best_partition": null, "confidence": {"grade": "C"}}'
    )
    scripts = [
        "exit 0",
        "echo '[]'",
        "echo '{}'",
        "kill -9 $$",
        "head -c 100000 /dev/zero",
        "echo 'ddpsim: \\033[31m' >&2; exit 3",
        *(
            f"echo '{answer % said}'"
            for said in (("1e300, 1e300", "3"), ("-5, -5", "3"), ("NaN, NaN", "3"), ('"x", "y"', "3"))
        ),
    ]
    environments = [
        {"DDPSIM_PROGRAM": str(folder)},
        {"DDPSIM_PROGRAM": "/dev/null"},
        {"DDPSIM_PROGRAM": "a\udcff\n"},
        {"TMPDIR": "/dev/full"},
    ]
    for number, script in enumerate(scripts):
        program = folder / f"program{number}-{rank}"
        program.write_text(f"""#!/bin/sh
case $1 in calibrate) for word; do case $word in --output=*) echo '{{}}' >"${{word#*=}}";; esac; done; echo '{{}}'; exit 0;; esac
{script}
""")
        program.chmod(0o755)
        environments.append({"DDPSIM_PROGRAM": str(program)})
    said, before = [], dict(os.environ)
    for environment in environments:
        os.environ.update(environment)
        tempfile.tempdir = None
        tuner, lines = run(Job(rank))
        os.environ.clear()
        os.environ.update(before)
        said.append(tuner.outcome.said)
    tell(said=said)


def case_killed(rank, folder):
    """Rank 1 is killed. The training of rank 0 reports it, as it would without autotune."""
    proposed(HALF)
    gains(0.3)
    job = Job(rank)
    tuner = ddpsim.autotune(job.ddp, record=4, log=lambda line: None)
    when = int((folder / "when").read_text())
    try:
        model, job.ddp = job.ddp, None
        for step in range(200):
            if rank == 1 and step == when:
                os.kill(os.getpid(), signal.SIGKILL)
            job.step(model)
            model = tuner.step()
    except RuntimeError as error:
        print(json.dumps({"killed": {"error": str(error).splitlines()[0], "where": step}}), flush=True)
        os._exit(0)  # the store might wait for the lost rank
    tell(error="", where=step)


def main(folder, rank, *cases):
    folder, rank = pathlib.Path(folder), int(rank)
    torch.set_num_threads(1)
    # Without this, PyTorch before 2.5 puts the whole model into the first bucket.
    dist._DEFAULT_FIRST_BUCKET_BYTES = 4096
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    real = _proposal.propose, _autotune._trial, _autotune.Recorder
    for case in cases:
        globals()[f"case_{case}"](rank, folder)
        _proposal.propose, _autotune._trial, _autotune.Recorder = real
        print(json.dumps({case: TOLD}), flush=True)
        TOLD.clear()
        dist.barrier()
