// Trunks are as wide as their plan says: what all ports below a full leaf can send, over the
// oversubscription, shared evenly by the spines; of a leaf that is not full, nodes like its last one
// are missing. A switch of a stated list hangs on at most one other, and its trunk carries all ports
// anywhere below it over the oversubscription.
#include "network_graph.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ddpsim/sim/assert.hpp"

namespace ddpsim {
namespace {

using Rates = std::vector<std::vector<Bandwidth>>;

/// Joins every leaf to every spine; `below` is what the ports of each leaf can send.
void add_spines(NetworkGraph& network, const SwitchPlan& plan,
                const std::vector<Bandwidth>& below) {
  if (below.size() < 2) return;
  const auto first = static_cast<std::uint32_t>(network.switches.size());
  for (int i = 0; i < plan.spines; ++i) network.switches.push_back(fmt::format("spine{}", i));
  for (std::uint32_t leaf = 0; leaf < below.size(); ++leaf) {
    for (int i = 0; i < plan.spines; ++i) {
      network.trunks.push_back({leaf, first + static_cast<std::uint32_t>(i),
                                below[leaf] / (plan.oversubscription * plan.spines)});
    }
  }
}

/// For how many nodes of its leaf this one stands: the last of all for those that are missing, too.
double places(const SwitchPlan& plan, std::size_t node, std::size_t nodes) {
  const auto full = static_cast<std::size_t>(plan.nodes_per_leaf);
  return static_cast<double>(node + 1 == nodes ? full - node % full : 1);
}

NetworkGraph one_switch(const Rates& rates) {
  NetworkGraph network;
  network.switches = {"switch"};
  for (const auto& nics : rates) network.ports.emplace_back(nics.size(), 0U);
  return network;
}

NetworkGraph leaf_spine(const SwitchPlan& plan, const Rates& rates) {
  NetworkGraph network;
  std::vector<Bandwidth> below;
  for (std::size_t node = 0; node < rates.size(); ++node) {
    const std::size_t leaf = node / static_cast<std::size_t>(plan.nodes_per_leaf);
    if (leaf == below.size()) {
      network.switches.push_back(fmt::format("leaf{}", leaf));
      below.emplace_back();
    }
    network.ports.emplace_back(rates[node].size(), static_cast<std::uint32_t>(leaf));
    for (const Bandwidth rate : rates[node])
      below[leaf] = below[leaf] + rate * places(plan, node, rates.size());
  }
  add_spines(network, plan, below);
  return network;
}

NetworkGraph rail(const SwitchPlan& plan, const Rates& rates) {
  NetworkGraph network;
  std::size_t rails = 0;
  for (const auto& nics : rates) rails = std::max(rails, nics.size());
  std::vector<Bandwidth> below;
  for (std::size_t node = 0; node < rates.size(); ++node) {
    const std::size_t pod = node / static_cast<std::size_t>(plan.nodes_per_leaf);
    if (pod * rails == below.size()) {
      for (std::size_t r = 0; r < rails; ++r) {
        network.switches.push_back(fmt::format("pod{}-rail{}", pod, r));
        below.emplace_back();
      }
    }
    auto& ports = network.ports.emplace_back();
    for (std::size_t nic = 0; nic < rates[node].size(); ++nic) {
      ports.push_back(static_cast<std::uint32_t>(pod * rails + nic));
      below[ports.back()] =
          below[ports.back()] + rates[node][nic] * places(plan, node, rates.size());
    }
  }
  add_spines(network, plan, below);
  return network;
}

NetworkGraph stated(const SwitchPlan& plan, const Rates& rates) {
  NetworkGraph network;
  std::vector<Bandwidth> below(plan.switches.size());
  for (const auto& written : plan.switches) network.switches.push_back(written.name);
  for (std::size_t node = 0; node < rates.size(); ++node) {
    network.ports.emplace_back(rates[node].size(), plan.leaf_of_host[node]);
    Bandwidth sum;
    for (const Bandwidth rate : rates[node]) sum = sum + rate;
    for (std::optional<std::uint32_t> at = plan.leaf_of_host[node]; at;
         at = plan.switches[*at].above)
      below[*at] = below[*at] + sum;
  }
  for (std::uint32_t i = 0; i < plan.switches.size(); ++i) {
    if (!plan.switches[i].above || !(below[i] > Bandwidth())) continue;
    network.trunks.push_back({i, *plan.switches[i].above, below[i] / plan.oversubscription});
  }
  return network;
}

}  // namespace

NetworkGraph draw_network(const SwitchPlan& plan, const Rates& nic_rates) {
  switch (plan.kind) {
    case SwitchPlan::Kind::one_switch:
      break;
    case SwitchPlan::Kind::leaf_spine:
      return leaf_spine(plan, nic_rates);
    case SwitchPlan::Kind::rail:
      return rail(plan, nic_rates);
    case SwitchPlan::Kind::stated:
      return stated(plan, nic_rates);
  }
  return one_switch(nic_rates);
}

SwitchRoutes::SwitchRoutes(const NetworkGraph& network)
    : trunks_(network.trunks), up_(network.switches.size()), level_(network.switches.size(), 0) {
  for (std::uint32_t t = 0; t < trunks_.size(); ++t) up_[trunks_[t].below].push_back(t);
  for (std::uint32_t s = 0; s < up_.size(); ++s) {
    for (std::uint32_t at = s; !up_[at].empty(); at = trunks_[up_[at].front()].above) ++level_[s];
  }
}

std::vector<std::uint32_t> SwitchRoutes::route(std::uint32_t from, std::uint32_t to,
                                               std::uint32_t spread) const {
  std::vector<std::uint32_t> route;
  std::vector<std::uint32_t> down;
  while (from != to) {
    const bool climb = level_[from] >= level_[to];
    std::uint32_t& low = climb ? from : to;
    DDPSIM_ASSERT(!up_[low].empty(), "no way between two switches");
    const std::uint32_t trunk = up_[low][spread % up_[low].size()];
    (climb ? route : down).push_back(climb ? 2 * trunk : 2 * trunk + 1);
    low = trunks_[trunk].above;
  }
  route.insert(route.end(), down.rbegin(), down.rend());
  return route;
}

}  // namespace ddpsim
