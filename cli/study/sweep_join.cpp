#include "sweep_join.hpp"

#include <fmt/format.h>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/formats/sweep_file.hpp"
#include "ddpsim/reports/sweep_report.hpp"

namespace ddpsim {
namespace {

struct Read {
  const SweepPart* part = nullptr;
  SweepFile sweep;
};

[[noreturn]] void fail(const SweepPart& part, std::string message, Hint hint) {
  throw InputError(
      {.file = part.file, .where = "", .message = std::move(message), .hint = std::move(hint)});
}

Read read_part(const SweepPart& part) {
  std::optional<SweepFile> sweep = read_sweep(part.text, part.file);
  if (!sweep) fail(part, "is not a sweep", "Expected what `ddpsim sweep STUDY -o FILE` writes");
  return {&part, std::move(*sweep)};
}

std::string shard_text(const Read& read) {
  const auto& shard = read.sweep.header.shard;
  return shard ? fmt::format("shard {}/{}", shard->index, shard->of) : "not a shard";
}

/// Returns the part that should contain a point, if that part is present.
const Read* should_hold(const std::vector<Read>& parts, std::size_t point) {
  for (const Read& read : parts)
    if (read.sweep.header.shard.value_or(Shard()).holds(point)) return &read;
  return nullptr;
}

[[noreturn]] void fail_missing(const std::vector<Read>& parts, std::size_t point) {
  if (const Read* unfinished = should_hold(parts, point))
    fail(*unfinished->part, fmt::format("ends before point {}", point),
         "Run its sweep again, which continues where it ended");
  const SweepPart& first = *parts.front().part;
  fail(first, fmt::format("point {} is in none of the files", point),
       fmt::format("This file is {}; give the other shards, too", shard_text(parts.front())));
}

}  // namespace

JoinedSweep join_sweeps(const std::vector<SweepPart>& parts) {
  std::vector<Read> read;
  for (const SweepPart& part : parts) {
    read.push_back(read_part(part));
    const SweepHeader& first = read.front().sweep.header;
    if (!first.same_sweep(read.back().sweep.header))
      fail(part, fmt::format("is of another sweep than {}", parts.front().file),
           "Join parts of one study, all written by one version of ddpsim");
  }
  SweepHeader header = read.front().sweep.header;
  std::vector<const Read*> holders(header.points);
  std::vector<std::string_view> lines(header.points);
  for (const Read& one : read)
    for (const SweepLine& line : one.sweep.lines) {
      const Read*& holder = holders[line.point];
      if (holder != nullptr)
        fail(*one.part,
             fmt::format("contains point {}, as does {}", line.point, holder->part->file),
             "Leave one of them out");
      holder = &one;
      lines[line.point] = line.text;
    }
  header.shard.reset();
  const CsvTable table = sweep_table(header.grid);
  JoinedSweep joined{.lines = sweep_header_line(header), .table = table.header()};
  SweepCurves curves(header);
  for (std::size_t point = 0; point < lines.size(); ++point) {
    if (holders[point] == nullptr) fail_missing(read, point);
    joined.lines += with_escapes(std::string(lines[point]));
    joined.lines += '\n';
    joined.table += table.row(lines[point]);
    curves.add(lines[point]);
  }
  joined.figure = curves.svg();
  return joined;
}

}  // namespace ddpsim
