// Compares waves in closed form with every chunk of every hop as an event, to the picosecond.
#include "chunk_waves.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <random>
#include <utility>

#include "every_chunk_network.hpp"
#include "fabrics.hpp"
#include "flow_network.hpp"
#include "steady_state.hpp"

using namespace ddpsim;

namespace {

struct WaveCollective {
  std::size_t pipeline;
  Duration pause;  ///< since the previous one ended
};

/// Job 0 runs collectives, one after the other. The other jobs start by themselves.
struct WaveWorld {
  NetworkLinks links;
  std::vector<std::unique_ptr<PipelineShape>> shapes;
  std::vector<NetworkJob> jobs;
  std::vector<WaveCollective> collectives;
};

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  std::int64_t below(std::uint64_t n) { return static_cast<std::int64_t>(random_() % n); }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  Duration time(std::uint64_t picoseconds) { return Duration::picoseconds(below(picoseconds)); }

  WaveWorld world() {
    // With equal hops, many events happen at the same time.
    equal_ = one_in(3);
    rendezvous_ = one_in(4);
    ranks_ = static_cast<std::uint32_t>(one_in(10) ? 1 + below(40) : 1 + below(12));
    channels_ = static_cast<int>(1 + below(3));
    for (int link = 0; link < 4; ++link) shared_.push_back(link_of_any_width());
    lay_out();
    const auto collectives = static_cast<std::size_t>(1 + below(3));
    NetworkJob own;
    for (std::size_t i = 0; i < collectives; ++i) own.pipelines.push_back(pipeline(shape()));
    world_.jobs.push_back(own);
    for (std::size_t i = 0; i < collectives + 1; ++i)
      world_.collectives.push_back(
          {static_cast<std::size_t>(below(collectives)), one_in(2) ? Duration() : time(20'000)});
    for (std::int64_t i = below(4); i > 0; --i) {
      const bool transfer = one_in(2);
      NetworkJob other;
      other.pipelines.push_back(pipeline(transfer ? single_hop() : shape()));
      if (transfer) other.pipelines.back().chunks = 1;
      other.recurrence = {
          .first = TimePoint(time(50'000)),
          .period = one_in(3) ? Duration() : Duration::picoseconds(1) + time(40'000)};
      world_.jobs.push_back(other);
    }
    finish_links();
    return std::move(world_);
  }

 private:
  LinkId link_of_any_width() {
    const double rate = equal_ ? 10'000 : 2'000 + static_cast<double>(below(10'000));
    return builder_.link(LinkKind::network, Bandwidth::bytes_per_second(rate),
                         Duration::picoseconds(equal_ ? 500 : below(2'000)));
  }
  // Most hops have a link of their own. Some pass one that others pass too.
  Route route() {
    std::vector<LinkId> links;
    if (!one_in(8)) links.push_back(link_of_any_width());
    if (one_in(share_one_in_))
      links.push_back(shared_[static_cast<std::size_t>(below(shared_.size()))]);
    return builder_.route(links);
  }
  void lay_out() {
    share_one_in_ = static_cast<std::uint64_t>(2 + below(8));
    for (int channel = 0; channel < channels_; ++channel) {
      RingChannel ring;
      TreeChannel tree;
      for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
        ring.ranks.push_back(rank);
        tree.parent.push_back(rank == 0 ? 0 : static_cast<std::uint32_t>(below(rank)));
        for (auto* routes : {&ring.to_next, &tree.up, &tree.down}) routes->push_back(route());
      }
      std::shuffle(ring.ranks.begin(), ring.ranks.end(), random_);
      builder_.fabric.rings.push_back(ring);
      builder_.fabric.trees.push_back(tree);
    }
  }
  const PipelineShape* keep(PipelineShape shape) {
    world_.shapes.push_back(std::make_unique<PipelineShape>(std::move(shape)));
    return world_.shapes.back().get();
  }
  const PipelineShape* shape() {
    const auto channels = static_cast<int>(1 + below(static_cast<std::uint64_t>(channels_)));
    switch (below(7)) {
      case 0:
        return keep(ring_broadcast_shape(builder_.fabric, channels, 2));
      case 1:
        return keep(ring_reduce_shape(builder_.fabric, channels, 2));
      case 2:
        return keep(send_recv_shape(builder_.fabric, channels, 2));
      case 3:
      case 4:
        return keep(tree_all_reduce_shape(builder_.fabric, channels, 2));
      default:
        return keep(ring_all_reduce_shape(builder_.fabric, channels, 2));
    }
  }
  const PipelineShape* single_hop() {
    PipelineShape shape;
    shape.hops.push_back({.route = builder_.route({shared_[0]}), .waits_for = {}, .feeds = {}});
    return keep(std::move(shape));
  }
  ChunkPipeline pipeline(const PipelineShape* shape) {
    return {.shape = shape,
            .chunks = static_cast<std::uint32_t>(one_in(15) ? below(2) : 1 + below(60)),
            .start = time(1'000),
            .ceiling = equal_ ? 8'000 : 1 + below(12'000),
            .chunk_time = one_in(10) ? time(3) : time(1'000),
            .local_latency = one_in(2) ? Duration() : time(3'000),
            .network_latency = time(5'000),
            .rendezvous = rendezvous_};
  }
  void finish_links() {
    world_.links.route_links = builder_.fabric.route_links;
    for (const Link& link : builder_.fabric.links) {
      world_.links.capacities.push_back(
          static_cast<std::int64_t>(link.bandwidth.bytes_per_second()));
      world_.links.latencies.push_back(link.latency);
    }
  }

  std::mt19937_64 random_;
  bool equal_ = false;
  bool rendezvous_ = false;
  std::uint32_t ranks_ = 0;
  int channels_ = 0;
  std::uint64_t share_one_in_ = 1;
  fabrics::Builder builder_;
  std::vector<LinkId> shared_;
  WaveWorld world_;
};

using Ends = std::vector<std::pair<std::size_t, std::int64_t>>;  ///< job, picosecond

/// Ends of everything until some time after the last collective.
template <typename Network>
Ends ends_of(const WaveWorld& world) {
  Network network(world.links, world.jobs);
  Ends ends;
  std::vector<TimePoint> last(world.jobs.size());
  const auto note = [&](TimePoint until) {
    for (std::size_t job = 1; job < last.size(); ++job) {
      if (!network.idle(job)) continue;
      const TimePoint end = network.run(job);
      if (end == std::exchange(last[job], end) || end > until) continue;
      ends.emplace_back(job, end.since_start().picoseconds());
    }
  };
  TimePoint now;
  for (const WaveCollective& collective : world.collectives) {
    network.start(0, collective.pipeline, now + collective.pause);
    while (!network.idle(0)) {
      if (!network.step()) return {};  // it never ends
      note(TimePoint::max());
    }
    now = network.run(0);
    ends.emplace_back(0, now.since_start().picoseconds());
  }
  const TimePoint until = now + Duration::picoseconds(100'000);
  for (std::optional<TimePoint> step = now; step && *step <= until; step = network.step())
    note(until);
  return ends;
}

/// Number of random worlds: DDPSIM_RANDOM_WORLDS if set (100000 have passed).
std::uint64_t worlds() {
  const char* count = std::getenv("DDPSIM_RANDOM_WORLDS");
  return count != nullptr ? std::strtoull(count, nullptr, 10) : 600;
}

}  // namespace

TEST_CASE(
    "chunk waves: every end is the same as with each chunk by itself, whatever shares links") {
  int slowed = 0;
  int background = 0;
  for (std::uint64_t seed = 1; seed <= worlds(); ++seed) {
    CAPTURE(seed);
    const WaveWorld world = Draw(seed).world();
    const Ends ends = ends_of<FlowNetwork>(world);
    REQUIRE(!ends.empty());
    REQUIRE(ends == ends_of<EveryChunkNetwork>(world));
    const ChunkPipeline& first = world.jobs[0].pipelines[world.collectives[0].pipeline];
    const std::optional<Duration> alone = uncontended_duration(first, world.links);
    const auto end = std::ranges::find(ends, std::size_t{0}, &Ends::value_type::first);
    if (!alone || end->second > (world.collectives[0].pause + *alone).picoseconds()) ++slowed;
    background += static_cast<int>(
        std::ranges::count_if(ends, [](const Ends::value_type& one) { return one.first > 0; }));
  }
  // Collectives and background did meet.
  CHECK(slowed > 200);
  CHECK(background > 2'000);
}
