#include "ddpsim/sim/step/bucket_assignment.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ddpsim {
namespace {

/// One open bucket per (dtype, device), with its cursor into the limits.
struct OpenBucket {
  Dtype dtype;
  const std::string* device;
  Bucket bucket;
  std::size_t limit = 0;
};

OpenBucket& open_bucket_for(const Parameter& parameter, std::vector<OpenBucket>& open) {
  for (OpenBucket& candidate : open)
    if (candidate.dtype == parameter.dtype && *candidate.device == parameter.device)
      return candidate;
  return open.emplace_back(
      OpenBucket{.dtype = parameter.dtype, .device = &parameter.device, .bucket = {}});
}

}  // namespace

std::optional<std::string> cannot_assign(const Workload& workload) {
  std::int64_t total = 0;
  for (const Parameter& parameter : workload.parameters) {
    if (parameter.ignored) continue;
    if (!parameter.shape)
      return fmt::format(
          "the shape of parameter \"{}\" is not known, so neither is its bucket. Name the model "
          "when importing: --model resnet50 (`ddpsim list` shows the known models)",
          parameter.name);
    const std::optional<Bytes> bytes = gradient_bytes(parameter);
    if (!bytes || __builtin_add_overflow(total, bytes->count(), &total))
      return "the parameters add up to more than 2^63 - 1 bytes";
  }
  return std::nullopt;
}

std::vector<Bucket> assign_buckets(std::span<const Parameter> parameters,
                                   std::span<const std::size_t> order,
                                   std::span<const Bytes> limits, BucketOrder result_order) {
  std::vector<Bucket> buckets;
  std::vector<OpenBucket> open;
  for (const std::size_t index : order) {
    const Parameter& parameter = parameters[index];
    const Bytes bytes = gradient_bytes(parameter).value_or(Bytes());
    if (parameter.sparse_gradient) {
      buckets.push_back({.parameters = {index},
                         .bytes = bytes,
                         .limit = Bytes(),
                         .closed_by = ClosedBy::sparse,
                         .dtype = parameter.dtype});
      continue;
    }
    OpenBucket& current = open_bucket_for(parameter, open);
    current.bucket.parameters.push_back(index);
    current.bucket.bytes += bytes;
    current.bucket.limit = limits[current.limit];
    current.bucket.limit_index = current.limit;
    current.bucket.dtype = parameter.dtype;
    if (current.bucket.bytes >= current.bucket.limit) {
      current.bucket.closed_by = ClosedBy::limit;
      buckets.push_back(std::move(current.bucket));
      current.bucket = {};
      current.limit = std::min(current.limit + 1, limits.size() - 1);
    }
  }

  // c10d keeps them in a std::unordered_map, and libstdc++'s returns the last insertion first. Real
  // DDP behaves so (1.13, 2.13: tests/cli/test_real_ddp.py). On GPUs, if the hashes of two dtypes
  // collide, it may not.
  for (auto leftover = open.rbegin(); leftover != open.rend(); ++leftover)
    if (!leftover->bucket.parameters.empty()) buckets.push_back(std::move(leftover->bucket));

  if (result_order == BucketOrder::by_smallest_index) {
    const auto smallest = [](const Bucket& bucket) {
      return *std::min_element(bucket.parameters.begin(), bucket.parameters.end());
    };
    std::stable_sort(buckets.begin(), buckets.end(),
                     [&](const Bucket& a, const Bucket& b) { return smallest(a) < smallest(b); });
  }
  return buckets;
}

std::vector<Bucket> construction_buckets(const Workload& workload, std::span<const Bytes> limits) {
  const std::vector<std::size_t> order = definition_order(workload);
  std::vector<Bucket> buckets =
      assign_buckets(workload.parameters, order, limits, BucketOrder::by_smallest_index);
  std::reverse(buckets.begin(), buckets.end());
  return buckets;
}

std::vector<Bucket> rebuilt_buckets(const Workload& workload, std::span<const Bytes> limits) {
  return assign_buckets(workload.parameters, ready_order(workload), limits,
                        BucketOrder::as_emitted);
}

std::vector<Bucket> cut_buckets(const Workload& workload, std::span<const std::size_t> order,
                                std::span<const std::size_t> ends) {
  std::vector<Bucket> buckets;
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    Bucket bucket;
    bucket.dtype = workload.parameters[order[begin]].dtype;
    for (std::size_t k = begin; k < end; ++k) {
      bucket.parameters.push_back(order[k]);
      bucket.bytes += gradient_bytes(workload.parameters[order[k]]).value_or(Bytes());
    }
    bucket.limit = bucket.bytes;
    bucket.limit_index = buckets.size();
    bucket.closed_by = end == order.size() ? ClosedBy::end : ClosedBy::limit;
    buckets.push_back(std::move(bucket));
    begin = end;
  }
  return buckets;
}

std::vector<Bucket> buckets_of_iteration(const Workload& workload, const DdpOptions& options,
                                         TorchVersion torch, int iteration) {
  const BucketLimits limits = bucket_limits(options, torch);
  const bool rebuilt = limits.rebuilt_from && iteration >= *limits.rebuilt_from;
  return rebuilt ? rebuilt_buckets(workload, limits.rebuild)
                 : construction_buckets(workload, limits.construction);
}

std::vector<Bucket> steady_buckets(const Workload& workload, const DdpOptions& options,
                                   TorchVersion torch) {
  constexpr int kSteady = 3;  // static_graph's rebuilt buckets are the last to appear
  return buckets_of_iteration(workload, options, torch, kSteady);
}

std::vector<std::size_t> definition_order(const Workload& workload) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < workload.parameters.size(); ++i)
    if (is_reduced(workload.parameters[i])) order.push_back(i);
  return order;
}

std::vector<std::size_t> ready_order(const Workload& workload) {
  std::vector<std::size_t> order;
  if (!workload.backward || workload.backward->ready.empty()) {
    order = definition_order(workload);
    std::reverse(order.begin(), order.end());
    return order;
  }
  std::vector<bool> seen(workload.parameters.size(), false);
  order.reserve(workload.parameters.size());
  for (const ReadyEvent& event : workload.backward->ready) {
    seen[event.parameter] = true;
    if (is_reduced(workload.parameters[event.parameter])) order.push_back(event.parameter);
  }
  // Parameters without a gradient come last, as static_graph appends them.
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (!seen[i] && is_reduced(workload.parameters[i])) order.push_back(i);
  return order;
}

Dtype wire_dtype(const DdpOptions& options, Dtype gradients) {
  switch (options.comm_hook) {
    case CommHook::fp16_compress:
      return Dtype::float16;
    case CommHook::bf16_compress:
      return Dtype::bfloat16;
    case CommHook::power_sgd:
    case CommHook::post_local_sgd:
    case CommHook::none:
      break;
  }
  return gradients;
}

bool casts(const DdpOptions& options, Dtype gradients, Bytes bucket) {
  constexpr double kMiB = 1'048'576;
  return wire_dtype(options, gradients) != gradients &&
         static_cast<double>(bucket.count()) >= options.comm_hook_min_mb * kMiB;
}

Bytes wire_bytes(const DdpOptions& options, Dtype gradients, Bytes bucket) {
  const Dtype wire = casts(options, gradients, bucket) ? wire_dtype(options, gradients) : gradients;
  return Bytes(bucket.count() / element_size(gradients) * element_size(wire));
}

std::optional<std::size_t> first_difference(std::span<const Bucket> buckets,
                                            std::span<const Bytes> sizes) {
  const std::size_t shared = std::min(buckets.size(), sizes.size());
  for (std::size_t b = 0; b < shared; ++b)
    if (buckets[b].bytes != sizes[b]) return b;
  if (buckets.size() != sizes.size()) return shared;
  return std::nullopt;
}

}  // namespace ddpsim
