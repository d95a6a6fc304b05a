// What one rank computes in a training step, as recorded. This is plain data: readers fill it, and
// the simulator replays it. Nothing recorded is subtracted here; `recorded_with` says what the
// recording already contains, and the schedule keeps or removes that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ddpsim/sim/values/ddp_costs.hpp"
#include "ddpsim/sim/values/quantities.hpp"
#include "ddpsim/sim/values/versions.hpp"

namespace ddpsim {

enum class Dtype {
  float16,
  bfloat16,
  float32,
  float64,
  int8,
  uint8,
  int16,
  int32,
  int64,
  boolean,
  complex64,
  complex128
};

/// Bytes per element.
std::int64_t element_size(Dtype dtype);
/// PyTorch's name without the "torch." prefix: "float32".
std::string_view name_of(Dtype dtype);
std::optional<Dtype> dtype_from_name(std::string_view name);

/// When a parameter's module runs in a step, as shares of the time of forward and of backward.
struct ModuleTime {
  double forward_begin = 0;
  double forward_end = 0;
  /// When backward reaches the module, and when it has passed it. Absent if backward never reaches
  /// it because nothing in front of it trains. Also absent for a parameter that trains: its
  /// gradient's time says it.
  std::optional<std::pair<double, double>> backward;
  bool operator==(const ModuleTime&) const = default;
};

struct Parameter {
  std::string name;
  /// Absent if the source did not record it. An empty list is a scalar.
  std::optional<std::vector<std::int64_t>> shape;
  Dtype dtype = Dtype::float32;
  std::string device;            ///< empty: the rank's own device
  bool sparse_gradient = false;  ///< gets a bucket of its own
  /// The parameter is in the module but outside DDP. It stays in the ready order.
  bool ignored = false;
  /// Weight of a BatchNorm layer: one element per channel.
  bool batch_norm = false;
  /// requires_grad is False: no gradient and no optimizer step, but forward reads it.
  bool frozen = false;
  std::optional<ModuleTime> module_time;  ///< absent if not known
};

/// Whether DDP reduces the parameter's gradient, if there is one.
inline bool is_reduced(const Parameter& parameter) {
  return !parameter.ignored && !parameter.frozen;
}

/// Bytes of the gradient: the product of the shape times the element size. Absent if the shape is,
/// or if the product exceeds 63 bits (readers refuse such input). A dimension of 0 gives 0 bytes.
std::optional<Bytes> gradient_bytes(const Parameter& parameter);

/// The writing of one gradient. Times count from the start of backward on the compute stream.
struct ReadyEvent {
  std::size_t parameter = 0;  ///< index into Workload::parameters
  Duration at;
  /// End of the copy into the bucket, if the recording had DDP hooks and shows it.
  std::optional<Duration> copied_at;
  bool operator==(const ReadyEvent&) const = default;
};

struct Backward {
  /// From the first to the last kernel of backward, including copies into buckets if they were
  /// recorded.
  Duration duration;
  /// In the order of execution. May be empty if no times are known.
  std::vector<ReadyEvent> ready;
  bool operator==(const Backward&) const = default;
};

/// One collective seen in the recording, on the clock of ReadyEvent. On one rank, the duration is
/// the sum of the wait for the last rank and the transfer.
struct RecordedCollective {
  Bytes bytes;
  Duration launch;  ///< when the host enqueues it
  Duration start;
  Duration duration;
  /// Thread blocks of the kernel, one per channel. 0 if not recorded.
  int channels = 0;
  bool operator==(const RecordedCollective&) const = default;
};

/// What all-reduced the recorded gradients: DDP's reducer, nodes that torch.compile made, hooks
/// other than DDP's, or the script after backward.
enum class ReducedBy { reducer, compiled, hooks, script };
/// "reducer", "compiled", "hooks", "script".
std::string_view word_of(ReducedBy reduced_by);
std::optional<ReducedBy> reduced_by_from_word(std::string_view word);

/// What the recording already contains.
struct RecordedWith {
  /// Copies into buckets are part of `ready` and of backward.
  bool ddp_hooks = false;
  int world_size = 1;  ///< 0: two or more, not known how many
  std::optional<NcclVersion> nccl;
  /// NCCL kernels per iteration, including buffer broadcasts.
  std::int64_t nccl_kernels = 0;
  /// Communication after the end of backward's compute.
  std::optional<Duration> exposed;
  std::optional<Duration> finalize;          ///< copies out of the buckets
  std::optional<Duration> buffer_broadcast;  ///< its part of forward
  /// The gradients' all-reduces, in the order of launch.
  std::vector<RecordedCollective> collectives;
  ReducedBy reduced_by = ReducedBy::reducer;
  /// Communication of SyncBatchNorm is part of forward and backward.
  bool sync_batchnorm = false;
  /// Micro-batches of a step. The recorded one is the last, which all-reduces.
  int accumulate = 1;
  /// Gradients that came out of compiled autograd nodes (torch.compile). Those of one node are
  /// ready together, at its end.
  std::int64_t compiled_gradients = 0;
  /// Type that the reducer's all-reduces carried, if a communication hook cast the gradients to
  /// another one. `collectives` then count bytes of this type.
  std::optional<Dtype> wire;
  bool several_ranks() const { return world_size != 1; }
  bool operator==(const RecordedWith&) const = default;
};

/// Module buffers (such as running statistics) of one dtype, broadcast before each forward.
struct BufferGroup {
  Dtype dtype = Dtype::float32;
  Bytes bytes;
  std::int64_t tensors = 1;
};

/// What modules of the same path keep, where "*" stands for the number of a block.
struct KeptBy {
  std::string name;  ///< "transformer.h.*.mlp.act:tanh"
  Bytes bytes;
  bool operator==(const KeptBy&) const = default;
};

/// What a rank holds at the end of forward because backward reads it. Parameters and buffers are
/// not included.
struct Activations {
  Bytes bytes;
  /// If false, `bytes` is derived from the model's layers.
  bool recorded = false;
  /// Peaks of the memory of activations and of gradients that backward still passes on. Entry k is
  /// the peak between entries k-1 and k of backward.ready, including the gradient of entry k. Two
  /// more follow: the peak after the last entry, and what is left when backward has returned.
  /// Empty: not known.
  std::vector<Bytes> held;
  /// Who keeps one per cent of `bytes` and more, the largest first. Empty: not known.
  std::vector<KeptBy> by;
  bool operator==(const Activations&) const = default;
};

/// One of the recorded steps; together they show how steps vary. A field is absent if it was not
/// seen.
struct StepSample {
  std::string name;  ///< "ProfilerStep#10"; may be empty
  std::optional<Duration> forward;
  std::optional<Duration> backward;
  std::optional<Duration> iteration;
  std::vector<RecordedCollective> collectives;  ///< the reducer's, in launch order
  bool operator==(const StepSample&) const = default;
};

/// One time for each part of a step.
struct PartTimes {
  Duration forward;
  Duration backward;
  Duration optimizer;
  bool operator==(const PartTimes&) const = default;
};

/// What the host launches in a step, in the order of the step. A recording counts kernels. An
/// estimate counts operators, and each further kernel of an operator as a part of one.
struct Launches {
  std::int64_t forward = 0;
  /// One entry for each of backward.ready: the launches since the entry before.
  std::vector<std::int64_t> backward;
  std::int64_t optimizer = 0;
  /// Time that the recorded host took for one launch, without the time in which the GPU held it up.
  /// Absent if not known, or if the times of this recording are no longer those that it was
  /// measured with.
  std::optional<PartTimes> cost;
  /// Number of steps by which the host may be ahead of the GPU before it waits. 0: a script that
  /// reads its loss in each step. Absent: no limit.
  std::optional<int> steps_ahead;
  std::int64_t of_backward() const;
  bool operator==(const Launches&) const = default;
};

/// Time that the recorded trainer waited in `next(iter(DataLoader))`, over the recorded steps.
struct DataLoading {
  Duration median;  ///< lower median
  Duration p90;     ///< as quantile.hpp defines it
  /// Without the first step, which may begin an epoch. If workers hand over several batches at
  /// once, only one step in several waits: the mean shows that wait, the median does not.
  Duration mean;
  std::int64_t count = 0;
  /// True: workers load (num_workers > 0). False: the training thread loads.
  bool processes = true;
  /// Time per batch of workers that were the bottleneck of the recording: its step time. Absent if
  /// the training thread loads, or if the workers kept up and so give at least one batch per step.
  /// A call that finds a batch ready takes 0.1 ms.
  std::optional<Duration> interval;
  bool operator==(const DataLoading&) const = default;
};

/// Times of the recorded process's threads, per step: how long they ran, and how long they waited
/// for a core although they could run. Counted by the kernel's scheduler (Linux,
/// /proc/PID/task/TID/schedstat).
struct HostThreads {
  /// Cores that the process may run on.
  std::optional<int> cores;
  /// Time of the training threads: the script's and autograd's, which take turns.
  Duration running;
  Duration waiting;
  /// Time of all threads, including the training threads.
  Duration all_running;
  Duration all_waiting;
  bool operator==(const HostThreads&) const = default;
};

/// What a step that accumulates gradients did before its last micro-batch, which is the recorded
/// one. `iteration` does not include this.
struct EarlierMicroBatches {
  int count = 1;
  /// How many of them all-reduced, either without no_sync() or with one that did not include their
  /// forward.
  int all_reduced = 0;
  /// Sum of their forwards and backwards.
  Duration compute;
  /// Sum of their waits for all-reduces after backward.
  Duration exposed;
  bool operator==(const EarlierMicroBatches&) const = default;
};

enum class ParameterOrder { definition, assumed };

/// One step as one rank recorded it.
struct Recorded {
  std::optional<Duration> forward;
  std::optional<Backward> backward;
  std::optional<Duration> optimizer;
  std::optional<Duration> iteration;  ///< step to step; absent if not recorded
  /// Host time at which each entry of backward.ready was reached (end of AccumulateGrad), on the
  /// same clock. Negative if the host ran ahead. Empty: the host is assumed to stay ahead.
  std::vector<Duration> host_ready;
  /// For each entry of `host_ready`, how long the GPU had held the host up since the step's first
  /// launch, because it synchronised or the queue was full. Empty: never.
  std::vector<Duration> host_held;
  /// What the host has to launch. Absent: not known, and the host is assumed to stay ahead.
  std::optional<Launches> launches;
  /// For each part, the time in which the GPU was idle until the host launched its next kernel.
  PartTimes launch_waits;
  /// For each part, the time in which anything ran on the GPU. Absent if not recorded.
  std::optional<PartTimes> busy;
  RecordedWith recorded_with;
  /// Every complete step of the recording, including this one. Empty if only one is known.
  std::vector<StepSample> steps;
  std::optional<DataLoading> data_loading;  ///< absent if not recorded
  std::optional<HostThreads> threads;       ///< absent if not recorded
  /// Absent without accumulation, or if not recorded.
  std::optional<EarlierMicroBatches> earlier;
  bool operator==(const Recorded&) const = default;
};

/// The recorded step as it ran on one of several ranks of a job.
struct RankRecording : Recorded {
  int rank = 0;
  /// Start of this rank's forward, relative to that of the representative rank. Negative: it began
  /// first.
  Duration offset;
};

/// What a model computes for one sample.
struct SampleWork {
  std::int64_t tokens = 0;  ///< per sequence; 0: an image, or unknown
  /// Model FLOPs: those of matrix products and convolutions in forward and backward, without
  /// recomputation.
  double flops = 0;
  double convolution_flops = 0;  ///< the part of `flops` in convolutions
  bool operator==(const SampleWork&) const = default;
};

/// A model and its recorded step. The inherited fields are the step of the representative rank: the
/// only one recorded, or the lowest of `ranks`.
struct Workload : Recorded {
  std::string name;
  std::string gpu;          ///< model recorded on, "V100"; empty: unknown
  std::string gpu_variant;  ///< "V100-16GB"; empty: unknown
  std::string precision;    ///< "fp32", "amp", "bf16", "bf16-true"
  std::optional<std::int64_t> batch_per_gpu;
  std::optional<double> samples_per_step;
  std::optional<SampleWork> sample;  ///< absent if not known
  std::string torch;                 ///< version recorded with; empty: unknown
  /// Oldest PyTorch that can have written a recording of this form.
  std::optional<TorchVersion> torch_at_least;
  ParameterOrder parameter_order = ParameterOrder::definition;
  std::vector<Parameter> parameters;  ///< module definition order
  std::vector<BufferGroup> buffers;
  std::optional<Activations> activations;  ///< absent if not known
  /// The same where a scheme hands parameters over in 16 bits, so that nothing is cast or promoted.
  /// Only of estimates under autocast.
  std::optional<Activations> activations_in_half;
  /// Measured costs of DDP on this host.
  StatedCosts host_costs;
  /// The recorded ranks of one job, ascending, the representative first. Empty if only one was
  /// recorded.
  std::vector<RankRecording> ranks;
  std::vector<std::pair<std::string, std::string>> provenance;  ///< key, text; in file order
  /// The times were scaled to another GPU or batch, and were never recorded themselves.
  bool carried_over = false;
};

/// Key of the provenance that marks an estimate.
inline constexpr std::string_view kEstimateMark = "estimate";
/// Whether the workload was estimated, not recorded. Still true after it was written to a file and
/// read back.
bool is_estimate(const Workload& workload);

/// Index in Workload::ranks of the recording that `rank` replays: its own, otherwise rank modulo
/// the number of recordings. Absent if one recording holds for all ranks.
std::optional<std::size_t> recording_of(const Workload& workload, int rank);
const Recorded& recorded_by(const Workload& workload, int rank);

/// Micro-batches of a recorded step, including those that did not all-reduce.
int micro_batches(const Recorded& recorded);

/// Time between steps that belongs to no part of them: stall = iteration - (forward + backward +
/// exposed + finalize + optimizer). Negative if steps overlap, absent if the iteration is.
std::optional<Duration> stall(const Recorded& recorded);

/// The part of the pause between recorded steps (stall) that was a wait for data.
Duration waited_for_data(const Recorded& recorded);
/// Time per batch of workers that were the bottleneck of a recording: the mean of its steps. Absent
/// if the mean wait is at most 1 % of a step, since less cannot be told from no wait.
std::optional<Duration> supply_interval(const Recorded& recorded);

/// Share of backward in which the GPU waits for the host from which a step counts as launch-bound.
/// Public traces bound by the GPU idle in 0 to 20 % of backward, those bound by the host in half of
/// it or more.
inline constexpr double kLaunchBound = 0.3;
bool launch_bound(const Recorded& recorded);

}  // namespace ddpsim
