"""The scheme of a row and its options, in the words of `--scheme` and of the command line.

If the library of a stack decides something that a row leaves open, the rule names it."""

import re

from row_words import NotPredicted

ONE_BUCKET_MB = 100000
HALF = {"bf16": "bf16", "amp": "fp16"}
# Of several names, the one that says most: "Horovod DDP" is Horovod's, "DDP + ZeRO-1" is ZeRO's.
ORDER = ("parameter_server", "byteps", "slowmo", "local_sgd", "zero_redundancy", "zero", "fsdp2", "fsdp1", "fsdp", "megatron", "replicate", "horovod",
         "bagua", "mirrored", "apex", "data_parallel", "dp", "compiled", "megatron_ddp", "naive", "ddp", "none")  # fmt: skip
SHARDED_BY = {"torchtitan": "fsdp2", "torchtune": "fsdp2", "olmo_core": "fsdp2"}
# DDP by another library: (bucket in MiB, whether buffers are broadcast). Horovod: HOROVOD_FUSION_THRESHOLD. Bagua:
# BAGUA_DEFAULT_BUCKET_SIZE. TensorFlow's strategies pack all gradients (NcclAllReduce's num_packs=1). Apex: 1e7 elements.
REDUCERS = {"horovod": 64, "bagua": 10, "mirrored": ONE_BUCKET_MB, "apex": 38.147}
ZERO = ("overlap_comm", "reduce_bucket_size", "allgather_bucket_size", "communication_data_type")
ZERO3 = ("stage3_prefetch_bucket_size", "stage3_param_persistence_threshold", "stage3_max_live_parameters", "stage3_max_reuse_distance",
         "zero_hpz_partition_size", "zero_quantized_weights", "zero_quantized_gradients")  # fmt: skip


def written(value):
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def zero_name(words):
    stage = words.get("stage")
    if words.get("stages") or (stage is None and not words.get("offload_zero") and not words.get("plus_plus")):
        raise NotPredicted("scheme not modelled: stage of ZeRO not stated")
    stage = 3 if stage is None and words.get("plus_plus") else 2 if stage is None else stage
    if stage == 0:
        return "naive"
    if stage not in (1, 2, 3):
        raise NotPredicted(f"unknown word: stage {stage}")
    return f"zero{stage}"


def candidates(words):
    """Names of schemes in the column that names any."""
    for column in (words.scheme, words.settings, words.framework):
        names = [name for name in column.facts.get("scheme", []) if name]
        implied = [name for concept, name in IMPLIED if concept in column.facts]
        if names or implied:  # "FSDP (like ZeRO-3)" is FSDP
            return names + [name for name in implied if not any(one.startswith("fsdp") for one in names)]
    return []


IMPLIED = (
    ("stage", "zero"),
    ("stages", "zero"),
    ("offload_zero", "zero"),
    ("plus_plus", "zero"),
    ("strategy", "fsdp"),
    ("flat", "naive"),
    ("comm_hook", "ddp"),
)


def scheme_of(words, nodes):
    """A name of --scheme; or horovod, bagua, mirrored, apex, byteps or megatron_ddp, which become one with options."""
    found = candidates(words)
    name = next((one for one in ORDER if one in found), None)
    if name is None:
        raise NotPredicted("scheme not stated")
    if name == "zero" and "fsdp1" in found:
        name = "fsdp1"
    if name in ("fsdp", "fsdp1", "fsdp2") and words.get("fsdp_version"):
        name = words.get("fsdp_version")
    if name == "fsdp":
        name = next((SHARDED_BY[library] for library in SHARDED_BY if words.has("library", library)), "fsdp1")
    if name == "dp":  # nn.DataParallel, which knows one node; elsewhere data parallelism
        name = (
            "ddp"
            if nodes > 1 or any(words.has("library", one) for one in ("megatron", "deepspeed", "torchtitan", "jax"))
            else "data_parallel"
        )
    if name == "zero":
        name = zero_name(words)
    if name in ("ddp", "naive") and words.get("flat"):
        return "naive"
    if name == "ddp" and (words.get("when") == "backward" or words.get("overlap") is False):
        return "naive"
    if name == "ddp" and words.get("compile"):
        return "compiled"
    return name


def syncs_each_micro_batch(words, scheme):
    """Whether each micro-batch is reduced. DDP and FSDP do so unless a loop uses no_sync().

    Composer uses it only for DDP (ddp_sync_context returns early for FSDP), and torchtitan never. Trainer's and
    accelerate's accumulate() use it.
    """
    stated = words.get("syncs_each")
    if stated is None and words.get("sync_each_batch"):
        return True
    if stated is not None:
        return stated
    return scheme == "fsdp2" or (scheme == "fsdp1" and words.has("library", "composer"))


def year_of(row):
    found = re.search(r"\b(20[12]\d)\b", row.get("framework") or "")
    return int(found.group(1)) if found else None


def before_2_0(row, words):
    """Whether PyTorch is older than 2.0, by its version, else by the year of the framework."""
    torch = words.get("torch")
    return torch.startswith(("1.", "0.")) if torch else (year_of(row) or 9999) <= 2022


def fsdp_options(row, words, scheme, precision, job):
    """Options of FSDP: those that the row states, and those that its library passes otherwise."""
    options, half, strategy = {}, HALF.get(precision), words.get("strategy")
    if words.get("overlap") is False:
        raise NotPredicted("not simulated: FSDP without overlap")
    if not strategy and words.get("stage") == 2:
        strategy = "shard_grad_op"
    if scheme == "fsdp1":
        if strategy and strategy != "full_shard":
            options["strategy"] = strategy
        elif words.get("reshard") == "false":
            options["strategy"] = "shard_grad_op"
    elif words.get("reshard") == "false" or strategy == "shard_grad_op":
        options["reshard_after_forward"] = "false"
    elif isinstance(words.get("reshard"), int):
        options["reshard_after_forward"] = words.get("reshard")
    group = words.get("group") or (job["gpus"] // words.get("replicas") if words.get("replicas") else None)
    if scheme == "fsdp2" and (strategy or "").startswith("hybrid") and not group:
        group = job["per_node"]
    if group and 1 <= group < job["gpus"] and (scheme == "fsdp2" or (strategy or "").startswith("hybrid")):
        options["group"] = group
    if words.get("min_num_params"):
        options |= {"wrap": "size", "min_num_params": written(words.get("min_num_params"))}
    elif words.get("wrap") and words.get("wrap") != "blocks":
        options["wrap"] = words.get("wrap")
    options |= library_options(row, words, scheme, half, options)
    for name in ("param_dtype", "reduce_dtype"):
        if words.get(name):
            options[name] = words.get(name)
    if scheme == "fsdp1":
        for name in ("backward_prefetch", "forward_prefetch", "limit_all_gathers", "use_orig_params"):
            if words.get(name) is not None:
                options[name] = written(words.get(name))
    if scheme == "fsdp2" and words.has("library", "torchtitan"):
        options["reshard_root"] = "true"
    if job["micro_batches"] > 1 and syncs_each_micro_batch(words, scheme):
        options["no_sync"] = "false"
    return options | ({"cpu_offload": "true"} if words.get("offload") else {})


def library_options(row, words, scheme, half, options):
    if words.has("library", "composer"):
        # In get_mixed_precision, DEFAULT reduces in fp32, PURE does not. backward_prefetch is BACKWARD_POST.
        reduced = (
            {"reduce_dtype": "fp32"}
            if half and (words.get("composer_precision") == "DEFAULT" or words.has("precision", "DEFAULT"))
            else {}
        )
        return ({"param_dtype": half} if half else {}) | reduced | {"backward_prefetch": "post"}
    if words.has("library", "torchtitan"):  # its mixed_precision_reduce
        return {"param_dtype": half, "reduce_dtype": "fp32"} if half else {}
    if scheme == "fsdp1" and before_2_0(row, words):
        # PyTorch before 2.0 has no backward_prefetch and no limiter unless told so. accelerate used only autocast, and
        # units by size, which have 1e8 parameters unless its question is answered otherwise.
        sizes = {"wrap": "size"} if words.has("library", "accelerate") and "wrap" not in options else {}
        cast = {"param_dtype": half} if half and not words.has("library", "accelerate") else {}
        return sizes | cast | {"backward_prefetch": "none", "limit_all_gathers": "false"}
    return {"param_dtype": half} if half else {}


def zero_options(words, scheme, job):
    names = ZERO + (ZERO3 if scheme == "zero3" else ())
    options = {name: written(words.get(name)) for name in names if words.get(name) is not None}
    if words.get("overlap") is not None:
        options.setdefault("overlap_comm", written(words.get("overlap")))
    if words.get("plus_plus") and scheme == "zero3":
        whole = {
            "zero_hpz_partition_size": job["per_node"],
            "zero_quantized_weights": "true",
            "zero_quantized_gradients": "true",
        }
        options = whole | options
    places = {"offload_optimizer": words.get("offload_optimizer"), "offload_param": words.get("offload_param")}
    if "nvme" in places.values():
        raise NotPredicted("not simulated: offload to NVMe")
    if (words.get("offload") or words.get("offload_zero")) and not any(places.values()):
        places = {"offload_optimizer": "cpu", "offload_param": "cpu" if scheme == "zero3" else None}
    if scheme != "zero3":
        places.pop("offload_param")
    return options | {name: place for name, place in places.items() if place == "cpu"}


def server_options(words, nodes, byteps):
    """Options of a parameter server. Synchronous BytePS pushes and pulls parts of gradients, and torch steps."""
    # In variable_mgr.py of tf_cnn_benchmarks, distributed_replicated assigns the copies of a variable in the same step.
    # It does so as soon as every worker has applied its gradient of that variable, and does not wait for other
    # variables.
    if words.get("servers") == "host" or words.has("servers", "host"):  # a step's graph reads its variables
        return {"servers": "host", "pull": "forward"}
    if nodes == 1 and byteps:
        raise NotPredicted("BytePS within one machine has no servers")
    options, servers = {}, words.get("servers")
    if words.get("mode") == "async":
        options["mode"] = "async"
    fewer = words.get("fewer_servers")
    if fewer:  # the number in brackets belongs to that size alone
        if nodes == fewer and not servers:
            raise NotPredicted("number of servers not stated")
        servers = servers if nodes == fewer else None
    own = words.get("own_servers")
    if own or servers:
        options["servers"] = own or servers
    if own or words.get("colocated") is False:
        options["colocated"] = "false"
    if byteps:
        options |= {"placement": "partitioned"} | ({} if words.get("mode") == "async" else {"update": "worker"})
    elif words.get("placement"):
        options["placement"] = words.get("placement")
    if words.get("partition"):
        options["partition_mb"] = written(words.get("partition") * 1.048576)
    if words.get("pull") and "update" not in options:
        options["pull"] = words.get("pull")
    return options


def naive_options(words, name):
    if name == "megatron_ddp" or words.get("stage") == 0:  # one buffer of gradients, reduced when backward has ended
        return {"when": "backward", "flat": "true"}
    if words.get("flat"):
        return {"when": "backward", "flat": "true"}
    # tf_cnn_benchmarks all-reduces the gradient of each variable by itself, unless it is told to repack gradients.
    return {"when": words.get("when") or ("backward" if words.get("overlap") is False else "gradient")}


def scheme_options(row, words, name, precision, job):
    """The name of --scheme and its options. `job` has nodes, per_node, gpus and micro_batches."""
    if name in ("fsdp1", "fsdp2"):
        return name, fsdp_options(row, words, name, precision, job)
    if name in ("zero1", "zero2", "zero3"):
        return name, zero_options(words, name, job)
    if name in ("parameter_server", "byteps"):
        return "parameter_server", server_options(
            words, job["nodes"], name == "byteps" or words.has("scheme", "byteps")
        )
    if name in ("naive", "megatron_ddp"):
        return "naive", naive_options(words, name)
    if name == "megatron":
        flags = {
            one: written(words.get(one))
            for one in ("overlap_grad_reduce", "overlap_param_gather", "grad_reduce_in_fp32")
            if words.get(one) is not None
        }
        half = {"param_dtype": "bf16"} if precision == "bf16" else {}
        if words.get("overlap") is not None:
            flags = {
                "overlap_grad_reduce": written(words.get("overlap")),
                "overlap_param_gather": written(words.get("overlap")),
            } | flags
        return name, half | flags | ({"bucket_size": written(words.get("bucket_mb"))} if words.get("bucket_mb") else {})
    if name == "replicate":
        half = HALF.get(precision)
        types = (
            {"param_dtype": half, "reduce_dtype": "fp32"}
            if half and words.has("library", "torchtitan")
            else {"param_dtype": half}
            if half
            else {}
        )
        return name, types | {one: words.get(one) for one in ("param_dtype", "reduce_dtype") if words.get(one)}
    if name == "zero_redundancy":
        return name, {
            one: written(words.get(one)) for one in ("parameters_as_bucket_view", "overlap_with_ddp") if words.get(one)
        }
    if name == "compiled":
        return name, {"optimize_ddp": words.get("optimize_ddp")} if words.get("optimize_ddp") else {}
    if name == "local_sgd":
        return name, {"period": words.get("period")} if words.get("period") else {}
    if name == "slowmo":
        return name, {one: words.get(one) for one in ("localsgd_frequency", "slowmo_frequency") if words.get(one)}
    return "ddp" if name in REDUCERS else name, {}


def ddp_options(words, name):
    """Switches of DDP's reducer, which other schemes refuse."""
    options, cap = [], REDUCERS.get(name)
    if words.get("bucket_mb"):
        cap = words.get("bucket_mb")
    if words.get("bucket_elements"):
        cap = words.get("bucket_elements") * 4 / 2**20
    if words.get("one_bucket"):
        cap = ONE_BUCKET_MB
    if cap:
        options += ["--bucket-cap-mb", written(float(cap))]
    if words.get("first_bucket_mb"):
        options += ["--first-bucket-mb", written(float(words.get("first_bucket_mb")))]
    if name in REDUCERS or words.get("broadcast_buffers") is False:
        options.append("--no-broadcast-buffers")
    if words.get("comm_hook"):
        options += ["--comm-hook", words.get("comm_hook")]
    if words.get("powersgd_rank") and words.get("comm_hook") == "powersgd":
        options += ["--matrix-approximation-rank", str(words.get("powersgd_rank"))]
    for concept, switch in (
        ("bucket_view", "--gradient-as-bucket-view"),
        ("static_graph", "--static-graph"),
        ("find_unused", "--find-unused-parameters"),
        ("optimizer_in_backward", "--apply-optimizer-in-backward"),
    ):
        if words.get(concept):
            options.append(switch)
    return options


def options_of(words, name, scheme, micro_batches):
    """The options of the command line without --scheme."""
    options = ddp_options(words, name) if scheme in ("ddp", "compiled", "zero_redundancy") else []
    if scheme == "naive" and words.has("library", "tf_cnn"):  # TensorFlow had NCCL 1.3 with one ring
        options += ["--nccl", "2.0.5", "--max-channels", "1"]
    if words.get("backend") == "gloo":
        options += ["--backend", "gloo"]
    if micro_batches > 1 and not (scheme == "ddp" and syncs_each_micro_batch(words, scheme)):
        options += ["--accumulate", str(micro_batches)]
    if words.get("torch") and re.fullmatch(r"(1|2)\.\d+", words.get("torch")):
        options += ["--torch", words.get("torch")]
    for concept, switch in (
        ("nccl_algo", "--algorithm"),
        ("nccl_proto", "--protocol"),
        ("min_channels", "--min-channels"),
        ("max_channels", "--max-channels"),
    ):
        if words.get(concept):
            options += [switch, str(words.get(concept))]
    if words.get("nvls") is False:
        options.append("--no-nvls")
    if words.get("sync_batchnorm"):
        options.append("--sync-batchnorm")
    if words.get("cuda_graphs"):
        options.append("--cuda-graph")
    return options
