#include "ddpsim/sim/values/progress.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "ddpsim/sim/simulate/simulate.hpp"
#include "random_chain.hpp"

using namespace ddpsim;

namespace {

class StopsAfter : public Progress {
 public:
  explicit StopsAfter(std::size_t most) : most_(most) {}
  bool go_on(std::size_t done, std::size_t total) override {
    heard.push_back(done);
    CHECK(total == 12);
    return done < most_;
  }
  std::vector<std::size_t> heard;

 private:
  std::size_t most_;
};

Job jittered(int iterations) {
  std::mt19937_64 random(1);
  SimulationOptions options;
  options.torch = {2, 8};
  options.iterations = iterations;
  options.variation.jitter = 0.05;
  return Job(small::random_chain(random, 40), small::node(8), options, AnalyticModel{});
}

void check_alike(const SimulationResult& one, const SimulationResult& other) {
  REQUIRE(one.iterations.size() == other.iterations.size());
  for (std::size_t i = 0; i < one.iterations.size(); ++i)
    CHECK(one.iterations[i].times.iteration == other.iterations[i].times.iteration);
  CHECK(one.step.times.iteration == other.step.times.iteration);
  REQUIRE(one.timeline.ranks.size() == other.timeline.ranks.size());
  for (std::size_t r = 0; r < one.timeline.ranks.size(); ++r) {
    const std::vector<Span>& spans = one.timeline.ranks[r].spans;
    REQUIRE(spans.size() == other.timeline.ranks[r].spans.size());
    for (std::size_t s = 0; s < spans.size(); ++s) {
      CHECK(spans[s].name == other.timeline.ranks[r].spans[s].name);
      CHECK(spans[s].end == other.timeline.ranks[r].spans[s].end);
    }
  }
}

}  // namespace

TEST_CASE("progress: stopping after five of twelve iterations gives the result of five") {
  StopsAfter progress(5);
  const SimulationResult stopped = simulate(jittered(12), &progress);
  CHECK(progress.heard == std::vector<std::size_t>{1, 2, 3, 4, 5});
  check_alike(stopped, simulate(jittered(5)));
}

TEST_CASE(
    "progress: a listener that never stops changes nothing and is not called after the last "
    "iteration") {
  StopsAfter progress(100);
  const SimulationResult watched = simulate(jittered(12), &progress);
  CHECK(progress.heard.size() == 11);
  check_alike(watched, simulate(jittered(12)));
}

TEST_CASE("iterations: ranks that compute in intervals end when they would gradient by gradient") {
  // All iterations but the last are written in intervals. If one more follows, an iteration is
  // written in intervals, too.
  const SimulationResult fine = simulate(jittered(6));
  const SimulationResult coarse = simulate(jittered(7));
  const Duration one = fine.step.times.iteration;
  const Duration other = coarse.iterations[5].times.iteration;
  // An interval is rounded once, its gradients each.
  CHECK(std::max(one - other, other - one) < Duration::picoseconds(400));
}
