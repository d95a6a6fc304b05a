"""One rank of the job of schemes.py: one scheme after another over the timed waits of settings_job.py.

    schemes_job.py --setup SETUP.json --schemes SCHEMES.json -o FOLDER

Each scheme is written as in its library, or as its sources describe it. With parameter servers, the last ranks are the
servers."""

import argparse
import collections
import gc
import json
import pathlib
import threading
import time

import settings_job
import torch
import torch.distributed as dist
from rank_of_job import begin_rank
from torch.distributed.algorithms.model_averaging import averagers, hierarchical_model_averager
from torch.distributed.optim import ZeroRedundancyOptimizer

WARMUP = 4


class Scheme:
    """The base of all schemes: each rank trains alone."""

    def __init__(self, setup, options, workers):
        self.model, self.options, self.workers = settings_job.Model(setup), options, workers
        self.called, self.parameters = self.model, list(self.model.parameters())

    def step(self):
        for parameter in self.parameters:
            parameter.grad = None
        self.model.clock.begin()
        self.called(torch.zeros((), requires_grad=True)).backward()
        self.after_backward()
        self.optimizer()

    def after_backward(self):
        pass

    def optimizer(self):
        self.model.clock.compute(self.model.optimizer_us)

    def end(self):
        pass


class Ddp(Scheme):
    def __init__(self, *given):
        super().__init__(*given)
        self.called = torch.nn.parallel.DistributedDataParallel(self.model)


class Naive(Scheme):
    def __init__(self, *given):
        super().__init__(*given)
        self.works = []
        if self.options["when"] == "gradient":
            for parameter in self.parameters:
                parameter.register_post_accumulate_grad_hook(self.launch)

    def launch(self, parameter):
        self.works.append(dist.all_reduce(parameter.grad, async_op=True))

    def after_backward(self):
        if self.options.get("flat"):
            flat = torch.cat([parameter.grad.flatten() for parameter in self.parameters])
            dist.all_reduce(flat)
            flat.div_(self.workers)
            for parameter, part in zip(self.parameters, flat.split([p.numel() for p in self.parameters])):
                parameter.grad.copy_(part.view_as(parameter))
            return
        for work in self.works:
            work.wait()
        self.works.clear()
        for parameter in self.parameters:
            if self.options["when"] == "backward":
                dist.all_reduce(parameter.grad)
            parameter.grad.div_(self.workers)


class LocalSgd(Scheme):
    def __init__(self, *given):
        super().__init__(*given)
        levels = self.options.get("hierarchy")
        if levels:
            self.averager = hierarchical_model_averager.HierarchicalModelAverager(
                collections.OrderedDict(map(tuple, levels)), warmup_steps=0
            )
        else:
            self.averager = averagers.PeriodicModelAverager(self.options["period"], warmup_steps=0)

    def optimizer(self):
        super().optimizer()
        with torch.no_grad():
            self.averager.average_parameters(self.parameters)


class Waiting(torch.optim.Optimizer):
    """An optimizer that waits for its share of the optimizer's time."""

    def __init__(self, parameters, clock, whole_us, elements):
        super().__init__(parameters, {})
        mine = sum(parameter.numel() for group in self.param_groups for parameter in group["params"])
        self.clock, self.microseconds = clock, whole_us * mine / elements

    def step(self, closure=None):
        self.clock.compute(self.microseconds)


class ZeroRedundancy(Ddp):
    def __init__(self, *given):
        super().__init__(*given)
        self.sharded = ZeroRedundancyOptimizer(
            self.parameters,
            Waiting,
            clock=self.model.clock,
            whole_us=self.model.optimizer_us,
            elements=sum(parameter.numel() for parameter in self.parameters),
        )

    def optimizer(self):
        self.sharded.step()


class ParameterServer(Scheme):
    """Each gradient is sent to its server as soon as it is written. The answers are awaited after backward."""

    def __init__(self, *given):
        super().__init__(*given)
        self.servers = dist.get_world_size() - self.workers
        for index, parameter in enumerate(self.parameters):
            parameter.register_post_accumulate_grad_hook(lambda parameter, index=index: self.push(index, parameter))

    def server_of(self, index):
        return self.workers + index % self.servers

    def push(self, index, parameter):
        self.works += [
            dist.isend(parameter.grad, self.server_of(index), tag=2 * index),
            dist.irecv(parameter.data, self.server_of(index), tag=2 * index + 1),
        ]

    def step(self):
        self.works = []
        super().step()

    def after_backward(self):
        for work in self.works:
            work.wait()

    def serve(self, steps):
        """Runs a server. Synchronous servers sum the gradients of all workers and answer all; otherwise one thread
        answers each."""
        order = [index for index, _ in self.model.ready if self.server_of(index) == dist.get_rank()]
        groups = [list(range(self.workers))] if self.options["mode"] == "sync" else [[w] for w in range(self.workers)]

        def answer(workers):
            sums = [torch.zeros_like(parameter) for parameter in self.parameters]
            received = {worker: [torch.zeros_like(parameter) for parameter in self.parameters] for worker in workers}
            for _ in range(steps):
                awaited = {
                    (worker, index): dist.irecv(received[worker][index], worker, tag=2 * index)
                    for index in order
                    for worker in workers
                }
                answers = []
                for index in order:
                    for number, worker in enumerate(workers):
                        awaited[worker, index].wait()
                        if number == 0:
                            sums[index].copy_(received[worker][index])
                        else:
                            sums[index].add_(received[worker][index])
                    answers += [dist.isend(sums[index], worker, tag=2 * index + 1) for worker in workers]
                for work in answers:
                    work.wait()

        threads = [threading.Thread(target=answer, args=(workers,)) for workers in groups]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


SCHEMES = {
    "ddp": Ddp,
    "naive": Naive,
    "local_sgd": LocalSgd,
    "zero_redundancy": ZeroRedundancy,
    "parameter_server": ParameterServer,
}


def measured(setup, name, options, workers, rounds, steps):
    """The step of this rank in microseconds, by blocks. A block has the number of steps after which collectives
    repeat."""
    scheme, blocks = SCHEMES[name](setup, options, workers), []
    if dist.get_rank() >= workers:
        for _ in range(rounds + 1):
            dist.barrier()
            scheme.serve(steps)
        return [0.0] * rounds
    gc.collect()
    gc.disable()
    for _ in range(rounds + 1):  # the first round warms up
        dist.barrier()
        begin = time.perf_counter_ns()
        for _ in range(steps):
            scheme.step()
        blocks.append((time.perf_counter_ns() - begin) / 1000 / steps)
    gc.enable()
    return blocks[1:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--setup", required=True, help="JSON")
    parser.add_argument("--schemes", required=True, help="JSON: scheme as ddpsim names it -> name and options")
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    begin_rank()
    setup = json.loads(pathlib.Path(arguments.setup).read_text(encoding="utf-8"))
    found = {"torch": torch.__version__, "steps_us": {}}
    for spelled, (name, options) in json.loads(pathlib.Path(arguments.schemes).read_text(encoding="utf-8")).items():
        own = measured(setup, name, options, arguments.workers, arguments.rounds, arguments.steps)
        last = torch.tensor(own, dtype=torch.float64)  # ranks may not wait for each other
        dist.all_reduce(last, dist.ReduceOp.MAX)
        found["steps_us"][spelled] = [round(block, 1) for block in last.tolist()]
    if dist.get_rank() == 0:
        (pathlib.Path(arguments.output) / "measurement.json").write_text(json.dumps(found), encoding="utf-8")
    dist.barrier()


if __name__ == "__main__":
    main()
