// What the recorded job did beside what is predicted for it: times only where they are of the same work,
// buckets always.
#include "ddpsim/sim/recorded_today.hpp"

#include <doctest/doctest.h>

#include "tune_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

/// Six gradients of 1 MiB on two GPUs; the recorded job launched buckets of so many MiB each, which took
/// 500 us a MiB. An all-reduce of k MiB is predicted to take 100 k us.
small::OpenJob recorded(const std::vector<int>& mib) {
  small::OpenJob job{.workload = small::mib_layers({1000, 2000, 3000, 4000, 5000, 6000}, 3400),
                     .model = small::alpha_beta(0, 100)};
  job.workload.gpu = job.cluster.gpu.name = "V100";
  job.workload.recorded_with.world_size = 2;
  for (const int size : mib)
    job.workload.recorded_with.collectives.push_back({.bytes = Bytes(size) * 1048576,
                                                      .launch = {},
                                                      .start = {},
                                                      .duration = 500_us * size,
                                                      .channels = size});
  return job;
}

}  // namespace

TEST_CASE("recorded today: nothing where no all-reduce was recorded") {
  CHECK_FALSE(recorded_today(recorded({})).has_value());
}

TEST_CASE("recorded today: every bucket with its recorded and its predicted time") {
  const RecordedToday today = recorded_today(recorded({1, 5})).value();
  CHECK(today.ranks == 2);
  CHECK(today.channels == 5);
  REQUIRE(today.buckets.size() == 2);
  CHECK(today.buckets[1].bytes == Bytes(5 << 20));
  CHECK(today.buckets[1].median == 2500_us);
  CHECK(today.buckets[1].predicted == 500_us);
  CHECK(today.recorded() == 3_ms);
  CHECK(today.predicted() == 600_us);
  CHECK(today.comparable);
  CHECK(today.same_buckets);  // PyTorch's default: 1 MiB first
  CHECK_FALSE(today.setting);
  CHECK_FALSE(today.asked_otherwise);
}

TEST_CASE("recorded today: times are of the same work on as many GPUs of the same model only") {
  small::OpenJob other = recorded({1, 5});
  other.workload.gpu = "A100";
  CHECK_FALSE(recorded_today(other)->comparable);
  other.workload.gpu = "";  // not known to be another
  CHECK(recorded_today(other)->comparable);
  other.workload.recorded_with.world_size = 4;
  CHECK_FALSE(recorded_today(other)->comparable);
  CHECK(recorded_today(other)->same_buckets);
}

TEST_CASE("recorded today: NCCL's recorded times say nothing of gloo's") {
  small::OpenJob job = recorded({1, 5});
  job.workload.recorded_with.nccl_kernels = 2;
  job.model = AnalyticModel{};
  CHECK(recorded_today(job)->comparable);
  job.model = GlooModel{};
  CHECK_FALSE(recorded_today(job)->comparable);
}

TEST_CASE("recorded today: the cap that gives the recorded buckets is found") {
  const RecordedToday twos = recorded_today(recorded({2, 2, 2})).value();
  CHECK_FALSE(twos.same_buckets);
  REQUIRE(twos.setting);
  CHECK(twos.setting->torch == TorchVersion{2, 8});
  CHECK(twos.setting->bucket_cap_mb == 2);
  CHECK_FALSE(twos.setting->first_bucket_mb);
  const RecordedToday no_cap = recorded_today(recorded({4, 1, 1})).value();
  CHECK_FALSE(no_cap.same_buckets);
  CHECK_FALSE(no_cap.setting);
}

TEST_CASE("recorded today: under another version that it may be, with its rules") {
  small::OpenJob job = recorded({1, 2, 3});
  CHECK_FALSE(recorded_today(job)->setting);  // 2.8: a cap of 2 holds for the first bucket, too
  job = recorded({1, 2, 2, 1});
  CHECK_FALSE(recorded_today(job)->setting);
  job.options.possible_versions = {{{1, 6}, {2, 4}, {2, 4, 8}, {2, 20, 5}}};
  REQUIRE(recorded_today(job)->setting);
  CHECK(recorded_today(job)->setting->torch == TorchVersion{2, 4});
  CHECK(recorded_today(job)->setting->bucket_cap_mb == 2);
  CHECK_FALSE(recorded_today(job)->setting->first_bucket_mb);
}

TEST_CASE("recorded today: whoever asks for a cap is not told that the job ran another") {
  small::OpenJob job = recorded({2, 2, 2});
  job.options.ddp.bucket_cap_mb = 3;
  CHECK_FALSE(recorded_today(job)->same_buckets);
  CHECK(recorded_today(job)->asked_otherwise);
  CHECK_FALSE(recorded_today(job)->setting);
  job.options.ddp.bucket_cap_mb = 2;
  CHECK(recorded_today(job)->same_buckets);
}

TEST_CASE(
    "recorded today: behind a compression hook the bytes are those on the wire, whatever is "
    "asked") {
  small::OpenJob job = recorded({1, 5});
  job.options.ddp.comm_hook = CommHook::fp16_compress;
  CHECK(recorded_today(job)->same_buckets);  // it ran without
  for (RecordedCollective& one : job.workload.recorded_with.collectives)
    one.bytes = Bytes(one.bytes.count() / 2);
  CHECK_FALSE(recorded_today(job)->same_buckets);
  job.workload.recorded_with.wire = Dtype::bfloat16;
  CHECK(recorded_today(job)->same_buckets);
  job.options.ddp.comm_hook = CommHook::none;
  CHECK(recorded_today(job)->same_buckets);
}

TEST_CASE("recorded today: whoever asks for construction buckets knows that they are others") {
  small::OpenJob job = recorded({2, 2, 2});
  job.options.ddp.find_unused_parameters = true;
  CHECK(recorded_today(job)->asked_otherwise);
  CHECK_FALSE(recorded_today(job)->setting);
}
