#include "max_min.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "small_jobs.hpp"

using namespace ddpsim;

namespace {

struct System {
  std::vector<std::int64_t> capacities;
  std::vector<std::vector<LinkId>> routes;  ///< by flow; empty: no flow
  std::vector<std::int64_t> ceilings;
};

/// Exact fractions of small numbers.
struct Fraction {
  std::int64_t over = 0;
  std::int64_t under = 1;
  Fraction(std::int64_t a = 0, std::int64_t b = 1) : over(a), under(b) {
    const std::int64_t common = std::gcd(over, under);
    if (common > 1) {
      over /= common;
      under /= common;
    }
  }
  Fraction operator-(Fraction other) const {
    return {over * other.under - other.over * under, under * other.under};
  }
  Fraction operator/(std::int64_t n) const { return {over, under * n}; }
  bool operator<(Fraction other) const { return over * other.under < other.over * under; }
  bool operator==(const Fraction&) const = default;
};

/// The textbook's method: the link or ceiling that stops first decides its flows, then the rest
/// again.
std::vector<Fraction> brute_force(const System& system) {
  std::vector<Fraction> rates(system.routes.size());
  std::vector<bool> decided(system.routes.size());
  for (std::size_t f = 0; f < decided.size(); ++f) decided[f] = system.routes[f].empty();
  const auto passes = [&](std::size_t flow, LinkId link) {
    return std::count(system.routes[flow].begin(), system.routes[flow].end(), link) > 0;
  };
  while (!std::all_of(decided.begin(), decided.end(), [](bool done) { return done; })) {
    Fraction least(std::int64_t{1} << 40);
    std::vector<std::size_t> stopped;
    const auto stop = [&](Fraction rate, const std::vector<std::size_t>& flows) {
      if (rate < least) stopped.clear();
      if (!(least < rate)) stopped.insert(stopped.end(), flows.begin(), flows.end());
      least = std::min(least, rate);
    };
    for (LinkId link = 0; link < system.capacities.size(); ++link) {
      Fraction left(system.capacities[link]);
      std::vector<std::size_t> waiting;
      for (std::size_t f = 0; f < rates.size(); ++f) {
        if (!passes(f, link)) continue;
        if (decided[f]) {
          left = left - rates[f];
        } else {
          waiting.push_back(f);
        }
      }
      if (!waiting.empty()) stop(left / static_cast<std::int64_t>(waiting.size()), waiting);
    }
    for (std::size_t f = 0; f < rates.size(); ++f)
      if (!decided[f]) stop(Fraction(system.ceilings[f]), {f});
    for (const std::size_t f : stopped) {
      rates[f] = least;
      decided[f] = true;
    }
  }
  return rates;
}

class RandomSystem {
 public:
  /// Capacities are multiples of `unit`.
  RandomSystem(std::uint64_t seed, std::int64_t unit) : random_(seed), unit_(unit) {
    const std::size_t links = 1 + below(5);
    for (std::size_t i = 0; i < links; ++i)
      system.capacities.push_back(unit_ * static_cast<std::int64_t>(1 + below(9)));
    const std::size_t flows = 1 + below(6);
    system.routes.resize(flows);
    system.ceilings.resize(flows);
  }
  std::size_t below(std::size_t n) { return random_() % n; }
  void draw_flow(std::size_t flow) {
    std::vector<LinkId> links(system.capacities.size());
    std::iota(links.begin(), links.end(), 0U);
    std::shuffle(links.begin(), links.end(), random_);
    links.resize(1 + below(links.size()));
    system.routes[flow] = links;
    system.ceilings[flow] = unit_ * static_cast<std::int64_t>(1 + below(below(2) == 0 ? 3 : 12));
  }
  System system;

 private:
  std::mt19937_64 random_;
  std::int64_t unit_;
};

/// Rate of every existing flow; 0 for others.
std::vector<std::int64_t> rates_of(const System& system, const MaxMin& solver) {
  std::vector<std::int64_t> rates(system.routes.size());
  for (std::size_t f = 0; f < rates.size(); ++f)
    if (!system.routes[f].empty()) rates[f] = solver.rate(static_cast<MaxMin::FlowId>(f));
  return rates;
}

/// Adds and removes flows. `check` sees the system after each settling. Each settling reports
/// exactly the flows whose rate changed, each once. A new flow had none.
template <typename Check>
void live_through(RandomSystem world, const Check& check) {
  System& system = world.system;
  MaxMin solver(system.capacities);
  std::vector<std::int64_t> before(system.routes.size());
  for (int change = 0; change < 10; ++change) {
    for (std::size_t batch = 1 + world.below(3); batch-- > 0;) {
      const std::size_t flow = world.below(system.routes.size());
      if (!system.routes[flow].empty()) {
        solver.remove(static_cast<MaxMin::FlowId>(flow));
        system.routes[flow].clear();
        before[flow] = 0;
      } else {
        world.draw_flow(flow);
        // The route must not move while the flow exists.
        solver.add(static_cast<MaxMin::FlowId>(flow), system.routes[flow], system.ceilings[flow]);
      }
    }
    const std::span<const MaxMin::FlowId> reported = solver.settle();
    REQUIRE(solver.settled());
    std::vector<std::int64_t> after = rates_of(system, solver);
    std::vector<int> times(after.size());
    for (const MaxMin::FlowId flow : reported) ++times[flow];
    for (std::size_t f = 0; f < after.size(); ++f)
      REQUIRE(times[f] == (after[f] != before[f] ? 1 : 0));
    before = std::move(after);
    check(system, solver);
  }
}

std::int64_t load(const System& system, const MaxMin& solver, LinkId link) {
  std::int64_t sum = 0;
  for (std::size_t f = 0; f < system.routes.size(); ++f)
    if (std::count(system.routes[f].begin(), system.routes[f].end(), link) > 0)
      sum += solver.rate(static_cast<MaxMin::FlowId>(f));
  return sum;
}

}  // namespace

TEST_CASE("max-min: random systems have exactly the rates of the textbook") {
  // Shares of up to six flows are whole multiples of 1/lcm(1..9), so nothing is rounded.
  constexpr std::int64_t kUnit = 2520;
  std::size_t systems = 0;
  for (std::uint64_t seed = 1; seed <= 10'000; ++seed) {
    INFO("seed ", seed);
    live_through(RandomSystem(seed, kUnit), [&](const System& system, const MaxMin& solver) {
      const std::vector<Fraction> expected = brute_force(system);
      bool equal = true;
      for (std::size_t f = 0; f < expected.size(); ++f)
        equal = equal && (system.routes[f].empty() ||
                          expected[f] == Fraction(solver.rate(static_cast<MaxMin::FlowId>(f))));
      for (LinkId link = 0; link < system.capacities.size(); ++link)
        equal = equal && load(system, solver, link) <= system.capacities[link];
      REQUIRE(equal);
      ++systems;
    });
  }
  CHECK(systems == 100'000);
}

TEST_CASE(
    "max-min: with awkward capacities no link is overfull, and every flow stops for a reason") {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    INFO("seed ", seed);
    live_through(RandomSystem(seed, 1'000'003), [&](const System& system, const MaxMin& solver) {
      for (LinkId link = 0; link < system.capacities.size(); ++link)
        REQUIRE(load(system, solver, link) <= system.capacities[link]);
      for (std::size_t f = 0; f < system.routes.size(); ++f) {
        if (system.routes[f].empty()) continue;
        const std::int64_t rate = solver.rate(static_cast<MaxMin::FlowId>(f));
        REQUIRE(rate <= system.ceilings[f]);
        if (rate == system.ceilings[f]) continue;
        // Some link is full, except for less than one byte per second and flow. No flow on it has
        // more, except for what rounding down left.
        const bool held =
            std::any_of(system.routes[f].begin(), system.routes[f].end(), [&](LinkId link) {
              std::int64_t flows = 0;
              std::int64_t most = 0;
              for (std::size_t g = 0; g < system.routes.size(); ++g)
                if (std::count(system.routes[g].begin(), system.routes[g].end(), link) > 0) {
                  ++flows;
                  most = std::max(most, solver.rate(static_cast<MaxMin::FlowId>(g)));
                }
              return load(system, solver, link) + flows > system.capacities[link] && most <= rate;
            });
        REQUIRE(held);
      }
    });
  }
}

TEST_CASE("max-min: the example of every textbook") {
  // Three flows share 12. One of them passes a second link that it shares with two more.
  const std::vector<std::vector<LinkId>> routes{{0}, {0}, {0, 1}, {1}, {1}};
  MaxMin solver({12, 9});
  for (MaxMin::FlowId f = 0; f < routes.size(); ++f) solver.add(f, routes[f], 100);
  solver.settle();
  CHECK(solver.rate(2) == 3);  // a third of 9
  CHECK(solver.rate(3) == 3);
  CHECK(solver.rate(0) == 4);  // (12 - 3) / 2, rounded down
  CHECK(solver.rate(1) == 4);

  solver.remove(2);
  solver.settle();
  CHECK(solver.rate(0) == 6);
  CHECK(solver.rate(3) == 4);
}

TEST_CASE("max-min: a flow gets a byte per second, however many share a link") {
  const std::vector<LinkId> route{0};
  MaxMin solver({2});
  for (MaxMin::FlowId f = 0; f < 5; ++f) solver.add(f, route, 0);
  CHECK(solver.settle().size() == 5);
  for (MaxMin::FlowId f = 0; f < 5; ++f) CHECK(solver.rate(f) == 1);
  for (MaxMin::FlowId f = 1; f < 5; ++f) solver.remove(f);
  CHECK(solver.settle().empty());
  CHECK(solver.rate(0) == 1);  // its ceiling
}

TEST_CASE("max-min: flows that do not meet are not affected") {
  const std::vector<LinkId> left{0};
  const std::vector<LinkId> right{1};
  MaxMin solver({10, 10});
  solver.add(0, left, 8);
  solver.add(1, left, 8);
  solver.add(2, right, 8);
  solver.add(3, right, 8);
  CHECK(solver.settle().size() == 4);
  solver.remove(1);
  const auto changed = solver.settle();
  REQUIRE(changed.size() == 1);
  CHECK(changed[0] == 0);
  CHECK(solver.rate(0) == 8);
}
