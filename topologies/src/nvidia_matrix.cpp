// nvidia-smi topo -m: a header with the devices, a row for each of them, then CPU and NUMA affinity:
//
//           GPU0   GPU1   NIC0   CPU Affinity   NUMA Affinity
//   GPU0     X     NV2    PIX    0-15           0
//   GPU1    NV2     X     SYS    16-31          1
//   NIC0    PIX    SYS     X
//
//   NVk    k NVLinks together; where a GPU shows more of them than it has, an NVSwitch shares its k
//   PIX    one PCIe switch        PXB   several, no CPU        PHB, NODE   one CPU
//   SYS    from one CPU to another (SOC in old drivers)
#include "nvidia_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <vector>

#include "ddpsim/formats/csv.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "ddpsim/formats/words.hpp"
#include "description.hpp"
#include "device_matrix.hpp"

namespace ddpsim {
namespace {

std::string without_escapes(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b') {
      out += text[i];
      continue;
    }
    while (i + 1 < text.size() && text[i] != 'm') ++i;
  }
  return out;
}

bool is_gpu(std::string_view word) {
  return word.size() > 3 && word.substr(0, 3) == "GPU" &&
         word.find_first_not_of("0123456789", 3) == word.npos;
}

class MatrixReader {
 public:
  MatrixReader(std::string_view text, const std::string& file)
      : file_(file), plain_(without_escapes(text)) {
    constexpr std::size_t kMostLines = 100'000;
    for (std::string_view rest = plain_; !rest.empty();) {
      if (lines_.size() == kMostLines)
        fail("", fmt::format("more than {} lines", kMostLines),
             "Expected the output of `nvidia-smi topo -m`");
      lines_.push_back(take_line(rest));
    }
  }
  MatrixReader(const MatrixReader&) = delete;
  MatrixReader& operator=(const MatrixReader&) = delete;

  DeviceMatrix read() {
    std::size_t at = 0;
    while (at < lines_.size() && !is_header(lines_[at])) ++at;
    if (at == lines_.size()) {
      fail("", "no header with GPU columns", "Expected the output of `nvidia-smi topo -m`");
    }
    read_header(lines_[at], at);
    for (std::size_t row = 0; row < matrix_.devices.size(); ++row) {
      ++at;
      if (at >= lines_.size() || words_of(lines_[at]).empty()) {
        fail(fmt::format("line {}", at + 1),
             fmt::format("{} rows for {} columns", row, matrix_.devices.size()),
             "The matrix was cut off");
      }
      read_row(lines_[at], row, at);
    }
    for (++at; at < lines_.size(); ++at) read_legend(lines_[at]);
    check_symmetry();
    return std::move(matrix_);
  }

 private:
  static bool is_header(std::string_view line) {
    const auto words = words_of(line);
    return !words.empty() && is_gpu(words.front()) && (words.size() == 1 || words[1] != "X");
  }

  [[noreturn]] void fail(std::string where, std::string message, std::string hint = "") const {
    throw InputError({file_, std::move(where), std::move(message), std::move(hint)});
  }

  void read_header(std::string_view line, std::size_t at) {
    constexpr std::size_t kMostDevices = 640;
    for (const std::string_view word : words_of(line)) {
      if (word == "CPU") break;  // "CPU Affinity"
      const bool twice =
          std::any_of(matrix_.devices.begin(), matrix_.devices.end(),
                      [&](const MatrixDevice& device) { return device.name == word; });
      const std::string where = fmt::format("line {}", at + 1);
      if (twice) fail(where, fmt::format("{} has two columns", in_quotes(word)));
      if (matrix_.devices.size() == kMostDevices) fail(where, "more than 640 devices");
      matrix_.devices.push_back({std::string(word), is_gpu(word), {}});
    }
  }

  void read_row(std::string_view line, std::size_t row, std::size_t at) {
    const std::size_t count = matrix_.devices.size();
    const auto words = words_of(line);
    MatrixDevice& device = matrix_.devices[row];
    const std::string where = fmt::format("line {}", at + 1);
    if (words.front() != device.name) {
      fail(where,
           fmt::format("row {} where the columns have {}", in_quotes(words.front()),
                       in_quotes(device.name)),
           "Rows and columns stand in the same order");
    }
    if (words.size() < count + 1) {
      fail(where, fmt::format("{} cells for {} columns", words.size() - 1, count));
    }
    auto& cells = matrix_.cells.emplace_back();
    for (std::size_t i = 0; i < count; ++i) {
      cells.push_back(read_cell(words[i + 1], row, i, where));
    }
    if (words.size() > count + 1) device.numa = words[count + 1];
    if (words.size() > count + 2 && words[count + 2] != "N/A") device.numa = words[count + 2];
  }

  MatrixCell read_cell(std::string_view word, std::size_t row, std::size_t column,
                       const std::string& where) const {
    if ((word == "X") != (row == column)) {
      fail(where,
           fmt::format("{} to {} is {}", matrix_.devices[row].name, matrix_.devices[column].name,
                       in_quotes(word)),
           "\"X\" stands where a device meets itself, and only there");
    }
    if (word == "X") return {.near = Near::switch_, .nvlinks = 0, .self = true};
    static const std::map<std::string, Near, std::less<>> kWords = {
        {"PIX", Near::switch_}, {"PXB", Near::bridge}, {"PHB", Near::cpu},
        {"NODE", Near::cpu},    {"SYS", Near::system}, {"SOC", Near::system}};
    if (const auto known = kWords.find(word); known != kWords.end()) {
      return {.near = known->second};
    }
    if (word.size() > 2 && word.size() <= 4 && word.starts_with("NV") &&
        word.find_first_not_of("0123456789", 2) == word.npos) {
      const auto links = parse_number<int>(word.substr(2));
      if (links && *links >= 1 && *links <= kMostLinksPerGpu)
        return {.near = Near::unknown, .nvlinks = *links};
      fail(where, fmt::format("{} is not a number of NVLinks from 1 to {}", in_quotes(word),
                              kMostLinksPerGpu));
    }
    std::vector<std::string> words = {"NV1", "NV2", "X"};
    for (const auto& entry : kWords) words.push_back(entry.first);
    fail(where,
         fmt::format("{} between {} and {} is no link", in_quotes(word), matrix_.devices[row].name,
                     matrix_.devices[column].name),
         did_you_mean(word, words, "Expected X, NV1 to NV64, PIX, PXB, PHB, NODE or SYS"));
  }

  /// "  NIC0: mlx5_0"
  void read_legend(std::string_view line) {
    const auto words = words_of(line);
    if (words.size() != 2 || words[0].back() != ':') return;
    const std::string_view name = words[0].substr(0, words[0].size() - 1);
    for (MatrixDevice& device : matrix_.devices) {
      if (device.name == name && !device.gpu) device.name = words[1];
    }
  }

  void check_symmetry() const {
    for (std::size_t a = 0; a < matrix_.devices.size(); ++a) {
      for (std::size_t b = a + 1; b < matrix_.devices.size(); ++b) {
        const MatrixCell& there = matrix_.cells[a][b];
        const MatrixCell& back = matrix_.cells[b][a];
        if (there.near == back.near && there.nvlinks == back.nvlinks) continue;
        fail("",
             fmt::format("{} to {} is not the same as back", matrix_.devices[a].name,
                         matrix_.devices[b].name),
             "Every link works in both directions");
      }
    }
  }

  const std::string& file_;
  std::string plain_;
  std::vector<std::string_view> lines_;  ///< of `plain_`
  DeviceMatrix matrix_;
};

}  // namespace

bool looks_like_nvidia_matrix(std::string_view text) {
  constexpr std::size_t kHead = 4096;
  const std::string head = without_escapes(text.substr(0, kHead));
  const std::size_t gpu = head.find("GPU0");
  if (gpu == head.npos) return false;
  return head.find_first_not_of(" \t\r\n") == gpu || head.find("\tGPU0") != head.npos;
}

NodeGraph parse_nvidia_matrix(std::string_view text, const std::string& file, const GpuModel& gpu) {
  return draw_node(MatrixReader(text, file).read(), file, gpu);
}

}  // namespace ddpsim
