#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "bucketing_search.hpp"
#include "ddpsim/models/catalogue.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/tune/tune.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

/// ResNet-18 with made-up times: enough structure for hundreds of bucketings.
Workload resnet18() {
  const Model model = *find_model("resnet18");
  Workload workload;
  workload.name = "resnet18";
  workload.parameters = model.parameters;
  workload.forward = 10_ms;
  workload.optimizer = 1_ms;
  workload.backward = Backward{.duration = 20_ms, .ready = {}};
  for (std::size_t k = 0; k < model.ready_order.size(); ++k)
    workload.backward->ready.push_back(
        {.parameter = model.ready_order[k],
         .at = Duration::microseconds(320.0 * static_cast<double>(k + 1)),
         .copied_at = {}});
  return workload;
}

struct Setup {
  Workload workload = resnet18();
  Cluster cluster;
  CollectiveModel model;
  SimulationOptions options;
  explicit Setup(double gigabytes_per_second) : cluster(small::node(8, gigabytes_per_second)) {
    model = AnalyticModel{};
  }
  TuneResult tune(TuneOptions tuning = {}) const {
    return ddpsim::tune(Job(workload, cluster, options, model), tuning);
  }
};

}  // namespace

TEST_CASE("tune: the search finds exactly the bucketings that brute force over caps finds") {
  const Workload workload = resnet18();
  for (const TorchVersion torch : {TorchVersion{1, 5}, TorchVersion{1, 8}, TorchVersion{2, 8}}) {
    CAPTURE(torch.minor);
    DdpOptions options;
    std::set<std::vector<std::vector<std::size_t>>> searched;
    for (const Bucketing& bucketing : search_bucketings(workload, options, torch, {}).found)
      if (bucketing.point.bucket_cap_mb)
        CHECK(searched
                  .insert(small::parameters_of(
                      buckets_under(workload, options, torch, bucketing.limits)))
                  .second);  // each once
    std::set<std::vector<std::vector<std::size_t>>> tried;
    for (std::int64_t bytes = 0; bytes < 48'000'000; bytes += 4096) {
      options.bucket_cap_mb = static_cast<double>(bytes) / 1048576;
      tried.insert(small::parameters_of(steady_buckets(workload, options, torch)));
    }
    CHECK(std::includes(searched.begin(), searched.end(), tried.begin(), tried.end()));
    // Every found bucketing results from a cap: the ends of each range reproduce it.
    for (const Bucketing& bucketing : search_bucketings(workload, {}, torch, {}).found) {
      if (!bucketing.point.bucket_cap_mb) continue;
      for (const double cap :
           {bucketing.point.cap_range_mb.first, bucketing.point.cap_range_mb.second}) {
        options.bucket_cap_mb = cap;
        CHECK(small::parameters_of(steady_buckets(workload, options, torch)) ==
              small::parameters_of(buckets_under(workload, options, torch, bucketing.limits)));
      }
    }
  }
}

TEST_CASE("tune: its curve agrees with brute force over 1000 caps to the picosecond") {
  const Setup setup(2);
  const TuneResult result = setup.tune();
  int compared = 0;
  for (int i = 0; i < 1000; ++i) {
    const double cap = 0.05 * i;
    SimulationOptions options = setup.options;
    options.ddp_to_set().bucket_cap_mb = cap;
    const Duration brute =
        simulate(Job(setup.workload, setup.cluster, options, setup.model)).step.times.iteration;
    // PyTorch truncates a cap to whole bytes. Above the last range every cap gives one bucket.
    const double whole = std::floor(cap * 1048576) / 1048576;
    const auto holds = [&](const CurvePoint& point) {
      return point.bucket_cap_mb && point.cap_range_mb.first <= whole &&
             whole <= point.cap_range_mb.second;
    };
    const auto point = std::find_if(result.curve.begin(), result.curve.end(), holds);
    REQUIRE(point != result.curve.end());
    CHECK(point->iteration == brute);
    ++compared;
  }
  CHECK(compared == 1000);
}

TEST_CASE("tune: bounds hold: lower bound <= best partition <= best cap <= default") {
  for (const double rate : {0.5, 2.0, 10.0, 100.0}) {
    CAPTURE(rate);
    const Setup setup(rate);
    const TuneResult result = setup.tune();
    REQUIRE(result.best_partition);
    CHECK(result.lower_bound <= result.best_partition->iteration);
    CHECK(result.best_partition->iteration <= result.best.iteration);
    CHECK(result.best.iteration <= result.default_setting.iteration);
    for (const CurvePoint& point : result.curve) CHECK(result.lower_bound <= point.iteration);
  }
}

TEST_CASE("tune: keeps the default when no gain can be measured, sets a cap otherwise") {
  const TuneResult fast = Setup(300).tune();
  CHECK_FALSE(fast.recommended.set);
  CHECK(fast.recommended.python.empty());
  CHECK_FALSE(fast.recommended.bucket_cap_mb);
  CHECK(fast.recommended.gain.value == Duration());
  CHECK(fast.recommended.cap_range_mb == fast.default_setting.cap_range_mb);
  CHECK(fast.recommended.most_robust);

  // Collectives whose time is only starting: every bucket beyond the first costs, in every
  // scenario.
  Setup slow(300);
  slow.cluster.nodes = 8;
  slow.cluster.gpus_per_node = 1;
  slow.cluster.intra = {};
  slow.cluster.network = {.kind = NetworkKind::tcp,
                          .nics_per_node = 1,
                          .per_nic = Bandwidth::gigabytes_per_second(12.5),
                          .latency = 2_ms,
                          .oversubscription = 1};
  slow.model =
      AnalyticModel{.tuning = {.algorithms = Algorithm::ring, .protocols = Protocol::simple}};
  const TuneResult tuned = slow.tune();
  const Recommendation& verdict = tuned.recommended;
  CHECK(verdict.set);
  CHECK_FALSE(verdict.most_robust);
  const Duration left = tuned.default_setting.iteration - verdict.gain.value - tuned.best.iteration;
  CHECK((verdict.reason.find("with less certainty") != std::string::npos) ==
        (left >= verdict.measurable));
  CHECK(verdict.gain.low > Duration());
  CHECK(verdict.gain.value >= verdict.measurable);
  REQUIRE(verdict.bucket_cap_mb);
  CHECK(*verdict.bucket_cap_mb > 25);
  CHECK(verdict.cap_range_mb.first <= *verdict.bucket_cap_mb);
  CHECK(verdict.cap_range_mb.second >= *verdict.bucket_cap_mb);
  const Duration chosen = tuned.default_setting.iteration - verdict.gain.value;
  for (const CurvePoint& point : tuned.curve) {  // any cap of the range is as good
    if (!point.bucket_cap_mb || point.first_bucket_mb != point.bucket_cap_mb ||
        point.cap_range_mb.first < verdict.cap_range_mb.first ||
        point.cap_range_mb.second > verdict.cap_range_mb.second)
      continue;
    CAPTURE(*point.bucket_cap_mb);
    CHECK(point.iteration <= chosen + verdict.measurable);
    CHECK(chosen <= point.iteration + verdict.measurable);
  }
  CHECK(verdict.python.find("bucket_cap_mb=") != std::string::npos);
}

TEST_CASE("tune: threads change nothing") {
  const Setup setup(3);
  const TuneResult one = setup.tune({.threads = 1});
  const TuneResult four = setup.tune({.threads = 4});
  REQUIRE(one.curve.size() == four.curve.size());
  for (std::size_t i = 0; i < one.curve.size(); ++i)
    CHECK(one.curve[i].iteration == four.curve[i].iteration);
  CHECK(one.recommended.gain.low == four.recommended.gain.low);
  CHECK(one.recommended.reason == four.recommended.reason);
}

TEST_CASE("tune: requested caps are evaluated as they are, and unreachable ones marked") {
  Setup setup(3);
  const TuneResult plain = setup.tune({.caps = {400, 25, 1, 25}});  // sorted, each once
  REQUIRE(plain.curve.size() == 3);
  CHECK(plain.only_caps_asked);
  CHECK(plain.recommended.cap_range_mb.first == plain.recommended.cap_range_mb.second);
  const CurvePoint odd = setup.tune({.caps = {32.04}}).curve.front();  // no whole bytes
  CHECK(odd.bucket_cap_mb == 32.04);
  CHECK(odd.first_bucket_mb == 32.04);
  CHECK(plain.curve[1].bucket_cap_mb == 25);
  CHECK(plain.curve[2].buckets == 1);
  for (const CurvePoint& point : plain.curve) CHECK(point.reachable);

  setup.options.ddp_to_set().first_bucket_mb =
      // With 2.8 a passed cap also changes the first bucket.
      1;
  for (const CurvePoint& point : setup.tune({.caps = {10, 50}}).curve) CHECK_FALSE(point.reachable);
  setup.options.torch = {2, 4};
  for (const CurvePoint& point : setup.tune({.caps = {10, 50}}).curve) CHECK(point.reachable);
}

TEST_CASE("tune: a mixture of dtypes has no contiguous partition, and says why") {
  Setup setup(3);
  setup.workload.parameters[0].dtype = Dtype::float16;
  const TuneResult result = setup.tune();
  CHECK_FALSE(result.best_partition);
  CHECK(result.best_partition_absent_because ==
        "gradients of several dtypes or devices never share a bucket");
}
