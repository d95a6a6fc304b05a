#include <fmt/core.h>

#include <algorithm>

#include "ddpsim/reports/reports.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

std::string_view why_closed(ClosedBy closed_by) {
  switch (closed_by) {
    case ClosedBy::limit:
      return "limit reached";
    case ClosedBy::end:
      return "no tensors left";
    case ClosedBy::sparse:
      return "sparse gradient";
  }
  return "";
}

std::string name_at(const Workload& workload, std::size_t index) {
  if (index >= workload.parameters.size() || workload.parameters[index].name.empty()) {
    return fmt::format("parameter {}", index);
  }
  return printable(workload.parameters[index].name);
}

std::string members(const Bucket& bucket, const Workload& workload) {
  if (bucket.parameters.empty()) return "";
  const std::string first = name_at(workload, bucket.parameters.front());
  if (bucket.parameters.size() == 1) return first;
  return fmt::format("{} .. {}", first, name_at(workload, bucket.parameters.back()));
}

std::string verdict(const std::vector<Bucket>& buckets) {
  if (buckets.empty()) return "No buckets: no parameter takes part in DDP.";
  Bytes bytes;
  std::size_t tensors = 0;
  for (const Bucket& bucket : buckets) {
    bytes += bucket.bytes;
    tensors += bucket.parameters.size();
  }
  return fmt::format("{} in launch order: {} of gradients, {} MiB ({} bytes).",
                     counted(buckets.size(), "bucket"), counted(tensors, "tensor"),
                     mebibytes(bytes), bytes.count());
}

std::string beside_logged(const std::vector<Bucket>& buckets, const LoggedBuckets& logged) {
  const std::optional<std::size_t> differs = first_difference(buckets, logged.bytes);
  if (!differs)
    return fmt::format("They match the {} DDP logged.", counted(logged.bytes.size(), "bucket"));
  const auto size = [&](bool here) {
    const std::size_t count = here ? buckets.size() : logged.bytes.size();
    if (*differs >= count) return std::string("none");
    const Bytes bytes = here ? buckets[*differs].bytes : logged.bytes[*differs];
    return fmt::format("{} bytes", bytes.count());
  };
  return fmt::format("They differ from the {} DDP logged, first in bucket {}: {} here, {} there.{}",
                     counted(logged.bytes.size(), "bucket"), *differs, size(true), size(false),
                     logged.remedy.empty() ? "" : " " + logged.remedy);
}

}  // namespace

std::string buckets_text(const std::vector<Bucket>& buckets, const Workload& workload,
                         const TerminalStyle& style, const std::optional<LoggedBuckets>& logged) {
  std::string text = bold(verdict(buckets), style) + '\n';
  if (logged) text += bold(beside_logged(buckets, *logged), style) + '\n';
  if (buckets.empty()) return text;
  const bool mixed = std::any_of(buckets.begin(), buckets.end(), [&](const Bucket& bucket) {
    return bucket.dtype != buckets.front().dtype;
  });
  std::vector<Column> columns = {{"bucket", Align::right},       {"tensors", Align::right, 1},
                                 {"MiB", Align::right},          {"bytes", Align::right, 2},
                                 {"limit MiB", Align::right, 3}, {"closed by", Align::left}};
  if (mixed) columns.push_back({"dtype"});
  columns.push_back({.head = "first .. last parameter", .shrinks = true});
  Table table(std::move(columns));
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const Bucket& bucket = buckets[i];
    const bool limited = bucket.closed_by != ClosedBy::sparse && bucket.limit != Bytes::max();
    std::vector<std::string> cells = {std::to_string(i),
                                      std::to_string(bucket.parameters.size()),
                                      mebibytes(bucket.bytes),
                                      std::to_string(bucket.bytes.count()),
                                      limited ? mebibytes(bucket.limit) : "none",
                                      std::string(why_closed(bucket.closed_by))};
    if (mixed) cells.emplace_back(name_of(bucket.dtype));
    cells.push_back(members(bucket, workload));
    table.add_row(std::move(cells));
  }
  return text + '\n' + table.text(style);
}

}  // namespace ddpsim
