"""Writes the two workloads of the lab. Usage: lab_workloads.py FOLDER

One is like ResNet: 161 tensors, 6.9 M parameters, 60 + 150 ms. The other is like BERT: 103 tensors with an embedding of
8 MB at the end, 50 + 120 ms."""

import json
import pathlib
import sys


def resnet_parameters():
    """The parameters of ResNet-50 at half its width, in definition order."""
    parameters = []

    def conv(name, out, inside, kernel):
        parameters.append((name + ".weight", [out, inside, kernel, kernel]))

    def norm(name, channels):
        parameters.append((name + ".weight", [channels]))
        parameters.append((name + ".bias", [channels]))

    conv("conv1", 32, 3, 7)
    norm("bn1", 32)
    inside = 32
    for stage, (width, blocks) in enumerate([(32, 3), (64, 4), (128, 6), (256, 3)], 1):
        for block in range(blocks):
            name = f"layer{stage}.{block}"
            conv(name + ".conv1", width, inside, 1)
            norm(name + ".bn1", width)
            conv(name + ".conv2", width, width, 3)
            norm(name + ".bn2", width)
            conv(name + ".conv3", width * 4, width, 1)
            norm(name + ".bn3", width * 4)
            if block == 0:
                conv(name + ".downsample.0", width * 4, inside, 1)
                norm(name + ".downsample.1", width * 4)
            inside = width * 4
    parameters += [("fc.weight", [1000, 1024]), ("fc.bias", [1000])]
    return parameters


def bert_parameters():
    """The parameters of six layers of width 256 after an embedding of 8192 words, in definition order."""
    hidden = 256

    def linear(name, out, inside):
        return [(name + ".weight", [out, inside]), (name + ".bias", [out])]

    def norm(name):
        return [(name + ".weight", [hidden]), (name + ".bias", [hidden])]

    parameters = [
        ("embeddings.word.weight", [8192, hidden]),
        ("embeddings.position.weight", [512, hidden]),
        ("embeddings.type.weight", [2, hidden]),
    ] + norm("embeddings.norm")
    for layer in range(6):
        name = f"layer.{layer}"
        for part in ("query", "key", "value", "output"):
            parameters += linear(f"{name}.attention.{part}", hidden, hidden)
        parameters += norm(name + ".attention.norm")
        parameters += linear(name + ".intermediate", 4 * hidden, hidden)
        parameters += linear(name + ".output", hidden, 4 * hidden)
        parameters += norm(name + ".norm")
    return parameters + linear("pooler", hidden, hidden)


def workload(name, parameters, forward_us, backward_us):
    """A workload. Backward finishes the tensors in reverse order; those with several dimensions share its time
    evenly."""
    order = list(range(len(parameters)))[::-1]
    heavy = sum(len(shape) > 1 for _, shape in parameters)
    ready, done = [], 0
    for index in order:
        done += len(parameters[index][1]) > 1
        ready.append({"parameter": index, "at_us": round(backward_us * max(done, 1) / heavy, 3)})
    return {
        "schema": "ddpsim.workload/1",
        "name": name,
        "gpu": "",
        "precision": "fp32",
        "parameter_order": "definition",
        "parameters": [{"name": n, "shape": s, "dtype": "float32"} for n, s in parameters],
        "forward": {"duration_us": forward_us},
        "backward": {"duration_us": backward_us, "ready": ready},
        # Waits have deadlines, so copies into buckets take no extra time, as if the recording contained them.
        "recorded_with": {"ddp_hooks": True},
        "provenance": {"source": "tests/lab/lab_workloads.py; nobody recorded it"},
    }


def all_workloads():
    return {
        "resnet-like": workload("resnet-like", resnet_parameters(), 60_000, 150_000),
        "bert-like": workload("bert-like", bert_parameters(), 50_000, 120_000),
    }


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in all_workloads().items():
        (folder / f"{name}.json").write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
