#include "backward_passes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace ddpsim {
namespace {

/// What threads other than autograd's launch between two gradients.
struct Gap {
  std::size_t launches = 0;
  std::int64_t first_ns = 0;
};

Gap gap_between(const TraceRecords& records, std::int64_t from_ns, std::int64_t to_ns) {
  Gap gap;
  const std::size_t end = records.first_launched_at(to_ns);
  for (std::size_t i = records.first_launched_at(from_ns); i < end; ++i) {
    const Activity activity = records.activity(i);
    if (activity.nccl || records.is_autograd_thread(activity.thread)) continue;
    if (gap.launches++ == 0) gap.first_ns = activity.launch_ns;
  }
  return gap;
}

/// Index of the first gradient of each pass. Only one pass if the passes do not match.
std::vector<std::size_t> first_gradients(const std::vector<HostSpan>& gradients,
                                         const std::vector<Gap>& gaps) {
  const std::size_t most = std::ranges::max_element(gaps, {}, &Gap::launches)->launches;
  std::vector<std::size_t> firsts{0};
  for (std::size_t i = 1; i < gaps.size(); ++i)
    if (gaps[i].launches > 0 && 2 * gaps[i].launches >= most) firsts.push_back(i);
  const std::size_t length = gradients.size() / firsts.size();
  for (std::size_t p = 0; p < firsts.size(); ++p)
    if (firsts[p] != p * length) return {0};
  if (length * firsts.size() != gradients.size()) return {0};
  for (std::size_t i = length; i < gradients.size(); ++i)
    if (gradients[i].shape != gradients[i - length].shape) return {0};
  return firsts;
}

}  // namespace

std::vector<StepMarker> split_by_passes(const TraceRecords& records, const StepMarker& step) {
  const std::vector<HostSpan> gradients =
      records.nodes(TraceRecords::Node::gradient, step.span.start_ns, step.span.end_ns);
  if (gradients.size() < 2) return {step};
  std::vector<Gap> gaps;
  std::int64_t from_ns = step.span.start_ns;
  for (const HostSpan& gradient : gradients) {
    gaps.push_back(gap_between(records, from_ns, gradient.start_ns));
    from_ns = std::max(from_ns, gradient.end_ns);
  }
  const std::vector<std::size_t> firsts = first_gradients(gradients, gaps);
  if (firsts.size() == 1) return {step};
  std::vector<StepMarker> parts;
  for (std::size_t p = 0; p < firsts.size(); ++p) {
    StepMarker& part = parts.emplace_back(step);
    part.name = fmt::format("{} ({} of {})", step.name, p + 1, firsts.size());
    part.parts = firsts.size();
    if (p == 0) continue;
    const std::size_t first = firsts[p];
    part.span.start_ns =
        records.optimizer_end(gradients[first - 1].end_ns, gradients[first].start_ns)
            .value_or(gaps[first].first_ns);
    parts[p - 1].span.end_ns = part.span.start_ns;
  }
  return parts;
}

}  // namespace ddpsim
