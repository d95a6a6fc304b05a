"""Words that change nothing in a step, or that other columns of a row say: English, logging, data, sizes of the job."""

from vocabulary.entries import joined, silent, silent_keys

ENGLISH = silent(
    "a", "an", "the", "of", "on", "in", "with", "and", "or", "by", "for", "to", "at", "from", "as", "is", "are", "be", "was", "it", "its", "this", "that",
    "per", "each", "every", "all", "both", "only", "same", "new", "old", "other", "others", "via", "using", "use", "used", "uses", "set", "setting",
    "settings", "option", "options", "config", "configuration", "default", "defaults", "baseline", "reference", "standard", "vanilla", "usual", "normal",
    "stock", "basic", "simple", "plain", "original", "official", "upstream", "before", "after", "version", "v1", "v2", "mode", "type", "method",
    "approach", "variant", "case", "run", "runs", "test", "training", "train", "pretraining", "pre-training", "pretrain", "fine-tuning", "finetuning",
    "finetune", "fine-tune", "SFT", "step", "steps", "iteration", "iterations", "epoch", "epochs", "loop", "job", "script", "benchmark", "stack",
    "library", "API", "implementation", "framework", "model", "models", "layer", "block", "module", "modules", "parameter",
    "parameters", "param", "gradient", "gradients", "grad", "grads", "weights", "optimizer", "optimizers", "state", "states", "optimizer states",
    "optimizer state", "memory", "GPU", "GPUs", "device", "devices", "node", "nodes", "machine", "machines", "host", "hosts", "ranks", "cluster",
    "multi-node", "multi node", "single node", "single-node", "one node", "several nodes", "single", "multiple", "distributed",
    "instance", "instances", "worker", "workers", "server", "process", "processes", "communication", "comm", "compute", "collective", "collectives",
    "all-gather", "allgather", "reduce-scatter", "broadcast", "reduce", "all", "eager", "eager mode", "synthetic", "synthetic data", "real data", "fake data",
    "dummy data", "random data", "random tokens", "stated", "not stated", "unstated", "see source", "unknown", "n/a", "NA", "measured", "reported",
    "published", "aligned", "aligned mixed precision", "tuned", "untuned", "optimised", "optimized", "best", "fastest", "largest that fits",
    "bound", "not bound", "cores bound", "bound to its NUMA node", "NUMA binding", "rank bound to its NUMA node", "numactl", "pinned", "naive", "built-in",
    "custom", "automatic", "auto", "true", "false", "yes", "on", "off", "enabled", "enable", "disabled", "x", "vs", "against", "over", "than", "like",
    "also", "then", "when", "while", "between", "within", "inside", "across", "up", "down", "out", "off", "into", "one", "two", "three", "four", "eight",
    "first", "second", "last", "full", "whole", "total", "global", "local", "low", "high", "large", "small", "big", "end to end", "e2e", "throughput",
    "latency", "sharded", "shards", "size", "number", "count", "policy", "type", "cores", "cpu", "cuda", "fast", "slow",
    "nccl ops", "operations", "s", "ms", "us", "GB", "MB", "tokens", "samples", "images", "sequences", "tensor", "tensors", "unit", "units", "buffer", "buffers",
    "blog config", "tutorial", "recipe", "example", "paper", "README", "docs", "release", "main", "master", "branch", "commit", "PR", "fork", "dev",
    "pull request", "head", "stable", "beta", "alpha", "experimental", "prototype", "init", "no change", "unchanged", "simulated", "ideal", "real", "fixed",
    "weak scaling", "strong scaling", "scaling", "scaled", "DGX", "HGX", "VM", "VMs", "cloud", "AWS", "GCP", "Azure", "OCI", "on-prem", "way", "half board",
    "correct", "written", "properly", "right", "wrong", "input", "inputs", "loader", "compression off", "no compression", "uncompressed",
    "except", "minus", "plus", "max", "min", "equivalent", "w", "launch", "launched", "phase", "phase #", "wrapped", "transformer", "transformers", "backward", "forward", "backward pass",
    "forward pass", "uniform", "ImageNet", "CIFAR-10", "CIFAR", "COCO", "WikiText", "SQuAD", "C4", "OpenWebText", "i.e", "e.g", "etc", "class", "layers", "blocks", "maximum", "minimum", "most", "least", "more", "less", "fewer", "about", "approx", "approximately", "roughly",
    "NVLink", "PCIe", "InfiniBand", "Ethernet", "TCP", "RDMA", "RoCE", "EFA", "NVSwitch", "IB", "GPUDirect", "GPUDirect RDMA", "NVLink bridge", "IPoIB",
    "optimization", "fsdp_config", "fsdp_plugin", "deepspeed_config", "ds_config", "plugins", "args", "kwargs", "self",
    "torch.nn.parallel", "nn.parallel", "torch.distributed.fsdp", "distributed.fsdp", "MixedPrecisionPolicy", "mp_policy", "mixed_precision_policy",
    "DDP hook", "wrapper", "parallelism", "parallel", "dims", "degree", "mesh", "device_mesh", "DeviceMesh",
)  # fmt: skip

SIZES_OF_THE_JOB = silent(
    "# GPUs", "# GPU", "#x GPU", "# nodes", "# node", "# devices", "# ranks", "# machines", "# hosts", "# processes", "#-way", "#way", "# way",
    "FSDP#", "DP#", "DDP#", "dp#", "ZeRO DP#", "#-GPU", "#-node", "# GPUs per worker", "# GPU per worker", "GPUs per worker", "GPU per worker",
    "on one machine", "#x#", "#x", "# workers on one machine", "# GPUs per node", "# ranks per node", "FSDP #-way", "FSDP# #-way",
    "data_parallel_size", "world_size", "nproc_per_node", "num_processes", "num_machines", "nnodes", "data parallel size", "HSDP #x#", "#D",
    "samples in memory", "# samples in memory", "#k samples in memory", "backward # ms", "forward # ms", "# steps", "# iterations", "# epochs", "# iters", "# batches", "# runs", "# layer", "# warm-up steps", "# warmup steps", "# cores", "# threads", "# CPU cores", "# TFLOPS", "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
)  # fmt: skip

WITHOUT_EFFECT = silent_keys(
    "seed", "lr", "learning_rate", "learning rate", "weight_decay", "warmup", "warmup_steps", "warmup_ratio", "lr_scheduler_type", "lr_scheduler",
    "max_steps", "num_train_epochs", "train_epochs", "num_epochs", "logging_steps", "log_interval", "log_every_n_steps", "save_steps", "save_interval",
    "eval_steps", "eval_interval", "eval", "evaluation_strategy", "save_strategy", "wandb", "tensorboard", "report_to", "max_grad_norm", "clip_grad",
    "gradient_clipping", "grad_clip", "clip_grad_norm", "gradient_clip_val", "beta1", "beta2", "betas", "eps", "epsilon", "dropout", "data", "dataset",
    "variable_update", "num_batches", "num_warmup_batches", "display_every", "state_dict_type", "fsdp_state_dict_type", "sync_module_states",
    "fsdp_sync_module_states", "fsdp_cpu_ram_efficient_loading", "cpu_ram_efficient_loading", "zero3_init_flag", "zero3_save_16bit_model",
    "stage3_gather_16bit_weights_on_model_save", "stage3_gather_fp16_weights_on_model_save", "contiguous_gradients", "round_robin_gradients",
    "allgather_partitions", "sub_group_size", "steps_per_print", "wall_clock_breakdown", "loss_scale", "initial_scale_power",
    "loss_scale_window", "hysteresis", "min_loss_scale", "loss_scale_window", "auto_cast", "pin_memory", "num_workers", "prefetch_factor", "persistent_workers",
    "dataloader_num_workers", "dataloader_pin_memory", "shuffle", "drop_last", "verbose", "flatten_parameters", "activation_checkpointing_reentrant",
    "use_reentrant", "load_monolith_rank0_only", "cross_replica_sync", "local_parameter_device", "OMP_NUM_THREADS", "CUDA_DEVICE_MAX_CONNECTIONS",
    "PYTORCH_CUDA_ALLOC_CONF", "CUDA_LAUNCH_BLOCKING off", "NCCL_DEBUG", "NCCL_SOCKET_IFNAME", "TORCH_NCCL_AVOID_RECORD_STREAMS", "expandable_segments",
    "TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_ASYNC_ERROR_HANDLING", "NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "MASTER_ADDR", "MASTER_PORT", "GLOO_SOCKET_IFNAME",
    "HOROVOD_CYCLE_TIME", "HOROVOD_TIMELINE", "HOROVOD_CACHE_CAPACITY", "NCCL_NET_GDR_LEVEL", "NCCL_NET_GDR_READ", "FI_PROVIDER", "NCCL_P2P_LEVEL",
    "FI_EFA_USE_DEVICE_RDMA", "cycle time", "fault_tolerance", "zero_allow_untested_optimizer", "zero_force_ds_cpu_optimizer", "ignore_unused_parameters",
    "start_powerSGD_iter", "start_localSGD_iter", "warm_start", "use_error_feedback", "min_compression_rate default", "deepspeed_multinode_launcher",
    "main_training_function", "same_network", "rdzv_backend", "machine_rank", "downcast_bf16", "dynamo_backend", "compute_environment", "debug", "use_cpu",
    "tpu_env", "gradient_predivide_factor", "prescale_gradients", "optim", "init_method", "timeout", "device_ids", "output_device", "device_id", "dim", "bucket_view off",
    "process_group", "vocab_size", "num_classes", "tokenizer", "lr_schedule", "all_reduce_spec nccl", "gpu_thread_mode", "local_rank", "cast_forward_inputs",
    "cast_root_forward_inputs", "buffer_dtype", "keep_low_precision_grads", "ignored_modules", "ignored_parameters", "fsdp_transformer", "memory_efficient_fp16",
    "pin_memory_offload", "offload_optimizer.pin_memory", "offload_param.pin_memory", "buffer_count", "fast_init", "distributed_type", "device_train_microbatch", "opt_level",
)  # fmt: skip

SILENT = joined(ENGLISH, SIZES_OF_THE_JOB, WITHOUT_EFFECT)
