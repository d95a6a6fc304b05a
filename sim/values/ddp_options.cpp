#include "ddpsim/sim/values/ddp_options.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ddpsim {
namespace {

constexpr Bytes kDefaultFirstBucket = Bytes(1'048'576);  // _DEFAULT_FIRST_BUCKET_BYTES
constexpr double kDefaultCapMb = 25;

constexpr TorchVersion kOldestKnown{1, 0};
constexpr TorchVersion kSyncBatchNorm{1, 1};
// Pull request 35137. The rebuild comes at the next forward since 1.7.
constexpr TorchVersion kRebuild{1, 6};
constexpr TorchVersion kBucketView{1, 7};   // gradient_as_bucket_view
constexpr TorchVersion kStaticGraph{1, 9};  // _set_static_graph, later a constructor argument
constexpr TorchVersion kCommHook{1, 8};     // register_comm_hook; with an underscore in 1.7
constexpr TorchVersion kFirstBucketTunable{1, 10};    // pull request 62748
constexpr TorchVersion kBf16Hook{1, 10};              // pull request 63260
constexpr TorchVersion kLocalSgd{1, 10};              // pull request 61206
constexpr TorchVersion kNoLocalGradients{1, 12};      // pull request 76723
constexpr TorchVersion kOptimizerInBackward{2, 0};    // pull request 89194
constexpr TorchVersion kOneBucketAtFirst{1, 12};      // pull request 72843
constexpr TorchVersion kExplicitCapIsFirstCap{2, 5};  // pull request 121640
constexpr TorchVersion kLastRoundRobin{1, 13};        // _round_robin_process_groups, removed in 2.0
constexpr TorchVersion kCapList{2, 11};               // pull request 169026
constexpr TorchVersion kFirstBelowCap{2, 12};         // pull request 175217

/// int(mb * 1024 * 1024), as distributed.py computes it, but saturating at 63 bits.
Bytes bytes_of_mib(double mib) {
  const double bytes = mib * 1024 * 1024;
  if (!(bytes < 9.2233720368547748e18)) return Bytes::max();
  return Bytes(static_cast<std::int64_t>(bytes));
}

TorchVersion first_version_of(CommHook hook) {
  switch (hook) {
    case CommHook::bf16_compress:
      return kBf16Hook;
    case CommHook::post_local_sgd:
      return kLocalSgd;
    default:
      return kCommHook;
  }
}

}  // namespace

std::span<const CommHook> comm_hooks() {
  static constexpr CommHook kHooks[] = {CommHook::none, CommHook::fp16_compress,
                                        CommHook::bf16_compress, CommHook::power_sgd,
                                        CommHook::post_local_sgd};
  return kHooks;
}

std::string_view name_of(CommHook hook) {
  switch (hook) {
    case CommHook::fp16_compress:
      return "fp16_compress_hook";
    case CommHook::bf16_compress:
      return "bf16_compress_hook";
    case CommHook::power_sgd:
      return "powerSGD_hook";
    case CommHook::post_local_sgd:
      return "post_localSGD_hook";
    case CommHook::none:
      break;
  }
  return "";
}

std::string_view word_of(CommHook hook) {
  switch (hook) {
    case CommHook::fp16_compress:
      return "fp16";
    case CommHook::bf16_compress:
      return "bf16";
    case CommHook::power_sgd:
      return "powersgd";
    case CommHook::post_local_sgd:
      return "post_localSGD";
    case CommHook::none:
      break;
  }
  return "none";
}

bool stops_backward(CommHook hook) {
  return hook == CommHook::power_sgd;
}

std::span<const TorchVersion> bucketing_eras() {
  static constexpr TorchVersion kEras[] = {kOldestKnown, kRebuild, kExplicitCapIsFirstCap};
  return kEras;
}

bool first_bucket_tunable(TorchVersion version) {
  return version >= kFirstBucketTunable;
}
bool cap_holds_for_first_bucket(TorchVersion version) {
  return version >= kExplicitCapIsFirstCap;
}
bool has_bucket_cap_mb_list(TorchVersion version) {
  return version >= kCapList;
}

std::optional<std::string> unsupported(const DdpOptions& options, TorchVersion torch) {
  const auto lacks = [&](std::string_view option, TorchVersion first) {
    return fmt::format("PyTorch {} has no {} (it came with {})", to_string(torch), option,
                       to_string(first));
  };
  if (torch < kOldestKnown)
    return fmt::format("PyTorch {} is older than {}, the first version whose DDP rules are known",
                       to_string(torch), to_string(kOldestKnown));
  if (options.gradient_as_bucket_view && torch < kBucketView)
    return lacks("gradient_as_bucket_view", kBucketView);
  if (options.static_graph && torch < kStaticGraph) return lacks("static_graph", kStaticGraph);
  if (options.first_bucket_mb && torch < kFirstBucketTunable)
    return lacks("tunable first bucket", kFirstBucketTunable);
  if (!options.bucket_cap_mb_list.empty() && torch < kCapList)
    return lacks("bucket_cap_mb_list", kCapList);
  if (options.comm_hook != CommHook::none && torch < first_version_of(options.comm_hook))
    return lacks(name_of(options.comm_hook), first_version_of(options.comm_hook));
  const bool local = options.comm_hook == CommHook::post_local_sgd;
  if (local && !options.local_sgd.averages_gradients && torch < kNoLocalGradients)
    return lacks("post_local_gradient_allreduce", kNoLocalGradients);
  const bool casts =
      options.comm_hook == CommHook::fp16_compress || options.comm_hook == CommHook::bf16_compress;
  if (options.comm_hook_min_mb > 0 && !casts)
    return "a minimum bucket size (--comm-hook-min-mb) only works with fp16_compress_hook and "
           "bf16_compress_hook";
  if (options.optimizer_in_backward && torch < kOptimizerInBackward)
    return lacks("_apply_optimizer_in_backward under DDP", kOptimizerInBackward);
  if (options.optimizer_in_backward && options.comm_hook != CommHook::none)
    return fmt::format(
        "_apply_optimizer_in_backward is a communication hook itself, and DDP takes only one. "
        "Leave out it or {}",
        name_of(options.comm_hook));
  if (options.sync_batchnorm && torch < kSyncBatchNorm)
    return lacks("SyncBatchNorm", kSyncBatchNorm);
  if (options.sync_batchnorm_group && !options.sync_batchnorm)
    return "process groups of SyncBatchNorm need SyncBatchNorm: add --sync-batchnorm";
  if (options.sync_batchnorm && options.process_groups > 1)
    return "SyncBatchNorm uses a process group in addition to round-robin ones, which is not "
           "simulated. Leave out --process-groups or --sync-batchnorm";
  if (options.process_groups > 1 && torch > kLastRoundRobin)
    return fmt::format("PyTorch {} has no round-robin process groups (they ended with {})",
                       to_string(torch), to_string(kLastRoundRobin));
  if (!options.bucket_cap_mb_list.empty() && options.bucket_cap_mb)
    return "bucket_cap_mb and bucket_cap_mb_list exclude each other: pass only one of them";
  if (options.first_bucket_mb && torch >= kExplicitCapIsFirstCap &&
      (options.bucket_cap_mb || !options.bucket_cap_mb_list.empty()))
    return fmt::format(
        "PyTorch {} ignores the first bucket's size once a cap is passed: the cap holds for the "
        "first bucket too",
        to_string(torch));
  return std::nullopt;
}

BucketLimits bucket_limits(const DdpOptions& options, TorchVersion torch) {
  std::vector<Bytes> limits;
  if (!options.bucket_cap_mb_list.empty()) {
    for (const double cap : options.bucket_cap_mb_list) limits.push_back(bytes_of_mib(cap));
  } else {
    const Bytes cap = bytes_of_mib(options.bucket_cap_mb.value_or(kDefaultCapMb));
    const Bytes first = options.bucket_cap_mb && torch >= kExplicitCapIsFirstCap ? cap
                        : options.first_bucket_mb ? bytes_of_mib(*options.first_bucket_mb)
                                                  : kDefaultFirstBucket;
    limits = {first, cap};
  }

  BucketLimits result{.construction = limits, .rebuild = limits, .rebuilt_from = std::nullopt};
  const bool never_rebuilds =
      torch < kRebuild || (options.find_unused_parameters && !options.static_graph);
  // One bucket contains everything, since these buckets serve only one step before the rebuild.
  if (!never_rebuilds && torch >= kOneBucketAtFirst && options.bucket_cap_mb_list.empty())
    result.construction = {Bytes::max()};
  // From kFirstBelowCap on, a first bucket of the cap's size or more is ignored, except in the
  // rebuild.
  if (never_rebuilds && torch >= kFirstBelowCap && options.bucket_cap_mb_list.empty() &&
      limits.front() >= limits.back())
    result.construction = {limits.back()};
  if (!never_rebuilds) result.rebuilt_from = options.static_graph ? 3 : 2;
  return result;
}

CutLimits piece_limits(const DdpOptions& options) {
  const std::vector<double>& list = options.bucket_cap_mb_list;
  const double cap = list.empty() ? options.bucket_cap_mb.value_or(kDefaultCapMb)
                                  : *std::max_element(list.begin(), list.end());
  const Bytes first =
      options.first_bucket_mb ? bytes_of_mib(*options.first_bucket_mb) : kDefaultFirstBucket;
  return {.first = first, .cap = bytes_of_mib(cap)};
}

CutLimits fusion_limits(const DdpOptions& options) {
  const std::int64_t mib = kDefaultFirstBucket.count();
  return {.first = kDefaultFirstBucket,
          .cap = Bytes(piece_limits(options).cap.count() / mib * mib)};
}

}  // namespace ddpsim
