// Rates that follow changes are those of all flows added at once, to the last byte.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "max_min.hpp"

using namespace ddpsim;

namespace {

struct ChangingFlow {
  std::vector<LinkId> route;
  std::vector<std::uint32_t> alike;
  std::int64_t ceiling = 1;
  bool there = false;
};

/// Flows over random links. Small units make rounding matter, down to links that cannot give a byte
/// per second to each of their flows.
class ChangingFlows {
 public:
  explicit ChangingFlows(std::uint64_t seed) : random_(seed) {
    constexpr std::int64_t kUnits[]{1, 3, 20, 1000, 1'000'003, 10'000'000'000};
    unit_ = kUnits[below(6)];
    capacities.resize(1 + below(below(2) == 0 ? 6 : 30));
    for (std::int64_t& capacity : capacities) capacity = 1 + amount(below(4) == 0 ? 3 : 10);
    if (below(3) == 0) std::fill(capacities.begin(), capacities.end(), capacities[0]);
    flows.resize(1 + below(below(2) == 0 ? 12 : 80));
    const bool alike = below(2) == 0;
    const bool equal = below(3) == 0;
    for (ChangingFlow& flow : flows) {
      for (std::size_t hops = below(5); hops-- > 0;) {
        const auto link = static_cast<LinkId>(below(capacities.size()));
        if (std::count(flow.route.begin(), flow.route.end(), link) > 0) continue;
        flow.route.push_back(link);
        if (alike) flow.alike.push_back(static_cast<std::uint32_t>(1 + below(3)));
      }
      flow.ceiling = equal ? 2 * unit_ : below(5) == 0 ? std::int64_t{1} << 50 : 1 + amount(5);
    }
  }
  std::size_t below(std::size_t n) { return random_() % n; }

  std::vector<std::int64_t> capacities;
  std::vector<ChangingFlow> flows;

 private:
  std::int64_t amount(std::int64_t units) {
    return static_cast<std::int64_t>(below(static_cast<std::size_t>(units * unit_)));
  }
  std::mt19937_64 random_;
  std::int64_t unit_ = 1;
};

void add(MaxMin& solver, const ChangingFlows& world, std::size_t flow) {
  const ChangingFlow& added = world.flows[flow];
  solver.add(static_cast<MaxMin::FlowId>(flow), added.route, added.ceiling, added.alike);
}

}  // namespace

TEST_CASE("max-min changes: rates do not depend on what was there before") {
  int apart = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    CAPTURE(seed);
    ChangingFlows world(seed);
    MaxMin solver(world.capacities);
    for (int change = 0; change < 30; ++change) {
      CAPTURE(change);
      for (std::size_t batch = 1 + world.below(world.below(3) == 0 ? 10 : 2); batch-- > 0;) {
        const std::size_t flow = world.below(world.flows.size());
        ChangingFlow& one = world.flows[flow];
        if (one.there) solver.remove(static_cast<MaxMin::FlowId>(flow));
        one.there = !one.there || world.below(4) == 0;
        if (one.there) add(solver, world, flow);
      }
      solver.settle();
      MaxMin at_once(world.capacities);
      for (std::size_t flow = 0; flow < world.flows.size(); ++flow)
        if (world.flows[flow].there) add(at_once, world, flow);
      at_once.settle();
      for (std::size_t flow = 0; flow < world.flows.size(); ++flow) {
        const auto id = static_cast<MaxMin::FlowId>(flow);
        if (world.flows[flow].there && solver.rate(id) != at_once.rate(id)) ++apart;
      }
      REQUIRE(apart == 0);
    }
  }
}
