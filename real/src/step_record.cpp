#include "step_record.hpp"

#include <algorithm>
#include <cstdint>

#include "ddpsim/formats/number.hpp"

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

/// Numbers until the text ends; then zeros.
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

}  // namespace

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
  add(Track::compute, "forward", step.forward_begin, step.backward_begin);
  add(Track::compute, "backward", step.backward_begin, step.backward_end);
  for (std::size_t i = 0; i < step.buckets.size(); ++i) {
    const BucketRecord& bucket = step.buckets[i];
    add(Track::host, "launch", bucket.launch_begin, bucket.launch_end, i);
    add(Track::communication, "all_reduce", bucket.start, bucket.end, i);
    add(Track::compute, "copy out of bucket", bucket.copy_out_begin, bucket.copy_out_end, i);
  }
  add(Track::compute, "optimizer", step.optimizer_begin, step.optimizer_end);
  std::stable_sort(spans.begin(), spans.end(),
                   [](const Span& a, const Span& b) { return a.start < b.start; });
  return spans;
}

void move_times(StepRecord& step, const std::function<TimePoint(TimePoint)>& moved) {
  for (TimePoint* instant : {&step.forward_begin, &step.backward_begin, &step.backward_end,
                             &step.optimizer_begin, &step.optimizer_end})
    *instant = moved(*instant);
  for (BucketRecord& bucket : step.buckets)
    for (TimePoint* instant :
         {&bucket.ready, &bucket.launch_begin, &bucket.launch_end, &bucket.start, &bucket.end,
          &bucket.copy_out_begin, &bucket.copy_out_end})
      *instant = moved(*instant);
}

std::string pack(const std::vector<StepRecord>& steps) {
  Writer writer;
  for (const StepRecord& step : steps) {
    for (const TimePoint instant : {step.forward_begin, step.backward_begin, step.backward_end,
                                    step.optimizer_begin, step.optimizer_end})
      writer.put(instant);
    writer.put(static_cast<std::int64_t>(step.buckets.size()));
    for (const BucketRecord& bucket : step.buckets) {
      writer.put(bucket.bytes.count());
      for (const TimePoint instant :
           {bucket.ready, bucket.launch_begin, bucket.launch_end, bucket.start, bucket.end,
            bucket.done, bucket.copy_out_begin, bucket.copy_out_end})
        writer.put(instant);
      writer.put(static_cast<std::int64_t>(bucket.parameters.size()));
      for (const std::size_t parameter : bucket.parameters)
        writer.put(static_cast<std::int64_t>(parameter));
    }
  }
  return std::move(writer).take();
}

std::vector<StepRecord> unpack(std::string_view text) {
  std::vector<StepRecord> steps;
  for (Reader reader(text); reader.more();) {
    StepRecord& step = steps.emplace_back();
    for (TimePoint* instant : {&step.forward_begin, &step.backward_begin, &step.backward_end,
                               &step.optimizer_begin, &step.optimizer_end})
      *instant = reader.instant();
    const std::size_t buckets = reader.count();
    for (std::size_t i = 0; i < buckets && reader.more(); ++i) {
      BucketRecord& bucket = step.buckets.emplace_back();
      bucket.bytes = Bytes(reader.number());
      for (TimePoint* instant :
           {&bucket.ready, &bucket.launch_begin, &bucket.launch_end, &bucket.start, &bucket.end,
            &bucket.done, &bucket.copy_out_begin, &bucket.copy_out_end})
        *instant = reader.instant();
      const std::size_t parameters = reader.count();
      for (std::size_t p = 0; p < parameters && reader.more(); ++p)
        bucket.parameters.push_back(reader.count());
    }
  }
  return steps;
}

}  // namespace ddpsim
