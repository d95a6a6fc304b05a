"""Which scheme a row's words mean: a name of --scheme, or one of a library that becomes one with options.

If the library of a stack decides something that a row leaves open, the rule names it."""

from row_words import NotPredicted

# The first of several names counts, which says most: "Horovod DDP" is Horovod's, "DDP + ZeRO-1" is ZeRO's.
ORDER = """parameter_server byteps kvstore kvstore_async slowmo local_sgd zero_redundancy zero fsdp2 fsdp1 fsdp megatron
    replicate horovod bagua mirrored apex data_parallel dp compiled megatron_ddp naive ddp none""".split()
# Settings of a scheme whose name may stand nowhere else.
IMPLIED = (
    ("overlap_with_ddp", "zero_redundancy"),
    ("parameters_as_bucket_view", "zero_redundancy"),
    ("stage", "zero"),
    ("stages", "zero"),
    ("offload_zero", "zero"),
    ("plus_plus", "zero"),
    ("strategy", "fsdp"),
    ("flat", "naive"),
    *((concept, "ddp") for concept in ("comm_hook", "powersgd_rank", "static_graph", "find_unused", "bucket_view")),
    ("broadcast_buffers", "ddp"),
)
# What the settings may make of a scheme's name: "DDP" with `use_distributed_optimizer` is Megatron's.
REFINED = {
    "ddp": ("megatron", "compiled", "zero_redundancy", "local_sgd", "slowmo"),
    "megatron_ddp": ("megatron",),
    "dp": ("megatron", "data_parallel"),
    "zero": ("zero_redundancy",),
    "local_sgd": ("slowmo",),
}
SHARDED_BY = {"torchtitan": "fsdp2", "torchtune": "fsdp2", "olmo_core": "fsdp2"}
# Libraries whose data parallelism is compiled or their own.
OTHER_LIBRARIES = ("jax", "paddle", "mindspore", "oneflow")
REDUCER = """bucket_mb bucket_elements first_bucket_mb one_bucket bucket_view static_graph find_unused comm_hook
    powersgd_rank optimizer_in_backward process_groups"""
FSDP = """strategy wrap min_num_params backward_prefetch forward_prefetch limit_all_gathers use_orig_params reshard
    composer_precision"""
ZERO = """stage overlap_comm reduce_bucket_size allgather_bucket_size stage3_prefetch_bucket_size
    stage3_param_persistence_threshold stage3_max_live_parameters stage3_max_reuse_distance zero_hpz_partition_size
    zero_quantized_weights zero_quantized_gradients offload_zero plus_plus communication_data_type"""
MEGATRON = "overlap_grad_reduce overlap_param_gather grad_reduce_in_fp32"
SERVERS = "servers own_servers partition placement update"
REDUCER, FSDP, ZERO, MEGATRON, SERVERS = (set(one.split()) for one in (REDUCER, FSDP, ZERO, MEGATRON, SERVERS))
# Settings that belong to schemes, and those of other schemes that a scheme takes as well.
FAMILIES = (
    (("fsdp1", "fsdp2"), FSDP | {"stage"}),
    (("replicate",), FSDP),
    (("zero1", "zero2", "zero3"), ZERO | {"wrap"}),
    (("megatron", "megatron_ddp"), MEGATRON | {"bucket_mb"}),
    (("parameter_server", "byteps", "kvstore", "kvstore_async"), SERVERS),
    (("local_sgd", "slowmo"), set()),
)


def candidates(words):
    """Names of schemes in the column that names any, refined by the settings."""
    for column in (words.scheme, words.settings, words.framework):
        names = [name for name in column.facts.get("scheme", []) if name]
        implied = [name for concept, name in IMPLIED if concept in column.facts]
        if names or implied:  # "FSDP (like ZeRO-3)" is FSDP
            names += [name for name in implied if not any(one.startswith("fsdp") for one in names)]
            also = words.settings.facts.get("scheme", []) + words.framework.facts.get("scheme", [])
            also += [name for concept, name in IMPLIED[:2] if concept in words.settings.facts]
            return names + [one for one in also if any(one in REFINED.get(name, ()) for name in names)]
    return []


def zero_name(words):
    stage = words.get("stage")
    if words.get("stages") or (stage is None and not words.get("offload_zero") and not words.get("plus_plus")):
        raise NotPredicted("scheme not modelled: stage of ZeRO not stated")
    stage = 3 if stage is None and words.get("plus_plus") else 2 if stage is None else stage
    if stage not in (1, 2, 3):
        raise NotPredicted(f"scheme not modelled: stage {stage} of ZeRO")
    return f"zero{stage}"


def scheme_of(words, nodes):
    """A name of --scheme; or horovod, bagua, mirrored, apex, byteps, kvstore or megatron_ddp."""
    found = candidates(words)
    name = next((one for one in ORDER if one in found), None)
    if name is None:
        raise NotPredicted("scheme not stated")
    if name.startswith("fsdp") and words.get("fsdp_version"):
        name = words.get("fsdp_version")
    if name == "fsdp":
        name = next((SHARDED_BY[library] for library in SHARDED_BY if words.has("library", library)), "fsdp1")
    if name == "dp":  # nn.DataParallel, which knows one node; elsewhere data parallelism
        if words.has("library", "megatron"):
            return "megatron_ddp"
        several = nodes > 1 or any(words.has("library", one) for one in ("deepspeed", "torchtitan", "jax"))
        name = "ddp" if several else "data_parallel"
    if name == "data_parallel" and (nodes > 1 or words.get("backend") == "gloo"):
        raise NotPredicted("contradiction: DataParallel knows one node and NCCL")
    if name == "zero":
        name = zero_name(words)
    return ddp_name(words) if name in ("ddp", "naive") else name


def ddp_name(words):
    """What becomes of DDP: one process, no overlap, a compiled model, torchtitan's."""
    if any(words.has("library", one) for one in OTHER_LIBRARIES):
        raise NotPredicted("not simulated: a library of its own")
    if words.get("single_process"):
        return "data_parallel"
    naive = "naive" in candidates(words)
    if naive or words.get("flat") or words.get("when") == "backward" or words.get("overlap") is False:
        return "naive"
    if words.get("compile") or words.get("optimize_ddp"):
        return "compiled"
    return "replicate" if words.has("library", "torchtitan") else "ddp"


def check_families(words, name):
    """Raises a reason if a setting belongs to another scheme."""
    if name in ("none", "naive", "data_parallel"):
        return
    own = next((settings for schemes, settings in FAMILIES if name in schemes), REDUCER)
    others = set().union(REDUCER, *(settings for _, settings in FAMILIES)) - own
    if name in ("zero_redundancy",):
        others -= {"stage"}
    foreign = sorted(others & words.stated())
    if foreign:
        raise NotPredicted(f"contradiction: {foreign[0]} is no setting of {name}")
