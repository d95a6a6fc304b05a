// GPUs by model, with the few figures the simulator needs. Peak figures are the vendor's, for the
// SXM card where there is one; form factor and memory size are no reason to call two GPUs
// different.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>

#include "ddpsim/formats/suggest.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "description.hpp"

namespace ddpsim {
namespace {

enum class Family { server, card, workstation, amd };

struct Row {
  const char* name;
  Family family;
  int compute_capability;  ///< AMD: of the generation whose tables stand in, by year
  int sms;
  double memory_gbps;  ///< GB/s, peak
  double fp32_tflops;  ///< outside the tensor cores, at boost clock; AMD's matrix cores take fp32
  double tf32_tflops;  ///< dense; data sheets that print it with sparsity are halved
  double half_tflops;  ///< dense, fp16 summed in fp32 (half of the fp16 figure on GeForce cards)
  int memory_gib;      ///< of the largest card
  int links;           ///< NVLinks, or xGMI, to other GPUs
};

// Within a family by half-precision speed.
constexpr std::array kCatalogue = {
    // GB300 NVL72 data sheet, a 72nd (20 TB of memory); SMs as its device properties print them
    Row{"GB300", Family::server, 103, 152, 8000, 80, 1250, 2500, 279, 18},
    // GB200 NVL72 data sheet, a 72nd; SMs as its device properties print them
    Row{"GB200", Family::server, 100, 152, 8000, 80, 1250, 2500, 186, 18},
    // HGX B200 data sheet
    Row{"B200", Family::server, 100, 148, 8000, 80, 1125, 2250, 180, 18},
    // H200 data sheet, SXM
    Row{"H200", Family::server, 90, 132, 4800, 67, 494.5, 989, 141, 18},
    // GH200 data sheet, 96 GB HBM3
    Row{"GH200", Family::server, 90, 132, 4000, 67, 494.5, 989, 96, 18},
    // H100 data sheet, SXM5
    Row{"H100", Family::server, 90, 132, 3350, 67, 494.5, 989, 80, 18},
    // as H100, NVLink at 400 GB/s both ways
    Row{"H800", Family::server, 90, 132, 3350, 67, 494.5, 989, 80, 8},
    // A100 data sheet, 80 GB SXM
    Row{"A100", Family::server, 80, 108, 2039, 19.5, 156, 312, 80, 12},
    // as A100, NVLink at 400 GB/s both ways
    Row{"A800", Family::server, 80, 108, 2039, 19.5, 156, 312, 80, 8},
    // H20 data sheet, SXM; SMs as its device properties print them
    Row{"H20", Family::server, 90, 78, 4000, 44, 74, 148, 96, 18},
    // Tesla V100 data sheet, SXM2
    Row{"V100", Family::server, 70, 80, 900, 15.7, 0, 125, 32, 6},
    // Tesla P100 data sheet, SXM2
    Row{"P100", Family::server, 60, 56, 732, 10.6, 0, 21.2, 16, 4},

    // L40S data sheet
    Row{"L40S", Family::card, 89, 142, 864, 91.6, 183, 362, 48, 0},
    // L40 data sheet
    Row{"L40", Family::card, 89, 142, 864, 90.5, 90.5, 181, 48, 0},
    // A30 data sheet; NVLink bridge, 200 GB/s both ways
    Row{"A30", Family::card, 80, 56, 933, 10.3, 82, 165, 24, 4},
    // A40 data sheet; NVLink bridge, 112.5 GB/s both ways, as of A6000, A5000 and RTX 3090
    Row{"A40", Family::card, 86, 84, 696, 37.4, 74.8, 149.7, 48, 4},
    // A10 data sheet
    Row{"A10", Family::card, 86, 72, 600, 31.2, 62.5, 125, 24, 0},
    // L4 data sheet
    Row{"L4", Family::card, 89, 58, 300, 30.3, 60, 121, 24, 0},
    // L20 data sheet
    Row{"L20", Family::card, 89, 92, 864, 59.8, 59.8, 119.5, 48, 0},
    // A10G data sheet (AWS); SMs as its device properties print them
    Row{"A10G", Family::card, 86, 80, 600, 35, 35, 70, 24, 0},
    // T4 data sheet
    Row{"T4", Family::card, 75, 40, 320, 8.1, 0, 65, 16, 0},

    // RTX Blackwell architecture white paper
    Row{"RTX5090", Family::workstation, 120, 170, 1792, 104.8, 104.8, 209.5, 32, 0},
    // Ada architecture white paper
    Row{"RTX4090", Family::workstation, 89, 128, 1008, 82.6, 82.6, 165.2, 24, 0},
    // RTX A6000 data sheet, GA102 architecture white paper
    Row{"A6000", Family::workstation, 86, 84, 768, 38.7, 77.4, 154.8, 48, 4},
    // Turing white paper; a card of the GeForce driver that sums in fp32 at full rate; NVLink bridge, 100 GB/s both ways
    Row{"TITANRTX", Family::workstation, 75, 72, 672, 16.3, 0, 130.5, 24, 2},
    // RTX A5000 data sheet; its tensor figure, 222.2, is with sparsity
    Row{"A5000", Family::workstation, 86, 64, 768, 27.8, 55.6, 111.1, 24, 4},
    // GA102 architecture white paper
    Row{"RTX3090", Family::workstation, 86, 82, 936, 35.6, 35.6, 71, 24, 4},
    // Turing white paper, reference card
    Row{"RTX2080Ti", Family::workstation, 75, 68, 616, 13.4, 0, 53.8, 11, 2},

    // MI300X data sheet; seven links to the others of an OAM platform
    Row{"MI300X", Family::amd, 90, 304, 5300, 163.4, 653.7, 1307.4, 192, 7},
    // MI300A data sheet; two links to each of the three others of a node
    Row{"MI300A", Family::amd, 90, 228, 5300, 122.6, 490.3, 980.6, 128, 6},
    // MI250X data sheet, halved: a GPU is one of its two dies (GCD), as PyTorch and rccl-tests count;
    // fp32 and half of the matrix cores; four links to the other die, up to four outwards
    Row{"MI250X", Family::amd, 80, 110, 1638, 47.9, 0, 191.5, 64, 8},
    // MI210 data sheet; fp32 and half of the matrix cores; a bridge joins up to four cards
    Row{"MI210", Family::amd, 80, 104, 1638, 45.3, 0, 181, 64, 3},
};

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

/// Runs of letters and digits, in capitals: "Tesla V100-SXM2" -> TESLA, V100, SXM2.
std::vector<std::string> name_words(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : upper(text)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

/// A word that makes another chip of the model before it.
bool makes_another_model(const std::string& word) {
  return word == "TI" || word == "SUPER" || word == "LAPTOP" || word == "MAX" || word == "D";
}

/// A part of a GPU: "MIG 1g.5gb" of a MIG instance, "24Q" of a vGPU's profile.
bool names_a_slice(const std::string& word) {
  const std::size_t digits = word.find_first_not_of("0123456789");
  return word == "MIG" ||
         (digits != 0 && digits + 1 == word.size() && word.find_first_of("ABCQ") == digits);
}

/// RTX may stand or not: "4090", "RTXA6000".
std::string_view without_rtx(std::string_view name) {
  return name.starts_with("RTX") ? name.substr(3) : name;
}

/// A row, and the words of the name that are its model.
struct FoundRow {
  const Row* row = nullptr;
  std::size_t first = 0;
  std::size_t next = 0;
};

FoundRow find_words(const std::vector<std::string>& words) {
  if (std::any_of(words.begin(), words.end(), names_a_slice)) return {};
  for (std::size_t first = 0; first < words.size(); ++first) {
    std::string joined;  // "RTX 2080 Ti" is three words of one model
    FoundRow found;
    for (std::size_t last = first; last < words.size() && last < first + 3; ++last) {
      joined += words[last];
      for (const Row& row : kCatalogue) {
        const std::string name = upper(row.name);
        const bool rtx =
            row.family == Family::workstation && without_rtx(joined) == without_rtx(name);
        const bool v100s = name == "V100" && joined == "V100S";  // same chip, faster memory
        if (joined == name || rtx || v100s) found = {&row, first, last + 1};
      }
    }
    if (found.row == nullptr) continue;
    return found.next < words.size() && makes_another_model(words[found.next]) ? FoundRow{} : found;
  }
  return {};
}

const Row* find_row(std::string_view full_name) {
  return find_words(name_words(full_name)).row;
}

/// A word that may stand beside a model: maker, family, form, memory.
bool describes_a_model(const std::string& word) {
  constexpr std::array kWords = {
      "NVIDIA", "TESLA", "QUADRO", "GEFORCE", "RTX",     "AMD",       "INSTINCT", "GRACE",  "HGX",
      "DGX",    "DGXS",  "SXM",    "SXM2",    "SXM3",    "SXM4",      "SXM5",     "PCI",    "E",
      "PCIE",   "NVL",   "OAM",    "HBM2",    "HBM2E",   "HBM3",      "HBM3E",    "TENSOR", "CORE",
      "GPU",    "FHHL",  "ADA",    "SERVER",  "EDITION", "GENERATION"};
  if (std::ranges::find(kWords, word) != kWords.end()) return true;
  const std::size_t digits = word.find_first_not_of("0123456789");
  return digits != 0 && digits != word.npos &&
         (word.substr(digits) == "GB" || word.substr(digits) == "GIB" ||
          word.substr(digits) == "G");
}

GpuModel model_of(const Row& row) {
  return {.name = row.name,
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

}  // namespace

std::optional<GpuModel> find_gpu(std::string_view name) {
  const Row* row = find_row(name);
  return row == nullptr ? std::nullopt : std::optional(model_of(*row));
}

std::string beyond_gpu_name(std::string_view name) {
  const auto known = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == ' ';
  };
  const auto odd = std::ranges::find_if_not(name, known);
  if (odd != name.end())
    return std::string(name.substr(static_cast<std::size_t>(odd - name.begin())));
  const std::vector<std::string> words = name_words(name);
  const FoundRow found = find_words(words);
  for (std::size_t i = 0; i < words.size(); ++i) {
    // "A100-PG509-200": the number of the board
    const bool board = words[i].starts_with("PG") || (i > 0 && words[i - 1].starts_with("PG"));
    if ((i < found.first || i >= found.next) && !board && !describes_a_model(words[i]))
      return words[i];
  }
  return "";
}

bool is_geforce(const GpuModel& gpu) {
  return gpu.name.starts_with("RTX") || gpu.name.starts_with("TITAN");
}

PeerAccess peers_of(const NodeDescription& node) {
  if (node.interconnect.peers) return *node.interconnect.peers;
  // The driver offers peer to peer over PCIe on GeForce cards from Turing on no more, the catalogue's RTX; A6000
  // and the others have it. Logs of RTX 2080 Ti and 4090 say so (one page names peer to peer as off, another a modified
  // driver that turns it on). TITAN RTX is the 2080 Ti's chip under the same driver.
  return is_geforce(node.gpu) ? PeerAccess::host : PeerAccess::sockets;
}

int gpus_per_root(const NodeDescription& node) {
  if (node.interconnect.gpus_per_root > 0) return node.interconnect.gpus_per_root;
  constexpr int kMostWithOwnPort = 4;
  return node.gpus_in_layout > kMostWithOwnPort ? 2 : 1;
}

std::vector<GpuFamily> gpu_families() {
  std::vector<GpuFamily> families = {
      {"servers", {}}, {"PCIe cards", {}}, {"GeForce and workstations", {}}, {"AMD", {}}};
  for (const Row& row : kCatalogue)
    families[static_cast<std::size_t>(row.family)].gpus.push_back(model_of(row));
  return families;
}

std::string gpus_instead_of(std::string_view name) {
  std::vector<std::string> known;
  std::string by_speed;
  for (const GpuFamily& family : gpu_families()) {
    by_speed += fmt::format("{}{}", by_speed.empty() ? "" : "; ", family.name);
    for (const GpuModel& gpu : family.gpus) {
      by_speed += fmt::format("{} {} {:.0f}", &gpu == &family.gpus.front() ? "" : ",", gpu.name,
                              gpu.half_tflops);
      known.push_back(gpu.name);
    }
  }
  // "NVIDIA RTX A4500": the word that names the model; "4070" is one of the RTX.
  const std::vector<std::string> words = name_words(name);
  const auto model = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return word.find_first_of("0123456789") != word.npos;
  });
  std::string spelt = model == words.end() ? std::string(name) : *model;
  if (std::isdigit(static_cast<unsigned char>(spelt.empty() ? ' ' : spelt.front())) != 0)
    spelt = "RTX" + spelt;
  constexpr std::size_t kFew = 3;
  const std::vector<std::string> alike = spelt_alike(spelt, known, kFew);
  return fmt::format("{}{}{}ake the known one nearest in half-precision speed (dense TFLOPS): {}",
                     alike.empty() ? "" : "Spelt alike: ", fmt::join(alike, ", "),
                     alike.empty() ? "T" : "; for a GPU that is missing t", by_speed);
}

std::string gpu_model_name(std::string_view full_name) {
  const Row* row = find_row(full_name);
  return row == nullptr ? std::string(full_name) : row->name;
}

}  // namespace ddpsim
