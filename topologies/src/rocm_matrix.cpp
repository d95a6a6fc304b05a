// Reads several tables of the same form, each below its title. GPUs are "GPU0" or PCI addresses:
//
//   ====== Link Type between two GPUs ======   LINK TYPE TABLE:
//          GPU0   GPU1                                      0000:0c:00.0 0000:22:00.0
//   GPU0   0      XGMI                         0000:0c:00.0 SELF         XGMI
//   GPU1   XGMI   0                            0000:22:00.0 XGMI         SELF
//
// A pair is joined directly if the table of hops says 1 and no pair has a smaller weight (15 for
// one hop, more for several). The tables do not say how many links join a pair; that follows from
// the GPU model.
#include "rocm_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"
#include "device_matrix.hpp"
#include "matrix_text.hpp"
#include "nccl_rates.hpp"
#include "rocm_json.hpp"

namespace ddpsim {
namespace {

constexpr std::array kLinkTitles = {"Link Type between two GPUs", "LINK TYPE TABLE"};
constexpr std::array kHopTitles = {"Hops between two GPUs", "HOPS TABLE"};
constexpr std::array kWeightTitles = {"Weight between two GPUs", "WEIGHT TABLE"};
constexpr std::array kAccessTitles = {"Link accessibility between two GPUs", "ACCESS TABLE"};
using Titles = std::array<const char*, 2>;

class RocmText {
 public:
  RocmText(std::string_view text, const std::string& file) : file_(file), text_(text, file) {}

  RocmTables read() {
    RocmTables tables{.links = find_table(kLinkTitles),
                      .hops = find_table(kHopTitles),
                      .weights = find_table(kWeightTitles),
                      .access = find_table(kAccessTitles)};
    if (!tables.links)
      fail("", "no table of link types", "Expected the output of `rocm-smi --showtopo`");
    for (std::size_t gpu = 0; gpu < tables.links->devices.size(); ++gpu)
      tables.numa.push_back(numa_of(gpu));
    return tables;
  }

 private:
  [[noreturn]] void fail(std::string where, std::string message, Hint hint = {}) const {
    throw InputError({file_, std::move(where), std::move(message), std::move(hint)});
  }

  std::optional<RocmTable> find_table(const Titles& titles) const {
    for (std::size_t at = 0; at < text_.size(); ++at) {
      const std::string_view line = text_[at];
      if (std::ranges::none_of(titles,
                               [&](const char* title) { return line.find(title) != line.npos; }))
        continue;
      const Words title = words_of(line);
      // In "node1: ====", the host's name precedes each line.
      const bool host = title.front().size() > 1 && title.front().ends_with(':');
      return read_table(at, {host ? title.front() : std::string_view()});
    }
    return std::nullopt;
  }

  RocmTable read_table(std::size_t title, LinePrefix prefix) const {
    RocmTable table;
    const std::size_t header = text_.next(title + 1, prefix);
    const Words devices = header < text_.size() ? *text_.words(header, prefix) : Words();
    table.devices.assign(devices.begin(), devices.end());
    if (table.devices.empty() || table.devices.size() > kMostRocmGpus)
      fail(fmt::format("line {}", header + 1), "no GPUs below the title of the table",
           "The table was cut off");
    std::size_t at = header;
    for (const std::string_view device : table.devices) {
      at = text_.next(at + 1, prefix);
      const Words words = at < text_.size() ? *text_.words(at, prefix) : Words();
      const std::string where = fmt::format("line {}", at + 1);
      if (words.empty())
        fail(where, fmt::format("{} rows for {} columns", table.cells.size(), table.devices.size()),
             "The table was cut off");
      if (words.front() != device)
        fail(where,
             fmt::format("row {} where the columns have {}", in_quotes(words.front()),
                         in_quotes(device)),
             "Rows and columns stand in the same order");
      if (words.size() != table.devices.size() + 1)
        fail(where, fmt::format("{} cells for {} columns", words.size() - 1, table.devices.size()));
      table.cells.emplace_back(words.begin() + 1, words.end());
    }
    return table;
  }

  /// Reads "GPU[0]   : (Topology) Numa Node: 0"; empty if there is no such line.
  std::string numa_of(std::size_t gpu) const {
    const std::string name = fmt::format("GPU[{}]", gpu);
    constexpr std::string_view kKey = "Numa Node:";
    for (std::size_t at = 0; at < text_.size(); ++at) {
      const std::string_view line = text_[at];
      const std::size_t key = line.find(kKey);
      if (key == line.npos || line.find(name) == line.npos) continue;
      const Words words = words_of(line.substr(key + kKey.size()));
      if (!words.empty()) return std::string(words.front());
    }
    return "";
  }

  const std::string& file_;
  MatrixText text_;
};

class RocmNode {
 public:
  RocmNode(const RocmTables& tables, const std::string& file, const GpuModel& gpu)
      : tables_(tables), file_(file), gpu_(gpu) {}

  DeviceMatrix read() {
    const std::size_t count = tables_.links->devices.size();
    for (const auto* table : {&tables_.hops, &tables_.weights, &tables_.access})
      if (*table && (*table)->devices.size() != count)
        fail("", fmt::format("tables of {} and of {} GPUs", count, (*table)->devices.size()),
             "Take them again, of one node");
    DeviceMatrix matrix;
    for (std::size_t i = 0; i < count; ++i)
      matrix.devices.push_back({fmt::format("GPU{}", i), true, tables_.numa[i]});
    const int least = least_weight(tables_.weights);
    for (std::size_t a = 0; a < count; ++a) {
      auto& row = matrix.cells.emplace_back();
      for (std::size_t b = 0; b < count; ++b) {
        const bool direct = (!tables_.hops || number(*tables_.hops, a, b) == 1) &&
                            (!tables_.weights || number(*tables_.weights, a, b) == least);
        row.push_back(read_cell(*tables_.links, matrix.devices, a, b, direct));
      }
    }
    return matrix;
  }

  /// Reports access that drivers and firmware block, because this is not a property of the links.
  void name_disabled(std::vector<std::string>& doubts) const {
    if (!tables_.access) return;
    const RocmTable& access = *tables_.access;
    std::string first;
    std::size_t pairs = 0;
    bool any_xgmi = false;
    for (std::size_t a = 0; a < access.devices.size(); ++a)
      for (std::size_t b = a + 1; b < access.devices.size(); ++b) {
        any_xgmi = any_xgmi || tables_.links->cells[a][b] == "XGMI";
        if (access.cells[a][b] != "DISABLED" && access.cells[a][b] != "False") continue;
        if (pairs++ == 0) first = fmt::format("GPU{} and GPU{}", a, b);
      }
    if (pairs == 0) return;
    doubts.push_back(fmt::format(
        "{} of GPUs cannot reach each other's memory, such as {}; they are assumed to{}",
        pairs == 1 ? "a pair" : fmt::format("{} pairs", pairs), first,
        any_xgmi ? "" : ", unless you add pcie:RATE:no-p2p after the file name"));
  }

 private:
  [[noreturn]] void fail(std::string where, std::string message, Hint hint = {}) const {
    throw InputError({file_, std::move(where), std::move(message), std::move(hint)});
  }

  int number(const RocmTable& table, std::size_t a, std::size_t b) const {
    if (a == b) return 0;
    const auto value = parse_number<int>(table.cells[a][b]);
    if (!value || *value < 1)
      fail("",
           fmt::format("{} hops, or such a weight, between {} and {} cannot be",
                       in_quotes(table.cells[a][b]), table.devices[a], table.devices[b]),
           "Use only the link types: `rocm-smi --showtopotype` or `amd-smi topology -t`");
    return *value;
  }

  int least_weight(const std::optional<RocmTable>& weights) const {
    int least = std::numeric_limits<int>::max();
    if (!weights) return least;
    for (std::size_t a = 0; a < weights->devices.size(); ++a)
      for (std::size_t b = 0; b < weights->devices.size(); ++b)
        if (a != b) least = std::min(least, number(*weights, a, b));
    return least;
  }

  MatrixCell read_cell(const RocmTable& links, const std::vector<MatrixDevice>& devices,
                       std::size_t a, std::size_t b, bool direct) const {
    if (a == b) return {.near = Near::switch_, .nvlinks = 0, .self = true};
    const std::string_view word = links.cells[a][b];
    const bool near = devices[a].numa == devices[b].numa;
    if (word == "PCIE") return {.near = near ? Near::cpu : Near::system};
    if (word != "XGMI")
      fail("",
           fmt::format("{} between {} and {} is no link", in_quotes(word), links.devices[a],
                       links.devices[b]),
           "Expected XGMI or PCIE");
    return {.near = Near::unknown, .nvlinks = direct ? links_between_gpus(a, b) : 0};
  }

  /// CDNA 2 white paper: four links join the two dies of an MI250X, and one or two links join dies
  /// of different cards.
  int links_between_gpus(std::size_t a, std::size_t b) const {
    constexpr int kWithinCard = 4;
    if (gpu_.name == "MI250X" && a / 2 == b / 2) return kWithinCard;
    return links_per_counted(gpu_);
  }

  const RocmTables& tables_;
  const std::string& file_;
  const GpuModel& gpu_;
};

}  // namespace

bool looks_like_rocm_matrix(std::string_view text) {
  if (looks_like_rocm_json(text)) return true;
  return std::ranges::any_of(kLinkTitles,
                             [&](const char* title) { return text.find(title) != text.npos; });
}

RocmTables read_rocm_tables(std::string_view text, const std::string& file) {
  return looks_like_rocm_json(text) ? read_rocm_json(text, file) : RocmText(text, file).read();
}

NodeGraph draw_rocm_node(const RocmTables& tables, const std::string& file, const GpuModel& gpu,
                         std::vector<std::string>* doubts) {
  RocmNode node(tables, file, gpu);
  if (doubts != nullptr) {
    doubts->insert(doubts->end(), tables.doubts.begin(), tables.doubts.end());
    node.name_disabled(*doubts);
  }
  return draw_node(node.read(), file, gpu);
}

}  // namespace ddpsim
