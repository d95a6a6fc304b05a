// The width of trunks follows from the plan. All ports below a full leaf can send at some rate.
// That rate is divided by the oversubscription, and the spines share it evenly. If a leaf is not
// full, its missing nodes are assumed to be like its last one. Spines of a pod connect to a core.
// Their width follows from what the pod's leaves send them, and from the pod's own
// oversubscription. If ranks are scattered, each node's neighbours are under other leaves. In a
// stated list, a switch connects to at most one other switch. Its trunk carries all ports below it,
// divided by the oversubscription.
#include "network_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ddpsim/sim/values/assert.hpp"

namespace ddpsim {
namespace {

using Rates = std::vector<std::vector<Bandwidth>>;

std::uint32_t last_switch(const NetworkGraph& network) {
  return static_cast<std::uint32_t>(network.switches.size() - 1);
}

/// Joins every leaf to every spine. `below` holds the rate that the ports of each leaf can send.
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

/// Does the same for each pod, and connects the pods' spines to a core.
void add_pods(NetworkGraph& network, const SwitchPlan& plan, const std::vector<Bandwidth>& below) {
  if (below.size() < 2) return;
  const std::size_t of_pod =
      static_cast<std::size_t>(plan.nodes_per_pod) / static_cast<std::size_t>(plan.nodes_per_leaf);
  std::vector<std::uint32_t> spines;
  std::vector<Bandwidth> below_spine;
  for (std::uint32_t leaf = 0; leaf < below.size(); ++leaf) {
    const Bandwidth trunk = below[leaf] / (plan.oversubscription * plan.spines);
    for (int i = 0; i < plan.spines; ++i) {
      if (leaf % of_pod == 0) {
        network.switches.push_back(fmt::format("pod{}-spine{}", leaf / of_pod, i));
        spines.push_back(last_switch(network));
        below_spine.emplace_back();
      }
      const std::size_t spine =
          leaf / of_pod * static_cast<std::size_t>(plan.spines) + static_cast<std::size_t>(i);
      network.trunks.push_back({leaf, spines[spine], trunk});
      // The last leaf represents the missing leaves of its pod.
      const bool last = leaf + 1 == below.size();
      below_spine[spine] =
          below_spine[spine] + trunk * static_cast<double>(last ? of_pod - leaf % of_pod : 1);
    }
  }
  if (spines.size() == static_cast<std::size_t>(plan.spines)) return;  // one pod
  network.switches.emplace_back("core");
  for (std::size_t i = 0; i < spines.size(); ++i)
    network.trunks.push_back(
        {spines[i], last_switch(network), below_spine[i] / plan.pod_oversubscription});
}

/// The leaf of every node; with rails, its pod.
class Leaves {
 public:
  Leaves(const SwitchPlan& plan, std::size_t nodes)
      : full_(static_cast<std::size_t>(plan.nodes_per_leaf)), count_((nodes + full_ - 1) / full_) {
    const auto together = static_cast<std::size_t>(plan.nodes_together);
    const std::vector<std::size_t> turns = plan.placement == SwitchPlan::Placement::scattered
                                               ? in_turn(plan)
                                               : std::vector<std::size_t>();
    std::vector<std::size_t> under(count_, 0);
    for (std::size_t node = 0; node < nodes; ++node) {
      leaf_of_.push_back(turns.empty() ? node / full_ : turns[node / together % count_]);
      ++under[leaf_of_.back()];
    }
    places_.assign(nodes, 1);
    for (std::size_t node = nodes; node-- > 0;) {
      std::size_t& left = under[leaf_of_[node]];
      if (left > 0) places_[node] = static_cast<double>(full_ - left + 1);
      left = 0;
    }
  }

  std::size_t count() const { return count_; }
  std::size_t of(std::size_t node) const { return leaf_of_[node]; }
  /// Number of nodes that this node represents on its leaf. The last node also represents the
  /// missing ones.
  double places(std::size_t node) const { return places_[node]; }

 private:
  /// Leaves in an order in which neighbours are in different pods.
  std::vector<std::size_t> in_turn(const SwitchPlan& plan) const {
    const std::size_t pod =
        plan.nodes_per_pod > 0 ? static_cast<std::size_t>(plan.nodes_per_pod) / full_ : count_;
    std::vector<std::size_t> turns;
    for (std::size_t place = 0; place < pod; ++place)
      for (std::size_t leaf = place; leaf < count_; leaf += pod) turns.push_back(leaf);
    return turns;
  }

  std::size_t full_;
  std::size_t count_;
  std::vector<std::size_t> leaf_of_;
  std::vector<double> places_;
};

NetworkGraph one_switch(const Rates& rates) {
  NetworkGraph network;
  network.switches = {"switch"};
  for (const auto& nics : rates) network.ports.emplace_back(nics.size(), 0U);
  return network;
}

NetworkGraph leaf_spine(const SwitchPlan& plan, const Rates& rates) {
  NetworkGraph network;
  const Leaves leaves(plan, rates.size());
  std::vector<Bandwidth> below(leaves.count());
  for (std::size_t leaf = 0; leaf < leaves.count(); ++leaf)
    network.switches.push_back(fmt::format("leaf{}", leaf));
  for (std::size_t node = 0; node < rates.size(); ++node) {
    const std::size_t leaf = leaves.of(node);
    network.ports.emplace_back(rates[node].size(), static_cast<std::uint32_t>(leaf));
    for (const Bandwidth rate : rates[node]) below[leaf] = below[leaf] + rate * leaves.places(node);
  }
  plan.nodes_per_pod > 0 ? add_pods(network, plan, below) : add_spines(network, plan, below);
  return network;
}

NetworkGraph rail(const SwitchPlan& plan, const Rates& rates) {
  NetworkGraph network;
  std::size_t rails = 0;
  for (const auto& nics : rates) rails = std::max(rails, nics.size());
  const Leaves pods(plan, rates.size());
  std::vector<Bandwidth> below(pods.count() * rails);
  for (std::size_t leaf = 0; leaf < below.size(); ++leaf)
    network.switches.push_back(fmt::format("pod{}-rail{}", leaf / rails, leaf % rails));
  for (std::size_t node = 0; node < rates.size(); ++node) {
    auto& ports = network.ports.emplace_back();
    for (std::size_t nic = 0; nic < rates[node].size(); ++nic) {
      ports.push_back(static_cast<std::uint32_t>(pods.of(node) * rails + nic));
      below[ports.back()] = below[ports.back()] + rates[node][nic] * pods.places(node);
    }
  }
  add_spines(network, plan, below);
  return network;
}

/// The leaf of each of the first `nodes` hosts of the list. With scattered placement: one host of
/// every leaf in turn.
std::vector<std::uint32_t> listed_leaves(const SwitchPlan& plan, std::size_t nodes) {
  std::vector<std::uint32_t> leaves(plan.leaf_of_host.begin(),
                                    plan.leaf_of_host.begin() + static_cast<std::ptrdiff_t>(nodes));
  if (plan.placement != SwitchPlan::Placement::scattered) return leaves;
  std::vector<std::size_t> seen(plan.switches.size(), 0);
  std::vector<std::pair<std::size_t, std::uint32_t>> turns;
  turns.reserve(nodes);
  for (const std::uint32_t leaf : leaves) turns.emplace_back(seen[leaf]++, leaf);
  std::sort(turns.begin(), turns.end());
  for (std::size_t node = 0; node < nodes; ++node) leaves[node] = turns[node].second;
  return leaves;
}

NetworkGraph stated(const SwitchPlan& plan, const Rates& rates) {
  NetworkGraph network;
  const std::vector<std::uint32_t> leaves = listed_leaves(plan, rates.size());
  std::vector<Bandwidth> below(plan.switches.size());
  for (const auto& written : plan.switches) network.switches.push_back(written.name);
  for (std::size_t node = 0; node < rates.size(); ++node) {
    network.ports.emplace_back(rates[node].size(), leaves[node]);
    Bandwidth sum;
    for (const Bandwidth rate : rates[node]) sum = sum + rate;
    for (std::optional<std::uint32_t> at = leaves[node]; at; at = plan.switches[*at].above)
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
