#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/link_loads.hpp"

namespace ddpsim {

Duration least_time(CollectiveKind kind, const CollectiveChoice& choice, Bytes size,
                    const Cluster& cluster) {
  const auto shape = channel_shape(choice.algorithm, cluster.nodes);
  if (kind != CollectiveKind::all_reduce || !shape || cluster.ranks() <= 1 ||
      cluster.loads == nullptr)
    return Duration();
  const LinkLoads& loads =
      cluster.loads_under_one_leaf ? *cluster.loads_under_one_leaf : *cluster.loads;
  const Bandwidth busbw = most_busbw(*shape, loads, cluster.ranks(), choice.channels);
  if (busbw == Bandwidth()) return Duration();
  const double share = static_cast<double>(ring_steps(kind, cluster.ranks())) / cluster.ranks();
  return Duration::microseconds(share * static_cast<double>(size.count()) /
                                busbw.bytes_per_second() * 1e6);
}

}  // namespace ddpsim
