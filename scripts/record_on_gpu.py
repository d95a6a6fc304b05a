#!/usr/bin/env python3
"""Records real models with the recorder and with torch.profiler at once, and says how far the two disagree.

    scripts/record_on_gpu.py -o out/recorded                     # every model, precision and batch
    scripts/record_on_gpu.py -o out/recorded --only resnet50     # configurations whose name contains this
    scripts/record_on_gpu.py -o out/recorded --compare           # a folder recorded elsewhere, where ddpsim is at hand

Each configuration (model, precision, batch, alone or under DDP with one rank) is trained twice: recorded alone, which
gives NAME.json to keep, and one step recorded while torch.profiler watches, which gives NAME-profiled.json and
NAME-trace.json.gz of the same step. The trace goes through `ddpsim import`; gradient by gradient the ready times of both
are compared, as a share of the backward. Without a GPU (a proof that this script runs) the profiler's own host events
stand in for the import, and models shrink. Needs torch; torchvision for ResNet, transformers for BERT and GPT-2."""

import argparse
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "traces" / "recorder"))
TARGET_PERCENT = 2.0  # of the backward


def resnet50(torch, device, batch):
    import torchvision
    side = 224 if device == "cuda" else 64
    model = torchvision.models.resnet50().to(device)
    images, labels = torch.rand(batch, 3, side, side, device=device), torch.zeros(batch, dtype=torch.long, device=device)
    return model, lambda run: torch.nn.functional.cross_entropy(run(images), labels)


def language_model(torch, device, batch, kind, large):
    import transformers
    words = 128 if device == "cuda" else 16
    if kind == "bert":
        size = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096}
        model = transformers.BertForMaskedLM(transformers.BertConfig(**size if large else {}))
    else:
        size = {"n_embd": 1024, "n_layer": 24, "n_head": 16}
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**size if large else {}))
    model = model.to(device).train()
    tokens = torch.zeros(batch, words, dtype=torch.long, device=device)
    return model, lambda run: run(input_ids=tokens, labels=tokens).loss


MODELS = {
    "resnet50": (resnet50, (32, 128)),
    "bert-base": (lambda *job: language_model(*job, "bert", False), (8, 32)),
    "bert-large": (lambda *job: language_model(*job, "bert", True), (4, 16)),
    "gpt2": (lambda *job: language_model(*job, "gpt2", False), (8, 32)),
    "gpt2-medium": (lambda *job: language_model(*job, "gpt2", True), (4, 16)),
}


def configurations(device):
    for name, (make, batches) in MODELS.items():
        for batch in batches if device == "cuda" else (2,):
            for precision in ("fp32", "bf16") if device == "cuda" else ("fp32",):
                for ddp in (False, True):
                    yield f"{name}-b{batch}-{precision}{'-ddp' if ddp else ''}", make, batch, precision, ddp


def train(torch, configuration, device, folder):
    from ddpsim_recorder import Recorder
    name, make, batch, precision, ddp = configuration
    model, loss = make(torch, device, batch)
    if ddp:
        model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[0] if device == "cuda" else None)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16, enabled=precision == "bf16"):
            value = loss(model)
        value.backward()
        optimizer.step()

    recorder = Recorder(model, folder / f"{name}.json", name=name, batch_size=batch, steps=10 if device == "cuda" else 2)
    while not recorder.finished:
        step()
        recorder.step()

    watched = Recorder(model, folder / f"{name}-profiled.json", name=name, batch_size=batch, warmup=3, steps=1)
    activities = [torch.profiler.ProfilerActivity.CPU]
    if device == "cuda":
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    # Steps 0 to 3 warm up and are plain; 4 is the recorded one; 5 ends it in the trace.
    with torch.profiler.profile(activities=activities, record_shapes=True,
                                schedule=torch.profiler.schedule(wait=2, warmup=2, active=2)) as profiler:
        for _ in range(6):
            step()
            watched.step()
            profiler.step()
    if device == "cuda":
        profiler.export_chrome_trace(str(folder / f"{name}-trace.json.gz"))
    else:
        (folder / f"{name}-host.json").write_text(json.dumps(host_times(profiler.events())))


def host_times(events):
    """Without a GPU: when each AccumulateGrad of the first backward ended, from the start of its first node."""
    node = "autograd::engine::evaluate_function"
    nodes = sorted((e.time_range.start, e.time_range.end, e.name) for e in events if e.name.startswith(node))
    gradients = sorted((e.time_range.start, e.time_range.end) for e in events
                       if e.name == "torch::autograd::AccumulateGrad")
    gradients = gradients[:len(gradients) // 2]  # of the two steps the profiler saw
    return [end - nodes[0][0] for _, end in gradients]


def find_ddpsim():
    built = [ROOT / "build" / kind / "cli" / "ddpsim" for kind in ("release", "demo", "dev")]
    return os.environ.get("DDPSIM_BIN") or shutil.which("ddpsim") or next((str(b) for b in built if b.exists()), None)


def profiled_times(folder, name):
    """Ready times in execution order by the profiler; None with the reason where there are none."""
    host = folder / f"{name}-host.json"
    if host.exists():
        return json.loads(host.read_text()), ""
    ddpsim = find_ddpsim()
    if ddpsim is None:
        return None, "ddpsim is not built here: run with --compare where it is"
    imported = folder / f"{name}-imported.json"
    run = subprocess.run([ddpsim, "import", folder / f"{name}-trace.json.gz", "-o", imported, "--iteration", "0"],
                         capture_output=True, text=True)
    if run.returncode != 0:
        return None, run.stderr.strip()
    return [entry["at_us"] for entry in json.loads(imported.read_text())["backward"]["ready"]], ""


def compare(folder, only):
    """Prints a row per configuration; how many missed the target or could not be compared."""
    print(f"{'configuration':28} {'gradients':>9} {'backward ms':>11} {'median %':>9} {'p90 %':>6} {'worst %':>8}")
    missed = 0
    for path in sorted(folder.glob("*-profiled.json")):
        name = path.name[:-len("-profiled.json")]
        if only not in name:
            continue
        document = json.loads(path.read_text())
        recorded = [entry["at_us"] for entry in document["backward"]["ready"]]
        backward = document["backward"]["duration_us"]
        profiled, problem = profiled_times(folder, name)
        if profiled is not None and len(profiled) != len(recorded):
            profiled, problem = None, f"{len(recorded)} gradients recorded, {len(profiled)} profiled"
        if profiled is None:
            print(f"{name:28} {problem}")
            missed += 1
            continue
        errors = sorted(100 * abs(a - b) / backward for a, b in zip(recorded, profiled))
        print(f"{name:28} {len(errors):9} {backward / 1000:11.2f} {statistics.median(errors):9.2f} "
              f"{errors[-(-9 * len(errors) // 10) - 1]:6.2f} {errors[-1]:8.2f}")
        missed += errors[-1] > TARGET_PERCENT
    print(f"{missed} missed {TARGET_PERCENT:g} % or could not be compared")
    return missed


def main():
    if hasattr(signal, "SIGCHLD"):
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, every exit code reads as 0
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, metavar="FOLDER")
    parser.add_argument("--only", default="", metavar="TEXT", help="configurations whose name contains this")
    parser.add_argument("--compare", action="store_true", help="record nothing; compare what FOLDER holds")
    options = parser.parse_args()
    if not options.compare:
        import torch
        device = "cuda" if torch.cuda.is_available() else "cpu"
        options.output.mkdir(parents=True, exist_ok=True)
        backend = "nccl" if device == "cuda" else "gloo"
        meeting = (options.output / "meeting").resolve()
        meeting.unlink(missing_ok=True)
        torch.distributed.init_process_group(backend, init_method=f"file://{meeting}", rank=0, world_size=1)
        print(f"torch {torch.__version__}, {torch.cuda.get_device_name() if device == 'cuda' else 'no GPU: CPU'}",
              flush=True)
        for configuration in configurations(device):
            if options.only not in configuration[0]:
                continue
            try:
                train(torch, configuration, device, options.output)
            except ImportError as error:
                print(f"{configuration[0]}: left out, {error}", flush=True)
        torch.distributed.destroy_process_group()
    return 1 if compare(options.output, options.only) else 0


if __name__ == "__main__":
    sys.exit(main())
