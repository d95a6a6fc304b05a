"""GPUs by their product names, as `ddpsim list` has them, and the links and ports of the nodes they are sold in.

A GPU that is not in the list has a stand-in of its own architecture, or the next newer one. Its step is scaled to a
given one, so only the shares of forward and backward are the stand-in's. Links are data sheet values."""

import re

from vocabulary.scan import scan
from vocabulary.tables import table

WORDS = table("gpus")

# Products of one name with another form: their data sheets differ.
PCIE_FORMS = {
    "A100": "A100-{}GB-PCIE",
    "A800": "A800-{}GB-PCIE",
    "V100": "V100-{}GB-PCIE",
    "P100": "P100-16GB-PCIE",
    "H100": "H100-PCIE",
    "H800": "H800-PCIE",
}
SMALLER = {"A100": 40, "A800": 40, "V100": 16}

PCIE3, PCIE4, PCIE5 = "pcie:15.75GBps", "pcie:31.5GBps", "pcie:63GBps"
# The links of a node with as many GPUs as usual.
NODES = {
    "GB300": "nvswitch:900GBps",
    "GB200": "nvswitch:900GBps",
    "B300": "nvswitch:900GBps",
    "B200": "nvswitch:900GBps",
    "H200": "nvswitch:450GBps",
    "GH200": "nvlink:18x25GBps:mesh",
    "H100": "nvswitch:450GBps",
    "H800": "nvswitch:200GBps",
    "H20": "nvswitch:450GBps",
    "A100": "nvswitch:300GBps",
    "A800": "nvswitch:200GBps",
    "MI355X": "xgmi:7x64GBps",
    "MI325X": "xgmi:7x64GBps",
    "MI300X": "xgmi:7x64GBps",
    "MI250X": "xgmi:7x50GBps",
    "H100-PCIE": PCIE5,
    "H800-PCIE": PCIE5,
    "H100-NVL": PCIE5,
    "H200-NVL": PCIE5,
    "L40S": PCIE4,
    "L40": PCIE4,
    "A30": PCIE4,
    "A40": PCIE4,
    "A10": PCIE4,
    "L4": PCIE4,
    "L20": PCIE4,
    "A10G": PCIE4,
    "T4": PCIE3,
    "A16": PCIE4,
    "RTX5090": PCIE5,
    "RTX4090": PCIE4,
    "RTX6000Ada": PCIE4,
    "A6000": PCIE4,
    "A5000": PCIE4,
    "RTX3090": PCIE4,
    "RTX2080Ti": PCIE3,
    "TITANRTX": PCIE3,
    "RTXPRO6000-WORKSTATION": PCIE5,
    "MI300A": "xgmi:6x64GBps",
    "MI210": PCIE4,
    "V100S": PCIE3,
}
NVLINKS = {"V100": "6x25GBps", "P100": "4x20GBps"}
# Sold separately, for a pair.
BRIDGES = {
    "TITANRTX": "nvlink:2x25GBps",
    "RTX2080Ti": "nvlink:2x25GBps",
    "RTX3090": "nvlink:4x14GBps",
    "A6000": "nvlink:4x14GBps",
    "A40": "nvlink:4x14GBps",
    "A5000": "nvlink:4x14GBps",
}
# Ports of nodes whose GPUs each have one, in Gb/s. So have the makers' nodes of eight (DGX A100, DGX H100 and their like).
# Only the DGX-2 has 16 V100.
PORTS = {
    (name, 8): f"8x{rate}Gbps:ib"
    for name, rate in {
        "A100": 200,
        "A800": 200,
        "H100": 400,
        "H800": 400,
        "H200": 400,
        "H20": 400,
        "B200": 400,
        "B300": 800,
        "GH200": 200,
        "MI300X": 400,
        "MI325X": 400,
        "MI355X": 400,
    }.items()
} | {("V100", 16): "8x100Gbps:ib"}


def gpu_of(text):
    """The GPU that a text names, and whether it is a stand-in for it; a reason instead of a name if there is none."""
    found = scan(text, WORDS)
    names = found.facts.get("gpu", []) + found.facts.get("stand_in", [])
    if found.refused and not names:
        return None, False, found.refused[0]
    if len(set(names)) != 1:
        return (
            None,
            False,
            "several GPUs named" if names else "GPU not in `ddpsim list`" if text.strip() else "GPU not stated",
        )
    name = names[0]
    if "pcie" in found.facts.get("form", []) and name in PCIE_FORMS and "sxm" not in found.facts["form"]:
        stated = re.search(r"\b(16|32|40|80) ?G", text)
        name = PCIE_FORMS[name].format(stated.group(1) if stated else SMALLER.get(name))
    return name, "gpu" not in found.facts, None
