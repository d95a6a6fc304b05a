#include "ddpsim/sim/link_loads.hpp"
#include "ddpsim/sim/nccl.hpp"

namespace ddpsim {

Duration least_time(CollectiveKind kind, const CollectiveChoice& choice, Bytes size,
                    const Cluster& cluster) {
  const bool wires = choice.algorithm == Algorithm::ring || choice.algorithm == Algorithm::tree;
  if (kind != CollectiveKind::all_reduce || !wires || cluster.ranks() <= 1 ||
      cluster.loads == nullptr)
    return Duration();
  const ChannelShape shape =
      choice.algorithm == Algorithm::tree ? ChannelShape::tree : ChannelShape::ring;
  const LinkLoads& loads =
      cluster.loads_under_one_leaf ? *cluster.loads_under_one_leaf : *cluster.loads;
  const Bandwidth busbw = most_busbw(shape, loads, cluster.ranks(), choice.channels);
  if (busbw == Bandwidth()) return Duration();
  const double share = static_cast<double>(ring_steps(kind, cluster.ranks())) / cluster.ranks();
  return Duration::microseconds(share * static_cast<double>(size.count()) /
                                busbw.bytes_per_second() * 1e6);
}

}  // namespace ddpsim
