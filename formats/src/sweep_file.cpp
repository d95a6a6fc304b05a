#include "ddpsim/formats/sweep_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/described.hpp"

namespace ddpsim {
namespace {

constexpr std::int64_t kMostPoints = 1'000'000'000;

[[noreturn]] void fail(const std::string& file, std::size_t line, std::string message) {
  throw InputError({.file = file,
                    .where = fmt::format("line {}", line),
                    .message = std::move(message),
                    .hint = "Move the file away, or name another"});
}

SweepHeader read_header(std::string_view line, const std::string& file) {
  const Document document = Document::parse(line, file);
  const Object fields =
      document.root().object({"schema", "ddpsim", "study", "points", "grid", "intervals", "shard"});
  fields.required("schema").choice({"ddpsim.sweep/1"});
  SweepHeader header;
  header.ddpsim = fields.required("ddpsim").string();
  header.study = fields.required("study").string();
  header.points = static_cast<std::size_t>(fields.required("points").integer(1, kMostPoints));
  for (const Cursor& option : fields.required("grid").array())
    header.grid.push_back(option.string());
  header.intervals = fields.required("intervals").boolean();
  if (const auto shard = fields.optional("shard")) {
    const Object parts = shard->object({"index", "of"});
    const std::int64_t of = parts.required("of").integer(1, kMostPoints);
    header.shard = Shard{
        .index = static_cast<std::size_t>(parts.required("index").integer(1, of)),
        .of = static_cast<std::size_t>(of),
    };
  }
  return header;
}

/// Removes the next complete line and returns it.
std::optional<std::string_view> take_whole_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  if (end == rest.npos) return std::nullopt;
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  return line;
}

SweepLine read_line(std::string_view text, const std::string& file, std::size_t number,
                    const SweepHeader& header, std::size_t expected) {
  SweepLine line{.text = text};
  try {
    const Document document = Document::parse(text, file);
    const Object fields = document.root().free_object();
    line.point = static_cast<std::size_t>(fields.required("point").integer(0, kMostPoints));
    line.failed = fields.optional("error").has_value();
  } catch (const InputError&) {
    fail(file, number, "is not a point of a sweep");
  }
  if (line.point != expected || expected >= header.points)
    fail(file, number,
         expected >= header.points
             ? fmt::format("is point {}, but the sweep has no more points", line.point)
             : fmt::format("is point {}, but {} comes next", line.point, expected));
  return line;
}

const Described<Shard>& described_shard() {
  static const auto described =
      Described<Shard>("Shard", "a part of a sweep: every N-th point from one on")
          .integer("index", &Shard::index, "the first point of the part, counted from 1")
          .integer("of", &Shard::of,
                   "how many parts the sweep has: how far points of one lie apart");
  return described;
}

const Described<SweepHeader>& described_header() {
  static const auto described =
      Described<SweepHeader>("SweepResult", "the first line of a sweep: which sweep it is",
                             JsonWriter::Layout::line)
          .constant("schema", "ddpsim.sweep/1", "which document this is")
          .text("ddpsim", &SweepHeader::ddpsim, "the version of the program")
          .text("study", &SweepHeader::study,
                "a digest of the points, the options and the files that they name: lines of two "
                "sweeps are never mixed")
          .integer("points", &SweepHeader::points,
                   "how many points the whole study has, whatever the shard")
          .texts("grid", &SweepHeader::grid, "the options that vary, slowest first")
          .boolean("intervals", &SweepHeader::intervals,
                   "whether points have intervals and grades: false with --no-intervals")
          .object("shard", &SweepHeader::shard, described_shard(),
                  "the part of the sweep that the lines are; null: all of it");
  return described;
}

}  // namespace

bool SweepHeader::same_sweep(const SweepHeader& other) const {
  SweepHeader same = other;
  same.shard = shard;
  return *this == same;
}

bool begins_as_sweep(std::string_view text) {
  constexpr std::string_view kBeginning = R"({"schema": "ddpsim.sweep/1")";
  const std::size_t compared = std::min(text.size(), kBeginning.size());
  return text.substr(0, compared) == kBeginning.substr(0, compared);
}

const ObjectType& sweep_document() {
  return described_header().type();
}

std::string sweep_header_line(const SweepHeader& header) {
  return described_header().text_of(header);
}

std::optional<SweepFile> read_sweep(std::string_view text, const std::string& file) {
  std::string_view rest = text;
  const auto first = take_whole_line(rest);
  if (!first) return std::nullopt;
  SweepFile sweep;
  try {
    sweep.header = read_header(*first, file);
  } catch (const InputError& error) {
    fail(file, 1, fmt::format("is not the first line of a sweep ({})", error.diagnostic().message));
  }
  const Shard shard = sweep.header.shard.value_or(Shard());
  sweep.whole = text.size() - rest.size();
  while (const auto line = take_whole_line(rest)) {
    const std::size_t k = sweep.lines.size();
    sweep.lines.push_back(read_line(*line, file, k + 2, sweep.header, shard.point(k)));
    sweep.whole = text.size() - rest.size();
  }
  return sweep;
}

}  // namespace ddpsim
