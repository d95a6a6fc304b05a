#include "ddpsim/reports/timeline_difference.hpp"

#include <algorithm>

namespace ddpsim {
namespace {

const RankTimeline* rank_of(const Timeline& timeline, int rank) {
  for (const RankTimeline& one : timeline.ranks)
    if (one.rank == rank) return &one;
  return nullptr;
}

void widen(std::optional<Extent>& extent, const Span& span) {
  if (!extent) {
    extent = Extent{span.start, span.end};
    return;
  }
  extent->start = std::min(extent->start, span.start);
  extent->end = std::max(extent->end, span.end);
}

/// Whether the rank has a span of this name and track without a bucket.
bool without_bucket(const RankTimeline& rank, const Span& like) {
  return std::any_of(rank.spans.begin(), rank.spans.end(), [&like](const Span& span) {
    return span.track == like.track && span.name == like.name && !span.bucket;
  });
}

/// Adds the spans of `rank` to one side of the rows. If one timeline does not tell buckets apart,
/// spans merge into one row.
void add(std::vector<SpanDifference>& rows, const RankTimeline& rank, const RankTimeline& other,
         std::optional<Extent> SpanDifference::*side) {
  for (const Span& span : rank.spans) {
    const bool whole = without_bucket(rank, span) || without_bucket(other, span);
    const std::optional<std::size_t> bucket = whole ? std::nullopt : span.bucket;
    auto row = std::find_if(rows.begin(), rows.end(), [&](const SpanDifference& one) {
      return one.track == span.track && one.name == span.name && one.bucket == bucket;
    });
    if (row == rows.end()) {
      rows.push_back({.track = span.track, .name = span.name, .bucket = bucket});
      row = rows.end() - 1;
    }
    widen((*row).*side, span);
  }
}

Extent extent_of(const RankTimeline& rank) {
  std::optional<Extent> extent;
  for (const Span& span : rank.spans) widen(extent, span);
  return extent.value_or(Extent{});
}

}  // namespace

std::optional<TimelineDifference> difference(const Timeline& predicted, const Timeline& measured,
                                             const std::string& source) {
  std::optional<int> lowest;
  for (const RankTimeline& rank : predicted.ranks)
    if (rank_of(measured, rank.rank) != nullptr && (!lowest || rank.rank < *lowest))
      lowest = rank.rank;
  if (!lowest) return std::nullopt;
  const RankTimeline& ours = *rank_of(predicted, *lowest);
  const RankTimeline& theirs = *rank_of(measured, *lowest);
  TimelineDifference result{.source = source,
                            .rank = *lowest,
                            .predicted = extent_of(ours),
                            .measured = extent_of(theirs),
                            .spans = {}};
  add(result.spans, ours, theirs, &SpanDifference::predicted);
  add(result.spans, theirs, ours, &SpanDifference::measured);
  return result;
}

}  // namespace ddpsim
