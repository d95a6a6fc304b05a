// What is asked of a job, as values. Only names of files, clusters, models and GPUs are still text.
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
  std::string source;  ///< a bundled name, a file of any kind that `import` reads, or MODEL@GPU
  std::optional<std::string> model = {};  ///< parameter list for traces without shapes
  Timing timing = Timing::recorded;       ///< of a trace
};

/// One figure of GlooLinks that was stated.
struct StatedGloo {
  std::string word;      ///< of --gloo: "process"
  std::string as_typed;  ///< "1.4GBps", for messages
  std::function<void(GlooLinks&)> set;
};

enum class NetworkModel {
  analytic,  ///< a cost model, alone on the network
  flow,      ///< chunk by chunk over the links of a fabric
};

/// What runs the collectives, and what is said of it.
struct CollectivesRequest {
  Backend backend = Backend::nccl;
  std::vector<StatedGloo> gloo = {};
  CollectiveTuning tuning = {};          ///< but for NCCL's version
  std::optional<NcclVersion> nccl = {};  ///< absent: the recorded one, else the one PyTorch ships
  NetworkModel network = NetworkModel::analytic;
  std::optional<std::string> background = {};  ///< file of other traffic
  bool calibrated_by_recording = true;         ///< where the cluster is the one recorded on
};

/// How much faster the cluster's GPU runs the workload's compute, and how far off that may be.
struct ComputeScale {
  double factor = 1;
  std::optional<std::pair<double, double>> range = {};
  std::string as_typed = {};  ///< "2.3±0.2"
};

/// How to carry compute from the recorded GPU and batch to those of the question.
struct ComputeRequest {
  std::optional<std::string> gpu = {};  ///< the cluster's, which may differ from the recording's
  std::optional<ComputeScale> scale = {};
  std::optional<std::int64_t> batch = {};  ///< samples per GPU
};

/// Batches that a rank has in an epoch: by rank, or evenly from the least to the most.
using RankInputs = std::variant<std::vector<std::int64_t>, std::pair<std::int64_t, std::int64_t>>;

/// DDP's join(): ranks with different numbers of batches.
struct UnevenRequest {
  RankInputs inputs;
  bool divide_by_initial_world_size = UnevenInputs{}.divide_by_initial_world_size;
  bool throw_on_early_termination = UnevenInputs{}.throw_on_early_termination;
};

/// Where batches come from.
struct DataRequest {
  std::optional<DataLoader> loader = {};  ///< but for what the cluster's nodes say of it
  std::optional<DataSet> set = {};
  std::optional<UnevenRequest> uneven = {};
};

/// Ranks that differ, and what all of them lose.
struct VariationRequest {
  RankVariation ranks = {};
  std::optional<double> gpu_spread = {};     ///< share of compute
  std::optional<double> rank_slowdown = {};  ///< likewise; in place of all published figures
};

/// What the host of a rank takes to launch kernels.
struct HostRequest {
  std::optional<Duration> launch_cost = {};
  bool cuda_graph = false;
};

/// What a rank's memory must hold.
struct MemoryRequest {
  std::optional<Optimizer> optimizer = {};  ///< absent: the usual one of such a model
  bool master_weights = false;
  std::optional<Bytes> limit = {};  ///< of each GPU; absent: what the cluster's GPU has
};

/// What a step takes in the training itself: a time, or a file of step times.
using MeasuredStepRequest = std::variant<Duration, StepFile>;

struct JobRequest {
  WorkloadRequest workload;
  ClusterRequest cluster;                  ///< but for its groups
  std::optional<TorchVersion> torch = {};  ///< absent: the recorded one, else kAssumedTorch
  DdpOptions ddp = {};                     ///< of the scheme, where it has them
  std::optional<int> accumulate = {};      ///< absent: as recorded
  std::optional<Scheme> scheme = {};       ///< absent: DDP, and no report says so
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

/// Throws UsageError where parts contradict each other, or need a newer NCCL than stated; files are not read.
void require_consistent(const JobRequest& request);
/// Throws UsageError where their version of PyTorch does not have these options, or not together.
void require_supported(const DdpOptions& options, TorchVersion torch);

}  // namespace ddpsim
