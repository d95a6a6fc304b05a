#include "calibration_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ddpsim/formats/quote.hpp"
#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/values/collective.hpp"
#include "ddpsim/sim/values/cost_constants.hpp"
#include "description.hpp"

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;
using Kind = ValueType::Kind;

constexpr std::string_view kJoinedRanks = "joined ranks of a training";
constexpr std::string_view kOneRank = "one rank of a training";
constexpr const char* kNodes = "number of nodes as NCCL counts them: an NVLink domain is one";
constexpr double kHeaviest = 1e6;  // a logarithm divided by its covariance
constexpr std::size_t kMostLogs = 10'000;
constexpr std::size_t kMostPoints = 100'000;
constexpr double kMostErrorPercent = 1e6;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;

/// The first rows of `rest` that are elements of one constant.
std::span<const CostConstant> elements(std::span<const CostConstant> rest) {
  const auto end = std::ranges::find_if_not(
      rest, [&](const CostConstant& row) { return row.name == rest.front().name; });
  return rest.first(static_cast<std::size_t>(end - rest.begin()));
}

std::string elements_of(std::span<const CostConstant> rows) {
  std::string names;
  for (const CostConstant& row : rows)
    names += (names.empty() ? "" : ", ") + std::string(row.element);
  return names;
}

ObjectType type_of_constants() {
  ObjectType type("CalibrationConstants", "constants of the pipeline cost model");
  for (auto rest = cost_constants(); !rest.empty();) {
    const std::span<const CostConstant> rows = elements(rest);
    rest = rest.subspan(rows.size());
    const CostConstant& first = rows.front();
    std::string says = said_of_constant(first.unit, first.meaning);
    ValueType value{Kind::number};
    if (!first.element.empty()) {
      says += "; one value each for " + elements_of(rows);
      value = list_of(std::move(value));
    }
    first.required ? type.needs(first.name, std::move(value), says)
                   : type.may_have(first.name, std::move(value), says);
  }
  return type;
}

const ObjectType& constants_type() {
  static const ObjectType type = type_of_constants();
  return type;
}

const ObjectType& selection_type() {
  static const auto type =
      ObjectType("CalibrationSelection", "where NCCL chooses otherwise than by its table")
          .needs("tree_factor", {Kind::number}, "factor on NCCL's time estimates of trees")
          .needs("ll128_between_nodes", {Kind::boolean}, "whether NCCL takes LL128 between nodes");
  return type;
}

const ObjectType& correction_type() {
  static const auto type =
      ObjectType("CalibrationCorrection", "correction of the cost model learned from one job shape")
          .needs("nodes", {Kind::integer}, kNodes)
          .needs("gpus_per_node", {Kind::integer}, "GPUs of each node as NCCL counts them")
          .may_have("nccl", {Kind::text}, "version of NCCL, where versions differ: \"2.21.5\"")
          .needs("points", list_of(list_of(any_of({{Kind::number}, {Kind::text}}))),
                 "lists of size in bytes, algorithm, protocol, weight for all job shapes, weight "
                 "for this job shape");
  return type;
}

double read_constant(const Cursor& cursor, const CostConstant& constant) {
  const auto [least, most, positive] = constant.range;
  const double value = cursor.number(least, most);
  if (positive && value == 0)
    cursor.fail("is 0: nothing would ever arrive",
                fmt::format("Expected more than 0, at most {} ({})", most, constant.unit));
  return value;
}

PathConstants read_constants(const Cursor& cursor) {
  const Object fields = cursor.object(constants_type());
  PathConstants out;
  for (auto rest = cost_constants(); !rest.empty();) {
    const std::span<const CostConstant> rows = elements(rest);
    rest = rest.subspan(rows.size());
    const CostConstant& first = rows.front();
    const std::optional<Cursor> stated =
        first.required ? fields.required(first.name) : fields.optional(first.name);
    if (!stated) continue;
    if (first.element.empty()) {
      first.of(out) = read_constant(*stated, first);
      continue;
    }
    const std::vector<Cursor> values = stated->array();
    if (values.size() != rows.size()) {
      stated->fail(fmt::format("has {} values", values.size()),
                   "Expected one each for " + elements_of(rows));
    }
    for (std::size_t i = 0; i < rows.size(); ++i)
      rows[i].of(out) = read_constant(values[i], rows[i]);
  }
  return out;
}

FittedSelection read_selection(const Cursor& cursor) {
  const Object fields = cursor.object(selection_type());
  constexpr double kMostFactor = 100;
  FittedSelection out;
  out.tree_factor = fields.required("tree_factor").number(1 / kMostFactor, kMostFactor);
  out.ll128_between_nodes = fields.required("ll128_between_nodes").boolean();
  return out;
}

}  // namespace

std::string said_of_constant(std::string_view unit, std::string_view meaning) {
  if (unit.empty() || unit == "us" || unit == "MB") return std::string(meaning);
  if (unit == "GB/s") return fmt::format("{}, in GB/s", meaning);
  return fmt::format("{} {}", unit == "log" ? "logarithm of the" : unit, meaning);
}

const ObjectType& spread_type() {
  static const auto type =
      ObjectType("SizeSpread", "one standard deviation of the logarithm of a time, by size")
          .needs("small", {Kind::number}, "below 64 KiB")
          .needs("middle", {Kind::number}, "from 64 KiB to below 1 MiB")
          .needs("large", {Kind::number}, "from 1 MiB on");
  return type;
}

const ObjectType& calibrated_log_type() {
  static const auto type =
      ObjectType("CalibrationLog", "a log that a calibration was fitted to")
          .needs("source", {Kind::text}, "name of its file")
          .needs("nodes", {Kind::integer}, kNodes)
          .needs("gpus_per_node", {Kind::integer}, "GPUs of each node as NCCL counts them")
          .may_have("nccl", {Kind::text}, "version of NCCL: \"2.21.5\"")
          .may_have("timed_by", word_of({std::string(kJoinedRanks), std::string(kOneRank)}),
                    "whose all-reduces were timed, where it was a training")
          .needs("smallest_bytes", {Kind::integer}, "smallest size that was measured")
          .needs("largest_bytes", {Kind::integer}, "largest size that was measured")
          .may_have("fault", {Kind::text}, "why the log is distrusted, although it was fitted")
          .may_have("left_out_error_percent", {Kind::number},
                    "median error from 1 KiB on if logs of its job shape are left out")
          .may_have("published", {Kind::boolean},
                    "whether it is from another machine of the same kind")
          .may_have("digest", {Kind::text},
                    "digest of its sizes and times, by which `validate` knows it");
  return type;
}

const ObjectType& calibration_type() {
  static const auto type =
      ObjectType("ClusterCalibration", "what `ddpsim calibrate` fitted to logs of NCCL")
          .may_have("published", {Kind::boolean},
                    "whether all logs are from other machines of the same kind: grade B at best, "
                    "wider intervals")
          .needs(
              "constants", object_of(constants_type()),
              "constants of the pipeline cost model, in place of those learned from all clusters")
          .may_have("selection", object_of(selection_type()),
                    "where NCCL chooses otherwise than by its table")
          .needs("residual_deviation", object_of(spread_type()),
                 "how far the cost model alone misses measured times")
          .may_have("repeatability", object_of(spread_type()),
                    "how far measurements of one job shape differ")
          .needs("logs", list_of(object_of(calibrated_log_type())), "the logs it rests on")
          .may_have("correction", list_of(object_of(correction_type())),
                    "corrections where cost model and measurement differ, by job shape");
  return type;
}

SizeSpread read_spread(const Cursor& cursor) {
  const Object fields = cursor.object(spread_type());
  constexpr double kMost = 10;  // e to the tenth
  SizeSpread out;
  out.small = fields.required("small").number(0, kMost);
  out.middle = fields.required("middle").number(0, kMost);
  out.large = fields.required("large").number(0, kMost);
  return out;
}

namespace {

std::optional<NcclVersion> read_version(const Object& fields) {
  const auto nccl = fields.optional("nccl");
  if (!nccl) return std::nullopt;
  const auto version = parse_nccl_version(nccl->string());
  if (!version)
    nccl->fail(fmt::format("{} is not a version such as \"2.21.5\"", in_quotes(nccl->string())));
  return version;
}

void write_version(JsonWriter& json, const std::optional<NcclVersion>& nccl) {
  if (nccl) json.key("nccl").string(to_string(*nccl));
}

}  // namespace

CalibratedShape read_calibrated_log(const Cursor& cursor) {
  const Object fields = cursor.object(calibrated_log_type());
  CalibratedShape out;
  out.nccl = read_version(fields);
  out.source = fields.required("source").string();
  if (const auto timed_by = fields.optional("timed_by"))
    out.timed_by = timed_by->choice({kJoinedRanks, kOneRank}) == kJoinedRanks
                       ? TimedBy::joined_ranks
                       : TimedBy::one_rank;
  if (const auto fault = fields.optional("fault")) out.fault = fault->string();
  if (const auto error = fields.optional("left_out_error_percent"))
    out.left_out_error = error->number(0, kMostErrorPercent) / 100;
  if (const auto published = fields.optional("published")) out.published = published->boolean();
  if (const auto digest = fields.optional("digest")) out.digest = digest->string();
  out.nodes = static_cast<int>(fields.required("nodes").integer(1, kMostNodes));
  out.gpus_per_node =
      static_cast<int>(fields.required("gpus_per_node").integer(1, kMostGpusPerNode));
  out.smallest = Bytes(fields.required("smallest_bytes").integer(1, kMostBytes));
  const Cursor largest = fields.required("largest_bytes");
  out.largest = Bytes(largest.integer(1, kMostBytes));
  if (out.largest < out.smallest) largest.fail("is less than \"smallest_bytes\"");
  return out;
}

namespace {

Algorithm read_algorithm(const Cursor& cursor) {
  const std::string word =
      cursor.choice({"ring", "tree", "collnetdirect", "collnetchain", "nvls", "nvlstree"});
  for (const Algorithm algorithm :
       {Algorithm::tree, Algorithm::collnet_direct, Algorithm::collnet_chain, Algorithm::nvls,
        Algorithm::nvls_tree})
    if (name_of(algorithm) == word) return algorithm;
  return Algorithm::ring;
}

Protocol read_protocol(const Cursor& cursor) {
  const std::string word = cursor.choice({"LL", "LL128", "Simple"});
  if (word == "LL") return Protocol::ll;
  return word == "LL128" ? Protocol::ll128 : Protocol::simple;
}

CorrectionPoint read_point(const Cursor& cursor, const OperatingPoint& shape) {
  const std::vector<Cursor> items = cursor.array();
  if (items.size() != 5)
    cursor.fail(fmt::format("has {} values", items.size()),
                "Expected five: size in bytes, algorithm, protocol, two weights");
  OperatingPoint at = shape;
  at.size = Bytes(items[0].integer(1, kMostBytes));
  at.algorithm = read_algorithm(items[1]);
  at.protocol = read_protocol(items[2]);
  return {at, items[3].number(-kHeaviest, kHeaviest), items[4].number(-kHeaviest, kHeaviest)};
}

void read_correction(const Cursor& cursor, std::vector<CorrectionPoint>& out) {
  const Object fields = cursor.object(correction_type());
  OperatingPoint shape;
  shape.nccl = read_version(fields);
  shape.nodes = static_cast<int>(fields.required("nodes").integer(1, kMostNodes));
  shape.gpus_per_node =
      static_cast<int>(fields.required("gpus_per_node").integer(1, kMostGpusPerNode));
  for (const Cursor& point : fields.required("points").array()) {
    if (out.size() == kMostPoints) point.fail(fmt::format("more than {} points", kMostPoints));
    out.push_back(read_point(point, shape));
  }
}

void write_constants(JsonWriter& json, PathConstants constants) {
  json.key("constants").begin_object();
  for (auto rest = cost_constants(); !rest.empty();) {
    const std::span<const CostConstant> rows = elements(rest);
    rest = rest.subspan(rows.size());
    json.key(rows.front().name);
    if (rows.front().element.empty()) {
      json.number(rows.front().of(constants));
      continue;
    }
    json.begin_array(Layout::line);
    for (const CostConstant& row : rows) json.number(row.of(constants));
    json.end_array();
  }
  json.end_object();
}

}  // namespace

void write_spread(JsonWriter& json, std::string_view key, const SizeSpread& spread) {
  json.key(key).begin_object(Layout::line);
  json.key("small").number(spread.small);
  json.key("middle").number(spread.middle);
  json.key("large").number(spread.large);
  json.end_object();
}

void write_calibrated_log(JsonWriter& json, const CalibratedShape& log) {
  json.begin_object(Layout::line);
  json.key("source").string(log.source);
  json.key("nodes").integer(log.nodes);
  json.key("gpus_per_node").integer(log.gpus_per_node);
  write_version(json, log.nccl);
  if (log.timed_by != TimedBy::all_reduce_perf)
    json.key("timed_by").string(log.timed_by == TimedBy::joined_ranks ? kJoinedRanks : kOneRank);
  json.key("smallest_bytes").integer(log.smallest.count());
  json.key("largest_bytes").integer(log.largest.count());
  if (!log.fault.empty()) json.key("fault").string(log.fault);
  if (log.left_out_error) json.key("left_out_error_percent").ratio(100 * *log.left_out_error);
  if (log.published) json.key("published").boolean(true);
  if (!log.digest.empty()) json.key("digest").string(log.digest);
  json.end_object();
}

namespace {

bool same_shape(const CorrectionPoint& a, const CorrectionPoint& b) {
  return a.at.nodes == b.at.nodes && a.at.gpus_per_node == b.at.gpus_per_node &&
         a.at.nccl == b.at.nccl;
}

/// Writes all points of one shape, which are adjacent.
void write_shape(JsonWriter& json, std::span<const CorrectionPoint> points) {
  const OperatingPoint& shape = points.front().at;
  json.begin_object();
  json.key("nodes").integer(shape.nodes);
  json.key("gpus_per_node").integer(shape.gpus_per_node);
  write_version(json, shape.nccl);
  json.key("points").begin_array();
  for (const CorrectionPoint& point : points) {
    json.begin_array(Layout::line);
    json.integer(point.at.size.count());
    json.string(name_of(point.at.algorithm));
    json.string(name_of(point.at.protocol));
    json.number(point.weight);
    json.number(point.within_shape);
    json.end_array();
  }
  json.end_array();
  json.end_object();
}

}  // namespace

Calibration read_calibration(const Cursor& cursor) {
  const Object fields = cursor.object(calibration_type());
  Calibration out;
  const auto published = fields.optional("published");
  if (const auto correction = fields.optional("correction"))
    for (const Cursor& shape : correction->array()) read_correction(shape, out.correction);
  if (const auto logs = fields.optional("logs")) {
    for (const Cursor& log : logs->array()) {
      if (out.shapes.size() == kMostLogs) log.fail(fmt::format("more than {} logs", kMostLogs));
      out.shapes.push_back(read_calibrated_log(log));
      if (published && published->boolean()) out.shapes.back().published = true;
    }
    if (out.shapes.empty()) logs->fail("is empty; a calibration rests on one log at least");
  }
  out.constants = read_constants(fields.required("constants"));
  if (const auto selection = fields.optional("selection"))
    out.selection = read_selection(*selection);
  out.residual_deviation = read_spread(fields.required("residual_deviation"));
  if (const auto repeatability = fields.optional("repeatability"))
    out.repeatability = read_spread(*repeatability);
  fields.required("logs");
  return out;
}

void write_calibration(JsonWriter& json, const Calibration& calibration) {
  json.begin_object();
  const bool published = is_published(calibration);
  if (published) json.key("published").boolean(true);
  write_constants(json, calibration.constants);
  json.key("selection").begin_object(Layout::line);
  json.key("tree_factor").number(calibration.selection.tree_factor);
  json.key("ll128_between_nodes").boolean(calibration.selection.ll128_between_nodes);
  json.end_object();
  write_spread(json, "residual_deviation", calibration.residual_deviation);
  write_spread(json, "repeatability", calibration.repeatability);
  json.key("logs").begin_array();
  for (CalibratedShape log : calibration.shapes) {
    log.published = log.published && !published;  // holds for all logs
    write_calibrated_log(json, log);
  }
  json.end_array();
  json.key("correction").begin_array();
  std::span<const CorrectionPoint> rest = calibration.correction;
  while (!rest.empty()) {
    const auto end = std::find_if_not(rest.begin(), rest.end(), [&](const CorrectionPoint& point) {
      return same_shape(rest.front(), point);
    });
    const auto count = static_cast<std::size_t>(end - rest.begin());
    write_shape(json, rest.first(count));
    rest = rest.subspan(count);
  }
  json.end_array();
  json.end_object();
}

}  // namespace ddpsim
