// The sweep file, ddpsim.sweep/1. The first line identifies the sweep. Every other line is a JSON
// object, one point of a study's grid, in grid order. If the writer was killed, the file may end
// anywhere; all complete lines count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddpsim {

struct ObjectType;

/// Part of a sweep: every OF-th point, starting with point INDEX. Indices count from 1.
struct Shard {
  std::size_t index = 1;
  std::size_t of = 1;
  bool operator==(const Shard&) const = default;
  bool holds(std::size_t point) const { return point % of == index - 1; }
  /// Number of its points in a sweep of `all` points.
  std::size_t points_of(std::size_t all) const { return all / of + (all % of >= index ? 1 : 0); }
  /// Index of its k-th point in the sweep.
  std::size_t point(std::size_t k) const { return k * of + index - 1; }
};

struct SweepHeader {
  std::string ddpsim;  ///< version of the program
  std::string study;   ///< digest of everything that determines the points
  std::size_t points = 0;
  std::vector<std::string> grid;  ///< options that vary, slowest first
  bool intervals = true;
  std::optional<Shard> shard;  ///< absent: all points
  bool operator==(const SweepHeader&) const = default;
  /// Whether both headers are from parts of one sweep.
  bool same_sweep(const SweepHeader& other) const;
};

/// Bytes. Ten million points take about half of this.
inline constexpr std::int64_t kMostOfASweep = std::int64_t{8} << 30;

/// Whether a text begins like a sweep. Nothing after the beginning is checked.
bool begins_as_sweep(std::string_view text);

/// The first line of the file, with a newline at its end.
std::string sweep_header_line(const SweepHeader& header);
/// Describes the first line.
const ObjectType& sweep_document();

struct SweepLine {
  std::size_t point = 0;
  bool failed = false;
  std::string_view text;  ///< without its newline
};

struct SweepFile {
  SweepHeader header;
  std::vector<SweepLine> lines;  ///< ascending by point
  std::size_t whole = 0;         ///< bytes of complete lines; the rest is dropped
};

/// Parses a sweep; the result points into `text`. Absent if the first line is incomplete. Throws
/// InputError if a complete line does not belong to a sweep, or is out of order.
std::optional<SweepFile> read_sweep(std::string_view text, const std::string& file);

}  // namespace ddpsim
