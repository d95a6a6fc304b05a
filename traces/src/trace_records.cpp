#include "trace_records.hpp"

#include <algorithm>
#include <stdexcept>

#include "other_recorders.hpp"
#include "trace_limits.hpp"
#include "trace_names.hpp"

namespace ddpsim {
namespace {

/// "AddmmBackward", "AddmmBackward0": how nodes appear without evaluate_function.
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
  packed(event.start_ns);  // throws if the records cannot hold it
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

void TraceRecords::note_process(const TraceEvent& event) {
  if (device_name_.empty())
    device_name_ = event.name == "process_labels" ? device_of_label(event.label)
                                                  : device_of_process(event.label);
  if (profiler_name_.empty()) profiler_name_ = profiler_of_process(event.label);
  processes_.note_label(event);
}

void TraceRecords::add_host_operation(const TraceEvent& event) {
  const std::string_view name = event.name;
  if (event.kind == EventKind::cpu_op) processes_.note_operator(event);
  host_operations_ += event.kind == EventKind::cpu_op ? 1 : 0;
  note_name(name.starts_with(kEvaluate) ? name.substr(kEvaluate.size()) : name);
  if (name.starts_with(kEvaluate)) {
    note_node(event, name.substr(kEvaluate.size()));
  } else if (name == kAccumulateGrad) {
    gradients_.push_back({pack_node(event), shapes_.index(event.dims, event.types)});
  } else if (name.starts_with(kStepMarker)) {
    if (processes_.found().empty() && std::ranges::any_of(steps_, [&](const StepMarker& known) {
          return known.name == event.name && known.span.start_ns != event.start_ns;
        }))
      processes_.note_repeated_step(event);
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
    // An older record_param_comms names no operation, and waiting is not a collective.
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
  // With evaluate_function, nodes need not be recognised by their operations.
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
  // Only calls that put work on the GPU: launches, copies and sets of CUDA, its driver API and HIP.
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
    processes_.note_reduction(kernels_.back(), event);
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
  activities_.push_back(pack_activity(launch, gpu));
  constexpr std::int64_t kClockError_ns = 1000;  // timestamps may be whole microseconds
  if (gpu.start_ns - launch.start_ns < -kClockError_ns) ++early_;
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
  // Sorts in place, because a stable sort would need half as much memory again.
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

std::optional<std::int64_t> TraceRecords::first_device() const {
  if (devices_.empty()) return std::nullopt;
  return devices_.front();
}

std::uint16_t TraceRecords::thread_index(std::string_view written) {
  // Events of one thread often come one after the other.
  if (last_thread_ < threads_.size() && threads_[last_thread_] == written) return last_thread_;
  const auto found = std::find(threads_.begin(), threads_.end(), written);
  const auto index = static_cast<std::size_t>(found - threads_.begin());
  if (found == threads_.end()) {
    if (threads_.size() == kThreadBits) throw TraceLimit("more than 8191 host threads");
    threads_.emplace_back(written);
    autograd_threads_.push_back(false);
    calling_threads_.push_back(false);
  }
  last_thread_ = static_cast<std::uint16_t>(index);
  return last_thread_;
}

}  // namespace ddpsim
