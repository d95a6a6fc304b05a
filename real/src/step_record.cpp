#include "step_record.hpp"

#include <algorithm>
#include <cstdint>

#include "ddpsim/formats/number.hpp"
#include "ddpsim/sim/engine/schedule.hpp"

namespace ddpsim {
namespace {

class Writer {
 public:
  void put(std::int64_t value) { text_ += std::to_string(value) += ' '; }
  void put(TimePoint instant) { put(instant.since_start().picoseconds()); }
  std::string take() && { return std::move(text_); }

 private:
  std::string text_;
};

/// Reads numbers until the text ends, then zeros.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  bool more() const { return text_.find_first_not_of(' ') != std::string_view::npos; }
  std::int64_t number() {
    while (!text_.empty() && text_.front() == ' ') text_.remove_prefix(1);
    const auto value = take_number<std::int64_t>(text_);
    if (!value) text_ = {};
    return value.value_or(0);
  }
  std::size_t count() { return static_cast<std::size_t>(std::max<std::int64_t>(0, number())); }
  TimePoint instant() { return TimePoint(Duration::picoseconds(number())); }

 private:
  std::string_view text_;
};

/// Calls `use` for every time of the batch, in a fixed order.
template <typename Use>
void each_instant(MicroBatchRecord& batch, Use use) {
  for (TimePoint* instant : {&batch.forward_begin, &batch.backward_begin, &batch.backward_end})
    use(*instant);
}

template <typename Use>
void each_instant(BucketRecord& bucket, Use use) {
  for (TimePoint* instant :
       {&bucket.ready, &bucket.launch_begin, &bucket.launch_end, &bucket.start, &bucket.end,
        &bucket.done, &bucket.copy_out_begin, &bucket.copy_out_end})
    use(*instant);
}

template <typename Use>
void each_own_instant(StepRecord& step, Use use) {
  for (TimePoint* instant : {&step.forward_begin, &step.backward_begin, &step.backward_end,
                             &step.optimizer_begin, &step.optimizer_end, &step.end, &step.map_start,
                             &step.map_end, &step.awaits_map, &step.has_map})
    use(*instant);
}

}  // namespace

Duration StepRecord::forward() const {
  Duration sum = backward_begin - forward_begin;
  for (const MicroBatchRecord& batch : accumulated)
    sum += batch.backward_begin - batch.forward_begin;
  return sum;
}

std::array<std::pair<TimePoint, TimePoint>, 2> StepRecord::copies_out(
    const BucketRecord& bucket) const {
  const auto within = [&](TimePoint instant) {
    return std::clamp(instant, bucket.copy_out_begin, bucket.copy_out_end);
  };
  if (has_map == awaits_map)
    return {
        {{bucket.copy_out_begin, bucket.copy_out_end}, {bucket.copy_out_end, bucket.copy_out_end}}};
  return {{{bucket.copy_out_begin, within(awaits_map)}, {within(has_map), bucket.copy_out_end}}};
}

Duration StepRecord::backward() const {
  Duration sum = backward_end - backward_begin;
  for (const MicroBatchRecord& batch : accumulated)
    sum += batch.backward_end - batch.backward_begin;
  return sum;
}

std::vector<StepRecord> complete_steps(std::vector<StepRecord> steps) {
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) steps[i].end = steps[i + 1].begin();
  if (!steps.empty()) steps.pop_back();
  return steps;
}

std::vector<Span> spans_of(const StepRecord& step, TimePoint zero) {
  std::vector<Span> spans;
  const auto add = [&spans, zero](Track track, const char* name, TimePoint begin, TimePoint end,
                                  std::optional<std::size_t> bucket = std::nullopt) {
    if (end <= begin) return;
    spans.push_back({.track = track,
                     .name = name,
                     .bucket = bucket,
                     .start = TimePoint(begin - zero),
                     .end = TimePoint(end - zero)});
  };
  for (const MicroBatchRecord& batch : step.accumulated) {
    add(Track::compute, "forward", batch.forward_begin, batch.backward_begin);
    add(Track::compute, "backward", batch.backward_begin, batch.backward_end);
  }
  add(Track::compute, "forward", step.forward_begin, step.backward_begin);
  add(Track::compute, "backward", step.backward_begin, step.backward_end);
  for (std::size_t i = 0; i < step.buckets.size(); ++i) {
    const BucketRecord& bucket = step.buckets[i];
    add(Track::host, "launch", bucket.launch_begin, bucket.launch_end, i);
    add(Track::communication, "all_reduce", bucket.start, bucket.end, i);
    for (const auto& [begin, end] : step.copies_out(bucket))
      add(Track::compute, "copy out of bucket", begin, end, i);
  }
  add(Track::communication, name_of(OperationKind::local_used_map).data(), step.map_start,
      step.map_end);
  add(Track::compute, "optimizer", step.optimizer_begin, step.optimizer_end);
  std::stable_sort(spans.begin(), spans.end(),
                   [](const Span& a, const Span& b) { return a.start < b.start; });
  return spans;
}

void move_times(StepRecord& step, const std::function<TimePoint(TimePoint)>& moved) {
  const auto move = [&moved](TimePoint& instant) { instant = moved(instant); };
  each_own_instant(step, move);
  for (MicroBatchRecord& batch : step.accumulated) each_instant(batch, move);
  for (BucketRecord& bucket : step.buckets) each_instant(bucket, move);
}

std::string pack(std::vector<StepRecord> steps) {
  Writer writer;
  const auto put = [&writer](const TimePoint& instant) { writer.put(instant); };
  const auto put_count = [&writer](std::size_t count) {
    writer.put(static_cast<std::int64_t>(count));
  };
  for (StepRecord& step : steps) {
    each_own_instant(step, put);
    put_count(step.accumulated.size());
    for (MicroBatchRecord& batch : step.accumulated) each_instant(batch, put);
    put_count(step.buckets.size());
    for (BucketRecord& bucket : step.buckets) {
      writer.put(bucket.bytes.count());
      each_instant(bucket, put);
      put_count(bucket.parameters.size());
      for (const std::size_t parameter : bucket.parameters) put_count(parameter);
    }
  }
  return std::move(writer).take();
}

std::vector<StepRecord> unpack(std::string_view text) {
  std::vector<StepRecord> steps;
  Reader reader(text);
  const auto take = [&reader](TimePoint& instant) { instant = reader.instant(); };
  while (reader.more()) {
    StepRecord& step = steps.emplace_back();
    each_own_instant(step, take);
    const std::size_t accumulated = reader.count();
    for (std::size_t i = 0; i < accumulated && reader.more(); ++i)
      each_instant(step.accumulated.emplace_back(), take);
    const std::size_t buckets = reader.count();
    for (std::size_t i = 0; i < buckets && reader.more(); ++i) {
      BucketRecord& bucket = step.buckets.emplace_back();
      bucket.bytes = Bytes(reader.number());
      each_instant(bucket, take);
      const std::size_t parameters = reader.count();
      for (std::size_t p = 0; p < parameters && reader.more(); ++p)
        bucket.parameters.push_back(reader.count());
    }
  }
  return steps;
}

}  // namespace ddpsim
