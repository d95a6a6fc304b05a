"""The scheme of a row and its options, in the words of `--scheme` and of the command line.

If the library of a stack decides something that a row leaves open, the rule names it."""

import re

from row_words import NotPredicted

ONE_BUCKET_MB = 100000
HALF = {"bf16": "bf16", "amp": "fp16"}
# DDP by another library: (bucket in MiB, whether buffers are broadcast). Horovod: HOROVOD_FUSION_THRESHOLD. Bagua:
# BAGUA_DEFAULT_BUCKET_SIZE. TensorFlow's strategies pack all gradients (NcclAllReduce's num_packs=1). Apex: 1e7
# elements.
REDUCERS = {"horovod": 64, "bagua": 10, "mirrored": ONE_BUCKET_MB, "apex": 38.147}
ZERO = ("overlap_comm", "reduce_bucket_size", "allgather_bucket_size", "communication_data_type")
ZERO3 = """stage3_prefetch_bucket_size stage3_param_persistence_threshold stage3_max_live_parameters
    stage3_max_reuse_distance zero_hpz_partition_size zero_quantized_weights zero_quantized_gradients""".split()


def written(value):
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


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


def group_of(words, job):
    """Ranks that shard together, if the row states them or the replicas."""
    group, replicas = words.get("group"), words.get("replicas")
    group = job["per_node"] if group == "node" else group
    if replicas and group and replicas * group != job["gpus"]:
        raise NotPredicted("contradiction: replicas and shards are not all GPUs")
    return group or (job["gpus"] // replicas if replicas else None)


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
    group = group_of(words, job)
    if scheme == "fsdp2" and (strategy or "").startswith("hybrid") and not group:
        group = job["per_node"]
    if group and 1 <= group < job["gpus"] and (scheme == "fsdp2" or (strategy or "").startswith("hybrid")):
        options["group"] = group
    if words.get("min_num_params"):
        options |= {"wrap": "size", "min_num_params": written(words.get("min_num_params"))}
    elif words.get("wrap") and words.get("wrap") != "blocks":
        options["wrap"] = words.get("wrap")
    options |= library_options(row, words, scheme, half, options)
    for name, usual in (("param_dtype", None), ("reduce_dtype", words.get("grad_dtype"))):
        if words.dtype(name) or usual:
            options[name] = words.dtype(name) or usual
    if scheme == "fsdp1":
        for name in ("backward_prefetch", "forward_prefetch", "limit_all_gathers", "use_orig_params"):
            if words.get(name) is not None:
                options[name] = written(words.get(name))
    if scheme == "fsdp2" and words.has("library", "torchtitan"):
        options["reshard_root"] = "true"
    if job["micro_batches"] > 1 and syncs_each_micro_batch(words, scheme):
        options["no_sync"] = "false"
    if scheme == "fsdp2" and words.get("separate_groups"):
        options["separate_groups"] = "true"
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
    names = (*ZERO, *(ZERO3 if scheme == "zero3" else ()))
    options = {name: written(words.get(name)) for name in names if words.get(name) is not None}
    if words.get("grad_dtype"):
        options.setdefault("communication_data_type", words.get("grad_dtype"))
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


def servers_of(words, nodes, byteps):
    """The number of servers, if the row states it for this many nodes, and whether they stand on nodes of their own."""
    servers, fewer, own = words.get("servers"), words.get("fewer_servers"), words.get("own_servers")
    # The number in brackets belongs to that size alone.
    if fewer:
        if nodes == fewer and not servers:
            raise NotPredicted("number of servers not stated")
        servers = servers if nodes == fewer else None
    if byteps and not (own or servers or words.get("servers_as_workers")):
        raise NotPredicted("number of servers not stated")
    return own or servers, bool(own) or words.get("colocated") is False


def server_options(words, nodes, name):
    """Options of a parameter server. Synchronous BytePS pushes and pulls parts of gradients, and torch steps. MXNet's
    store splits large arrays."""
    # In variable_mgr.py of tf_cnn_benchmarks, distributed_replicated assigns the copies of a variable in the same step.
    # It does so as soon as every worker has applied its gradient of that variable, and does not wait for other
    # variables.
    device, byteps = words.get("local_parameter_device"), name == "byteps" or words.has("scheme", "byteps")
    if device == "gpu":
        raise NotPredicted("not simulated: parameter server on GPUs")
    if words.has("servers", "host") or (device == "cpu" and nodes == 1):  # a step's graph reads its variables
        return {"servers": "host", "pull": "forward"}
    if nodes == 1 and byteps:
        raise NotPredicted("BytePS within one machine has no servers")
    options, asynchronous = {}, words.get("mode") == "async" or name == "kvstore_async"
    servers, apart = servers_of(words, nodes, byteps)
    if asynchronous:
        options["mode"] = "async"
    if servers:
        options["servers"] = servers
    if apart:
        options["colocated"] = "false"
    if byteps:
        options |= {"placement": "partitioned"} | ({} if asynchronous else {"update": "worker"})
    elif name.startswith("kvstore"):
        options["placement"] = "partitioned"
    options |= {one: words.get(one) for one in ("placement", "update") if words.get(one)}
    if words.get("partition"):
        options |= {"placement": "partitioned", "partition_mb": written(words.get("partition"))}
    if words.get("pull") and options.get("update") != "worker":
        options["pull"] = words.get("pull")
    return options


def naive_options(words, name):
    if name == "megatron_ddp":
        raise NotPredicted("not simulated: Megatron without its distributed optimizer")
    if words.get("flat"):
        return {"when": "backward", "flat": "true"}
    # tf_cnn_benchmarks all-reduces the gradient of each variable by itself, unless it is told to repack gradients.
    return {"when": words.get("when") or ("backward" if words.get("overlap") is False else "gradient")}


def megatron_options(words, precision):
    options = {"param_dtype": HALF[precision]} if precision in HALF else {}
    both = words.get("overlap")
    for one, usual in (("overlap_grad_reduce", both), ("overlap_param_gather", both), ("grad_reduce_in_fp32", None)):
        value = words.get(one, usual)
        if value is not None:
            options[one] = written(value)
    return options | ({"bucket_size": written(words.get("bucket_mb"))} if words.get("bucket_mb") else {})


def replicate_options(words, precision, job):
    half = HALF.get(precision)
    options = {"wrap": words.get("wrap")} if words.get("wrap") not in (None, "blocks") else {}
    if half:
        options |= {"param_dtype": half} | ({"reduce_dtype": "fp32"} if words.has("library", "torchtitan") else {})
    if (words.get("group") or 1) > 1 or (words.get("replicas") or job["gpus"]) != job["gpus"]:
        raise NotPredicted("contradiction: replicas and shards are not all GPUs")
    return options | {one: words.dtype(one) for one in ("param_dtype", "reduce_dtype") if words.dtype(one)}


# Options that only need to be passed on.
PASSED = {
    "zero_redundancy": ("parameters_as_bucket_view", "overlap_with_ddp"),
    "compiled": ("optimize_ddp",),
    "slowmo": ("localsgd_frequency", "slowmo_frequency", "slowmo_memory_efficient", "slowmo_num_shards"),
}


def scheme_options(row, words, name, precision, job):
    """The name of --scheme and its options. `job` has nodes, per_node, gpus and micro_batches."""
    if name in ("fsdp1", "fsdp2"):
        return name, fsdp_options(row, words, name, precision, job)
    if name in ("zero1", "zero2", "zero3"):
        return name, zero_options(words, name, job)
    if name in ("parameter_server", "byteps", "kvstore", "kvstore_async"):
        return "parameter_server", server_options(words, job["nodes"], name)
    if name in ("naive", "megatron_ddp"):
        return "naive", naive_options(words, name)
    if name == "megatron":
        return name, megatron_options(words, precision)
    if name == "replicate":
        return name, replicate_options(words, precision, job)
    if name == "local_sgd":
        period = {"period": words.get("period")} if words.get("period") else {}
        return name, {"hierarchy": words.hierarchy} if words.hierarchy else period
    if name in PASSED:
        return name, {one: written(words.get(one)) for one in PASSED[name] if words.get(one) is not None}
    return "ddp" if name in REDUCERS else name, {}


HOOK_OPTIONS = {
    "powersgd": (("powersgd_rank", "--matrix-approximation-rank"), ("min_compression_rate", "--min-compression-rate")),
    "post_localSGD": (("period", "--local-sgd-period"), ("local_sgd_gradients", "--local-sgd-gradients")),
}


def ddp_options(words, name):
    """Switches of DDP's reducer, which other schemes refuse."""
    options, cap = [], words.get("bucket_mb", REDUCERS.get(name))
    if words.get("bucket_elements"):
        cap = words.get("bucket_elements") * 4 / 2**20
    if words.get("one_bucket"):
        cap = ONE_BUCKET_MB
    if cap is not None:
        options += ["--bucket-cap-mb", written(float(cap))]
    if words.get("first_bucket_mb"):
        options += ["--first-bucket-mb", written(float(words.get("first_bucket_mb")))]
    if name in REDUCERS or words.get("broadcast_buffers") is False:
        options.append("--no-broadcast-buffers")
    hook = words.get("comm_hook") or words.get("grad_dtype") or ("powersgd" if words.get("powersgd_rank") else None)
    if hook and hook != "none":
        options += ["--comm-hook", hook]
    for concept, switch in HOOK_OPTIONS.get(hook, ()):
        if words.get(concept):
            options += [switch, str(words.get(concept))]
    if hook == "powersgd" and words.get("rank") and not words.get("powersgd_rank"):
        options += ["--matrix-approximation-rank", str(words.get("rank"))]
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
