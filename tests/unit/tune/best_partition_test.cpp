#include "best_partition.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "alpha_beta.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

using BucketSizes = std::vector<std::size_t>;

/// T(k) = 500 + 100 k: [1] [3] [2] are sent from 1000 to 1600, 2150 to 2950 and 3000 to 3700.
small::OpenJob one_three_two() {
  return {.workload = small::mib_layers({1000, 2050, 2100, 2150, 2950, 3000}, 1000),
          .model = small::alpha_beta(500, 100)};
}

std::vector<Bucket> best(const small::OpenJob& job) {
  return best_partition(Job(job.workload, job.cluster, job.options, job.model));
}

}  // namespace

TEST_CASE("best partition: every bucket is as large as the time before the next one can hide") {
  const std::vector<Bucket> cut = best(one_three_two());
  CHECK(small::members(cut) == BucketSizes{1, 3, 2});
  // Ready order is the reverse of the definition's.
  CHECK(cut[0].parameters == BucketSizes{5});
  CHECK(cut[1].parameters == BucketSizes{4, 3, 2});
  CHECK(cut[2].parameters == BucketSizes{1, 0});
  CHECK(cut[1].bytes == 3_MiB);
  CHECK(cut[1].limit == 3_MiB);  // as in bucket_cap_mb_list
  for (std::size_t b = 0; b < cut.size(); ++b) CHECK(cut[b].limit_index == b);
  CHECK(cut[0].closed_by == ClosedBy::limit);
  CHECK(cut[1].closed_by == ClosedBy::limit);
  CHECK(cut[2].closed_by == ClosedBy::end);
  CHECK(cut[0].dtype == Dtype::float32);
}

TEST_CASE("best partition: it is for the steady step, whatever the first iterations do") {
  // In the first iteration with static_graph, all buckets are launched after backward, where a
  // single one would be best.
  small::OpenJob job = one_three_two();
  job.options.ddp_to_set().static_graph = true;
  job.options.iterations = 1;
  CHECK(small::members(best(job)) == BucketSizes{1, 3, 2});
}

TEST_CASE("best partition: among equally good cuts, the one with the smallest buckets") {
  // Hidden except for the last bucket: any cut before it ends at 3000 + T(1).
  const small::OpenJob job{.workload = small::mib_layers({1000, 2000, 3000}, 0),
                           .model = small::alpha_beta(0, 100)};
  CHECK(small::members(best(job)) == BucketSizes{1, 1, 1});
  // If buckets queue and starting costs nothing, any cut ends at 100 + T(3).
  const small::OpenJob queued{.workload = small::mib_layers({100, 200, 300}, 0),
                              .model = small::alpha_beta(0, 1000)};
  CHECK(small::members(best(queued)) == BucketSizes{1, 1, 1});
}

TEST_CASE("best partition: one bucket if starting dominates, one each if bytes do") {
  const auto cut = [](double start_us, double mib_us) {
    return small::members(best({.workload = small::mib_layers({100, 200, 300}, 0),
                                .model = small::alpha_beta(start_us, mib_us)}));
  };
  // 300 + 1300; two buckets take at least 100 + 2000 + 300.
  CHECK(cut(1000, 100) == BucketSizes{3});
  CHECK(cut(0, 100) == BucketSizes{1, 1, 1});  // 100 + 300
  // 100 + T(1) + T(2) = 400 + 2a against 300 + T(3) = 600 + a: a start of 200 decides.
  CHECK(cut(199, 100) == BucketSizes{1, 2});
  CHECK(cut(201, 100) == BucketSizes{3});
}

TEST_CASE("best partition: bytes on the wire count") {
  // Cast to 16 bits, T(k) = 500 + 50 k: again [1] [3] [2], 3000 + 600. As [5] [1] it is 2950 + 750
  // + 550, as [3] [3] 3000 + 650.
  small::OpenJob job = one_three_two();
  job.options.ddp_to_set().comm_hook = CommHook::fp16_compress;
  const Duration half = job.tune().best_partition->iteration;
  CHECK(half == 4600_us);
  job.options.ddp_to_set().comm_hook = CommHook::none;
  CHECK(job.tune().best_partition->iteration == 4700_us);
}

TEST_CASE("best partition: with more gradients than places to cut, each still has a bucket") {
  // Empty parameters come last, so all bytes are ready before the last place.
  for (const std::size_t empty : {0u, 1u, 90u}) {
    CAPTURE(empty);
    std::vector<small::Gradient> gradients;
    for (std::size_t k = 0; k < 700; ++k)
      gradients.push_back({k + empty < 700 ? 4096 : 0, static_cast<double>(k + 1)});
    const small::OpenJob job{.workload = small::chain(gradients, 0, 700),
                             .model = small::alpha_beta(1, 100)};
    std::vector<std::size_t> held;
    const std::vector<Bucket> cut = best(job);
    for (const Bucket& bucket : cut)
      held.insert(held.end(), bucket.parameters.begin(), bucket.parameters.end());
    REQUIRE(held.size() == 700);
    for (std::size_t k = 0; k < held.size(); ++k) REQUIRE(held[k] == 699 - k);
    CHECK(cut.size() > 1);
    CHECK(cut.size() <= 513);
  }
}

TEST_CASE("best partition: absent with a reason if gradients cannot share buckets") {
  Workload workload = small::mib_layers({100, 200, 300}, 0);
  CHECK_FALSE(no_partition_because(workload));
  CHECK_FALSE(no_partition_because(workload, CommHook::fp16_compress));
  CHECK(no_partition_because(workload, CommHook::power_sgd) ==
        "powerSGD_hook stops backward at every bucket: nothing overlaps");
  Workload sparse = workload;
  sparse.parameters[2].sparse_gradient = true;
  CHECK(no_partition_because(sparse) == "each sparse gradient has a bucket of its own");
  Workload half = workload;
  half.parameters[2].dtype = Dtype::float16;
  const std::string several = "gradients of several dtypes or devices never share a bucket";
  CHECK(no_partition_because(half) == several);
  Workload elsewhere = workload;
  elsewhere.parameters[1].device = "cuda:1";
  CHECK(no_partition_because(elsewhere) == several);
  // Parameters that DDP ignores do not count, even the first of the list.
  for (Workload* other : {&sparse, &half}) {
    other->parameters[2].ignored = true;
    CHECK_FALSE(no_partition_because(*other));
  }
  half.parameters[2].ignored = false;
  half.parameters[0].ignored = half.parameters[1].ignored = true;
  CHECK_FALSE(no_partition_because(half));
}

TEST_CASE("best partition: with more gradients than places, the places divide the bytes evenly") {
  // Nothing waits, so buckets are as small as places allow: bucket b ends at b + 1 of 512 parts of
  // the bytes.
  for (const std::size_t count : {513U, 700U, 1024U}) {
    CAPTURE(count);
    std::vector<small::Gradient> gradients;
    for (std::size_t k = 0; k < count; ++k)
      gradients.push_back({4096, 1000 * static_cast<double>(k + 1)});
    const std::vector<Bucket> cut =
        best({.workload = small::chain(gradients, 0, 1000 * static_cast<double>(count)),
              .model = small::alpha_beta(0, 100)});
    REQUIRE(cut.size() == 512);
    std::size_t end = 0;
    for (std::size_t b = 0; b < cut.size(); ++b) {
      end += cut[b].parameters.size();
      REQUIRE(end == ((b + 1) * count + 511) / 512);
    }
  }
}

TEST_CASE("best partition: the first gradient counts with its bytes") {
  // T(k) = 300 + 100 k. [1] [2]: 700 and 500 more; [1] [1] [1] ends at 1500, [2] [1] at 1300, [3] at 1500.
  const small::OpenJob job{
      .workload = small::chain({{4 << 20, 0}, {1 << 20, 100}, {1 << 20, 600}}, 0, 600),
      .model = small::alpha_beta(300, 100)};
  CHECK(small::members(best(job)) == BucketSizes{1, 2});
}
