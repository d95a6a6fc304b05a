// Reads three forms: ROCm's rocm_smi.py; amd-smi up to ROCm 6.1; later amd-smi, from version 7 on
// below "gpu_data".
//
// - {"card0": {"(Topology) Numa Node": "0"}, …, "system": {"(Topology) Link type between DRM
//   devices 0 and 1": "XGMI", …}}
// - [{"gpu": 0, "link_type": {"gpu_0": "SELF", "gpu_1": "XGMI"}, "hops": {…}, …}, …]
// - [{"gpu": 0, "bdf": "…", "links": [{"gpu": 1, "bdf": "…", "link_type": "XGMI", "num_hops": 1,
//   …}, …]}, …]
//
// rocm-smi writes each pair once, amd-smi from both ends.
#include "rocm_json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "ddpsim/formats/csv.hpp"
#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"

namespace ddpsim {
namespace {

constexpr const char* kRunRocmSmi = "Give the output of `rocm-smi --showtopo --json`";
constexpr const char* kRunAmdSmi = "Give the output of `amd-smi topology --json`";

enum RocmKind { kLinks, kHops, kWeights, kAccess, kRocmKinds };
constexpr std::array<std::string_view, kRocmKinds> kOfPairs = {
    "(Topology) Link type between DRM devices ", "(Topology) Hops between DRM devices ",
    "(Topology) Weight between DRM devices ", "(Topology) Link accessibility between DRM devices "};
constexpr std::array<std::string_view, kRocmKinds> kOfLinks = {"link_type", "num_hops", "weight",
                                                               "link_status"};
constexpr std::array<std::string_view, kRocmKinds> kOfGpus = {"link_type", "hops", "weight",
                                                              "link_accessibility"};
/// Fields that do not describe connections.
constexpr std::array<std::string_view, 16> kOfNoUse = {"(Topology) Numa Affinity",
                                                       "Card Model",
                                                       "Card model",
                                                       "Card Vendor",
                                                       "Card vendor",
                                                       "Card SKU",
                                                       "GFX Version",
                                                       "Driver version",
                                                       "bdf",
                                                       "bandwidth",
                                                       "numa_bandwidth",
                                                       "coherent",
                                                       "atomics",
                                                       "dma",
                                                       "bi_dir",
                                                       "Node ID"};

template <std::size_t N>
std::optional<RocmKind> kind_of(const std::array<std::string_view, N>& names,
                                std::string_view key) {
  const auto found = std::ranges::find(names, key);
  if (found == names.end()) return std::nullopt;
  return static_cast<RocmKind>(found - names.begin());
}

/// Number in "card0" or "gpu_0".
std::optional<int> number_behind(std::string_view key, std::string_view name) {
  if (!key.starts_with(name)) return std::nullopt;
  const auto number = parse_number<int>(key.substr(name.size()));
  return number && *number >= 0 ? number : std::nullopt;
}

/// The JSON document in a text. A prompt and the program's warnings may surround it.
std::string_view document_in(std::string_view text) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view whole = rest;
    const std::string_view line = trimmed(take_line(rest));
    if (!line.starts_with('{') && !line.starts_with('[')) continue;
    const std::size_t end = whole.find_last_of("}]");
    return whole.substr(0, end == whole.npos ? end : end + 1);
  }
  return {};
}

std::string_view without_blanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  return text;
}

class RocmJson {
 public:
  RocmTables read(const Cursor& root) {
    if (root.is_array()) {
      read_amd_smi(root);
    } else if (const Object object = root.free_object(); object.has("gpu_data")) {
      read_amd_smi(object.required("gpu_data"));
    } else {
      read_rocm_smi(object);
    }
    if (gpus_.size() > kMostRocmGpus) root.fail(fmt::format("{} GPUs in one node", gpus_.size()));
    const bool rocm_smi = !root.is_array() && !root.free_object().has("gpu_data");
    const bool alone = gpus_.size() == 1 && has_topology_;
    if (cells_[kLinks].empty() && !alone)
      root.fail(fmt::format("is JSON of {} without its table of link types",
                            rocm_smi ? "rocm-smi" : "amd-smi"),
                rocm_smi ? kRunRocmSmi : kRunAmdSmi);
    RocmTables tables;
    tables.links = table_of(kLinks, root);
    if (!cells_[kHops].empty()) tables.hops = table_of(kHops, root);
    if (!cells_[kWeights].empty()) tables.weights = table_of(kWeights, root);
    if (!cells_[kAccess].empty()) tables.access = table_of(kAccess, root);
    for (const int gpu : gpus_) tables.numa.push_back(numa_[gpu]);
    if (models_.size() == 1) tables.model = *models_.begin();
    name_unused(tables.doubts);
    return tables;
  }

 private:
  using Pair = std::pair<int, int>;

  static std::string text_at(const Cursor& at) {
    return at.is_string() ? at.string() : std::to_string(at.integer(0, 1'000'000'000));
  }

  void set(RocmKind kind, Pair pair, const Cursor& at) {
    const std::string text = text_at(at);
    const auto [cell, is_new] = cells_[kind].emplace(pair, text);
    if (!is_new && cell->second != text)
      at.fail(fmt::format("is {} here and {} elsewhere", in_quotes(text), in_quotes(cell->second)));
    gpus_.insert({pair.first, pair.second});
    has_topology_ = true;
  }

  void leave(std::string_view key) {
    if (std::ranges::find(kOfNoUse, key) == kOfNoUse.end()) unused_.emplace(key);
  }

  void read_rocm_smi(const Object& root) {
    for (const auto& [key, at] : root.items()) {
      const auto card = number_behind(key, "card");
      if (card)
        read_card(*card, at.free_object());
      else if (key == "system")
        for (const auto& [name, value] : at.free_object().items()) read_pair(name, value);
      else
        leave(key);
    }
  }

  void read_card(int card, const Object& fields) {
    gpus_.insert(card);
    for (const auto& [name, at] : fields.items()) {
      if (name == "(Topology) Numa Node") {
        numa_[card] = text_at(at);
        has_topology_ = true;
      } else if (name == "Card Series" || name == "Card series") {
        models_.insert(at.string());
      } else {
        leave(name);
      }
    }
  }

  /// Reads a key such as "(Topology) Hops between DRM devices 0 and 1".
  void read_pair(std::string_view name, const Cursor& at) {
    for (std::size_t kind = 0; kind < kRocmKinds; ++kind) {
      if (!name.starts_with(kOfPairs[kind])) continue;
      std::string_view rest = name.substr(kOfPairs[kind].size());
      const auto a = take_number<int>(rest);
      constexpr std::string_view kAnd = " and ";
      const auto b = rest.starts_with(kAnd) ? parse_number<int>(rest.substr(kAnd.size()))
                                            : std::optional<int>();
      if (!a || !b || *a < 0 || *b < 0 || *a == *b) at.fail("names no two GPUs");
      set(static_cast<RocmKind>(kind), {*a, *b}, at);
      set(static_cast<RocmKind>(kind), {*b, *a}, at);
      return;
    }
    leave(name);
  }

  void read_amd_smi(const Cursor& list) {
    for (const Cursor& item : list.array()) {
      const Object gpu = item.free_object();
      const int from = gpu_at(gpu.required("gpu"));
      gpus_.insert(from);
      for (const auto& [key, at] : gpu.items()) {
        const auto kind = kind_of(kOfGpus, key);
        if (key == "links")
          for (const Cursor& link : at.array()) read_link(from, link.free_object());
        else if (kind)
          read_row(*kind, from, at.free_object());
        else if (key != "gpu")
          leave(key);
      }
    }
  }

  static int gpu_at(const Cursor& at) { return static_cast<int>(at.integer(0, 1'000'000)); }

  void read_link(int from, const Object& link) {
    const int to = gpu_at(link.required("gpu"));
    for (const auto& [key, at] : link.items())
      if (const auto kind = kind_of(kOfLinks, key))
        set(*kind, {from, to}, at);
      else if (key != "gpu")
        leave(key);
  }

  void read_row(RocmKind kind, int from, const Object& row) {
    for (const auto& [key, at] : row.items()) {
      const auto to = number_behind(key, "gpu_");
      if (!to) at.fail("names no GPU", "Expected gpu_0, gpu_1 and so on");
      set(kind, {from, *to}, at);
    }
  }

  RocmTable table_of(RocmKind kind, const Cursor& root) const {
    RocmTable table;
    for (const int gpu : gpus_) table.devices.push_back(fmt::format("GPU{}", gpu));
    for (const int a : gpus_) {
      std::vector<std::string>& row = table.cells.emplace_back();
      for (const int b : gpus_) {
        const auto cell = cells_[kind].find({a, b});
        if (cell == cells_[kind].end() && a != b)
          root.fail(fmt::format("no {} between GPU{} and GPU{}", kOfLinks[kind], a, b),
                    "Take it again, of all GPUs of the node");
        row.push_back(a == b ? "0" : cell->second);
      }
    }
    return table;
  }

  void name_unused(std::vector<std::string>& doubts) const {
    if (unused_.empty()) return;
    constexpr std::size_t kShown = 8;
    std::vector<std::string> shown(unused_.begin(), unused_.end());
    const std::size_t more = shown.size() > kShown ? shown.size() - kShown : 0;
    shown.resize(shown.size() - more);
    doubts.push_back(fmt::format("fields that are not known are not used: {}{}",
                                 legible(fmt::format("{}", fmt::join(shown, ", ")), 400),
                                 more > 0 ? fmt::format(" and {} more", more) : ""));
  }

  std::set<int> gpus_;
  std::array<std::map<Pair, std::string>, kRocmKinds> cells_;
  std::map<int, std::string> numa_;
  std::set<std::string> models_, unused_;
  bool has_topology_ = false;
};

}  // namespace

bool looks_like_rocm_json(std::string_view text) {
  std::string_view document = document_in(text);
  if (document.empty()) return false;
  const bool is_list = document.front() == '[';
  std::string_view key = without_blanks(document.substr(1));
  if (is_list && key.starts_with('{')) key = without_blanks(key.substr(1));
  if (!key.starts_with('"')) return false;
  key = key.substr(1, key.find('"', 1) - 1);
  if (is_list) return key == "gpu";
  return number_behind(key, "card") || key == "gpu_data" ||
         (key == "system" && document.find("(Topology)") != document.npos);
}

RocmTables read_rocm_json(std::string_view text, const std::string& file) {
  const std::string_view document = document_in(text);
  const std::string_view before =
      text.substr(0, static_cast<std::size_t>(document.data() - text.data()));
  // Newlines are added so that lines are counted from the beginning of the file.
  std::string padded(static_cast<std::size_t>(std::ranges::count(before, '\n')), '\n');
  padded += document;
  const Document parsed = Document::parse(padded, file);
  return RocmJson().read(parsed.root());
}

}  // namespace ddpsim
