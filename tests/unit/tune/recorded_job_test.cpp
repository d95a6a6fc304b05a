// What the recorded job did, compared with its prediction: times only if they are of the same work,
// buckets always.
#include "ddpsim/sim/tune/recorded_job.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ddpsim/sim/step/job_buckets.hpp"
#include "tune_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

/// Six gradients of 1 MiB on two GPUs. The recorded job launched buckets of these sizes in MiB, at
/// 500 us per MiB. An all-reduce of k MiB is predicted to take 100 k us.
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

TEST_CASE("recorded job: absent if no all-reduce was recorded") {
  CHECK_FALSE(recorded_job(recorded({})).has_value());
}

TEST_CASE("recorded job: every bucket with its recorded and its predicted time") {
  const RecordedJob current = recorded_job(recorded({1, 5})).value();
  CHECK(current.ranks == 2);
  CHECK(current.channels == 5);
  REQUIRE(current.buckets.size() == 2);
  CHECK(current.buckets[1].bytes == Bytes(5 << 20));
  CHECK(current.buckets[1].median == 2500_us);
  CHECK(current.buckets[1].predicted == 500_us);
  CHECK(current.recorded() == 3_ms);
  CHECK(current.predicted() == 600_us);
  CHECK(current.comparable);
  CHECK(current.same_buckets);  // PyTorch's default: 1 MiB first
  CHECK_FALSE(current.setting);
  CHECK_FALSE(current.asked_otherwise);
}

TEST_CASE("recorded job: times are comparable only for the same number of GPUs of the same model") {
  small::OpenJob other = recorded({1, 5});
  other.workload.gpu = "A100";
  CHECK_FALSE(recorded_job(other)->comparable);
  other.workload.gpu = "";  // which may be any GPU
  CHECK_FALSE(recorded_job(other)->comparable);
  other.workload.gpu = "V100";
  CHECK(recorded_job(other)->comparable);
  other.workload.carried_over = true;
  CHECK_FALSE(recorded_job(other)->comparable);
  other.workload.carried_over = false;
  other.workload.recorded_with.world_size = 4;
  CHECK_FALSE(recorded_job(other)->comparable);
  CHECK(recorded_job(other)->same_buckets);
}

TEST_CASE("recorded job: NCCL's recorded times tell nothing about gloo's") {
  small::OpenJob job = recorded({1, 5});
  job.workload.recorded_with.nccl_kernels = 2;
  job.model = AnalyticModel{};
  CHECK(recorded_job(job)->comparable);
  job.model = GlooModel{};
  CHECK_FALSE(recorded_job(job)->comparable);
}

TEST_CASE("recorded job: the cap that gives the recorded buckets is found") {
  const RecordedJob twos = recorded_job(recorded({2, 2, 2})).value();
  CHECK_FALSE(twos.same_buckets);
  REQUIRE(twos.setting);
  CHECK(twos.setting->torch == TorchVersion{2, 8});
  CHECK(twos.setting->bucket_cap_mb == 2);
  CHECK_FALSE(twos.setting->first_bucket_mb);
  const RecordedJob no_cap = recorded_job(recorded({4, 1, 1})).value();
  CHECK_FALSE(no_cap.same_buckets);
  CHECK_FALSE(no_cap.setting);
}

TEST_CASE("recorded job: another possible version, with its rules") {
  small::OpenJob job = recorded({1, 2, 3});
  // 2.8: a cap of 2 also applies to the first bucket.
  CHECK_FALSE(recorded_job(job)->setting);
  job = recorded({1, 2, 2, 1});
  CHECK_FALSE(recorded_job(job)->setting);
  job.options.possible_versions = {{{1, 6}, {2, 4}, {2, 4, 8}, {2, 20, 5}}};
  REQUIRE(recorded_job(job)->setting);
  CHECK(recorded_job(job)->setting->torch == TorchVersion{2, 4});
  CHECK(recorded_job(job)->setting->bucket_cap_mb == 2);
  CHECK_FALSE(recorded_job(job)->setting->first_bucket_mb);
}

TEST_CASE("recorded job: a requested cap is not reported as different from the job's") {
  small::OpenJob job = recorded({2, 2, 2});
  job.options.ddp_to_set().bucket_cap_mb = 3;
  CHECK_FALSE(recorded_job(job)->same_buckets);
  CHECK(recorded_job(job)->asked_otherwise);
  CHECK_FALSE(recorded_job(job)->setting);
  job.options.ddp_to_set().bucket_cap_mb = 2;
  CHECK(recorded_job(job)->same_buckets);
}

TEST_CASE("recorded job: with a compression hook the bytes are those on the wire") {
  small::OpenJob job = recorded({1, 5});
  job.options.ddp_to_set().comm_hook = CommHook::fp16_compress;
  CHECK(recorded_job(job)->same_buckets);  // it ran without one
  for (RecordedCollective& one : job.workload.recorded_with.collectives)
    one.bytes = Bytes(one.bytes.count() / 2);
  CHECK_FALSE(recorded_job(job)->same_buckets);
  job.workload.recorded_with.wire = Dtype::bfloat16;
  CHECK(recorded_job(job)->same_buckets);
  job.options.ddp_to_set().comm_hook = CommHook::none;
  CHECK(recorded_job(job)->same_buckets);
}

TEST_CASE("recorded job: requested construction buckets are not reported as different") {
  small::OpenJob job = recorded({2, 2, 2});
  job.options.ddp_to_set().find_unused_parameters = true;
  CHECK(recorded_job(job)->asked_otherwise);
  CHECK_FALSE(recorded_job(job)->setting);
}

TEST_CASE("recorded job: buckets that no cap gives are cut from the gradients in ready order") {
  const small::OpenJob job = recorded({4, 1, 1});
  const RecordedJob current = recorded_job(job).value();
  CHECK(small::members(current.others) == std::vector<std::size_t>{4, 1, 1});
  const Job replayed = as_recorded(job, current);
  CHECK(small::members(buckets_of(replayed)) == std::vector<std::size_t>{4, 1, 1});
  CHECK(small::members(buckets_of(job)) == std::vector<std::size_t>{1, 5});
  CHECK(small::members(recorded_job(recorded({2, 2, 2}))->others) ==
        std::vector<std::size_t>{2, 2, 2});
  CHECK(recorded_job(recorded({1, 5}))->others.empty());  // the same as simulated
}

TEST_CASE("recorded job: bytes that no cut of the gradients has are not replayed") {
  for (const auto& mib : {std::vector<int>{4, 1}, {4, 1, 2}, {4, 3}}) {
    const small::OpenJob job = recorded(mib);
    const RecordedJob current = recorded_job(job).value();
    CHECK(current.others.empty());
    CHECK_FALSE(as_recorded(job, current).options().buckets);
  }
  small::OpenJob halves = recorded({4, 1, 1});
  halves.workload.recorded_with.collectives[0].bytes = Bytes((4 << 20) - 4);
  CHECK(recorded_job(halves)->others.empty());
  small::OpenJob mixed = recorded({4, 1, 1});
  mixed.workload.parameters[4].dtype = Dtype::float16;  // the second to become ready
  CHECK(recorded_job(mixed)->others.empty());
}

TEST_CASE("recorded job: the first iterations of a training have their own buckets") {
  small::OpenJob job = recorded({4, 1, 1});
  job.options.iterations = 3;
  CHECK_FALSE(as_recorded(job, recorded_job(job).value()).options().buckets);
}

TEST_CASE("tune: gains count from the recorded buckets, and the default may be the better one") {
  // Ready at 1000, 2000, … us; a bucket of k MiB takes 100 k us. Forward takes 3400, backward 6000.
  // The step ends 100 us after backward if the default's last MiB is separate, and 600 us after it
  // with a single bucket.
  small::OpenJob job = recorded({6});
  job.model = small::alpha_beta(0, 100);
  const Job current = as_recorded(job, recorded_job(job).value());
  const TuneResult result = tune(current, {});
  REQUIRE(result.current);
  CHECK(result.current->recorded);
  CHECK(result.current->bucket_bytes == std::vector<Bytes>{Bytes(6 << 20)});
  CHECK(result.baseline().iteration == 10_ms);
  CHECK(result.recommended.set);
  CHECK_FALSE(result.recommended.default_as_current);
  CHECK(result.recommended.gain.value == 10_ms - result.best.iteration);
}

TEST_CASE("tune: a passed cap is the current setting") {
  small::OpenJob job = recorded({});
  job.options.ddp_to_set().bucket_cap_mb = 100;
  const TuneResult result = job.tune();
  REQUIRE(result.current);
  CHECK_FALSE(result.current->recorded);
  CHECK(result.current->point.bucket_cap_mb == 100);
  CHECK(result.baseline().iteration == job.step());
  CHECK(result.recommended.gain.value == job.step() - result.best.iteration);
  CHECK_FALSE(recorded({}).tune().current);
}

TEST_CASE("recorded job: shortest, median and longest time of every bucket, inside or not") {
  small::OpenJob job = recorded({1, 5});
  for (const int percent : {80, 100, 400}) {
    StepSample step{.name = std::to_string(percent),
                    .forward = {},
                    .backward = {},
                    .iteration = 10_ms + 1_us * percent,
                    .collectives = job.workload.recorded_with.collectives};
    for (RecordedCollective& one : step.collectives)
      one.duration = one.duration.scaled(percent / 100.0);
    job.workload.steps.push_back(step);
  }
  const RecordedJob current = recorded_job(job).value();
  CHECK(current.steps == 3);
  CHECK(current.buckets[1].least == 2_ms);
  CHECK(current.buckets[1].median == 2500_us);
  CHECK(current.buckets[1].most == 10_ms);
  CHECK(current.iterations->median == 10100_us);
  RecordedBucket bucket{
      .bytes = {}, .least = 100_us, .median = 150_us, .most = 200_us, .predicted = 100_us};
  CHECK(is_inside(bucket, false));
  CHECK(is_inside(bucket, true));
  bucket.predicted = 101_us;
  CHECK_FALSE(is_inside(bucket, false));
  bucket.predicted = 90_us;
  CHECK(is_inside(bucket, false));
  CHECK(is_inside(bucket, true));
  bucket.predicted = 89_us;
  CHECK_FALSE(is_inside(bucket, true));
  bucket.predicted = 220_us;
  CHECK(is_inside(bucket, true));
  bucket.predicted = 221_us;
  CHECK_FALSE(is_inside(bucket, true));
}

TEST_CASE("recorded job: times longer than predicted widen only the interval of NCCL's steps") {
  const auto widened = [](const small::OpenJob& job) {
    return std::ranges::any_of(job.assess().sensitivities, [](const Sensitivity& one) {
      return one.source == ErrorSource::recorded_waits && one.high > Duration();
    });
  };
  small::OpenJob nccl = recorded({1, 5});
  nccl.workload.recorded_with.nccl_kernels = 2;
  nccl.model = AnalyticModel{};
  CHECK(widened(nccl));
  small::OpenJob gloo = nccl;  // simulated, and recorded
  gloo.model = small::alpha_beta(0, 100);
  CHECK_FALSE(widened(gloo));
  small::OpenJob of_gloo = nccl;
  of_gloo.workload.recorded_with.nccl_kernels = 0;
  CHECK_FALSE(widened(of_gloo));
  small::OpenJob elsewhere = nccl;
  elsewhere.cluster.gpu.name = "A100";
  CHECK_FALSE(widened(elsewhere));
}
