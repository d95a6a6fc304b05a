"""The facts that a row of published measurements states: its columns read by one vocabulary.

A row is any mapping with some of the columns `scheme`, `scheme_settings`, `precision`, `framework`, `model`,
`params_M`, `gpu`, `gpus_per_node`, `nodes`, `n_gpus`, `network`, `per_gpu_batch`, `notes`. Only inputs are read,
never a result, a source or a row's name. What is missing, unknown or contradictory is a reason (NotPredicted), never
an error."""

import re

from vocabulary import WORDS
from vocabulary.models import model_of
from vocabulary.scan import scan

DIMENSIONS, SEQUENCE = "dimensions, by the stated size", "sequence length, as the model was trained"
COLUMNS = ("scheme", "scheme_settings", "precision", "framework", "per_gpu_batch", "notes")
# What remarks may state if no column does. Remarks are prose: other words in them may be about something else.
NOTED = set(
    """sequence bucket_mb micro_batch global_batch accumulate checkpointing checkpointed_blocks param_dtype
    reduce_dtype dtypes torch wrap min_num_params colocated own_servers servers optimizer attention
    syncs_each when overlap pull tensor pipeline context expert period comm_hook fused_optimizer
    overlap_grad_reduce overlap_param_gather single_process group""".split()
)
# Reasons that count wherever they are named.
NOTED_REASONS = (
    "parameters added or left out",
    "weights or products of 4 or 8 bits",
    "activations on the host",
    "compression without an option",
    "offload to NVMe",
)
# Only one value of these can hold.
EXCLUSIVE = ("stage", "strategy", "colocated", "mode")
# Narrower first: "mixed" does not say which half, and of several the narrowest is that of products.
PRECISIONS = ("bf16-true", "bf16", "amp", "mixed", "tf32", "fp32")
LENGTHS = {str(2**power) for power in range(7, 18)}
TOKENS_OF_A_STEP = 2**16  # no global batch has as many samples
WITHOUT_BF16 = ("V100", "P100", "T4", "RTX2080Ti", "TITANRTX")


class NotPredicted(Exception):
    """A row cannot be predicted. The message is one that several rows may share."""


class Words:
    """What the text columns of a row mean. Settings overrule the scheme's own words, and both what the library is."""

    def __init__(self, row):
        self.row = row
        texts = {name: row.get(name) or "" for name in COLUMNS}
        self.hierarchy, texts["scheme_settings"] = hierarchy_of(texts["scheme_settings"])
        mesh, texts["scheme_settings"] = mesh_of(texts["scheme_settings"])
        read = {name: scan(text, WORDS) for name, text in texts.items()}
        self.settings, self.scheme, self.precision = read["scheme_settings"], read["scheme"], read["precision"]
        self.framework, self.batch, self.notes = read["framework"], read["per_gpu_batch"], read["notes"]
        self.settings.facts |= mesh
        self.columns = (self.settings, self.scheme, self.precision, self.framework, self.batch)

    def get(self, concept, usual=None):
        """The value of a concept, by the column that says most about it."""
        for column in self.columns + ((self.notes,) if concept in NOTED else ()):
            if concept in column.facts:
                return next((value for value in reversed(column.facts[concept]) if value is not None), None)
        return usual

    def has(self, concept, value):
        return any(value in column.facts.get(concept, []) for column in (self.settings, self.scheme, self.framework))

    def stated(self):
        """Concepts that the scheme and its settings set to something."""
        return {
            concept
            for column in (self.settings, self.scheme)
            for concept, values in column.facts.items()
            if any(value not in (None, False) for value in values)
        }

    def dtype(self, name):
        both = self.get("dtypes")
        return self.get(name) or (both.split()[name == "reduce_dtype"] if both else None)

    def check(self):
        """Raises the first reason why the program cannot simulate what the words mean."""
        for degree in ("tensor", "pipeline", "context", "expert"):
            if (self.get(degree) or 1) > 1:
                raise NotPredicted("not simulated: tensor, pipeline, context or expert parallel inside")
        for column in (self.scheme, self.settings, self.precision):
            if column.refused:
                raise NotPredicted(f"not simulated: {column.refused[0]}")
        for column in (self.framework, self.notes):
            for reason in column.refused:
                if reason in NOTED_REASONS or column is self.framework and reason.startswith("a library"):
                    raise NotPredicted(f"not simulated: {reason}")
        for column in (self.scheme, self.settings, self.precision):
            if column.unknown:
                raise NotPredicted(f"unknown word: {column.unknown[0]}")
        if self.get("compression") and not self.get("comm_hook") and not self.get("powersgd_rank"):
            raise NotPredicted("not simulated: compression without an option")
        for concept in EXCLUSIVE:
            values = set(self.settings.facts.get(concept, [])) | set(self.scheme.facts.get(concept, []))
            if len(values - {None}) > 1:
                raise NotPredicted(f"contradiction: {concept} is stated twice")


def hierarchy_of(text):
    """The periods and groups of a HierarchicalModelAverager, and the text without them."""
    pairs = re.findall(r"[({]?\b(\d+) ?[,:] (\d+)\b[)}]?", text) if "period_group_size_dict" in text else []
    if pairs:
        return "+".join(f"{period}:{group}" for period, group in pairs), re.sub(r"period_group_size_dict.*", "", text)
    spoken = r"every (\d+) steps: (\d+) ranks"
    pairs = re.findall(spoken, text)
    return "+".join(f"{period}:{group}" for period, group in pairs), re.sub(spoken, "", text)


def mesh_of(text):
    """Replicas and shards of a two-dimensional device mesh, and the text without them."""
    found = re.search(
        r"init_device_mesh\([^(]*\((\d+), ?(\d+)\)[^(]*\(\W*(?:dp_)?replicate\W+(?:dp_)?shard\W*\)\)", text
    )
    if not found:
        return {}, text
    return {"replicas": [int(found.group(1))], "group": [int(found.group(2))]}, text.replace(found.group(0), "")


def whole(text):
    """The number in a column, also in front of a remark in brackets; or None."""
    found = re.fullmatch(r"\s*(\d{1,12})(?:\.0+)?\s*(?:\([^)\d]*\))?\s*", text or "")
    return int(found.group(1)) if found else None


def model_stated(row, assumed, words):
    """The model of a row, and the tokens of a sample (None for images)."""
    model, tokens, reason = model_of(row.get("model") or "", row.get("params_M") or "", row.get("notes") or "")
    if model is None:
        raise NotPredicted(reason if reason.startswith("model") else f"not simulated: {reason}")
    if model.sized:
        assumed.append(DIMENSIONS)
    if not model.tokens:
        return model, None
    by_batch = re.search(r"\d+ ?[a-z]* x (\d+)(?! accumulation)", row.get("per_gpu_batch") or "")
    alone = re.match(r"\s*(\d+)(?=[,;]|\s*$)", row.get("notes") or "")  # "4096, full AC"
    stated = (int(by_batch.group(1)) if by_batch else None) or words.get("sequence") or tokens
    stated = stated or (int(alone.group(1)) if alone and alone.group(1) in LENGTHS else None)
    if not stated:
        assumed.append(SEQUENCE)
    return model, int(stated or model.tokens)


def batches(row, words, gpus, sequence=None):
    """Samples of a GPU in a micro-batch, and micro-batches of a step. A global batch may be one of tokens."""
    text = row.get("per_gpu_batch") or ""
    micro, micro_batches, everything = whole(text), words.get("accumulate"), words.get("global_batch")
    if everything and sequence and everything >= TOKENS_OF_A_STEP:
        everything //= sequence
    if micro is None and (found := re.match(r"\s*(\d{1,9})\b(?! ?(?:tokens|total|global|in all))", text)):
        micro = int(found.group(1))
    if micro is None and (found := re.search(r"\((\d{1,9}) ?[a-z]* x \d+\)", text)):  # tokens: samples times length
        micro = int(found.group(1))
    if micro is None and (found := re.match(r"\s*(\d{1,9}) ?(?:total|global|in all)", text)):
        everything = int(found.group(1))
    micro = micro or words.get("micro_batch") or words.get("batch")
    if micro is None and everything and everything % (gpus * (micro_batches or 1)) == 0:
        micro = everything // (gpus * (micro_batches or 1))
    if not micro or micro > 10**6:
        raise NotPredicted("batch not stated")
    if micro_batches and words.has("library", "nanogpt") and micro_batches % gpus == 0:
        micro_batches //= gpus  # its train.py shares gradient_accumulation_steps out among ranks
    if micro_batches is None and everything and everything % (micro * gpus) == 0:
        micro_batches = everything // (micro * gpus)
    return int(micro), int(micro_batches or 1)


def precision_of(words, gpu, has_tokens, assumed):
    columns = [
        column.facts.get("precision", []) for column in (words.precision, words.settings, words.scheme, words.framework)
    ]
    named = [next((one for one in PRECISIONS if one in column), None) for column in columns]
    if {named[0], named[1]} in ({"fp32", "bf16"}, {"fp32", "amp"}, {"bf16", "amp"}):
        raise NotPredicted("contradiction: precision is stated twice")
    stated = next((one for one in named if one), None)
    if "bf16-true" in named[:2]:
        return "bf16-true"
    if stated in ("amp", "mixed") and (words.dtype("param_dtype") == "bf16" or "bf16" in named):
        return "bf16"
    if not stated and (words.get("amp_fp8") or words.dtype("param_dtype") == "bf16"):
        return "bf16"
    if not stated and words.precision.facts.get("fp8"):
        raise NotPredicted("precision: fp8 alone")
    if stated:
        return "amp" if stated == "mixed" else stated
    if words.get("half_gradients"):
        return "amp"
    assumed.append("precision")
    if not has_tokens:
        return "fp32"
    return "amp" if gpu.split("-")[0] in WITHOUT_BF16 else "bf16"
