"""The nodes of a row of published measurements: GPU, links and ports in the words of a cluster line."""

import re

from row_words import NotPredicted, whole
from vocabulary.gpus import BRIDGES, NODES, NVLINKS, PCIE3, PCIE4, PORTS, gpu_of
from vocabulary.machines import machine_of
from vocabulary.networks import kind_of, ports_of

PCIE, NVLINK, BRIDGE = "PCIe in the node", "NVLink in the node", "an NVLink bridge, as documented of such a pair"
PORT_EACH = "a port for each GPU, as its generation's nodes have"
STAND_IN = "forward's share of a step, as of a newer GPU"
GPUS_OF_A_NODE, SWITCHED = "GPUs of a node", "NVSwitch in the node"
MOST_GPUS = 10**6
DOMAIN = 18  # nodes of an NVL72


class Machine:
    """The nodes of a row. `assumed` gets what no word says."""

    def __init__(self, row, assumed, words):
        self.row, self.assumed, self.words = row, assumed, words
        self.network, card = row.get("network") or "", row.get("gpu") or ""
        self.gpu, self.stands_in, reason = gpu_of(card)
        # A machine is known by its own GPU, not by the stand-in.
        old = re.search(r"K80", card)
        named = old.group(0) if old else self.gpu or ""
        remarks = " ; ".join(row.get(name) or "" for name in ("framework", "scheme_settings", "notes"))
        self.machine = machine_of(f"{card} ; {self.network}", named) or machine_of(remarks, named)
        if self.gpu is None and self.machine:
            self.gpu, self.stands_in, reason = gpu_of(self.machine[0])
        if self.gpu is None or (self.stands_in and not row.get("baseline_gpus")):  # no step is given to scale to
            raise NotPredicted(reason or "GPU not in `ddpsim list`")
        if self.stands_in:
            assumed.append(STAND_IN)
        self.model = self.gpu.split("-")[0]
        self.size()

    def size(self):
        row = self.row
        nodes, per_node, gpus = (whole(row.get(name)) for name in ("nodes", "gpus_per_node", "n_gpus"))
        gpus = gpus or (nodes * per_node if nodes and per_node else None)
        if not gpus or gpus > MOST_GPUS:
            raise NotPredicted("number of GPUs not stated")
        if not per_node or "gpn-assumed" in (row.get("flags") or ""):
            self.assumed.append(GPUS_OF_A_NODE)
        if not per_node:
            per_node = gpus // nodes if nodes else self.machine[1] if self.machine else gpus  # taken for one machine
            if per_node > 8 and not self.machine:
                raise NotPredicted("number of nodes not stated")
        if nodes and (nodes == 1 and gpus > per_node or nodes > 1 and gpus != nodes * per_node):
            raise NotPredicted("contradiction: GPUs, nodes and GPUs of a node")
        if "cube" in self.network and self.gpu in NVLINKS:  # the row's GPUs are a part of eight
            per_node = 8
        self.gpus, self.per_node = gpus, max(1, per_node)
        self.nodes = self.nodes_of(gpus)

    def nodes_of(self, gpus):
        return max(1, -(-gpus // self.per_node))

    def inside(self):
        """The links inside a node."""
        links = self.wired()
        if self.words.get("p2p_disabled"):
            return (links if links.startswith("pcie") else PCIE4) + ":no-p2p"
        return links

    def wired(self):
        network, per_node = self.network, self.per_node
        by_pcie = re.search(r"PCI-?[Ee]", network + " " + (self.row.get("gpu") or "")) or "no NVLink" in network
        if per_node == 1:
            return ""
        links = self.machine[2] if self.machine and self.machine[1] >= per_node else ""
        if links and (not by_pcie or links.startswith("pcie")):
            return links
        if self.stands_in and self.model == "P100":  # Kepler has only PCIe
            return PCIE3
        if self.gpu in NVLINKS:
            return self.volta(by_pcie)
        if by_pcie and not re.search(r"(?<!no )nvlink", network, re.IGNORECASE):
            return (
                NODES[self.gpu]
                if NODES.get(self.gpu, "").startswith("pcie")
                else PCIE3
                if self.model in NVLINKS
                else PCIE4
            )
        if self.model in ("A100", "A800") and per_node == 4 and "PCIE" not in self.gpu:
            self.assumed.append(NVLINK)
            return "nvlink:12x25GBps:mesh"
        links = NODES.get(self.gpu) or (PCIE3 if self.model in NVLINKS else PCIE4)
        if "NVLink" not in network and links.startswith("nvswitch") and self.row.get("nodes") == "1":
            self.assumed.append(SWITCHED)
        if links.startswith("pcie"):
            if "nvlink" in network.lower() and self.gpu in BRIDGES and per_node == 2:
                if "links-assumed" in (self.row.get("flags") or ""):
                    self.assumed.append(BRIDGE)
                return BRIDGES[self.gpu]
            if not by_pcie:
                self.assumed.append(PCIE)
        return links

    def volta(self, by_pcie):
        """The links of V100 and P100, whose nodes differ."""
        if by_pcie or "slowest link" in self.network:
            # These are machines of two cards each, and the link between machines is the slowest.
            if not by_pcie:
                self.assumed.append(PCIE)
            return PCIE3
        if self.gpu == "V100" and (self.per_node == 16 or "NVSwitch" in self.network):
            return "nvswitch:150GBps"
        if "NVLink" not in self.network:
            self.assumed.append(NVLINK)
        return f"nvlink:{NVLINKS[self.gpu]}" + (":cube" if self.per_node == 8 else "")

    def stated_ports(self):
        """The network between nodes, as the row or its machine has it; "" if neither does."""
        stated, machine = ports_of(self.network, self.per_node), self.machine[3] if self.machine else ""
        if stated and not kind_of(self.network):  # the machine's, or one that the remarks name
            kind = (
                machine.rpartition(":")[2] or kind_of(f"{self.row.get('notes')} ; {self.row.get('framework')}") or "ib"
            )
            stated = re.sub(r":\w*$", ":" + kind, stated)
        return stated or machine

    def ports(self):
        """The network between nodes, or the usual one."""
        stated, usual = self.stated_ports(), PORTS.get((self.gpu, self.per_node))
        if not stated and usual and kind_of(self.network) != "tcp":
            self.assumed.append(PORT_EACH)
            stated = usual
        if not stated:
            raise NotPredicted("network between nodes not stated")
        return re.sub(r":\w+$", ":tcp", stated) if self.words.get("ib_disabled") else stated

    def line(self):
        """A cluster line, as a function of its nodes: the links of a part of a node depend on the whole node."""
        rack = self.model in ("GB200", "GB300") and re.search("NVL ?72|NVLink domain", self.network)
        inside, ports = self.inside(), self.ports() if self.nodes > 1 and not rack else ""

        def of(nodes):
            parts = [f"node:{nodes}", f"domain:{DOMAIN}" if rack else "", f"gpu:{self.per_node}x{self.gpu}", inside]
            return " ".join(part for part in parts + ([f"nic:{ports}"] if nodes > 1 and ports else []) if part)

        return of
