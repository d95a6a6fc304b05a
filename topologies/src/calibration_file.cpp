#include "calibration_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ddpsim/formats/quote.hpp"
#include "ddpsim/sim/collective.hpp"
#include "description.hpp"

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

constexpr double kLongestLatency_us = 1e6;  // us: no latency of a network takes a second
constexpr double kFastestBlock = 1e4;       // GB/s of one thread block
constexpr double kHeaviest = 1e6;           // of a logarithm over its covariance
constexpr double kMostGrowth = 10;          // of a logarithm
constexpr std::size_t kMostLogs = 10'000;
constexpr std::size_t kMostPoints = 100'000;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;

double time_us(const Object& fields, std::string_view key) {
  return fields.required(key).number(0, kLongestLatency_us);
}

double share(const Object& fields, std::string_view key) {
  const Cursor cursor = fields.required(key);
  const double value = cursor.number(0, 1);
  if (!(value > 0))
    cursor.fail("is 0: nothing would ever arrive", "Expected more than 0, at most 1");
  return value;
}

double rate(const Object& fields, std::string_view key) {
  const Cursor cursor = fields.required(key);
  const double value = cursor.number(0, kFastestBlock);
  if (!(value > 0)) cursor.fail("is 0: nothing would ever arrive", "Expected GB/s");
  return value;
}

ProtocolLatency by_protocol(const Object& fields, std::string_view key) {
  const Cursor cursor = fields.required(key);
  const std::vector<Cursor> items = cursor.array();
  ProtocolLatency out{};
  if (items.size() != out.size())
    cursor.fail(fmt::format("has {} times", items.size()), "Expected three: LL, LL128, Simple");
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = items[i].number(0, kLongestLatency_us);
  return out;
}

PathConstants read_constants(const Cursor& cursor) {
  const Object fields =
      cursor.object({"launch_us",           "start_us",   "local_us",    "hop_us",
                     "rendezvous_us",       "channel_us", "local_share", "nic_share",
                     "single_gpu_per_node", "ll_gbps",    "ll128_gbps",  "nvls_start_us",
                     "nvls_wave_us",        "nvls_share", "overlap",     "per_channel_start_us",
                     "ring_ends",           "tree_share", "ll_share",    "hop_growth"});
  PathConstants out;
  out.launch_us = time_us(fields, "launch_us");
  out.start_us = by_protocol(fields, "start_us");
  out.local_us = by_protocol(fields, "local_us");
  out.hop_us = by_protocol(fields, "hop_us");
  out.rendezvous_us = time_us(fields, "rendezvous_us");
  out.channel_us = time_us(fields, "channel_us");
  out.local_share = share(fields, "local_share");
  out.nic_share = share(fields, "nic_share");
  out.single_gpu_per_node = share(fields, "single_gpu_per_node");
  out.ll_gbps = rate(fields, "ll_gbps");
  out.ll128_gbps = rate(fields, "ll128_gbps");
  out.nvls_start_us = time_us(fields, "nvls_start_us");
  out.nvls_wave_us = time_us(fields, "nvls_wave_us");
  out.nvls_share = share(fields, "nvls_share");
  out.overlap = fields.required("overlap").number(1, 100);
  // Files written before these were known go without.
  if (const auto us = fields.optional("per_channel_start_us"))
    out.per_channel_start_us = us->number(0, kLongestLatency_us);
  if (const auto seen = fields.optional("ring_ends")) out.ring_ends = seen->number(0, 1);
  if (fields.optional("tree_share")) out.tree_share = share(fields, "tree_share");
  if (fields.optional("ll_share")) out.ll_share = share(fields, "ll_share");
  if (const auto growth = fields.optional("hop_growth")) {
    const std::vector<Cursor> items = growth->array();
    if (items.size() != out.hop_growth.size())
      growth->fail(fmt::format("has {} values", items.size()), "Expected three");
    for (std::size_t i = 0; i < items.size(); ++i)
      out.hop_growth[i] = items[i].number(-kMostGrowth, kMostGrowth);
  }
  return out;
}

FittedSelection read_selection(const Cursor& cursor) {
  const Object fields = cursor.object({"tree_factor", "ll128_between_nodes"});
  constexpr double kMostFactor = 100;
  FittedSelection out;
  out.tree_factor = fields.required("tree_factor").number(1 / kMostFactor, kMostFactor);
  out.ll128_between_nodes = fields.required("ll128_between_nodes").boolean();
  return out;
}

SizeSpread read_spread(const Cursor& cursor) {
  const Object fields = cursor.object({"small", "middle", "large"});
  constexpr double kMost = 10;  // e to the tenth
  SizeSpread out;
  out.small = fields.required("small").number(0, kMost);
  out.middle = fields.required("middle").number(0, kMost);
  out.large = fields.required("large").number(0, kMost);
  return out;
}

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

CalibratedShape read_log(const Cursor& cursor) {
  const Object fields = cursor.object(
      {"source", "nodes", "gpus_per_node", "nccl", "smallest_bytes", "largest_bytes", "fault"});
  CalibratedShape out;
  out.nccl = read_version(fields);
  out.source = fields.required("source").string();
  if (const auto fault = fields.optional("fault")) out.fault = fault->string();
  out.nodes = static_cast<int>(fields.required("nodes").integer(1, kMostNodes));
  out.gpus_per_node =
      static_cast<int>(fields.required("gpus_per_node").integer(1, kMostGpusPerNode));
  out.smallest = Bytes(fields.required("smallest_bytes").integer(1, kMostBytes));
  const Cursor largest = fields.required("largest_bytes");
  out.largest = Bytes(largest.integer(1, kMostBytes));
  if (out.largest < out.smallest) largest.fail("is less than \"smallest_bytes\"");
  return out;
}

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

CorrectionPoint read_point(const Cursor& cursor, const OperatingPoint& scale) {
  const std::vector<Cursor> items = cursor.array();
  if (items.size() != 5)
    cursor.fail(fmt::format("has {} values", items.size()),
                "Expected five: size in bytes, algorithm, protocol, two weights");
  OperatingPoint place = scale;
  place.size = Bytes(items[0].integer(1, kMostBytes));
  place.algorithm = read_algorithm(items[1]);
  place.protocol = read_protocol(items[2]);
  return {place, items[3].number(-kHeaviest, kHeaviest), items[4].number(-kHeaviest, kHeaviest)};
}

void read_correction(const Cursor& cursor, std::vector<CorrectionPoint>& out) {
  const Object fields = cursor.object({"nodes", "gpus_per_node", "nccl", "points"});
  OperatingPoint scale;
  scale.nccl = read_version(fields);
  scale.nodes = static_cast<int>(fields.required("nodes").integer(1, kMostNodes));
  scale.gpus_per_node =
      static_cast<int>(fields.required("gpus_per_node").integer(1, kMostGpusPerNode));
  for (const Cursor& point : fields.required("points").array()) {
    if (out.size() == kMostPoints) point.fail(fmt::format("more than {} points", kMostPoints));
    out.push_back(read_point(point, scale));
  }
}

void write_triple(JsonWriter& json, std::string_view key, const ProtocolLatency& us) {
  json.key(key).begin_array(Layout::line);
  for (const double value : us) json.number(value);
  json.end_array();
}

void write_constants(JsonWriter& json, const PathConstants& law) {
  json.key("constants").begin_object();
  json.key("launch_us").number(law.launch_us);
  write_triple(json, "start_us", law.start_us);
  write_triple(json, "local_us", law.local_us);
  write_triple(json, "hop_us", law.hop_us);
  json.key("rendezvous_us").number(law.rendezvous_us);
  json.key("channel_us").number(law.channel_us);
  json.key("local_share").number(law.local_share);
  json.key("nic_share").number(law.nic_share);
  json.key("single_gpu_per_node").number(law.single_gpu_per_node);
  json.key("ll_gbps").number(law.ll_gbps);
  json.key("ll128_gbps").number(law.ll128_gbps);
  json.key("nvls_start_us").number(law.nvls_start_us);
  json.key("nvls_wave_us").number(law.nvls_wave_us);
  json.key("nvls_share").number(law.nvls_share);
  json.key("overlap").number(law.overlap);
  json.key("per_channel_start_us").number(law.per_channel_start_us);
  json.key("ring_ends").number(law.ring_ends);
  json.key("tree_share").number(law.tree_share);
  json.key("ll_share").number(law.ll_share);
  write_triple(json, "hop_growth", law.hop_growth);
  json.end_object();
}

void write_spread(JsonWriter& json, std::string_view key, const SizeSpread& spread) {
  json.key(key).begin_object(Layout::line);
  json.key("small").number(spread.small);
  json.key("middle").number(spread.middle);
  json.key("large").number(spread.large);
  json.end_object();
}

void write_log(JsonWriter& json, const CalibratedShape& log) {
  json.begin_object(Layout::line);
  json.key("source").string(log.source);
  json.key("nodes").integer(log.nodes);
  json.key("gpus_per_node").integer(log.gpus_per_node);
  write_version(json, log.nccl);
  json.key("smallest_bytes").integer(log.smallest.count());
  json.key("largest_bytes").integer(log.largest.count());
  if (!log.fault.empty()) json.key("fault").string(log.fault);
  json.end_object();
}

bool same_scale(const CorrectionPoint& a, const CorrectionPoint& b) {
  return a.place.nodes == b.place.nodes && a.place.gpus_per_node == b.place.gpus_per_node &&
         a.place.nccl == b.place.nccl;
}

/// All points of one scale, which stand side by side.
void write_scale(JsonWriter& json, std::span<const CorrectionPoint> points) {
  const OperatingPoint& scale = points.front().place;
  json.begin_object();
  json.key("nodes").integer(scale.nodes);
  json.key("gpus_per_node").integer(scale.gpus_per_node);
  write_version(json, scale.nccl);
  json.key("points").begin_array();
  for (const CorrectionPoint& point : points) {
    json.begin_array(Layout::line);
    json.integer(point.place.size.count());
    json.string(name_of(point.place.algorithm));
    json.string(name_of(point.place.protocol));
    json.number(point.weight);
    json.number(point.own);
    json.end_array();
  }
  json.end_array();
  json.end_object();
}

}  // namespace

Calibration read_calibration(const Cursor& cursor) {
  const Object fields =
      cursor.object({"constants", "selection", "misfit", "repeats", "logs", "correction"});
  Calibration out;
  if (const auto correction = fields.optional("correction"))
    for (const Cursor& scale : correction->array()) read_correction(scale, out.correction);
  if (const auto logs = fields.optional("logs")) {
    for (const Cursor& log : logs->array()) {
      if (out.scales.size() == kMostLogs) log.fail(fmt::format("more than {} logs", kMostLogs));
      out.scales.push_back(read_log(log));
    }
    if (out.scales.empty()) logs->fail("is empty; a calibration rests on one log at least");
  }
  out.constants = read_constants(fields.required("constants"));
  if (const auto selection = fields.optional("selection"))
    out.selection = read_selection(*selection);
  out.misfit = read_spread(fields.required("misfit"));
  if (const auto repeats = fields.optional("repeats")) out.repeats = read_spread(*repeats);
  fields.required("logs");
  return out;
}

void write_calibration(JsonWriter& json, const Calibration& calibration) {
  json.begin_object();
  write_constants(json, calibration.constants);
  json.key("selection").begin_object(Layout::line);
  json.key("tree_factor").number(calibration.selection.tree_factor);
  json.key("ll128_between_nodes").boolean(calibration.selection.ll128_between_nodes);
  json.end_object();
  write_spread(json, "misfit", calibration.misfit);
  write_spread(json, "repeats", calibration.repeats);
  json.key("logs").begin_array();
  for (const CalibratedShape& log : calibration.scales) write_log(json, log);
  json.end_array();
  json.key("correction").begin_array();
  std::span<const CorrectionPoint> rest = calibration.correction;
  while (!rest.empty()) {
    const auto end = std::find_if_not(rest.begin(), rest.end(), [&](const CorrectionPoint& point) {
      return same_scale(rest.front(), point);
    });
    const auto count = static_cast<std::size_t>(end - rest.begin());
    write_scale(json, rest.first(count));
    rest = rest.subspan(count);
  }
  json.end_array();
  json.end_object();
}

}  // namespace ddpsim
