"""Machines by the names of their makers and clouds: GPU, GPUs of a node, links and ports (machines.txt)."""

import pathlib
import re


def machines():
    """Names, and GPU, GPUs of a node, links and ports."""
    text = pathlib.Path(__file__).with_name("machines.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if not line.startswith("#"):
            names, gpu, per_node, links, ports = (part.strip() for part in line.split(" | "))
            yield names.split(", "), (gpu, int(per_node), links.strip("-"), ports.strip("-"))


def spelt(name):
    return re.compile(r"(?<![a-z0-9])" + r"[ ._-]?".join(re.findall(r"[a-z]+|\d+", name.lower())) + r"(?![a-z0-9])")


SPELT = [(spelt(name), machine) for names, machine in machines() for name in names]


def machine_of(text, gpu):
    """The machine that a text names: GPUs of a node, links, ports. None if it names none, or only one with another GPU.

    `gpu` is the GPU that the row states, or "".
    """
    found = [
        (len(match.group(0)), machine)
        for pattern, machine in SPELT
        for match in [pattern.search(text.lower())]
        if match and (not gpu or machine[0].split("-")[0] == gpu.split("-")[0])
    ]
    return max(found, key=lambda one: one[0])[1] if found else None
