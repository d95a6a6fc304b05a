// Reads nvidia-smi topo -m: a header with the devices, a row for each device, then CPU and NUMA
// affinity:
//
//           GPU0   GPU1   NIC0   CPU Affinity   NUMA Affinity
//   GPU0     X     NV2    PIX    0-15           0
//   GPU1    NV2     X     SYS    16-31          1
//   NIC0    PIX    SYS     X
//
// - NVk: k NVLinks. If a GPU shows more of them than it has, it shares k with an NVSwitch.
// - PIX: one PCIe switch. PXB: several switches, no CPU. PHB and NODE: one CPU.
// - SYS: across CPUs (SOC in old drivers).
//
// The matrix may be anywhere in a text. Each line may begin with a host name (pdsh, clush, srun
// -l).
#include "nvidia_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <vector>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "ddpsim/formats/words.hpp"
#include "description.hpp"
#include "device_matrix.hpp"
#include "matrix_text.hpp"

namespace ddpsim {
namespace {

/// A cell of the matrix: "X", "NV12", "SYS".
bool is_cell(std::string_view word) {
  return word == "X" || word == "PIX" || word == "PXB" || word == "PHB" || word == "NODE" ||
         word == "SYS" || word == "SOC" || (word.starts_with("NV") && word.size() > 2);
}

/// Devices of a header, in the order of its columns.
Words devices_of(const Words& header) {
  Words devices;
  for (const std::string_view word : header) {
    if (word == "CPU" || word == "NUMA") break;  // "CPU Affinity"
    devices.push_back(word);
  }
  return devices;
}

/// A line with the names of GPUs, above the row of the first GPU.
struct Header {
  std::size_t line = 0;
  LinePrefix prefix;  ///< prefix of each line
  Words words;
};

/// The next header, starting at `line`. `row_below`: the first GPU's row must follow it.
std::optional<Header> find_header(const MatrixText& text, std::size_t line, bool row_below) {
  for (; line < text.size(); ++line) {
    const auto before = text_before_gpu(text[line]);
    if (!before) continue;
    for (const LinePrefix prefix :
         {LinePrefix{*before}, LinePrefix{}, LinePrefix{{}, words_of(*before).size()}}) {
      const auto words = text.words(line, prefix);
      if (!words || words->empty() || !names_gpu(words->front())) continue;
      if (words->size() > 1 && is_cell((*words)[1])) continue;
      const std::size_t below = text.next(line + 1, prefix);
      const auto row = below < text.size() ? text.words(below, prefix) : std::nullopt;
      const bool has_row =
          row && row->size() > 1 && row->front() == words->front() && is_cell((*row)[1]);
      if (has_row || !row_below) return Header{line, prefix, *words};
    }
  }
  return std::nullopt;
}

class MatrixReader {
 public:
  MatrixReader(std::string_view text, const std::string& file) : file_(file), text_(text, file) {}

  DeviceMatrix read(std::vector<std::string>& doubts, bool gpu_has_nvlink) {
    auto header = find_header(text_, 0, true);
    if (!header) header = find_header(text_, 0, false);
    if (!header)
      fail("", "no header with GPU columns", "Expected the output of `nvidia-smi topo -m`");
    read_header(*header);
    std::size_t at = read_rows(*header);
    refuse_cut_columns(at, header->prefix);
    check_symmetry();
    compare_further(at, header->prefix, doubts);
    for (; at < text_.size(); ++at)
      if (const auto words = text_.words(at, header->prefix)) read_legend(*words);
    if (legend_without_nvlink_ && gpu_has_nvlink && !shows_nvlink())
      fail("", "its legend has no line of NVLinks: `nvidia-smi topo -mp` leaves them out",
           "Give the output of `nvidia-smi topo -m`");
    return std::move(matrix_);
  }

 private:
  [[noreturn]] void fail(std::string where, std::string message, Hint hint = {}) const {
    throw InputError({file_, std::move(where), std::move(message), std::move(hint)});
  }

  void read_header(const Header& header) {
    constexpr std::size_t kMostDevices = 640;
    for (const std::string_view word : devices_of(header.words)) {
      const bool twice =
          std::any_of(matrix_.devices.begin(), matrix_.devices.end(),
                      [&](const MatrixDevice& device) { return device.name == word; });
      const std::string where = fmt::format("line {}", header.line + 1);
      if (twice) fail(where, fmt::format("{} has two columns", in_quotes(word)));
      if (matrix_.devices.size() == kMostDevices) fail(where, "more than 640 devices");
      matrix_.devices.push_back({std::string(word), names_gpu(word), {}});
    }
  }

  /// Reads the rows and returns the line after the last one. The rows of GPUs hold everything
  /// except how near NICs are to each other, so rows of NICs may be missing.
  std::size_t read_rows(const Header& header) {
    std::size_t at = header.line;
    for (std::size_t row = 0; row < matrix_.devices.size(); ++row) {
      const std::size_t line = text_.next(at + 1, header.prefix);
      const Words words = line < text_.size() ? *text_.words(line, header.prefix) : Words();
      const MatrixDevice& device = matrix_.devices[row];
      const bool other = !words.empty() && !is_device(words.front());
      if (!device.gpu && (words.empty() || other || is_cut(words, line))) {
        at = is_cut(words, line) ? line : at;
        fill_missing(row);
        break;
      }
      if (words.empty())
        fail(fmt::format("line {}", line + 1),
             fmt::format("{} rows for {} columns", row, matrix_.devices.size()),
             "The matrix was cut off");
      read_row(words, row, line);
      at = line;
    }
    return at + 1;
  }

  bool is_device(std::string_view word) const {
    return std::ranges::any_of(matrix_.devices,
                               [&](const MatrixDevice& device) { return device.name == word; });
  }

  /// Whether this is the last line of the text and has too few cells.
  bool is_cut(const Words& words, std::size_t line) const {
    return !words.empty() && line + 1 >= text_.size() && words.size() < matrix_.devices.size() + 1;
  }

  void fill_missing(std::size_t from) {
    const std::size_t count = matrix_.devices.size();
    for (std::size_t row = from; row < count; ++row) {
      auto& cells = matrix_.cells.emplace_back(count);
      for (std::size_t column = 0; column < from; ++column)
        cells[column] = matrix_.cells[column][row];
      cells[row] = {.near = Near::switch_, .nvlinks = 0, .self = true};
    }
  }

  void read_row(const Words& words, std::size_t row, std::size_t at) {
    const std::size_t count = matrix_.devices.size();
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
      cells.back().word = words[i + 1];
    }
    // CPU affinity, NUMA affinity, and the NUMA node of the GPU's own memory.
    constexpr std::size_t kMostAffinities = 3;
    for (std::size_t i = count + 1; i < words.size(); ++i) {
      const bool affinity = words[i].find_first_not_of("0123456789-,") == words[i].npos;
      if ((!affinity && words[i] != "N/A") || i > count + kMostAffinities)
        fail(where,
             fmt::format("{} behind the {} cells of {}", in_quotes(words[i]), count, device.name),
             "Expected CPUs and NUMA nodes there, such as \"0-31\", and no further column");
    }
    if (words.size() > count + 1) device.numa = words[count + 1];
    if (words.size() > count + 2 && words[count + 2] != "N/A") device.numa = words[count + 2];
  }

  /// Compares further matrices, from other hosts or taken again. Reports the first that differs.
  void compare_further(std::size_t at, LinePrefix prefix, std::vector<std::string>& doubts) {
    std::size_t same = 0;
    for (auto next = find_header(text_, 0, true); next;
         next = find_header(text_, next->line + 1, true)) {
      if (next->line + 1 < at && next->prefix == prefix) continue;
      if (!differs(*next)) {
        ++same;
        continue;
      }
      doubts.push_back(fmt::format(
          "the matrix on line {} differs from the first, and only the first is read{}",
          next->line + 1,
          next->prefix.text.empty() ? "" : fmt::format(" ({})", legible(next->prefix.text))));
      return;
    }
    if (same > 0)
      doubts.push_back(
          fmt::format("{} matrices are the same, so they describe one node. Add \"node:{}\" after "
                      "the file name to make them nodes of one cluster",
                      same + 1, same + 1));
  }

  bool differs(const Header& other) const {
    const Words devices = devices_of(other.words);
    if (devices.size() != matrix_.devices.size()) return true;
    std::size_t at = other.line;
    for (std::size_t row = 0; row < devices.size() && matrix_.devices[row].gpu; ++row) {
      at = text_.next(at + 1, other.prefix);
      const auto words = at < text_.size() ? text_.words(at, other.prefix) : std::nullopt;
      if (!words || words->size() < devices.size() + 1) return true;
      for (std::size_t i = 0; i < devices.size(); ++i) {
        if ((*words)[i + 1] != matrix_.cells[row][i].word) return true;
      }
    }
    return false;
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

  /// Refuses another row of a GPU after the last one, because then the matrix lacks columns on the
  /// right.
  void refuse_cut_columns(std::size_t at, LinePrefix prefix) const {
    const std::size_t line = text_.next(at, prefix);
    const auto words = line < text_.size() ? text_.words(line, prefix) : std::nullopt;
    if (words && words->size() > 1 && names_gpu(words->front()) && is_cell((*words)[1]))
      fail(fmt::format("line {}", line + 1),
           fmt::format("this line is the row of {}, but the matrix has columns for only {} devices",
                       words->front(), matrix_.devices.size()),
           "The matrix was cut off on the right");
  }

  bool shows_nvlink() const {
    return std::ranges::any_of(matrix_.cells, [](const std::vector<MatrixCell>& row) {
      return std::ranges::any_of(row, [](const MatrixCell& cell) { return cell.nvlinks > 0; });
    });
  }

  /// Reads lines such as "  NIC0: mlx5_0" and "  PIX  = Connection traversing at most a single PCIe
  /// bridge".
  void read_legend(const Words& words) {
    if (words.size() > 2 && words[1] == "=" && (words[0] == "PIX" || words[0] == "NV#"))
      legend_without_nvlink_ = words[0] == "PIX";  // NV# is the last line
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
  MatrixText text_;
  DeviceMatrix matrix_;
  bool legend_without_nvlink_ = false;
};

}  // namespace

bool looks_like_nvidia_matrix(std::string_view text) {
  if (text.find("GPU0") == text.npos) return false;
  try {
    return find_header(MatrixText(text, ""), 0, true).has_value();
  } catch (const InputError&) {
    return false;  // the text is too long
  }
}

NodeGraph parse_nvidia_matrix(std::string_view text, const std::string& file, const GpuModel& gpu,
                              std::vector<std::string>* doubts) {
  std::vector<std::string> unused;
  return draw_node(MatrixReader(text, file)
                       .read(doubts == nullptr ? unused : *doubts, gpu.links.value_or(1) > 0),
                   file, gpu);
}

}  // namespace ddpsim
