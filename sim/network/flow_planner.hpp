// Collectives of one cluster on one fabric: their pipelines, the time they take alone, and a run in
// which they share the links with background traffic.
//
// A planner is a pure function with a memory: it answers repeated questions from a table, from any
// thread.
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
  /// `fabric` is the cluster's, and `background` uses the fabric's links.
  FlowPlanner(std::shared_ptr<const Cluster> cluster, std::shared_ptr<const Fabric> fabric,
              const Background& background);

  /// Whether the fabric has channels for the algorithm. If not, the cost model is used.
  bool has_channels(CollectiveKind kind, const CollectiveChoice& choice) const;
  /// Time from the last arrival to the end without background. Precondition: has_channels().
  Duration alone(CollectiveKind kind, const CollectiveChoice& choice, Bytes size);
  /// Valid as long as the planner lives. Precondition: has_channels().
  ChunkPipeline pipeline(CollectiveKind kind, const CollectiveChoice& choice, Bytes size);

  /// See least_time().
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
  /// Everything a pipeline depends on: the choice without NCCL's estimate, and the size.
  using Question =
      std::tuple<CollectiveKind, Algorithm, Protocol, int, std::int64_t, NcclVersion, std::int64_t>;
  std::map<Question, Duration> alone_;
};

/// The collectives of one schedule over time, on a network with background traffic that continues
/// between them. A stream has one transfer at a time, and only transfers and background use the
/// links. So the network may run ahead to the end of each transfer. (A transfer that compute slows
/// down, or an uncertainty scales, occupies its links no longer than this.)
class SharedNetworkRun {
 public:
  /// `choices` is by collective. `planner` must outlive the run.
  SharedNetworkRun(FlowPlanner& planner, std::span<const ScheduledCollective> collectives,
                   std::span<const std::optional<CollectiveChoice>> choices,
                   CostFactors factors = {});

  /// Time from the last arrival to the end. Must be called in the order of time.
  Duration transfer(std::size_t collective, TimePoint last_arrival);

 private:
  std::vector<std::optional<std::size_t>> pipelines_;  ///< by collective, of job 0
  std::vector<Duration> modelled_;                     ///< if the fabric has no channels
  /// Fixed part of the cost model's time, before scaling.
  std::vector<Duration> fixed_;
  std::vector<Duration> least_;
  CostFactors factors_;
  FlowNetwork network_;
  TimePoint now_ = TimePoint() - Duration::max();
};

}  // namespace ddpsim
