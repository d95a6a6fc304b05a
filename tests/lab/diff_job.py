"""One rank of the jobs of diff.py: real DistributedDataParallel over timed waits, recorded with its all-reduces.

    diff_job.py --case CASE.json -o FOLDER

Compute is a wait as long as the case says; buckets, hooks, copies, launches and the network are real. A case: "gradients"
(sizes in elements, in the order of definition), "forward_us", "backward_us", "slow" ({rank: factor} of compute), "cap_mb",
"arguments" (of DDP), "buffers" (elements each), "loader_us" (a batch's time in the data set), "steps"."""

import argparse
import json
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("traces/recorder", "real", "tests/cli")]

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from ddpsim_recorder import Recorder  # noqa: E402
from levers_job import Waits  # noqa: E402
from rank_of_job import begin_rank  # noqa: E402


class Layer(torch.autograd.Function):
    """A layer whose backward takes so long and gives a gradient of that size."""

    @staticmethod
    def forward(context, value, parameter, model, microseconds):
        context.model, context.microseconds, context.size = model, microseconds, parameter.shape
        return value.clone()

    @staticmethod
    def backward(context, gradient):
        context.model.clock.compute(context.microseconds)
        return gradient, context.model.ones[context.size[0]].detach(), None, None


class Model(torch.nn.Module):
    def __init__(self, case, factor):
        super().__init__()
        self.clock = Waits()
        sizes = case["gradients"]
        self.weights = torch.nn.ParameterList([torch.nn.Parameter(torch.zeros(size)) for size in sizes])
        self.ones = {size: torch.ones(size) for size in sizes}
        for index, size in enumerate(case.get("buffers", [])):
            self.register_buffer(f"buffer{index}", torch.ones(size))
        self.forward_us = case["forward_us"] * factor
        self.backward_us = case["backward_us"] * factor / len(sizes)

    def forward(self, batch):
        self.clock.compute(self.forward_us)
        value = torch.zeros((), requires_grad=True)
        for weight in self.weights:
            value = Layer.apply(value, weight, self, self.backward_us)
        return value


class Batches(torch.utils.data.Dataset):
    def __init__(self, microseconds, count):
        self.microseconds, self.count = microseconds, count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        time.sleep(self.microseconds / 1e6)
        return torch.zeros(4)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", required=True, help="JSON")
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    begin_rank()
    case = json.loads(pathlib.Path(arguments.case).read_text(encoding="utf-8"))
    folder = pathlib.Path(arguments.output)
    model = Model(case, case.get("slow", {}).get(str(dist.get_rank()), 1))
    options = dict(case.get("arguments", {}))
    if "cap_mb" in case:
        options["bucket_cap_mb"] = case["cap_mb"]
    ddp = torch.nn.parallel.DistributedDataParallel(model, **options)
    loader = torch.utils.data.DataLoader(Batches(case.get("loader_us", 0), 100 + 2 * case["steps"]), batch_size=1)
    recorder = Recorder(ddp, folder / "step.json", warmup=4, steps=case["steps"], name=case["name"], collectives=True)
    for batch in loader:
        model.clock.begin()
        for weight in model.weights:
            weight.grad = None
        ddp(batch).backward()
        recorder.step()
        if recorder.finished:
            break
    if recorder.problem:
        sys.exit(recorder.problem)
    if dist.get_rank() == 0:
        (folder / "measurement.json").write_text(json.dumps({"torch": torch.__version__}), encoding="utf-8")
    dist.barrier()


if __name__ == "__main__":
    main()
