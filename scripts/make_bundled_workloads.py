#!/usr/bin/env python3
"""Writes the bundled ResNet-50 workloads in traces/data from published measurements.

    scripts/make_bundled_workloads.py PARAM_READY.csv BUCKET_CASES.json traces/data

PARAM_READY.csv holds, for 161 gradients in the order they appear, the time from the first backward
kernel until each was written (columns ready_us_1xV100 and ready_us_ddp1xV100, means over iterations
2..n). BUCKET_CASES.json holds ResNet-50's parameters in definition order and the order in which
autograd finishes their gradients, measured with PyTorch 1.13. The k-th time belongs to the k-th
entry of that order.

The times are facts derived from two open traces, not copies of them:
  ddp1xV100  facebookresearch/HolisticTraceAnalysis, tests/data/ns_resolution_trace (MIT):
             DDP with one rank on a Tesla V100-SXM2-32GB
  1xV100     pytorch/kineto, tb_plugin/samples/resnet50_num_workers_0 (BSD-3-Clause):
             no DDP, on a Tesla V100-DGXS-32GB
"""

import csv
import json
import sys

RECORDINGS = {
    "resnet50-v100-b32": {
        "column": "ready_us_ddp1xV100",
        "forward": "30500",
        "backward": "63400",
        "optimizer": "1100",
        "iteration": "95700",
        # 161 copies out of the buckets: 537 us of kernels within a span of 690 us.
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
        # The 50 ms window was launch-bound: 34.3 ms is the time kernels were busy.
        "forward": "34300",
        "backward": "66122",
        "optimizer": "1853",
        "iteration": None,  # the recorded period is data loading on the main thread
        "recorded_with": {"ddp_hooks": False, "world_size": 1, "nccl_kernels": 0},
        "provenance": {
            "summary": "ResNet-50, fp32, batch 32 on one V100 without DDP",
            "source": "pytorch/kineto, tb_plugin/samples/resnet50_num_workers_0 (BSD-3-Clause)",
            "gpu_name": "Tesla V100-DGXS-32GB",
            "times": "means over iterations 2..n; forward is kernel-busy time, its window being "
                     "launch-bound; no iteration, the recorded period being data loading",
        },
    },
}
NAMES = ("Parameter names follow torchvision; the order is the one autograd finishes gradients in, "
         "measured with PyTorch 1.13; times derived from the source, which is not included")
BUFFERS = [("float32", 53120 * 4, 106), ("int64", 53 * 8, 53)]  # BatchNorm's statistics, counters


def number(text):
    """A decimal number without trailing zeros."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def block(opening, lines, closing, indent):
    return opening + "\n" + ",\n".join(indent + "  " + line for line in lines) + "\n" + indent + closing


def phase(duration):
    return '{"duration_us": %s}' % duration


def workload(name, recording, rows, model):
    order = model["gradient_ready_order"]
    assert len(rows) == len(order) == len(model["names"])
    for row, index in zip(rows, order):  # shapes agree at every place, or the table is another one
        assert [int(d) for d in row["shape"].split("x")] == model["shapes"][index], row
    parameters = [json.dumps({"name": n, "shape": s, "dtype": "float32"})
                  for n, s in zip(model["names"], model["shapes"])]
    ready = ['{"parameter": %d, "at_us": %s}' % (index, number(row[recording["column"]]))
             for row, index in zip(rows, order)]
    fields = [
        '"schema": "ddpsim.workload/1"',
        '"name": "%s"' % name,
        '"gpu": "V100"',
        '"precision": "fp32"',
        '"batch_per_gpu": 32',
        '"samples_per_step": 32',
        '"parameter_order": "definition"',
        '"parameters": ' + block("[", parameters, "]", "  "),
        '"forward": ' + phase(recording["forward"]),
        '"backward": ' + block("{", ['"duration_us": ' + recording["backward"],
                                     '"ready": ' + block("[", ready, "]", "    ")], "}", "  "),
        '"optimizer": ' + phase(recording["optimizer"]),
    ]
    if recording["iteration"]:
        fields.append('"iteration": ' + phase(recording["iteration"]))
    fields.append('"buffers": ' + block(
        "[", [json.dumps({"dtype": d, "bytes": b, "tensors": t}) for d, b, t in BUFFERS], "]", "  "))
    for key, values in (("recorded_with", recording["recorded_with"]),
                        ("provenance", {**recording["provenance"], "names": NAMES})):
        lines = ["%s: %s" % (json.dumps(k), json.dumps(v)) for k, v in values.items()]
        fields.append('"%s": ' % key + block("{", lines, "}", "  "))
    return block("{", fields, "}", "") + "\n"


def main(table, cases, folder):
    with open(table, newline="") as source:
        rows = list(csv.DictReader(source))
    with open(cases) as source:
        model = json.load(source)["param_lists"]["resnet50"]
    for name, recording in RECORDINGS.items():
        with open("%s/%s.json" % (folder, name), "w") as out:
            out.write(workload(name, recording, rows, model))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
