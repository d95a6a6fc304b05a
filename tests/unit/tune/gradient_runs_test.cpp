#include "gradient_runs.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "bucketing_search.hpp"
#include "random_chain.hpp"

using namespace ddpsim;

namespace {

/// Two dtypes, two devices, a sparse gradient and empty ones among the others.
Workload mixed(std::mt19937_64& random) {
  Workload workload = small::random_chain(random, 1 + static_cast<int>(small::draw(random, 40)));
  for (Parameter& parameter : workload.parameters) {
    if (small::draw(random, 3) == 0) parameter.dtype = Dtype::float16;
    if (small::draw(random, 5) == 0) parameter.device = "cuda:1";
    if (small::draw(random, 9) == 0) parameter.sparse_gradient = true;
    if (small::draw(random, 9) == 0) parameter.shape = {{0}};
    if (small::draw(random, 9) == 0) parameter.ignored = true;
  }
  return workload;
}

std::optional<Bytes> smallest_closed(const std::vector<Bucket>& buckets, std::size_t from,
                                     std::size_t to) {
  std::optional<Bytes> smallest;
  for (const Bucket& bucket : buckets)
    if (bucket.closed_by == ClosedBy::limit && bucket.limit_index >= from &&
        bucket.limit_index <= to)
      smallest = std::min(smallest.value_or(bucket.bytes), bucket.bytes);
  return smallest;
}

bool alike(const std::vector<Bucket>& a, const std::vector<Bucket>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Bucket& x, const Bucket& y) { return x.parameters == y.parameters; });
}

}  // namespace

TEST_CASE("gradient runs: a cut equals the buckets of PyTorch's rule") {
  std::mt19937_64 random(1);
  int changed = 0;
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    const Workload workload = mixed(random);
    DdpOptions options;
    TorchVersion torch{2, 8};
    if (round % 4 == 0) {  // never rebuilt: by definition
      torch = {1, 8};
      options.find_unused_parameters = true;
    }
    const GradientRuns runs(workload, options, torch);
    std::vector<Bucket> before;
    Cut cut_before;
    for (int k = 0; k < 20; ++k) {
      const std::vector<Bytes> limits = {Bytes(small::draw(random, 1 << 20)),
                                         Bytes(small::draw(random, 8 << 20))};
      const std::vector<Bucket> buckets = buckets_under(workload, options, torch, limits);
      const Cut cut = runs.cut(limits, {.from = 1});
      CHECK(runs.buckets(cut) == buckets.size());
      CHECK(cut.smallest_closed == smallest_closed(buckets, 1, 1));
      CHECK(runs.cut(limits).smallest_closed == smallest_closed(buckets, 0, 1));
      CHECK(runs.cut(limits, {.from = 0, .only = true}).smallest_closed ==
            smallest_closed(buckets, 0, 0));
      if (k > 0) CHECK(cut.same_buckets(cut_before) == alike(buckets, before));
      if (k > 0 && !alike(buckets, before)) ++changed;
      before = buckets;
      cut_before = cut;
    }
  }
  CHECK(changed > 1000);
}

TEST_CASE("gradient runs: limits beyond all bytes, and none at all") {
  std::mt19937_64 random(2);
  const Workload workload = small::random_chain(random, 5);
  const GradientRuns runs(workload, {}, {});
  const std::vector<Bytes> open = {Bytes::max()};
  CHECK(runs.cut(open).ends == std::vector<std::size_t>{5});
  CHECK_FALSE(runs.cut(open).smallest_closed);
  const std::vector<Bytes> none = {Bytes()};
  CHECK(runs.cut(none).ends == std::vector<std::size_t>{1, 2, 3, 4, 5});
}
