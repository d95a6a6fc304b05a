// A ring all-reduce of S bytes over C channels sends 2(n-1)/n * S/C along every hop of a channel.
// A link of bandwidth B that carries k channels then takes k/C * 2(n-1)/n * S / B.
//
// The bus bandwidth of nccl-tests is 2(n-1)/n * S divided by the time, so this link allows B * C/k.
// The link with the smallest value is the bottleneck.

#include "ddpsim/topologies/topology.hpp"

namespace ddpsim {

std::optional<Bottleneck> find_bottleneck(const Fabric& fabric) {
  std::vector<std::uint32_t> crossings(fabric.links.size(), 0);
  for (const RingChannel& ring : fabric.rings) {
    for (const Route route : ring.to_next) {
      for (const LinkId link : fabric.links_of(route)) ++crossings[link];
    }
  }
  const auto allows = [&](LinkId link) {
    return fabric.links[link].bandwidth * static_cast<double>(fabric.rings.size()) /
           static_cast<double>(crossings[link]);
  };
  const auto narrowest = [&](std::optional<LinkKind> other_than) {
    std::optional<LinkId> found;
    for (LinkId link = 0; link < fabric.links.size(); ++link) {
      if (crossings[link] == 0 || fabric.links[link].kind == other_than) continue;
      if (!found || allows(link) < allows(*found)) found = link;
    }
    return found;
  };
  const std::optional<LinkId> first = narrowest(std::nullopt);
  if (!first) return std::nullopt;
  const Link& link = fabric.links[*first];
  Bottleneck out{.kind = link.kind,
                 .link = link.name,
                 .bandwidth = link.bandwidth,
                 .crossings = static_cast<double>(crossings[*first]) /
                              static_cast<double>(fabric.rings.size()),
                 .bus_bandwidth = allows(*first),
                 .next_kind = {},
                 .next_bus_bandwidth = {}};
  if (const std::optional<LinkId> next = narrowest(link.kind)) {
    out.next_kind = fabric.links[*next].kind;
    out.next_bus_bandwidth = allows(*next);
  }
  return out;
}

}  // namespace ddpsim
