#include "flow_planner.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "cost_pipeline.hpp"
#include "steady_state.hpp"

namespace ddpsim {
namespace {

/// Rounds to whole bytes per second, at least one.
std::int64_t whole(double bytes_per_second) {
  constexpr double kMost = 1e18;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(kMost, bytes_per_second)));
}

NetworkLinks links_of(const Fabric& fabric, const Cluster& cluster) {
  NetworkLinks links;
  links.route_links = fabric.route_links;
  // A calibrated operation may be faster than its cost model, so links get enough capacity for it.
  const double room = cluster.calibration ? fastest_correction(cluster) : 1;
  for (const Link& link : fabric.links) {
    // This is rounded up, but a pipeline's ceiling is rounded down. So channels that share a link
    // evenly never find it short of a byte per second.
    links.capacities.push_back(whole(
        std::ceil(link.bandwidth.bytes_per_second() * wire_share(link.kind, cluster) * room)));
    links.latencies.push_back(link.latency);
  }
  return links;
}

/// Time the pipeline takes without other traffic.
Duration alone_on(const ChunkPipeline& pipeline, const NetworkLinks& links) {
  if (const auto duration = uncontended_duration(pipeline, links)) return *duration;
  const FoldedNetwork folded = fold(std::array{pipeline.shape}, links);
  ChunkPipeline one = pipeline;
  one.shape = folded.shapes.data();
  FlowNetwork network(folded.links, {{.pipelines = {one}, .recurrence = {}}});
  network.start(0, 0, TimePoint());
  return network.run(0).since_start();
}

Recurrence recurrence_of(const Repetition& when) {
  return {.first = when.first, .period = when.period};
}

/// A cluster of the same kind, with as many nodes and GPUs as the ring visits.
Cluster cluster_of(const RingChannel& ring, const Cluster& like) {
  const auto gpus = static_cast<std::uint32_t>(std::max(1, like.gpus_per_node));
  std::set<std::uint32_t> nodes;
  for (const std::uint32_t rank : ring.ranks) nodes.insert(rank / gpus);
  Cluster cluster = like;
  cluster.nodes = static_cast<int>(nodes.size());
  cluster.gpus_per_node = static_cast<int>(ring.ranks.size() / nodes.size());
  return cluster;
}

}  // namespace

FlowPlanner::FlowPlanner(std::shared_ptr<const Cluster> cluster,
                         std::shared_ptr<const Fabric> fabric, const Background& background)
    : cluster_(std::move(cluster)),
      fabric_(std::move(fabric)),
      links_(links_of(*fabric_, *cluster_)) {
  add_background(background);
}

bool FlowPlanner::has_channels(CollectiveKind kind, const CollectiveChoice& choice) const {
  if (cluster_->ranks() <= 1) return false;
  if (ring_phases(kind) == 0 || choice.algorithm == Algorithm::ring) return !fabric_->rings.empty();
  const auto shape = channel_shape(choice.algorithm, cluster_->nodes);
  if (shape == ChannelShape::in_switch)
    return kind == CollectiveKind::all_reduce && !fabric_->switched.empty();
  return shape == ChannelShape::tree && !fabric_->trees.empty();
}

FlowPlanner::ShapeKind FlowPlanner::shape_of(CollectiveKind kind, Algorithm algorithm) {
  if (kind == CollectiveKind::broadcast) return ShapeKind::broadcast;
  if (kind == CollectiveKind::reduce) return ShapeKind::reduce;
  if (kind == CollectiveKind::send_recv) return ShapeKind::send_recv;
  if (algorithm == Algorithm::ring) return ShapeKind::ring;
  return algorithm == Algorithm::tree ? ShapeKind::tree : ShapeKind::in_switch;
}

/// Channels of NVLS are its heads, regardless of the number of thread blocks.
int FlowPlanner::channels_of(const CollectiveChoice& choice) const {
  const bool switched = channel_shape(choice.algorithm, cluster_->nodes) == ChannelShape::in_switch;
  return switched ? static_cast<int>(fabric_->switched.size()) : choice.channels;
}

PipelineShape FlowPlanner::build(ShapeKind kind, const Fabric& fabric, int channels, int gpus) {
  switch (kind) {
    case ShapeKind::ring:
      break;
    case ShapeKind::broadcast:
      return ring_broadcast_shape(fabric, channels, gpus);
    case ShapeKind::reduce:
      return ring_reduce_shape(fabric, channels, gpus);
    case ShapeKind::send_recv:
      return send_recv_shape(fabric, channels, gpus);
    case ShapeKind::tree:
      return tree_all_reduce_shape(fabric, channels, gpus);
    case ShapeKind::in_switch:
      return in_switch_all_reduce_shape(fabric, gpus);
  }
  return ring_all_reduce_shape(fabric, channels, gpus);
}

ChunkPipeline FlowPlanner::pipeline(CollectiveKind kind, const CollectiveChoice& choice,
                                    Bytes size) {
  const PipelineTerms terms = pipeline_terms(kind, choice, size, *cluster_);
  const int channels = channels_of(choice);
  return cost_pipeline(shape(shape_of(kind, choice.algorithm), channels), terms,
                       load_of(kind, choice, channels, *cluster_, size, terms));
}

PlannedTransfer FlowPlanner::transfer(CollectiveKind kind, const CollectiveChoice& choice,
                                      Bytes size) {
  const Question question{
      kind,        choice.algorithm, choice.protocol, choice.channels, choice.buffer.count(),
      choice.nccl, size.count()};
  {
    const std::lock_guard lock(mutex_);
    const auto known = transfers_.find(question);
    if (known != transfers_.end()) return known->second;
  }
  const ChunkPipeline asked = pipeline(kind, choice, size);
  const PlannedTransfer planned{asked, alone_on(asked, links_)};
  const std::lock_guard lock(mutex_);
  return transfers_.emplace(question, planned).first->second;
}

Duration FlowPlanner::background_alone(std::size_t job) {
  const std::lock_guard lock(mutex_);
  std::optional<Duration>& known = background_alone_[job];
  if (!known) known = alone_on(background_[job].pipelines[0], links_);
  return *known;
}

const FoldedNetwork& FlowPlanner::folded(std::vector<const PipelineShape*> shapes) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<FoldedNetwork>& known = folded_[shapes];
  if (!known) {
    for (const NetworkJob& job : background_) shapes.push_back(job.pipelines[0].shape);
    known = std::make_unique<FoldedNetwork>(fold(shapes, links_));
  }
  return *known;
}

const PipelineShape& FlowPlanner::shape(ShapeKind kind, int channels) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<PipelineShape>& known = shapes_[{kind, channels}];
  if (!known)
    known =
        std::make_unique<PipelineShape>(build(kind, *fabric_, channels, cluster_->gpus_per_node));
  return *known;
}

void FlowPlanner::add_background(const Background& background) {
  for (const BackgroundTransfer& transfer : background.transfers) {
    auto shape = std::make_unique<PipelineShape>();
    const Route route{static_cast<std::uint32_t>(links_.route_links.size()),
                      static_cast<std::uint32_t>(transfer.links.size())};
    links_.route_links.insert(links_.route_links.end(), transfer.links.begin(),
                              transfer.links.end());
    shape->hops.push_back({.route = route, .between_nodes = false, .waits_for = {}, .feeds = {}});
    std::int64_t ceiling = whole(transfer.rate.bytes_per_second());
    for (const LinkId link : transfer.links) ceiling = std::min(ceiling, links_.capacities[link]);
    const auto rate = Bandwidth::bytes_per_second(static_cast<double>(ceiling));
    const ChunkPipeline pipeline{
        .shape = shape.get(), .chunks = 1, .ceiling = ceiling, .chunk_time = transfer.size / rate};
    background_shapes_.push_back(std::move(shape));
    background_.push_back({.pipelines = {pipeline}, .recurrence = recurrence_of(transfer.when)});
  }
  for (const BackgroundJob& job : background.jobs) {
    Fabric own;
    own.rings = job.rings;
    const auto channels = static_cast<int>(job.rings.size());
    auto shape = std::make_unique<PipelineShape>(
        ring_all_reduce_shape(own, channels, cluster_->gpus_per_node));
    const Cluster cluster = cluster_of(job.rings.front(), *cluster_);
    const CollectiveChoice choice{.algorithm = Algorithm::ring,
                                  .protocol = Protocol::simple,
                                  .channels = channels,
                                  .nccl_estimate = {}};
    const PipelineTerms terms =
        pipeline_terms(CollectiveKind::all_reduce, choice, job.size, cluster);
    const PipelineLoad load =
        load_of(CollectiveKind::all_reduce, choice, channels, cluster, job.size, terms);
    background_.push_back(
        {.pipelines = {cost_pipeline(*shape, terms, load)}, .recurrence = recurrence_of(job.when)});
    background_shapes_.push_back(std::move(shape));
  }
  background_alone_.resize(background_.size());
}

}  // namespace ddpsim
