"""A function for each command of the program: made by scripts/python_commands.py, not by hand.

Options keep their names, `--bucket-cap-mb` as `bucket_cap_mb`; None leaves one out, and a sequence stands for X,X,… or for an
option given several times. What an option takes is text as on the command line, with its unit: "104ms", "40GB".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, overload

if TYPE_CHECKING:
    from ._arguments import File, Files, Input, Inputs, Text, Texts
    from ._results import (
        AdviseResult,
        AllreduceResult,
        BucketsResult,
        CalibrateResult,
        CommandsResult,
        CompareResult,
        DiffResult,
        ListResult,
        SimulateResult,
        SweepResult,
        TopoResult,
        TuneResult,
        ValidateResult,
        Workload,
    )

VERSION = "0.1.0"


def simulate(
    workload: Input,
    cluster: Input,
    *,
    iterations: int | None = None,
    measured: Input | None = None,
    scheme: Text | None = None,
    bucket_cap_mb: Text | None = None,
    first_bucket_mb: Text | None = None,
    bucket_cap_mb_list: Texts | None = None,
    torch: str | None = None,
    find_unused_parameters: bool = False,
    static_graph: bool = False,
    gradient_as_bucket_view: bool = False,
    no_broadcast_buffers: bool = False,
    process_groups: int | None = None,
    comm_hook: Literal["none", "fp16", "bf16", "powersgd", "post_localSGD"] | None = None,
    comm_hook_min_mb: Text | None = None,
    matrix_approximation_rank: int | None = None,
    min_compression_rate: float | None = None,
    local_sgd_period: int | None = None,
    local_sgd_gradients: Literal["node", "none"] | None = None,
    apply_optimizer_in_backward: bool = False,
    sync_batchnorm: bool = False,
    sync_batchnorm_group: int | None = None,
    accumulate: int | None = None,
    nccl: str | None = None,
    algorithm: Texts | None = None,
    protocol: Texts | None = None,
    min_channels: int | None = None,
    max_channels: int | None = None,
    buffer_size: Text | None = None,
    no_nvls: bool = False,
    collnet: bool = False,
    nodes: int | None = None,
    gpus_per_node: int | None = None,
    backend: Literal["nccl", "gloo"] | None = None,
    gloo: Text | None = None,
    network: Literal["analytic", "flow"] | None = None,
    background: Input | None = None,
    interference: Text | None = None,
    model: Text | None = None,
    timing: Literal["recorded", "compacted"] | None = None,
    no_trace_calibration: bool = False,
    measured_step: Text | None = None,
    gpu: Text | None = None,
    batch: int | None = None,
    compute_scale: Text | None = None,
    data_loader: Text | None = None,
    dataset_size: int | None = None,
    drop_last: Literal["none", "sampler", "loader", "both"] | None = None,
    uneven_inputs: Text | None = None,
    optimizer: Literal["sgd", "momentum", "adam", "adamw"] | None = None,
    master_weights: bool = False,
    memory: Text | None = None,
    straggler: Texts | None = None,
    jitter: Text | None = None,
    stagger: Text | None = None,
    gpu_spread: Text | None = None,
    rank_slowdown: Text | None = None,
    seed: int | None = None,
    launch_cost: Text | None = None,
    cuda_graph: bool = False,
    nnodes: Text | None = None,
    elastic: Text | None = None,
    mtbf: Text | None = None,
    restart: Text | None = None,
    checkpoint: Text | None = None,
    csv: File | None = None,
    timeline: File | None = None,
    report: File | None = None,
    interactive: bool = False,
    quiet: bool = False,
    verbose: bool = False,
) -> SimulateResult:
    """One configuration: verdict, breakdown, bucket table.

    As `ddpsim simulate WORKLOAD CLUSTER`.

    WORKLOAD: workload file, profiler trace, archive of scripts/collect.sh, layer table, bundled name, or an estimate:
        MODEL@GPU[:bBATCH][:sSEQ][:bf16][:ckpt=full], MODEL a name, a config.json or llama:layers=L,hidden=H
    CLUSTER: bundled name, one line ("node:2 gpu:8xV100 …"), cluster file, NCCL topology XML, nvidia-smi topo -m matrix
        or archive of scripts/collect.sh; words beside a file complete it: "matrix.txt gpu:A100 node:4 nic:200Gbps:ib"

    Options:
        iterations (INT): simulate this many steps from the first of a training run (default: the steady step)
        measured (FILE): a measured step to lay beside: a ddpsim.timeline/1 file, as ddpsim-real writes it, or a trace;
            also drawn into --timeline

    DDP:
        scheme (NAME[:KEY=VALUE,…]): how it is trained data-parallel: ddp (default), naive, fsdp1, fsdp2, zero1, zero2,
            zero3, megatron, zero_redundancy, data_parallel, parameter_server, compiled, local_sgd, slowmo; options
            behind a colon: fsdp2:param_dtype=bf16,wrap=blocks (docs/schemes.md)
        bucket_cap_mb (TEXT): bucket_cap_mb as passed to DDP, in MiB; absent: PyTorch's default, which is not the same
            as 25
        first_bucket_mb (TEXT): torch.distributed._DEFAULT_FIRST_BUCKET_BYTES, in MiB (1.10 and later)
        bucket_cap_mb_list (TEXT): one cap per bucket, X,X,…; the last repeats (2.11 and later)
        torch (TEXT): PyTorch version whose rules hold; absent: the workload's own, or 2.8 where it says none
        find_unused_parameters: as passed to DDP
        static_graph: as passed to DDP (1.9 and later)
        gradient_as_bucket_view: as passed to DDP (1.7 and later)
        no_broadcast_buffers: broadcast_buffers=False
        process_groups (INT): round-robin process groups: so many collectives in flight (to 1.13)
        comm_hook: communication hook: fp16_compress_hook, powerSGD_hook (1.8 and later), bf16_compress_hook or
            post_localSGD_hook (1.10 and later)
        comm_hook_min_mb (TEXT): of fp16 and bf16: buckets of fewer MiB are all-reduced as they are, by a hook of five
            lines of your own (docs/formats.md)
        matrix_approximation_rank (INT): of powerSGD_hook, once start_powerSGD_iter is past (default: 1)
        min_compression_rate (FLOAT): of powerSGD_hook: what a matrix must be compressed by to be (default: 2)
        local_sgd_period (INT): of post_localSGD_hook, once start_localSGD_iter is past: steps from one averaging of all
            parameters to the next (default: 4)
        local_sgd_gradients: of post_localSGD_hook: all-reduced within each node, or not at all
            (post_local_gradient_allreduce=False, 1.12 and later)
        apply_optimizer_in_backward: _apply_optimizer_in_backward of torch.distributed.optim: each bucket's parameters
            step once it is reduced (2.0 and later)
        sync_batchnorm: torch.nn.SyncBatchNorm in place of every BatchNorm, over DDP's process group (1.1 and later)
        sync_batchnorm_group (INT): ranks of each process group of its own, whole nodes: convert_sync_batchnorm(model,
            process_group)
        accumulate (INT): micro-batches per step, all but the last under no_sync(); absent: as recorded, or 1

    NCCL:
        nccl (TEXT): NCCL version (default: the recorded one, else the one PyTorch ships)
        algorithm (TEXT): allow only these, or all but ^these: ring, tree, collnetdirect, collnetchain, nvls, nvlstree
            (NCCL_ALGO)
        protocol (TEXT): allow only these, or all but ^these: LL, LL128, Simple (NCCL_PROTO)
        min_channels (INT): at least so many channels for rings and trees (NCCL_MIN_NCHANNELS)
        max_channels (INT): at most so many channels for rings and trees (NCCL_MAX_NCHANNELS)
        buffer_size (TEXT): buffer per channel and peer of the Simple protocol: 4MiB (NCCL_BUFFSIZE)
        no_nvls: do not reduce in NVSwitches (NCCL_NVLS_ENABLE=0)
        collnet: reduce in the network's switches where the cluster has SHARP (NCCL_COLLNET_ENABLE=1)

    Cluster:
        nodes (INT): resize the cluster
        gpus_per_node (INT): use GPUs 0..G-1 of each node
        backend: library of the process group: nccl (default), or gloo, which reduces on the host
        gloo (TEXT): what binds gloo there, any of "process:1.5GBps fill:1.6 host:20GBps cache:90MB step:35us start:60us
            copy:11GBps fresh:1.5GBps threads:2 tensors:device|host"
        network: how collectives are timed: by a cost model, alone on the network (analytic, default), or chunk by chunk
            over the links (flow)
        background (FILE): what others send over the links (ddpsim.background/1); needs --network flow
        interference (TEXT): how compute and NCCL slow each other, any of "sm:1 memory:1 nccl:0.8": share of the SMs and
            of the memory traffic NCCL takes from compute, and the rate of NCCL beside compute (1 where it was recorded
            there)

    Recording:
        model (TEXT): parameter list for traces without shapes
        timing: of a trace: recorded (default), or compacted: without the gaps in which the GPU waited for the host
        no_trace_calibration: do not calibrate the cluster with the recording's own all-reduces, as where it is the one
            recorded on
        measured_step (TEXT): today's unprofiled step with these options, 104ms or a file of step times (FILE, FILE:KEY
            or FILE:KEY=UNIT): the answer, and what its replay misses carried along
        gpu (TEXT): accept the cluster's GPU: the workload is carried over layer by layer
        batch (INT): samples per GPU, where not the recorded ones: carried over layer by layer
        compute_scale (TEXT): speed of the cluster's GPU relative to the recording's: 2.3±0.2
        data_loader (KEY=VALUE,…): how batches are loaded: num_workers, prefetch_factor, pin_memory, non_blocking as
            DataLoader has them; batch (time of a worker) or sample and storage (of each node, RATE:shared of the whole
            job), sample_bytes; cores of a node; batch_bytes to the GPU (docs/data_loading.md)
        dataset_size (INT): samples of an epoch, dealt out by DistributedSampler: its steps, what repeats, the batch at
            its end, its time
        drop_last: of --dataset-size, whose drop_last=True: DistributedSampler's, DataLoader's, both (default: none)
        uneven_inputs (KEY=VALUE,…): ranks with different numbers of batches, within DDP's join(): inputs=10+9+10+8 or
            inputs=90..100, divide_by_initial_world_size, throw_on_early_termination

    Memory:
        optimizer: whose state counts as memory (its time is the recording's); default: momentum for models of images,
            adam for others
        master_weights: fp32 copies of half-precision parameters, as apex O2 and Megatron keep
        memory (TEXT): of each GPU, 40GB: what needs more has no answer; default: what the cluster's GPU has

    Variation:
        straggler (TEXT): RANK:FACTOR, repeatable: 3:1.2 has rank 3 take 1.2 times as long
        jitter (TEXT): spread of each rank's compute time from step to step: 2% (with --iterations)
        stagger (TEXT): the last rank begins training this much after the first: 5ms (with --iterations)
        gpu_spread (TEXT): standard deviation of the speed of GPUs of one model, the slowest of which each step waits
            for (default: 0.7% to 1.5%, by the GPU; 0%: all alike)
        rank_slowdown (TEXT): in place of the slowest GPU and of what published jobs of several ranks lose unexplained:
            how much longer compute takes on one of them than on a GPU alone (0%: not at all)
        seed (UINT): of --jitter
        launch_cost (TEXT): what the host takes to launch one of the model's kernels, where the workload counts them, as
            an estimate does (default: 16us)
        cuda_graph: the whole step is captured in a CUDA graph: the host launches it once

    Failures:
        nnodes (TEXT): MIN:MAX: a long run under torchrun on so many nodes, which fail (--mtbf) and come back: goodput
            by simulation, and the best checkpoint interval
        elastic (TEXT): of --nnodes, KEY=VALUE,…: max_restarts, last_call_timeout, join_timeout, timeout, store, start,
            load, repair, process_share, checkpoint_interval, … (docs/elastic.md)
        mtbf (TEXT): mean time between failures of one node: 2y, 5000h; training is then lost to checkpoints and
            restarts
        restart (TEXT): from a failure until training goes on: 10min
        checkpoint (TEXT): in which a checkpoint stops training: 30s

    Output:
        csv (FILE): write a table to this file
        timeline (FILE): write a Perfetto timeline (open it at ui.perfetto.dev); FILE.json for ddpsim.timeline/1
        report (FILE): write all of the answer as one page to look at and to pass on: FILE.html; FILE.json for what it
            draws
        interactive: of --report FILE.html: the page has the simulator inside, and goes on from here
        quiet: the verdict alone, one line
        verbose: all there is to say, not only 25 lines

    >>> step = ddpsim.simulate("resnet50-v100-b32", "dgx1v", bucket_cap_mb=25)
    >>> step.ranks, len(step.buckets), step.confidence.grade
    (8, 4, 'C')
    >>> step.exposed_communication_us < step.iteration_us
    True
    """
    from ._answer import answer
    from ._arguments import Switch, repeated
    from ._results import SimulateResult

    options = {
        "--iterations": iterations,
        "--measured": measured,
        "--scheme": scheme,
        "--bucket-cap-mb": bucket_cap_mb,
        "--first-bucket-mb": first_bucket_mb,
        "--bucket-cap-mb-list": bucket_cap_mb_list,
        "--torch": torch,
        "--find-unused-parameters": Switch(find_unused_parameters),
        "--static-graph": Switch(static_graph),
        "--gradient-as-bucket-view": Switch(gradient_as_bucket_view),
        "--no-broadcast-buffers": Switch(no_broadcast_buffers),
        "--process-groups": process_groups,
        "--comm-hook": comm_hook,
        "--comm-hook-min-mb": comm_hook_min_mb,
        "--matrix-approximation-rank": matrix_approximation_rank,
        "--min-compression-rate": min_compression_rate,
        "--local-sgd-period": local_sgd_period,
        "--local-sgd-gradients": local_sgd_gradients,
        "--apply-optimizer-in-backward": Switch(apply_optimizer_in_backward),
        "--sync-batchnorm": Switch(sync_batchnorm),
        "--sync-batchnorm-group": sync_batchnorm_group,
        "--accumulate": accumulate,
        "--nccl": nccl,
        "--algorithm": algorithm,
        "--protocol": protocol,
        "--min-channels": min_channels,
        "--max-channels": max_channels,
        "--buffer-size": buffer_size,
        "--no-nvls": Switch(no_nvls),
        "--collnet": Switch(collnet),
        "--nodes": nodes,
        "--gpus-per-node": gpus_per_node,
        "--backend": backend,
        "--gloo": gloo,
        "--network": network,
        "--background": background,
        "--interference": interference,
        "--model": model,
        "--timing": timing,
        "--no-trace-calibration": Switch(no_trace_calibration),
        "--measured-step": measured_step,
        "--gpu": gpu,
        "--batch": batch,
        "--compute-scale": compute_scale,
        "--data-loader": data_loader,
        "--dataset-size": dataset_size,
        "--drop-last": drop_last,
        "--uneven-inputs": uneven_inputs,
        "--optimizer": optimizer,
        "--master-weights": Switch(master_weights),
        "--memory": memory,
        "--straggler": repeated(straggler),
        "--jitter": jitter,
        "--stagger": stagger,
        "--gpu-spread": gpu_spread,
        "--rank-slowdown": rank_slowdown,
        "--seed": seed,
        "--launch-cost": launch_cost,
        "--cuda-graph": Switch(cuda_graph),
        "--nnodes": nnodes,
        "--elastic": elastic,
        "--mtbf": mtbf,
        "--restart": restart,
        "--checkpoint": checkpoint,
        "--csv": csv,
        "--timeline": timeline,
        "--report": report,
        "--interactive": Switch(interactive),
        "--quiet": Switch(quiet),
        "--verbose": Switch(verbose),
    }
    return answer(SimulateResult, "simulate", (workload, cluster), options)


def tune(
    workload: Input,
    cluster: Input,
    *,
    caps: Texts | None = None,
    scheme: Text | None = None,
    bucket_cap_mb: Text | None = None,
    first_bucket_mb: Text | None = None,
    bucket_cap_mb_list: Texts | None = None,
    torch: str | None = None,
    find_unused_parameters: bool = False,
    static_graph: bool = False,
    gradient_as_bucket_view: bool = False,
    no_broadcast_buffers: bool = False,
    process_groups: int | None = None,
    comm_hook: Literal["none", "fp16", "bf16", "powersgd", "post_localSGD"] | None = None,
    comm_hook_min_mb: Text | None = None,
    matrix_approximation_rank: int | None = None,
    min_compression_rate: float | None = None,
    local_sgd_period: int | None = None,
    local_sgd_gradients: Literal["node", "none"] | None = None,
    apply_optimizer_in_backward: bool = False,
    sync_batchnorm: bool = False,
    sync_batchnorm_group: int | None = None,
    accumulate: int | None = None,
    nccl: str | None = None,
    algorithm: Texts | None = None,
    protocol: Texts | None = None,
    min_channels: int | None = None,
    max_channels: int | None = None,
    buffer_size: Text | None = None,
    no_nvls: bool = False,
    collnet: bool = False,
    nodes: int | None = None,
    gpus_per_node: int | None = None,
    backend: Literal["nccl", "gloo"] | None = None,
    gloo: Text | None = None,
    network: Literal["analytic", "flow"] | None = None,
    background: Input | None = None,
    interference: Text | None = None,
    model: Text | None = None,
    timing: Literal["recorded", "compacted"] | None = None,
    no_trace_calibration: bool = False,
    measured_step: Text | None = None,
    gpu: Text | None = None,
    batch: int | None = None,
    compute_scale: Text | None = None,
    data_loader: Text | None = None,
    optimizer: Literal["sgd", "momentum", "adam", "adamw"] | None = None,
    master_weights: bool = False,
    memory: Text | None = None,
    straggler: Texts | None = None,
    gpu_spread: Text | None = None,
    rank_slowdown: Text | None = None,
    launch_cost: Text | None = None,
    cuda_graph: bool = False,
    threads: int | None = None,
    csv: File | None = None,
    plot: File | None = None,
    report: File | None = None,
    interactive: bool = False,
    quiet: bool = False,
    verbose: bool = False,
) -> TuneResult:
    """Is another bucket cap worth it; the best any bucketing could do.

    As `ddpsim tune WORKLOAD CLUSTER`.

    WORKLOAD: workload file, profiler trace, archive of scripts/collect.sh, layer table, bundled name, or an estimate:
        MODEL@GPU[:bBATCH][:sSEQ][:bf16][:ckpt=full], MODEL a name, a config.json or llama:layers=L,hidden=H
    CLUSTER: bundled name, one line ("node:2 gpu:8xV100 …"), cluster file, NCCL topology XML, nvidia-smi topo -m matrix
        or archive of scripts/collect.sh; words beside a file complete it: "matrix.txt gpu:A100 node:4 nic:200Gbps:ib"

    Options:
        caps (TEXT): only these caps (MiB), X,X,…; default: every bucket assignment once

    DDP:
        scheme (NAME[:KEY=VALUE,…]): how it is trained data-parallel: ddp (default), naive, fsdp1, fsdp2, zero1, zero2,
            zero3, megatron, zero_redundancy, data_parallel, parameter_server, compiled, local_sgd, slowmo; options
            behind a colon: fsdp2:param_dtype=bf16,wrap=blocks (docs/schemes.md)
        bucket_cap_mb (TEXT): bucket_cap_mb as passed to DDP, in MiB; absent: PyTorch's default, which is not the same
            as 25
        first_bucket_mb (TEXT): torch.distributed._DEFAULT_FIRST_BUCKET_BYTES, in MiB (1.10 and later)
        bucket_cap_mb_list (TEXT): one cap per bucket, X,X,…; the last repeats (2.11 and later)
        torch (TEXT): PyTorch version whose rules hold; absent: the workload's own, or 2.8 where it says none
        find_unused_parameters: as passed to DDP
        static_graph: as passed to DDP (1.9 and later)
        gradient_as_bucket_view: as passed to DDP (1.7 and later)
        no_broadcast_buffers: broadcast_buffers=False
        process_groups (INT): round-robin process groups: so many collectives in flight (to 1.13)
        comm_hook: communication hook: fp16_compress_hook, powerSGD_hook (1.8 and later), bf16_compress_hook or
            post_localSGD_hook (1.10 and later)
        comm_hook_min_mb (TEXT): of fp16 and bf16: buckets of fewer MiB are all-reduced as they are, by a hook of five
            lines of your own (docs/formats.md)
        matrix_approximation_rank (INT): of powerSGD_hook, once start_powerSGD_iter is past (default: 1)
        min_compression_rate (FLOAT): of powerSGD_hook: what a matrix must be compressed by to be (default: 2)
        local_sgd_period (INT): of post_localSGD_hook, once start_localSGD_iter is past: steps from one averaging of all
            parameters to the next (default: 4)
        local_sgd_gradients: of post_localSGD_hook: all-reduced within each node, or not at all
            (post_local_gradient_allreduce=False, 1.12 and later)
        apply_optimizer_in_backward: _apply_optimizer_in_backward of torch.distributed.optim: each bucket's parameters
            step once it is reduced (2.0 and later)
        sync_batchnorm: torch.nn.SyncBatchNorm in place of every BatchNorm, over DDP's process group (1.1 and later)
        sync_batchnorm_group (INT): ranks of each process group of its own, whole nodes: convert_sync_batchnorm(model,
            process_group)
        accumulate (INT): micro-batches per step, all but the last under no_sync(); absent: as recorded, or 1

    NCCL:
        nccl (TEXT): NCCL version (default: the recorded one, else the one PyTorch ships)
        algorithm (TEXT): allow only these, or all but ^these: ring, tree, collnetdirect, collnetchain, nvls, nvlstree
            (NCCL_ALGO)
        protocol (TEXT): allow only these, or all but ^these: LL, LL128, Simple (NCCL_PROTO)
        min_channels (INT): at least so many channels for rings and trees (NCCL_MIN_NCHANNELS)
        max_channels (INT): at most so many channels for rings and trees (NCCL_MAX_NCHANNELS)
        buffer_size (TEXT): buffer per channel and peer of the Simple protocol: 4MiB (NCCL_BUFFSIZE)
        no_nvls: do not reduce in NVSwitches (NCCL_NVLS_ENABLE=0)
        collnet: reduce in the network's switches where the cluster has SHARP (NCCL_COLLNET_ENABLE=1)

    Cluster:
        nodes (INT): resize the cluster
        gpus_per_node (INT): use GPUs 0..G-1 of each node
        backend: library of the process group: nccl (default), or gloo, which reduces on the host
        gloo (TEXT): what binds gloo there, any of "process:1.5GBps fill:1.6 host:20GBps cache:90MB step:35us start:60us
            copy:11GBps fresh:1.5GBps threads:2 tensors:device|host"
        network: how collectives are timed: by a cost model, alone on the network (analytic, default), or chunk by chunk
            over the links (flow)
        background (FILE): what others send over the links (ddpsim.background/1); needs --network flow
        interference (TEXT): how compute and NCCL slow each other, any of "sm:1 memory:1 nccl:0.8": share of the SMs and
            of the memory traffic NCCL takes from compute, and the rate of NCCL beside compute (1 where it was recorded
            there)

    Recording:
        model (TEXT): parameter list for traces without shapes
        timing: of a trace: recorded (default), or compacted: without the gaps in which the GPU waited for the host
        no_trace_calibration: do not calibrate the cluster with the recording's own all-reduces, as where it is the one
            recorded on
        measured_step (TEXT): today's unprofiled step with these options, 104ms or a file of step times (FILE, FILE:KEY
            or FILE:KEY=UNIT): the answer, and what its replay misses carried along
        gpu (TEXT): accept the cluster's GPU: the workload is carried over layer by layer
        batch (INT): samples per GPU, where not the recorded ones: carried over layer by layer
        compute_scale (TEXT): speed of the cluster's GPU relative to the recording's: 2.3±0.2
        data_loader (KEY=VALUE,…): how batches are loaded: num_workers, prefetch_factor, pin_memory, non_blocking as
            DataLoader has them; batch (time of a worker) or sample and storage (of each node, RATE:shared of the whole
            job), sample_bytes; cores of a node; batch_bytes to the GPU (docs/data_loading.md)

    Memory:
        optimizer: whose state counts as memory (its time is the recording's); default: momentum for models of images,
            adam for others
        master_weights: fp32 copies of half-precision parameters, as apex O2 and Megatron keep
        memory (TEXT): of each GPU, 40GB: what needs more has no answer; default: what the cluster's GPU has

    Variation:
        straggler (TEXT): RANK:FACTOR, repeatable: 3:1.2 has rank 3 take 1.2 times as long
        gpu_spread (TEXT): standard deviation of the speed of GPUs of one model, the slowest of which each step waits
            for (default: 0.7% to 1.5%, by the GPU; 0%: all alike)
        rank_slowdown (TEXT): in place of the slowest GPU and of what published jobs of several ranks lose unexplained:
            how much longer compute takes on one of them than on a GPU alone (0%: not at all)
        launch_cost (TEXT): what the host takes to launch one of the model's kernels, where the workload counts them, as
            an estimate does (default: 16us)
        cuda_graph: the whole step is captured in a CUDA graph: the host launches it once

    Output:
        threads (INT): threads (default: all); the result does not depend on it
        csv (FILE): write a table to this file
        plot (FILE): draw a figure into this file: FILE.svg
        report (FILE): write all of the answer as one page to look at and to pass on: FILE.html; FILE.json for what it
            draws
        interactive: of --report FILE.html: the page has the simulator inside, and goes on from here
        quiet: the verdict alone, one line
        verbose: all there is to say, not only 25 lines

    >>> answer = ddpsim.tune("resnet50-v100-b32", "dgx1v-1xedr@2", torch="2.8")
    >>> answer.recommended.python
    'DistributedDataParallel(model, bucket_cap_mb=5)'
    """
    from ._answer import answer
    from ._arguments import Switch, repeated
    from ._results import TuneResult

    options = {
        "--caps": caps,
        "--scheme": scheme,
        "--bucket-cap-mb": bucket_cap_mb,
        "--first-bucket-mb": first_bucket_mb,
        "--bucket-cap-mb-list": bucket_cap_mb_list,
        "--torch": torch,
        "--find-unused-parameters": Switch(find_unused_parameters),
        "--static-graph": Switch(static_graph),
        "--gradient-as-bucket-view": Switch(gradient_as_bucket_view),
        "--no-broadcast-buffers": Switch(no_broadcast_buffers),
        "--process-groups": process_groups,
        "--comm-hook": comm_hook,
        "--comm-hook-min-mb": comm_hook_min_mb,
        "--matrix-approximation-rank": matrix_approximation_rank,
        "--min-compression-rate": min_compression_rate,
        "--local-sgd-period": local_sgd_period,
        "--local-sgd-gradients": local_sgd_gradients,
        "--apply-optimizer-in-backward": Switch(apply_optimizer_in_backward),
        "--sync-batchnorm": Switch(sync_batchnorm),
        "--sync-batchnorm-group": sync_batchnorm_group,
        "--accumulate": accumulate,
        "--nccl": nccl,
        "--algorithm": algorithm,
        "--protocol": protocol,
        "--min-channels": min_channels,
        "--max-channels": max_channels,
        "--buffer-size": buffer_size,
        "--no-nvls": Switch(no_nvls),
        "--collnet": Switch(collnet),
        "--nodes": nodes,
        "--gpus-per-node": gpus_per_node,
        "--backend": backend,
        "--gloo": gloo,
        "--network": network,
        "--background": background,
        "--interference": interference,
        "--model": model,
        "--timing": timing,
        "--no-trace-calibration": Switch(no_trace_calibration),
        "--measured-step": measured_step,
        "--gpu": gpu,
        "--batch": batch,
        "--compute-scale": compute_scale,
        "--data-loader": data_loader,
        "--optimizer": optimizer,
        "--master-weights": Switch(master_weights),
        "--memory": memory,
        "--straggler": repeated(straggler),
        "--gpu-spread": gpu_spread,
        "--rank-slowdown": rank_slowdown,
        "--launch-cost": launch_cost,
        "--cuda-graph": Switch(cuda_graph),
        "--threads": threads,
        "--csv": csv,
        "--plot": plot,
        "--report": report,
        "--interactive": Switch(interactive),
        "--quiet": Switch(quiet),
        "--verbose": Switch(verbose),
    }
    return answer(TuneResult, "tune", (workload, cluster), options)


def advise(
    workload: Input,
    cluster: Input,
    *,
    scheme: Text | None = None,
    bucket_cap_mb: Text | None = None,
    first_bucket_mb: Text | None = None,
    bucket_cap_mb_list: Texts | None = None,
    torch: str | None = None,
    find_unused_parameters: bool = False,
    static_graph: bool = False,
    gradient_as_bucket_view: bool = False,
    no_broadcast_buffers: bool = False,
    process_groups: int | None = None,
    comm_hook: Literal["none", "fp16", "bf16", "powersgd", "post_localSGD"] | None = None,
    comm_hook_min_mb: Text | None = None,
    matrix_approximation_rank: int | None = None,
    min_compression_rate: float | None = None,
    local_sgd_period: int | None = None,
    local_sgd_gradients: Literal["node", "none"] | None = None,
    apply_optimizer_in_backward: bool = False,
    sync_batchnorm: bool = False,
    sync_batchnorm_group: int | None = None,
    accumulate: int | None = None,
    nccl: str | None = None,
    algorithm: Texts | None = None,
    protocol: Texts | None = None,
    min_channels: int | None = None,
    max_channels: int | None = None,
    buffer_size: Text | None = None,
    no_nvls: bool = False,
    collnet: bool = False,
    nodes: int | None = None,
    gpus_per_node: int | None = None,
    backend: Literal["nccl", "gloo"] | None = None,
    gloo: Text | None = None,
    network: Literal["analytic", "flow"] | None = None,
    background: Input | None = None,
    interference: Text | None = None,
    model: Text | None = None,
    timing: Literal["recorded", "compacted"] | None = None,
    no_trace_calibration: bool = False,
    measured_step: Text | None = None,
    gpu: Text | None = None,
    batch: int | None = None,
    compute_scale: Text | None = None,
    data_loader: Text | None = None,
    optimizer: Literal["sgd", "momentum", "adam", "adamw"] | None = None,
    master_weights: bool = False,
    memory: Text | None = None,
    straggler: Texts | None = None,
    gpu_spread: Text | None = None,
    rank_slowdown: Text | None = None,
    launch_cost: Text | None = None,
    cuda_graph: bool = False,
    threads: int | None = None,
    csv: File | None = None,
    report: File | None = None,
    export: File | None = None,
    lever: Text | None = None,
    quiet: bool = False,
    verbose: bool = False,
) -> AdviseResult:
    """Which lever of DDP or NCCL helps, and what it takes.

    As `ddpsim advise WORKLOAD CLUSTER`.

    WORKLOAD: workload file, profiler trace, archive of scripts/collect.sh, layer table, bundled name, or an estimate:
        MODEL@GPU[:bBATCH][:sSEQ][:bf16][:ckpt=full], MODEL a name, a config.json or llama:layers=L,hidden=H
    CLUSTER: bundled name, one line ("node:2 gpu:8xV100 …"), cluster file, NCCL topology XML, nvidia-smi topo -m matrix
        or archive of scripts/collect.sh; words beside a file complete it: "matrix.txt gpu:A100 node:4 nic:200Gbps:ib"

    DDP:
        scheme (NAME[:KEY=VALUE,…]): how it is trained data-parallel: ddp (default), naive, fsdp1, fsdp2, zero1, zero2,
            zero3, megatron, zero_redundancy, data_parallel, parameter_server, compiled, local_sgd, slowmo; options
            behind a colon: fsdp2:param_dtype=bf16,wrap=blocks (docs/schemes.md)
        bucket_cap_mb (TEXT): bucket_cap_mb as passed to DDP, in MiB; absent: PyTorch's default, which is not the same
            as 25
        first_bucket_mb (TEXT): torch.distributed._DEFAULT_FIRST_BUCKET_BYTES, in MiB (1.10 and later)
        bucket_cap_mb_list (TEXT): one cap per bucket, X,X,…; the last repeats (2.11 and later)
        torch (TEXT): PyTorch version whose rules hold; absent: the workload's own, or 2.8 where it says none
        find_unused_parameters: as passed to DDP
        static_graph: as passed to DDP (1.9 and later)
        gradient_as_bucket_view: as passed to DDP (1.7 and later)
        no_broadcast_buffers: broadcast_buffers=False
        process_groups (INT): round-robin process groups: so many collectives in flight (to 1.13)
        comm_hook: communication hook: fp16_compress_hook, powerSGD_hook (1.8 and later), bf16_compress_hook or
            post_localSGD_hook (1.10 and later)
        comm_hook_min_mb (TEXT): of fp16 and bf16: buckets of fewer MiB are all-reduced as they are, by a hook of five
            lines of your own (docs/formats.md)
        matrix_approximation_rank (INT): of powerSGD_hook, once start_powerSGD_iter is past (default: 1)
        min_compression_rate (FLOAT): of powerSGD_hook: what a matrix must be compressed by to be (default: 2)
        local_sgd_period (INT): of post_localSGD_hook, once start_localSGD_iter is past: steps from one averaging of all
            parameters to the next (default: 4)
        local_sgd_gradients: of post_localSGD_hook: all-reduced within each node, or not at all
            (post_local_gradient_allreduce=False, 1.12 and later)
        apply_optimizer_in_backward: _apply_optimizer_in_backward of torch.distributed.optim: each bucket's parameters
            step once it is reduced (2.0 and later)
        sync_batchnorm: torch.nn.SyncBatchNorm in place of every BatchNorm, over DDP's process group (1.1 and later)
        sync_batchnorm_group (INT): ranks of each process group of its own, whole nodes: convert_sync_batchnorm(model,
            process_group)
        accumulate (INT): micro-batches per step, all but the last under no_sync(); absent: as recorded, or 1

    NCCL:
        nccl (TEXT): NCCL version (default: the recorded one, else the one PyTorch ships)
        algorithm (TEXT): allow only these, or all but ^these: ring, tree, collnetdirect, collnetchain, nvls, nvlstree
            (NCCL_ALGO)
        protocol (TEXT): allow only these, or all but ^these: LL, LL128, Simple (NCCL_PROTO)
        min_channels (INT): at least so many channels for rings and trees (NCCL_MIN_NCHANNELS)
        max_channels (INT): at most so many channels for rings and trees (NCCL_MAX_NCHANNELS)
        buffer_size (TEXT): buffer per channel and peer of the Simple protocol: 4MiB (NCCL_BUFFSIZE)
        no_nvls: do not reduce in NVSwitches (NCCL_NVLS_ENABLE=0)
        collnet: reduce in the network's switches where the cluster has SHARP (NCCL_COLLNET_ENABLE=1)

    Cluster:
        nodes (INT): resize the cluster
        gpus_per_node (INT): use GPUs 0..G-1 of each node
        backend: library of the process group: nccl (default), or gloo, which reduces on the host
        gloo (TEXT): what binds gloo there, any of "process:1.5GBps fill:1.6 host:20GBps cache:90MB step:35us start:60us
            copy:11GBps fresh:1.5GBps threads:2 tensors:device|host"
        network: how collectives are timed: by a cost model, alone on the network (analytic, default), or chunk by chunk
            over the links (flow)
        background (FILE): what others send over the links (ddpsim.background/1); needs --network flow
        interference (TEXT): how compute and NCCL slow each other, any of "sm:1 memory:1 nccl:0.8": share of the SMs and
            of the memory traffic NCCL takes from compute, and the rate of NCCL beside compute (1 where it was recorded
            there)

    Recording:
        model (TEXT): parameter list for traces without shapes
        timing: of a trace: recorded (default), or compacted: without the gaps in which the GPU waited for the host
        no_trace_calibration: do not calibrate the cluster with the recording's own all-reduces, as where it is the one
            recorded on
        measured_step (TEXT): today's unprofiled step with these options, 104ms or a file of step times (FILE, FILE:KEY
            or FILE:KEY=UNIT): the answer, and what its replay misses carried along
        gpu (TEXT): accept the cluster's GPU: the workload is carried over layer by layer
        batch (INT): samples per GPU, where not the recorded ones: carried over layer by layer
        compute_scale (TEXT): speed of the cluster's GPU relative to the recording's: 2.3±0.2
        data_loader (KEY=VALUE,…): how batches are loaded: num_workers, prefetch_factor, pin_memory, non_blocking as
            DataLoader has them; batch (time of a worker) or sample and storage (of each node, RATE:shared of the whole
            job), sample_bytes; cores of a node; batch_bytes to the GPU (docs/data_loading.md)

    Memory:
        optimizer: whose state counts as memory (its time is the recording's); default: momentum for models of images,
            adam for others
        master_weights: fp32 copies of half-precision parameters, as apex O2 and Megatron keep
        memory (TEXT): of each GPU, 40GB: what needs more has no answer; default: what the cluster's GPU has

    Variation:
        straggler (TEXT): RANK:FACTOR, repeatable: 3:1.2 has rank 3 take 1.2 times as long
        gpu_spread (TEXT): standard deviation of the speed of GPUs of one model, the slowest of which each step waits
            for (default: 0.7% to 1.5%, by the GPU; 0%: all alike)
        rank_slowdown (TEXT): in place of the slowest GPU and of what published jobs of several ranks lose unexplained:
            how much longer compute takes on one of them than on a GPU alone (0%: not at all)
        launch_cost (TEXT): what the host takes to launch one of the model's kernels, where the workload counts them, as
            an estimate does (default: 16us)
        cuda_graph: the whole step is captured in a CUDA graph: the host launches it once

    Output:
        threads (INT): threads (default: all); the result does not depend on it
        csv (FILE): write a table to this file
        report (FILE): write all of the answer as one page to look at and to pass on: FILE.html; FILE.json for what it
            draws
        export (FILE): write what is advised: FILE.py wraps a model so, FILE.csv is for NCCL's tuner plugin
        lever (TEXT): what --export writes in place of the best that leaves numerics as they are: a row's levers, as
            printed
        quiet: the verdict alone, one line
        verbose: all there is to say, not only 25 lines

    >>> ddpsim.advise("resnet50-v100-b32", "p3dn@2", torch="2.8").rows[0].worth
    True
    """
    from ._answer import answer
    from ._arguments import Switch, repeated
    from ._results import AdviseResult

    options = {
        "--scheme": scheme,
        "--bucket-cap-mb": bucket_cap_mb,
        "--first-bucket-mb": first_bucket_mb,
        "--bucket-cap-mb-list": bucket_cap_mb_list,
        "--torch": torch,
        "--find-unused-parameters": Switch(find_unused_parameters),
        "--static-graph": Switch(static_graph),
        "--gradient-as-bucket-view": Switch(gradient_as_bucket_view),
        "--no-broadcast-buffers": Switch(no_broadcast_buffers),
        "--process-groups": process_groups,
        "--comm-hook": comm_hook,
        "--comm-hook-min-mb": comm_hook_min_mb,
        "--matrix-approximation-rank": matrix_approximation_rank,
        "--min-compression-rate": min_compression_rate,
        "--local-sgd-period": local_sgd_period,
        "--local-sgd-gradients": local_sgd_gradients,
        "--apply-optimizer-in-backward": Switch(apply_optimizer_in_backward),
        "--sync-batchnorm": Switch(sync_batchnorm),
        "--sync-batchnorm-group": sync_batchnorm_group,
        "--accumulate": accumulate,
        "--nccl": nccl,
        "--algorithm": algorithm,
        "--protocol": protocol,
        "--min-channels": min_channels,
        "--max-channels": max_channels,
        "--buffer-size": buffer_size,
        "--no-nvls": Switch(no_nvls),
        "--collnet": Switch(collnet),
        "--nodes": nodes,
        "--gpus-per-node": gpus_per_node,
        "--backend": backend,
        "--gloo": gloo,
        "--network": network,
        "--background": background,
        "--interference": interference,
        "--model": model,
        "--timing": timing,
        "--no-trace-calibration": Switch(no_trace_calibration),
        "--measured-step": measured_step,
        "--gpu": gpu,
        "--batch": batch,
        "--compute-scale": compute_scale,
        "--data-loader": data_loader,
        "--optimizer": optimizer,
        "--master-weights": Switch(master_weights),
        "--memory": memory,
        "--straggler": repeated(straggler),
        "--gpu-spread": gpu_spread,
        "--rank-slowdown": rank_slowdown,
        "--launch-cost": launch_cost,
        "--cuda-graph": Switch(cuda_graph),
        "--threads": threads,
        "--csv": csv,
        "--report": report,
        "--export": export,
        "--lever": lever,
        "--quiet": Switch(quiet),
        "--verbose": Switch(verbose),
    }
    return answer(AdviseResult, "advise", (workload, cluster), options)


def compare(
    _workload: Input | None = None,
    /,
    *clusters: Input,
    workload: Inputs | None = None,
    until: Texts | None = None,
    no_tune: bool = False,
    study: Input | None = None,
    bucket_cap_mb: Text | None = None,
    first_bucket_mb: Text | None = None,
    bucket_cap_mb_list: Texts | None = None,
    torch: str | None = None,
    find_unused_parameters: bool = False,
    static_graph: bool = False,
    gradient_as_bucket_view: bool = False,
    no_broadcast_buffers: bool = False,
    process_groups: int | None = None,
    comm_hook: Literal["none", "fp16", "bf16", "powersgd", "post_localSGD"] | None = None,
    comm_hook_min_mb: Text | None = None,
    matrix_approximation_rank: int | None = None,
    min_compression_rate: float | None = None,
    local_sgd_period: int | None = None,
    local_sgd_gradients: Literal["node", "none"] | None = None,
    apply_optimizer_in_backward: bool = False,
    sync_batchnorm: bool = False,
    sync_batchnorm_group: int | None = None,
    accumulate: int | None = None,
    scheme: Texts | None = None,
    nccl: str | None = None,
    algorithm: Texts | None = None,
    protocol: Texts | None = None,
    min_channels: int | None = None,
    max_channels: int | None = None,
    buffer_size: Text | None = None,
    no_nvls: bool = False,
    collnet: bool = False,
    nodes: int | None = None,
    gpus_per_node: int | None = None,
    backend: Literal["nccl", "gloo"] | None = None,
    gloo: Text | None = None,
    network: Literal["analytic", "flow"] | None = None,
    background: Input | None = None,
    interference: Text | None = None,
    model: Text | None = None,
    timing: Literal["recorded", "compacted"] | None = None,
    no_trace_calibration: bool = False,
    batch: int | None = None,
    data_loader: Text | None = None,
    gpu: Texts | None = None,
    compute_scale: Texts | None = None,
    measured_step: Texts | None = None,
    global_batch: int | None = None,
    optimizer: Literal["sgd", "momentum", "adam", "adamw"] | None = None,
    master_weights: bool = False,
    memory: Text | None = None,
    straggler: Texts | None = None,
    gpu_spread: Text | None = None,
    rank_slowdown: Text | None = None,
    launch_cost: Text | None = None,
    cuda_graph: bool = False,
    price: Texts | None = None,
    life: Texts | None = None,
    utilisation: Texts | None = None,
    node_power: Texts | None = None,
    energy_price: float | None = None,
    samples: float | None = None,
    steps: float | None = None,
    mtbf: Texts | None = None,
    restart: Texts | None = None,
    checkpoint: Texts | None = None,
    nnodes: Text | None = None,
    elastic: Text | None = None,
    threads: int | None = None,
    csv: File | None = None,
    plot: File | None = None,
    plot_cost: File | None = None,
    report: File | None = None,
    quiet: bool = False,
    verbose: bool = False,
) -> CompareResult:
    """Workloads on several clusters: which trains faster, how surely.

    As `ddpsim compare WORKLOAD CLUSTER...`.

    WORKLOAD: workload file, profiler trace, archive of scripts/collect.sh, layer table, bundled name, or an estimate:
        MODEL@GPU[:bBATCH][:sSEQ][:bf16][:ckpt=full], MODEL a name, a config.json or llama:layers=L,hidden=H
    CLUSTER: clusters as elsewhere, also as ranges: dgxa100@1..16*2, "node:{4,8} …"; LABEL=CLUSTER gives a name

    Options:
        workload (TEXT): instead of WORKLOAD one of several, W or W=SHARE of the time on the first candidate: bert=70%;
            repeatable
        until (TEXT): where along a range, how surely: efficiency<90%, speed>20000 (samples/s), step>120ms, usd>1.5, "A
            faster than B", "A cheaper than B"; repeatable. A range {1,2,4} is written out, [1..64] in a cluster,
            --price or --compute-scale searched
        no_tune: do not search the best cap of those that may be the fastest
        study (FILE): workload, candidates and options of a file (ddpsim.study/1); what is typed beside it comes first

    DDP:
        bucket_cap_mb (TEXT): bucket_cap_mb as passed to DDP, in MiB; absent: PyTorch's default, which is not the same
            as 25
        first_bucket_mb (TEXT): torch.distributed._DEFAULT_FIRST_BUCKET_BYTES, in MiB (1.10 and later)
        bucket_cap_mb_list (TEXT): one cap per bucket, X,X,…; the last repeats (2.11 and later)
        torch (TEXT): PyTorch version whose rules hold; absent: the workload's own, or 2.8 where it says none
        find_unused_parameters: as passed to DDP
        static_graph: as passed to DDP (1.9 and later)
        gradient_as_bucket_view: as passed to DDP (1.7 and later)
        no_broadcast_buffers: broadcast_buffers=False
        process_groups (INT): round-robin process groups: so many collectives in flight (to 1.13)
        comm_hook: communication hook: fp16_compress_hook, powerSGD_hook (1.8 and later), bf16_compress_hook or
            post_localSGD_hook (1.10 and later)
        comm_hook_min_mb (TEXT): of fp16 and bf16: buckets of fewer MiB are all-reduced as they are, by a hook of five
            lines of your own (docs/formats.md)
        matrix_approximation_rank (INT): of powerSGD_hook, once start_powerSGD_iter is past (default: 1)
        min_compression_rate (FLOAT): of powerSGD_hook: what a matrix must be compressed by to be (default: 2)
        local_sgd_period (INT): of post_localSGD_hook, once start_localSGD_iter is past: steps from one averaging of all
            parameters to the next (default: 4)
        local_sgd_gradients: of post_localSGD_hook: all-reduced within each node, or not at all
            (post_local_gradient_allreduce=False, 1.12 and later)
        apply_optimizer_in_backward: _apply_optimizer_in_backward of torch.distributed.optim: each bucket's parameters
            step once it is reduced (2.0 and later)
        sync_batchnorm: torch.nn.SyncBatchNorm in place of every BatchNorm, over DDP's process group (1.1 and later)
        sync_batchnorm_group (INT): ranks of each process group of its own, whole nodes: convert_sync_batchnorm(model,
            process_group)
        accumulate (INT): micro-batches per step, all but the last under no_sync(); absent: as recorded, or 1
        scheme (NAME[:KEY=VALUE,…]): how it is trained data-parallel: ddp (default), naive, fsdp1, fsdp2, zero1, zero2,
            zero3, megatron, zero_redundancy, data_parallel, parameter_server, compiled, local_sgd, slowmo; options
            behind a colon: fsdp2:param_dtype=bf16,wrap=blocks (docs/schemes.md); repeatable: each is a candidate

    NCCL:
        nccl (TEXT): NCCL version (default: the recorded one, else the one PyTorch ships)
        algorithm (TEXT): allow only these, or all but ^these: ring, tree, collnetdirect, collnetchain, nvls, nvlstree
            (NCCL_ALGO)
        protocol (TEXT): allow only these, or all but ^these: LL, LL128, Simple (NCCL_PROTO)
        min_channels (INT): at least so many channels for rings and trees (NCCL_MIN_NCHANNELS)
        max_channels (INT): at most so many channels for rings and trees (NCCL_MAX_NCHANNELS)
        buffer_size (TEXT): buffer per channel and peer of the Simple protocol: 4MiB (NCCL_BUFFSIZE)
        no_nvls: do not reduce in NVSwitches (NCCL_NVLS_ENABLE=0)
        collnet: reduce in the network's switches where the cluster has SHARP (NCCL_COLLNET_ENABLE=1)

    Cluster:
        nodes (INT): resize the cluster
        gpus_per_node (INT): use GPUs 0..G-1 of each node
        backend: library of the process group: nccl (default), or gloo, which reduces on the host
        gloo (TEXT): what binds gloo there, any of "process:1.5GBps fill:1.6 host:20GBps cache:90MB step:35us start:60us
            copy:11GBps fresh:1.5GBps threads:2 tensors:device|host"
        network: how collectives are timed: by a cost model, alone on the network (analytic, default), or chunk by chunk
            over the links (flow)
        background (FILE): what others send over the links (ddpsim.background/1); needs --network flow
        interference (TEXT): how compute and NCCL slow each other, any of "sm:1 memory:1 nccl:0.8": share of the SMs and
            of the memory traffic NCCL takes from compute, and the rate of NCCL beside compute (1 where it was recorded
            there)

    Recording:
        model (TEXT): parameter list for traces without shapes
        timing: of a trace: recorded (default), or compacted: without the gaps in which the GPU waited for the host
        no_trace_calibration: do not calibrate the cluster with the recording's own all-reduces, as where it is the one
            recorded on
        batch (INT): samples per GPU, where not the recorded ones: carried over layer by layer
        data_loader (KEY=VALUE,…): how batches are loaded: num_workers, prefetch_factor, pin_memory, non_blocking as
            DataLoader has them; batch (time of a worker) or sample and storage (of each node, RATE:shared of the whole
            job), sample_bytes; cores of a node; batch_bytes to the GPU (docs/data_loading.md)
        gpu (TEXT): accept this GPU of a cluster: the workload is carried over layer by layer; repeatable
        compute_scale (TEXT): speed of a GPU relative to the recording's, A100:2.3±0.2; repeatable. Without a name: of
            whichever GPU differs
        measured_step (TEXT): today's unprofiled step on one of the clusters, dgxa100@4=104ms or =FILE; repeatable
        global_batch (INT): samples of all GPUs together, the same on every candidate; absent: the batch of each GPU is
            the same

    Memory:
        optimizer: whose state counts as memory (its time is the recording's); default: momentum for models of images,
            adam for others
        master_weights: fp32 copies of half-precision parameters, as apex O2 and Megatron keep
        memory (TEXT): of each GPU, 40GB: what needs more has no answer; default: what the cluster's GPU has

    Variation:
        straggler (TEXT): RANK:FACTOR, repeatable: 3:1.2 has rank 3 take 1.2 times as long
        gpu_spread (TEXT): standard deviation of the speed of GPUs of one model, the slowest of which each step waits
            for (default: 0.7% to 1.5%, by the GPU; 0%: all alike)
        rank_slowdown (TEXT): in place of the slowest GPU and of what published jobs of several ranks lose unexplained:
            how much longer compute takes on one of them than on a GPU alone (0%: not at all)
        launch_cost (TEXT): what the host takes to launch one of the model's kernels, where the workload counts them, as
            an estimate does (default: 16us)
        cuda_graph: the whole step is captured in a CUDA graph: the host launches it once

    Money:
        price (TEXT): what a candidate costs, LABEL=USD/node_hour, /gpu_hour or, bought, /node; repeatable. Others cost
            what their files list; list: all do
        life (TEXT): until what is bought is written off, 4y, 1500d or 35000h, or LABEL=4y of one candidate; repeatable
        utilisation (TEXT): share of its life in which what is bought trains, 70% or LABEL=70% (default: 100%);
            repeatable
        node_power (TEXT): what a bought node draws, cooling included, 6.5kW or 6500W, or LABEL=6.5kW of one candidate;
            repeatable
        energy_price (FLOAT): USD for a kWh
        samples (FLOAT): to be trained: what they take and cost
        steps (FLOAT): the same in steps of --global-batch

    Failures:
        mtbf (TEXT): mean time between failures of one node, 2y or 5000h, or LABEL=2y of one candidate; repeatable.
            Training is then lost to checkpoints and restarts
        restart (TEXT): from a failure until training goes on, 10min or LABEL=10min; repeatable
        checkpoint (TEXT): in which a checkpoint stops training, 30s or LABEL=30s; repeatable
        nnodes (TEXT): MIN:MAX: a long run under torchrun on so many nodes, which fail (--mtbf) and come back: goodput
            by simulation, and the best checkpoint interval
        elastic (TEXT): of --nnodes, KEY=VALUE,…: max_restarts, last_call_timeout, join_timeout, timeout, store, start,
            load, repair, process_share, checkpoint_interval, … (docs/elastic.md)

    Output:
        threads (INT): threads (default: all); the result does not depend on it
        csv (FILE): write a table to this file
        plot (FILE): draw a figure into this file: FILE.svg
        plot_cost (FILE): draw cost against time into this file: FILE.svg
        report (FILE): write all of the answer as one page to look at and to pass on: FILE.html; FILE.json for what it
            draws
        quiet: the verdict alone, one line
        verbose: all there is to say, not only 25 lines

    >>> answer = ddpsim.compare("resnet50-v100-b32", "p3dn@2", "dgxa100@2", gpu="A100")
    >>> answer.rows[answer.by_speed[0]].label
    'dgxa100@2'
    """
    from ._answer import answer
    from ._arguments import Switch, repeated
    from ._results import CompareResult

    options = {
        "--workload": repeated(workload),
        "--until": repeated(until),
        "--no-tune": Switch(no_tune),
        "--study": study,
        "--bucket-cap-mb": bucket_cap_mb,
        "--first-bucket-mb": first_bucket_mb,
        "--bucket-cap-mb-list": bucket_cap_mb_list,
        "--torch": torch,
        "--find-unused-parameters": Switch(find_unused_parameters),
        "--static-graph": Switch(static_graph),
        "--gradient-as-bucket-view": Switch(gradient_as_bucket_view),
        "--no-broadcast-buffers": Switch(no_broadcast_buffers),
        "--process-groups": process_groups,
        "--comm-hook": comm_hook,
        "--comm-hook-min-mb": comm_hook_min_mb,
        "--matrix-approximation-rank": matrix_approximation_rank,
        "--min-compression-rate": min_compression_rate,
        "--local-sgd-period": local_sgd_period,
        "--local-sgd-gradients": local_sgd_gradients,
        "--apply-optimizer-in-backward": Switch(apply_optimizer_in_backward),
        "--sync-batchnorm": Switch(sync_batchnorm),
        "--sync-batchnorm-group": sync_batchnorm_group,
        "--accumulate": accumulate,
        "--scheme": repeated(scheme),
        "--nccl": nccl,
        "--algorithm": algorithm,
        "--protocol": protocol,
        "--min-channels": min_channels,
        "--max-channels": max_channels,
        "--buffer-size": buffer_size,
        "--no-nvls": Switch(no_nvls),
        "--collnet": Switch(collnet),
        "--nodes": nodes,
        "--gpus-per-node": gpus_per_node,
        "--backend": backend,
        "--gloo": gloo,
        "--network": network,
        "--background": background,
        "--interference": interference,
        "--model": model,
        "--timing": timing,
        "--no-trace-calibration": Switch(no_trace_calibration),
        "--batch": batch,
        "--data-loader": data_loader,
        "--gpu": repeated(gpu),
        "--compute-scale": repeated(compute_scale),
        "--measured-step": repeated(measured_step),
        "--global-batch": global_batch,
        "--optimizer": optimizer,
        "--master-weights": Switch(master_weights),
        "--memory": memory,
        "--straggler": repeated(straggler),
        "--gpu-spread": gpu_spread,
        "--rank-slowdown": rank_slowdown,
        "--launch-cost": launch_cost,
        "--cuda-graph": Switch(cuda_graph),
        "--price": repeated(price),
        "--life": repeated(life),
        "--utilisation": repeated(utilisation),
        "--node-power": repeated(node_power),
        "--energy-price": energy_price,
        "--samples": samples,
        "--steps": steps,
        "--mtbf": repeated(mtbf),
        "--restart": repeated(restart),
        "--checkpoint": repeated(checkpoint),
        "--nnodes": nnodes,
        "--elastic": elastic,
        "--threads": threads,
        "--csv": csv,
        "--plot": plot,
        "--plot-cost": plot_cost,
        "--report": report,
        "--quiet": Switch(quiet),
        "--verbose": Switch(verbose),
    }
    return answer(CompareResult, "compare", (_workload, *clusters), options)


def sweep(
    study: Input | None = None,
    *,
    no_intervals: bool = False,
    shard: Text | None = None,
    no_mpi: bool = False,
    join: Files | None = None,
    output: File | None = None,
    csv: File | None = None,
    plot: File | None = None,
    threads: int | None = None,
) -> SweepResult:
    """A study's grid in full: a line a point, resumable, in shards.

    As `ddpsim sweep STUDY`.

    STUDY: workloads, candidates, options and those that vary: a file

    Options:
        no_intervals: how sure is not asked: about four times as fast, without interval and grade
        shard (TEXT): every N-th point, from the I-th on: I/N; for arrays of jobs
        no_mpi: under mpirun or srun, too, each process sweeps by itself
        join (FILE): put together what shards wrote, as one run writes it

    Output:
        output (FILE): write lines there, or go on where that file ends (default: stdout)
        csv (FILE): write a table to this file
        plot (FILE): draw a figure into this file: FILE.svg
        threads (INT): threads (default: all); the result does not depend on it

    >>> study = {"schema": "ddpsim.study/1", "workload": "resnet50-v100-b32", "candidates": ["dgx1v"],
    ...          "grid": {"bucket-cap-mb": [5, 25]}}
    >>> [point.grid["bucket-cap-mb"] for point in ddpsim.sweep(study).points]
    [5, 25]
    """
    from ._answer import sweep
    from ._arguments import Switch, repeated
    from ._results import SweepResult

    options = {
        "--no-intervals": Switch(no_intervals),
        "--shard": shard,
        "--no-mpi": Switch(no_mpi),
        "--join": repeated(join),
        "--output": output,
        "--csv": csv,
        "--plot": plot,
        "--threads": threads,
    }
    return sweep(SweepResult, "sweep", (study,), options)


def diff(
    old: Input,
    new: Input,
    *,
    max_slowdown: float | None = None,
    pairs: File | None = None,
    model: Text | None = None,
    batch: int | None = None,
    compute_scale: Text | None = None,
    gpus_per_node: int | None = None,
    cluster: Input | None = None,
    new_cluster: Input | None = None,
    backend: Literal["nccl", "gloo"] | None = None,
    gloo: Text | None = None,
    csv: File | None = None,
    quiet: bool = False,
    verbose: bool = False,
) -> DiffResult:
    """Two measured steps: where the time between them went, and why.

    As `ddpsim diff OLD NEW`.

    OLD: as it was: trace, folder of them or FILE,FILE,… of several ranks, workload file, DDP logging data, step times
        (a file, FILE:KEY, FILE:KEY=UNIT, 104ms), nccl-tests log, NCCL's debug lines, environment, archive of
        scripts/collect.sh; several with commas between
    NEW: as it is now: the same, in any mixture

    Options:
        max_slowdown (FLOAT): percent (3 or 3%); exit code 4 when the step got longer by more, naming the row
        pairs (FILE): bandwidths of pairs of nodes, A,B,busbw a line: which node is slow

    Recording:
        model (TEXT): parameter list for traces without shapes
        batch (INT): samples per GPU and step, where a side does not say
        compute_scale (TEXT): speed of the cluster's GPU relative to the recording's: 1

    Cluster:
        gpus_per_node (INT): ranks of a node: whether late ranks share a node or a slot
        cluster (CLUSTER): the cluster OLD ran on: what a model expects the change to cost (OLD's recording under NEW's
            PyTorch, NCCL, options and buckets) beside what it did cost
        new_cluster (CLUSTER): the cluster NEW ran on, where it is another
        backend: library of the process group: nccl (default), or gloo, which reduces on the host
        gloo (TEXT): what binds gloo there, any of "process:1.5GBps fill:1.6 host:20GBps cache:90MB step:35us start:60us
            copy:11GBps fresh:1.5GBps threads:2 tensors:device|host"

    Output:
        csv (FILE): write a table to this file
        quiet: the verdict alone, one line
        verbose: all there is to say, not only 25 lines

    >>> answer = ddpsim.diff("104ms", "116ms", batch=32)
    >>> answer.causes[0].class_, answer.rows[0].us
    ('unknown', 12000.0)
    """
    from ._answer import answer
    from ._arguments import Switch
    from ._results import DiffResult

    options = {
        "--max-slowdown": max_slowdown,
        "--pairs": pairs,
        "--model": model,
        "--batch": batch,
        "--compute-scale": compute_scale,
        "--gpus-per-node": gpus_per_node,
        "--cluster": cluster,
        "--new-cluster": new_cluster,
        "--backend": backend,
        "--gloo": gloo,
        "--csv": csv,
        "--quiet": Switch(quiet),
        "--verbose": Switch(verbose),
    }
    return answer(DiffResult, "diff", (old, new), options)


def buckets(
    workload: Input,
    *,
    order: Literal["ready", "definition"] | None = None,
    bucket_limits: Texts | None = None,
    bucket_cap_mb: Text | None = None,
    first_bucket_mb: Text | None = None,
    bucket_cap_mb_list: Texts | None = None,
    torch: str | None = None,
    find_unused_parameters: bool = False,
    static_graph: bool = False,
    model: Text | None = None,
    csv: File | None = None,
) -> BucketsResult:
    """Bucket assignment only, and why each bucket closed.

    As `ddpsim buckets WORKLOAD`.

    WORKLOAD: workload file, trace, DDP logging data, bundled name, estimate, or a model's name

    Options:
        order: ready: after the rebuild (default); definition: buckets at construction
        bucket_limits (TEXT): exact limits in bytes, B,B,…; the last repeats

    DDP:
        bucket_cap_mb (TEXT): bucket_cap_mb as passed to DDP, in MiB; absent: PyTorch's default, which is not the same
            as 25
        first_bucket_mb (TEXT): torch.distributed._DEFAULT_FIRST_BUCKET_BYTES, in MiB (1.10 and later)
        bucket_cap_mb_list (TEXT): one cap per bucket, X,X,…; the last repeats (2.11 and later)
        torch (TEXT): PyTorch version whose rules hold; absent: the workload's own, or 2.8 where it says none
        find_unused_parameters: as passed to DDP
        static_graph: as passed to DDP (1.9 and later)

    Recording:
        model (TEXT): parameter list for traces without shapes

    Output:
        csv (FILE): write a table to this file

    >>> [bucket.bytes for bucket in ddpsim.buckets("resnet18", torch="1.7").buckets][:2]
    [2052000, 28852224]
    """
    from ._answer import answer
    from ._arguments import Switch
    from ._results import BucketsResult

    options = {
        "--order": order,
        "--bucket-limits": bucket_limits,
        "--bucket-cap-mb": bucket_cap_mb,
        "--first-bucket-mb": first_bucket_mb,
        "--bucket-cap-mb-list": bucket_cap_mb_list,
        "--torch": torch,
        "--find-unused-parameters": Switch(find_unused_parameters),
        "--static-graph": Switch(static_graph),
        "--model": model,
        "--csv": csv,
    }
    return answer(BucketsResult, "buckets", (workload,), options)


def allreduce(
    cluster: Input,
    *,
    begin: Text | None = None,
    end: Text | None = None,
    factor: float | None = None,
    step: Text | None = None,
    collective: Literal["all-reduce", "all-gather", "reduce-scatter", "broadcast", "reduce", "send-recv"] | None = None,
    side_by_side: bool = False,
    measured: Input | None = None,
    nccl: str | None = None,
    algorithm: Texts | None = None,
    protocol: Texts | None = None,
    min_channels: int | None = None,
    max_channels: int | None = None,
    buffer_size: Text | None = None,
    no_nvls: bool = False,
    collnet: bool = False,
    torch: str | None = None,
    nodes: int | None = None,
    gpus_per_node: int | None = None,
    csv: File | None = None,
    plot: File | None = None,
    report: File | None = None,
) -> AllreduceResult:
    """Predicted nccl-tests table (all_reduce_perf) of a cluster.

    As `ddpsim allreduce CLUSTER`.

    CLUSTER: bundled name, one line ("node:2 gpu:8xV100 …"), cluster file, NCCL topology XML, nvidia-smi topo -m matrix
        or archive of scripts/collect.sh; words beside a file complete it: "matrix.txt gpu:A100 node:4 nic:200Gbps:ib"

    Options:
        begin (TEXT): smallest size: 8, 64K, 25M, 1G
        end (TEXT): largest size
        factor (FLOAT): each size so many times the last (default: 2)
        step (TEXT): each size so much more than the last
        collective: sizes as its *_perf counts them (default: all-reduce)
        side_by_side: beside NCCL's choice a ring, a tree, and a reduce with a broadcast behind it
        measured (TEXT): an all_reduce_perf log, LOG[@NxG], whose points --plot and --report draw beside

    NCCL:
        nccl (TEXT): NCCL version (default: the recorded one, else the one PyTorch ships)
        algorithm (TEXT): allow only these, or all but ^these: ring, tree, collnetdirect, collnetchain, nvls, nvlstree
            (NCCL_ALGO)
        protocol (TEXT): allow only these, or all but ^these: LL, LL128, Simple (NCCL_PROTO)
        min_channels (INT): at least so many channels for rings and trees (NCCL_MIN_NCHANNELS)
        max_channels (INT): at most so many channels for rings and trees (NCCL_MAX_NCHANNELS)
        buffer_size (TEXT): buffer per channel and peer of the Simple protocol: 4MiB (NCCL_BUFFSIZE)
        no_nvls: do not reduce in NVSwitches (NCCL_NVLS_ENABLE=0)
        collnet: reduce in the network's switches where the cluster has SHARP (NCCL_COLLNET_ENABLE=1)
        torch (TEXT): PyTorch version, for the NCCL it ships; absent: 2.8

    Cluster:
        nodes (INT): resize the cluster
        gpus_per_node (INT): use GPUs 0..G-1 of each node

    Output:
        csv (FILE): write a table to this file
        plot (FILE): draw a figure into this file: FILE.svg
        report (FILE): write all of the answer as one page to look at and to pass on: FILE.html; FILE.json for what it
            draws

    >>> [row.size_bytes for row in ddpsim.allreduce("dgxa100@4", begin="1M", end="4M").rows]
    [1048576, 2097152, 4194304]
    """
    from ._answer import answer
    from ._arguments import Switch
    from ._results import AllreduceResult

    options = {
        "--begin": begin,
        "--end": end,
        "--factor": factor,
        "--step": step,
        "--collective": collective,
        "--side-by-side": Switch(side_by_side),
        "--measured": measured,
        "--nccl": nccl,
        "--algorithm": algorithm,
        "--protocol": protocol,
        "--min-channels": min_channels,
        "--max-channels": max_channels,
        "--buffer-size": buffer_size,
        "--no-nvls": Switch(no_nvls),
        "--collnet": Switch(collnet),
        "--torch": torch,
        "--nodes": nodes,
        "--gpus-per-node": gpus_per_node,
        "--csv": csv,
        "--plot": plot,
        "--report": report,
    }
    return answer(AllreduceResult, "allreduce", (cluster,), options)


def topo(
    cluster: Input,
    *,
    nodes: int | None = None,
    gpus_per_node: int | None = None,
) -> TopoResult:
    """The cluster as summary, matrix, tree, channels, bottleneck.

    As `ddpsim topo CLUSTER`.

    CLUSTER: bundled name, one line ("node:2 gpu:8xV100 …"), cluster file, NCCL topology XML, nvidia-smi topo -m matrix
        or archive of scripts/collect.sh; words beside a file complete it: "matrix.txt gpu:A100 node:4 nic:200Gbps:ib"

    Cluster:
        nodes (INT): resize the cluster
        gpus_per_node (INT): use GPUs 0..G-1 of each node

    >>> ddpsim.topo("dgx1v").cluster.ranks
    8
    """
    from ._answer import answer
    from ._results import TopoResult

    options = {
        "--nodes": nodes,
        "--gpus-per-node": gpus_per_node,
    }
    return answer(TopoResult, "topo", (cluster,), options)


def import_trace(
    *inputs: Input,
    iteration: int | None = None,
    model: Text | None = None,
    timing: Literal["recorded", "compacted"] | None = None,
    gpu: Text | None = None,
    output: File | None = None,
) -> Workload:
    """Traces, a layer table or an estimate -> workload file.

    As `ddpsim import INPUT...`.

    INPUT: trace (.json, .json.gz), a folder of them, table, workload file, bundled name, or an estimate
        MODEL@GPU[:bBATCH][:sSEQ][:fp32|tf32|amp|bf16]; or the traces of several ranks of one job

    Recording:
        iteration (INT): which complete iteration, from 0 (default: lower median by backward)
        model (TEXT): parameter list for traces without shapes
        timing: of a trace: recorded (default), or compacted: without the gaps in which the GPU waited for the host
        gpu (TEXT): GPU model, where the trace does not say

    Output:
        output (FILE): workload file to write (default: stdout)

    >>> workload = ddpsim.import_trace("resnet50@A100:b32:amp")
    >>> ddpsim.simulate(workload, "dgxa100").workload
    'estimate resnet50@A100:b32:amp'
    """
    from ._answer import saved
    from ._results import Workload

    options = {
        "--iteration": iteration,
        "--model": model,
        "--timing": timing,
        "--gpu": gpu,
        "--output": output,
    }
    return saved(Workload, "import", (*inputs,), options)


def calibrate(
    *logs: Input,
    keep_unhealthy: bool = False,
    published: bool = False,
    cluster: Input,
    backend: Literal["nccl", "gloo"] | None = None,
    nccl: str | None = None,
    report: File | None = None,
    output: File | None = None,
) -> CalibrateResult:
    """Fit a cluster to all_reduce_perf logs taken on it.

    As `ddpsim calibrate LOG...`.

    LOG: nccl-tests logs, of any numbers of nodes and GPUs, and traces of a DDP job;
        LOG@NODESxGPUS,NCCL_ALGO=Ring,NCCL_VERSION=2.21.5 states what the log does not say

    Options:
        keep_unhealthy: fit logs as well that do not look like this cluster in a sound state
        published: the logs are of other machines of the same kind: intervals hold what such machines differ by

    Cluster:
        cluster (TEXT): the cluster they were taken on: bundled name, file, or one line
        backend: library of logs that do not say theirs: nccl (default) or gloo

    NCCL:
        nccl (TEXT): NCCL version of logs that do not print theirs (default: the one PyTorch ships)

    Output:
        report (FILE): write all of the answer as one page to look at and to pass on: FILE.html; FILE.json for what it
            draws
        output (FILE): the calibrated cluster file
    """
    from ._answer import saved
    from ._arguments import Switch
    from ._results import CalibrateResult

    options = {
        "--keep-unhealthy": Switch(keep_unhealthy),
        "--published": Switch(published),
        "--cluster": cluster,
        "--backend": backend,
        "--nccl": nccl,
        "--report": report,
        "--output": output,
    }
    return saved(CalibrateResult, "calibrate", (*logs,), options)


def validate(
    predicted: Input,
    measured: Input,
    *,
    max_error: float | None = None,
    statistic: Literal["worst", "p90", "median"] | None = None,
    only: Texts | None = None,
    batch: int | None = None,
    csv: File | None = None,
    report: File | None = None,
) -> ValidateResult:
    """A prediction laid over a measurement: the error of every figure.

    As `ddpsim validate PREDICTED MEASURED`.

    PREDICTED: what simulate, tune or allreduce wrote with --json, or simulate with --timeline FILE.json
    MEASURED: nccl-tests log[@NxG], trace or folder of traces, what ddpsim-real wrote (measurement.json, a timeline),
        CSV of sizes or of caps (bucket_cap_mb,iteration_us), or step times (a file, FILE:KEY, FILE:KEY=UNIT, 104ms)

    Options:
        max_error (FLOAT): percent (5 or 5%); exit code 4 when the error is above
        statistic: which error --max-error is of (default: worst)
        only (TEXT): only figures whose name begins so (repeatable)

    Recording:
        batch (INT): samples per GPU and step, where MEASURED states samples a second alone

    Output:
        csv (FILE): write a table to this file
        report (FILE): write all of the answer as one page to look at and to pass on: FILE.html; FILE.json for what it
            draws
    """
    from ._answer import answer
    from ._arguments import repeated
    from ._results import ValidateResult

    options = {
        "--max-error": max_error,
        "--statistic": statistic,
        "--only": repeated(only),
        "--batch": batch,
        "--csv": csv,
        "--report": report,
    }
    return answer(ValidateResult, "validate", (predicted, measured), options)


@overload
def list(*, commands: Literal[False] = False) -> ListResult: ...
@overload
def list(*, commands: Literal[True]) -> CommandsResult: ...
def list(
    *,
    commands: bool = False,
) -> ListResult | CommandsResult:
    """Bundled workloads, models, clusters; GPUs, PyTorch versions.

    As `ddpsim list`.


    Options:
        commands: instead, every command with its arguments and options

    >>> "dgx1v" in [cluster.name for cluster in ddpsim.list().clusters]
    True
    """
    from ._answer import answer
    from ._arguments import Switch
    from ._results import CommandsResult, ListResult

    options = {
        "--commands": Switch(commands),
    }
    return answer(CommandsResult, "list", (), options) if commands else answer(ListResult, "list", (), options)


__all__ = [
    "advise",
    "allreduce",
    "buckets",
    "calibrate",
    "compare",
    "diff",
    "import_trace",
    "list",
    "simulate",
    "sweep",
    "topo",
    "tune",
    "validate",
]
