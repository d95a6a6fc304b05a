"""Records a training without a change to its script: scripts/collect.sh --run 'COMMAND' puts this folder first in
PYTHONPATH.

Each rank writes to DDPSIM_COLLECT_PARTS/rankN. It times 20 ordinary steps, then ddpsim_recorder.py records one step
with its all-reduces. It also writes DDP's logging data, versions, the environment, and the cores that the rank may use.
A step ends when the optimizer of the model inside DistributedDataParallel has stepped. Nothing here raises into the
training."""

import functools
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import socket
import subprocess
import sys
import time
import types

WARM_UP, TIMED, RECORDED = 5, 20, 6
SCRIPTS = pathlib.Path(__file__).resolve().parents[1]
HERE = pathlib.Path(__file__).resolve().parent


def safely(function):
    @functools.wraps(function)
    def call(*arguments):
        try:
            return function(*arguments)
        except Exception as error:  # noqa: BLE001
            try:
                print(f"collect: {type(error).__name__}: {ascii(str(error))[1:-1]}; training goes on", file=sys.stderr)
            except (OSError, ValueError):  # stderr is closed, or the disk is full
                pass
            return None

    return call


class Watch:
    """Counts, times and records the steps of one rank. The optimizer's step ends a step."""

    def __init__(self):
        self.ddp = self.optimizer = self.recorder = self.folder = None
        self.parameters = set()
        self.steps, self.last, self.times = 0, None, []
        self.finished = False

    @safely
    def wrapped(self, ddp):
        if self.ddp is None:
            self.ddp = ddp
            self.parameters = {id(parameter) for parameter in ddp.parameters()}

    @safely
    def stepped(self, optimizer):
        if self.finished or self.ddp is None:
            return
        if self.optimizer is None:
            if not any(
                id(parameter) in self.parameters for group in optimizer.param_groups for parameter in group["params"]
            ):
                return
            self.optimizer = optimizer
        if optimizer is not self.optimizer:
            return
        self.steps += 1
        now = time.perf_counter()
        if self.last is not None and WARM_UP < self.steps <= WARM_UP + TIMED:
            self.times.append((now - self.last) * 1e3)
        self.last = now
        if self.recorder is not None:
            self.recorder.step()
            if self.recorder.finished:
                self.finish()
        elif self.steps == WARM_UP + TIMED:
            self.begin()

    def begin(self):
        import torch.distributed as dist

        self.folder = pathlib.Path(os.environ["DDPSIM_COLLECT_PARTS"]) / f"rank{dist.get_rank()}"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.write_host()
        (self.folder.parent / "world").write_text(str(dist.get_world_size()))
        (self.folder / "step_times.csv").write_text("step_time_ms\n" + "".join(f"{one:.4f}\n" for one in self.times))
        sys.path.insert(0, str(SCRIPTS.parent / "traces" / "recorder"))
        from ddpsim_recorder import Recorder

        safely(self.write_ddp_log)()  # before the recorder adds its hook
        # With a path, the recorder would add the rank to the name of the file.
        self.recorder = Recorder(self.ddp, None, warmup=2, steps=RECORDED, collectives=dist.get_world_size() > 1)

    def lack(self, kind, why):
        with open(self.folder / "missing.txt", "a", encoding="utf-8") as out:
            out.write(f"{kind}\t{' '.join(str(why).split())}\n")

    def finish(self):
        self.finished = True
        safely(self.write_trace)()
        safely(self.write_rank)()
        (self.folder / "recorded").write_text("")

    def write_trace(self):
        if self.recorder.document is not None:
            from ddpsim_recorder import write_document

            write_document(self.folder / "trace.json", self.recorder.document)
        else:
            self.lack("trace", f"the recorder gave up: {self.recorder.problem}")

    def write_ddp_log(self):
        log = self.ddp._get_ddp_logging_data()
        (self.folder / "ddp.json").write_text(json.dumps(log, indent=1) + "\n", encoding="utf-8")

    def write_host(self):
        host = {
            "host": socket.gethostname(),
            "user": os.environ.get("USER", ""),
            "home": os.path.expanduser("~"),
            "cwd": os.getcwd(),
        }
        (self.folder / "host").write_text("".join(f"{key}={value}\n" for key, value in host.items()), encoding="utf-8")

    def write_rank(self):
        import torch

        nccl = torch.cuda.nccl.version() if torch.cuda.is_available() else None
        versions = {
            "torch": torch.__version__,
            "cuda": torch.version.cuda,
            "python": sys.version.split()[0],
            "nccl": ".".join(map(str, nccl)) if isinstance(nccl, tuple) else nccl,
            "cudnn": torch.backends.cudnn.version() if torch.cuda.is_available() else None,
            "backend": torch.distributed.get_backend(),
            "seen_by": "job",
        }
        (self.folder / "versions.txt").write_text(
            "".join(f"{key}={value}\n" for key, value in versions.items() if value is not None)
        )
        cores = sorted(os.sched_getaffinity(0))
        (self.folder / "pinning.txt").write_text(
            f"cores={os.cpu_count()}\nCpus_allowed_list={','.join(map(str, cores))}\n"
            f"torch_threads={torch.get_num_threads()}\n"
        )
        shown = subprocess.run(
            [sys.executable, str(SCRIPTS / "job_archive.py"), "environment"],
            env=without_this(os.environ),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        (self.folder / "environment.txt").write_text(shown)


def without_this(environment):
    """The environment without the variables that scripts/collect.sh set, for programs that are not part of the
    training."""
    own = {"DDPSIM_COLLECT_PARTS", *environment.get("DDPSIM_COLLECT_SET", "").split()}
    return {key: value for key, value in environment.items() if key not in own}


watch = Watch()


def patch_ddp(module):
    wrapper = module.DistributedDataParallel
    original = wrapper.__init__

    @functools.wraps(original)
    def init(self, *arguments, **options):
        original(self, *arguments, **options)
        watch.wrapped(self)

    wrapper.__init__ = init


def patch_optimizer(module):
    original = module.Optimizer.__init__

    @functools.wraps(original)
    def init(self, *arguments, **options):
        original(self, *arguments, **options)
        function = type(self).step

        @functools.wraps(function)
        def step(optimizer, *step_arguments, **step_options):
            result = function(optimizer, *step_arguments, **step_options)
            watch.stepped(optimizer)
            return result

        # Learning-rate schedulers expect `step` to be a method.
        self.step = types.MethodType(step, self)

    module.Optimizer.__init__ = init


class Patches:
    """An import hook that patches two modules of torch once they have been executed. It finds them as Python would."""

    WANTED = {"torch.nn.parallel.distributed": patch_ddp, "torch.optim.optimizer": patch_optimizer}

    def find_spec(self, name, path, target=None):
        patch = self.WANTED.get(name)
        if patch is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            safely(patch)(module)

        spec.loader.exec_module = exec_module
        return spec


def next_sitecustomize():
    """Runs the sitecustomize that this one hides. The training may need it."""
    path = [place for place in sys.path if pathlib.Path(place or ".").resolve() != HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if os.environ.get("DDPSIM_COLLECT_PARTS"):
    sys.meta_path.insert(0, Patches())
next_sitecustomize()
