// GPUs by product, with the values that the simulator needs. Rows of one model are adjacent; the
// first row is what the bare model name means. Names contain memory and form if products differ in
// them. Without a form, the product is the SXM module.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>

#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "description.hpp"

namespace ddpsim {
namespace {

enum class Family { server, card, workstation, amd };

constexpr std::array kFamilies = {"servers", "PCIe cards", "GeForce and workstations", "AMD"};

enum class Form { sxm, pcie, nvl, oam, workstation, server, max_q };

struct Row {
  const char* model;
  const char* variant;
  Family family;
  Form form;
  /// For AMD: the NVIDIA generation of the same year, whose tables are used.
  int compute_capability;
  int sms;
  double memory_gbps;  ///< GB/s, peak
  /// At boost clock, outside the tensor cores. For AMD: on the matrix cores.
  double fp32_tflops;
  /// Dense. Values that a data sheet states with sparsity are halved.
  double tf32_tflops;
  /// Dense fp16 with fp32 sums, which is half of the fp16 value on GeForce cards.
  double half_tflops;
  int memory_gib;
  int links;                     ///< NVLinks, or xGMI, to other GPUs
  std::array<int, 2> sold_as{};  ///< other memory sizes in GB that names state
  const char* memory_kind = "";  ///< "HBM3" if it distinguishes variants
};

// Models of a family are sorted by half-precision speed. Each line is one product.
// clang-format off
constexpr std::array kCatalogue = {
    // GB300 NVL72 data sheet, a 72nd (20 TB of memory); SMs as its device properties print them
    Row{"GB300", "GB300", Family::server, Form::sxm, 103, 152, 8000, 80, 1250, 2500, 279, 18, {288}},
    // GB200 NVL72 data sheet, a 72nd; SMs as its device properties print them
    Row{"GB200", "GB200", Family::server, Form::sxm, 100, 152, 8000, 80, 1250, 2500, 186, 18, {192}},
    // HGX B300 data sheet, an eighth; memory as nvidia-smi prints it (275040 MiB), SMs as its
    // device properties do
    Row{"B300", "B300", Family::server, Form::sxm, 103, 148, 8000, 75, 1125, 2250, 268, 18, {288}},
    // HGX B200 data sheet
    Row{"B200", "B200", Family::server, Form::sxm, 100, 148, 8000, 80, 1125, 2250, 180, 18, {192}},
    // H200 data sheet, SXM
    Row{"H200", "H200-SXM", Family::server, Form::sxm, 90, 132, 4800, 67, 494.5, 989, 141, 18},
    // H200 data sheet, NVL; a bridge joins two or four cards, 900 GB/s both ways
    Row{"H200", "H200-NVL", Family::server, Form::nvl, 90, 132, 4800, 60, 417.5, 835.5, 141, 18},
    // GH200 data sheet, HBM3; its device name states the processor's memory, 120 or 480 GB
    Row{"GH200", "GH200-96GB", Family::server, Form::sxm, 90, 132, 4000, 67, 494.5, 989, 96, 18, {120, 480}, "HBM3"},
    // GH200 data sheet, HBM3e
    Row{"GH200", "GH200-144GB", Family::server, Form::sxm, 90, 132, 4900, 67, 494.5, 989, 144, 18, {141}, "HBM3E"},
    // H100 data sheet, SXM5
    Row{"H100", "H100-SXM", Family::server, Form::sxm, 90, 132, 3350, 67, 494.5, 989, 80, 18, {}, "HBM3"},
    // H100 data sheet, NVL: one of the two cards; a bridge joins them, 600 GB/s both ways
    Row{"H100", "H100-NVL", Family::server, Form::nvl, 90, 132, 3900, 60, 417.5, 835.5, 94, 12, {}, "HBM3"},
    // H100 data sheet, PCIe; a bridge joins two cards, 600 GB/s both ways
    Row{"H100", "H100-PCIE", Family::server, Form::pcie, 90, 114, 2000, 51, 378, 756, 80, 12, {}, "HBM2E"},
    // as H100, NVLink at 400 GB/s both ways
    Row{"H800", "H800-SXM", Family::server, Form::sxm, 90, 132, 3350, 67, 494.5, 989, 80, 8},
    Row{"H800", "H800-PCIE", Family::server, Form::pcie, 90, 114, 2000, 51, 378, 756, 80, 8},
    // A100 data sheet
    Row{"A100", "A100-80GB", Family::server, Form::sxm, 80, 108, 2039, 19.5, 156, 312, 80, 12, {}, "HBM2E"},
    Row{"A100", "A100-40GB", Family::server, Form::sxm, 80, 108, 1555, 19.5, 156, 312, 40, 12, {}, "HBM2"},
    // A100 data sheet, PCIe; a bridge joins two cards, 600 GB/s both ways
    Row{"A100", "A100-80GB-PCIE", Family::server, Form::pcie, 80, 108, 1935, 19.5, 156, 312, 80, 12, {}, "HBM2E"},
    Row{"A100", "A100-40GB-PCIE", Family::server, Form::pcie, 80, 108, 1555, 19.5, 156, 312, 40, 12, {}, "HBM2"},
    // as A100, NVLink at 400 GB/s both ways
    Row{"A800", "A800-80GB", Family::server, Form::sxm, 80, 108, 2039, 19.5, 156, 312, 80, 8},
    Row{"A800", "A800-40GB", Family::server, Form::sxm, 80, 108, 1555, 19.5, 156, 312, 40, 8},
    Row{"A800", "A800-80GB-PCIE", Family::server, Form::pcie, 80, 108, 1935, 19.5, 156, 312, 80, 8},
    Row{"A800", "A800-40GB-PCIE", Family::server, Form::pcie, 80, 108, 1555, 19.5, 156, 312, 40, 8},
    // H20 data sheet, SXM; SMs as its device properties print them
    Row{"H20", "H20", Family::server, Form::sxm, 90, 78, 4000, 44, 74, 148, 96, 18},
    // Tesla V100 data sheet, SXM2; the 32 GB of DGX-2 is an SXM3, that of DGX Station a card with
    // NVLink
    Row{"V100", "V100-32GB", Family::server, Form::sxm, 70, 80, 900, 15.7, 0, 125, 32, 6},
    Row{"V100", "V100-16GB", Family::server, Form::sxm, 70, 80, 900, 15.7, 0, 125, 16, 6},
    // Tesla V100 data sheet, PCIe
    Row{"V100", "V100-32GB-PCIE", Family::server, Form::pcie, 70, 80, 900, 14, 0, 112, 32, 0},
    Row{"V100", "V100-16GB-PCIE", Family::server, Form::pcie, 70, 80, 900, 14, 0, 112, 16, 0},
    // V100S data sheet: the same chip on a card with faster memory
    Row{"V100", "V100S", Family::server, Form::pcie, 70, 80, 1134, 16.4, 0, 130, 32, 0},
    // Tesla P100 data sheet, SXM2
    Row{"P100", "P100-16GB", Family::server, Form::sxm, 60, 56, 732, 10.6, 0, 21.2, 16, 4},
    // Tesla P100 data sheet, PCIe
    Row{"P100", "P100-16GB-PCIE", Family::server, Form::pcie, 60, 56, 732, 9.3, 0, 18.7, 16, 0},
    Row{"P100", "P100-12GB-PCIE", Family::server, Form::pcie, 60, 56, 549, 9.3, 0, 18.7, 12, 0},

    // L40S data sheet
    Row{"L40S", "L40S", Family::card, Form::pcie, 89, 142, 864, 91.6, 183, 362, 48, 0},
    // L40 data sheet
    Row{"L40", "L40", Family::card, Form::pcie, 89, 142, 864, 90.5, 90.5, 181, 48, 0},
    // A30 data sheet; NVLink bridge, 200 GB/s both ways
    Row{"A30", "A30", Family::card, Form::pcie, 80, 56, 933, 10.3, 82, 165, 24, 4},
    // A40 data sheet; NVLink bridge, 112.5 GB/s both ways, as of A6000, A5000 and RTX 3090
    Row{"A40", "A40", Family::card, Form::pcie, 86, 84, 696, 37.4, 74.8, 149.7, 48, 4},
    // A10 data sheet
    Row{"A10", "A10", Family::card, Form::pcie, 86, 72, 600, 31.2, 62.5, 125, 24, 0},
    // L4 data sheet
    Row{"L4", "L4", Family::card, Form::pcie, 89, 58, 300, 30.3, 60, 121, 24, 0},
    // L20 data sheet
    Row{"L20", "L20", Family::card, Form::pcie, 89, 92, 864, 59.8, 59.8, 119.5, 48, 0},
    // A10G data sheet (AWS); SMs as its device properties print them
    Row{"A10G", "A10G", Family::card, Form::pcie, 86, 80, 600, 35, 35, 70, 24, 0},
    // T4 data sheet
    Row{"T4", "T4", Family::card, Form::pcie, 75, 40, 320, 8.1, 0, 65, 16, 0},
    // A16 data sheet, a quarter: PyTorch sees the four GPUs of a card
    Row{"A16", "A16", Family::card, Form::pcie, 86, 10, 200, 4.5, 9, 17.9, 16, 0},

    // RTX PRO 6000 Blackwell data sheet, RTX Blackwell PRO architecture white paper (2617 MHz)
    Row{"RTXPRO6000", "RTXPRO6000-WORKSTATION", Family::workstation, Form::workstation, 120, 188, 1792, 126, 251.9, 503.8, 96, 0},
    // its data sheet has 120 TFLOPS in fp32 and none of the tensor cores: four times that, as of
    // the chip at any clock
    Row{"RTXPRO6000", "RTXPRO6000-SERVER", Family::workstation, Form::server, 120, 188, 1597, 120, 240, 480, 96, 0},
    // the same, 110 TFLOPS in fp32
    Row{"RTXPRO6000", "RTXPRO6000-MAXQ", Family::workstation, Form::max_q, 120, 188, 1792, 110, 220, 440, 96, 0},
    // Ada architecture white paper
    Row{"RTX6000Ada", "RTX6000Ada", Family::workstation, Form::pcie, 89, 142, 960, 91.1, 182.1, 364.2, 48, 0},
    // RTX Blackwell architecture white paper
    Row{"RTX5090", "RTX5090", Family::workstation, Form::pcie, 120, 170, 1792, 104.8, 104.8, 209.5, 32, 0},
    // Ada architecture white paper
    Row{"RTX4090", "RTX4090", Family::workstation, Form::pcie, 89, 128, 1008, 82.6, 82.6, 165.2, 24, 0},
    // RTX A6000 data sheet, GA102 architecture white paper
    Row{"A6000", "A6000", Family::workstation, Form::pcie, 86, 84, 768, 38.7, 77.4, 154.8, 48, 4},
    // Turing white paper; a card of the GeForce driver that sums in fp32 at full rate; NVLink
    // bridge, 100 GB/s both ways
    Row{"TITANRTX", "TITANRTX", Family::workstation, Form::pcie, 75, 72, 672, 16.3, 0, 130.5, 24, 2},
    // RTX A5000 data sheet; its tensor figure, 222.2, is with sparsity
    Row{"A5000", "A5000", Family::workstation, Form::pcie, 86, 64, 768, 27.8, 55.6, 111.1, 24, 4},
    // GA102 architecture white paper
    Row{"RTX3090", "RTX3090", Family::workstation, Form::pcie, 86, 82, 936, 35.6, 35.6, 71, 24, 4},
    // Turing white paper, reference card
    Row{"RTX2080Ti", "RTX2080Ti", Family::workstation, Form::pcie, 75, 68, 616, 13.4, 0, 53.8, 11, 2},

    // MI355X data sheet; its matrix cores have no TF32; seven links to the others of an OAM
    // platform
    Row{"MI355X", "MI355X", Family::amd, Form::oam, 90, 256, 8000, 157.3, 0, 2516.6, 288, 7},
    // MI325X data sheet; links as MI300X
    Row{"MI325X", "MI325X", Family::amd, Form::oam, 90, 304, 6000, 163.4, 653.7, 1307.4, 256, 7},
    // MI300X data sheet; seven links to the others of an OAM platform
    Row{"MI300X", "MI300X", Family::amd, Form::oam, 90, 304, 5300, 163.4, 653.7, 1307.4, 192, 7},
    // MI300A data sheet; two links to each of the three others of a node
    Row{"MI300A", "MI300A", Family::amd, Form::oam, 90, 228, 5300, 122.6, 490.3, 980.6, 128, 6},
    // MI250X data sheet, halved. A GPU is one of its two dies (GCD), as PyTorch and rccl-tests
    // count. fp32 and half run on the matrix cores. Four links lead to the other die, and up to
    // four leave the card.
    Row{"MI250X", "MI250X", Family::amd, Form::oam, 80, 110, 1638, 47.9, 0, 191.5, 64, 8, {128}},
    // MI210 data sheet; fp32 and half of the matrix cores; a bridge joins up to four cards
    Row{"MI210", "MI210", Family::amd, Form::pcie, 80, 104, 1638, 45.3, 0, 181, 64, 3},
};
// clang-format on

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

/// Runs of letters and digits: "Tesla V100-SXM2" becomes Tesla, V100, SXM2.
std::vector<std::string> words_as_written(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

/// The words of a GPU's name, in capitals.
std::vector<std::string> name_words(std::string_view text) {
  return words_as_written(upper(text));
}

/// Whether the word, after a model, names another chip.
bool makes_another_model(const std::string& word) {
  return word == "TI" || word == "SUPER" || word == "LAPTOP" || word == "MAX" || word == "D";
}

/// Whether the word names a part of a GPU: "MIG 1g.5gb" is a MIG instance, "24Q" the profile of a
/// vGPU.
bool names_a_slice(const std::string& word) {
  const std::size_t digits = word.find_first_not_of("0123456789");
  return word == "MIG" ||
         (digits != 0 && digits + 1 == word.size() && word.find_first_of("ABCQ") == digits);
}

/// Removes RTX, which names may omit: "4090", "RTXA6000".
std::string_view without_rtx(std::string_view name) {
  return name.starts_with("RTX") ? name.substr(3) : name;
}

/// Whether the product has a word of its own as its name: "V100S".
bool has_own_word(const Row& row) {
  const std::string_view variant = row.variant;
  return variant != row.model && !variant.starts_with(std::string(row.model) + "-");
}

/// The model, or the one product whose own name is among the words, and the words that name it.
struct FoundModel {
  const Row* row = nullptr;
  std::size_t first = 0;
  std::size_t next = 0;
};

bool is_called(const Row& row, const std::string& word) {
  const std::string name = upper(has_own_word(row) ? row.variant : row.model);
  return word == name ||
         (row.family == Family::workstation && without_rtx(word) == without_rtx(name));
}

std::optional<Form> form_of(const std::string& word) {
  if (word.starts_with("SXM") && word.size() <= 4) return Form::sxm;
  if (word == "PCIE" || word == "PCI" || word == "FHHL") return Form::pcie;
  if (word == "NVL") return Form::nvl;
  if (word == "OAM") return Form::oam;
  if (word == "WORKSTATION") return Form::workstation;
  if (word == "SERVER") return Form::server;
  if (word == "MAX" || word == "MAXQ") return Form::max_q;
  return std::nullopt;
}

/// Whether the word turns this model into another one. "Max-Q" is only a form in which some models
/// are sold.
bool makes_another_of(const Row& model, const std::string& word) {
  return makes_another_model(word) && std::ranges::none_of(kCatalogue, [&](const Row& row) {
           return std::string_view(row.model) == model.model && form_of(word) == row.form;
         });
}

FoundModel find_model(const std::vector<std::string>& words) {
  if (std::ranges::any_of(words, names_a_slice)) return {};
  for (std::size_t first = 0; first < words.size(); ++first) {
    std::string joined;  // "RTX 2080 Ti" is three words
    FoundModel found;
    for (std::size_t last = first; last < words.size() && last < first + 3; ++last) {
      joined += words[last];
      const auto row =
          std::ranges::find_if(kCatalogue, [&](const Row& one) { return is_called(one, joined); });
      if (row != kCatalogue.end()) found = {&*row, first, last + 1};
    }
    if (found.row == nullptr) continue;
    const bool another =
        found.next < words.size() && makes_another_of(*found.row, words[found.next]);
    return another ? FoundModel{} : found;
  }
  return {};
}

/// Words without information: maker, family, board, and forms in which no variant is sold.
bool says_nothing(const std::string& word) {
  constexpr std::array kWords = {
      "NVIDIA", "TESLA", "QUADRO", "GEFORCE", "RTX", "AMD",     "INSTINCT",   "GRACE",     "HGX",
      "DGX",    "DGXS",  "TENSOR", "CORE",    "GPU", "EDITION", "GENERATION", "BLACKWELL", "AC"};
  return std::ranges::find(kWords, word) != kWords.end();
}

/// Size in "80GB", "80GIB" or "80G": 80.
std::optional<int> size_of(const std::string& word) {
  const std::size_t digits = word.find_first_not_of("0123456789");
  if (digits == 0 || digits == word.npos) return std::nullopt;
  const std::string unit = word.substr(digits);
  if (unit != "GB" && unit != "GIB" && unit != "G") return std::nullopt;
  int size = 0;
  const auto [rest, error] = std::from_chars(word.data(), word.data() + digits, size);
  return error == std::errc() && rest != word.data() ? std::optional(size) : std::nullopt;
}

bool is_memory_kind(const std::string& word) {
  return word == "HBM2" || word == "HBM2E" || word == "HBM3" || word == "HBM3E";
}

bool has_size(const Row& row, int size) {
  return row.memory_gib == size || std::ranges::find(row.sold_as, size) != row.sold_as.end();
}

/// Whether a product of the row fits the word. A card without a stated kind of memory fits any.
bool agrees(const Row& row, const std::string& word) {
  if (const auto form = form_of(word)) {
    const bool workstation_max_q = row.form == Form::max_q && *form == Form::workstation;
    return row.form == *form || workstation_max_q;
  }
  if (const auto size = size_of(word)) return has_size(row, *size);
  return *row.memory_kind == '\0' || word == row.memory_kind;
}

/// The meaning of a name.
struct Found {
  const Row* row = nullptr;
  bool open = false;   ///< the name fits several products
  std::string beyond;  ///< first word that no product has
};

/// Name such as "A100-40GB", made of a model and the words about its variant, in the catalogue's
/// order.
std::string spelt(const Row& model, const std::vector<std::string>& about) {
  std::string name = model.model;
  for (const std::string& word : about)
    if (size_of(word)) name += fmt::format("-{}GB", *size_of(word));
  for (const std::string& word : about)
    if (form_of(word) && *form_of(word) != Form::sxm) name += "-" + word;
  return name;
}

Found find_row(std::string_view full_name) {
  const std::vector<std::string> words = name_words(full_name);
  const FoundModel model = find_model(words);
  if (model.row == nullptr) return {};
  Found found;
  std::vector<const Row*> fitting;
  for (const Row& row : kCatalogue) {
    const bool same = std::string_view(row.model) == model.row->model;
    if (has_own_word(*model.row) ? &row == model.row : same && !has_own_word(row))
      fitting.push_back(&row);
  }
  const bool several = fitting.size() > 1;
  std::vector<std::string> about;
  for (std::size_t i = 0; i < words.size(); ++i) {
    // Number of the board, as in "A100-PG509-200".
    const bool board = words[i].starts_with("PG") || (i > 0 && words[i - 1].starts_with("PG"));
    const bool behind_dash = i > 0 && ((words[i - 1] == "PCI" && words[i] == "E") ||
                                       (words[i - 1] == "MAX" && words[i] == "Q"));
    if ((i >= model.first && i < model.next) || board || behind_dash || says_nothing(words[i]))
      continue;
    const bool known = form_of(words[i]) || size_of(words[i]) || is_memory_kind(words[i]);
    std::vector<const Row*> left;
    if (known)
      for (const Row* row : fitting)
        if (agrees(*row, words[i])) left.push_back(row);
    if (left.empty()) {
      if (found.beyond.empty()) found.beyond = words_as_written(full_name)[i];
      continue;
    }
    fitting = std::move(left);
    about.push_back(words[i]);
  }
  found.row = fitting.front();
  found.open = several && (!found.beyond.empty() || fitting.size() > 1);
  if (!found.beyond.empty()) return found;
  const std::string exact = spelt(*model.row, about);
  for (const Row* row : fitting)
    if (exact == row->variant) return {row, false, ""};
  return found;
}

bool is_card(Form form) {
  return form != Form::sxm && form != Form::oam;
}

GpuModel model_of(const Row& row) {
  return {.name = row.model,
          .variant = row.variant,
          .card = is_card(row.form),
          .vendor = row.family == Family::amd ? GpuVendor::amd : GpuVendor::nvidia,
          .compute_capability = row.compute_capability,
          .sms = row.sms,
          .memory_bandwidth = Bandwidth::gigabytes_per_second(row.memory_gbps),
          .fp32_tflops = row.fp32_tflops,
          .tf32_tflops = row.tf32_tflops,
          .half_tflops = row.half_tflops,
          .memory = Bytes(static_cast<std::int64_t>(row.memory_gib) << 30),
          .links = row.links};
}

/// The first row of each model, which the bare name means.
std::vector<const Row*> first_of_each_model() {
  std::vector<const Row*> rows;
  for (const Row& row : kCatalogue)
    if (rows.empty() || std::string_view(rows.back()->model) != row.model) rows.push_back(&row);
  return rows;
}

}  // namespace

std::optional<GpuModel> find_gpu(std::string_view name) {
  const Found found = find_row(name);
  if (found.row == nullptr) return std::nullopt;
  GpuModel gpu = model_of(*found.row);
  gpu.variant_open = found.open;
  return gpu;
}

std::string beyond_gpu_name(std::string_view name) {
  const auto known = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == ' ';
  };
  const auto odd = std::ranges::find_if_not(name, known);
  if (odd != name.end())
    return std::string(name.substr(static_cast<std::size_t>(odd - name.begin())));
  return find_row(name).beyond;
}

std::string gpu_name_problem(std::string_view name) {
  const std::optional<GpuModel> gpu = find_gpu(name);
  if (!gpu) return "unknown GPU " + in_quotes(name);
  const std::string beyond = beyond_gpu_name(name);
  return beyond.empty() ? ""
                        : fmt::format("unknown variant {} of {}", in_quotes(beyond), gpu->name);
}

bool is_geforce(const GpuModel& gpu) {
  const bool professional = gpu.name.starts_with("RTXPRO") || gpu.name == "RTX6000Ada";
  return (gpu.name.starts_with("RTX") && !professional) || gpu.name.starts_with("TITAN");
}

PeerAccess peers_of(const NodeDescription& node) {
  if (node.interconnect.peers) return *node.interconnect.peers;
  // From Turing on, the driver no longer offers peer-to-peer access over PCIe on GeForce cards.
  // A6000 and other workstation cards have it. Logs of RTX 2080 Ti and 4090 show this; one page
  // names peer to peer as off, and another a modified driver that turns it on. TITAN RTX has the
  // 2080 Ti's chip and the same driver.
  return is_geforce(node.gpu) ? PeerAccess::host : PeerAccess::sockets;
}

int gpus_per_root(const NodeDescription& node) {
  if (node.interconnect.gpus_per_root > 0) return node.interconnect.gpus_per_root;
  constexpr int kMostWithOwnPort = 4;
  return node.gpus_in_layout > kMostWithOwnPort ? 2 : 1;
}

std::vector<GpuFamily> gpu_families() {
  std::vector<GpuFamily> families;
  for (const char* family : kFamilies) families.push_back({family, {}});
  for (const Row& row : kCatalogue)
    families[static_cast<std::size_t>(row.family)].gpus.push_back(model_of(row));
  return families;
}

std::string gpus_instead_of(std::string_view name) {
  if (const Found found = find_row(name); found.row != nullptr) {
    std::vector<std::string> variants;
    for (const Row& row : kCatalogue)
      if (std::string_view(row.model) == found.row->model) variants.emplace_back(row.variant);
    return variants.size() == 1
               ? fmt::format("{} is known in one variant: leave the word out", found.row->model)
               : fmt::format("Variants of {}: {}", found.row->model, fmt::join(variants, ", "));
  }
  std::vector<std::string> known;
  std::string by_speed;
  const Row* last = nullptr;
  for (const Row* row : first_of_each_model()) {
    if (last == nullptr || last->family != row->family)
      by_speed += fmt::format("{}{}", last == nullptr ? "" : "; ",
                              kFamilies[static_cast<std::size_t>(row->family)]);
    else
      by_speed += ",";
    by_speed += fmt::format(" {} {:.0f}", row->model, row->half_tflops);
    known.emplace_back(row->model);
    last = row;
  }
  // In "NVIDIA RTX A4500", A4500 names the model; "4070" is one of the RTX models.
  const std::vector<std::string> words = name_words(name);
  const auto model = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return word.find_first_of("0123456789") != word.npos;
  });
  std::string spelt = model == words.end() ? std::string(name) : *model;
  if (std::isdigit(static_cast<unsigned char>(spelt.empty() ? ' ' : spelt.front())) != 0)
    spelt = "RTX" + spelt;
  constexpr std::size_t kFew = 3;
  const std::vector<std::string> alike = spelt_alike(spelt, known, kFew);
  return fmt::format("{}{}{}ake the known GPU nearest in half-precision speed (dense TFLOPS): {}",
                     alike.empty() ? "" : "Similar names: ", fmt::join(alike, ", "),
                     alike.empty() ? "T" : ". For a GPU that is missing, t", by_speed);
}

std::string gpu_model_name(std::string_view full_name) {
  const Found found = find_row(full_name);
  return found.row == nullptr ? std::string(full_name) : found.row->model;
}

}  // namespace ddpsim
