"""GPUs by their product names, as `ddpsim list` has them, and the links and ports of the nodes they are sold in.

A GPU that is not in the list has a stand-in of its own architecture, or the next newer one: the step is scaled to a given
one, so only the shares of forward and backward are the stand-in's. Links are data sheet values."""

import re

from vocabulary.entries import cased, joined, means, refused
from vocabulary.scan import scan

LISTED = joined(
    *(
        means("gpu", name, name, *others)
        for name, others in {
            "GB300": (), "GB200": (), "B300": (), "B200": ("B200-SXM",), "H200": ("H200 SXM", "H200-SXM5"), "H200-NVL": ("H200 NVL",),
            "GH200": ("GH200 Grace Hopper", "Grace Hopper"), "H100": ("H100 SXM", "H100-SXM5", "H100 SXM5", "Hopper H100"), "H100-NVL": ("H100 NVL",),
            "H100-PCIE": ("H100 PCIe",), "H800": ("H800 SXM",), "H800-PCIE": ("H800 PCIe",), "H20": (), "A100": ("A100 SXM", "A100-SXM4", "A100X"),
            "A800": ("A800 SXM",), "V100": ("V100-SXM2", "V100-SXM3", "Tesla V100", "V100 SXM"), "V100S": ("V100S-PCIe",),
            "P100": ("P100-SXM2", "Tesla P100"), "L40S": (), "L40": (), "A30": (), "A40": (), "A10": (), "L4": (), "L20": (), "A10G": (), "T4": ("Tesla T4",),
            "A16": (), "RTX5090": ("RTX 5090", "5090", "GeForce RTX 5090"), "RTX4090": ("RTX 4090", "4090", "GeForce RTX 4090"),
            "RTX6000Ada": ("RTX 6000 Ada", "6000 Ada", "RTX 6000 Ada Generation"), "A6000": ("RTX A6000", "Quadro A6000"), "A5000": ("RTX A5000",),
            "TITANRTX": ("TITAN RTX",), "RTX3090": ("RTX 3090", "3090", "GeForce RTX 3090"), "RTX2080Ti": ("RTX 2080 Ti", "2080 Ti", "2080Ti", "GeForce RTX 2080 Ti"),
            "RTXPRO6000-WORKSTATION": ("RTX PRO 6000", "RTX PRO 6000 Blackwell"), "MI355X": (), "MI325X": (), "MI300X": (), "MI300A": (),
            "MI250X": ("MI250X GCD",), "MI210": (),
        }.items()
    )
)  # fmt: skip

STAND_INS = joined(
    means("stand_in", "P100", """
        K80, K40, K40c, K40m, K20, K20X, M40, M60, P40, P4, GTX 1080 Ti, 1080 Ti, 1080Ti, GTX 1080, GTX1080Ti, TITAN
        X, TITAN Xp, TITAN X Pascal, GTX TITAN X, GTX 1070, Pascal, Maxwell, Quadro P6000, Quadro M6000"""),
    means("stand_in", "V100", "TITAN V, GV100, Quadro GV100, Volta"),
    means("stand_in", "TITANRTX", "Quadro RTX 6000, Quadro RTX 8000, RTX 8000, RTX 6000, RTX8000"),
    means("stand_in", "RTX2080Ti", """
        RTX 2080, RTX 2070, RTX 2080 Super, GTX 1660 Ti, RTX 2060, 2080, RTX 5000"""),
    means("stand_in", "RTX3090", """
        RTX 3090 Ti, RTX 3080, RTX 3080 Ti, RTX 3070, RTX 3060, 3080, 3090 Ti, RTX3080"""),
    means("stand_in", "RTX4090", "RTX 4080, RTX 4070, RTX 4090D, RTX 4070 Ti, RTX 4060 Ti, 4080"),
    means("stand_in", "A6000", "A4000, RTX A4000, RTX A4500"),
    means("stand_in", "MI210", "MI250, MI100, MI50"),
)  # fmt: skip

GPU_WORDS = joined(
    LISTED,
    STAND_INS,
    cased("form", "pcie", "PCIe, PCIE, PCI-E, pcie"),
    means("form", "sxm", "SXM, SXM2, SXM3, SXM4, SXM5, HGX"),
    refused("GPU not in `ddpsim list`", """
        TPU, TPUv3, TPUv4, TPUv5e, v3-8, Gaudi, Gaudi2, HPU, Ascend, Ascend 910, NPU, Trainium, trn1, Xeon, CPU,
        Cerebras, IPU, PVC, Max 1550, MLU, Inferentia, M1, M2 Ultra, MPS, XPU, DCU"""),
)  # fmt: skip

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
    "GB300": "nvswitch:900GBps", "GB200": "nvswitch:900GBps", "B300": "nvswitch:900GBps", "B200": "nvswitch:900GBps", "H200": "nvswitch:450GBps",
    "GH200": "nvlink:18x25GBps:mesh", "H100": "nvswitch:450GBps", "H800": "nvswitch:200GBps", "H20": "nvswitch:450GBps", "A100": "nvswitch:300GBps",
    "A800": "nvswitch:200GBps", "MI355X": "xgmi:7x64GBps", "MI325X": "xgmi:7x64GBps", "MI300X": "xgmi:7x64GBps", "MI250X": "xgmi:7x50GBps",
    "H100-PCIE": PCIE5, "H800-PCIE": PCIE5, "H100-NVL": PCIE5, "H200-NVL": PCIE5, "L40S": PCIE4, "L40": PCIE4, "A30": PCIE4, "A40": PCIE4, "A10": PCIE4,
    "L4": PCIE4, "L20": PCIE4, "A10G": PCIE4, "T4": PCIE3, "A16": PCIE4, "RTX5090": PCIE5, "RTX4090": PCIE4, "RTX6000Ada": PCIE4, "A6000": PCIE4,
    "A5000": PCIE4, "RTX3090": PCIE4, "RTX2080Ti": PCIE3, "TITANRTX": PCIE3, "RTXPRO6000-WORKSTATION": PCIE5, "MI300A": "xgmi:6x64GBps", "MI210": PCIE4,
    "V100S": PCIE3,
}  # fmt: skip
NVLINKS = {"V100": "6x25GBps", "P100": "4x20GBps"}
# Sold separately, for a pair.
BRIDGES = {"TITANRTX": "nvlink:2x25GBps", "RTX2080Ti": "nvlink:2x25GBps", "RTX3090": "nvlink:4x14GBps", "A6000": "nvlink:4x14GBps", "A40": "nvlink:4x14GBps",
           "A5000": "nvlink:4x14GBps"}  # fmt: skip
# The port that a GPU of each generation has in its maker's nodes of eight (DGX A100, DGX H100 and B200), in Gb/s.
PORTS = {"A100": 200, "A800": 200, "H100": 400, "H800": 400, "H200": 400, "H20": 400, "B200": 400, "B300": 800, "GB200": 400, "GB300": 800,
         "GH200": 200, "MI300X": 400, "MI325X": 400, "MI355X": 400}  # fmt: skip


def gpu_of(text):
    """The GPU that a text names, and whether it is a stand-in for it; a reason instead of a name if there is none."""
    found = scan(text, GPU_WORDS)
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
