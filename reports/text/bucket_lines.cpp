#include "bucket_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "text_layout.hpp"

namespace ddpsim {
namespace {

std::string choice_text(const BucketResult& bucket, Backend backend) {
  if (bucket.bytes == Bytes()) return "not sent";
  const std::optional<CollectiveChoice>& choice = bucket.choice;
  if (backend == Backend::gloo) return "ring";
  if (!choice) return "as recorded";
  return fmt::format("{} {} x{}", name_of(choice->algorithm), name_of(choice->protocol),
                     choice->channels);
}

constexpr std::size_t kMostBucketRows = 24;
constexpr std::size_t kBucketRowsAtStart = 12;

}  // namespace

std::string bucket_table(const StepResult& step, Backend backend, int digits,
                         const TerminalStyle& style) {
  const TimeUnit unit = unit_for(step.times.iteration);
  // Times that differ by this share of the step must be printed differently.
  constexpr double kApart = 0.01;
  std::vector<Duration> instants;
  for (const BucketResult& bucket : step.buckets)
    for (const TimePoint instant : {bucket.ready, bucket.launch, bucket.start, bucket.end})
      instants.push_back(instant.since_start());
  const int instant_digits =
      digits_apart(std::move(instants), digits, step.times.iteration.scaled(kApart), unit);
  const TimePoint backward_end = end_of_backward(step.times);
  Table table({{"bucket", Align::right},
               {"MiB", Align::right},
               {"bytes", Align::right, 5},
               {"tensors", Align::right, 6},
               {"ready", Align::decimal, 2},
               {"launch", Align::decimal, 4},
               {"start", Align::decimal},
               {"end", Align::decimal},
               {"transfer", Align::decimal, 1},
               {backend == Backend::gloo ? "gloo" : "NCCL", Align::left, 3},
               {"exposed", Align::left}});
  const auto time = [&](TimePoint t) { return time_number(t.since_start(), instant_digits, unit); };
  const std::size_t count = step.buckets.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (count > kMostBucketRows && i == kBucketRowsAtStart) {
      const std::size_t skipped = count - kMostBucketRows + 1;
      table.add_row({"…", "", "", "", "", "", "", "", "", "", fmt::format("{} more", skipped)});
      i += skipped - 1;
      continue;
    }
    const BucketResult& bucket = step.buckets[i];
    const bool stopped = bucket.end <= backward_end && !bucket.exposed_because.empty();
    const bool hidden = bucket.end <= backward_end && !stopped;
    const TimePoint exposed_from = stopped ? bucket.start : std::max(bucket.start, backward_end);
    table.add_row({std::to_string(i), mebibytes(bucket.bucket.bytes),
                   std::to_string(bucket.bucket.bytes.count()),
                   std::to_string(bucket.bucket.parameters.size()), time(bucket.ready),
                   time(bucket.launch), time(bucket.start), time(bucket.end),
                   time_number(bucket.end - bucket.last_arrival, digits, unit),
                   choice_text(bucket, backend),
                   hidden ? "hidden" : time_text(bucket.end - exposed_from, digits, unit)});
  }
  return wrapped(
             fmt::format("Buckets in launch order, times in {} from the start of forward (launch: "
                         "the host enqueues the all-reduce; start: it runs on the GPU):",
                         name_of(unit)),
             style.width, 2) +
         table.text(style);
}

std::string exposed_lines(const std::vector<BucketResult>& buckets, const TerminalStyle& style) {
  constexpr int kMostLines = 6;
  std::string lines;
  int written = 0;
  for (std::size_t i = 0; i < buckets.size();) {
    std::size_t last = i;
    while (last + 1 < buckets.size() &&
           buckets[last + 1].exposed_because == buckets[i].exposed_because) {
      ++last;
    }
    if (!buckets[i].exposed_because.empty() && ++written <= kMostLines) {
      const std::string which =
          i == last ? fmt::format("Bucket {}", i) : fmt::format("Buckets {} to {}", i, last);
      lines += wrapped(fmt::format("{} {} exposed: {}", which, i == last ? "is" : "are",
                                   printable(buckets[i].exposed_because)),
                       style.width, 2);
    }
    i = last + 1;
  }
  return lines;
}

}  // namespace ddpsim
