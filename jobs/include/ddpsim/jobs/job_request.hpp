// The request for a job, as values. Only names of files, clusters, models and GPUs are still text.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ddpsim/calibrate/validate/step_argument.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/data_loader.hpp"
#include "ddpsim/sim/values/gloo.hpp"
#include "ddpsim/sim/values/optimizer.hpp"
#include "ddpsim/sim/values/simulation_options.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "ddpsim/traces/import.hpp"

namespace ddpsim {

struct WorkloadRequest {
  /// A bundled name, a file of any kind that `import` reads, or MODEL@GPU.
  std::string source;
  std::optional<std::string> model = {};  ///< parameter list for traces without shapes
  Timing timing = Timing::recorded;       ///< of a trace
};

/// One stated value of GlooLinks.
struct StatedGloo {
  std::string word;      ///< key in --gloo: "process"
  std::string as_typed;  ///< "1.4GBps", for messages
  std::function<void(GlooLinks&)> set;
};

enum class NetworkModel {
  analytic,  ///< cost model; one collective at a time
  flow,      ///< chunk by chunk over a fabric's links
};

/// What runs the collectives, and what the user stated about it.
struct CollectivesRequest {
  Backend backend = Backend::nccl;
  std::vector<StatedGloo> gloo = {};
  CollectiveTuning tuning = {};  ///< except NCCL's version
  /// Absent: the recorded version, else the one that PyTorch ships.
  std::optional<NcclVersion> nccl = {};
  NetworkModel network = NetworkModel::analytic;
  std::optional<std::string> background = {};  ///< file of other traffic
  bool calibrated_by_recording = true;         ///< if the recording was made on this cluster
};

/// How much faster the cluster's GPU runs the workload's compute, with its interval.
struct ComputeScale {
  double factor = 1;
  std::optional<std::pair<double, double>> range = {};
  std::string as_typed = {};  ///< "2.3±0.2"
};

/// How to carry compute over from the recorded GPU and batch to the requested ones.
struct ComputeRequest {
  /// The cluster's GPU; naming it accepts that the recording has another.
  std::optional<std::string> gpu = {};
  std::optional<ComputeScale> scale = {};
  std::optional<std::int64_t> batch = {};  ///< samples per GPU
};

/// Number of batches of each rank in an epoch: one number per rank, or spread evenly from the
/// smallest to the largest.
using RankInputs = std::variant<std::vector<std::int64_t>, std::pair<std::int64_t, std::int64_t>>;

/// DDP's join(): ranks with different numbers of batches.
struct UnevenRequest {
  RankInputs inputs;
  bool divide_by_initial_world_size = UnevenInputs{}.divide_by_initial_world_size;
  bool throw_on_early_termination = UnevenInputs{}.throw_on_early_termination;
};

/// Where batches come from.
struct DataRequest {
  std::optional<DataLoader> loader = {};  ///< except what the cluster's nodes state about it
  std::optional<DataSet> set = {};
  std::optional<UnevenRequest> uneven = {};
};

/// Differences between ranks, and the overhead of all of them.
struct VariationRequest {
  RankVariation ranks = {};
  std::optional<double> gpu_spread = {};     ///< share of compute
  std::optional<double> rank_slowdown = {};  ///< share of compute; replaces all published values
};

/// How long the host of a rank takes to launch kernels.
struct HostRequest {
  std::optional<Duration> launch_cost = {};
  bool cuda_graph = false;
};

/// What a rank's memory must hold.
struct MemoryRequest {
  std::optional<Optimizer> optimizer = {};  ///< absent: the model's usual one
  bool master_weights = false;
  std::optional<Bytes> limit = {};  ///< of each GPU; absent: what the GPU has
};

/// The time of a step in the training itself: a single time, or a file of step times.
using MeasuredStepRequest = std::variant<Duration, StepFile>;

struct JobRequest {
  WorkloadRequest workload;
  ClusterRequest cluster;                  ///< except its groups
  std::optional<TorchVersion> torch = {};  ///< absent: the recorded one, else kAssumedTorch
  DdpOptions ddp = {};                     ///< used if the scheme has DDP's options
  std::optional<int> accumulate = {};      ///< absent: as recorded
  std::optional<Scheme> scheme = {};       ///< absent: DDP, and no report mentions it
  CollectivesRequest collectives = {};
  std::optional<Interference> interference = {};
  ComputeRequest compute = {};
  DataRequest data = {};
  VariationRequest variation = {};
  HostRequest host = {};
  MemoryRequest memory = {};
  std::optional<MeasuredStepRequest> measured_step = {};
  int iterations = 0;  ///< to be simulated; 0: the steady step
};

/// Throws UsageError if parts contradict each other or need a newer NCCL version than stated. Reads
/// no files.
void require_consistent(const JobRequest& request);
/// Throws UsageError if the PyTorch version lacks these options or does not allow them together.
void require_supported(const DdpOptions& options, TorchVersion torch);

}  // namespace ddpsim
