// A channel visits every GPU once. It is a closed ring, or a chain that enters and leaves by a NIC.
// It uses its speed on every link it passes, in the direction it passes it. The search places one
// channel after the other, and backtracks when it is stuck.
//
// - order: The next GPU is the nearest by type of path, then the one with most bandwidth left, then
//   the one with the lowest number. GPUs that share a PCIe switch with the NIC come last, so that
//   the channel can leave by it.
// - direct: If NVLinks join GPUs directly, a ring is followed by its reverse, which uses the other
//   direction of the same links.
// - hosts: In an NVLink domain of several hosts, a NIC may serve only its own host's GPUs. Then the
//   NIC's host comes first, but one of its GPUs comes last, so that the channel can leave by that
//   host.
// - give up: The search ends after a number of attempted hops, as in NCCL. The best result so far
//   counts.
//
// NCCL first restricts itself to channels that are all the same. It finds the same number, because
// those channels are among the ones tried here.
#include "channel_search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <tuple>

namespace ddpsim {
namespace {

constexpr double kTolerance = 1e-9;  // 3 * 41.2 must fit into three times 41.2
// Beyond this number, switches join the GPUs and any order is good.
constexpr std::uint32_t kMostGpusCompared = 16;

int times(double capacity, double speed) {
  return static_cast<int>(std::min(std::floor(capacity / speed + kTolerance), 1e6));
}

class Search {
 public:
  Search(const NodePaths& paths, const ChannelWish& wish)
      : paths_(paths),
        wish_(wish),
        bound_(channel_bound(paths, wish)),
        visited_(paths.gpus(), false),
        entered_(paths.gpus(), 0) {
    const NodeGraph& graph = paths.graph();
    for (const Wire& wire : graph.wires) {
      direct_ = direct_ ||
                (wire.kind == LinkKind::nvlink && graph.vertices[wire.a].kind == VertexKind::gpu &&
                 graph.vertices[wire.b].kind == VertexKind::gpu);
      left_.insert(left_.end(), 2, wire.nccl.gigabytes_per_second());
    }
    for (const std::uint32_t nic : graph.all(VertexKind::nic)) {
      const double port = graph.vertices[nic].port.gigabytes_per_second();
      port_left_.push_back({port, port});
    }
    // Behind switches, the first channels tried are as good as any.
    constexpr std::int64_t kNoPuzzle = 1 << 11;
    steps_left_ = std::max(direct_ ? kSteps : kNoPuzzle, 64 * std::int64_t{paths.gpus()});
    several_hosts_ = paths.nics() > 0 && paths.to_nic(paths.gpus() - 1, 0) == nullptr;
  }

  std::vector<ChannelOrder> run() {
    if (bound_ > 0) next_channel();
    return std::move(best_);
  }

 private:
  static constexpr std::int64_t kSteps = 1 << 14;  // NCCL's NCCL_SEARCH_TIMEOUT

  bool between_nodes() const { return wish_.outside > 0; }

  /// Returns true when the search is over.
  bool next_channel() {
    if (done_.size() > best_.size()) best_ = done_;
    if (static_cast<int>(best_.size()) >= bound_) return true;
    if (between_nodes()) return enter_by_nic();
    if (direct_ && done_.size() % 2 == 1 && repeat_reversed()) return true;
    open_ = {};
    return visit(0);
  }

  bool repeat_reversed() {
    const std::vector<std::uint32_t> order(done_.back().gpus.rbegin(), done_.back().gpus.rend());
    std::size_t hops = 0;
    bool fits = true;
    for (; hops < order.size() && fits; hops += fits ? 1 : 0) {
      fits = take_hop(order[hops], order[(hops + 1) % order.size()]);
    }
    bool over = false;
    if (fits) {
      done_.push_back({order, {}, {}});
      over = next_channel();
      if (!over) done_.pop_back();
    }
    for (std::size_t i = 0; i < hops && !over; ++i) {
      give_hop(order[i], order[(i + 1) % order.size()]);
    }
    return over;
  }

  bool enter_by_nic() {
    const std::uint32_t nics = paths_.nics();
    for (std::uint32_t i = 0; i < nics; ++i) {
      const auto nic = static_cast<std::uint32_t>((done_.size() + i) % nics);
      if (port_left_[nic][0] < wish_.outside - kTolerance) continue;
      port_left_[nic][0] -= wish_.outside;
      for (const std::uint32_t gpu : entrances(nic)) {
        const NodePath* path = paths_.from_nic(nic, gpu);
        if (!take(*path, wish_.outside)) continue;
        open_ = {};
        open_.nic_in = nic;
        ++entered_[gpu];
        const bool over = visit(gpu);
        if (over) return true;
        --entered_[gpu];
        give(*path, wish_.outside);
      }
      port_left_[nic][0] += wish_.outside;
    }
    return false;
  }

  /// GPUs by distance from the NIC; equally near ones by how rarely channels entered there.
  std::vector<std::uint32_t> entrances(std::uint32_t nic) const {
    std::vector<std::uint32_t> gpus;
    for (std::uint32_t gpu = 0; gpu < paths_.gpus(); ++gpu) {
      if (paths_.from_nic(nic, gpu) != nullptr) gpus.push_back(gpu);
    }
    std::stable_sort(gpus.begin(), gpus.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::tuple(paths_.from_nic(nic, a)->path, entered_[a]) <
             std::tuple(paths_.from_nic(nic, b)->path, entered_[b]);
    });
    constexpr std::size_t kTried = 2;
    if (gpus.size() > kTried) gpus.resize(kTried);
    return gpus;
  }

  bool visit(std::uint32_t gpu) {
    if (paths_.gpus() > kMostGpusCompared || several_hosts_) return walk_in_order(gpu);
    if (--steps_left_ <= 0) return true;
    visited_[gpu] = true;
    open_.gpus.push_back(gpu);
    const bool over = open_.gpus.size() == paths_.gpus() ? finish() : go_on(gpu);
    if (over) return true;
    open_.gpus.pop_back();
    visited_[gpu] = false;
    return false;
  }

  bool walk_in_order(std::uint32_t first) {
    const std::uint32_t gpus = paths_.gpus();
    steps_left_ -= gpus;
    if (steps_left_ <= 0) return true;
    open_.gpus.resize(gpus);
    std::iota(open_.gpus.begin(), open_.gpus.end(), 0U);
    std::rotate(open_.gpus.begin(), open_.gpus.begin() + static_cast<std::ptrdiff_t>(first),
                open_.gpus.end());
    std::stable_partition(open_.gpus.begin() + 1, open_.gpus.end(),
                          [&](std::uint32_t gpu) { return !shares_switch_with_entry(gpu); });
    if (several_hosts_ && open_.nic_in) keep_entry_for_last();
    const ChannelOrder whole = open_;
    std::size_t hops = 0;
    while (hops + 1 < gpus && take_hop(whole.gpus[hops], whole.gpus[hops + 1])) ++hops;
    if (hops + 1 == gpus && finish()) return true;
    for (std::size_t i = 0; i < hops; ++i) give_hop(whole.gpus[i], whole.gpus[i + 1]);
    return false;
  }

  /// The GPUs of the host where the channel entered come first, except for the last of them.
  void keep_entry_for_last() {
    const auto on_host = [&](std::uint32_t gpu) {
      return paths_.to_nic(gpu, *open_.nic_in) != nullptr;
    };
    const auto rest = std::stable_partition(open_.gpus.begin() + 1, open_.gpus.end(), on_host);
    if (rest - open_.gpus.begin() > 1) std::rotate(rest - 1, rest, open_.gpus.end());
  }

  bool go_on(std::uint32_t gpu) {
    const ChannelOrder here = open_;  // the next channel overwrites it
    for (const std::uint32_t next : choices(gpu)) {
      if (!take_hop(gpu, next)) continue;
      if (visit(next)) return true;
      open_ = here;
      give_hop(gpu, next);
      if (steps_left_ <= 0) return true;
    }
    return false;
  }

  std::vector<std::uint32_t> choices(std::uint32_t gpu) const {
    struct Choice {
      bool last = false;
      PathClass path = PathClass::nvl;
      double spare = 0;
      std::uint32_t gpu = 0;
    };
    const std::uint32_t gpus = paths_.gpus();
    std::vector<Choice> found;
    for (std::uint32_t i = 1; i < gpus; ++i) {
      const std::uint32_t next = (gpu + i) % gpus;
      if (visited_[next]) continue;
      const NodePath* path = paths_.between(gpu, next);
      if (path == nullptr || path->path > wish_.farthest) continue;
      found.push_back({shares_switch_with_entry(next), path->path, spare_on(*path), next});
    }
    std::stable_sort(found.begin(), found.end(), [](const Choice& a, const Choice& b) {
      return std::tuple(a.last, a.path, -a.spare) < std::tuple(b.last, b.path, -b.spare);
    });
    std::vector<std::uint32_t> order;
    for (const Choice& choice : found) order.push_back(choice.gpu);
    return order;
  }

  bool shares_switch_with_entry(std::uint32_t gpu) const {
    if (!open_.nic_in) return false;
    const NodePath* path = paths_.to_nic(gpu, *open_.nic_in);
    return path != nullptr && path->path <= PathClass::pxb;
  }

  bool finish() {
    const ChannelOrder whole = open_;
    const std::uint32_t last = whole.gpus.back();
    if (!between_nodes()) {
      const bool ring = whole.gpus.size() > 1;
      if (ring && !take_hop(last, whole.gpus.front())) return false;
      if (complete(whole)) return true;
      if (ring) give_hop(last, whole.gpus.front());
      return false;
    }
    for (const std::uint32_t nic : exits(last)) {
      const NodePath* path = paths_.to_nic(last, nic);
      if (!take(*path, wish_.outside)) continue;
      port_left_[nic][1] -= wish_.outside;
      ChannelOrder left = whole;
      left.nic_out = nic;
      if (complete(left)) return true;
      port_left_[nic][1] += wish_.outside;
      give(*path, wish_.outside);
      if (steps_left_ <= 0) return true;
    }
    return false;
  }

  /// NICs by which the channel may leave the last GPU: near ones first, among them the channel's
  /// own.
  std::vector<std::uint32_t> exits(std::uint32_t gpu) const {
    std::vector<std::uint32_t> nics;
    for (std::uint32_t i = 0; i < paths_.nics(); ++i) {
      const std::uint32_t nic = (*open_.nic_in + i) % paths_.nics();
      const bool room = port_left_[nic][1] >= wish_.outside - kTolerance;
      if (room && paths_.to_nic(gpu, nic) != nullptr) nics.push_back(nic);
    }
    std::stable_sort(nics.begin(), nics.end(), [&](std::uint32_t a, std::uint32_t b) {
      const PathClass to_a = paths_.to_nic(gpu, a)->path;
      const PathClass to_b = paths_.to_nic(gpu, b)->path;
      return std::tuple(to_a > PathClass::pxb, a != *open_.nic_in, to_a) <
             std::tuple(to_b > PathClass::pxb, b != *open_.nic_in, to_b);
    });
    constexpr std::size_t kTried = 2;
    if (nics.size() > kTried) nics.resize(kTried);
    return nics;
  }

  bool complete(const ChannelOrder& channel) {
    const std::vector<bool> visited = visited_;
    std::fill(visited_.begin(), visited_.end(), false);
    done_.push_back(channel);
    if (next_channel()) return true;
    done_.pop_back();
    visited_ = visited;
    open_ = channel;
    return false;
  }

  bool take_hop(std::uint32_t from, std::uint32_t to) {
    const NodePath* path = paths_.between(from, to);
    return path != nullptr && path->path <= wish_.farthest && take(*path, demand(*path));
  }
  void give_hop(std::uint32_t from, std::uint32_t to) {
    const NodePath* path = paths_.between(from, to);
    give(*path, demand(*path));
  }
  double demand(const NodePath& path) const {
    return path.path >= PathClass::phb ? wish_.inside * wish_.host_factor : wish_.inside;
  }

  bool take(const NodePath& path, double speed) {
    for (std::size_t i = 0; i < path.arcs.size(); ++i) {
      left_[path.arcs[i]] -= speed;
      if (left_[path.arcs[i]] >= -kTolerance) continue;
      for (std::size_t undo = 0; undo <= i; ++undo) left_[path.arcs[undo]] += speed;
      return false;
    }
    return true;
  }
  void give(const NodePath& path, double speed) {
    for (const ArcId arc : path.arcs) left_[arc] += speed;
  }
  double spare_on(const NodePath& path) const {
    double least = left_[path.arcs.front()];
    for (const ArcId arc : path.arcs) least = std::min(least, left_[arc]);
    return least;
  }

  const NodePaths& paths_;
  const ChannelWish& wish_;
  int bound_;
  std::int64_t steps_left_ = 0;
  bool direct_ = false;
  bool several_hosts_ = false;
  std::vector<double> left_;                      ///< by arc, GB/s
  std::vector<std::array<double, 2>> port_left_;  ///< by NIC, in and out
  std::vector<bool> visited_;
  std::vector<int> entered_;  ///< by GPU: channels that begin there
  ChannelOrder open_;
  std::vector<ChannelOrder> done_;
  std::vector<ChannelOrder> best_;
};

}  // namespace

int channel_bound(const NodePaths& paths, const ChannelWish& wish) {
  const NodeGraph& graph = paths.graph();
  int bound = wish.most;
  if (paths.gpus() > 1) {
    std::vector<std::int64_t> leaving(graph.vertices.size(), 0);
    for (const Wire& wire : graph.wires) {
      if (wish.farthest <= PathClass::nvb && wire.kind != LinkKind::nvlink) continue;
      const int channels = times(wire.nccl.gigabytes_per_second(), wish.inside);
      leaving[wire.a] += channels;
      leaving[wire.b] += channels;
    }
    std::int64_t least = bound;
    std::int64_t sum = 0;
    for (const std::uint32_t gpu : graph.all(VertexKind::gpu)) {
      least = std::min(least, leaving[gpu]);
      sum += leaving[gpu];
    }
    // A ring leaves every GPU; a chain leaves every GPU but its last.
    const std::int64_t most = wish.outside > 0 ? sum / (paths.gpus() - 1) : least;
    bound = static_cast<int>(std::min<std::int64_t>(bound, most));
  }
  if (wish.outside > 0) {
    std::vector<double> slots(graph.vertices.size(), 0);
    for (const Wire& wire : graph.wires) {
      slots[wire.a] += wire.nccl.gigabytes_per_second();
      slots[wire.b] += wire.nccl.gigabytes_per_second();
    }
    std::int64_t ports = 0;
    for (const std::uint32_t nic : graph.all(VertexKind::nic)) {
      const double port = graph.vertices[nic].port.gigabytes_per_second();
      ports += times(std::min(port, slots[nic]), wish.outside);
    }
    bound = static_cast<int>(std::min<std::int64_t>(bound, ports));
  }
  return bound;
}

std::vector<ChannelOrder> search_channels(const NodePaths& paths, const ChannelWish& wish) {
  return Search(paths, wish).run();
}

}  // namespace ddpsim
