// The table in the format of all_reduce_perf or another *_perf of nccl-tests, so that prediction
// and measurement can be compared line by line.
#include <fmt/format.h>

#include "ddpsim/reports/reports.hpp"
#include "ddpsim/sim/values/size_text.hpp"
#include "report_lines.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

/// A time as nccl-tests prints it, with fewer decimals for large numbers.
std::string microseconds(Duration time) {
  const double us = time.microseconds();
  return fmt::format("{:.{}f}", us, us < 100 ? 2 : us < 10000 ? 1 : 0);
}

/// Number of fp32 elements; for all-gather and reduce-scatter, those of each rank's part.
std::int64_t count_of(const AllReduceTable& table, Bytes size) {
  constexpr int kFp32 = 4;
  return size.count() / kFp32 / (ring_phases(table.collective) == 1 ? table.ranks : 1);
}

std::string_view redop_of(CollectiveKind collective) {
  switch (collective) {
    case CollectiveKind::all_reduce:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::reduce:
      break;
    case CollectiveKind::broadcast:
    case CollectiveKind::all_gather:
    case CollectiveKind::send_recv:
      return "none";
  }
  return "sum";
}

int root_of(CollectiveKind collective) {
  const bool rooted =
      collective == CollectiveKind::broadcast || collective == CollectiveKind::reduce;
  return rooted ? 0 : -1;
}

/// Turns every line into a comment, so that readers of nccl-tests logs can read the output.
std::string commented(const std::string& lines) {
  std::string text;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = lines.find('\n', at);
    const std::string line = lines.substr(at, end - at);
    text += (line.empty() ? "#" : "# " + line) + '\n';
    at = end == std::string::npos ? lines.size() : end + 1;
  }
  return text;
}

std::string side_by_side(const AllReduceTable& table, const TerminalStyle& style) {
  if (table.rows.empty() || !table.rows.front().other_ways) return "";
  const auto time = [](const std::optional<Duration>& of) {
    return of ? microseconds(*of) : std::string("-");
  };
  std::string text =
      "#\n# Side by side, us: what NCCL chose, a ring, a tree, a reduce and then a broadcast.\n#\n";
  const std::string head = fmt::format("{:>12} {:>9} {:>9} {:>9} {:>17}", "size", "chosen", "ring",
                                       "tree", "reduce+broadcast");
  text += "#" + bold(head.substr(1), style) + '\n';
  for (const AllReduceRow& row : table.rows)
    text += fmt::format("#{:>11} {:>9} {:>9} {:>9} {:>17}\n", row.size.count(),
                        microseconds(row.time), time(row.other_ways->ring),
                        time(row.other_ways->tree), microseconds(row.other_ways->reduce_broadcast));
  return text;
}

}  // namespace

std::string allreduce_text(const AllReduceReport& report, const TerminalStyle& style) {
  const AllReduceTable& table = report.table;
  const CollectiveKind kind = table.collective;
  TerminalStyle inner = style;
  inner.width = style.width - static_cast<int>(kIndent);
  std::string verdict = fmt::format(
      "{}{} on {}: predicted, not measured",
      kind == CollectiveKind::all_reduce ? std::string() : fmt::format("{} of ", name_of(kind)),
      counted(static_cast<std::uint64_t>(table.ranks), "GPU"), printable(report.cluster.name));
  if (!table.rows.empty()) {
    const AllReduceRow& last = table.rows.back();
    verdict += fmt::format("; {} GB/s busbw at {}",
                           significant(busbw_gbps(last.size, last.time, table.ranks, kind),
                                       digits_of(table.confidence.grade)),
                           size_text(last.size));
  }
  std::string text = commented(wrapped(verdict + '.', inner.width, kIndent));
  text += fmt::format("# NCCL {}, out of place\n#\n", to_string(report.nccl));
  const std::string head =
      fmt::format("{:>12} {:>13} {:>7} {:>6} {:>6} {:>9} {:>7} {:>7} {:>9} {:>9}  {:13} {:8} {:>8}",
                  "size", "count", "type", "redop", "root", "time", "algbw", "busbw", "low", "high",
                  "algorithm", "protocol", "channels");
  text += "#" + bold(head.substr(1), style) + '\n';
  text += fmt::format("#{:>11} {:>13} {:>7} {:>6} {:>6} {:>9} {:>7} {:>7} {:>9} {:>9}\n", "(B)",
                      "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "(us)", "(us)");
  for (const AllReduceRow& row : table.rows) {
    text += fmt::format(
        "{:>12} {:>13} {:>7} {:>6} {:>6} {:>9} {:>7.2f} {:>7.2f} {:>9} {:>9}  {:13} {:8} {:>8}\n",
        row.size.count(), count_of(table, row.size), "float", redop_of(kind), root_of(kind),
        microseconds(row.time), algbw_gbps(row.size, row.time),
        busbw_gbps(row.size, row.time, table.ranks, kind), microseconds(row.low),
        microseconds(row.high), name_of(row.choice.algorithm), name_of(row.choice.protocol),
        row.choice.channels);
  }
  text += side_by_side(table, style);
  // One rank transfers nothing, so it needs no interval.
  if (!table.rows.empty() && table.ranks > 1)
    text += "#\n" + commented(interval_line(table.confidence, table.rows.back().time, inner,
                                            "of the largest size") +
                              interval_reasons(table.confidence, inner) +
                              next_measurement(table.confidence, inner));
  return text + commented(warning_lines(report.warnings, inner));
}

}  // namespace ddpsim
