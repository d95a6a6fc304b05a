// Describes buckets: their times, and why each one is exposed.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "summary.hpp"

namespace ddpsim {
namespace {

/// Buckets described so far. `latest_ends[k]` is the latest end of buckets 0 to k.
struct DescribedBuckets {
  std::vector<BucketResult> results;
  std::vector<TimePoint> latest_ends;

  void add(BucketResult result) {
    latest_ends.push_back(latest_ends.empty() ? result.end
                                              : std::max(latest_ends.back(), result.end));
    results.push_back(std::move(result));
  }
};

/// Names the bucket that this one had to wait for or shares the link with. Process groups and
/// gloo's threads can run several collectives at once. If several buckets qualify equally, the last
/// one is named. There may be 100,000 buckets, so the search stops when no earlier bucket can end
/// later than the one found.
std::string because_of_others(const BucketResult& bucket, const DescribedBuckets& described) {
  const std::vector<BucketResult>& before = described.results;
  const TimePoint asked = std::max(bucket.ready, bucket.launch);
  const BucketResult* queued_behind = nullptr;
  const BucketResult* beside = nullptr;
  for (std::size_t k = before.size(); k-- > 0;) {
    const TimePoint needed = queued_behind != nullptr ? queued_behind->end : asked;
    if (described.latest_ends[k] <= needed) break;
    const BucketResult& other = before[k];
    if (other.end <= asked || other.end == other.start) continue;
    const BucketResult*& found = other.end <= bucket.start ? queued_behind : beside;
    if (found == nullptr || other.end > found->end) found = &other;
  }
  if (queued_behind == &before.back()) return "queued behind the previous bucket";
  if (queued_behind != nullptr)
    return fmt::format("queued behind bucket {}", queued_behind - before.data());
  if (beside != nullptr)
    return fmt::format("shares the link with bucket {}", beside - before.data());
  return "";
}

std::string why_exposed(const BucketResult& bucket, const DescribedBuckets& before,
                        TimePoint backward_end, bool ready_last) {
  if (bucket.end <= backward_end || bucket.end == bucket.start) return "";
  if (!before.results.empty())
    if (std::string others = because_of_others(bucket, before); !others.empty()) return others;
  if (bucket.last_arrival > bucket.start && bucket.last_arrival > backward_end)
    return fmt::format("waited for rank {}", bucket.last_rank);
  if (ready_last) return "its last gradient ends backward, so no compute is left to hide it";
  if (bucket.launch > bucket.ready && bucket.launch >= backward_end)
    return "launched late: the host was behind";
  return "takes longer than the rest of backward";
}

/// Notes the times of a bucket's collectives. A bucket that sends nothing ends when the hook has
/// returned it.
void note_collectives(const PlannedStep& planned, const Execution& execution,
                      const BucketCollectives& all_reduces, BucketResult& result) {
  if (all_reduces.collectives.empty()) {
    result.start = result.last_arrival = result.end = std::max(result.ready, result.launch);
    return;
  }
  const auto size_of = [&](std::uint32_t index) {
    return planned.schedule.collectives[index].size;
  };
  const std::uint32_t largest = *std::ranges::max_element(all_reduces.collectives, {}, size_of);
  const CollectiveTime& first = execution.collectives[all_reduces.collectives.front()];
  result.start = first.starts.front();
  result.last_arrival = first.last_arrival;
  result.last_rank = planned.schedule.ranks[first.last].rank;
  result.end = execution.collectives[all_reduces.collectives.back()].end;
  result.choice = planned.collectives[largest].choice;
}

}  // namespace

std::vector<BucketResult> describe_buckets(const PlannedStep& planned, const Execution& execution,
                                           const std::vector<Bucket>& buckets) {
  const Program& program = planned.schedule.ranks.front().compute;
  const std::vector<OperationTime>& compute = execution.ranks.front().compute;
  const TimePoint backward_end = end_of_backward(program, compute);
  TimePoint last_ready;
  for (const std::size_t operation : planned.ready_operation)
    if (!compute.empty()) last_ready = std::max(last_ready, compute[operation].end);

  DescribedBuckets described;
  described.results.reserve(buckets.size());
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    const BucketCollectives& all_reduces = planned.buckets[b];
    BucketResult result;
    result.bucket = buckets[b];
    result.unit = fmt::format("bucket {}", b);
    result.all_reduces = all_reduces.sizes;
    for (const Bytes size : all_reduces.sizes) result.bytes += size;
    if (!compute.empty()) result.ready = compute[planned.ready_operation[b]].end;
    result.launch = execution.ranks.front().host[planned.launch_operation[b]].end;
    note_collectives(planned, execution, all_reduces, result);
    result.exposed_because = planned.hook_waits ? "backward waits for its communication hook"
                                                : why_exposed(result, described, backward_end,
                                                              result.ready == last_ready);
    described.add(std::move(result));
  }
  return std::move(described.results);
}

}  // namespace ddpsim
