// Packs activities and nodes into few bytes, finds them by time and unpacks them.
#include <algorithm>

#include "trace_limits.hpp"
#include "trace_records.hpp"

namespace ddpsim {
namespace {

// Flags in the bits above the thread of a packed activity.
constexpr std::uint16_t kNccl = 0x8000;
constexpr std::uint16_t kLongDuration = 0x4000;
constexpr std::uint16_t kLongDelay = 0x2000;

std::uint32_t short_duration(std::int64_t ns, bool& in_microseconds) {
  in_microseconds = ns > std::int64_t{UINT32_MAX};
  const std::int64_t value = in_microseconds ? ns / 1000 : ns;
  return static_cast<std::uint32_t>(std::min(value, std::int64_t{UINT32_MAX}));
}

}  // namespace

std::uint64_t TraceRecords::packed(std::int64_t time_ns) {
  constexpr std::int64_t kHalfRange = std::int64_t{1} << 47;
  if (!origin_ns_) origin_ns_ = time_ns;
  std::int64_t offset = 0;
  if (__builtin_sub_overflow(time_ns, *origin_ns_, &offset) || offset >= kHalfRange ||
      offset < -kHalfRange) {
    throw TraceLimit("its timestamps lie more than 39 hours apart");
  }
  return static_cast<std::uint64_t>(offset + kHalfRange);
}

std::int64_t TraceRecords::unpacked(std::uint32_t low, std::uint16_t high) const {
  constexpr std::int64_t kHalfRange = std::int64_t{1} << 47;
  return *origin_ns_ + (static_cast<std::int64_t>(high) << 32 | low) - kHalfRange;
}

TraceRecords::PackedActivity TraceRecords::pack_activity(const Launch& launch, const Orphan& gpu) {
  const std::uint64_t launched = packed(launch.start_ns);
  bool long_duration = false;
  const std::int64_t delay_ns = gpu.start_ns - launch.start_ns;  // both are within 39 hours
  const bool long_delay = delay_ns > INT32_MAX || delay_ns < INT32_MIN;
  const std::int64_t delay = long_delay ? delay_ns / 1000 : delay_ns;
  if (delay > INT32_MAX || delay < INT32_MIN) {
    throw TraceLimit("a GPU activity starts more than 35 minutes away from its launch");
  }
  PackedActivity record{};
  record.launch_low = static_cast<std::uint32_t>(launched);
  record.launch_high = static_cast<std::uint16_t>(launched >> 32);
  record.delay = static_cast<std::int32_t>(delay);
  record.duration = short_duration(gpu.duration_ns, long_duration);
  record.thread_and_flags = static_cast<std::uint16_t>(launch.thread | (gpu.kernel ? kNccl : 0) |
                                                       (long_duration ? kLongDuration : 0) |
                                                       (long_delay ? kLongDelay : 0));
  return record;
}

Activity TraceRecords::activity(std::size_t index) const {
  const PackedActivity& record = activities_[index];
  const auto in_ns = [&](std::uint16_t flag, std::int64_t value) {
    return (record.thread_and_flags & flag) != 0 ? value * 1000 : value;
  };
  Activity result;
  result.launch_ns = unpacked(record.launch_low, record.launch_high);
  result.start_ns = result.launch_ns + in_ns(kLongDelay, record.delay);
  result.end_ns = result.start_ns + in_ns(kLongDuration, record.duration);
  result.thread = record.thread_and_flags & kThreadBits;
  result.nccl = (record.thread_and_flags & kNccl) != 0;
  return result;
}

TraceRecords::PackedNode TraceRecords::pack_node(const TraceEvent& event) {
  const std::uint64_t start = packed(event.start_ns);
  bool in_microseconds = false;
  PackedNode node{};
  node.start_low = static_cast<std::uint32_t>(start);
  node.start_high = static_cast<std::uint16_t>(start >> 32);
  node.duration = short_duration(event.duration_ns, in_microseconds);
  node.thread = thread_index(event.thread);
  if (in_microseconds) node.thread |= kNodeInMicroseconds;
  return node;
}

HostSpan TraceRecords::unpack_node(const PackedNode& node) const {
  const std::int64_t start = unpacked(node.start_low, node.start_high);
  const std::int64_t unit = (node.thread & kNodeInMicroseconds) != 0 ? 1000 : 1;
  return {start, start + unit * std::int64_t{node.duration},
          static_cast<std::uint16_t>(node.thread & ~kNodeInMicroseconds)};
}

HostSpan TraceRecords::unpack_node(const PackedGradient& node) const {
  HostSpan span = unpack_node(static_cast<const PackedNode&>(node));
  span.shape = node.shape;
  return span;
}

template <typename Visit>
auto TraceRecords::visit(Node kind, Visit visit_list) const {
  switch (kind) {
    case Node::gradient:
      return visit_list(gradients_);
    case Node::gradient_with_hooks:
      return visit_list(gradients_with_hooks_);
    case Node::compiled:
      return visit_list(compiled_);
    case Node::held:
      return visit_list(held_);
    case Node::loading:
      return visit_list(loading_);
    case Node::any:
      break;
  }
  return visit_list(any_);
}

std::vector<HostSpan> TraceRecords::nodes(Node kind, std::int64_t from_ns,
                                          std::int64_t to_ns) const {
  return visit(kind, [&](const auto& list) {
    const auto start_of = [&](const PackedNode& node) {
      return unpacked(node.start_low, node.start_high);
    };
    auto at = std::partition_point(
        list.begin(), list.end(), [&](const PackedNode& node) { return start_of(node) < from_ns; });
    std::vector<HostSpan> found;
    for (; at != list.end() && start_of(*at) < to_ns; ++at) found.push_back(unpack_node(*at));
    return found;
  });
}

std::vector<InputOperator> TraceRecords::input_operators(std::int64_t from_ns,
                                                         std::int64_t to_ns) const {
  const std::vector<HostSpan> loading = nodes(Node::loading, from_ns, to_ns);
  std::vector<InputOperator> found;
  for (auto one = std::ranges::lower_bound(inputs_, from_ns, {}, &InputOperator::start_ns);
       one != inputs_.end() && one->start_ns < to_ns; ++one)
    if (std::ranges::none_of(loading, [&](const HostSpan& call) {
          return call.start_ns <= one->start_ns && one->start_ns < call.end_ns;
        }))
      found.push_back(*one);
  return found;
}

std::size_t TraceRecords::first_launched_at(std::int64_t time_ns) const {
  const auto launch_of = [&](const PackedActivity& record) {
    return unpacked(record.launch_low, record.launch_high);
  };
  const auto at = std::partition_point(
      activities_.begin(), activities_.end(),
      [&](const PackedActivity& record) { return launch_of(record) < time_ns; });
  return static_cast<std::size_t>(at - activities_.begin());
}

std::vector<Activity> TraceRecords::launched_within(const HostSpan& span) const {
  std::vector<Activity> found;
  const std::size_t end = first_launched_at(span.end_ns);
  for (std::size_t i = first_launched_at(span.start_ns); i < end; ++i) found.push_back(activity(i));
  return found;
}

std::size_t TraceRecords::node_count(Node kind) const {
  return visit(kind, [](const auto& list) { return list.size(); });
}

}  // namespace ddpsim
