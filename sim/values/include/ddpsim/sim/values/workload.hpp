// What one rank computes in a training step, as recorded. A pure value: readers fill it, the
// simulator replays it. Nothing recorded is ever subtracted here; `recorded_with` says what the
// recording already contained, and the schedule keeps or removes it.
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

/// Where a parameter's module lies in a step, as shares of the time that forward and backward take.
struct ModuleTime {
  double forward_begin = 0;
  double forward_end = 0;
  /// When backward comes to it, and when it has passed it. Absent: it never comes there, since nothing in front of it
  /// trains; or, of a parameter that trains, when its gradient is written says it.
  std::optional<std::pair<double, double>> backward;
  bool operator==(const ModuleTime&) const = default;
};

struct Parameter {
  std::string name;
  std::optional<std::vector<std::int64_t>>
      shape;  ///< absent when the source did not record it; [] is a scalar
  Dtype dtype = Dtype::float32;
  std::string device;            ///< empty: the rank's own device
  bool sparse_gradient = false;  ///< gets a bucket of its own
  bool ignored = false;          ///< in the module but outside DDP; stays in the ready order
  bool batch_norm = false;       ///< weight of a BatchNorm layer, of one element a channel
  bool frozen = false;  ///< requires_grad is False: no gradient, no optimizer; forward reads it
  std::optional<ModuleTime> module_time;  ///< absent where not known
};

/// DDP reduces its gradient, if it gets one.
inline bool is_reduced(const Parameter& parameter) {
  return !parameter.ignored && !parameter.frozen;
}

/// Bytes of the gradient: product of the shape times the element size. Absent when the shape is, or
/// when the product leaves 63 bits (readers refuse that input). A dimension of 0 gives 0 bytes.
std::optional<Bytes> gradient_bytes(const Parameter& parameter);

/// A gradient was written. Times count from the start of backward on the compute stream.
struct ReadyEvent {
  std::size_t parameter = 0;  ///< index into Workload::parameters
  Duration at;
  /// End of the copy into the bucket, where the recording had DDP hooks and shows it.
  std::optional<Duration> copied_at;
  bool operator==(const ReadyEvent&) const = default;
};

struct Backward {
  Duration duration;  ///< first to last backward kernel, copies into buckets included if recorded
  std::vector<ReadyEvent> ready;  ///< in execution order; may be empty (no timing known)
  bool operator==(const Backward&) const = default;
};

/// One collective seen in the recording, on the clock of ReadyEvent. On one rank the duration holds
/// the wait for the last rank and the transfer together.
struct RecordedCollective {
  Bytes bytes;
  Duration launch;  ///< host enqueues
  Duration start;
  Duration duration;
  int channels = 0;  ///< thread blocks of the kernel, one a channel; 0 where not recorded
  bool operator==(const RecordedCollective&) const = default;
};

/// What all-reduced the recorded gradients: DDP's reducer, nodes that torch.compile made, hooks that are not
/// DDP's, or the script after backward.
enum class ReducedBy { reducer, compiled, hooks, script };
/// "reducer", "compiled", "hooks", "script".
std::string_view word_of(ReducedBy reduced_by);
std::optional<ReducedBy> reduced_by_from_word(std::string_view word);

/// What the recording already contains.
struct RecordedWith {
  bool ddp_hooks = false;  ///< copies into buckets are part of `ready` and of backward
  int world_size = 1;      ///< 0: not known, two or more
  std::optional<NcclVersion> nccl;
  std::int64_t nccl_kernels = 0;     ///< NCCL kernels per iteration, buffer broadcasts included
  std::optional<Duration> exposed;   ///< tail of communication after backward compute
  std::optional<Duration> finalize;  ///< copies out of the buckets
  std::optional<Duration> buffer_broadcast;     ///< the part of forward spent in it
  std::vector<RecordedCollective> collectives;  ///< the gradients' all-reduces, in launch order
  ReducedBy reduced_by = ReducedBy::reducer;
  bool sync_batchnorm = false;  ///< what SyncBatchNorm exchanged is part of forward and backward
  int accumulate = 1;  ///< micro-batches of a step; the one recorded is the last, which all-reduces
  /// Gradients that came out of compiled autograd nodes (torch.compile), each node's at its end.
  std::int64_t compiled_gradients = 0;
  /// Type the reducer's all-reduces carried where it was not the gradients': a communication hook
  /// cast them, and `collectives` hold so many bytes.
  std::optional<Dtype> wire;
  bool several_ranks() const { return world_size != 1; }
  bool operator==(const RecordedWith&) const = default;
};

/// Module buffers (running statistics and the like) of one dtype, broadcast before each forward.
struct BufferGroup {
  Dtype dtype = Dtype::float32;
  Bytes bytes;
  std::int64_t tensors = 1;
};

/// What a rank holds at the end of forward because backward reads it; parameters and buffers are not part of it.
struct Activations {
  Bytes bytes;
  bool recorded = false;  ///< false: by the layers of a model
  /// What is held at most, of them and of gradients on their way through backward, up to each entry of backward.ready
  /// from the one before, its own gradient included; then after the last entry; then what is left when
  /// backward has returned. Two more than backward.ready has, or empty: not known.
  std::vector<Bytes> held;
  bool operator==(const Activations&) const = default;
};

/// One of the steps recorded: what tells how they vary. Absent is what was not seen of it.
struct StepSample {
  std::string name;  ///< "ProfilerStep#10"; may be empty
  std::optional<Duration> forward;
  std::optional<Duration> backward;
  std::optional<Duration> iteration;
  std::vector<RecordedCollective> collectives;  ///< the reducer's, in launch order
  bool operator==(const StepSample&) const = default;
};

/// A time of each part of a step.
struct PartTimes {
  Duration forward;
  Duration backward;
  Duration optimizer;
  bool operator==(const PartTimes&) const = default;
};

/// Kernels of a step, each launched by the host, in the order of the step.
struct Launches {
  std::int64_t forward = 0;
  std::vector<std::int64_t> backward;  ///< by entry of backward.ready: since the one before
  std::int64_t optimizer = 0;
  /// What the recorded host took for one of them, the time left out in which the GPU held it up. Absent: not known, or
  /// not of these times.
  std::optional<PartTimes> cost;
  /// Steps that the host may be ahead of the GPU, which it waits for: 0 where a script reads its loss in each step.
  /// Absent: as many as it gets.
  std::optional<int> steps_ahead;
  std::int64_t of_backward() const;
  bool operator==(const Launches&) const = default;
};

/// What the recorded trainer waited in `next(iter(DataLoader))`, over the steps recorded.
struct DataLoading {
  Duration median;  ///< lower
  Duration p90;     ///< as quantile.hpp defines it
  Duration
      mean;  ///< without the first, which may begin an epoch: workers that give several batches at once make a step in
             ///< several wait, and the median none
  std::int64_t count = 0;
  bool processes = true;  ///< workers load (num_workers > 0); false: the thread that trains
  /// Of workers that bound the recording: they gave a batch in so long, its step. Absent: they kept up, and give at least
  /// one a step (calls that find a batch there take 0.1 ms), or the thread that trains loads.
  std::optional<Duration> interval;
  bool operator==(const DataLoading&) const = default;
};

/// Threads of the recorded process, a step: how long they ran, and how long they could have but waited for a core, as the
/// kernel's scheduler counts (Linux, /proc/PID/task/TID/schedstat).
struct HostThreads {
  std::optional<int> cores;  ///< that the process may run on
  Duration running;  ///< of those that train: the script's and, in turn with it, autograd's …
  Duration waiting;
  Duration all_running;  ///< … and of all, those among them
  Duration all_waiting;
  bool operator==(const HostThreads&) const = default;
};

/// What a step that accumulates gradients did before its recorded micro-batch, the last, which `iteration` leaves out.
struct EarlierMicroBatches {
  int count = 1;
  int all_reduced =
      0;             ///< of them; without no_sync(), or under one that does not hold their forward
  Duration compute;  ///< together: forward and backward …
  Duration exposed;  ///< … and behind backward what they waited for their all-reduces
  bool operator==(const EarlierMicroBatches&) const = default;
};

enum class ParameterOrder { definition, assumed };

/// One step as one rank recorded it.
struct Recorded {
  std::optional<Duration> forward;
  std::optional<Backward> backward;
  std::optional<Duration> optimizer;
  std::optional<Duration> iteration;  ///< period between steps; absent when not recorded
  /// Host time at which each entry of backward.ready was reached (end of AccumulateGrad), on the
  /// same clock, negative where the host runs ahead. Empty: the host is taken to stay ahead.
  std::vector<Duration> host_ready;
  /// Like `host_ready`: how long the GPU had held the host up by then (it synchronised, or the queue was full), since the
  /// step's first launch. Empty: it never did.
  std::vector<Duration> host_held;
  /// What the host has to launch. Absent: not known, it is taken to stay ahead.
  std::optional<Launches> launches;
  /// Of each part, the time in which the GPU had nothing to do until the host launched its next kernel.
  PartTimes launch_waits;
  std::optional<PartTimes>
      busy;  ///< of each part, when anything ran on the GPU; absent where not recorded
  RecordedWith recorded_with;
  /// Every complete step of the recording, this one among them; empty where one alone is known.
  std::vector<StepSample> steps;
  std::optional<DataLoading> data_loading;  ///< absent where not recorded
  std::optional<HostThreads> threads;       ///< absent where not recorded
  std::optional<EarlierMicroBatches>
      earlier;  ///< absent without accumulation, or where not recorded
  bool operator==(const Recorded&) const = default;
};

/// The same step on one of several ranks of a job.
struct RankRecording : Recorded {
  int rank = 0;
  /// Start of its forward, counted from that of the representative rank; negative: it began first.
  Duration offset;
};

/// What a model computes for one sample.
struct SampleWork {
  std::int64_t tokens = 0;  ///< of a sequence; 0: an image, or not known
  /// Model FLOPs: of matrix products and convolutions, forward and backward, each once.
  double flops = 0;
  double convolution_flops = 0;  ///< the part of `flops` in convolutions
  bool operator==(const SampleWork&) const = default;
};

/// What is recorded at the top is the step of the representative rank: of the only one, or of the
/// lowest of `ranks`.
struct Workload : Recorded {
  std::string name;
  std::string gpu;          ///< model recorded on, "V100"; empty when unknown
  std::string gpu_variant;  ///< "V100-16GB"; empty where the recording does not say
  std::string precision;    ///< "fp32", "amp", "bf16", "bf16-true"
  std::optional<std::int64_t> batch_per_gpu;
  std::optional<double> samples_per_step;
  std::optional<SampleWork> sample;            ///< absent where not known
  std::string torch;                           ///< version recorded with; empty when unknown
  std::optional<TorchVersion> torch_at_least;  ///< what the recording's form tells of it
  ParameterOrder parameter_order = ParameterOrder::definition;
  std::vector<Parameter> parameters;  ///< module definition order
  std::vector<BufferGroup> buffers;
  std::optional<Activations> activations;  ///< absent where not known
  StatedCosts host_costs;                  ///< what DDP takes of this host, as measured
  /// Several ranks of one job, ascending, the representative first; empty where one was recorded.
  std::vector<RankRecording> ranks;
  std::vector<std::pair<std::string, std::string>> provenance;  ///< key, text; in file order
  bool carried_over = false;  ///< to another GPU or batch: its times were never recorded
};

/// Key of the provenance that marks an estimate.
inline constexpr std::string_view kEstimateMark = "estimate";
/// Whether nobody recorded it, also after it was written to a file and read again.
bool is_estimate(const Workload& workload);

/// Which of Workload::ranks a rank of a cluster replays: its own, and where that was not recorded
/// those recorded once more, from the first on. Absent where only one recording is there for all.
std::optional<std::size_t> recording_of(const Workload& workload, int rank);
const Recorded& recorded_by(const Workload& workload, int rank);

/// Micro-batches of a recorded step, whether or not the others all-reduced.
int micro_batches(const Recorded& recorded);

/// stall = iteration - (forward + backward + exposed + finalize + optimizer): time between steps
/// that belongs to none of them. Negative when steps overlap, absent where the iteration is.
std::optional<Duration> stall(const Recorded& recorded);

/// Of the pause between recorded steps (stall), what was a wait for data.
Duration waited_for_data(const Recorded& recorded);
/// How soon workers gave batches that bound a recording, the mean of its steps; absent where they did not: a mean wait of 1 %
/// of a step is what can be told from none.
std::optional<Duration> supply_interval(const Recorded& recorded);

/// Of backward, in which the GPU waited for the host: from here on the step is launch-bound. The open traces that are
/// bound by the GPU idle in 0 to 20 % of it, those bound by the host in half of it and more.
inline constexpr double kLaunchBound = 0.3;
bool launch_bound(const Recorded& recorded);

}  // namespace ddpsim
