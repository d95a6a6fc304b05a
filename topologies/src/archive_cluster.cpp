#include "archive_cluster.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "ddpsim/formats/csv.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/words.hpp"
#include "ddpsim/topologies/cluster_source.hpp"

namespace ddpsim {
namespace {

[[noreturn]] void fail(const std::string& file, std::string message, Hint hint) {
  throw InputError({file, "", std::move(message), std::move(hint)});
}

/// Splits "a/b/rate: 100 Gb/sec (4X EDR)" at the first ": ".
std::pair<std::string_view, std::string_view> split_line(std::string_view line) {
  const std::size_t colon = line.find(": ");
  if (colon == line.npos) return {line, ""};
  return {line.substr(0, colon), line.substr(colon + 2)};
}

/// Names of the GPUs, from the column "name" of nvidia-smi's CSV.
std::vector<std::string> gpu_names(std::string_view csv) {
  std::vector<std::string> names;
  std::optional<std::size_t> column;
  while (!csv.empty()) {
    const std::vector<std::string_view> cells = cells_of(take_line(csv));
    if (!column) {
      const auto at = std::ranges::find(cells, "name");
      if (at != cells.end()) column = static_cast<std::size_t>(at - cells.begin());
    } else if (*column < cells.size() && !cells[*column].empty()) {
      names.emplace_back(cells[*column]);
    }
  }
  return names;
}

/// One port of a NIC: its rate, such as "200Gbps", and its kind of network.
struct Port {
  std::string rate;
  std::string kind;
  bool operator==(const Port&) const = default;
};

/// InfiniBand ports that are up, from lines such as "…/class/infiniband/mlx5_0/ports/1/rate: 200
/// Gb/sec (4X HDR)".
std::map<std::string, Port> infiniband_ports(std::string_view devices) {
  constexpr std::string_view kFolder = "/class/infiniband/";
  std::map<std::string, Port> ports;
  std::set<std::string> down;
  while (!devices.empty()) {
    const auto [path, value] = split_line(take_line(devices));
    const std::size_t at = path.find(kFolder);
    if (at == path.npos) continue;
    const std::size_t slash = path.rfind('/');
    const std::string port(path.substr(at + kFolder.size(), slash - at - kFolder.size()));
    const std::string_view what = path.substr(slash + 1);
    if (what == "rate") {
      const std::string_view number = value.substr(0, value.find(' '));
      const auto gbps = parse_number<double>(number);
      if (gbps && *gbps > 0) ports[port].rate = fmt::format("{}Gbps", number);
    } else if (what == "link_layer") {
      const bool of_amazon = port.starts_with("efa") || port.starts_with("rdmap");
      ports[port].kind = of_amazon ? "efa" : value == "InfiniBand" ? "ib" : "roce";
    } else if (what == "state" && value.find("ACTIVE") == value.npos) {
      down.insert(port);
    }
  }
  std::erase_if(
      ports, [&](const auto& one) { return one.second.rate.empty() || down.contains(one.first); });
  for (auto& [name, port] : ports)
    if (port.kind.empty()) port.kind = "ib";
  return ports;
}

/// The member of this node, otherwise the first member of any node.
const ArchiveMember* of_node(const Archive& archive, ArchiveKind kind, std::optional<int> node) {
  const auto members = archive.of(kind);
  for (const ArchiveMember* member : members)
    if (member->node == node) return member;
  return members.empty() ? nullptr : members.front();
}

/// " gpu:A100"; empty if the model is not stated or unknown.
std::string gpu_word(const Archive& archive, std::optional<int> node) {
  const ArchiveMember* gpus = of_node(archive, ArchiveKind::gpus, node);
  if (gpus == nullptr) return "";
  const std::vector<std::string> names = gpu_names(gpus->bytes);
  if (names.empty()) return "";
  if (std::ranges::any_of(names, [&](const std::string& name) { return name != names.front(); }))
    fail(archive.name_of(*gpus),
         fmt::format("a node with different GPUs, {}", fmt::join(names, ", ")),
         "A node must have identical GPUs: give one part of it as a cluster of its own");
  const std::optional<GpuModel> gpu = find_gpu(names.front());
  return gpu ? " gpu:" + gpu->stated() : "";
}

/// " nic:200Gbps:ib". A matrix shows NICs but no rates.
std::string nic_word(const Archive& archive, std::optional<int> node) {
  const ArchiveMember* devices = of_node(archive, ArchiveKind::devices, node);
  if (devices == nullptr) return "";
  const auto ports = infiniband_ports(devices->bytes);
  if (ports.empty()) return "";
  const Port& first = ports.begin()->second;
  std::vector<std::string> rates;
  for (const auto& [name, port] : ports)
    rates.push_back(fmt::format("{} {}:{}", name, port.rate, port.kind));
  if (std::ranges::any_of(ports, [&](const auto& one) { return one.second != first; }))
    fail(
        archive.name_of(*devices),
        fmt::format("NICs of one node differ: {}", fmt::join(rates, ", ")),
        fmt::format("Say which NCCL uses: \"{} nic:{}:{}\"", archive.file, first.rate, first.kind));
  return fmt::format(" nic:{}:{}", first.rate, first.kind);
}

/// Requires that all nodes have the same number of GPUs. Otherwise they are not copies of the
/// described node.
void require_alike(const Archive& archive) {
  std::optional<std::size_t> count;
  for (const ArchiveMember* member : archive.of(ArchiveKind::gpus)) {
    const std::size_t here = gpu_names(member->bytes).size();
    if (!count) count = here;
    if (here != *count)
      fail(archive.name_of(*member),
           fmt::format("nodes differ: {} GPUs here, {} on the first", here, *count),
           "Describe them in a cluster file with a type for each (docs/reference/formats.md)");
  }
}

bool says(std::string_view words, std::string_view key) {
  return std::ranges::any_of(words_of(words), [&](std::string_view word) {
    return word.substr(0, word.find(':')) == key;
  });
}

[[noreturn]] void refuse_without_topology(const Archive& archive) {
  std::string why = archive.why_missing(ArchiveKind::topology);
  if (why.empty()) why = archive.why_missing(ArchiveKind::matrix);
  fail(archive.file,
       "holds neither NCCL's topology dump nor the matrix of nvidia-smi, so there is no cluster in "
       "it" +
           (why.empty() ? "" : ": " + why),
       "Collect on a node with GPUs, or with --topology FILE (NCCL_TOPO_DUMP_FILE writes it); or "
       "give the cluster by itself");
}

}  // namespace

ClusterDescription describe_archive(const Archive& archive, std::string_view words) {
  require_alike(archive);
  const auto dumps = archive.of(ArchiveKind::topology);
  const auto matrices = archive.of(ArchiveKind::matrix);
  if (dumps.empty() && matrices.empty()) refuse_without_topology(archive);
  const ArchiveMember& node = dumps.empty() ? *matrices.front() : *dumps.front();
  std::string all(words);
  if (!says(words, "gpu")) all += gpu_word(archive, node.node);
  if (dumps.empty() && !says(words, "nic") && archive.nodes > 1)
    all += nic_word(archive, node.node);
  if (!says(words, "node") && archive.nodes > 1) all += fmt::format(" node:{}", archive.nodes);
  ClusterDescription description = describe_source(node.bytes, archive.name_of(node), all);
  std::error_code error;
  std::filesystem::path path = std::filesystem::weakly_canonical(archive.file, error);
  if (path.filename().empty()) path = path.parent_path();  // for "folder/"
  const std::string name = path.filename().string();
  description.name = name.substr(0, name.find('.'));
  description.summary +=
      fmt::format(", of node {} in an archive of scripts/collect.sh", node.node.value_or(0));
  return description;
}

}  // namespace ddpsim
