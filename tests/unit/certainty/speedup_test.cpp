// Two clusters share the errors of what they have in common. A dominating cluster is never slower
// while NCCL chooses the same.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "alpha_beta.hpp"
#include "ddpsim/sim/compare/compare.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/values/split_mix.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "dominance.hpp"
#include "shared_errors.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

Cluster line(const std::string& text) {
  return load_cluster({.text = text, .nodes = {}, .gpus_per_node = {}});
}

/// Two nodes of eight GPUs, described by a text.
std::string two_nodes(const std::string& network, const std::string& gpu = "A100",
                      const std::string& links = "nvswitch:300GBps") {
  return "node:2 gpu:8x" + gpu + " " + links + " " + network;
}

/// Six buckets of 16 MiB during 10 ms of compute.
Job on(const std::string& text) {
  std::vector<small::Gradient> gradients;
  for (int k = 1; k <= 6; ++k) gradients.push_back({16 << 20, 1000.0 * k});
  return Job(small::chain(gradients, 4000, 6000), line(text), {},
             AnalyticModel{.tuning = {.nccl = {2, 20, 5}}});
}

Speedup speedup_between(const Job& one, const Job& other) {
  const Comparison comparison = compare({one, other}, {.threads = 1});
  return comparison.jobs[comparison.by_speed.back()].behind;
}

}  // namespace

TEST_CASE("speedup: kinship depends on the hardware, not on its name") {
  const auto kin = [](const std::string& a, const std::string& b) {
    return kinship(line(a), line(b));
  };
  const std::string four = two_nodes("nic:4x200Gbps:ib");
  Cluster renamed = line(four);
  renamed.name = "pod";
  CHECK(kinship(line(four), renamed) == Kinship::same_nodes);
  CHECK(kin(four, "node:16 gpu:8xA100 nvswitch:300GBps nic:4x200Gbps:ib") == Kinship::same_nodes);
  CHECK(kin(four, two_nodes("nic:8x200Gbps:ib")) == Kinship::same_kind);
  CHECK(kin(four, two_nodes("nic:4x400Gbps:ib")) == Kinship::same_kind);
  CHECK(kin(four, two_nodes("nic:4x200Gbps:ib", "A100", "nvswitch:200GBps")) == Kinship::same_kind);
  CHECK(kin(four, "node:2 gpu:4xA100 nvswitch:300GBps nic:4x200Gbps:ib") == Kinship::same_kind);
  CHECK(kin(four, two_nodes("nic:4x200Gbps:roce")) == Kinship::none);
  CHECK(kin(four, two_nodes("nic:4x200Gbps:ib", "H100")) == Kinship::none);
  CHECK(kin(four, "node:1 gpu:8xA100 nvswitch:300GBps") == Kinship::none);
  CHECK(kin("node:1 gpu:8xA100 nvswitch:300GBps", "node:1 gpu:8xA100 nvswitch:300GBps") ==
        Kinship::same_nodes);
}

TEST_CASE("speedup: clusters calibrated by other logs share no error of collectives") {
  Cluster one = line(two_nodes("nic:4x200Gbps:ib"));
  Cluster other = one;
  Calibration calibration;
  calibration.shapes = {{.nodes = 2, .gpus_per_node = 8, .source = "a.txt"}};
  one.calibration = std::make_shared<const Calibration>(calibration);
  CHECK_FALSE(have_same_calibration(one, other));
  other.calibration = std::make_shared<const Calibration>(calibration);
  CHECK(have_same_calibration(one, other));
  calibration.shapes.front().source = "b.txt";
  other.calibration = std::make_shared<const Calibration>(calibration);
  CHECK_FALSE(have_same_calibration(one, other));
  CHECK_FALSE(is_dominated_by(one, other));
}

TEST_CASE("speedup: a variant with more memory dominates, and one with less does not") {
  const auto of = [](const char* gpu) {
    return line(two_nodes("nic:4x200Gbps:ib latency:2us oversubscription:2", gpu));
  };
  CHECK(is_dominated_by(of("A100-40GB"), of("A100-80GB")));
  CHECK_FALSE(is_dominated_by(of("A100-80GB"), of("A100-40GB")));
  CHECK(is_dominated_by(of("V100-16GB"), of("V100-32GB")));
  CHECK_FALSE(is_dominated_by(of("V100-32GB"), of("V100-16GB")));
  CHECK(is_dominated_by(of("A100"), of("A100-80GB")));
}

TEST_CASE("speedup: a dominating cluster is nowhere worse") {
  const Cluster four = line(two_nodes("nic:4x200Gbps:ib latency:2us oversubscription:2"));
  const auto upgrades = [&](const std::string& words) {
    return is_dominated_by(four, line(two_nodes(words)));
  };
  CHECK(is_dominated_by(four, four));
  CHECK(upgrades("nic:8x200Gbps:ib latency:2us oversubscription:2"));
  CHECK(upgrades("nic:4x400Gbps:ib latency:2us oversubscription:2"));
  CHECK(upgrades("nic:4x200Gbps:ib latency:1us oversubscription:2"));
  CHECK(upgrades("nic:4x200Gbps:ib latency:2us oversubscription:1"));
  CHECK_FALSE(upgrades("nic:2x400Gbps:ib latency:2us oversubscription:2"));
  CHECK_FALSE(upgrades("nic:4x100Gbps:ib latency:1us oversubscription:1"));
  CHECK_FALSE(upgrades("nic:8x200Gbps:ib latency:3us oversubscription:2"));
  CHECK_FALSE(upgrades("nic:8x200Gbps:ib latency:2us oversubscription:3"));
  CHECK_FALSE(upgrades("nic:8x200Gbps:ib oversubscription:2"));  // latency not stated
  CHECK_FALSE(upgrades("nic:8x200Gbps:roce latency:2us oversubscription:2"));
  CHECK_FALSE(
      is_dominated_by(four, line(two_nodes("nic:4x200Gbps:ib latency:2us oversubscription:2",
                                           "A100", "nvswitch:200GBps"))));
  CHECK_FALSE(
      is_dominated_by(four, line("node:4 gpu:8xA100 nvswitch:300GBps nic:4x200Gbps:ib latency:2us "
                                 "oversubscription:2")));
}

TEST_CASE("speedup: the same two clusters give the same speedup, whatever they are called") {
  const Job slow = on(two_nodes("nic:1x100Gbps:ib"));
  const Job fast = on(two_nodes("nic:2x100Gbps:ib"));
  Cluster renamed = fast.cluster();
  renamed.name = "pod B";
  const Job other(fast.workload(), renamed, fast.options(), fast.model());
  const Speedup one = speedup_between(slow, fast);
  const Speedup two = speedup_between(slow, other);
  CHECK(one.percent == two.percent);
  CHECK(one.low_percent == two.low_percent);
  CHECK(one.high_percent == two.high_percent);
  CHECK(one.percent > 1);
}

TEST_CASE("speedup: A against B mirrors B against A") {
  const Job slow = on(two_nodes("nic:1x100Gbps:ib"));
  const Job fast = on(two_nodes("nic:4x100Gbps:roce", "H100"));
  const Speedup one = speedup_between(slow, fast);
  const Speedup other = speedup_between(fast, slow);
  CHECK(one.percent == other.percent);
  CHECK(one.low_percent == other.low_percent);
  CHECK(one.high_percent == other.high_percent);
}

TEST_CASE("speedup: candidates that differ only by name are equally fast for certain") {
  const Job one = on(two_nodes("nic:1x100Gbps:ib"));
  Cluster renamed = one.cluster();
  renamed.name = "another";
  const Speedup speedup =
      speedup_between(one, Job(one.workload(), renamed, one.options(), one.model()));
  CHECK(speedup.same);
  CHECK(speedup.low_percent == 0);
  CHECK(speedup.high_percent == 0);
  CHECK(speedup.sources.empty());
}

TEST_CASE("speedup: sources come widest first and together give the interval") {
  const Speedup speedup = speedup_between(on(two_nodes("nic:1x100Gbps:ib")),
                                          on(two_nodes("nic:1x100Gbps:roce", "H100")));
  REQUIRE(speedup.sources.size() > 2);
  double low = 0;
  double high = 0;
  double width = speedup.sources.front().high_percent - speedup.sources.front().low_percent;
  for (const SpeedupSource& source : speedup.sources) {
    CHECK(source.low_percent <= speedup.percent);
    CHECK(source.high_percent >= speedup.percent);
    CHECK(source.high_percent - source.low_percent <= width);
    width = source.high_percent - source.low_percent;
    low += std::pow(speedup.percent - source.low_percent, 2);
    high += std::pow(source.high_percent - speedup.percent, 2);
  }
  CHECK(speedup.percent - std::sqrt(low) == doctest::Approx(speedup.low_percent).epsilon(1e-6));
  CHECK(speedup.percent + std::sqrt(high) == doctest::Approx(speedup.high_percent).epsilon(1e-6));
}

TEST_CASE("speedup: times of several workloads add up") {
  const Job a = on(two_nodes("nic:1x100Gbps:ib"));
  const Job b = on(two_nodes("nic:4x100Gbps:ib"));
  const Comparison comparison = compare({a, b}, {.threads = 1});
  const WorkTime& slow = *comparison.jobs[0].work;
  const WorkTime& fast = *comparison.jobs[1].work;
  const WorkTime same = together(std::array{slow, slow}, std::array{0.25, 0.75});
  CHECK(same.expected == doctest::Approx(slow.expected));
  const Speedup of_both = speedup(together(std::array{fast, fast}, std::array{0.25, 0.75}), same);
  CHECK(of_both.percent == doctest::Approx(speedup(fast, slow).percent));
  CHECK(of_both.low_percent == doctest::Approx(speedup(fast, slow).low_percent));
  const WorkTime mixed = together(std::array{slow, fast}, std::array{1.0, 2.0});
  CHECK(mixed.expected == doctest::Approx(slow.expected + 2 * fast.expected));
  CHECK(mixed.jobs.size() == 2);
}

TEST_CASE("speedup: errors of a recording are per workload, errors of a cluster are shared") {
  const Job job = on(two_nodes("nic:1x100Gbps:ib"));
  const auto moved = [&](ErrorSource source, double by) {
    return WorkTime{.jobs = {job}, .expected = 1, .moved = {{source, 1 - by, 1 + by}}};
  };
  const auto half = [&](ErrorSource source) {
    const WorkTime one = moved(source, 0.2);
    return range_of(together(std::array{one, one}, std::array{0.5, 0.5}));
  };
  const double noise = 0.005;
  // On one cluster both err by 20 % together. Two recordings each err by 10 % of the whole,
  // independently.
  CHECK(half(ErrorSource::bandwidth).high ==
        doctest::Approx(1 + std::hypot(0.2, noise)).epsilon(1e-6));
  CHECK(half(ErrorSource::replay_residual).high ==
        doctest::Approx(1 + std::hypot(0.2 / std::sqrt(2), noise)).epsilon(1e-6));
}

TEST_CASE("speedup: a mix of measured and predicted workloads is not called never slower") {
  const auto works = [](const std::string& text, bool measured) {
    const Job job = on(text);
    const MeasuredStep step{simulate_times(job).iteration.scaled(1.02)};
    const Comparison compared =
        compare({job}, {.threads = 1, .measured = {measured ? std::optional(step) : std::nullopt}});
    return *compared.jobs.front().work;
  };
  const std::string slow = two_nodes("nic:4x100Gbps:ib latency:5us");
  const std::string fast = two_nodes("nic:4x100Gbps:ib latency:4us");
  const auto mixed = [&](const std::string& text, bool measured) {
    return together(std::array{works(text, measured), works(text, false)}, std::array{1.0, 1.0});
  };
  CHECK(speedup(mixed(fast, false), mixed(slow, false)).never_slower);
  CHECK_FALSE(speedup(mixed(fast, false), mixed(slow, true)).never_slower);
}

namespace {

/// Random descriptions of clusters of A100s, drawn from one seed.
class RandomClusters {
 public:
  struct Words {
    int nodes;
    int gpus;
    int nics;
    int rate;
    int latency;
    int oversubscription;
    int links;
    std::string kind = "ib";

    std::string text() const {
      std::string words = "node:" + std::to_string(nodes) + " gpu:" + std::to_string(gpus) +
                          "xA100 nvswitch:" + std::to_string(links) + "GBps";
      if (nodes > 1)
        words += " nic:" + std::to_string(nics) + "x" + std::to_string(rate) + "Gbps:" + kind +
                 " latency:" + std::to_string(latency) +
                 "us oversubscription:" + std::to_string(oversubscription);
      return words;
    }
  };

  Words any() {
    return {.nodes = pick(std::array{1, 2, 3, 4, 8, 16, 32}),
            .gpus = pick(std::array{2, 4, 8}),
            .nics = pick(std::array{1, 2, 4}),
            .rate = pick(std::array{25, 100, 200}),
            .latency = pick(std::array{2, 5, 20}),
            .oversubscription = pick(std::array{1, 2, 4}),
            .links = pick(std::array{150, 300})};
  }

  /// Increases some values and decreases none.
  Words upgraded(Words words) {
    words.nics *= pick(std::array{1, 2});
    words.rate *= pick(std::array{1, 2, 4});
    words.latency -= pick(std::array{0, 1});
    words.oversubscription = pick(std::array{1, words.oversubscription});
    words.links *= pick(std::array{1, 2});
    return words;
  }

  template <typename T, std::size_t n>
  T pick(const std::array<T, n>& from) {
    return from[next_random(state_) % n];
  }

 private:
  std::uint64_t state_ = 19;
};

}  // namespace

TEST_CASE("speedup: random dominating clusters are never slower with the same choice") {
  RandomClusters random;
  constexpr int kDominating = 10'000;
  int flipped = 0;
  std::vector<std::string> slower;
  for (int k = 0; k < kDominating; ++k) {
    const RandomClusters::Words words = random.any();
    const Job from = on(words.text());
    const Job to = on(random.upgraded(words).text());
    REQUIRE(is_dominated_by(from.cluster(), to.cluster()));
    const Duration before = simulate_times(from).iteration;
    const Duration after = simulate_times(to).iteration;
    const auto choice = other_choice(from, to);
    flipped += choice ? 1 : 0;
    if (after <= before) continue;
    slower.push_back(from.cluster().name + " -> " + to.cluster().name);
    CAPTURE(slower.back());
    CHECK(choice);  // otherwise the same choice makes it slower
  }
  std::string list;
  for (const std::string& pair : slower) list += "\n  " + pair;
  MESSAGE(kDominating << " upgrades, of " << flipped << " NCCL chooses otherwise; " << slower.size()
                      << " of these are slower:" << list);
}

TEST_CASE("speedup: random pairs agree in both orders, and differ not at all from themselves") {
  RandomClusters random;
  for (int k = 0; k < 100; ++k) {
    RandomClusters::Words words = random.any();
    words.kind = random.pick(std::array<std::string, 3>{"ib", "roce", "tcp"});
    const Job one = on(words.text());
    const Job other = on(random.any().text());
    const Speedup ahead = speedup_between(one, other);
    const Speedup mirrored = speedup_between(other, one);
    CAPTURE(one.cluster().name);
    CAPTURE(other.cluster().name);
    CHECK(ahead.percent == mirrored.percent);
    CHECK(ahead.low_percent == mirrored.low_percent);
    CHECK(ahead.high_percent == mirrored.high_percent);
    CHECK(ahead.same == mirrored.same);
    CHECK(ahead.never_slower == mirrored.never_slower);
    Cluster renamed = one.cluster();
    renamed.name = "another";
    const Speedup itself =
        speedup_between(one, Job(one.workload(), renamed, one.options(), one.model()));
    CHECK(itself.same);
    CHECK(itself.high_percent == 0);
  }
}
