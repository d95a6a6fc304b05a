#include "traced_collectives.hpp"

#include <algorithm>
#include <utility>

namespace ddpsim {
namespace {

using RecordedNode = TraceRecords::Node;

class Sorter {
 public:
  Sorter(const TraceRecords& records, const HostSpan& span, RecordedStep& step)
      : records_(records),
        span_(span),
        step_(step),
        nodes_(records.nodes(RecordedNode::any, span.start_ns, span.end_ns)),
        compiled_nodes_(records.nodes(RecordedNode::compiled, span.start_ns, span.end_ns)) {}

  void run() {
    for (const Collective& kernel : records_.kernels())
      if (within(kernel.launch_ns)) add_kernel(kernel);
    add_calls();
    step_.sync_batchnorm =
        step_.other_all_reduces > 0 && !records_.named(NamedScheme::sync_batch_norm).empty();
    if (step_.reducer.empty()) {
      take_other_all_reduces();
    } else if (!records_.ddp_hooks() && not_the_reducers()) {
      step_.reduced_by = ReducedBy::hooks;
    }
  }

 private:
  bool within(std::int64_t time_ns) const {
    return time_ns >= span_.start_ns && time_ns < span_.end_ns;
  }
  bool in_backward(const Collective& kernel) const {
    return records_.is_autograd_thread(kernel.thread) ||
           (kernel.launch_ns >= step_.backward_called_ns &&
            kernel.launch_ns < step_.backward_returned_ns);
  }
  bool is_reducers(const Collective& one, std::int64_t called_ns) const {
    if (one.operation != "allreduce" || one.integers) return false;
    const HostSpan* node = last_before(nodes_, called_ns, one.thread);
    return node == nullptr || called_ns >= node->end_ns;
  }

  void add_kernel(const Collective& kernel) {
    ++step_.nccl_kernels;
    step_.collectives.push_back(kernel);
    const bool by_autograd = records_.is_autograd_thread(kernel.thread);
    const bool reduces = kernel.operation == "allreduce" && !kernel.integers;
    if ((kernel.all_reduces || reduces) && !(by_autograd && reduces) && !kernel.integers &&
        in_backward(kernel) && step_.unclaimed++ == 0)
      step_.unclaimed_operation = kernel.operation;
    if (by_autograd && is_reducers(kernel, kernel.launch_ns)) {
      step_.reducer.push_back(kernel);
    } else if (by_autograd && reduces) {
      ++step_.other_all_reduces;
      const HostSpan* node = last_before(compiled_nodes_, kernel.launch_ns, kernel.thread);
      if (node != nullptr && kernel.launch_ns < node->end_ns) compiled_.push_back(kernel);
    } else if (!by_autograd && kernel.operation == "broadcast" &&
               kernel.start_ns < step_.backward_start_ns) {
      step_.broadcasts.push_back(kernel);
    } else if (!by_autograd && reduces) {
      if (kernel.launch_ns >= step_.backward_returned_ns) behind_.push_back(kernel);
      forward_ += kernel.launch_ns < step_.backward_called_ns ? 1 : 0;
    }
  }

  void add_calls() {
    std::vector<Collective> sized_calls;
    for (const Collective& call : records_.calls()) {
      if (!within(call.start_ns)) continue;
      step_.calls.push_back(call);
      if (!records_.is_autograd_thread(call.thread) || !is_reducers(call, call.start_ns)) continue;
      step_.last_bucket_ns = call.start_ns;
      if (call.bytes) sized_calls.push_back(call);
    }
    const std::vector<Collective>& sized = sized_calls.empty() ? step_.reducer : sized_calls;
    for (const Collective& one : sized)
      if (one.bytes) step_.bucket_bytes.push_back(*one.bytes);
    const bool alike = std::ranges::all_of(
        sized, [&](const Collective& one) { return one.dtype == sized.front().dtype; });
    if (!sized.empty() && alike) step_.reduced = sized.front().dtype;
  }

  /// Assigns other all-reduces to the gradients. All-reduces in forward belong to tensor-parallel
  /// ranks, and then those of backward do too.
  void take_other_all_reduces() {
    if (forward_ == 0 && carry_gradients(compiled_, step_)) {
      step_.other_all_reduces -= static_cast<std::int64_t>(compiled_.size());
      step_.reducer = std::move(compiled_);
      step_.reduced_by = ReducedBy::compiled;
    } else if (carry_gradients(behind_, step_)) {
      step_.reducer = std::move(behind_);
      step_.reduced_by = ReducedBy::script;
    }
  }

  /// No sign of DDP: one all-reduce for each gradient, or a program with a reducer of its own.
  bool not_the_reducers() const {
    const std::size_t gradients = step_.gradients.size();
    return (gradients > 1 && step_.reducer.size() == gradients) ||
           !records_.named(NamedScheme::deepspeed).empty() ||
           !records_.named(NamedScheme::megatron).empty();
  }

  const TraceRecords& records_;
  const HostSpan& span_;
  RecordedStep& step_;
  std::vector<HostSpan> nodes_;
  std::vector<HostSpan> compiled_nodes_;
  std::vector<Collective> compiled_;  ///< all-reduces that compiled nodes call
  std::vector<Collective> behind_;    ///< all-reduces that other threads call after backward
  std::int64_t forward_ = 0;          ///< all-reduces before backward
};

}  // namespace

const HostSpan* last_before(const std::vector<HostSpan>& spans, std::int64_t time_ns,
                            std::uint16_t thread) {
  auto at = std::upper_bound(
      spans.begin(), spans.end(), time_ns,
      [](std::int64_t time, const HostSpan& span) { return time < span.start_ns; });
  while (at != spans.begin()) {
    --at;
    if (at->thread == thread) return &*at;
  }
  return nullptr;
}

void add_collectives(const TraceRecords& records, const HostSpan& span, RecordedStep& step) {
  Sorter(records, span, step).run();
}

std::optional<std::int64_t> elements_of(const std::vector<Collective>& collectives) {
  std::int64_t elements = 0;
  for (const Collective& one : collectives) {
    if (!one.bytes || !one.dtype) return std::nullopt;
    if (__builtin_add_overflow(elements, one.bytes->count() / element_size(*one.dtype), &elements))
      return std::nullopt;
  }
  return elements;
}

bool carry_gradients(const std::vector<Collective>& collectives, const RecordedStep& step) {
  return !collectives.empty() &&
         elements_of(collectives).value_or(std::ssize(collectives)) >= std::ssize(step.gradients);
}

}  // namespace ddpsim
