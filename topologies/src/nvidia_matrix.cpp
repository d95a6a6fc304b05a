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
//
// From nearness we draw the tree that shows it: devices that are PIX share a switch, switches whose
// devices are PXB share one above, and those that are PHB or NODE a CPU. NVk hides how near two GPUs
// are over PCIe: the NICs beside them and the NUMA affinity tell.
#include "nvidia_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <numeric>
#include <sstream>
#include <vector>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "description.hpp"
#include "nccl_rates.hpp"
#include "node_graph.hpp"

namespace ddpsim {
namespace {

/// How near two devices are over PCIe; the nearer the smaller.
enum class Near { switch_, bridge, cpu, system, unknown };

struct Cell {
  Near near = Near::unknown;
  int nvlinks = 0;
  bool self = false;
};

struct Device {
  std::string name;
  bool gpu = false;
  std::string numa;  ///< NUMA node, else CPU list; may be empty
};

struct Matrix {
  std::vector<Device> devices;
  std::vector<std::vector<Cell>> cells;
};

std::string without_escapes(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b') {
      out += text[i];
      continue;
    }
    while (i + 1 < text.size() && text[i] != 'm') ++i;
  }
  return out;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(std::move(word));
  return words;
}

bool is_gpu(std::string_view word) {
  return word.size() > 3 && word.substr(0, 3) == "GPU" &&
         word.find_first_not_of("0123456789", 3) == word.npos;
}

class MatrixReader {
 public:
  MatrixReader(std::string_view text, const std::string& file) : file_(file) {
    std::istringstream stream(without_escapes(text));
    for (std::string line; std::getline(stream, line);) lines_.push_back(std::move(line));
  }

  Matrix read() {
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
  static bool is_header(const std::string& line) {
    const auto words = words_of(line);
    return !words.empty() && is_gpu(words.front()) && (words.size() == 1 || words[1] != "X");
  }

  [[noreturn]] void fail(std::string where, std::string message, std::string hint = "") const {
    throw InputError({file_, std::move(where), std::move(message), std::move(hint)});
  }

  void read_header(const std::string& line, std::size_t at) {
    constexpr std::size_t kMostDevices = 640;
    for (const std::string& word : words_of(line)) {
      if (word == "CPU") break;  // "CPU Affinity"
      const bool twice = std::any_of(matrix_.devices.begin(), matrix_.devices.end(),
                                     [&](const Device& device) { return device.name == word; });
      const std::string where = fmt::format("line {}", at + 1);
      if (twice) fail(where, fmt::format("{} has two columns", in_quotes(word)));
      if (matrix_.devices.size() == kMostDevices) fail(where, "more than 640 devices");
      matrix_.devices.push_back({word, is_gpu(word), {}});
    }
  }

  void read_row(const std::string& line, std::size_t row, std::size_t at) {
    const std::size_t count = matrix_.devices.size();
    const auto words = words_of(line);
    Device& device = matrix_.devices[row];
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

  Cell read_cell(const std::string& word, std::size_t row, std::size_t column,
                 const std::string& where) const {
    if ((word == "X") != (row == column)) {
      fail(where,
           fmt::format("{} to {} is {}", matrix_.devices[row].name, matrix_.devices[column].name,
                       in_quotes(word)),
           "\"X\" stands where a device meets itself, and only there");
    }
    if (word == "X") return {.near = Near::switch_, .nvlinks = 0, .self = true};
    static const std::map<std::string, Near> kWords = {
        {"PIX", Near::switch_}, {"PXB", Near::bridge}, {"PHB", Near::cpu},
        {"NODE", Near::cpu},    {"SYS", Near::system}, {"SOC", Near::system}};
    if (const auto known = kWords.find(word); known != kWords.end()) {
      return {.near = known->second};
    }
    if (word.size() > 2 && word.size() <= 4 && word.compare(0, 2, "NV") == 0 &&
        word.find_first_not_of("0123456789", 2) == word.npos) {
      const int links = std::stoi(word.substr(2));
      if (links >= 1 && links <= kMostLinksPerGpu) return {.near = Near::unknown, .nvlinks = links};
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
  void read_legend(const std::string& line) {
    const auto words = words_of(line);
    if (words.size() != 2 || words[0].back() != ':') return;
    const std::string name = words[0].substr(0, words[0].size() - 1);
    for (Device& device : matrix_.devices) {
      if (device.name == name && !device.gpu) device.name = words[1];
    }
  }

  void check_symmetry() const {
    for (std::size_t a = 0; a < matrix_.devices.size(); ++a) {
      for (std::size_t b = a + 1; b < matrix_.devices.size(); ++b) {
        const Cell& there = matrix_.cells[a][b];
        const Cell& back = matrix_.cells[b][a];
        if (there.near == back.near && there.nvlinks == back.nvlinks) continue;
        fail("",
             fmt::format("{} to {} is not the same as back", matrix_.devices[a].name,
                         matrix_.devices[b].name),
             "Every link works in both directions");
      }
    }
  }

  const std::string& file_;
  std::vector<std::string> lines_;
  Matrix matrix_;
};

/// Sets of devices that only grow together.
class Groups {
 public:
  explicit Groups(std::size_t count) : of_(count) {
    std::iota(of_.begin(), of_.end(), std::size_t{0});
  }
  void join(std::size_t a, std::size_t b) {
    const std::size_t from = of_[std::max(a, b)];
    const std::size_t to = of_[std::min(a, b)];
    const std::size_t least = std::min(from, to);
    for (std::size_t& group : of_) {
      if (group == from || group == to) group = least;
    }
  }
  bool together(std::size_t a, std::size_t b) const { return of_[a] == of_[b]; }
  std::size_t operator[](std::size_t i) const { return of_[i]; }

 private:
  std::vector<std::size_t> of_;
};

class MatrixDrawing {
 public:
  MatrixDrawing(const Matrix& matrix, const std::string& file, const GpuModel& gpu)
      : matrix_(matrix),
        file_(file),
        gpu_(gpu),
        switches_(size()),
        bridges_(size()),
        cpus_(size()) {}

  NodeGraph draw() {
    group();
    check_groups();
    for (const Device& device : matrix_.devices) {
      graph_.vertices.push_back({device.gpu ? VertexKind::gpu : VertexKind::nic, device.name, {}});
    }
    hang();
    join_gpus();
    return std::move(graph_);
  }

 private:
  std::size_t size() const { return matrix_.devices.size(); }

  void group() {
    for (std::size_t a = 0; a < size(); ++a) {
      for (std::size_t b = a + 1; b < size(); ++b) {
        const Near near = matrix_.cells[a][b].near;
        if (near <= Near::switch_) switches_.join(a, b);
        if (near <= Near::bridge) bridges_.join(a, b);
        if (near <= Near::cpu || (near == Near::unknown && same_numa(a, b))) cpus_.join(a, b);
      }
    }
  }

  bool same_numa(std::size_t a, std::size_t b) const {
    return matrix_.devices[a].numa == matrix_.devices[b].numa;
  }

  Near drawn(std::size_t a, std::size_t b) const {
    if (switches_.together(a, b)) return Near::switch_;
    if (bridges_.together(a, b)) return Near::bridge;
    return cpus_.together(a, b) ? Near::cpu : Near::system;
  }

  void check_groups() const {
    for (std::size_t a = 0; a < size(); ++a) {
      for (std::size_t b = a + 1; b < size(); ++b) {
        const Near near = matrix_.cells[a][b].near;
        if (near == Near::unknown || near == drawn(a, b)) continue;
        throw InputError({file_, "",
                          fmt::format("{} and {} cannot be that far apart: what is near both of "
                                      "them joins them",
                                      matrix_.devices[a].name, matrix_.devices[b].name),
                          "The matrix contradicts itself; take it again"});
      }
    }
  }

  std::uint32_t add(VertexKind kind, const char* word, int& count) {
    graph_.vertices.push_back({kind, fmt::format("{}{}", word, count++), {}});
    return static_cast<std::uint32_t>(graph_.vertices.size() - 1);
  }

  void join_pcie(std::uint32_t a, std::uint32_t b) {
    const int generation = gpu_.compute_capability;
    graph_.wires.push_back({a, b, LinkKind::pcie, 0,
                            Bandwidth::gigabytes_per_second(pcie_nominal_of_generation(generation)),
                            Bandwidth::gigabytes_per_second(pcie_rate_of_generation(generation))});
  }

  void hang() {
    std::map<std::size_t, std::uint32_t> cpu_of;
    std::map<std::size_t, std::uint32_t> bridge_of;
    std::map<std::size_t, std::uint32_t> switch_of;
    int cpus = 0;
    int bridges = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      if (cpu_of.count(cpus_[i]) == 0) {
        const std::uint32_t cpu = add(VertexKind::cpu, "cpu", cpus);
        const double rate = cpu_link_rate(CpuVendor::unknown);
        for (const auto& other : cpu_of) {
          graph_.wires.push_back({other.second, cpu, LinkKind::socket, 0,
                                  Bandwidth::gigabytes_per_second(rate),
                                  Bandwidth::gigabytes_per_second(rate)});
        }
        cpu_of.emplace(cpus_[i], cpu);
      }
      if (switch_of.count(switches_[i]) == 0) {
        const std::uint32_t here = add(VertexKind::pcie_switch, "pcie", bridges);
        switch_of.emplace(switches_[i], here);
        if (!several_switches(bridges_[i])) {
          join_pcie(here, cpu_of.at(cpus_[i]));
        } else {
          if (bridge_of.count(bridges_[i]) == 0) {
            const std::uint32_t above = add(VertexKind::pcie_switch, "pcie", bridges);
            join_pcie(above, cpu_of.at(cpus_[i]));
            bridge_of.emplace(bridges_[i], above);
          }
          join_pcie(here, bridge_of.at(bridges_[i]));
        }
      }
      join_pcie(static_cast<std::uint32_t>(i), switch_of.at(switches_[i]));
    }
  }

  bool several_switches(std::size_t bridge) const {
    for (std::size_t i = 0; i < size(); ++i) {
      if (bridges_[i] == bridge && switches_[i] != switches_[bridge]) return true;
    }
    return false;
  }

  void join_gpus() {
    int most = 0;      // links in one row
    int together = 0;  // links of one cell
    bool alike = true;
    for (std::size_t a = 0; a < size(); ++a) {
      int sum = 0;
      for (const Cell& cell : matrix_.cells[a]) {
        sum += cell.nvlinks;
        if (cell.nvlinks == 0) continue;
        alike = alike && (together == 0 || together == cell.nvlinks);
        together = cell.nvlinks;
      }
      most = std::max(most, sum);
    }
    if (most == 0) return;
    const NvlinkRate rate = nvlink_rate(gpu_.compute_capability);
    const auto join = [&](std::size_t a, std::size_t b, int links) {
      graph_.wires.push_back({static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b),
                              LinkKind::nvlink, links,
                              Bandwidth::gigabytes_per_second(links * rate.nominal),
                              Bandwidth::gigabytes_per_second(links * rate.nccl)});
    };
    if (most > links_of_gpu()) {
      if (!alike) {
        throw InputError(
            {file_, "",
             fmt::format("up to {} NVLinks in one row are more than the {} that {} has", most,
                         links_of_gpu(), gpu_.name),
             "Behind an NVSwitch every pair shows the same number; or name the right "
             "GPU with \"gpu:MODEL\""});
      }
      int count = 0;
      const std::uint32_t hub = add(VertexKind::nvswitch, "nvswitch", count);
      for (std::size_t a = 0; a < size(); ++a) {
        const bool joined = std::any_of(matrix_.cells[a].begin(), matrix_.cells[a].end(),
                                        [](const Cell& cell) { return cell.nvlinks > 0; });
        if (joined) join(a, hub, together);
      }
      return;
    }
    for (std::size_t a = 0; a < size(); ++a) {
      for (std::size_t b = a + 1; b < size(); ++b) {
        if (matrix_.cells[a][b].nvlinks > 0) join(a, b, matrix_.cells[a][b].nvlinks);
      }
    }
  }

  int links_of_gpu() const {
    const int capability = gpu_.compute_capability;
    if (capability >= 90) return 18;
    if (capability == 80) return 12;
    return capability >= 70 ? 6 : 4;
  }

  const Matrix& matrix_;
  const std::string& file_;
  const GpuModel& gpu_;
  Groups switches_;
  Groups bridges_;
  Groups cpus_;
  NodeGraph graph_;
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
  const Matrix matrix = MatrixReader(text, file).read();
  return MatrixDrawing(matrix, file, gpu).draw();
}

}  // namespace ddpsim
