#include "overlap_drawing.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "text_layout.hpp"

namespace ddpsim {
namespace {

constexpr std::string_view kComputeLabel = "  compute        ";
constexpr std::string_view kCommunicationLabel = "  communication  ";
constexpr int kLeastCells = 20;

struct DrawnPhase {
  std::string_view name;
  std::string_view shade;
  TimePoint start;
  TimePoint end;
};

/// Cells of one row, each a UTF-8 character.
class Row {
 public:
  Row(int cells, TimePoint begin, Duration length)
      : cells_(static_cast<std::size_t>(cells), " "), begin_(begin), length_(length) {}

  /// Fills at least one cell, so that short phases stay visible.
  void fill(TimePoint start, TimePoint end, std::string_view glyph) {
    const auto [first, last] = cells_of(start, end);
    for (std::size_t i = first; i < last; ++i) cells_[i] = glyph;
  }

  /// Writes the name in the middle of the phase, if it fits with a shaded cell on either side.
  void write(TimePoint start, TimePoint end, std::string_view name) {
    const auto [first, last] = cells_of(start, end);
    if (last - first < name.size() + 4) return;
    std::size_t at = first + (last - first - name.size()) / 2;
    cells_[at - 1] = " ";
    cells_[at + name.size()] = " ";
    for (const char c : name) cells_[at++] = std::string(1, c);
  }

  std::string text() const {
    std::string result;
    for (const std::string& cell : cells_) result += cell;
    return result;
  }

 private:
  std::pair<std::size_t, std::size_t> cells_of(TimePoint start, TimePoint end) const {
    const auto count = static_cast<double>(cells_.size());
    const auto cell = [&](TimePoint instant) {
      const double at = std::floor((instant - begin_) / length_ * count + 0.5);
      return static_cast<std::size_t>(std::clamp(at, 0.0, count));
    };
    const std::size_t first = std::min(cell(start), cells_.size() - 1);
    return {first, std::max(cell(end), first + 1)};
  }

  std::vector<std::string> cells_;
  TimePoint begin_;
  Duration length_;
};

/// 0 to 9, then a to z, then again from 0.
std::string glyph_of(std::size_t bucket) {
  constexpr std::string_view kGlyphs = "0123456789abcdefghijklmnopqrstuvwxyz";
  return std::string(1, kGlyphs[bucket % kGlyphs.size()]);
}

std::string_view glyph_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_gather:
      return "g";
    case CollectiveKind::reduce_scatter:
      return "r";
    case CollectiveKind::all_reduce:
      return "a";
    default:
      return "b";
  }
}

/// The optimizer's phase. If its start and end are not known, it follows everything that precedes
/// it in the step.
DrawnPhase optimizer_of(const StepResult& step) {
  if (step.optimizer_start < step.optimizer_end)
    return {"optimizer", "▓", step.optimizer_start, step.optimizer_end};
  const StepTimes& times = step.times;
  const TimePoint start = end_of_backward(times) + times.exposed_communication -
                          times.exposed_in_backward + times.finalize;
  return {"optimizer", "▓", start, start + times.optimizer};
}

}  // namespace

std::string overlap_drawing(const SimulationResult& result, const TerminalStyle& style,
                            int digits) {
  const StepTimes& times = result.step.times;
  const DrawnPhase optimizer = optimizer_of(result.step);
  // Draws one period of the pipeline: the part of forward that overlaps the previous step lies
  // before `begin`.
  const TimePoint begin(times.forward_ahead);
  Duration length = std::max(times.iteration, optimizer.end + times.model_averaging - begin);
  for (const BucketResult& bucket : result.step.buckets) {
    length = std::max(length, bucket.end - begin);
  }
  const int cells = style.width - static_cast<int>(kComputeLabel.size()) - 2;
  if (length <= Duration() || cells < kLeastCells) return "";

  // The phases of a GPU of usual speed. After backward come its waits for the slowest GPU and for
  // SyncBatchNorm's exchanges.
  const TimePoint forward_end = begin + times.forward;
  const TimePoint backward_end = forward_end + times.backward;
  Row compute(cells, begin, length);
  for (const DrawnPhase& phase :
       {DrawnPhase{"forward", "░", begin, forward_end},
        DrawnPhase{"backward", "▒", forward_end, backward_end},
        DrawnPhase{"", "·", backward_end, end_of_backward(times)}, optimizer,
        DrawnPhase{"averaging", "·", optimizer.end, optimizer.end + times.model_averaging}}) {
    if (phase.start >= phase.end) continue;
    compute.fill(phase.start, phase.end, phase.shade);
    if (!phase.name.empty()) compute.write(phase.start, phase.end, phase.name);
  }
  Row communication(cells, begin, length);
  for (std::size_t i = 0; i < result.step.buckets.size(); ++i) {
    const BucketResult& bucket = result.step.buckets[i];
    if (bucket.start < bucket.last_arrival) {
      communication.fill(bucket.start, bucket.last_arrival, "·");
    }
    communication.fill(bucket.last_arrival, bucket.end, glyph_of(i));
  }
  if (result.step.buckets.empty())
    for (const CollectiveResult& collective : result.step.collectives)
      communication.fill(collective.last_arrival, collective.end, glyph_of(collective.kind));
  const std::string end = time_text(length, digits);
  const int gap = std::max(1, cells - 1 - static_cast<int>(display_width(end)));
  return fmt::format("{}│{}│\n{}│{}│\n{}0{}{}\n", kComputeLabel, compute.text(),
                     kCommunicationLabel, communication.text(),
                     std::string(kComputeLabel.size() + 1, ' '),
                     std::string(static_cast<std::size_t>(gap), ' '), end);
}

}  // namespace ddpsim
