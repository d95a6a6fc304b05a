// How reports name a job and its buckets.
#include "job_words.hpp"

#include <doctest/doctest.h>

#include "reports_sample.hpp"

using namespace ddpsim;

namespace {

std::string buckets_said(const DdpOptions& options, TorchVersion torch) {
  return bucket_setting(
      sample::with(SimulationOptions{.torch = torch, .scheme = Ddp{.ddp = options}}).job);
}

}  // namespace

TEST_CASE("job words: buckets are described by the option passed and by the limits that result") {
  CHECK(buckets_said({}, {2, 8}) == "default (1 MiB first, then 25 MiB)");
  CHECK(buckets_said({.first_bucket_mb = 25}, {2, 8}) == "default (25 MiB each)");
  CHECK(buckets_said({.first_bucket_mb = 2.5}, {2, 8}) == "default (2.5 MiB first, then 25 MiB)");
  CHECK(buckets_said({.bucket_cap_mb = 50}, {2, 8}) == "bucket_cap_mb=50 (50 MiB each)");
  CHECK(buckets_said({.bucket_cap_mb = 50}, {2, 4}) ==
        "bucket_cap_mb=50 (1 MiB first, then 50 MiB)");
  CHECK(buckets_said({.bucket_cap_mb = 1}, {2, 4}) == "bucket_cap_mb=1 (1 MiB each)");
  CHECK(buckets_said({.bucket_cap_mb_list = {1, 10.5, 50}}, {2, 11}) ==
        "bucket_cap_mb_list=[1, 10.5, 50]");
}

TEST_CASE("job words: a hook is named after the buckets, with its options") {
  DdpOptions options;
  const std::string buckets = "default (1 MiB first, then 25 MiB)";
  const auto behind = [&](CommHook hook) {
    options.comm_hook = hook;
    const std::string all = buckets_said(options, {2, 4});
    REQUIRE(all.starts_with(buckets));
    return all.substr(buckets.size());
  };
  options.power_sgd.matrix_approximation_rank = 3;
  options.local_sgd.period = 7;
  CHECK(behind(CommHook::none).empty());
  CHECK(behind(CommHook::fp16_compress) == ", fp16_compress_hook");
  CHECK(behind(CommHook::power_sgd) == ", powerSGD_hook of rank 3");
  CHECK(behind(CommHook::post_local_sgd) == ", post_localSGD_hook of period 7");
  options.comm_hook_min_mb = 0.5;
  CHECK(behind(CommHook::bf16_compress) == ", bf16_compress_hook from 0.5 MiB");
  options.optimizer_in_backward = true;
  CHECK(behind(CommHook::fp16_compress) ==
        ", fp16_compress_hook from 0.5 MiB, optimizer in backward");
  options.bucket_cap_mb_list = {2};
  CHECK(buckets_said(options, {2, 4}) ==
        "bucket_cap_mb_list=[2], fp16_compress_hook from 0.5 MiB, optimizer in backward");
}

TEST_CASE("job words: buckets that replace the reducer's own are called recorded") {
  CHECK(bucket_setting(sample::with(SimulationOptions{.buckets = std::vector<Bucket>()}).job) ==
        "as recorded");
}

TEST_CASE(
    "job words: a workload without a name is called as it was asked for, a candidate by its "
    "label") {
  ReportContext context = sample::with(sample::workload(""));
  context.provenance.workload_source = "trace.json";
  CHECK(workload_name(context) == "trace.json");
  CHECK(workload_name(sample::context()) == "tiny");
  CHECK(cluster_name(context) == "dgx1v");
  context.provenance.label = "near";
  CHECK(cluster_name(context) == "near");
}
