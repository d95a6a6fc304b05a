#include "trace_records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "ddpsim/formats/quote.hpp"
#include "other_recorders.hpp"
#include "trace_limits.hpp"
#include "trace_names.hpp"

namespace ddpsim {
namespace {

// Above the thread of a packed activity.
constexpr std::uint16_t kNccl = 0x8000;
constexpr std::uint16_t kLongDuration = 0x4000;
constexpr std::uint16_t kLongDelay = 0x2000;
constexpr std::uint16_t kThread = 0x1fff;
constexpr std::size_t kMostThreads = kThread;

std::uint32_t short_duration(std::int64_t ns, bool& in_microseconds) {
  in_microseconds = ns > std::int64_t{UINT32_MAX};
  const std::int64_t value = in_microseconds ? ns / 1000 : ns;
  return static_cast<std::uint32_t>(std::min(value, std::int64_t{UINT32_MAX}));
}

/// "AddmmBackward", "AddmmBackward0": how nodes show where evaluate_function does not.
bool is_backward_operation(std::string_view name) {
  constexpr std::string_view kBackward = "Backward";
  const std::size_t behind = name.find_last_not_of("0123456789");
  if (behind == std::string_view::npos || behind + 1 < kBackward.size()) return false;
  return name.substr(behind + 1 - kBackward.size(), kBackward.size()) == kBackward;
}

template <typename List, typename Key>
void sort_by(List& list, Key key) {
  std::stable_sort(list.begin(), list.end(),
                   [&](const auto& a, const auto& b) { return key(a) < key(b); });
}

}  // namespace

void TraceRecords::add(const TraceEvent& event) {
  if (event.kind == EventKind::process) {
    note_process(event);
    return;
  }
  if (event.kind == EventKind::python) {
    note_name(event.name);
    return;
  }
  if (event.kind == EventKind::allocation) {
    allocations_.add(event);
    return;
  }
  ++events_;
  packed(event.start_ns);  // refuses what the records cannot hold
  packed(event.end_ns());
  first_ns_ = std::min(first_ns_, event.start_ns);
  last_ns_ = std::max(last_ns_, event.end_ns());
  switch (event.kind) {
    case EventKind::cpu_op:
    case EventKind::annotation:
      add_host_operation(event);
      break;
    case EventKind::runtime:
      add_launch(event);
      break;
    case EventKind::kernel:
    case EventKind::memory:
      add_gpu_activity(event);
      break;
    case EventKind::legacy:
      ++legacy_events_;
      break;
    case EventKind::other_device:
      ++other_device_;
      if (device_name_.empty()) device_name_ = event.device_name;
      break;
    case EventKind::process:
    case EventKind::python:
    case EventKind::allocation:
    case EventKind::other:
      break;
  }
}

void TraceRecords::note_name(std::string_view name) {
  if (const auto scheme = named_scheme(name)) {
    std::string& first = named_[static_cast<std::size_t>(*scheme)];
    if (first.empty()) first = name;
  }
}

/// Rows of GPUs, streams and spans have process numbers of their own; one process is labelled "CPU".
void TraceRecords::note_process(const TraceEvent& event) {
  if (device_name_.empty())
    device_name_ = event.name == "process_labels" ? device_of_label(event.label)
                                                  : device_of_process(event.label);
  if (profiler_name_.empty()) profiler_name_ = profiler_of_process(event.label);
  if (event.name != "process_labels" || event.label != "CPU") return;
  if (cpu_process_.empty()) cpu_process_ = event.process;
  if (cpu_process_ != event.process && several_processes_.empty())
    several_processes_ = fmt::format("two processes ({} and {}) are labelled \"CPU\"",
                                     in_quotes(cpu_process_), in_quotes(event.process));
}

/// A profiler records the operators of its own process.
void TraceRecords::note_process_of(const TraceEvent& event) {
  if (event.process.empty() || host_process_ == event.process) return;
  if (host_process_.empty()) {
    host_process_ = event.process;
  } else if (several_processes_.empty()) {
    several_processes_ = fmt::format("operators of two processes ({} and {}) are in it",
                                     in_quotes(host_process_), in_quotes(event.process));
  }
}

/// A step is marked once.
void TraceRecords::note_repeated_step(const TraceEvent& event) {
  if (!several_processes_.empty()) return;
  for (const StepMarker& known : steps_)
    if (known.name == event.name && known.span.start_ns != event.start_ns) {
      several_processes_ = fmt::format("{} is in it twice", in_quotes(event.name));
      return;
    }
}

/// A rank of DDP all-reduces on one GPU.
void TraceRecords::note_device_of(const Collective& kernel, const TraceEvent& event) {
  if (kernel.operation != "allreduce" || !event.device) return;
  if (!reducing_device_) reducing_device_ = event.device;
  if (*reducing_device_ != *event.device && several_processes_.empty())
    several_processes_ =
        fmt::format("all-reduces run on GPUs {} and {}", *reducing_device_, *event.device);
}

void TraceRecords::add_host_operation(const TraceEvent& event) {
  const std::string_view name = event.name;
  if (event.kind == EventKind::cpu_op) note_process_of(event);
  host_operations_ += event.kind == EventKind::cpu_op ? 1 : 0;
  note_name(name.starts_with(kEvaluate) ? name.substr(kEvaluate.size()) : name);
  if (name.starts_with(kEvaluate)) {
    note_node(event, name.substr(kEvaluate.size()));
  } else if (name == kAccumulateGrad) {
    gradients_.push_back({pack_node(event), shapes_.index(event.dims, event.types)});
  } else if (name.starts_with(kStepMarker)) {
    note_repeated_step(event);
    steps_.push_back(
        {std::string(name), {event.start_ns, event.end_ns(), thread_index(event.thread)}, 1});
    calling_threads_[steps_.back().span.thread] = true;
  } else if (name.starts_with(kOptimizerStep)) {
    optimizers_.push_back({event.start_ns, event.end_ns(), thread_index(event.thread)});
    calling_threads_[optimizers_.back().thread] = true;
  } else if (name.starts_with(kDataLoading)) {
    loading_.push_back(pack_node(event));
    loads_in_workers_ = loads_in_workers_ || contains(name, kWorkersLoad);
  } else if (name == kCommsOperation || is_nccl_call(name)) {
    Collective call = collective_of_call(event);
    // An older record_param_comms says nothing, and waiting is no collective.
    if (call.operation.empty() || call.operation == "wait") return;
    call.thread = thread_index(event.thread);
    if (!calls_.empty() && absorb(calls_.back(), call)) return;
    calls_.push_back(std::move(call));
  } else if (name.starts_with(kReducerPrefix) || name == kCopyOut || name == kDdpForward) {
    ddp_hooks_ = true;
  } else if (const auto kind = input_operator(name)) {
    if (const auto input = input_operator_of(*kind, event.dims, event.start_ns))
      inputs_.push_back(*input);
  } else if (!evaluate_seen_ && is_backward_operation(name)) {
    any_.push_back(pack_node(event));
  }
}

void TraceRecords::note_node(const TraceEvent& event, std::string_view node) {
  // Since there is evaluate_function, nodes need not be known by their operations.
  if (!evaluate_seen_) any_.clear();
  evaluate_seen_ = true;
  const PackedNode record = pack_node(event);
  if (node == kAccumulateGrad) {
    gradients_with_hooks_.push_back(record);
    return;
  }
  any_.push_back(record);
  if (node.starts_with(kCompiledBackward)) compiled_.push_back(record);
}

void TraceRecords::note_held(const TraceEvent& event) {
  const std::string_view name = event.name;
  // A graph of many kernels takes long to launch by itself.
  const bool enqueues = (contains(name, "Launch") && !contains(name, "GraphLaunch")) ||
                        contains(name, "Memcpy") || contains(name, "Memset");
  if (contains(name, "Synchronize") || (enqueues && event.duration_ns >= kHeld_ns))
    held_.push_back(pack_node(event));
}

void TraceRecords::add_launch(const TraceEvent& event) {
  note_held(event);
  // Only calls that put work on the GPU: launches, copies and sets, of CUDA, its driver and HIP.
  if (!event.correlation) return;
  if (!contains(event.name, "Launch") && !contains(event.name, "Memcpy") &&
      !contains(event.name, "Memset")) {
    return;
  }
  ++launches_seen_;
  const Launch launch{event.start_ns, thread_index(event.thread)};
  const std::int64_t correlation = *event.correlation;
  const auto [first, last] = orphans_.equal_range(correlation);
  const bool graph = contains(event.name, "GraphLaunch");
  for (auto orphan = first; orphan != last; ++orphan) join(launch, orphan->second);
  const bool joined = first != last;
  orphans_.erase(first, last);
  graph_launched_ = graph_launched_ || graph;
  if (graph) {
    graph_launches_.emplace(correlation, launch);
  } else if (!joined) {
    launches_.insert_or_assign(correlation, launch);
  }
}

void TraceRecords::add_gpu_activity(const TraceEvent& event) {
  ++gpu_activities_;
  if (event.device &&
      std::find(devices_.begin(), devices_.end(), *event.device) == devices_.end()) {
    devices_.push_back(*event.device);
  }
  if (!event.correlation) {
    ++unlaunched_;
    return;
  }
  Orphan gpu{event.start_ns, event.duration_ns, std::nullopt};
  if (event.kind == EventKind::kernel && is_nccl_kernel(event.name)) {
    gpu.kernel = kernels_.size();
    kernels_.push_back(collective_of_kernel(event));
    note_device_of(kernels_.back(), event);
  }
  if (const auto launch = launches_.find(*event.correlation); launch != launches_.end()) {
    join(launch->second, gpu);
    launches_.erase(launch);
  } else if (const auto graph = graph_launches_.find(*event.correlation);
             graph != graph_launches_.end()) {
    join(graph->second, gpu);
  } else {
    orphans_.emplace(*event.correlation, gpu);
  }
}

void TraceRecords::join(const Launch& launch, const Orphan& gpu) {
  const std::uint64_t launched = packed(launch.start_ns);
  bool long_duration = false;
  const std::int64_t delay_ns = gpu.start_ns - launch.start_ns;  // both lie within 39 hours
  const bool long_delay = delay_ns > INT32_MAX || delay_ns < INT32_MIN;
  const std::int64_t delay = long_delay ? delay_ns / 1000 : delay_ns;
  if (delay > INT32_MAX || delay < INT32_MIN) {
    throw TraceLimit("a GPU activity starts more than 35 minutes away from its launch");
  }
  constexpr std::int64_t kClockError_ns = 1000;  // timestamps may be whole microseconds
  if (delay_ns < -kClockError_ns) ++early_;
  PackedActivity record{};
  record.launch_low = static_cast<std::uint32_t>(launched);
  record.launch_high = static_cast<std::uint16_t>(launched >> 32);
  record.delay = static_cast<std::int32_t>(delay);
  record.duration = short_duration(gpu.duration_ns, long_duration);
  record.thread_and_flags = static_cast<std::uint16_t>(launch.thread | (gpu.kernel ? kNccl : 0) |
                                                       (long_duration ? kLongDuration : 0) |
                                                       (long_delay ? kLongDelay : 0));
  activities_.push_back(record);
  if (gpu.kernel) {
    kernels_[*gpu.kernel].launch_ns = launch.start_ns;
    kernels_[*gpu.kernel].thread = launch.thread;
  }
}

void TraceRecords::finish() {
  allocations_.finish();
  unlaunched_ += static_cast<std::int64_t>(orphans_.size());
  // A kernel whose launch was not recorded belongs to no step.
  std::vector<bool> orphaned(kernels_.size());
  for (const auto& [correlation, gpu] : orphans_) {
    if (gpu.kernel) orphaned[*gpu.kernel] = true;
  }
  std::deque<Collective> launched;
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    if (!orphaned[i]) launched.push_back(std::move(kernels_[i]));
  }
  kernels_ = std::move(launched);
  orphans_.clear();
  launches_.clear();
  graph_launches_.clear();

  const auto launch_key = [](const PackedActivity& a) {
    return static_cast<std::uint64_t>(a.launch_high) << 32 | a.launch_low;
  };
  // In place: a stable sort would take half as much memory again.
  std::sort(activities_.begin(), activities_.end(),
            [&](const PackedActivity& a, const PackedActivity& b) {
              if (launch_key(a) != launch_key(b)) return launch_key(a) < launch_key(b);
              return a.delay < b.delay;
            });
  const auto node_key = [](const PackedNode& node) {
    return static_cast<std::uint64_t>(node.start_high) << 32 | node.start_low;
  };
  const auto by_start = [&](const PackedNode& a, const PackedNode& b) {
    return node_key(a) < node_key(b);
  };
  for (std::deque<PackedNode>* list :
       {&any_, &compiled_, &gradients_with_hooks_, &held_, &loading_}) {
    std::sort(list->begin(), list->end(), by_start);
  }
  std::sort(gradients_.begin(), gradients_.end(), by_start);
  sort_by(inputs_, [](const InputOperator& one) { return one.start_ns; });
  sort_by(kernels_, [](const Collective& one) { return one.launch_ns; });
  sort_by(calls_, [](const Collective& one) { return one.start_ns; });
  calls_ = joined_calls(std::move(calls_));
  describe_kernels(kernels_, calls_);
  find_autograd_threads();
  find_steps();
  divide_steps();
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
  result.thread = record.thread_and_flags & kThread;
  result.nccl = (record.thread_and_flags & kNccl) != 0;
  return result;
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

std::optional<std::int64_t> TraceRecords::first_device() const {
  if (devices_.empty()) return std::nullopt;
  return devices_.front();
}

std::uint16_t TraceRecords::thread_index(std::string_view written) {
  // Events of one thread come in long runs.
  if (last_thread_ < threads_.size() && threads_[last_thread_] == written) return last_thread_;
  const auto found = std::find(threads_.begin(), threads_.end(), written);
  const auto index = static_cast<std::size_t>(found - threads_.begin());
  if (found == threads_.end()) {
    if (threads_.size() == kMostThreads) throw TraceLimit("more than 8191 host threads");
    threads_.emplace_back(written);
    autograd_threads_.push_back(false);
    calling_threads_.push_back(false);
  }
  last_thread_ = static_cast<std::uint16_t>(index);
  return last_thread_;
}

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

}  // namespace ddpsim
