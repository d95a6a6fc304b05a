// GPUs by model, with the few figures the simulator needs. Peak figures are the vendor's, for the
// SXM card where there is one; form factor and memory size are no reason to call two GPUs
// different.
#include <array>
#include <cctype>
#include <cstddef>

#include "ddpsim/topologies/cluster_source.hpp"

namespace ddpsim {
namespace {

struct Row {
  const char* name;
  int compute_capability;
  int sms;
  double memory_gbps;  ///< GB/s, peak
  double fp32_tflops;  ///< outside the tensor cores, at boost clock
  double tf32_tflops;  ///< dense; data sheets that print it with sparsity are halved
  double half_tflops;  ///< dense, fp16 summed in fp32 (half of the fp16 figure on GeForce cards)
  int memory_gib;      ///< of the largest card
};

constexpr std::array kCatalogue = {
    Row{"P100", 60, 56, 732, 10.6, 0, 21.2, 16},           // Tesla P100 data sheet, SXM2
    Row{"V100", 70, 80, 900, 15.7, 0, 125, 32},            // Tesla V100 data sheet, SXM2
    Row{"T4", 75, 40, 320, 8.1, 0, 65, 16},                // T4 data sheet
    Row{"RTX2080Ti", 75, 68, 616, 13.4, 0, 53.8, 11},      // Turing white paper, reference card
    Row{"A100", 80, 108, 2039, 19.5, 156, 312, 80},        // A100 data sheet, 80 GB SXM
    Row{"A10", 86, 72, 600, 31.2, 62.5, 125, 24},          // A10 data sheet
    Row{"RTX3090", 86, 82, 936, 35.6, 35.6, 71, 24},       // GA102 architecture white paper
    Row{"L40S", 89, 142, 864, 91.6, 183, 362, 48},         // L40S data sheet
    Row{"RTX4090", 89, 128, 1008, 82.6, 82.6, 165.2, 24},  // Ada architecture white paper
    Row{"H100", 90, 132, 3350, 67, 494.5, 989, 80},        // H100 data sheet, SXM5
    Row{"H800", 90, 132, 3350, 67, 494.5, 989, 80},        // as H100, with fewer NVLinks
    Row{"H200", 90, 132, 4800, 67, 494.5, 989, 141},       // H200 data sheet, SXM
    Row{"GH200", 90, 132, 4000, 67, 494.5, 989, 96},       // GH200 data sheet, 96 GB HBM3
    Row{"B200", 100, 148, 8000, 80, 1125, 2250, 180},      // HGX B200 data sheet
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
  return word == "TI" || word == "SUPER" || word == "LAPTOP" || word == "MAX";
}

const Row* find_row(std::string_view full_name) {
  const std::vector<std::string> words = name_words(full_name);
  for (std::size_t first = 0; first < words.size(); ++first) {
    std::string joined;  // "RTX 2080 Ti" is three words of one model
    const Row* found = nullptr;
    std::size_t next = first;
    for (std::size_t last = first; last < words.size() && last < first + 3; ++last) {
      joined += words[last];
      for (const Row& row : kCatalogue) {
        const std::string name = upper(row.name);
        const bool bare = name.rfind("RTX", 0) == 0 && name.substr(3) == joined;
        const bool v100s = name == "V100" && joined == "V100S";  // same chip, faster memory
        if (joined == name || bare || v100s) {
          found = &row;
          next = last + 1;
        }
      }
    }
    if (found == nullptr) continue;
    return next < words.size() && makes_another_model(words[next]) ? nullptr : found;
  }
  return nullptr;
}

}  // namespace

std::optional<GpuModel> find_gpu(std::string_view name) {
  const Row* row = find_row(name);
  if (row == nullptr) return std::nullopt;
  return GpuModel{.name = row->name,
                  .compute_capability = row->compute_capability,
                  .sms = row->sms,
                  .memory_bandwidth = Bandwidth::gigabytes_per_second(row->memory_gbps),
                  .fp32_tflops = row->fp32_tflops,
                  .tf32_tflops = row->tf32_tflops,
                  .half_tflops = row->half_tflops,
                  .memory = Bytes(static_cast<std::int64_t>(row->memory_gib) << 30)};
}

std::vector<std::string> gpu_names() {
  std::vector<std::string> names;
  for (const Row& row : kCatalogue) names.emplace_back(row.name);
  return names;
}

std::string gpu_model_name(std::string_view full_name) {
  const Row* row = find_row(full_name);
  return row == nullptr ? std::string(full_name) : row->name;
}

}  // namespace ddpsim
