"""Runs scripts of trainings in processes forked from one that has imported PyTorch and the script: an import takes longer than most
of these trainings.

    forked.py

Each line of standard input is a job: a JSON object with the `script`; the `arguments` of each process, which the script's main() is
given; the exit codes `expected` of them; a `folder` for what they print (told-0, …) and for their errors (said-0, …); the `seconds`
they may take; and variables of their `environment`. The answer is a line with their exit codes, as a JSON list. When one process ends
otherwise than expected, or the time is over, the others end with SIGABRT.

A process ends where main() does. How PyTorch takes its threads down when Python exits is not what is tested: 2.13 ends there in
std::terminate ("terminate called without an active exception") once in some hundred runs over gloo."""

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
    gc.freeze()  # else each process looks through all that was imported, again and again
    processes = [
        forks.Process(target=run, args=(main, each, folder, number, environment))
        for number, each in enumerate(arguments)
    ]
    for process in processes:
        process.start()
    until = time.monotonic() + seconds
    while running := [process for process in processes if process.exitcode is None]:
        ended_well = all(process.exitcode in (None, code) for process, code in zip(processes, expected))
        # Between jobs nobody writes to standard input: there is something to read only when the test is gone.
        awaited = [sys.stdin, *(process.sentinel for process in running)]
        if (
            not ended_well
            or time.monotonic() > until
            or sys.stdin in multiprocessing.connection.wait(awaited, until - time.monotonic())
        ):
            for process in running:
                os.kill(process.pid, signal.SIGABRT)  # upon which faulthandler says where it is
            break
    for process in processes:
        process.join()
    return [process.exitcode for process in processes]


if __name__ == "__main__":
    forks = multiprocessing.get_context("fork")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a script's import prints is no answer
    while line := sys.stdin.readline():
        print(json.dumps(exit_codes(**json.loads(line))), file=answers, flush=True)
