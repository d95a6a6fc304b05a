// Collectives of one cluster on one fabric, and background traffic: their pipelines, and the time
// each takes alone. (shared_network_run.hpp lets them share the links.)
//
// A planner is a pure function with a memory: it answers repeated questions from a table, from any
// thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "chunk_pipeline.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/background.hpp"
#include "flow_network.hpp"
#include "folded_network.hpp"
#include "network_links.hpp"

namespace ddpsim {

struct PlannedTransfer {
  ChunkPipeline pipeline;
  Duration alone;  ///< from the last arrival to the end
};

class FlowPlanner {
 public:
  /// `fabric` is the cluster's, and `background` uses the fabric's links.
  FlowPlanner(std::shared_ptr<const Cluster> cluster, std::shared_ptr<const Fabric> fabric,
              const Background& background);

  /// Whether the fabric has channels for the algorithm. If not, the cost model is used.
  bool has_channels(CollectiveKind kind, const CollectiveChoice& choice) const;
  /// Time from the last arrival to the end without background. Precondition: has_channels().
  Duration alone(CollectiveKind kind, const CollectiveChoice& choice, Bytes size) {
    return transfer(kind, choice, size).alone;
  }
  /// Both answers, remembered. Precondition: has_channels().
  PlannedTransfer transfer(CollectiveKind kind, const CollectiveChoice& choice, Bytes size);
  /// Valid as long as the planner lives. Precondition: has_channels().
  ChunkPipeline pipeline(CollectiveKind kind, const CollectiveChoice& choice, Bytes size);

  /// See least_time().
  Duration least(CollectiveKind kind, const CollectiveChoice& choice, Bytes size) const {
    return least_time(kind, choice, size, *cluster_);
  }

  bool has_background() const { return !background_.empty(); }
  const std::vector<NetworkJob>& background() const { return background_; }
  /// Time that a background job's pipeline takes without other traffic.
  Duration background_alone(std::size_t job);
  /// These shapes of pipeline(), and after them the background's, by job. Valid as long as the
  /// planner lives.
  const FoldedNetwork& folded(std::vector<const PipelineShape*> shapes);
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
  std::map<Question, PlannedTransfer> transfers_;
  std::vector<std::optional<Duration>> background_alone_;
  std::map<std::vector<const PipelineShape*>, std::unique_ptr<FoldedNetwork>> folded_;
};

}  // namespace ddpsim
