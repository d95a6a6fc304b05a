"""Asks ddpsim for the step of a job (scheme_rows.py).

Compute runs at the estimate's own speed, or is scaled so that the step takes a given time."""

import functools
import hashlib
import json
import math
import os
import re
import subprocess

from row_words import NotPredicted
from scheme_report import shortened
from vocabulary.models import CONFIGS

MOST_STEPS = 8  # steps of the search for the compute scale
NEAR = 1e-3
APART = ("local_sgd", "slowmo")  # they average parameters and reduce no gradients
# Plausible compute scales. Beyond them something other than compute explains the figure. Published steps on the GPU
# itself need 0.7 to 1.6. A stand-in is another GPU, so its range is wider.
SCALES = (1 / 3, 3)
STAND_IN_SCALES = (0.05, 20)
HELD_UP = "the step given takes over thrice, or under a third of, what its GPU computes: no word says why"
# The memory option of every job, because it does not matter here whether a job fits.
EVERYTHING = "1000TB"


class Program:
    """Runs ddpsim once for each different command. With a cache file, results are kept between runs."""

    def __init__(self, path, folder, cache):
        self.path = path
        self.folder = folder
        self.cache = cache
        self.known = {}
        self.runs = 0
        with open(path, "rb") as file:
            self.version = hashlib.sha256(file.read()).hexdigest()[:16]
        if cache and os.path.exists(cache):
            with open(cache, encoding="utf-8") as file:
                kept = json.load(file)
            self.known = kept["answers"] if kept["version"] == self.version else {}

    def save(self):
        if self.cache:
            with open(self.cache, "w", encoding="utf-8") as file:
                json.dump({"version": self.version, "answers": self.known}, file)

    def __call__(self, *arguments):
        """The document without parts that no table needs. Raises NotPredicted if the program refuses."""
        key = " ".join(arguments).replace(self.folder, "")
        if key not in self.known:
            run = subprocess.run([self.path, *arguments], capture_output=True, text=True, check=False)
            self.runs += 1
            if run.returncode == 0:
                document = json.loads(run.stdout) if run.stdout.startswith("{") else {}
                document["bucket_count"] = len(document.get("buckets", []))
                document["interval_percent"] = document.get("confidence", {}).get("interval_percent", [0, 0])
                for part in ("buckets", "loss", "sensitivities", "confidence", "warnings"):
                    document.pop(part, None)
                document["collectives"] = sum(one["kind"] != "broadcast" for one in document.get("collectives", []))
                self.known[key] = document
            else:
                said = run.stderr.strip().splitlines()
                self.known[key] = {
                    "refused": re.sub(r"^ddpsim: ", "", said[0]) if said else f"exit code {run.returncode}"
                }
        answer = self.known[key]
        if "refused" in answer:
            raise NotPredicted("refused: " + shortened(answer["refused"].replace(self.folder + "/", "")))
        return answer


class Predictor:
    def __init__(self, program, folder):
        self.program = program
        self.folder = folder

    def workload(self, job, keeps_fp32=False):
        """WORKLOAD of a job: an estimate of its model on its GPU.

        If parameters arrive in bfloat16, nothing is cast, as in the estimates' bf16-true. There shards are in bfloat16,
        too, but FSDP keeps them in fp32; `keeps_fp32` says that this matters.
        """
        name = job.model
        config = json.dumps(CONFIGS[name]) if name in CONFIGS else name if name.startswith("{") else None
        if config:
            name = os.path.join(self.folder, hashlib.sha256(config.encode()).hexdigest()[:16] + ".json")
            if not os.path.exists(name):
                with open(name, "w", encoding="utf-8") as file:
                    file.write(config)
        parts = (
            [f"b{job.batch}"]
            + ([f"s{job.sequence}"] if job.sequence else [])
            + [job.precision + ("-true" if job.arrives_in_bf16 and not keeps_fp32 else "")]
        )
        if job.checkpointing != "none":
            parts.append(f"ckpt={job.checkpointing}")
        parts += job.estimate
        spec = f"{name}@{job.gpu}:" + ":".join(parts)
        return self.half(spec) if job.arrives_in_fp16 else spec

    def half(self, spec):
        """The path of the workload with parameters in fp16. Estimates keep them in fp32 and use autocast."""
        path = os.path.join(
            self.folder, hashlib.sha256(spec.replace(self.folder, "").encode()).hexdigest()[:16] + ".half.json"
        )
        if not os.path.exists(path):
            run = subprocess.run(
                [self.program.path, "import", spec, "-o", path], capture_output=True, text=True, check=False
            )
            if run.returncode != 0:
                raise NotPredicted("refused: " + shortened(run.stderr.strip()))
            with open(path, encoding="utf-8") as file:
                workload = json.load(file)
            for parameter in workload["parameters"]:
                parameter["dtype"] = "float16"
            with open(path, "w", encoding="utf-8") as file:
                json.dump(workload, file)
        return path

    def command(self, job, scale=1.0, keeps_fp32=False):
        words = ["simulate", self.workload(job, keeps_fp32), job.cluster, "--memory", EVERYTHING, "--json"]
        if scale != 1:
            words += ["--compute-scale", f"{scale:.6f}"]
        words += job.options
        return words + (["--scheme", job.scheme_text()] if job.scheme != "none" else [])

    def simulate(self, job, scale=1.0, keeps_fp32=False):
        answer = self.program(*self.command(job, scale, keeps_fp32))
        if job.scheme not in ("none", "ddp", *APART) and job.gpus > 1 and not answer["collectives"]:
            raise NotPredicted(f"the program's {job.scheme} reduces nothing yet")
        return answer

    def step_s(self, job, scale=1.0):
        """The time of a steady step in seconds. On one GPU without a scheme, it is compute once for each
        micro-batch."""
        if job.scheme == "none":
            return self.compute_s(job) / scale
        step = self.simulate(job, scale)
        if job.scheme == "ddp" and job.syncs_each:
            # DDP has no option to reduce each micro-batch, so each is a step without optimizer.
            return (job.micro_batches * (step["iteration_us"] - step["optimizer_us"]) + step["optimizer_us"]) / 1e6
        return step["iteration_us"] / 1e6

    @functools.lru_cache(None)
    def _alone(self, command):
        return self.program(*command)

    def compute_s(self, job):
        """The compute of one GPU in seconds, at the estimate's own speed."""
        step = self._alone(
            ("simulate", self.workload(job), f"node:1 gpu:1x{job.gpu}", "--memory", EVERYTHING, "--json")
        )
        return (job.micro_batches * (step["forward_us"] + step["backward_compute_us"]) + step["optimizer_us"]) / 1e6

    def scale_for(self, job, seconds):
        """The compute scale with which the step takes `seconds`; None if no plausible one does.

        A larger scale shortens the step, but less than proportionally.
        """
        low, high = (math.log(scale) for scale in (STAND_IN_SCALES if job.stands_in else SCALES))
        tried = []
        x = min(max(math.log(self.step_s(job) / seconds), low), high)
        tried.append((0.0, math.log(self.step_s(job) / seconds)))
        for _ in range(MOST_STEPS):
            miss = math.log(self.step_s(job, math.exp(x)) / seconds)
            if abs(miss) < NEAR:
                return math.exp(x)
            (x0, miss0), slope = tried[-1], -1.0
            if x != x0 and miss != miss0:
                slope = min((miss - miss0) / (x - x0), -0.02)
            tried.append((x, miss))
            x = min(max(x - miss / slope, low), high)
        return None
