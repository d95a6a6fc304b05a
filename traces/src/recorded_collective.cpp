#include "recorded_collective.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <utility>
#include <vector>

#include "recorded_tensor.hpp"

namespace ddpsim {
namespace {

constexpr std::string_view kCallPrefix = "nccl:";
constexpr std::int64_t kMostRanks = 1'000'000'000;
constexpr std::int64_t kMostBlocks = 1024;  // NCCL has used at most 64

/// Fills in what the kernel or the outer call does not state.
void complete(Collective& one, const Collective& call) {
  if (!one.bytes) one.bytes = call.bytes;
  if (!one.dtype) one.dtype = call.dtype;
  if (one.group.empty()) one.group = call.group;
  if (!one.sequence) one.sequence = call.sequence;
  if (one.group_size == 0) one.group_size = call.group_size;
  one.integers = one.integers || call.integers;
}

/// A common spelling for "all_reduce", "allreduce" and "_all_gather_base". PyTorch's
/// allreduce_coalesced and allreduce_sparse reduce tensors like allreduce. all_reduce_barrier keeps
/// its name, because it reduces nothing of the script's.
std::string operation_of(std::string_view name) {
  std::string operation;
  for (const char c : name) {
    if (c != '_') operation += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (operation == "allreducecoalesced" || operation == "allreducesparse") return "allreduce";
  return operation;
}

std::string operation_of_kernel(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kOperations[] = {
      {"AllReduce", "allreduce"}, {"Broadcast", "broadcast"},         {"AllGather", "allgather"},
      {"Reduce_", "reduce"},      {"ReduceScatter", "reducescatter"}, {"SendRecv", "sendrecv"}};
  for (const auto& [part, operation] : kOperations) {
    if (name.find(part) != std::string_view::npos) return std::string(operation);
  }
  return "other";
}

Collective collective_of(const TraceEvent& event) {
  Collective result;
  result.operation = operation_of(event.collective);
  result.group = event.group;
  if (event.sequence && *event.sequence >= 0) result.sequence = event.sequence;
  result.group_size = std::clamp<std::int64_t>(event.group_size.value_or(0), 0, kMostRanks);
  result.start_ns = event.start_ns;
  result.end_ns = event.end_ns();
  if (const auto dtype = dtype_from_recorded(event.dtype)) {
    result.dtype = dtype;
    result.integers = is_integer(*dtype);
    if (event.elements && *event.elements >= 0) {
      result.bytes = bytes_of({{*event.elements}, dtype});
    }
  }
  return result;
}

}  // namespace

bool is_nccl_kernel(std::string_view name) {
  return name.starts_with("nccl") || name.starts_with("void nccl") || name.starts_with("rccl");
}

bool is_nccl_call(std::string_view name) {
  return name.starts_with(kCallPrefix);
}

Collective collective_of_kernel(const TraceEvent& event) {
  Collective result = collective_of(event);
  result.all_reduces = operation_of_kernel(event.name) == "allreduce";
  if (result.operation.empty()) result.operation = operation_of_kernel(event.name);
  result.channels = std::clamp<std::int64_t>(event.blocks.value_or(0), 0, kMostBlocks);
  return result;
}

Collective collective_of_call(const TraceEvent& event) {
  Collective result = collective_of(event);
  if (!is_nccl_call(event.name)) return result;
  result.operation = operation_of(event.name.substr(kCallPrefix.size()));
  if (result.operation.starts_with("alltoall")) return result;  // its parts differ between ranks
  if (const auto tensor = first_input(event.dims, event.types); tensor && tensor->dtype) {
    result.bytes = bytes_of(*tensor);
    result.dtype = tensor->dtype;
    result.integers = is_integer(*tensor->dtype);
  }
  return result;
}

bool absorb(Collective& outer, const Collective& call) {
  if (outer.thread != call.thread || outer.operation != call.operation ||
      call.start_ns < outer.start_ns || call.end_ns > outer.end_ns) {
    return false;
  }
  complete(outer, call);
  return true;
}

std::deque<Collective> joined_calls(std::deque<Collective> calls) {
  std::deque<Collective> joined;
  std::vector<std::optional<std::size_t>> last;  // by thread
  for (Collective& call : calls) {
    if (last.size() <= call.thread) last.resize(std::size_t{call.thread} + 1);
    std::optional<std::size_t>& before = last[call.thread];
    if (before && absorb(joined[*before], call)) continue;
    before = joined.size();
    joined.push_back(std::move(call));
  }
  return joined;
}

void describe_kernels(std::deque<Collective>& kernels, const std::deque<Collective>& calls) {
  std::vector<bool> used(calls.size());
  for (Collective& kernel : kernels) {
    auto call = std::upper_bound(
        calls.begin(), calls.end(), kernel.launch_ns,
        [](std::int64_t launch, const Collective& one) { return launch < one.start_ns; });
    while (call != calls.begin() && (--call)->thread != kernel.thread) {
    }
    if (call == calls.end() || call->thread != kernel.thread || call->start_ns > kernel.launch_ns ||
        call->end_ns < kernel.launch_ns) {
      continue;
    }
    const auto index = static_cast<std::size_t>(call - calls.begin());
    if (!used[index]) {  // several kernels share the bytes of one call
      kernel.operation = call->operation;
      complete(kernel, *call);
    }
    used[index] = true;
  }
}

}  // namespace ddpsim
