#!/usr/bin/env python3
"""Writes the bundled workloads in traces/data from published V100 measurements.

    scripts/make_bundled_workloads.py DDPSIM V100_TABLES traces/data

DDPSIM is the program. Its catalogue has the parameters of each model and the order in which their gradients are
finished. V100_TABLES is a folder with two kinds of table.

resnet50-fp32-bs32-param-ready.csv has 161 gradients in the order in which they appear. It tells the time from the first
backward kernel until each was written, as means over iterations 2..n. The columns are ready_us_1xV100 and
ready_us_ddp1xV100. The k-th time belongs to the k-th gradient of the catalogue's order.
  ddp1xV100  facebookresearch/HolisticTraceAnalysis, tests/data/ns_resolution_trace (MIT):
             DDP with one rank on a Tesla V100-SXM2-32GB
  1xV100     pytorch/kineto, tb_plugin/samples/resnet50_num_workers_0 (BSD-3-Clause):
             no DDP, on a Tesla V100-DGXS-32GB

pipedream-MODEL.csv has the forward and backward time of every module in forward order (msr-fiddle/pipedream, profiler
output, MIT; one GPU, fp32). The backward times follow one another without gaps, from the last row to the first. At the
end of a row with parameters their gradients are written. They are the next ones of the catalogue's order, and their
bytes must match the row. Only the row `Input`, which is data loading, is left out. So forward and backward are the sums
of the table.

The times are facts derived from these sources, not copies of them.
"""

import csv
import json
import math
import subprocess
import sys

RECORDINGS = {
    "resnet50-v100-b32": {
        "column": "ready_us_ddp1xV100",
        "forward": "30500",
        "backward": "63400",
        "optimizer": "1100",
        "iteration": "95700",
        "torch_at_least": "2.0",  # from NCCL's version in the trace
        # The 161 copies out of the buckets take 690 us, 537 us of it in kernels.
        "recorded_with": {"ddp_hooks": True, "world_size": 1, "nccl_kernels": 0, "finalize_us": 690},
        "provenance": {
            "summary": "ResNet-50, fp32, batch 32 on one V100 under DDP with one rank: "
            "copies into buckets recorded, no communication",
            "source": "facebookresearch/HolisticTraceAnalysis, tests/data/ns_resolution_trace (MIT)",
            "gpu_name": "Tesla V100-SXM2-32GB",
            "bucket_bytes": "8196000 31502336 26255360 26550272 9724160",
            "times": "means over iterations 2..n; forward is the GPU window before backward",
        },
    },
    "resnet50-v100-b32-plain": {
        "column": "ready_us_1xV100",
        # The window of 50 ms was launch-bound. Kernels were busy for 34.3 ms of it.
        "forward": "34300",
        "backward": "66122",
        "optimizer": "1853",
        # The recorded period is that of data loading on the main thread.
        "iteration": None,
        "torch_at_least": "1.8",  # the year of torch.profiler
        "recorded_with": {"ddp_hooks": False, "world_size": 1, "nccl_kernels": 0},
        "provenance": {
            "summary": "ResNet-50, fp32, batch 32 on one V100 without DDP",
            "source": "pytorch/kineto, tb_plugin/samples/resnet50_num_workers_0 (BSD-3-Clause)",
            "gpu_name": "Tesla V100-DGXS-32GB",
            "times": "means over iterations 2..n. Forward is kernel-busy time, because its window is launch-bound. "
            "There is no iteration, because the recorded period is that of data loading",
        },
    },
}
RECORDED_NAMES = (
    "Parameter names follow torchvision. The order is that in which autograd finishes gradients, "
    "measured with PyTorch 1.13. Times are derived from the source, which is not included"
)

# For each table the model of the catalogue, its title and its batch.
PROFILES = {
    "alexnet": ("alexnet", "AlexNet", 256),
    "densenet121": ("densenet121", "DenseNet-121", 64),
    "inception_v3": ("inception_v3", "Inception-v3", 128),
    "resnet18": ("resnet18", "ResNet-18", 256),
    "resnet50": ("resnet50", "ResNet-50", 128),
    "resnet101": ("resnet101", "ResNet-101", 64),
    "resnext101": ("resnext101_32x4d", "ResNeXt-101 32x4d", 64),
    "vgg16": ("vgg16", "VGG-16", 128),
}
PROFILED_TIMES = (
    "sums of module times, with a wait for the GPU after each. So forward is too long by up to 0.3 ms a module, "
    "backward by 0.03 ms. Neither optimizer nor iteration was measured. The source does not name the GPU; "
    "the times fit a V100 of 2019 within 15 %"
)
PROFILED_NAMES = (
    "Parameter names follow torchvision. A module's gradients are written when its row ends. "
    "Times are derived from the source, which is not included"
)


def model_of(ddpsim, name):
    """The parameters, ready order and buffers of a model of the catalogue."""
    estimate = subprocess.run(
        [ddpsim, "import", "%s@V100:b1" % name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True
    ).stdout
    document = json.loads(estimate)
    return {
        "parameters": document["parameters"],
        "sample": document["sample"],
        "buffers": document.get("buffers", []),
        "order": [event["parameter"] for event in document["backward"]["ready"]],
    }


def number(text):
    """A decimal number without trailing zeros."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def block(opening, lines, closing, indent):
    return opening + "\n" + ",\n".join(indent + "  " + line for line in lines) + "\n" + indent + closing


def phase(duration):
    return '{"duration_us": %s}' % duration


def document(name, batch, model, times, recording):
    """The JSON of a workload. `times` has one text per gradient in ready order.

    `recording` has the phases, recorded_with and provenance.
    """
    parameters = [json.dumps(parameter) for parameter in model["parameters"]]
    ready = ['{"parameter": %d, "at_us": %s}' % event for event in zip(model["order"], times)]
    fields = [
        '"schema": "ddpsim.workload/1"',
        '"name": "%s"' % name,
        '"gpu": "V100"',
        '"precision": "fp32"',
        '"batch_per_gpu": %d' % batch,
        '"samples_per_step": %d' % batch,
        '"sample": ' + json.dumps(model["sample"]),
        *(['"torch_at_least": "%s"' % recording["torch_at_least"]] if "torch_at_least" in recording else []),
        '"parameter_order": "definition"',
        '"parameters": ' + block("[", parameters, "]", "  "),
        '"forward": ' + phase(recording["forward"]),
        '"backward": '
        + block(
            "{", ['"duration_us": ' + recording["backward"], '"ready": ' + block("[", ready, "]", "    ")], "}", "  "
        ),
    ]
    for phase_name in ("optimizer", "iteration"):
        if recording.get(phase_name):
            fields.append('"%s": ' % phase_name + phase(recording[phase_name]))
    if model["buffers"]:
        buffers = [json.dumps(buffer) for buffer in model["buffers"]]
        fields.append('"buffers": ' + block("[", buffers, "]", "  "))
    for key in ("recorded_with", "provenance"):
        lines = ["%s: %s" % (json.dumps(k), json.dumps(v)) for k, v in recording[key].items()]
        fields.append('"%s": ' % key + block("{", lines, "}", "  "))
    return block("{", fields, "}", "") + "\n"


def recorded(name, recording, rows, model):
    for row, index in zip(rows, model["order"]):
        # A different shape means that the table is of another model.
        assert [int(d) for d in row["shape"].split("x")] == model["parameters"][index]["shape"], row
    assert len(rows) == len(model["order"])
    provenance = {**recording["provenance"], "names": RECORDED_NAMES}
    times = [number(row[recording["column"]]) for row in rows]
    return document(name, 32, model, times, {**recording, "provenance": provenance})


def microseconds(milliseconds):
    return round(1000 * float(milliseconds))  # exact: the tables have three decimals


def profiled(name, title, batch, rows, model):
    gradients = iter(model["order"])
    at = 0
    times = []
    for row in reversed(rows):
        at += microseconds(row["backward_ms"])
        left = int(row["param_bytes"])
        while left > 0:
            left -= 4 * math.prod(model["parameters"][next(gradients)]["shape"])
            times.append(str(at))
        assert left == 0, row
    assert next(gradients, None) is None
    return document(
        name,
        batch,
        model,
        times,
        {
            "forward": str(sum(microseconds(row["forward_ms"]) for row in rows)),
            "backward": str(at),
            "recorded_with": {"ddp_hooks": False, "world_size": 1, "nccl_kernels": 0},
            "provenance": {
                "summary": "%s, fp32, batch %d on one V100: module times of a profiler, added up" % (title, batch),
                "source": "msr-fiddle/pipedream, profiles of image_classification models (MIT)",
                "times": PROFILED_TIMES,
                "names": PROFILED_NAMES,
            },
        },
    )


def main(ddpsim, tables, folder):
    def rows_of(table):
        with open("%s/%s.csv" % (tables, table), newline="") as source:
            return list(csv.DictReader(source))

    def write(name, text):
        with open("%s/%s.json" % (folder, name), "w") as out:
            out.write(text)

    resnet50 = model_of(ddpsim, "resnet50")
    for name, recording in RECORDINGS.items():
        write(name, recorded(name, recording, rows_of("resnet50-fp32-bs32-param-ready"), resnet50))
    for table, (model, title, batch) in PROFILES.items():
        name = "%s-v100-b%d" % (model, batch)
        rows = [row for row in rows_of("pipedream-" + table) if row["layer"] != "Input"]
        write(name, profiled(name, title, batch, rows, model_of(ddpsim, model)))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
