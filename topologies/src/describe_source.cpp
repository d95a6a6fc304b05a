#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <set>

#include "cluster_words.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/topologies/cluster_line.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "ddpsim/topologies/kind_words.hpp"
#include "ddpsim/topologies/pcie_rate.hpp"
#include "description.hpp"
#include "matrix_text.hpp"
#include "nccl_rates.hpp"
#include "nccl_xml.hpp"
#include "nic_list.hpp"
#include "node_graph.hpp"
#include "nvidia_matrix.hpp"
#include "nvlink_faults.hpp"
#include "rocm_json.hpp"
#include "rocm_matrix.hpp"

namespace ddpsim {
namespace {

/// GPUs with fewer NVLinks use them for bridges between two cards.
constexpr int kFewestOnASwitch = 6;

const std::vector<std::string>& keys_beside_a_file() {
  static const std::vector<std::string> keys =
      keys_of_words([](const LineWord& word) { return word.beside_file; });
  return keys;
}

/// Reads "A100" or "8xA100". A count must match the file's.
std::optional<GpuModel> stated_gpu(const ClusterWords& words, std::optional<int>& count) {
  const ClusterWord* word = find_word(words, "gpu");
  if (word == nullptr) return std::nullopt;
  std::string_view model = word->value;
  const std::size_t cross = model.find('x');
  if (cross != model.npos && model.substr(0, cross).find_first_not_of("0123456789") == model.npos) {
    count =
        static_cast<int>(word->integer(model.substr(0, cross), "GPUs per node", kMostGpusPerNode));
    model = model.substr(cross + 1);
  }
  return read_gpu_model(*word, model);
}

ClusterDescription described_node(const std::string& file, NodeGraph graph, const GpuModel& gpu) {
  ClusterDescription out;
  out.file = file;
  out.from_line = true;
  out.name = std::filesystem::path(file).stem().string();
  NodeDescription& node = out.types.front();
  const auto gpus = graph.all(VertexKind::gpu).size();
  if (gpus > kMostGpusPerNode) {
    throw InputError({file, "", fmt::format("{} GPUs in one node", gpus),
                      fmt::format("At most {}", kMostGpusPerNode)});
  }
  node.gpus_per_node = node.gpus_in_layout = static_cast<int>(gpus);
  node.gpu = gpu;
  node.wiring = std::move(graph);
  return out;
}

/// The usual connection of this many GPUs that are not cards. Eight V100 or P100 form a cube; eight
/// later ones use an NVSwitch. Four GPUs use direct links, and AMD's GPUs use xGMI. Absent if none
/// is usual.
std::optional<InterconnectDescription> usual_links(const NodeDescription& node) {
  const int links = node.gpu.links.value_or(0);
  const Bandwidth rate = Bandwidth::gigabytes_per_second(nvlink_rate(node.gpu).nominal);
  InterconnectDescription usual{
      .kind = IntraKind::nvlink, .links_per_gpu = links, .per_link = rate};
  usual.layout = default_layout(node.gpus_per_node, node.gpu.vendor);
  const bool cube = usual.layout == NvlinkLayout::cube && node.gpu.compute_capability < 80;
  const bool direct =
      node.gpu.compute_capability < 100 && (usual.layout != NvlinkLayout::cube || cube);
  if (links > 0 && direct && layout_problem(usual, node.gpus_per_node).empty()) return usual;
  if (node.gpu.vendor == GpuVendor::amd || links < kFewestOnASwitch) return std::nullopt;
  return InterconnectDescription{.kind = IntraKind::nvswitch, .per_gpu = rate * links};
}

/// "nvswitch:300GBps"
std::string link_word(const InterconnectDescription& links, GpuVendor vendor) {
  if (links.kind == IntraKind::nvswitch)
    return fmt::format("nvswitch:{:g}GBps", links.per_gpu.gigabytes_per_second());
  return fmt::format("{}:{}x{:g}GBps", kind_word(links.kind, vendor), links.links_per_gpu,
                     links.per_link.gigabytes_per_second());
}

/// Adds NVLinks that the file does not show: those of the user's words, otherwise the usual ones
/// with a note.
void join_gpus(const XmlNode& xml, const ClusterWords& words, ClusterDescription& out) {
  NodeDescription& node = out.types.front();
  if (const ClusterWord* word = interconnect_word(words)) {
    if (xml.joined)
      word->fail(fmt::format("{} states how its GPUs are joined", out.file), "Leave the word out");
    read_interconnect(words, true, node);
    if (node.interconnect.kind == IntraKind::pcie)
      set_gpu_slots(*node.wiring, node.interconnect.per_gpu);
    else
      node.wiring = with_nvlinks(std::move(*node.wiring), node);
    return;
  }
  if (xml.joined || node.gpus_per_node == 1 || node.gpu.links.value_or(0) == 0) return;
  const std::string_view name = direct_links(node.gpu.vendor);
  const auto usual = usual_links(node);
  const bool bridged = xml.card || node.gpu.card || node.gpu.links.value_or(0) < kFewestOnASwitch;
  const std::string pcie =
      fmt::format("pcie:{:.4g}GBps", pcie_nominal_of_generation(node.gpu.compute_capability));
  if (xml.dump) {
    if (!bridged)
      out.doubts.push_back(fmt::format(
          "{} has {}, but the file shows none: its GPUs are assumed to be joined only by PCIe{}",
          node.gpu.name, name,
          usual ? fmt::format("; otherwise add {} after the file name",
                              link_word(*usual, node.gpu.vendor))
                : ""));
    return;
  }
  if (usual && !bridged) {
    node.interconnect = *usual;
    node.wiring = with_nvlinks(std::move(*node.wiring), node);
    out.doubts.push_back(fmt::format(
        "a file for NCCL_TOPO_FILE does not say how GPUs are joined, because NCCL adds {} at run "
        "time: assuming {}, as is usual for {} {}. If there is none, add {} after the file name",
        name, link_word(*usual, node.gpu.vendor), node.gpus_per_node, node.gpu.name, pcie));
    return;
  }
  throw InputError(
      {out.file, "",
       fmt::format("this is a file for NCCL_TOPO_FILE, which does not say how its {} {} are "
                   "joined, because NCCL adds {} at run time",
                   node.gpus_per_node, node.gpu.name, name),
       fmt::format(
           "Add it after the file name: \"{} gpu:{} {}\"{}", out.file, node.gpu.name, pcie,
           usual ? fmt::format("; or {} if bridges join them", link_word(*usual, node.gpu.vendor))
                 : "")});
}

ClusterDescription describe_xml(std::string_view text, const std::string& file,
                                const std::optional<GpuModel>& gpu, const ClusterWords& words) {
  XmlNode node = parse_nccl_xml(text, file, gpu);
  ClusterDescription out = described_node(file, std::move(node.graph), *node.gpu);
  out.summary = node.dump ? "NCCL topology file" : "file for NCCL_TOPO_FILE";
  out.types.front().cpu = node.cpu;
  out.network.kind = node.network;
  out.network.gpudirect = node.gpudirect;
  out.gpudirect_stated = node.dump;
  out.network.collnet = node.collnet;
  join_gpus(node, words, out);
  if (find_word(words, "nic") == nullptr)
    out.doubts.insert(out.doubts.end(), node.rate_doubts.begin(), node.rate_doubts.end());
  out.doubts.insert(out.doubts.end(), node.doubts.begin(), node.doubts.end());
  return out;
}

/// The matrix shows all links. The word pcie: adds the rate of slots, and how peers reach each
/// other.
void read_pcie_word(const ClusterWords& words, ClusterDescription& out) {
  const ClusterWord* word = interconnect_word(words);
  if (word == nullptr) return;
  if (word->key != "pcie")
    word->fail(fmt::format("{} shows how its GPUs are joined", out.file), "Leave the word out");
  NodeDescription& node = out.types.front();
  read_interconnect(words, true, node);
  set_gpu_slots(*node.wiring, node.interconnect.per_gpu);
}

/// Kind of network that the names of all NICs in a matrix indicate. None if they indicate nothing,
/// or disagree.
NetworkKind network_of_nics(const NodeGraph& graph) {
  NetworkKind kind = NetworkKind::none;
  for (const std::uint32_t nic : graph.all(VertexKind::nic)) {
    const NetworkKind one = network_of_name(graph.vertices[nic].name, "");
    if (one == NetworkKind::infiniband || (kind != NetworkKind::none && kind != one))
      return NetworkKind::none;  // mlx5_0 may be either
    kind = one;
  }
  return kind;
}

/// The GPU model that the word names, or the text around the matrix.
GpuModel gpu_of_matrix(std::string_view text, const std::string& file,
                       const std::optional<GpuModel>& gpu, const char* program,
                       const char* example) {
  const std::set<std::string> named = gpus_named_beside(text);
  if (named.size() > 1)
    throw InputError({file, "",
                      fmt::format("names GPUs of several models: {}", fmt::join(named, ", ")),
                      "Use the matrix of a node with identical GPUs"});
  if (gpu && !named.empty() && find_gpu(*named.begin())->is_another(*gpu))
    throw InputError({file, "",
                      fmt::format("names {}, but you wrote gpu:{}", *named.begin(), gpu->stated()),
                      "Leave out gpu:, or remove the other lines from the file"});
  if (gpu && (named.empty() || !gpu->variant_open)) return *gpu;
  if (!named.empty()) return *find_gpu(*named.begin());
  throw InputError({file, "", fmt::format("{} does not name the GPU model", program),
                    fmt::format("Add it after the file name: \"{} gpu:{}\"", file, example)});
}

ClusterDescription describe_matrix(std::string_view text, const std::string& file,
                                   const std::optional<GpuModel>& stated,
                                   const ClusterWords& words) {
  const GpuModel gpu = gpu_of_matrix(text, file, stated, "nvidia-smi's matrix", "A100");
  if (gpu.vendor == GpuVendor::amd)
    throw InputError(
        {file, "", fmt::format("nvidia-smi's matrix cannot be from {}", gpu.name),
         "Give NCCL_TOPO_DUMP_FILE, which RCCL writes as well, the output of `rocm-smi "
         "--showtopo`, or one line"});
  std::vector<std::string> doubts;
  ClusterDescription out = described_node(file, parse_nvidia_matrix(text, file, gpu, &doubts), gpu);
  out.doubts = std::move(doubts);
  out.summary = "nvidia-smi topo -m";
  if (find_word(words, "nic") != nullptr)
    out.network.kind = network_of_nics(*out.types.front().wiring);
  read_pcie_word(words, out);
  return out;
}

ClusterDescription describe_rocm(std::string_view text, const std::string& file,
                                 const std::optional<GpuModel>& stated, const ClusterWords& words) {
  const RocmTables tables = read_rocm_tables(text, file);
  const GpuModel gpu = stated || !find_gpu(tables.model)
                           ? gpu_of_matrix(text, file, stated, "this table", "MI300X")
                           : *find_gpu(tables.model);
  if (gpu.vendor != GpuVendor::amd)
    throw InputError({file, "", fmt::format("tables of rocm-smi cannot be from {}", gpu.name),
                      "Name the AMD GPU of the node, such as gpu:MI300X"});
  std::vector<std::string> doubts;
  ClusterDescription out = described_node(file, draw_rocm_node(tables, file, gpu, &doubts), gpu);
  out.doubts = std::move(doubts);
  out.summary = "rocm-smi --showtopo";
  read_pcie_word(words, out);
  return out;
}

ClusterDescription recognised(std::string_view text, const std::string& file,
                              const std::optional<GpuModel>& gpu, const ClusterWords& words) {
  if (looks_like_xml(text)) return describe_xml(text, file, gpu, words);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool json = first != text.npos && (text[first] == '{' || text[first] == '[');
  if (!json && looks_like_nvidia_matrix(text)) return describe_matrix(text, file, gpu, words);
  if (json ? looks_like_rocm_json(text) : looks_like_rocm_matrix(text))
    return describe_rocm(text, file, gpu, words);
  if (json || first == text.npos) {
    ClusterDescription out = describe_file(text, file);
    if (const ClusterWord* word = interconnect_word(words))
      word->fail(fmt::format("{} states how its GPUs are joined", file),
                 "Leave the word out, or change \"interconnect\" in the file");
    return out;
  }
  throw InputError({file, "", "is not a cluster",
                    "You can give a cluster file (ddpsim.cluster/1), NCCL's topology XML, or the "
                    "output of `nvidia-smi topo -m` or `rocm-smi --showtopo`. A list of nodes and "
                    "switches follows a cluster: \"dgxa100 switches:FILE\""});
}

void apply_nics(const ClusterWord& word, ClusterDescription& out) {
  const NicWord written = read_nics(word, false);
  // Otherwise the kind of the file's NICs counts.
  if (written.kind_stated || out.network.kind == NetworkKind::none) {
    out.network.kind = written.kind;
    out.network.sockets = written.sockets;
  }
  state_gpudirect(written, out);
  out.network.connection.reset();
  for (NodeDescription& node : out.types) {
    if (written.count > 0) node.nics = written.count;
    node.per_nic = written.rate;
    if (!node.wiring) {
      if (node.nics == 0) node.nics = 1;
      continue;
    }
    const auto found = node.wiring->all(VertexKind::nic).size();
    if (found == 0 && node.nics == 0)
      word.fail("the file shows no NIC that could have this rate",
                fmt::format("Say how many there are: \"nic:8x{}\"", word.value));
    if (!set_nics(*node.wiring, node.nics, written.rate)) {
      word.fail(fmt::format("{} NICs where the file has {}", written.count, found),
                fmt::format("Leave the number out: \"nic:{}\"",
                            word.value.substr(word.value.find('x') + 1)));
    }
  }
}

}  // namespace

bool looks_like_cluster(std::string_view text) {
  if (looks_like_xml(text)) return text.find("<system") != text.npos;
  return looks_like_nvidia_matrix(text) || looks_like_rocm_matrix(text) ||
         text.find("\"ddpsim.cluster/") != text.npos;
}

ClusterDescription describe_source(std::string_view text, const std::string& file,
                                   std::string_view line) {
  const ClusterWords words = split_words(line, keys_beside_a_file());
  std::optional<int> gpus;
  const std::optional<GpuModel> gpu = stated_gpu(words, gpus);
  ClusterDescription out = recognised(text, file, gpu, words);
  const NodeDescription& node = out.types.front();
  if (const ClusterWord* word = find_word(words, "gpu")) {
    if (node.gpu.is_another(*gpu)) {
      word->fail(fmt::format("{} has {}", file, node.gpu.stated()), "Leave the word out");
    }
    if (!gpu->variant_open)  // the word names the variant
      for (NodeDescription& type : out.types)
        if (type.gpu.name == gpu->name) type.gpu = *gpu;
    if (gpus && *gpus != node.gpus_per_node) {
      word->fail(fmt::format("{} has {} GPUs per node", file, node.gpus_per_node),
                 "To take part of them: --gpus-per-node");
    }
  }
  for (const NodeDescription& type : out.types) {
    if (!type.wiring) continue;
    const std::vector<std::string> faults = nvlink_faults(*type.wiring, type.gpu.vendor);
    out.doubts.insert(out.doubts.begin(), faults.begin(), faults.end());
  }
  if (const ClusterWord* word = find_word(words, "nic")) apply_nics(*word, out);
  read_network_words(words, out.network.kind != NetworkKind::none, out);
  read_domain(words, out);
  if (const ClusterWord* word = find_word(words, "node")) {
    resize(out, static_cast<int>(word->integer(word->value, "nodes", kMostNodes)), std::nullopt);
  }
  if (find_word(words, "switches") != nullptr && find_word(words, "node") == nullptr &&
      out.types.size() == 1) {
    resize(out, static_cast<int>(out.switches->hosts.size()),
           std::nullopt);  // all nodes that it names
  }
  // Other words make it a different cluster from the one where the log was taken.
  const auto is_given = [&](const char* key) { return find_word(words, key) != nullptr; };
  if (std::ranges::any_of(std::initializer_list<const char*>{"domain", "nic", "oversubscription",
                                                             "latency", "connection"},
                          is_given)) {
    out.verified_nodes.clear();
    out.calibration.reset();
    out.gloo.reset();
    out.stated.reset();
  }
  for (const std::string& key : keys_beside_a_file()) {
    if (const ClusterWord* word = find_word(words, key)) out.name += " " + word->text;
  }
  return out;
}

}  // namespace ddpsim
