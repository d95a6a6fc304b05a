"""Runs scripts of trainings in processes that are forked from one that has imported PyTorch and the script.

    forked.py

This is faster, because an import takes longer than most of these trainings. Each line of standard input is a job, a
JSON object with these keys:

- `script`, and `arguments` of each process for the script's main()
- `expected`: the exit codes
- `folder`: for the output (told-0, …) and errors (said-0, …) of processes
- `seconds`: the time limit
- `environment`: variables

The answer is a line with the exit codes as a JSON list. If one process ends otherwise than expected, or the time is
over, the others are ended with SIGABRT.

A process ends when main() does. The shutdown of PyTorch's threads at Python's exit is not tested. In PyTorch 2.13 it
ends in std::terminate ("terminate called without an active exception") once in some hundred runs over gloo."""

import gc
import importlib
import json
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import signal
import sys
import time

import torch

if torch.__version__ >= "2":
    import torch._dynamo  # noqa: F401 (DistributedDataParallel would import it in each process)


def run(main, arguments, folder, number, environment):
    for stream, place in enumerate((os.devnull, f"{folder}/told-{number}", f"{folder}/said-{number}")):
        os.dup2(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC if stream else os.O_RDONLY), stream)
    os.environ.update(environment)
    main(*arguments)


def exit_codes(script, arguments, expected, folder, seconds, environment):
    path = pathlib.Path(script)
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    main = importlib.import_module(path.stem).main
    gc.collect()
    gc.freeze()  # keeps the collector off imported objects
    processes = [
        forks.Process(target=run, args=(main, each, folder, number, environment))
        for number, each in enumerate(arguments)
    ]
    for process in processes:
        process.start()
    until = time.monotonic() + seconds
    while running := [process for process in processes if process.exitcode is None]:
        ended_well = all(process.exitcode in (None, code) for process, code in zip(processes, expected))
        # Nobody writes to standard input while a job runs. If it becomes readable, the test has ended.
        awaited = [sys.stdin, *(process.sentinel for process in running)]
        if (
            not ended_well
            or time.monotonic() > until
            or sys.stdin in multiprocessing.connection.wait(awaited, until - time.monotonic())
        ):
            for process in running:
                os.kill(process.pid, signal.SIGABRT)  # faulthandler then prints its stack
            break
    for process in processes:
        process.join()
    return [process.exitcode for process in processes]


if __name__ == "__main__":
    forks = multiprocessing.get_context("fork")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # imports may print to stdout
    while line := sys.stdin.readline():
        print(json.dumps(exit_codes(**json.loads(line))), file=answers, flush=True)
