// Rules of PyTorch's versions, tested on both sides of each change.
#include "ddpsim/sim/values/ddp_options.hpp"

#include <limits>

#include "paper_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::paper;

namespace {

constexpr Bytes kAny = Bytes::max();

std::size_t buckets_in(int iteration, const DdpOptions& options, TorchVersion torch) {
  return buckets_of_iteration(workload(), options, torch, iteration).size();
}

std::string problem(const DdpOptions& options, TorchVersion torch) {
  return unsupported(options, torch).value_or("");
}

}  // namespace

TEST_CASE("DDP options: the first bucket closes at 1 MiB, the others at 25") {
  const BucketLimits limits = bucket_limits({}, {1, 7});
  CHECK(limits.construction == std::vector<Bytes>{1_MiB, 25_MiB});
  CHECK(limits.rebuild == std::vector<Bytes>{1_MiB, 25_MiB});
  CHECK(limits.rebuilt_from == 2);
}

TEST_CASE("DDP options: a user's first bucket size counts in MiB") {
  CHECK(bucket_limits({.first_bucket_mb = 2.5}, {1, 10}).rebuild ==
        std::vector<Bytes>{2'621'440_B, 25_MiB});
  // A fraction of a byte is dropped, and a size that no integer holds means no limit.
  CHECK(bucket_limits({.bucket_cap_mb = 1.0000009}, {2, 4}).rebuild ==
        std::vector<Bytes>{1_MiB, 1_MiB});
  CHECK(bucket_limits({.bucket_cap_mb = 1e300}, {2, 4}).rebuild[1] == kAny);
  CHECK(bucket_limits({.bucket_cap_mb = std::numeric_limits<double>::quiet_NaN()}, {2, 4})
            .rebuild[1] == kAny);
}

TEST_CASE("DDP options: from 2.5 on a cap that is passed holds for the first bucket, too") {
  CHECK(bucket_limits({.bucket_cap_mb = 10}, {2, 4}).rebuild == std::vector<Bytes>{1_MiB, 10_MiB});
  CHECK(bucket_limits({.bucket_cap_mb = 10}, {2, 5}).rebuild == std::vector<Bytes>{10_MiB, 10_MiB});
  CHECK(bucket_limits({}, {2, 5}).rebuild == std::vector<Bytes>{1_MiB, 25_MiB});
  CHECK(bucket_limits({.first_bucket_mb = 3}, {2, 5}).rebuild == std::vector<Bytes>{3_MiB, 25_MiB});
}

TEST_CASE(
    "DDP options: from 2.12 on construction ignores a first bucket that is not smaller than the "
    "cap") {
  const auto with = [](TorchVersion torch, double first_mb) {
    return bucket_limits({.first_bucket_mb = first_mb, .find_unused_parameters = true}, torch);
  };
  CHECK(with({2, 11}, 30).construction == std::vector<Bytes>{30_MiB, 25_MiB});
  CHECK(with({2, 12}, 30).construction == std::vector<Bytes>{25_MiB});
  CHECK(with({2, 12}, 24).construction == std::vector<Bytes>{24_MiB, 25_MiB});
  CHECK(bucket_limits({.first_bucket_mb = 30}, {2, 12}).rebuild ==
        std::vector<Bytes>{30_MiB, 25_MiB});
  CHECK(bucket_limits({.bucket_cap_mb_list = {3, 5, 2}, .find_unused_parameters = true}, {2, 12})
            .construction == std::vector<Bytes>{3_MiB, 5_MiB, 2_MiB});
}

TEST_CASE("DDP options: a list of caps is taken as it is, from the first iteration on") {
  const BucketLimits limits = bucket_limits({.bucket_cap_mb_list = {3, 5, 7}}, {2, 11});
  CHECK(limits.construction == std::vector<Bytes>{3_MiB, 5_MiB, 7_MiB});
  CHECK(limits.rebuild == limits.construction);
}

TEST_CASE(
    "DDP options: from 1.12 on the first iteration has one bucket, from 1.6 on they are rebuilt") {
  // Caps of 0.5 MiB give three gradients three buckets. As constructed, in definition order, p0 of
  // 1 MB does not reach the 1 MiB of the first bucket before 2.5, so p1 joins it.
  const DdpOptions caps{.bucket_cap_mb = 0.5};
  CHECK(bucket_limits(caps, {1, 5}).rebuilt_from == std::nullopt);
  CHECK(buckets_in(1, caps, {1, 5}) == 2);
  CHECK(buckets_in(9, caps, {1, 5}) == 2);
  for (const TorchVersion torch : {TorchVersion{1, 6}, TorchVersion{1, 11}}) {
    CHECK(bucket_limits(caps, torch).construction == std::vector<Bytes>{1_MiB, 512_KiB});
    CHECK(buckets_in(1, caps, torch) == 2);
    CHECK(buckets_in(2, caps, torch) == 3);
  }
  for (const TorchVersion torch : {TorchVersion{1, 12}, TorchVersion{2, 8}}) {
    CHECK(bucket_limits(caps, torch).construction == std::vector<Bytes>{kAny});
    CHECK(buckets_in(1, caps, torch) == 1);
    CHECK(buckets_in(2, caps, torch) == 3);
  }
}

TEST_CASE(
    "DDP options: find_unused_parameters keeps the constructed buckets, static_graph does not") {
  const TorchVersion torch{1, 12};
  DdpOptions options{.bucket_cap_mb = 0.5, .find_unused_parameters = true};
  CHECK(bucket_limits(options, torch).construction == std::vector<Bytes>{1_MiB, 512_KiB});
  CHECK_FALSE(bucket_limits(options, torch).rebuilt_from);
  CHECK(buckets_in(1, options, torch) == 2);
  CHECK(buckets_in(5, options, torch) == 2);
  options.static_graph = true;
  CHECK(bucket_limits(options, torch).construction == std::vector<Bytes>{kAny});
  CHECK(bucket_limits(options, torch).rebuilt_from == 3);
  CHECK(buckets_in(2, options, torch) == 1);
  CHECK(buckets_in(3, options, torch) == 3);
  CHECK(steady_buckets(workload(), options, torch).size() == 3);
}

TEST_CASE("DDP options: what a version lacks is refused with the version it came with") {
  const auto lacks = [](const char* torch, const char* option, const char* since) {
    return "PyTorch " + std::string(torch) + " has no " + option + " (it came with " + since + ")";
  };
  CHECK(problem({}, {0, 4}) ==
        "PyTorch 0.4 is older than 1.0, the first version whose DDP rules are known");
  CHECK(problem({}, {1, 0}) == "");
  CHECK(problem({.gradient_as_bucket_view = true}, {1, 6}) ==
        lacks("1.6", "gradient_as_bucket_view", "1.7"));
  CHECK(problem({.gradient_as_bucket_view = true}, {1, 7}) == "");
  CHECK(problem({.static_graph = true}, {1, 8}) == lacks("1.8", "static_graph", "1.9"));
  CHECK(problem({.static_graph = true}, {1, 9}) == "");
  CHECK(problem({.first_bucket_mb = 2}, {1, 9}) == lacks("1.9", "tunable first bucket", "1.10"));
  CHECK(problem({.first_bucket_mb = 2}, {1, 10}) == "");
  CHECK(problem({.bucket_cap_mb_list = {1}}, {2, 10}) ==
        lacks("2.10", "bucket_cap_mb_list", "2.11"));
  CHECK(problem({.bucket_cap_mb_list = {1}}, {2, 11}) == "");
  CHECK(problem({.comm_hook = CommHook::fp16_compress}, {1, 7}) ==
        lacks("1.7", "fp16_compress_hook", "1.8"));
  CHECK(problem({.comm_hook = CommHook::fp16_compress}, {1, 8}) == "");
  CHECK(problem({.optimizer_in_backward = true}, {1, 13}) ==
        "PyTorch 1.13 has no _apply_optimizer_in_backward under DDP (it came with 2.0)");
  CHECK(problem({.optimizer_in_backward = true}, {2, 0}) == "");
  CHECK(problem({.comm_hook = CommHook::fp16_compress, .optimizer_in_backward = true}, {2, 0}) ==
        "_apply_optimizer_in_backward is a communication hook itself, and DDP takes only one. "
        "Leave out it or fp16_compress_hook");
  CHECK(problem({.comm_hook = CommHook::power_sgd}, {1, 7}) ==
        "PyTorch 1.7 has no powerSGD_hook (it came with 1.8)");
  CHECK(problem({.comm_hook = CommHook::power_sgd}, {1, 8}) == "");
  CHECK(problem({.comm_hook = CommHook::post_local_sgd}, {1, 9}) ==
        "PyTorch 1.9 has no post_localSGD_hook (it came with 1.10)");
  CHECK(problem({.comm_hook = CommHook::post_local_sgd}, {1, 10}) == "");
  DdpOptions alone{.comm_hook = CommHook::post_local_sgd};
  alone.local_sgd.averages_gradients = false;
  CHECK(problem(alone, {1, 11}) ==
        "PyTorch 1.11 has no post_local_gradient_allreduce (it came with 1.12)");
  CHECK(problem(alone, {1, 12}) == "");
  CHECK(problem({.comm_hook = CommHook::bf16_compress}, {1, 9}) ==
        lacks("1.9", "bf16_compress_hook", "1.10"));
  CHECK(problem({.comm_hook = CommHook::bf16_compress}, {1, 10}) == "");
  CHECK(problem({.process_groups = 2}, {2, 0}) ==
        "PyTorch 2.0 has no round-robin process groups (they ended with 1.13)");
  CHECK(problem({.process_groups = 1}, {2, 0}) == "");
  CHECK(problem({.process_groups = 2}, {1, 13}) == "");
}

TEST_CASE("DDP options: caps that exclude each other") {
  CHECK(problem({.bucket_cap_mb = 25, .bucket_cap_mb_list = {1}}, {2, 11}) ==
        "bucket_cap_mb and bucket_cap_mb_list exclude each other: pass only one of them");
  const std::string ignored =
      " ignores the first bucket's size once a cap is passed: the cap holds for the first bucket "
      "too";
  CHECK(problem({.bucket_cap_mb = 25, .first_bucket_mb = 2}, {2, 5}) == "PyTorch 2.5" + ignored);
  CHECK(problem({.first_bucket_mb = 2, .bucket_cap_mb_list = {1}}, {2, 11}) ==
        "PyTorch 2.11" + ignored);
  CHECK(problem({.bucket_cap_mb = 25, .first_bucket_mb = 2}, {2, 4}) == "");
  CHECK(problem({.first_bucket_mb = 2}, {2, 5}) == "");
}

TEST_CASE("DDP options: features appear exactly with their first version") {
  CHECK_FALSE(first_bucket_tunable({1, 9}));
  CHECK(first_bucket_tunable({1, 10}));
  CHECK_FALSE(cap_holds_for_first_bucket({2, 4}));
  CHECK(cap_holds_for_first_bucket({2, 5}));
  CHECK_FALSE(has_bucket_cap_mb_list({2, 10}));
  CHECK(has_bucket_cap_mb_list({2, 11}));
}

TEST_CASE("DDP options: hooks by name and by word") {
  CHECK(name_of(CommHook::none) == "");
  CHECK(name_of(CommHook::power_sgd) == "powerSGD_hook");
  CHECK(word_of(CommHook::power_sgd) == "powersgd");
  CHECK(name_of(CommHook::post_local_sgd) == "post_localSGD_hook");
  CHECK(word_of(CommHook::post_local_sgd) == "post_localSGD");
  CHECK(name_of(CommHook::fp16_compress) == "fp16_compress_hook");
  CHECK(name_of(CommHook::bf16_compress) == "bf16_compress_hook");
  CHECK(word_of(CommHook::none) == "none");
  CHECK(word_of(CommHook::fp16_compress) == "fp16");
  CHECK(word_of(CommHook::bf16_compress) == "bf16");
  DdpOptions options;
  CHECK(wire_dtype(options, Dtype::float64) == Dtype::float64);
  options.comm_hook = CommHook::fp16_compress;
  CHECK(wire_dtype(options, Dtype::float64) == Dtype::float16);
  options.comm_hook = CommHook::bf16_compress;
  CHECK(wire_dtype(options, Dtype::float64) == Dtype::bfloat16);
}
