"""Machines by the names of their makers and clouds: GPU, GPUs of a node, links and ports, in the words of a cluster line.

Each is its documentation's. Rates of cloud networks are those of the whole instance."""

import re

from vocabulary.gpus import PCIE3, PCIE4

CUBE, V100_MESH = "nvlink:6x25GBps:cube", "nvlink:6x25GBps:mesh"

# Names, GPU, GPUs of a node, links inside, ports.
MACHINES = (
    (("p3.16xlarge", "p3 16xlarge"), "V100", 8, CUBE, "1x25Gbps:tcp"),
    (("p3.8xlarge",), "V100", 4, V100_MESH, "1x10Gbps:tcp"),
    (("p3.2xlarge",), "V100", 1, "", "1x10Gbps:tcp"),
    (("p3dn.24xlarge", "p3dn"), "V100", 8, CUBE, "1x100Gbps:efa"),
    (("p2.16xlarge",), "K80", 16, PCIE3, "1x25Gbps:tcp"),
    (("p2.8xlarge",), "K80", 8, PCIE3, "1x10Gbps:tcp"),
    (("p2.xlarge",), "K80", 1, "", "1x1.25Gbps:tcp"),
    (("p4d.24xlarge", "p4d"), "A100", 8, "nvswitch:300GBps", "4x100Gbps:efa"),
    (("p4de.24xlarge", "p4de"), "A100", 8, "nvswitch:300GBps", "4x100Gbps:efa"),
    (("p5.48xlarge", "p5 instances", "p5 instance"), "H100", 8, "nvswitch:450GBps", "8x400Gbps:efa"),
    (("p5e.48xlarge", "p5en.48xlarge", "p5e", "p5en"), "H200", 8, "nvswitch:450GBps", "8x400Gbps:efa"),
    (("g4dn.12xlarge",), "T4", 4, PCIE3, "1x50Gbps:tcp"),
    (("g4dn.metal",), "T4", 8, PCIE3, "1x100Gbps:tcp"),
    (("g4dn.xlarge",), "T4", 1, "", "1x25Gbps:tcp"),
    (("g5.12xlarge",), "A10G", 4, PCIE4, "1x40Gbps:tcp"),
    (("g5.24xlarge",), "A10G", 4, PCIE4, "1x50Gbps:tcp"),
    (("g5.48xlarge",), "A10G", 8, PCIE4, "1x100Gbps:tcp"),
    (("g5.xlarge", "g5.2xlarge"), "A10G", 1, "", "1x10Gbps:tcp"),
    (("g6.12xlarge",), "L4", 4, PCIE4, "1x40Gbps:tcp"),
    (("g6.48xlarge",), "L4", 8, PCIE4, "1x100Gbps:tcp"),
    (("g6e.12xlarge",), "L40S", 4, PCIE4, "1x100Gbps:tcp"),
    (("g6e.48xlarge",), "L40S", 8, PCIE4, "4x100Gbps:efa"),
    (("NC6s_v3", "Standard_NC6s_v3"), "V100-16GB-PCIE", 1, "", "1x24Gbps:tcp-vm"),
    (("NC24rs_v3", "NC24s_v3"), "V100-16GB-PCIE", 4, "pcie:12GBps", "1x24Gbps:tcp-vm"),
    (("NC24rs_v2",), "P100-16GB-PCIE", 4, "pcie:12GBps", "1x24Gbps:tcp-vm"),
    (("ND40rs_v2", "ND40rs"), "V100", 8, CUBE, "1x100Gbps:ib"),
    (("ND96asr_v4", "ND96asr_A100_v4", "ND A100 v4"), "A100", 8, "nvswitch:300GBps", "8x200Gbps:ib"),
    (("ND96amsr_A100_v4", "ND96amsr", "NDm A100 v4"), "A100", 8, "nvswitch:300GBps", "8x200Gbps:ib"),
    (("ND96isr_H100_v5", "ND H100 v5"), "H100", 8, "nvswitch:450GBps", "8x400Gbps:ib"),
    (("ND96isr_H200_v5", "ND H200 v5"), "H200", 8, "nvswitch:450GBps", "8x400Gbps:ib"),
    (("a2-highgpu-8g",), "A100", 8, "nvswitch:300GBps", "1x100Gbps:tcp"),
    (("a2-highgpu-4g",), "A100", 4, "nvlink:12x25GBps:mesh", "1x50Gbps:tcp"),
    (("a2-megagpu-16g",), "A100", 16, "nvswitch:300GBps", "1x100Gbps:tcp"),
    (("a2-ultragpu-8g",), "A100", 8, "nvswitch:300GBps", "1x100Gbps:tcp"),
    (("a3-highgpu-8g", "a3-high"), "H100", 8, "nvswitch:450GBps", "4x200Gbps:tcpx"),
    (("a3-megagpu-8g", "a3-mega"), "H100", 8, "nvswitch:450GBps", "8x200Gbps:tcpx"),
    (("a3-ultragpu-8g", "a3-ultra"), "H200", 8, "nvswitch:450GBps", "8x400Gbps:roce"),
    (("BM.GPU4.8", "BM.GPU.A100-v2.8"), "A100", 8, "nvswitch:300GBps", "8x200Gbps:roce"),
    (("BM.GPU.H100.8",), "H100", 8, "nvswitch:450GBps", "8x400Gbps:roce"),
    (("BM.GPU3.8",), "V100", 8, CUBE, "2x25Gbps:tcp"),
    (("DGX-1P", "DGX-1"), "P100", 8, "nvlink:4x20GBps:cube", "4x100Gbps:ib"),
    (("DGX-1V", "DGX-1 V100", "DGX-1", "DGX1"), "V100", 8, CUBE, "4x100Gbps:ib"),
    (("DGX-2H", "DGX-2", "DGX2"), "V100", 16, "nvswitch:150GBps", "8x100Gbps:ib"),
    (("DGX A100", "DGXA100", "Selene", "DGX SuperPOD A100"), "A100", 8, "nvswitch:300GBps", "8x200Gbps:ib"),
    (("DGX Station A100",), "A100", 4, "nvlink:12x25GBps:mesh", ""),
    (("DGX Station",), "V100", 4, V100_MESH, ""),
    (("DGX H100", "DGXH100", "Eos"), "H100", 8, "nvswitch:450GBps", "8x400Gbps:ib"),
    (("DGX H200",), "H200", 8, "nvswitch:450GBps", "8x400Gbps:ib"),
    (("DGX B200", "HGX B200"), "B200", 8, "nvswitch:900GBps", "8x400Gbps:ib"),
    (("Perlmutter",), "A100", 4, "nvlink:12x25GBps:mesh", "4x200Gbps:slingshot"),
    (("Polaris",), "A100", 4, "nvlink:12x25GBps:mesh", "2x200Gbps:slingshot"),
    (("JUWELS Booster", "JUWELS"), "A100", 4, "nvlink:12x25GBps:mesh", "4x200Gbps:ib"),
    (("Leonardo",), "A100", 4, "nvlink:12x25GBps:mesh", "4x100Gbps:ib"),
    (("Alps",), "GH200", 4, "nvlink:18x25GBps:mesh", "4x200Gbps:slingshot"),
    (("MareNostrum 5", "MareNostrum5"), "H100", 4, "nvlink:18x25GBps:mesh", "4x200Gbps:ib"),
    (("Summit",), "V100", 6, "nvlink:4x25GBps:mesh", "2x100Gbps:ib"),
    (("Lassen", "Sierra"), "V100", 4, V100_MESH, "2x100Gbps:ib"),
    (("Frontier", "LUMI", "LUMI-G", "Crusher"), "MI250X", 8, "xgmi:7x50GBps", "4x200Gbps:slingshot"),
    (("ABCI",), "V100", 4, V100_MESH, "2x100Gbps:ib"),
    (("Longhorn",), "V100", 4, V100_MESH, "1x100Gbps:ib"),
    (("Piz Daint",), "P100-16GB-PCIE", 1, "", "1x80Gbps:ib"),
    (("Lonestar6",), "A100-40GB-PCIE", 3, PCIE4, "1x200Gbps:ib"),
)  # fmt: skip


def spelt(name):
    return re.compile(r"(?<![a-z0-9])" + r"[ ._-]?".join(re.findall(r"[a-z]+|\d+", name.lower())) + r"(?![a-z0-9])")


SPELT = [(spelt(name), machine) for machine in MACHINES for name in machine[0]]


def machine_of(text, gpu):
    """The machine that a text names: GPUs of a node, links, ports. None if it names none, or only one with another GPU.

    `gpu` is the GPU that the row states, or "".
    """
    found = [
        (len(match.group(0)), machine)
        for pattern, machine in SPELT
        for match in [pattern.search(text.lower())]
        if match and (not gpu or machine[1].split("-")[0] == gpu.split("-")[0])
    ]
    return max(found, key=lambda one: one[0])[1][1:] if found else None
