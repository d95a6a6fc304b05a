"""The facts that a row of published measurements states: its columns read by one vocabulary.

A row is any mapping with some of the columns `scheme`, `scheme_settings`, `precision`, `framework`, `model`, `gpu`,
`gpus_per_node`, `nodes`, `n_gpus`, `network`, `per_gpu_batch`, `notes`. Only inputs are read, never a result, a source or
a row's name. What is missing or unknown is a reason (NotPredicted), never an error."""

import re

from vocabulary import WORDS
from vocabulary.gpus import BRIDGES, NODES, NVLINKS, PCIE3, PCIE4, PORTS, gpu_of
from vocabulary.machines import machine_of
from vocabulary.models import model_of
from vocabulary.networks import kind_of, ports_of
from vocabulary.scan import scan

PCIE, NVLINK, BRIDGE = "PCIe in the node", "NVLink in the node", "an NVLink bridge, as documented of such a pair"
PORT_EACH = "a port for each GPU, as its generation's nodes have"
STAND_IN = "forward's share of a step, as of a newer GPU"
GPUS_OF_A_NODE, SWITCHED = "GPUs of a node", "NVSwitch in the node"
DIMENSIONS, SEQUENCE = "dimensions, by the stated size", "sequence length, as the model was trained"
MOST_GPUS = 10**6
PRECISIONS = ("bf16-true", "bf16", "amp", "tf32", "fp32")  # the narrowest of several is that of products
WITHOUT_BF16 = ("V100", "P100", "T4", "RTX2080Ti", "TITANRTX")


class NotPredicted(Exception):
    """A row cannot be predicted. The message is one that several rows may share."""


class Words:
    """What the text columns of a row mean. Settings overrule the scheme's own words, and both what the library is."""

    def __init__(self, row):
        self.row = row
        read = {
            name: scan(row.get(name) or "", WORDS)
            for name in ("scheme", "scheme_settings", "precision", "framework", "notes")
        }
        self.settings, self.scheme, self.precision = read["scheme_settings"], read["scheme"], read["precision"]
        self.framework, self.notes = read["framework"], read["notes"]

    def get(self, concept, usual=None):
        """The value of a concept, by the column that says most about it."""
        for column in (self.settings, self.scheme, self.precision, self.framework):
            if concept in column.facts:
                return next((value for value in reversed(column.facts[concept]) if value is not None), None)
        return usual

    def has(self, concept, value):
        return any(value in column.facts.get(concept, []) for column in (self.settings, self.scheme, self.framework))

    def noted(self, concept):
        """The value of a concept that only the remarks state."""
        return next(iter(self.notes.facts.get(concept, [])), None)

    def check(self):
        """Raises the first reason why the program cannot simulate what the words mean."""
        for degree in ("tensor", "pipeline", "context", "expert"):
            if (self.get(degree) or 1) > 1:
                raise NotPredicted("not simulated: tensor, pipeline, context or expert parallel inside")
        for column in (self.scheme, self.settings, self.precision):
            if column.refused:
                raise NotPredicted(f"not simulated: {column.refused[0]}")
        for column in (self.scheme, self.settings, self.precision):
            if column.unknown:
                raise NotPredicted(f"unknown word: {column.unknown[0]}")


def whole(text):
    """The number in a column, or None."""
    found = re.fullmatch(r"\s*(\d+)(?:\.0+)?\s*", text or "")
    return int(found.group(1)) if found else None


class Machine:
    """The nodes of a row: GPU, links and ports in the words of a cluster line. `assumed` gets what no word says."""

    def __init__(self, row, assumed, words):
        self.row, self.assumed, self.words = row, assumed, words
        text = f"{row.get('gpu') or ''} ; {row.get('network') or ''}"
        self.network = row.get("network") or ""
        self.gpu, stands_in, reason = gpu_of(row.get("gpu") or "")
        stated = self.gpu or ""
        remarks = " ; ".join(row.get(name) or "" for name in ("framework", "scheme_settings", "notes"))
        named = re.sub(r".*(K80).*", r"\1", row.get("gpu") or "") if stands_in else stated
        self.machine = machine_of(text, named) or machine_of(remarks, named)
        if self.gpu is None and self.machine:
            self.gpu, stands_in, reason = gpu_of(self.machine[0])
        if self.gpu is None:
            raise NotPredicted(reason)
        if stands_in:
            assumed.append(STAND_IN)
        self.stands_in = stands_in
        self.size()

    def size(self):
        row, machine = self.row, self.machine
        nodes, per_node, gpus = (whole(row.get(name)) for name in ("nodes", "gpus_per_node", "n_gpus"))
        gpus = gpus or (nodes * per_node if nodes and per_node else per_node)
        if not gpus or gpus > MOST_GPUS:
            raise NotPredicted("number of GPUs not stated")
        if not per_node or "gpn-assumed" in (row.get("flags") or ""):
            self.assumed.append(GPUS_OF_A_NODE)
        if not per_node and nodes:
            per_node = -(-gpus // nodes)
        if not per_node and machine:
            per_node = machine[1]
        if (
            not per_node
            and gpus > 8
            and not NODES.get(self.gpu, "").startswith(("nvswitch", "xgmi"))
            and self.gpu != "V100"
        ):
            raise NotPredicted("number of nodes not stated")
        self.per_node = per_node or min(gpus, 8)
        self.gpus = gpus
        self.nodes = self.nodes_of(gpus)

    def nodes_of(self, gpus):
        return max(1, -(-gpus // self.per_node))

    def inside(self):
        """The links inside a node, in the words of a cluster line."""
        links = self.wired()
        if self.words.get("p2p_disabled"):
            return (links if links.startswith("pcie") else PCIE4) + ":no-p2p"
        return links

    def wired(self):
        network, gpu, per_node, model = self.network, self.gpu, self.per_node, self.gpu.split("-")[0]
        by_pcie = re.search(r"PCI-?[Ee]", network + " " + (self.row.get("gpu") or "")) or "no NVLink" in network
        if per_node == 1:
            return ""
        if self.machine and self.machine[1] in (per_node, 8) and self.machine[2] and not by_pcie:
            return self.machine[2]
        if self.stands_in and model == "P100":  # Kepler, Maxwell and cards of Pascal have only PCIe
            return PCIE3
        if gpu in NVLINKS:
            return self.volta(by_pcie)
        if by_pcie and not re.search(r"(?<!no )nvlink", network, re.IGNORECASE):
            return PCIE4 if not NODES.get(gpu, "").startswith("pcie") else NODES[gpu]
        if model in ("A100", "A800") and per_node == 4 and "PCIE" not in gpu:
            self.assumed.append(NVLINK)
            return "nvlink:12x25GBps:mesh"
        links = NODES.get(gpu) or (PCIE3 if model in NVLINKS else PCIE4)
        if "NVLink" not in network and links.startswith("nvswitch") and self.row.get("nodes") == "1":
            self.assumed.append(SWITCHED)
        if links.startswith("pcie"):
            if "nvlink" in network.lower() and gpu in BRIDGES and per_node == 2:
                if "links-assumed" in (self.row.get("flags") or ""):
                    self.assumed.append(BRIDGE)
                return BRIDGES[gpu]
            if not by_pcie:
                self.assumed.append(PCIE)
        return links

    def volta(self, by_pcie):
        if by_pcie or "slowest link" in self.network:
            if not by_pcie:  # machines of two cards each; the link between machines is the slowest
                self.assumed.append(PCIE)
            return PCIE3
        if self.gpu == "V100" and self.per_node == 16:
            return "nvswitch:150GBps"
        if "NVLink" not in self.network:
            self.assumed.append(NVLINK)
        return f"nvlink:{NVLINKS[self.gpu]}" + (":cube" if self.per_node == 8 else "")

    def ports(self):
        """The network between nodes, in the words of a cluster line."""
        stated = ports_of(self.network, self.per_node)
        if not stated and self.machine and self.machine[3]:
            stated = self.machine[3]
        if not stated and not (self.network and kind_of(self.network) == "tcp"):
            model = self.gpu.split("-")[0]
            if model in PORTS and "PCIE" not in self.gpu and self.per_node >= (8 if model == "V100" else 4):
                self.assumed.append(PORT_EACH)
                stated = f"{self.per_node}x{PORTS[model]}Gbps:ib"
        if not stated:
            raise NotPredicted("network between nodes not stated")
        return re.sub(r":\w+$", ":tcp", stated) if self.words.get("ib_disabled") else stated

    def line(self):
        """A cluster line of all nodes, as a function of how many: the links of a part depend on the whole node."""
        inside, ports = self.inside(), self.ports() if self.nodes > 1 else ""

        def of(nodes):
            parts = (f"node:{nodes}", f"gpu:{self.per_node}x{self.gpu}", inside, f"nic:{ports}" if nodes > 1 else "")
            return " ".join(part for part in parts if part)

        return of


def model_stated(row, assumed, words):
    """The model of a row, and the tokens of a sample (None for images)."""
    model, tokens, reason = model_of(row.get("model") or "", row.get("params_M") or "")
    if model is None:
        raise NotPredicted(reason)
    if model.sized:
        assumed.append(DIMENSIONS)
    stated = words.get("sequence") or tokens or words.noted("sequence")
    by_batch = re.search(r"x (\d+) tokens", row.get("per_gpu_batch") or "")
    stated = stated or (int(by_batch.group(1)) if by_batch else None)
    if not model.tokens:
        return model, None
    if not stated:
        assumed.append(SEQUENCE)
    return model, stated or model.tokens


def batches(row, words, gpus):
    """Samples of a GPU in a micro-batch, and micro-batches of a step."""
    text = row.get("per_gpu_batch") or ""
    micro, micro_batches = whole(text), words.get("accumulate")
    everything = words.get("global_batch") or words.noted("global_batch")
    if micro is None and (
        found := re.match(r"\s*(\d+) ?(?:per GPU|/ ?GPU|x \d+ tokens|samples|images|sequences)", text)
    ):
        micro = int(found.group(1))
    if micro is None and (found := re.match(r"\s*(\d+) ?(?:total|global|in all)", text)):
        everything = int(found.group(1))
    micro = micro or words.get("micro_batch") or words.get("batch") or words.noted("micro_batch")
    if micro is None and everything and everything % (gpus * (micro_batches or 1)) == 0:
        micro = everything // (gpus * (micro_batches or 1))
    if not micro or micro > 10**6:
        raise NotPredicted("batch not stated")
    if micro_batches is None and everything and everything % (micro * gpus) == 0:
        micro_batches = everything // (micro * gpus)
    return int(micro), int(micro_batches or 1)


def precision_of(words, gpu, has_tokens, assumed):
    columns = [
        column.facts.get("precision", []) for column in (words.precision, words.settings, words.scheme, words.framework)
    ]
    named = next(
        (found for found in ([one for one in PRECISIONS if one in column] for column in columns) if found), [None]
    )
    if "bf16-true" in columns[1]:
        return "bf16-true"
    stated = named[0]
    if stated == "amp" and words.get("param_dtype") == "bf16":
        return "bf16"
    if not stated and (words.get("amp_fp8") or words.get("param_dtype") == "bf16"):
        return "bf16"
    if not stated and words.precision.facts.get("fp8"):
        raise NotPredicted("precision: fp8 alone")
    if stated:
        return stated
    if words.get("half_gradients"):
        return "amp"
    assumed.append("precision")
    if not has_tokens:
        return "fp32"
    return "amp" if gpu.split("-")[0] in WITHOUT_BF16 else "bf16"
