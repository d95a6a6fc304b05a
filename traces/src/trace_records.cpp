#include "trace_records.hpp"

#include <algorithm>
#include <stdexcept>

#include "trace_limits.hpp"

namespace ddpsim {
namespace {

constexpr std::uint16_t kNccl = 1;
constexpr std::uint16_t kInMicroseconds = 2;
constexpr std::uint16_t kNodeInMicroseconds = 0x8000;
constexpr std::size_t kMostThreads = 0x7fff;

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_nccl_kernel(std::string_view name) {
  return starts_with(name, "nccl") || starts_with(name, "void nccl");
}

/// "ncclKernel_AllReduce_RING_LL_Sum_float(…)", "ncclDevKernel_Broadcast_…"
std::string operation_of_kernel(std::string_view name) {
  if (contains(name, "AllReduce")) return "allreduce";
  if (contains(name, "Broadcast")) return "broadcast";
  if (contains(name, "AllGather")) return "allgather";
  if (contains(name, "ReduceScatter")) return "reduce_scatter";
  if (contains(name, "SendRecv")) return "sendrecv";
  return "other";
}

struct CommsType {
  std::string_view name;  ///< c10's ScalarType
  std::int64_t size;
  bool integer;
};
constexpr CommsType kCommsTypes[] = {
    {"Float", 4, false}, {"Half", 2, false}, {"BFloat16", 2, false},     {"Double", 8, false},
    {"Long", 8, true},   {"Int", 4, true},   {"Short", 2, true},         {"Char", 1, true},
    {"Byte", 1, true},   {"Bool", 1, true},  {"ComplexFloat", 8, false},
};

constexpr std::int64_t kMostChannels = 1024;  // NCCL has had at most 64

Collective collective_of(const TraceEvent& event) {
  Collective result;
  result.operation = event.collective;
  for (const CommsType& type : kCommsTypes) {
    if (type.name != event.dtype) continue;
    result.integers = type.integer;
    std::int64_t bytes = 0;
    if (event.elements && *event.elements >= 0 &&
        !__builtin_mul_overflow(*event.elements, type.size, &bytes)) {
      result.bytes = Bytes(bytes);
    }
  }
  result.channels = std::clamp<std::int64_t>(event.blocks.value_or(0), 0, kMostChannels);
  result.start_ns = event.start_ns;
  result.end_ns = event.end_ns();
  return result;
}

std::uint32_t short_duration(std::int64_t ns, bool& in_microseconds) {
  in_microseconds = ns > std::int64_t{UINT32_MAX};
  const std::int64_t value = in_microseconds ? ns / 1000 : ns;
  return static_cast<std::uint32_t>(std::min(value, std::int64_t{UINT32_MAX}));
}

template <typename List>
void sort_by_start(List& list) {
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
}

}  // namespace

void TraceRecords::add(const TraceEvent& event) {
  ++events_;
  packed(event.start_ns);  // refuses what the records cannot hold
  packed(event.end_ns());
  switch (event.kind) {
    case EventKind::cpu_op:
      add_host_operation(event);
      break;
    case EventKind::annotation:
      if (starts_with(event.name, "ProfilerStep")) {
        steps_.push_back({std::string(event.name),
                          {event.start_ns, event.end_ns(), thread_index(event.thread)}});
      }
      break;
    case EventKind::runtime:
      add_launch(event);
      break;
    case EventKind::kernel:
    case EventKind::memory:
      add_gpu_activity(event);
      break;
    case EventKind::other:
      break;
  }
}

void TraceRecords::add_host_operation(const TraceEvent& event) {
  constexpr std::string_view kNode = "autograd::engine::evaluate_function: ";
  constexpr std::string_view kAccumulate = "torch::autograd::AccumulateGrad";
  if (starts_with(event.name, kNode)) {
    const std::string_view node = event.name.substr(kNode.size());
    const PackedNode record = pack_node(event);
    autograd_threads_[record.thread & ~kNodeInMicroseconds] = true;
    if (node == kAccumulate) {
      gradients_with_hooks_.push_back(record);
    } else {
      any_.push_back(record);
      if (starts_with(node, "CompiledFunctionBackward")) compiled_ = true;
    }
  } else if (event.name == kAccumulate) {
    gradients_.push_back(pack_node(event));
  } else if (event.name == "record_param_comms") {
    Collective call = collective_of(event);
    call.thread = thread_index(event.thread);
    calls_.push_back(std::move(call));
  } else if (starts_with(event.name, "torch::distributed::reducer::") ||
             event.name == "torch.distributed.ddp.reducer::copy_bucket_to_grad") {
    ddp_hooks_ = true;
  }
}

void TraceRecords::add_launch(const TraceEvent& event) {
  // Only calls that put work on the GPU: launches, copies and sets, of CUDA, its driver and HIP.
  if (!event.correlation) return;
  if (!contains(event.name, "Launch") && !contains(event.name, "Memcpy") &&
      !contains(event.name, "Memset")) {
    return;
  }
  const Launch launch{event.start_ns, thread_index(event.thread)};
  const std::int64_t correlation = *event.correlation;
  const auto [first, last] = orphans_.equal_range(correlation);
  const bool graph = contains(event.name, "GraphLaunch");
  for (auto orphan = first; orphan != last; ++orphan) join(launch, orphan->second);
  const bool joined = first != last;
  orphans_.erase(first, last);
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
    kernels_.push_back(collective_of(event));
    if (kernels_.back().operation.empty()) {
      kernels_.back().operation = operation_of_kernel(event.name);
    }
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
  const std::uint64_t started = packed(gpu.start_ns);
  bool in_microseconds = false;
  PackedActivity record{};
  record.launch_low = static_cast<std::uint32_t>(launched);
  record.launch_high = static_cast<std::uint16_t>(launched >> 32);
  record.start_low = static_cast<std::uint32_t>(started);
  record.start_high = static_cast<std::uint16_t>(started >> 32);
  record.duration = short_duration(gpu.duration_ns, in_microseconds);
  record.thread = launch.thread;
  record.flags = static_cast<std::uint16_t>((gpu.kernel ? kNccl : 0) |
                                            (in_microseconds ? kInMicroseconds : 0));
  activities_.push_back(record);
  if (gpu.kernel) {
    kernels_[*gpu.kernel].launch_ns = launch.start_ns;
    kernels_[*gpu.kernel].thread = launch.thread;
  }
}

void TraceRecords::finish() {
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
  const auto start_key = [](const PackedActivity& a) {
    return static_cast<std::uint64_t>(a.start_high) << 32 | a.start_low;
  };
  std::sort(activities_.begin(), activities_.end(),
            [&](const PackedActivity& a, const PackedActivity& b) {
              if (launch_key(a) != launch_key(b)) return launch_key(a) < launch_key(b);
              return start_key(a) < start_key(b);
            });
  for (std::deque<PackedNode>* list : {&any_, &gradients_, &gradients_with_hooks_}) {
    std::sort(list->begin(), list->end(), [&](const PackedNode& a, const PackedNode& b) {
      if (a.start_high != b.start_high) return a.start_high < b.start_high;
      return a.start_low < b.start_low;
    });
  }
  std::stable_sort(steps_.begin(), steps_.end(), [](const StepMarker& a, const StepMarker& b) {
    return a.span.start_ns < b.span.start_ns;
  });
  std::stable_sort(kernels_.begin(), kernels_.end(), [](const Collective& a, const Collective& b) {
    return a.launch_ns < b.launch_ns;
  });
  sort_by_start(calls_);
}

Activity TraceRecords::activity(std::size_t index) const {
  const PackedActivity& record = activities_[index];
  Activity result;
  result.launch_ns = unpacked(record.launch_low, record.launch_high);
  result.start_ns = unpacked(record.start_low, record.start_high);
  const std::int64_t unit = (record.flags & kInMicroseconds) != 0 ? 1000 : 1;
  result.end_ns = result.start_ns + unit * std::int64_t{record.duration};
  result.thread = record.thread;
  result.nccl = (record.flags & kNccl) != 0;
  return result;
}

std::vector<HostSpan> TraceRecords::nodes(Node kind, std::int64_t from_ns,
                                          std::int64_t to_ns) const {
  const std::deque<PackedNode>& list = list_of(kind);
  const auto start_of = [&](const PackedNode& node) {
    return unpacked(node.start_low, node.start_high);
  };
  auto at = std::partition_point(list.begin(), list.end(),
                                 [&](const PackedNode& node) { return start_of(node) < from_ns; });
  std::vector<HostSpan> found;
  for (; at != list.end() && start_of(*at) < to_ns; ++at) found.push_back(unpack_node(*at));
  return found;
}

std::size_t TraceRecords::node_count(Node kind) const {
  return list_of(kind).size();
}

const std::deque<TraceRecords::PackedNode>& TraceRecords::list_of(Node kind) const {
  if (kind == Node::gradient) return gradients_;
  return kind == Node::gradient_with_hooks ? gradients_with_hooks_ : any_;
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
    if (threads_.size() == kMostThreads) throw TraceLimit("more than 32767 host threads");
    threads_.emplace_back(written);
    autograd_threads_.push_back(false);
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

}  // namespace ddpsim
