#include "logged_buckets.hpp"

#include <fmt/format.h>

#include <array>

#include "ddpsim/sim/step/bucket_assignment.hpp"

namespace ddpsim {
namespace {

/// One PyTorch version for each set of rules that a log may follow.
constexpr std::array kEras = {TorchVersion{1, 5}, TorchVersion{1, 13}, TorchVersion{2, 4},
                              TorchVersion{2, 8}};

std::vector<Bucket> assigned(const Workload& workload, const DdpOptions& options,
                             TorchVersion torch, bool in_ready_order) {
  return in_ready_order
             ? steady_buckets(workload, options, torch)
             : construction_buckets(workload, bucket_limits(options, torch).construction);
}

std::string remedy_for(const DdpLog& log, const std::vector<Bytes>& logged,
                       const Workload& workload, const DdpOptions& options, bool in_ready_order) {
  if (options.bucket_cap_mb != log.options.bucket_cap_mb)
    return log.options.bucket_cap_mb
               ? fmt::format("DDP ran with another cap: {} MiB.", *log.options.bucket_cap_mb)
               : "DDP ran with the default cap; leave out --bucket-cap-mb.";
  for (const TorchVersion& torch : kEras) {
    for (const bool explicit_default : {false, true}) {
      DdpOptions other = options;
      if (explicit_default && other.bucket_cap_mb) continue;
      if (explicit_default) other.bucket_cap_mb = 25;
      if (unsupported(other, torch)) continue;
      if (first_difference(assigned(workload, other, torch, in_ready_order), logged)) continue;
      return fmt::format("With --torch {}{} they match.", to_string(torch),
                         explicit_default ? " --bucket-cap-mb 25" : "");
    }
  }
  return "No PyTorch version gives the logged buckets with this cap; was another module wrapped, "
         "or the cap changed per bucket?";
}

}  // namespace

void adopt_logged_options(const DdpLog& log, DdpOptions& options) {
  const bool cap_given =
      options.bucket_cap_mb || options.first_bucket_mb || !options.bucket_cap_mb_list.empty();
  if (!cap_given) options.bucket_cap_mb = log.options.bucket_cap_mb;
  options.find_unused_parameters |= log.options.find_unused_parameters;
  options.static_graph |= log.options.static_graph;
}

std::optional<LoggedBuckets> logged_buckets(const DdpLog& log, const Workload& workload,
                                            const DdpOptions& options, TorchVersion torch,
                                            bool in_ready_order) {
  const bool rebuilt = in_ready_order && !log.rebuilt_bytes.empty();
  const std::vector<Bytes>& bytes = rebuilt ? log.rebuilt_bytes : log.construction_bytes;
  if (bytes.empty()) return std::nullopt;
  LoggedBuckets logged{.bytes = bytes, .remedy = {}};
  if (first_difference(assigned(workload, options, torch, in_ready_order), bytes))
    logged.remedy = remedy_for(log, bytes, workload, options, in_ready_order);
  return logged;
}

}  // namespace ddpsim
