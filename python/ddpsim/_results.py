"""Documents of the program as dataclasses: made by scripts/python_results.py, not by hand.

A name ends with its unit where it has one: `_us` microseconds, `_bytes` bytes, `_mb` MiB, `_percent` percent, `_s` seconds,
`usd` US dollars; `algbw_gbps` and `busbw_gbps` are GB/s as nccl-tests prints them. docs/formats.md says what each means.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Mapping

from ._answer import Answer, File, Imported
from ._record import Read, Record, each, real, same


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Straggler(Record):
    """A rank that was given as slower."""

    rank: int
    slowdown: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "slowdown": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Variation(Record):
    """How ranks differ."""

    stragglers: tuple[Straggler, ...]
    jitter: float
    stagger_us: float
    seed: int

    _reads: ClassVar[Mapping[str, Read]] = {
        "stragglers": each(Straggler.from_document),
        "jitter": real,
        "stagger_us": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Scheme(Record):
    """How a job is trained data-parallel."""

    name: str
    options: Mapping[str, Any]


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Collective(Record):
    """A collective under a scheme that was asked for."""

    kind: str
    unit: str
    bytes: int
    ready_us: float
    launch_us: float
    start_us: float
    last_arrival_us: float
    end_us: float
    phase: str
    algorithm: str | None
    protocol: str | None
    channels: int | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "ready_us": real,
        "launch_us": real,
        "start_us": real,
        "last_arrival_us": real,
        "end_us": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Bucket(Record):
    """A bucket of gradients and its all-reduce."""

    index: int
    bytes: int
    parameter_indices: tuple[int, ...]
    ready_us: float
    launch_us: float
    start_us: float
    last_arrival_us: float
    last_rank: int
    end_us: float
    algorithm: str | None
    protocol: str | None
    channels: int | None
    closed_by: str
    exposed_because: str | None
    wire_bytes: int | None
    all_reduce_bytes: tuple[int, ...] | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "parameter_indices": each(same),
        "ready_us": real,
        "launch_us": real,
        "start_us": real,
        "last_arrival_us": real,
        "end_us": real,
        "all_reduce_bytes": each(same),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ModelAveraging(Record):
    """How ranks that train apart average their parameters."""

    period: int
    bytes: int
    whole_us: float
    what: str | None
    share_of_steps: float | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "whole_us": real,
        "share_of_steps": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Staleness(Record):
    """How old the parameters of asynchronous workers are."""

    workers: int
    updates: int
    mean: float
    p50: int
    p95: int
    max: int
    updates_per_second: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "mean": real,
        "updates_per_second": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class DataLoaderOptions(Record):
    """A DataLoader, as --data-loader describes it."""

    num_workers: int
    prefetch_factor: int
    pin_memory: bool
    non_blocking: bool
    batch_us: float | None
    sample_us: float | None
    sample_bytes: int
    storage_gbps: float | None
    storage_shared: bool
    cores: int | None
    batch_bytes: int
    pcie_gbps: float | None
    pin_gbps: float
    worker_start_us: float
    steps_ahead: int

    _reads: ClassVar[Mapping[str, Read]] = {
        "batch_us": real,
        "sample_us": real,
        "storage_gbps": real,
        "pcie_gbps": real,
        "pin_gbps": real,
        "worker_start_us": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class DataLoader(Record):
    """Where batches come from."""

    from_: str
    recorded_median_us: float | None
    recorded_p90_us: float | None
    recorded_mean_us: float | None
    recorded_steps: int | None
    recorded_in: str | None
    options: DataLoaderOptions | None
    worker_batch_us: float | None
    storage_demand_gbps: float | None
    batches_per_step: int
    supply_interval_us: float | None
    batches_per_second: float | None
    step_without_us: float
    stall_us: float
    wait_us: float
    copy_us: float
    cause: str
    least_num_workers: int | None
    first_wait_us: float | None
    warm_up_steps: int | None
    warm_up_extra_us: float | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "recorded_median_us": real,
        "recorded_p90_us": real,
        "recorded_mean_us": real,
        "options": DataLoaderOptions.from_document,
        "worker_batch_us": real,
        "storage_demand_gbps": real,
        "supply_interval_us": real,
        "batches_per_second": real,
        "step_without_us": real,
        "stall_us": real,
        "wait_us": real,
        "copy_us": real,
        "first_wait_us": real,
        "warm_up_extra_us": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Epoch(Record):
    """An epoch."""

    dataset_size: int
    sampler_drop_last: bool
    loader_drop_last: bool
    samples_per_rank: int
    repeated_samples: int
    dropped_samples: int
    dropped_by_loader: int
    batch_per_gpu: int
    full_batches: int
    tail_batch: int
    steps: int
    step_us: float
    tail_step_us: float | None
    warm_up_us: float
    epoch_us: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "step_us": real,
        "tail_step_us": real,
        "warm_up_us": real,
        "epoch_us": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class JoinCollective(Record):
    """A collective of an iteration within Join."""

    kind: str
    what: str
    dtype: str
    elements: int
    bytes: int
    op: str | None
    of_join: bool
    host_waits: bool


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Join(Record):
    """An epoch of ranks with different numbers of batches."""

    divide_by_initial_world_size: bool
    throw_on_early_termination: bool
    least_inputs: int
    most_inputs: int
    total_inputs: int
    collectives_per_iteration: int
    of_join_per_iteration: int
    iteration: tuple[JoinCollective, ...]
    joined_iteration: tuple[JoinCollective, ...]
    end: tuple[JoinCollective, ...]
    step_us: float
    step_without_us: float
    iterations: int
    tail_iterations: int
    skipped_inputs: int
    end_us: float
    epoch_us: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "iteration": each(JoinCollective.from_document),
        "joined_iteration": each(JoinCollective.from_document),
        "end": each(JoinCollective.from_document),
        "step_us": real,
        "step_without_us": real,
        "end_us": real,
        "epoch_us": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class StepBudget(Record):
    """What the GPU does with a step."""

    step_us: float
    busy_us: float
    host_us: float
    input_us: float
    communication_us: float
    ranks_us: float
    unexplained_us: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "step_us": real,
        "busy_us": real,
        "host_us": real,
        "input_us": real,
        "communication_us": real,
        "ranks_us": real,
        "unexplained_us": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Loss(Record):
    """A cause of lost efficiency."""

    cause: str
    us: float
    low_us: float
    high_us: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "us": real,
        "low_us": real,
        "high_us": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class LaunchCost(Record):
    """What the host takes to launch one of the model's kernels."""

    from_: str
    forward_us: float
    backward_us: float
    optimizer_us: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "forward_us": real,
        "backward_us": real,
        "optimizer_us": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class MemoryParts(Record):
    """What memory holds, part by part."""

    parameters_bytes: int
    buffers_bytes: int
    gradients_bytes: int
    buckets_bytes: int
    comm_hook_bytes: int
    optimizer_bytes: int
    temporaries_bytes: int
    activations_bytes: int | None
    rounding_bytes: int
    segments_bytes: int
    nccl_bytes: int


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Memory(Record):
    """What a rank's memory holds at most."""

    peak_bytes: int | None
    at_least_bytes: int
    at: str
    allocated_bytes: int
    parts: MemoryParts
    host_bytes: int | None
    activations_from: str | None
    optimizer: str
    optimizer_assumed: bool
    master_weights: bool

    _reads: ClassVar[Mapping[str, Read]] = {
        "parts": MemoryParts.from_document,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class RunEnds(Record):
    """Why jobs of a long run end, how many of each."""

    restarts_used_up: float
    store_lost: float
    join_timed_out: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "restarts_used_up": real,
        "store_lost": real,
        "join_timed_out": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class RunParts(Record):
    """Where a long run goes, in seconds."""

    training: float
    fewer_nodes: float
    checkpoints: float
    lost_work: float
    detection: float
    stop: float
    rendezvous: float
    waiting: float
    start: float
    load: float
    ended: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "training": real,
        "fewer_nodes": real,
        "checkpoints": real,
        "lost_work": real,
        "detection": real,
        "stop": real,
        "rendezvous": real,
        "waiting": real,
        "start": real,
        "load": real,
        "ended": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class RunSize(Record):
    """A number of nodes that a long run trains on."""

    nodes: int
    step_us: float
    trained_s: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "step_us": real,
        "trained_s": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class CheckpointInterval(Record):
    """How long to train from one checkpoint to the next."""

    used_s: float
    best_s: float
    best_low_s: float
    best_high_s: float
    best_goodput: float
    young_s: float
    daly_s: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "used_s": real,
        "best_s": real,
        "best_low_s": real,
        "best_high_s": real,
        "best_goodput": real,
        "young_s": real,
        "daly_s": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class AtDaly(Record):
    """Daly's formula beside the simulation."""

    formula: float
    restart_s: float
    simulated: float
    simulated_error: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "formula": real,
        "restart_s": real,
        "simulated": real,
        "simulated_error": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Interruption(Record):
    """What an interruption of a long run costs, in seconds."""

    after: str
    ends_job: bool
    detection_s: float
    stop_s: float
    rendezvous_s: float
    waiting_s: float
    start_s: float
    load_s: float
    ended_s: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "detection_s": real,
        "stop_s": real,
        "rendezvous_s": real,
        "waiting_s": real,
        "start_s": real,
        "load_s": real,
        "ended_s": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ElasticOptions(Record):
    """Options of an elastic run, in force."""

    max_restarts: int
    monitor_interval_s: float
    last_call_timeout_s: float
    join_timeout_s: float
    keep_alive_interval_s: float
    keep_alive_max_attempt: int
    read_timeout_s: float
    timeout_s: float
    store: str
    stop_s: float
    start_s: float
    load_s: float
    repair_s: float
    resubmit_s: float
    process_share: float
    checkpoint_s: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "monitor_interval_s": real,
        "last_call_timeout_s": real,
        "join_timeout_s": real,
        "keep_alive_interval_s": real,
        "read_timeout_s": real,
        "timeout_s": real,
        "stop_s": real,
        "start_s": real,
        "load_s": real,
        "repair_s": real,
        "resubmit_s": real,
        "process_share": real,
        "checkpoint_s": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Assumed(Record):
    """An option that nobody stated, and what hangs on it."""

    key: str
    value: float
    goodput_at_half: float
    goodput_at_twice: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "value": real,
        "goodput_at_half": real,
        "goodput_at_twice": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Elastic(Record):
    """A long run whose nodes fail."""

    min_nodes: int
    max_nodes: int
    node_mtbf_s: float
    length_s: float
    seeds: int
    seed: int
    goodput: float
    goodput_deviation: float
    goodput_error: float
    failures: float
    restarts: float
    membership_changes: float
    ended: float
    ended_by: RunEnds
    parts_s: RunParts
    sizes: tuple[RunSize, ...]
    checkpoint_interval: CheckpointInterval
    at_daly: AtDaly
    interruptions: tuple[Interruption, ...]
    options: ElasticOptions
    assumed: tuple[Assumed, ...]

    _reads: ClassVar[Mapping[str, Read]] = {
        "node_mtbf_s": real,
        "length_s": real,
        "goodput": real,
        "goodput_deviation": real,
        "goodput_error": real,
        "failures": real,
        "restarts": real,
        "membership_changes": real,
        "ended": real,
        "ended_by": RunEnds.from_document,
        "parts_s": RunParts.from_document,
        "sizes": each(RunSize.from_document),
        "checkpoint_interval": CheckpointInterval.from_document,
        "at_daly": AtDaly.from_document,
        "interruptions": each(Interruption.from_document),
        "options": ElasticOptions.from_document,
        "assumed": each(Assumed.from_document),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class RecordedSteps(Record):
    """How recorded steps vary."""

    steps: int
    median: float
    low: float
    high: float
    low_high: str
    next_low: float
    next_high: float
    mean_error: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "median": real,
        "low": real,
        "high": real,
        "next_low": real,
        "next_high": real,
        "mean_error": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Durations(Record):
    """Durations over recorded steps."""

    min: float
    median: float
    max: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "min": real,
        "median": real,
        "max": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class RecordedBucket(Record):
    """A recorded all-reduce beside its prediction."""

    bytes: int
    duration_us: Durations
    transfer_us: float | None
    predicted_us: float
    inside: bool

    _reads: ClassVar[Mapping[str, Read]] = {
        "duration_us": Durations.from_document,
        "transfer_us": real,
        "predicted_us": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Recorded(Record):
    """What the recorded job did, beside its prediction."""

    torch: str | None
    nccl: str | None
    ranks: int
    comparable: bool
    same_buckets: bool
    all_reduce_us: float
    predicted_us: float
    steps: int
    iteration_us: RecordedSteps | None
    channels: int
    predicted_channels: int
    buckets: tuple[RecordedBucket, ...]

    _reads: ClassVar[Mapping[str, Read]] = {
        "all_reduce_us": real,
        "predicted_us": real,
        "iteration_us": RecordedSteps.from_document,
        "buckets": each(RecordedBucket.from_document),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class NextMeasurement(Record):
    """A measurement that would narrow the interval."""

    source: str
    command: str
    then: str


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Confidence(Record):
    """How sure a prediction is, and why."""

    grade: str
    provenance: str | None
    interval_percent: tuple[float, ...]
    because: tuple[str, ...]
    measure_next: NextMeasurement | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "interval_percent": each(real),
        "because": each(same),
        "measure_next": NextMeasurement.from_document,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Sensitivity(Record):
    """A source of error."""

    source: str
    low_us: float
    high_us: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "low_us": real,
        "high_us": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class CalibratedBy(Record):
    """A log that calibrates the cluster."""

    source: str
    digest: str


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Explanation(Record):
    """What would give the measured step."""

    cause: str
    compute_factor: float
    collectives_factor: float
    iteration_us: float
    forward_us: float
    backward_us: float
    exposed_communication_us: float
    blocking_communication_us: float
    overlap: float | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "compute_factor": real,
        "collectives_factor": real,
        "iteration_us": real,
        "forward_us": real,
        "backward_us": real,
        "exposed_communication_us": real,
        "blocking_communication_us": real,
        "overlap": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Replay(Record):
    """A measured step beside its replay."""

    measured_us: float
    predicted_us: float
    residual_us: float
    residual_percent: float
    measured_steps: int | None
    measured_low_us: float | None
    measured_high_us: float | None
    explained_by: tuple[Explanation, ...] | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "measured_us": real,
        "predicted_us": real,
        "residual_us": real,
        "residual_percent": real,
        "measured_low_us": real,
        "measured_high_us": real,
        "explained_by": each(Explanation.from_document),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class MeasuredSpan(Record):
    """A span of both steps, or of one."""

    track: str
    name: str
    bucket: int | None
    predicted_start_us: float | None
    measured_start_us: float | None
    predicted_end_us: float | None
    measured_end_us: float | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "predicted_start_us": real,
        "measured_start_us": real,
        "predicted_end_us": real,
        "measured_end_us": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class MeasuredStep(Record):
    """A measured step beside the simulated one."""

    source: str
    rank: int
    predicted_us: float
    measured_us: float
    spans: tuple[MeasuredSpan, ...]

    _reads: ClassVar[Mapping[str, Read]] = {
        "predicted_us": real,
        "measured_us": real,
        "spans": each(MeasuredSpan.from_document),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class IterationStatistics(Record):
    """Mean and percentiles of several steps."""

    first_iteration: int
    count: int
    mean_us: float
    p50_us: float
    p95_us: float | None
    p99_us: float | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "mean_us": real,
        "p50_us": real,
        "p95_us": real,
        "p99_us": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class RankWaits(Record):
    """Who waited for whom."""

    rank: int
    wait_us: float
    times_last: int
    caused_wait_us: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "wait_us": real,
        "caused_wait_us": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Iteration(Record):
    """One of several steps."""

    iteration: int
    iteration_us: float
    forward_us: float
    buffer_broadcast_us: float
    backward_us: float
    backward_compute_us: float
    copies_in_us: float
    interference_us: float
    communication_us: float
    wait_us: float
    exposed_communication_us: float
    blocking_communication_us: float
    overlap: float | None
    finalize_us: float
    optimizer_us: float
    stall_us: float
    slowest_gpu_us: float
    unexplained_us: float
    launch_bound_us: float | None
    host_us: float | None
    sync_batchnorm_us: float | None
    model_averaging_us: float | None
    forward_ahead_us: float | None
    scheme: Scheme | None
    exposed_forward_us: float | None
    exposed_backward_us: float | None
    exposed_optimizer_us: float | None
    collectives: tuple[Collective, ...] | None
    buckets: tuple[Bucket, ...]
    model_averaging: ModelAveraging | None
    further_model_averaging: tuple[ModelAveraging, ...] | None
    staleness: Staleness | None
    data_loader: DataLoader | None
    epoch: Epoch | None
    join: Join | None
    events: int

    _reads: ClassVar[Mapping[str, Read]] = {
        "iteration_us": real,
        "forward_us": real,
        "buffer_broadcast_us": real,
        "backward_us": real,
        "backward_compute_us": real,
        "copies_in_us": real,
        "interference_us": real,
        "communication_us": real,
        "wait_us": real,
        "exposed_communication_us": real,
        "blocking_communication_us": real,
        "overlap": real,
        "finalize_us": real,
        "optimizer_us": real,
        "stall_us": real,
        "slowest_gpu_us": real,
        "unexplained_us": real,
        "launch_bound_us": real,
        "host_us": real,
        "sync_batchnorm_us": real,
        "model_averaging_us": real,
        "forward_ahead_us": real,
        "scheme": Scheme.from_document,
        "exposed_forward_us": real,
        "exposed_backward_us": real,
        "exposed_optimizer_us": real,
        "collectives": each(Collective.from_document),
        "buckets": each(Bucket.from_document),
        "model_averaging": ModelAveraging.from_document,
        "further_model_averaging": each(ModelAveraging.from_document),
        "staleness": Staleness.from_document,
        "data_loader": DataLoader.from_document,
        "epoch": Epoch.from_document,
        "join": Join.from_document,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class SimulateResult(Answer):
    """One step: its parts, its buckets, where the efficiency goes. Fields: docs/formats.md, *simulate --json*."""

    _table: ClassVar[str] = "buckets"

    schema: str
    workload: str
    cluster: str
    ranks: int
    torch: str
    torch_known: bool
    nccl: str | None
    backend: str
    network: str
    compute_scale: float
    rank_slowdown: float
    variation: Variation | None
    comm_hook: str | None
    comm_hook_min_mb: float | None
    matrix_approximation_rank: int | None
    min_compression_rate: float | None
    local_sgd_period: int | None
    local_sgd_gradients: str | None
    sync_batchnorm_group: int | None
    bucket_setting: str | None
    iteration_us: float
    forward_us: float
    buffer_broadcast_us: float
    backward_us: float
    backward_compute_us: float
    copies_in_us: float
    interference_us: float
    communication_us: float
    wait_us: float
    exposed_communication_us: float
    blocking_communication_us: float
    overlap: float | None
    finalize_us: float
    optimizer_us: float
    stall_us: float
    slowest_gpu_us: float
    unexplained_us: float
    launch_bound_us: float | None
    host_us: float | None
    sync_batchnorm_us: float | None
    model_averaging_us: float | None
    forward_ahead_us: float | None
    scheme: Scheme | None
    exposed_forward_us: float | None
    exposed_backward_us: float | None
    exposed_optimizer_us: float | None
    collectives: tuple[Collective, ...] | None
    buckets: tuple[Bucket, ...]
    model_averaging: ModelAveraging | None
    further_model_averaging: tuple[ModelAveraging, ...] | None
    staleness: Staleness | None
    data_loader: DataLoader | None
    epoch: Epoch | None
    join: Join | None
    events: int
    alone_us: float
    samples_per_second: float | None
    tokens_per_second: float | None
    model_flops_utilization: float | None
    scaling_efficiency: float | None
    budget: StepBudget
    loss: tuple[Loss, ...]
    launch_cost: LaunchCost | None
    memory: Memory | None
    elastic: Elastic | None
    recorded: Recorded | None
    confidence: Confidence
    sensitivities: tuple[Sensitivity, ...] | None
    warnings: tuple[str, ...]
    calibrated_by: tuple[CalibratedBy, ...] | None
    replay: Replay | None
    measured: MeasuredStep | None
    iteration_if_alike_us: float | None
    iteration_statistics: IterationStatistics | None
    rank_waits: tuple[RankWaits, ...] | None
    iterations: tuple[Iteration, ...] | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "compute_scale": real,
        "rank_slowdown": real,
        "variation": Variation.from_document,
        "comm_hook_min_mb": real,
        "min_compression_rate": real,
        "iteration_us": real,
        "forward_us": real,
        "buffer_broadcast_us": real,
        "backward_us": real,
        "backward_compute_us": real,
        "copies_in_us": real,
        "interference_us": real,
        "communication_us": real,
        "wait_us": real,
        "exposed_communication_us": real,
        "blocking_communication_us": real,
        "overlap": real,
        "finalize_us": real,
        "optimizer_us": real,
        "stall_us": real,
        "slowest_gpu_us": real,
        "unexplained_us": real,
        "launch_bound_us": real,
        "host_us": real,
        "sync_batchnorm_us": real,
        "model_averaging_us": real,
        "forward_ahead_us": real,
        "scheme": Scheme.from_document,
        "exposed_forward_us": real,
        "exposed_backward_us": real,
        "exposed_optimizer_us": real,
        "collectives": each(Collective.from_document),
        "buckets": each(Bucket.from_document),
        "model_averaging": ModelAveraging.from_document,
        "further_model_averaging": each(ModelAveraging.from_document),
        "staleness": Staleness.from_document,
        "data_loader": DataLoader.from_document,
        "epoch": Epoch.from_document,
        "join": Join.from_document,
        "alone_us": real,
        "samples_per_second": real,
        "tokens_per_second": real,
        "model_flops_utilization": real,
        "scaling_efficiency": real,
        "budget": StepBudget.from_document,
        "loss": each(Loss.from_document),
        "launch_cost": LaunchCost.from_document,
        "memory": Memory.from_document,
        "elastic": Elastic.from_document,
        "recorded": Recorded.from_document,
        "confidence": Confidence.from_document,
        "sensitivities": each(Sensitivity.from_document),
        "warnings": each(same),
        "calibrated_by": each(CalibratedBy.from_document),
        "replay": Replay.from_document,
        "measured": MeasuredStep.from_document,
        "iteration_if_alike_us": real,
        "iteration_statistics": IterationStatistics.from_document,
        "rank_waits": each(RankWaits.from_document),
        "iterations": each(Iteration.from_document),
    }

    def timeline(self) -> Timeline:
        """The step's spans."""
        return Timeline.from_document(super().timeline().document, arguments=self.arguments, messages=())


@dataclass(frozen=True, init=False, eq=False, repr=False)
class CurvePoint(Record):
    """A bucket assignment and its step."""

    bucket_cap_mb: float | None
    first_bucket_mb: float | None
    cap_range_mb: tuple[float, ...]
    iteration_us: float
    samples_per_second: float | None
    exposed_communication_us: float
    blocking_communication_us: float
    buckets: int
    reachable: bool
    if_communication_us: float | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "bucket_cap_mb": real,
        "first_bucket_mb": real,
        "cap_range_mb": each(real),
        "iteration_us": real,
        "samples_per_second": real,
        "exposed_communication_us": real,
        "blocking_communication_us": real,
        "if_communication_us": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Today(Record):
    """The current bucket assignment."""

    recorded: bool
    bucket_cap_mb: float | None
    first_bucket_mb: float | None
    bucket_bytes: tuple[int, ...]
    iteration_us: float
    exposed_communication_us: float
    blocking_communication_us: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "bucket_cap_mb": real,
        "first_bucket_mb": real,
        "bucket_bytes": each(same),
        "iteration_us": real,
        "exposed_communication_us": real,
        "blocking_communication_us": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Interval(Record):
    """A predicted value and its 80 % interval."""

    value: float
    low: float
    high: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "value": real,
        "low": real,
        "high": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class MeasureFirst(Record):
    """Why a setting that is predicted to gain is not advised yet, and what would decide."""

    doubt: str
    because: str
    bucket_cap_mb: float | None
    first_bucket_mb: float | None
    gain_us: Interval
    sizes_bytes: tuple[int, ...]
    command: str
    then: str | None
    takes_us: float
    deciding_bytes: int
    predicted_us: float
    set_up_to_us: float | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "bucket_cap_mb": real,
        "first_bucket_mb": real,
        "gain_us": Interval.from_document,
        "sizes_bytes": each(same),
        "takes_us": real,
        "predicted_us": real,
        "set_up_to_us": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class NextWorse(Record):
    """The nearest caps with a step that is measurably longer than the recommended cap's."""

    below_mb: float | None
    above_mb: float | None
    loss_us: float
    below_loss_us: float | None
    above_loss_us: float | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "below_mb": real,
        "above_mb": real,
        "loss_us": real,
        "below_loss_us": real,
        "above_loss_us": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Recommendation(Record):
    """What is advised for bucket_cap_mb."""

    action: str
    bucket_cap_mb: float | None
    first_bucket_mb: float | None
    cap_range_mb: tuple[float, ...] | None
    gain_us: Interval | None
    most_robust_gain_us: Interval | None
    measure_first: MeasureFirst | None
    expected_gain_us: float | None
    regret_us: float | None
    next_worse: NextWorse | None
    measurable_us: float | None
    python: str | None
    reason: str

    _reads: ClassVar[Mapping[str, Read]] = {
        "bucket_cap_mb": real,
        "first_bucket_mb": real,
        "cap_range_mb": each(real),
        "gain_us": Interval.from_document,
        "most_robust_gain_us": Interval.from_document,
        "measure_first": MeasureFirst.from_document,
        "expected_gain_us": real,
        "regret_us": real,
        "next_worse": NextWorse.from_document,
        "measurable_us": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class VersionRecommendation(Record):
    """What would be advised under some versions of PyTorch."""

    torch_from: str
    torch_to: str | None
    nccl: tuple[str, ...]
    action: str
    bucket_cap_mb: float | None
    first_bucket_mb: float | None
    gain_us: Interval

    _reads: ClassVar[Mapping[str, Read]] = {
        "nccl": each(same),
        "bucket_cap_mb": real,
        "first_bucket_mb": real,
        "gain_us": Interval.from_document,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class CauseRecommendation(Record):
    """What would be advised if one cause is what the replay misses."""

    cause: str
    action: str
    bucket_cap_mb: float | None
    first_bucket_mb: float | None
    gain_us: Interval

    _reads: ClassVar[Mapping[str, Read]] = {
        "bucket_cap_mb": real,
        "first_bucket_mb": real,
        "gain_us": Interval.from_document,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class AdviceRow(Record):
    """A change of one setting, or of several together."""

    levers: tuple[str, ...]
    line: str
    changes_numerics: bool
    changes_batch: bool
    note: str
    worth: bool | None
    measure_first_because: str | None
    gain_us: Interval | None
    expected_gain_us: float | None
    regret_us: float | None
    iteration_us: float | None
    memory_bytes: int | None
    error: str | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "levers": each(same),
        "gain_us": Interval.from_document,
        "expected_gain_us": real,
        "regret_us": real,
        "iteration_us": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Partition(Record):
    """The best contiguous partition that was found."""

    bucket_bytes: tuple[int, ...]
    iteration_us: float
    reachable: bool
    buckets: int

    _reads: ClassVar[Mapping[str, Read]] = {
        "bucket_bytes": each(same),
        "iteration_us": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class TuneResult(Answer):
    """Whether another cap is worth it, and the step by cap. Fields: docs/formats.md, *tune --json*."""

    _table: ClassVar[str] = "curve"

    schema: str
    workload: str
    cluster: str
    ranks: int
    torch: str
    torch_known: bool
    nccl: str | None
    backend: str
    network: str
    compute_scale: float
    rank_slowdown: float
    variation: Variation | None
    comm_hook: str | None
    comm_hook_min_mb: float | None
    matrix_approximation_rank: int | None
    min_compression_rate: float | None
    local_sgd_period: int | None
    local_sgd_gradients: str | None
    sync_batchnorm_group: int | None
    bucket_setting: str | None
    budget: StepBudget
    samples_per_second: float | None
    tokens_per_second: float | None
    model_flops_utilization: float | None
    scaling_efficiency: float | None
    default: CurvePoint
    today: Today | None
    best: CurvePoint
    recommended: Recommendation
    recommended_by_version: tuple[VersionRecommendation, ...] | None
    recommended_by_cause: tuple[CauseRecommendation, ...] | None
    better_lever: AdviceRow | None
    bucketings: int
    curve: tuple[CurvePoint, ...]
    lower_bound_us: float
    best_partition: Partition | None
    best_partition_absent_because: str | None
    recorded: Recorded | None
    confidence: Confidence
    sensitivities: tuple[Sensitivity, ...] | None
    warnings: tuple[str, ...]
    calibrated_by: tuple[CalibratedBy, ...] | None
    replay: Replay | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "compute_scale": real,
        "rank_slowdown": real,
        "variation": Variation.from_document,
        "comm_hook_min_mb": real,
        "min_compression_rate": real,
        "budget": StepBudget.from_document,
        "samples_per_second": real,
        "tokens_per_second": real,
        "model_flops_utilization": real,
        "scaling_efficiency": real,
        "default": CurvePoint.from_document,
        "today": Today.from_document,
        "best": CurvePoint.from_document,
        "recommended": Recommendation.from_document,
        "recommended_by_version": each(VersionRecommendation.from_document),
        "recommended_by_cause": each(CauseRecommendation.from_document),
        "better_lever": AdviceRow.from_document,
        "curve": each(CurvePoint.from_document),
        "lower_bound_us": real,
        "best_partition": Partition.from_document,
        "recorded": Recorded.from_document,
        "confidence": Confidence.from_document,
        "sensitivities": each(Sensitivity.from_document),
        "warnings": each(same),
        "calibrated_by": each(CalibratedBy.from_document),
        "replay": Replay.from_document,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class AdviseResult(Answer):
    """Every lever of DDP and NCCL, best first. Fields: docs/formats.md, *advise --json*."""

    _table: ClassVar[str] = "rows"

    schema: str
    workload: str
    cluster: str
    ranks: int
    torch: str
    torch_known: bool
    nccl: str | None
    backend: str
    network: str
    compute_scale: float
    rank_slowdown: float
    variation: Variation | None
    comm_hook: str | None
    comm_hook_min_mb: float | None
    matrix_approximation_rank: int | None
    min_compression_rate: float | None
    local_sgd_period: int | None
    local_sgd_gradients: str | None
    sync_batchnorm_group: int | None
    bucket_setting: str | None
    budget: StepBudget
    samples_per_second: float | None
    tokens_per_second: float | None
    model_flops_utilization: float | None
    scaling_efficiency: float | None
    iteration_us: float
    measurable_us: float
    rows: tuple[AdviceRow, ...]
    confidence: Confidence
    sensitivities: tuple[Sensitivity, ...] | None
    warnings: tuple[str, ...]
    calibrated_by: tuple[CalibratedBy, ...] | None
    replay: Replay | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "compute_scale": real,
        "rank_slowdown": real,
        "variation": Variation.from_document,
        "comm_hook_min_mb": real,
        "min_compression_rate": real,
        "budget": StepBudget.from_document,
        "samples_per_second": real,
        "tokens_per_second": real,
        "model_flops_utilization": real,
        "scaling_efficiency": real,
        "iteration_us": real,
        "measurable_us": real,
        "rows": each(AdviceRow.from_document),
        "confidence": Confidence.from_document,
        "sensitivities": each(Sensitivity.from_document),
        "warnings": each(same),
        "calibrated_by": each(CalibratedBy.from_document),
        "replay": Replay.from_document,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class BehindSource(Record):
    """`behind_sources` of a document."""

    source: str
    low_percent: float
    high_percent: float
    changes_order: bool
    workload: int | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "low_percent": real,
        "high_percent": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Choice(Record):
    """`here` of a document."""

    algorithm: str
    protocol: str
    channels: int


@dataclass(frozen=True, init=False, eq=False, repr=False)
class OtherChoice(Record):
    """`other_choice` of a document."""

    bytes: int
    here: Choice
    on_fastest: Choice

    _reads: ClassVar[Mapping[str, Read]] = {
        "here": Choice.from_document,
        "on_fastest": Choice.from_document,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Price(Record):
    """A price that somebody quoted."""

    usd: float
    per: str
    terms: str
    as_of: str
    source: str

    _reads: ClassVar[Mapping[str, Read]] = {
        "usd": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Cost(Record):
    """`cost` of a document."""

    price: Price
    usd_per_hour: float
    goodput: float
    checkpoint_every_s: float
    usd_per_1000_steps: Interval | None
    usd_per_million_samples: Interval | None
    usd: Interval | None
    seconds: Interval | None
    dearer_percent: Interval
    frontier: bool
    usd_per_hour_of_reference: Interval | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "price": Price.from_document,
        "usd_per_hour": real,
        "goodput": real,
        "checkpoint_every_s": real,
        "usd_per_1000_steps": Interval.from_document,
        "usd_per_million_samples": Interval.from_document,
        "usd": Interval.from_document,
        "seconds": Interval.from_document,
        "dearer_percent": Interval.from_document,
        "usd_per_hour_of_reference": Interval.from_document,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class CompareRow(Record):
    """`rows` of a document."""

    label: str
    cluster: str
    ranks: int | None
    changed_numerics: str | None
    compute_scale: float | None
    rank_slowdown: float | None
    iteration_us: float | None
    alone_us: float | None
    samples_per_second: float | None
    tokens_per_second: float | None
    model_flops_utilization: float | None
    scaling_efficiency: float | None
    exposed_communication_us: float | None
    exposed_share: float | None
    blocking_communication_us: float | None
    blocking_share: float | None
    loss: tuple[Loss, ...] | None
    best_cap: Recommendation | None
    memory: Memory | None
    calibrated_by_recording: bool | None
    confidence: Confidence | None
    sensitivities: tuple[Sensitivity, ...] | None
    behind_percent: Interval | None
    behind_sources: tuple[BehindSource, ...] | None
    same: bool | None
    never_slower: bool | None
    upgrade_is_slower: bool | None
    other_choice: OtherChoice | None
    error: str | None
    cost: Cost | None
    replay: Replay | None
    corrected_by: str | None
    elastic: Elastic | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "compute_scale": real,
        "rank_slowdown": real,
        "iteration_us": real,
        "alone_us": real,
        "samples_per_second": real,
        "tokens_per_second": real,
        "model_flops_utilization": real,
        "scaling_efficiency": real,
        "exposed_communication_us": real,
        "exposed_share": real,
        "blocking_communication_us": real,
        "blocking_share": real,
        "loss": each(Loss.from_document),
        "best_cap": Recommendation.from_document,
        "memory": Memory.from_document,
        "confidence": Confidence.from_document,
        "sensitivities": each(Sensitivity.from_document),
        "behind_percent": Interval.from_document,
        "behind_sources": each(BehindSource.from_document),
        "other_choice": OtherChoice.from_document,
        "cost": Cost.from_document,
        "replay": Replay.from_document,
        "elastic": Elastic.from_document,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Stretch(Record):
    """`predicted` of a document."""

    from_: float
    to: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "from": real,
        "to": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Until(Record):
    """`until` of a document."""

    condition: str
    range: str | None
    predicted: tuple[Stretch, ...]
    possible: tuple[Stretch, ...]
    certain: tuple[Stretch, ...]
    asked: int | None
    without_answer: int | None
    workload: str | None
    candidate: str | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "predicted": each(Stretch.from_document),
        "possible": each(Stretch.from_document),
        "certain": each(Stretch.from_document),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Comparison(Record):
    """`workloads` of a document."""

    name: str
    share: float
    workload: str
    torch: str
    torch_known: bool
    nccl: str
    backend: str
    network: str
    bucket_setting: str
    rows: tuple[CompareRow, ...]
    by_speed: tuple[int, ...]
    fastest_is_certain: bool
    recorded: Recorded | None
    recorded_row: int | None
    warnings: tuple[str, ...]
    samples: int | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "share": real,
        "rows": each(CompareRow.from_document),
        "by_speed": each(same),
        "recorded": Recorded.from_document,
        "warnings": each(same),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class MixRow(Record):
    """`rows` of a document."""

    label: str
    cluster: str
    ranks: int
    grade: str | None
    changed_numerics: None
    time: Interval | None
    behind_percent: Interval | None
    behind_sources: tuple[BehindSource, ...] | None
    same: bool | None
    never_slower: bool | None
    error: str | None
    memory: Memory | None
    cost: Cost | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "time": Interval.from_document,
        "behind_percent": Interval.from_document,
        "behind_sources": each(BehindSource.from_document),
        "memory": Memory.from_document,
        "cost": Cost.from_document,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Mix(Record):
    """`mix` of a document."""

    reference: str
    rows: tuple[MixRow, ...]
    by_speed: tuple[int, ...]
    fastest_is_certain: bool
    by_cost: tuple[int, ...] | None
    until: tuple[Until, ...] | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "rows": each(MixRow.from_document),
        "by_speed": each(same),
        "by_cost": each(same),
        "until": each(Until.from_document),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class CompareResult(Answer):
    """Clusters side by side. Fields: docs/formats.md, *compare --json*."""

    _table: ClassVar[str] = "rows"

    schema: str
    workload: str | None
    torch: str | None
    torch_known: bool | None
    nccl: str | None
    backend: str | None
    network: str | None
    bucket_setting: str | None
    rows: tuple[CompareRow, ...] | None
    by_speed: tuple[int, ...] | None
    fastest_is_certain: bool | None
    recorded: Recorded | None
    recorded_row: int | None
    warnings: tuple[str, ...]
    samples: int | None
    by_cost: tuple[int, ...] | None
    global_batch: int | None
    until: tuple[Until, ...] | None
    workloads: tuple[Comparison, ...] | None
    mix: Mix | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "rows": each(CompareRow.from_document),
        "by_speed": each(same),
        "recorded": Recorded.from_document,
        "warnings": each(same),
        "by_cost": each(same),
        "until": each(Until.from_document),
        "workloads": each(Comparison.from_document),
        "mix": Mix.from_document,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class SweepPoint(Record):
    """`points` of a document."""

    point: int
    workload: str
    label: str
    cluster: str
    nodes: int | None
    gpus_per_node: int | None
    ranks: int | None
    gpu: str | None
    nics_per_node: int | None
    per_nic_gbps: float | None
    network: str | None
    oversubscription: float | None
    grid: Mapping[str, Any]
    iteration_us: float | None
    iteration_low_us: float | None
    iteration_high_us: float | None
    grade: str | None
    provenance: str | None
    corrected_by: str | None
    samples_per_second: float | None
    tokens_per_second: None
    model_flops_utilization: float | None
    scaling_efficiency: float | None
    exposed_communication_us: float | None
    blocking_communication_us: float | None
    memory_bytes: int | None
    usd_per_hour: float | None
    usd_per_1000_steps: float | None
    usd_per_1000_steps_low: float | None
    usd_per_1000_steps_high: float | None
    warnings: tuple[str, ...]
    error: str | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "per_nic_gbps": real,
        "oversubscription": real,
        "iteration_us": real,
        "iteration_low_us": real,
        "iteration_high_us": real,
        "samples_per_second": real,
        "model_flops_utilization": real,
        "scaling_efficiency": real,
        "exposed_communication_us": real,
        "blocking_communication_us": real,
        "usd_per_hour": real,
        "usd_per_1000_steps": real,
        "usd_per_1000_steps_low": real,
        "usd_per_1000_steps_high": real,
        "warnings": each(same),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Shard(Record):
    """`shard` of a document."""

    index: int
    of: int


@dataclass(frozen=True, init=False, eq=False, repr=False)
class SweepResult(Answer):
    """A grid of settings, a point each. Fields: docs/formats.md, *sweep*."""

    _table: ClassVar[str] = "points"

    schema: str
    ddpsim: str
    study: str
    points: tuple[SweepPoint, ...]
    grid: tuple[str, ...]
    intervals: bool
    shard: Shard | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "points": each(SweepPoint.from_document),
        "grid": each(same),
        "shard": Shard.from_document,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class AssignedBucket(Record):
    """A bucket and its gradients."""

    index: int
    bytes: int
    parameter_indices: tuple[int, ...]
    limit_bytes: int
    closed_by: str
    dtype: str

    _reads: ClassVar[Mapping[str, Read]] = {
        "parameter_indices": each(same),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class LoggedBuckets(Record):
    """Buckets that DDP logged, beside those assigned here."""

    match: bool
    first_difference: int | None
    bytes: tuple[int, ...]

    _reads: ClassVar[Mapping[str, Read]] = {
        "bytes": each(same),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class BucketsResult(Answer):
    """Which gradients travel together. Fields: docs/formats.md, *buckets --json*."""

    _table: ClassVar[str] = "buckets"

    schema: str
    torch: str
    torch_known: bool
    buckets: tuple[AssignedBucket, ...]
    logged: LoggedBuckets | None
    warnings: tuple[str, ...]

    _reads: ClassVar[Mapping[str, Read]] = {
        "buckets": each(AssignedBucket.from_document),
        "logged": LoggedBuckets.from_document,
        "warnings": each(same),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class AllreduceRow(Record):
    """A size, and what the collective takes for it."""

    size_bytes: int
    time_us: float
    low_us: float
    high_us: float
    algbw_gbps: float
    busbw_gbps: float
    algorithm: str
    protocol: str
    channels: int
    nccl_estimate_us: float
    ring_us: float | None
    tree_us: float | None
    reduce_broadcast_us: float | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "time_us": real,
        "low_us": real,
        "high_us": real,
        "algbw_gbps": real,
        "busbw_gbps": real,
        "nccl_estimate_us": real,
        "ring_us": real,
        "tree_us": real,
        "reduce_broadcast_us": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class AllreduceResult(Answer):
    """The predicted table of nccl-tests. Fields: docs/formats.md, *allreduce --json*."""

    _table: ClassVar[str] = "rows"

    schema: str
    collective: str | None
    cluster: str
    ranks: int
    nodes: int
    nodes_per_domain: int | None
    gpus_per_node: int
    gpu: str
    torch: str
    nccl: str
    rows: tuple[AllreduceRow, ...]
    confidence: Confidence
    sensitivities: tuple[Sensitivity, ...] | None
    warnings: tuple[str, ...]
    calibrated_by: tuple[CalibratedBy, ...] | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "rows": each(AllreduceRow.from_document),
        "confidence": Confidence.from_document,
        "sensitivities": each(Sensitivity.from_document),
        "warnings": each(same),
        "calibrated_by": each(CalibratedBy.from_document),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Intra(Record):
    """How GPUs of a node reach each other."""

    kind: str
    per_gpu_gbps: float
    links_per_gpu: int
    peers: str | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "per_gpu_gbps": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Network(Record):
    """How nodes reach each other."""

    kind: str
    nics_per_node: int
    per_nic_gbps: float
    switches: str
    oversubscription: float
    gpudirect: bool
    collnet: bool

    _reads: ClassVar[Mapping[str, Read]] = {
        "per_nic_gbps": real,
        "oversubscription": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class TopoCluster(Record):
    """A cluster in figures."""

    name: str
    summary: str
    line: str | None
    nodes: int
    nodes_per_domain: int | None
    gpus_per_node: int
    ranks: int
    gpu: str
    gpu_variant: str
    gpu_memory_bytes: int
    intra: Intra
    network: Network
    degraded_links: int
    verified: bool
    sources: tuple[str, ...]
    prices: tuple[Price, ...]

    _reads: ClassVar[Mapping[str, Read]] = {
        "intra": Intra.from_document,
        "network": Network.from_document,
        "sources": each(same),
        "prices": each(Price.from_document),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Channels(Record):
    """Channels that NCCL finds for an algorithm."""

    channels: int
    intra_gbps: float
    inter_gbps: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "intra_gbps": real,
        "inter_gbps": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Vertex(Record):
    """A device of a node."""

    name: str
    kind: str
    rate_gbps: float | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "rate_gbps": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Link(Record):
    """A cable between two devices of a node."""

    between: tuple[str, ...]
    kind: str
    links: int | None
    rate_gbps: float
    nccl_gbps: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "between": each(same),
        "rate_gbps": real,
        "nccl_gbps": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Matrix(Record):
    """How near the GPUs and NICs of a node are."""

    devices: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]

    _reads: ClassVar[Mapping[str, Read]] = {
        "devices": each(same),
        "cells": each(each(same)),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Channel(Record):
    """A channel inside a node."""

    gpus: tuple[int, ...]
    nic_in: int | None
    nic_out: int | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "gpus": each(same),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class NodeType(Record):
    """Nodes that are all alike."""

    name: str
    count: int
    gpu: str
    gpu_variant: str
    pcie_assumed: bool
    vertices: tuple[Vertex, ...]
    links: tuple[Link, ...]
    matrix: Matrix
    path: str
    channels: tuple[Channel, ...]

    _reads: ClassVar[Mapping[str, Read]] = {
        "vertices": each(Vertex.from_document),
        "links": each(Link.from_document),
        "matrix": Matrix.from_document,
        "channels": each(Channel.from_document),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Bottleneck(Record):
    """The link that a large ring all-reduce fills first."""

    kind: str
    link: str
    rate_gbps: float
    traffic_share: float
    busbw_gbps: float
    next_kind: str | None
    next_busbw_gbps: float | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "rate_gbps": real,
        "traffic_share": real,
        "busbw_gbps": real,
        "next_busbw_gbps": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Bounds(Record):
    """The most bus bandwidth that links allow."""

    ring_busbw_gbps: float
    tree_busbw_gbps: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "ring_busbw_gbps": real,
        "tree_busbw_gbps": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class TopoResult(Answer):
    """A cluster: links, channels, what binds. Fields: docs/formats.md, *results*."""

    schema: str
    cluster: TopoCluster
    ring: Channels
    tree: Channels
    nvls_channels: int
    node_types: tuple[NodeType, ...]
    node_trees: tuple[tuple[int | None, ...], ...]
    bottleneck: Bottleneck | None
    bounds: Bounds | None
    warnings: tuple[str, ...]

    _reads: ClassVar[Mapping[str, Read]] = {
        "cluster": TopoCluster.from_document,
        "ring": Channels.from_document,
        "tree": Channels.from_document,
        "node_types": each(NodeType.from_document),
        "node_trees": each(each(same)),
        "bottleneck": Bottleneck.from_document,
        "bounds": Bounds.from_document,
        "warnings": each(same),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Parameter(Record):
    """`parameters` of a document."""

    name: str
    shape: tuple[int, ...] | None
    dtype: str
    batch_norm: bool | None
    sparse_gradient: bool | None
    device: str | None
    ignored: bool | None
    frozen: bool | None
    forward: tuple[float, ...] | None
    backward: tuple[float, ...] | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "shape": each(same),
        "forward": each(real),
        "backward": each(real),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Work(Record):
    """`forward` of a document."""

    duration_us: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "duration_us": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Ready(Record):
    """`ready` of a document."""

    parameter: int
    at_us: float
    copied_at_us: float | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "at_us": real,
        "copied_at_us": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Backward(Record):
    """`backward` of a document."""

    duration_us: float
    ready: tuple[Ready, ...]

    _reads: ClassVar[Mapping[str, Read]] = {
        "duration_us": real,
        "ready": each(Ready.from_document),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class HostTimes(Record):
    """`launch_waits` of a document."""

    forward_us: float
    backward_us: float
    optimizer_us: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "forward_us": real,
        "backward_us": real,
        "optimizer_us": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Launches(Record):
    """`launches` of a document."""

    forward: int
    backward: tuple[int, ...]
    optimizer: int

    _reads: ClassVar[Mapping[str, Read]] = {
        "backward": each(same),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Host(Record):
    """`host` of a document."""

    ready_us: tuple[float, ...] | None
    launch_waits: HostTimes | None
    launches: Launches
    launch_cost: HostTimes | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "ready_us": each(real),
        "launch_waits": HostTimes.from_document,
        "launches": Launches.from_document,
        "launch_cost": HostTimes.from_document,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class RecordedCollective(Record):
    """`collectives` of a document."""

    bytes: int
    launch_us: float
    start_us: float
    duration_us: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "launch_us": real,
        "start_us": real,
        "duration_us": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class RecordedWith(Record):
    """`recorded_with` of a document."""

    ddp_hooks: bool
    world_size: int
    nccl: str | None
    nccl_kernels: int
    exposed_us: float | None
    finalize_us: float | None
    buffer_broadcast_us: float | None
    collectives: tuple[RecordedCollective, ...] | None
    compiled_gradients: int | None
    reduced_by: str | None
    sync_batchnorm: bool | None
    accumulate: int | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "exposed_us": real,
        "finalize_us": real,
        "buffer_broadcast_us": real,
        "collectives": each(RecordedCollective.from_document),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class RecordedStep(Record):
    """`steps` of a document."""

    name: str | None
    forward_us: float | None
    backward_us: float | None
    iteration_us: float | None
    collectives: tuple[RecordedCollective, ...] | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "forward_us": real,
        "backward_us": real,
        "iteration_us": real,
        "collectives": each(RecordedCollective.from_document),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class RankRecording(Record):
    """`ranks` of a document."""

    rank: int
    offset_us: float
    forward: Work
    backward: Backward
    optimizer: Work
    iteration: Work | None
    host: Host | None
    gpu_busy: HostTimes | None
    recorded_with: RecordedWith
    steps: tuple[RecordedStep, ...] | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "offset_us": real,
        "forward": Work.from_document,
        "backward": Backward.from_document,
        "optimizer": Work.from_document,
        "iteration": Work.from_document,
        "host": Host.from_document,
        "gpu_busy": HostTimes.from_document,
        "recorded_with": RecordedWith.from_document,
        "steps": each(RecordedStep.from_document),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Buffer(Record):
    """`buffers` of a document."""

    dtype: str
    bytes: int
    tensors: int


@dataclass(frozen=True, init=False, eq=False, repr=False)
class SampleWork(Record):
    """`sample` of a document."""

    model_flops: int
    convolution_flops: int | None
    tokens: int | None


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Activations(Record):
    """`activations` of a document."""

    bytes: int
    from_: str
    held_bytes: tuple[int, ...]

    _reads: ClassVar[Mapping[str, Read]] = {
        "held_bytes": each(same),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class DataLoading(Record):
    """`data_loading` of a document."""

    median_us: float
    p90_us: float
    mean_us: float
    count: int
    loads: str

    _reads: ClassVar[Mapping[str, Read]] = {
        "median_us": real,
        "p90_us": real,
        "mean_us": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class HostThreads(Record):
    """`threads` of a document."""

    cores: int
    running_us: float
    waiting_us: float
    all_running_us: float
    all_waiting_us: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "running_us": real,
        "waiting_us": real,
        "all_running_us": real,
        "all_waiting_us": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class EarlierMicroBatches(Record):
    """`earlier_micro_batches` of a document."""

    count: int
    all_reduced: int
    compute_us: float
    exposed_us: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "compute_us": real,
        "exposed_us": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Workload(Imported):
    """What one rank, or several, computed in a step. Fields: docs/formats.md, *workload*."""

    _table: ClassVar[str] = "parameters"

    schema: str
    name: str
    gpu: str | None
    torch_at_least: str | None
    parameter_order: str
    parameters: tuple[Parameter, ...]
    forward: Work | None
    backward: Backward | None
    optimizer: Work | None
    iteration: Work | None
    host: Host | None
    gpu_busy: HostTimes | None
    recorded_with: RecordedWith
    steps: tuple[RecordedStep, ...] | None
    provenance: Mapping[str, Any]
    ranks: tuple[RankRecording, ...] | None
    buffers: tuple[Buffer, ...] | None
    precision: str | None
    batch_per_gpu: int | None
    samples_per_step: int | None
    sample: SampleWork | None
    activations: Activations | None
    torch: str | None
    data_loading: DataLoading | None
    threads: HostThreads | None
    earlier_micro_batches: EarlierMicroBatches | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "parameters": each(Parameter.from_document),
        "forward": Work.from_document,
        "backward": Backward.from_document,
        "optimizer": Work.from_document,
        "iteration": Work.from_document,
        "host": Host.from_document,
        "gpu_busy": HostTimes.from_document,
        "recorded_with": RecordedWith.from_document,
        "steps": each(RecordedStep.from_document),
        "ranks": each(RankRecording.from_document),
        "buffers": each(Buffer.from_document),
        "sample": SampleWork.from_document,
        "activations": Activations.from_document,
        "data_loading": DataLoading.from_document,
        "threads": HostThreads.from_document,
        "earlier_micro_batches": EarlierMicroBatches.from_document,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Errors(Record):
    """How far predicted times are from the measured ones."""

    median_abs_error_percent: float
    p90_abs_error_percent: float
    sizes: int | None
    times: int | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "median_abs_error_percent": real,
        "p90_abs_error_percent": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ShapeLeftOut(Record):
    """A job shape, predicted without its own logs."""

    nodes: int
    gpus_per_node: int
    predicted_by_specification: Errors | None
    predicted_from_others: Errors | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "predicted_by_specification": Errors.from_document,
        "predicted_from_others": Errors.from_document,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Log(Record):
    """A log that was fitted."""

    source: str
    nodes: int
    gpus_per_node: int
    nccl: str | None
    published: bool | None


@dataclass(frozen=True, init=False, eq=False, repr=False)
class LogLeftOut(Record):
    """A log that was not fitted."""

    source: str
    reason: str


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Constant(Record):
    """A constant of the cost model."""

    name: str
    element: str | None
    unit: str | None
    told_by_logs: bool | None
    before: float
    value: float
    low: float | None
    high: float | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "before": real,
        "value": real,
        "low": real,
        "high": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Residual(Record):
    """A measured time, and what is predicted for it."""

    source: str
    nodes: int
    gpus_per_node: int
    size_bytes: int
    algorithm: str | None
    protocol: str | None
    together: int | None
    measured_us: float
    uncalibrated_us: float | None
    modelled_us: float | None
    calibrated_us: float
    left_out_us: float | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "measured_us": real,
        "uncalibrated_us": real,
        "modelled_us": real,
        "calibrated_us": real,
        "left_out_us": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class CalibrateResult(File):
    """What was fitted, and how well; `path`: the calibrated cluster. Fields: docs/formats.md, *results*."""

    _table: ClassVar[str] = "residuals"

    schema: str
    backend: str | None
    cluster: str
    output: str
    read: tuple[str, ...]
    uncalibrated: Errors | None
    calibrated: Errors
    sizes_left_out: Errors | None
    model_alone: Errors | None
    shapes_left_out: tuple[ShapeLeftOut, ...]
    logs: tuple[Log, ...] | None
    left_out: tuple[LogLeftOut, ...]
    constants: tuple[Constant, ...]
    residuals: tuple[Residual, ...]
    model_misses: tuple[str, ...] | None
    notes: tuple[str, ...] | None
    warnings: tuple[str, ...]

    _reads: ClassVar[Mapping[str, Read]] = {
        "read": each(same),
        "uncalibrated": Errors.from_document,
        "calibrated": Errors.from_document,
        "sizes_left_out": Errors.from_document,
        "model_alone": Errors.from_document,
        "shapes_left_out": each(ShapeLeftOut.from_document),
        "logs": each(Log.from_document),
        "left_out": each(LogLeftOut.from_document),
        "constants": each(Constant.from_document),
        "residuals": each(Residual.from_document),
        "model_misses": each(same),
        "notes": each(same),
        "warnings": each(same),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ValidateRow(Record):
    """A figure that was predicted and measured."""

    name: str
    unit: str
    measured: float
    predicted: float
    error_percent: float
    within_interval: bool | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "measured": real,
        "predicted": real,
        "error_percent": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class IntervalsHeld(Record):
    """How many predicted intervals hold their measurement."""

    given: int
    hold: int


@dataclass(frozen=True, init=False, eq=False, repr=False)
class CapsValidated(Record):
    """What choosing a bucket cap by the prediction costs."""

    chosen: str | None
    measured_best: str
    regret_percent: float | None
    differing_pairs: int
    right_sign: int

    _reads: ClassVar[Mapping[str, Read]] = {
        "regret_percent": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ErrorLimit(Record):
    """The largest error that is allowed."""

    max_error_percent: float
    statistic: str
    exceeded: bool

    _reads: ClassVar[Mapping[str, Read]] = {
        "max_error_percent": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ValidateResult(Answer):
    """Predicted beside measured. Fields: docs/formats.md, *validate --json*."""

    _table: ClassVar[str] = "rows"

    schema: str
    predicted: str
    measured: str
    rows: tuple[ValidateRow, ...]
    median_abs_error_percent: float
    p90_abs_error_percent: float
    worst_abs_error_percent: float
    worst_name: str
    own_calibration: bool
    intervals: IntervalsHeld
    caps: CapsValidated | None
    limit: ErrorLimit | None
    notes: tuple[str, ...]
    warnings: tuple[str, ...]

    _reads: ClassVar[Mapping[str, Read]] = {
        "rows": each(ValidateRow.from_document),
        "median_abs_error_percent": real,
        "p90_abs_error_percent": real,
        "worst_abs_error_percent": real,
        "intervals": IntervalsHeld.from_document,
        "caps": CapsValidated.from_document,
        "limit": ErrorLimit.from_document,
        "notes": each(same),
        "warnings": each(same),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class KernelTimes(Record):
    """The model's kernels of a step, by part of the step."""

    forward_us: float
    backward_us: float
    optimizer_us: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "forward_us": real,
        "backward_us": real,
        "optimizer_us": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class DiffSide(Record):
    """One of the two steps that are compared."""

    source: str
    kind: str
    step_us: float | None
    samples_per_s_per_gpu: float | None
    steps: int
    efficiency_percent: float | None
    all_reduce_bytes: int | None
    all_reduce_us: float | None
    kernels: KernelTimes | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "step_us": real,
        "samples_per_s_per_gpu": real,
        "efficiency_percent": real,
        "all_reduce_us": real,
        "kernels": KernelTimes.from_document,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class SizeChange(Record):
    """A size of all-reduce that two logs both have."""

    bytes: int
    before_us: float
    after_us: float
    before_busbw_gbps: float | None
    after_busbw_gbps: float | None
    change_percent: float
    clear: bool

    _reads: ClassVar[Mapping[str, Read]] = {
        "before_us": real,
        "after_us": real,
        "before_busbw_gbps": real,
        "after_busbw_gbps": real,
        "change_percent": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class DiffRow(Record):
    """A part of the step, and how it changed."""

    cause: str
    us: float
    low_us: float
    high_us: float
    expected_us: float | None
    bound: str | None
    before_us: float
    after_us: float
    points: float
    rank: int | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "us": real,
        "low_us": real,
        "high_us": real,
        "expected_us": real,
        "before_us": real,
        "after_us": real,
        "points": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class SlowdownCause(Record):
    """A possible cause of the change."""

    class_: str
    evidence: tuple[str, ...]
    decide_by: str

    _reads: ClassVar[Mapping[str, Read]] = {
        "evidence": each(same),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ExcludedCause(Record):
    """A cause that the evidence of both sides rules out."""

    class_: str
    says: str


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Finding(Record):
    """Something that a side's evidence says."""

    class_: str
    says: str
    place: str


@dataclass(frozen=True, init=False, eq=False, repr=False)
class KernelKind(Record):
    """Kernels of one kind, in both traces."""

    kind: str
    before_us: float
    after_us: float
    before_count: float
    after_count: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "before_us": real,
        "after_us": real,
        "before_count": real,
        "after_count": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class LateRank(Record):
    """How often a rank was last, and what it took longer in."""

    rank: int
    times_last: int
    steps_last: int
    caused_us: float
    waited_us: float
    longer_in: str | None
    phase: str | None
    longer_us: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "caused_us": real,
        "waited_us": real,
        "longer_us": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class LateRanks(Record):
    """Which ranks the others waited for."""

    pattern: str
    late: tuple[int, ...]
    steps: int
    collectives: int
    all_ranks: bool
    transfer_us: float
    ranks: tuple[LateRank, ...]

    _reads: ClassVar[Mapping[str, Read]] = {
        "late": each(same),
        "transfer_us": real,
        "ranks": each(LateRank.from_document),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class RankWaiting(Record):
    """What a rank waited at a collective."""

    rank: int
    wait_us: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "wait_us": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class JoinedCollective(Record):
    """A collective that all ranks recorded."""

    operation: str
    bytes: int | None
    transfer_us: float
    last_rank: int
    waits: tuple[RankWaiting, ...]

    _reads: ClassVar[Mapping[str, Read]] = {
        "transfer_us": real,
        "waits": each(RankWaiting.from_document),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class PairBandwidth(Record):
    """The bandwidth between two nodes."""

    nodes: tuple[str, ...]
    busbw_gbps: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "nodes": each(same),
        "busbw_gbps": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class GroupPairs(Record):
    """Pairs of nodes across groups, or within them."""

    pairs: int
    slow: int
    median_gbps: float

    _reads: ClassVar[Mapping[str, Read]] = {
        "median_gbps": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class NodePairs(Record):
    """Bandwidths of pairs of nodes, and which are slow."""

    source: str
    fastest_gbps: float
    slow_nodes: tuple[str, ...]
    slow_pairs: tuple[PairBandwidth, ...]
    slow_paths: tuple[PairBandwidth, ...]
    undecided: tuple[PairBandwidth, ...]
    groups: tuple[tuple[str, ...], ...]
    across_groups: GroupPairs | None
    within_groups: GroupPairs | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "fastest_gbps": real,
        "slow_nodes": each(same),
        "slow_pairs": each(PairBandwidth.from_document),
        "slow_paths": each(PairBandwidth.from_document),
        "undecided": each(PairBandwidth.from_document),
        "groups": each(each(same)),
        "across_groups": GroupPairs.from_document,
        "within_groups": GroupPairs.from_document,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class SlowdownLimit(Record):
    """The largest slowdown that is allowed."""

    max_slowdown_percent: float
    exceeded: bool
    row: str | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "max_slowdown_percent": real,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class DiffResult(Answer):
    """Two measured steps: where the time between them went, and why. Fields: docs/formats.md, *diff --json*."""

    _table: ClassVar[str] = "rows"

    schema: str
    before: DiffSide
    after: DiffSide
    change_us: float | None
    change_percent: float | None
    noise_us: float | None
    beyond_noise: bool | None
    expected_of: str | None
    expected_change_us: float | None
    sizes: tuple[SizeChange, ...] | None
    rows: tuple[DiffRow, ...]
    causes: tuple[SlowdownCause, ...]
    compared: tuple[str, ...]
    excluded: tuple[ExcludedCause, ...]
    findings: tuple[Finding, ...]
    kernel_kinds: tuple[KernelKind, ...]
    late_ranks: LateRanks | None
    collectives: tuple[JoinedCollective, ...]
    pairs: NodePairs | None
    limit: SlowdownLimit | None
    missing: tuple[str, ...]
    warnings: tuple[str, ...]

    _reads: ClassVar[Mapping[str, Read]] = {
        "before": DiffSide.from_document,
        "after": DiffSide.from_document,
        "change_us": real,
        "change_percent": real,
        "noise_us": real,
        "expected_change_us": real,
        "sizes": each(SizeChange.from_document),
        "rows": each(DiffRow.from_document),
        "causes": each(SlowdownCause.from_document),
        "compared": each(same),
        "excluded": each(ExcludedCause.from_document),
        "findings": each(Finding.from_document),
        "kernel_kinds": each(KernelKind.from_document),
        "late_ranks": LateRanks.from_document,
        "collectives": each(JoinedCollective.from_document),
        "pairs": NodePairs.from_document,
        "limit": SlowdownLimit.from_document,
        "missing": each(same),
        "warnings": each(same),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Bundled(Record):
    """`workloads` of a document."""

    name: str
    summary: str
    model: str | None


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ClusterWord(Record):
    """`cluster_words` of a document."""

    name: str
    summary: str
    example: str
    joins_gpus: bool | None
    kinds: tuple[str, ...] | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "kinds": each(same),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ListResult(Answer):
    """What is bundled. Fields: docs/formats.md, *results*."""

    schema: str
    workloads: tuple[Bundled, ...]
    models: tuple[Bundled, ...]
    clusters: tuple[Bundled, ...]
    cluster_words: tuple[ClusterWord, ...]
    gpus: tuple[Bundled, ...]
    torch: tuple[Bundled, ...]
    schemas: tuple[Bundled, ...]

    _reads: ClassVar[Mapping[str, Read]] = {
        "workloads": each(Bundled.from_document),
        "models": each(Bundled.from_document),
        "clusters": each(Bundled.from_document),
        "cluster_words": each(ClusterWord.from_document),
        "gpus": each(Bundled.from_document),
        "torch": each(Bundled.from_document),
        "schemas": each(Bundled.from_document),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Positional(Record):
    """`positionals` of a document."""

    name: str
    summary: str
    required: bool
    repeated: bool


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Option(Record):
    """`options` of a document."""

    name: str
    short: str | None
    group: str
    summary: str
    value: str | None
    choices: tuple[str, ...] | None
    required: bool
    repeated: bool

    _reads: ClassVar[Mapping[str, Read]] = {
        "choices": each(same),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Command(Record):
    """`commands` of a document."""

    name: str
    summary: str
    example: str
    positionals: tuple[Positional, ...]
    options: tuple[Option, ...]

    _reads: ClassVar[Mapping[str, Read]] = {
        "positionals": each(Positional.from_document),
        "options": each(Option.from_document),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class CommandsResult(Answer):
    """What the program offers. Fields: docs/formats.md, *list --commands --json*."""

    _table: ClassVar[str] = "commands"

    schema: str
    version: str
    commands: tuple[Command, ...]

    _reads: ClassVar[Mapping[str, Read]] = {
        "commands": each(Command.from_document),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class SpanParameters(Record):
    """Parameters whose gradients a span holds."""

    first: str
    last: str
    count: int


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Span(Record):
    """What runs on a stream from one instant to another."""

    track: str
    name: str
    bucket: int | None
    start_us: float
    end_us: float
    parameters: SpanParameters | None

    _reads: ClassVar[Mapping[str, Read]] = {
        "start_us": real,
        "end_us": real,
        "parameters": SpanParameters.from_document,
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class RankTimeline(Record):
    """The streams of a rank."""

    rank: int
    gpu: str | None
    spans: tuple[Span, ...]

    _reads: ClassVar[Mapping[str, Read]] = {
        "spans": each(Span.from_document),
    }


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Timeline(Answer):
    """Spans of streams, rank by rank. Fields: docs/formats.md, *timeline*."""

    schema: str
    ranks: tuple[RankTimeline, ...]
    clock: str
    provenance: Mapping[str, Any]

    _reads: ClassVar[Mapping[str, Read]] = {
        "ranks": each(RankTimeline.from_document),
    }


BY_SCHEMA: Mapping[str, type[Answer]] = {
    "ddpsim.result/1": SimulateResult,
    "ddpsim.tune/1": TuneResult,
    "ddpsim.advice/1": AdviseResult,
    "ddpsim.compare/1": CompareResult,
    "ddpsim.sweep/1": SweepResult,
    "ddpsim.buckets/1": BucketsResult,
    "ddpsim.allreduce/1": AllreduceResult,
    "ddpsim.topo/1": TopoResult,
    "ddpsim.workload/1": Workload,
    "ddpsim.calibration/1": CalibrateResult,
    "ddpsim.validation/1": ValidateResult,
    "ddpsim.diff/1": DiffResult,
    "ddpsim.list/1": ListResult,
    "ddpsim.commands/1": CommandsResult,
    "ddpsim.timeline/1": Timeline,
}

__all__ = [
    "AdviseResult",
    "AllreduceResult",
    "BucketsResult",
    "CalibrateResult",
    "CommandsResult",
    "CompareResult",
    "DiffResult",
    "ListResult",
    "SimulateResult",
    "SweepResult",
    "Timeline",
    "TopoResult",
    "TuneResult",
    "ValidateResult",
    "Workload",
]
