#include "gradient_ready.hpp"

#include <algorithm>

#include "traced_collectives.hpp"

namespace ddpsim {
namespace {

using RecordedNode = TraceRecords::Node;

/// Backward compute in launch order, with the latest end so far. So the end of "the last activity"
/// is right even if activities of several streams overlap.
class LatestEnd {
 public:
  explicit LatestEnd(const std::vector<Activity>& in_launch_order) {
    for (const Activity& activity : in_launch_order) {
      launches_.push_back(activity.launch_ns);
      ends_.push_back(ends_.empty() ? activity.end_ns : std::max(ends_.back(), activity.end_ns));
    }
  }
  /// Absent if nothing was launched before.
  std::optional<std::int64_t> launched_before(std::int64_t host_ns) const {
    const auto behind = std::lower_bound(launches_.begin(), launches_.end(), host_ns);
    if (behind == launches_.begin()) return std::nullopt;
    return ends_[static_cast<std::size_t>(behind - launches_.begin()) - 1];
  }

 private:
  std::vector<std::int64_t> launches_;
  std::vector<std::int64_t> ends_;
};

/// The outer event around an inner AccumulateGrad.
const HostSpan* enclosing(const std::vector<HostSpan>& outer, const HostSpan& inner) {
  const HostSpan* span = last_before(outer, inner.start_ns, inner.thread);
  return span != nullptr && span->end_ns >= inner.end_ns ? span : nullptr;
}

std::vector<RecordedGradient> gradients_of(const TraceRecords& records, const HostSpan& span,
                                           const LatestEnd& latest, std::int64_t start_ns,
                                           std::int64_t last_node_ns) {
  const auto outer = records.nodes(RecordedNode::gradient_with_hooks, span.start_ns, span.end_ns);
  const auto nodes = records.nodes(RecordedNode::any, span.start_ns, span.end_ns);
  const auto compiled = records.nodes(RecordedNode::compiled, span.start_ns, span.end_ns);
  // After the last GPU node, the calling thread may run nodes of gradients on the CPU.
  const auto gpu_done = [&](std::int64_t host_ns) {
    return latest.launched_before(std::min(host_ns, last_node_ns)).value_or(start_ns);
  };
  std::vector<RecordedGradient> gradients;
  for (const HostSpan& inner : records.nodes(RecordedNode::gradient, span.start_ns, span.end_ns)) {
    RecordedGradient gradient;
    gradient.host_ns = inner.end_ns;
    gradient.tensor = records.shape(inner);
    const HostSpan* node = last_before(nodes, inner.start_ns, inner.thread);
    const HostSpan* whole = last_before(compiled, inner.start_ns, inner.thread);
    gradient.compiled = whole != nullptr && node->start_ns == whole->start_ns;
    // Nodes of several threads may overlap. A gradient is never ready before the previous one.
    gradient.ready_ns =
        std::max(gpu_done(inner.end_ns), gradients.empty() ? start_ns : gradients.back().ready_ns);
    if (const HostSpan* hooks = enclosing(outer, inner)) {
      gradient.hooks_end_ns = hooks->end_ns;
      gradient.copied_ns = std::max(gpu_done(hooks->end_ns), gradient.ready_ns);
    }
    gradients.push_back(gradient);
  }
  return gradients;
}

/// The type of all gradients, if it was recorded and is the same for all.
std::optional<Dtype> type_of_gradients(const std::vector<RecordedGradient>& gradients) {
  std::optional<Dtype> type;
  for (const RecordedGradient& gradient : gradients) {
    if (gradient.tensor == nullptr) return std::nullopt;
    if (!gradient.tensor->dtype) continue;  // the gradient stayed undefined
    if (type && type != gradient.tensor->dtype) return std::nullopt;
    type = gradient.tensor->dtype;
  }
  return type;
}

/// PyTorch's compression hooks cast a full bucket to 16 bits. Buckets are counted in the gradients'
/// type, as the cap counts them.
void note_casts(RecordedStep& step) {
  const std::optional<Dtype> own = type_of_gradients(step.gradients);
  const bool half = step.reduced == Dtype::float16 || step.reduced == Dtype::bfloat16;
  if (!half || (own != Dtype::float32 && own != Dtype::float64)) return;
  step.wire = step.reduced;
  for (Bytes& bytes : step.bucket_bytes)
    bytes = Bytes(bytes.count() / element_size(*step.wire)) * element_size(*own);
}

}  // namespace

std::optional<std::int64_t> first_activity(const TraceRecords& records, std::size_t step) {
  std::optional<std::int64_t> first;
  for (const Activity& activity : records.launched_within(records.steps()[step].span)) {
    if (!first || activity.start_ns < *first) first = activity.start_ns;
  }
  return first;
}

std::optional<RecordedStep> recorded_step(const TraceRecords& records, std::size_t index) {
  const StepMarker& marker = records.steps()[index];
  const std::vector<Activity> all = records.launched_within(marker.span);
  std::vector<Activity> backward;
  for (const Activity& activity : all) {
    if (!activity.nccl && records.is_autograd_thread(activity.thread)) backward.push_back(activity);
  }
  std::int64_t last_node_ns = marker.span.start_ns;
  for (const RecordedNode kind :
       {RecordedNode::any, RecordedNode::gradient_with_hooks, RecordedNode::gradient}) {
    for (const HostSpan& node : records.nodes(kind, marker.span.start_ns, marker.span.end_ns)) {
      if (records.is_autograd_thread(node.thread)) {
        last_node_ns = std::max(last_node_ns, node.end_ns);
      }
    }
  }
  const LatestEnd latest(backward);
  const auto compute_end = latest.launched_before(last_node_ns);
  if (!compute_end) return std::nullopt;

  RecordedStep step;
  step.name = marker.name;
  step.first_ns = all.front().start_ns;
  step.last_ns = all.front().end_ns;
  for (const Activity& activity : all) {
    step.first_ns = std::min(step.first_ns, activity.start_ns);
    step.last_ns = std::max(step.last_ns, activity.end_ns);
  }
  step.backward_start_ns = backward.front().start_ns;
  step.copies_end_ns = backward.front().end_ns;
  for (const Activity& activity : backward) {
    step.backward_start_ns = std::min(step.backward_start_ns, activity.start_ns);
    step.copies_end_ns = std::max(step.copies_end_ns, activity.end_ns);
  }
  step.backward_end_ns = *compute_end;
  step.backward_called_ns = backward.front().launch_ns;
  step.backward_returned_ns = last_node_ns;
  step.gradients = gradients_of(records, marker.span, latest, step.backward_start_ns, last_node_ns);
  if (step.gradients.empty()) return std::nullopt;
  step.busy = BusyTime(all);
  add_collectives(records, marker.span, step);
  note_casts(step);
  return step;
}

}  // namespace ddpsim
