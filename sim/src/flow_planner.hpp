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
#include "ddpsim/sim/background.hpp"
#include "ddpsim/sim/collective.hpp"
#include "ddpsim/sim/schedule.hpp"
#include "flow_network.hpp"
#include "network_links.hpp"

namespace ddpsim {

class FlowPlanner {
 public:
  FlowPlanner(Cluster cluster, Fabric fabric, Background background);

  /// Whether the fabric has channels for the algorithm; others are left to the law.
  bool has_channels(CollectiveKind kind, const CollectiveChoice& choice) const;
  /// From the last arrival to the end with no background. Precondition: has_channels().
  Duration alone(CollectiveKind kind, const CollectiveChoice& choice, Bytes size);
  /// Valid as long as the planner. Precondition: has_channels().
  ChunkPipeline pipeline(CollectiveKind kind, const CollectiveChoice& choice, Bytes size);

  bool has_background() const { return !background_.empty(); }
  const std::vector<NetworkJob>& background() const { return background_; }
  const NetworkLinks& links() const { return links_; }

 private:
  enum class ShapeKind { ring, broadcast, tree };
  const PipelineShape& shape(ShapeKind kind, int channels);
  void add_background(const Background& background);

  Cluster cluster_;
  Fabric fabric_;
  NetworkLinks links_;
  std::vector<std::unique_ptr<PipelineShape>> background_shapes_;
  std::vector<NetworkJob> background_;
  std::mutex mutex_;
  std::map<std::pair<ShapeKind, int>, std::unique_ptr<PipelineShape>> shapes_;
  using Question = std::tuple<CollectiveKind, Algorithm, Protocol, int, std::int64_t>;
  std::map<Question, Duration> alone_;
};

/// The collectives of one schedule, in time, on a network with background traffic. Between two of
/// them the background goes on. A stream has one transfer at a time, and nothing but transfers and
/// background uses the links, so the network may run ahead to the end of each transfer.
class SharedNetworkRun {
 public:
  struct Collective {
    CollectiveKind kind;
    Bytes size;
    std::optional<CollectiveChoice> choice;
    Duration alone;  ///< where the network knows no better
  };
  SharedNetworkRun(FlowPlanner& planner, std::span<const Collective> collectives);

  /// Precondition: not before the end of the last transfer.
  Duration transfer(std::size_t collective, TimePoint at);

 private:
  std::vector<std::optional<std::size_t>> pipelines_;  ///< by collective, of job 0
  std::vector<Duration> alone_;
  FlowNetwork network_;
};

}  // namespace ddpsim
