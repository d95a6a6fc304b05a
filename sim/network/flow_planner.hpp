// Collectives of one cluster on one fabric: the pipelines they are, what they take alone, and a run
// in which they share the links with background traffic.
//
// A planner is a pure function with a memory: what it was asked before it answers from a table,
// from any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>
#include <vector>

#include "chunk_pipeline.hpp"
#include "ddpsim/sim/engine/schedule.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/background.hpp"
#include "ddpsim/sim/values/cost_factors.hpp"
#include "flow_network.hpp"
#include "network_links.hpp"

namespace ddpsim {

class FlowPlanner {
 public:
  /// `fabric` is the cluster's, and the links of `background` are the fabric's.
  FlowPlanner(std::shared_ptr<const Cluster> cluster, std::shared_ptr<const Fabric> fabric,
              const Background& background);

  /// Whether the fabric has channels for the algorithm; others are left to the cost model.
  bool has_channels(CollectiveKind kind, const CollectiveChoice& choice) const;
  /// From the last arrival to the end with no background. Precondition: has_channels().
  Duration alone(CollectiveKind kind, const CollectiveChoice& choice, Bytes size);
  /// Valid as long as the planner. Precondition: has_channels().
  ChunkPipeline pipeline(CollectiveKind kind, const CollectiveChoice& choice, Bytes size);

  /// As least_time().
  Duration least(CollectiveKind kind, const CollectiveChoice& choice, Bytes size) const {
    return least_time(kind, choice, size, *cluster_);
  }

  bool has_background() const { return !background_.empty(); }
  const std::vector<NetworkJob>& background() const { return background_; }
  const NetworkLinks& links() const { return links_; }

 private:
  enum class ShapeKind { ring, broadcast, reduce, send_recv, tree, in_switch };
  static ShapeKind shape_of(CollectiveKind kind, Algorithm algorithm);
  static PipelineShape build(ShapeKind kind, const Fabric& fabric, int channels, int gpus);
  const PipelineShape& shape(ShapeKind kind, int channels);
  int channels_of(const CollectiveChoice& choice) const;
  void add_background(const Background& background);

  std::shared_ptr<const Cluster> cluster_;
  std::shared_ptr<const Fabric> fabric_;
  NetworkLinks links_;
  std::vector<std::unique_ptr<PipelineShape>> background_shapes_;
  std::vector<NetworkJob> background_;
  std::mutex mutex_;
  std::map<std::pair<ShapeKind, int>, std::unique_ptr<PipelineShape>> shapes_;
  /// All that a pipeline depends on: the choice but for NCCL's estimate, and the size.
  using Question =
      std::tuple<CollectiveKind, Algorithm, Protocol, int, std::int64_t, NcclVersion, std::int64_t>;
  std::map<Question, Duration> alone_;
};

/// The collectives of one schedule, in time, on a network with background traffic. Between two of
/// them the background goes on. A stream has one transfer at a time, and nothing but transfers and
/// background uses the links, so the network may run ahead to the end of each transfer. (A transfer
/// that compute slows, or that an uncertainty scales, keeps its links no longer than this.)
class SharedNetworkRun {
 public:
  /// `choices` by collective; `planner` must outlive the run.
  SharedNetworkRun(FlowPlanner& planner, std::span<const ScheduledCollective> collectives,
                   std::span<const std::optional<CollectiveChoice>> choices,
                   CostFactors factors = {});

  /// From the last arrival to the end. Asked in the order of time.
  Duration transfer(std::size_t collective, TimePoint last_arrival);

 private:
  std::vector<std::optional<std::size_t>> pipelines_;  ///< by collective, of job 0
  std::vector<Duration> modelled_;                     ///< where the fabric has no channels
  std::vector<Duration> fixed_;  ///< of the cost model's time, before it is scaled
  std::vector<Duration> least_;
  CostFactors factors_;
  FlowNetwork network_;
  TimePoint now_ = TimePoint() - Duration::max();
};

}  // namespace ddpsim
