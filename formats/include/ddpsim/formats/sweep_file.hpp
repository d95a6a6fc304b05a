// ddpsim.sweep/1: a line that says which sweep this is, then one JSON object a line, each a point of a study's grid, in
// its order. A file may end anywhere, as where its writer was killed: what is whole counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddpsim {

struct ObjectType;

/// Every OF-th point, from the INDEX-th on; indices count from 1.
struct Shard {
  std::size_t index = 1;
  std::size_t of = 1;
  bool operator==(const Shard&) const = default;
  bool holds(std::size_t point) const { return point % of == index - 1; }
  /// Its points among so many …
  std::size_t points_of(std::size_t all) const { return all / of + (all % of >= index ? 1 : 0); }
  /// … and the k-th of them.
  std::size_t point(std::size_t k) const { return k * of + index - 1; }
};

struct SweepHeader {
  std::string ddpsim;  ///< version of the program
  std::string study;   ///< digest of all that its points are made of
  std::size_t points = 0;
  std::vector<std::string> grid;  ///< options that vary, slowest first
  bool intervals = true;
  std::optional<Shard> shard;  ///< absent: all points
  bool operator==(const SweepHeader&) const = default;
  /// Parts of one sweep.
  bool same_sweep(const SweepHeader& other) const;
};

/// Bytes: ten million points take about half of it.
inline constexpr std::int64_t kMostOfASweep = std::int64_t{8} << 30;

/// Whether a sweep may begin so. What it holds besides is not looked at.
bool begins_as_sweep(std::string_view text);

/// With a newline at its end.
std::string sweep_header_line(const SweepHeader& header);
/// Of that line.
const ObjectType& sweep_document();

struct SweepLine {
  std::size_t point = 0;
  bool failed = false;
  std::string_view text;  ///< without its newline
};

struct SweepFile {
  SweepHeader header;
  std::vector<SweepLine> lines;  ///< by point, ascending
  std::size_t whole = 0;         ///< bytes of all whole lines; what is beyond was cut off
};

/// Views into `text`. Absent where not even the first line is whole. Throws InputError where a whole line is none of a
/// sweep's, or not in order.
std::optional<SweepFile> read_sweep(std::string_view text, const std::string& file);

}  // namespace ddpsim
