#include <fmt/format.h>

#include <filesystem>

#include "cluster_words.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/quote.hpp"
#include "description.hpp"
#include "nccl_xml.hpp"
#include "node_graph.hpp"
#include "nvidia_matrix.hpp"

namespace ddpsim {
namespace {

const std::vector<std::string>& keys_beside_a_file() {
  static const std::vector<std::string> keys = {"node", "gpu",     "nic",        "oversubscription",
                                                "leaf", "latency", "connection", "switches"};
  return keys;
}

/// "A100" or "8xA100": a count must be that of the file.
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

ClusterDescription describe_xml(std::string_view text, const std::string& file,
                                const std::optional<GpuModel>& gpu) {
  XmlNode node = parse_nccl_xml(text, file, gpu);
  ClusterDescription out = described_node(file, std::move(node.graph), *node.gpu);
  out.summary = "NCCL topology file";
  out.types.front().cpu = node.cpu;
  out.network.kind = node.network;
  out.network.gpudirect = node.gpudirect;
  out.network.collnet = node.collnet;
  return out;
}

ClusterDescription describe_matrix(std::string_view text, const std::string& file,
                                   const std::optional<GpuModel>& gpu) {
  if (!gpu) {
    throw InputError({file, "", "nvidia-smi's matrix does not name the GPU model",
                      fmt::format("Name it beside the file: \"{} gpu:A100\"", file)});
  }
  if (gpu->vendor == GpuVendor::amd)
    throw InputError({file, "", fmt::format("nvidia-smi's matrix is not of {}", gpu->name),
                      "Give NCCL_TOPO_DUMP_FILE, which RCCL writes as well, or one line"});
  ClusterDescription out = described_node(file, parse_nvidia_matrix(text, file, *gpu), *gpu);
  out.summary = "nvidia-smi topo -m";
  return out;
}

ClusterDescription recognised(std::string_view text, const std::string& file,
                              const std::optional<GpuModel>& gpu) {
  if (looks_like_xml(text)) return describe_xml(text, file, gpu);
  if (looks_like_nvidia_matrix(text)) return describe_matrix(text, file, gpu);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool json = first != text.npos && (text[first] == '{' || text[first] == '[');
  if (json || first == text.npos) return describe_file(text, file);
  throw InputError({file, "", "is no cluster",
                    "Read here: a cluster file (ddpsim.cluster/1), NCCL's topology XML, the matrix "
                    "of `nvidia-smi topo -m`; a list of nodes and switches goes beside a cluster: "
                    "\"dgxa100 switches:FILE\""});
}

void apply_nics(const ClusterWord& word, ClusterDescription& out) {
  const NicWord written = read_nics(word, false);
  out.network.kind = written.kind;
  out.network.sockets = written.sockets;
  out.network.connection.reset();
  for (NodeDescription& node : out.types) {
    if (written.count > 0) node.nics = written.count;
    node.per_nic = written.rate;
    if (!node.wiring) {
      if (node.nics == 0) node.nics = 1;
      continue;
    }
    const auto found = node.wiring->all(VertexKind::nic).size();
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
  return looks_like_nvidia_matrix(text) || text.find("\"ddpsim.cluster/") != text.npos;
}

ClusterDescription describe_source(std::string_view text, const std::string& file,
                                   std::string_view line) {
  const ClusterWords words = split_words(line, keys_beside_a_file());
  std::optional<int> gpus;
  const std::optional<GpuModel> gpu = stated_gpu(words, gpus);
  ClusterDescription out = recognised(text, file, gpu);
  const NodeDescription& node = out.types.front();
  if (const ClusterWord* word = find_word(words, "gpu")) {
    if (node.gpu.name != gpu->name) {
      word->fail(fmt::format("{} has {}", file, node.gpu.name), "Leave the word out");
    }
    if (gpus && *gpus != node.gpus_per_node) {
      word->fail(fmt::format("{} has {} GPUs per node", file, node.gpus_per_node),
                 "To take part of them: --gpus-per-node");
    }
  }
  if (const ClusterWord* word = find_word(words, "nic")) apply_nics(*word, out);
  read_network_words(words, out.network.kind != NetworkKind::none, out);
  if (const ClusterWord* word = find_word(words, "node")) {
    resize(out, static_cast<int>(word->integer(word->value, "nodes", kMostNodes)), std::nullopt);
  }
  if (find_word(words, "switches") != nullptr && find_word(words, "node") == nullptr &&
      out.types.size() == 1) {
    resize(out, static_cast<int>(out.switches->hosts.size()), std::nullopt);  // all it names
  }
  // Other words make another cluster than the one a log was taken on.
  if (find_word(words, "nic") != nullptr || find_word(words, "oversubscription") != nullptr ||
      find_word(words, "latency") != nullptr || find_word(words, "connection") != nullptr) {
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
