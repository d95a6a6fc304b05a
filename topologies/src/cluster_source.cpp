#include "ddpsim/topologies/cluster_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <set>
#include <span>

#include "archive_cluster.hpp"
#include "ddpsim/formats/archive.hpp"
#include "ddpsim/formats/embedded.hpp"
#include "ddpsim/formats/files.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "ddpsim/formats/words.hpp"
#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/topologies/topology.hpp"
#include "description.hpp"

namespace ddpsim {

std::span<const EmbeddedFile> bundled_cluster_files();  // generated: the files of data/

namespace {

/// "p4d:spec": data sheet values, without the calibration in the file.
constexpr std::string_view kSpecification = ":spec";
constexpr std::int64_t kLargestFile = 64 << 20;  // room for measured curves and graphs

[[noreturn]] void fail(std::string message, Hint hint) {
  throw InputError({"command line", "", std::move(message), std::move(hint)});
}

/// Whether a word of `text` is a "key:value" of the one-line form. This is enough to distinguish a
/// misspelt line from a misspelt name.
bool is_line(std::string_view text) {
  for (const std::string_view word : words_of(text)) {
    for (const char* key : {"node", "gpu", "nvswitch", "nvlink", "xgmi", "pcie", "nic"}) {
      if (word.substr(0, word.find(':')) == key && word.find(':') != word.npos) return true;
    }
  }
  return false;
}

/// Splits "topo.xml node:8 nic:200Gbps" into "topo.xml" and the words after it. A text without such
/// words, or with nothing but words, is returned whole.
std::pair<std::string, std::string> split_first(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  const std::size_t space = text.find_first_of(" \t\r\n", begin);
  if (begin == text.npos || space == text.npos) return {text, ""};
  const std::string first = text.substr(begin, space - begin);
  const bool is_word = first.find(':') != first.npos && !first.ends_with(kSpecification);
  if (is_word && is_line(text)) return {text, ""};
  return {first, text.substr(space)};
}

/// Splits "dgx1v@16" into "dgx1v" and 16, "dgx1v:spec@16" into "dgx1v:spec" and 16. A text without
/// '@' is returned unchanged.
std::pair<std::string, std::optional<int>> split_nodes(const std::string& text) {
  const std::size_t at = text.rfind('@');
  if (at == text.npos) return {text, std::nullopt};
  const auto nodes = parse_number<int>(std::string_view(text).substr(at + 1));
  if (!nodes || *nodes < 1 || *nodes > kMostNodes) {
    fail(fmt::format("{} ends in {}, which is not a number of nodes", in_quotes(text),
                     in_quotes(text.substr(at))),
         fmt::format("Expected NAME@NODES or NAME:spec@NODES with 1 to {} nodes", kMostNodes));
  }
  return {text.substr(0, at), nodes};
}

/// Position of "@2" in "FILE gpu:A6000@2"; absent if the words do not end like this. The name of a
/// switch list may.
std::optional<std::size_t> nodes_behind_words(std::string_view words) {
  const Words all = words_of(words);
  if (all.empty() || all.back().starts_with("switches:")) return std::nullopt;
  const std::size_t at = words.rfind('@');
  if (at == words.npos || words_of(words.substr(at)).size() > 1) return std::nullopt;
  return at;
}

const EmbeddedFile* find_bundled(const std::string& name) {
  for (const EmbeddedFile& file : bundled_cluster_files()) {
    if (file.name == name) return &file;
  }
  return nullptr;
}

/// `json` receives the text of a cluster file without further words.
ClusterDescription describe_text(std::string_view text, const std::string& file,
                                 std::string_view words, std::string* json) {
  ClusterDescription description = describe_source(text, file, words);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool alone = words.find_first_not_of(" \t\r\n") == words.npos;
  if (json != nullptr && alone && first != text.npos && text[first] == '{') *json = text;
  return description;
}

ClusterDescription describe_named(const std::string& name, std::string_view words,
                                  std::string* json) {
  if (name.ends_with(kSpecification)) {
    const std::string whole = name.substr(0, name.size() - kSpecification.size());
    if (whole.ends_with(kSpecification))
      fail(fmt::format("{} says {} twice", in_quotes(name), in_quotes(kSpecification)),
           fmt::format("Write {}", in_quotes(whole)));
    ClusterDescription description = describe_named(whole, words, json);
    description.name += kSpecification;
    description.calibration.reset();
    description.gloo.reset();
    description.verified_nodes.clear();
    return description;
  }
  if (const EmbeddedFile* file = find_bundled(name)) {
    return describe_text(file->text, std::string(file->name), words, json);
  }
  if (is_archive(name)) return describe_archive(read_archive(name), words);
  const bool path = name.find('/') != name.npos || name.find('.') != name.npos;
  std::error_code error;
  if (path || std::filesystem::exists(name, error)) {
    return describe_text(read_file(name, kLargestFile), name, words, json);
  }
  std::vector<std::string> names;
  for (const BundledCluster& cluster : bundled_clusters()) names.push_back(cluster.name);
  fail(fmt::format("there is no cluster or file {}", in_quotes(name)),
       did_you_mean(name, names,
                    fmt::format("Bundled: {}. Or write \"node:1 gpu:8xV100 nvlink:6x25GBps:cube\"",
                                fmt::join(names, ", "))));
}

/// Resolves the cluster, with the requested process groups.
Cluster resolved(const ClusterDescription& description, const std::vector<GroupSize>& groups) {
  Cluster cluster = resolve(description).cluster;
  // If nodes differ, a number of nodes does not say which ones.
  if (description.types.size() > 1 || !description.degraded.empty()) return cluster;
  for (const GroupSize& size : groups) {
    const int nodes = std::min(size.nodes, cluster.nodes);
    const int gpus =
        std::min(size.gpus_per_node.value_or(cluster.gpus_per_node), cluster.gpus_per_node);
    if (nodes == cluster.nodes && gpus == cluster.gpus_per_node) continue;
    ClusterDescription group = description;
    resize_as_nccl_counts(group, nodes,
                          gpus == cluster.gpus_per_node ? std::nullopt : std::optional(gpus));
    cluster.groups.push_back(std::make_shared<const Cluster>(resolve(std::move(group)).cluster));
  }
  return cluster;
}

/// Uncertainty of a NIC's rate from data sheets, cables or switches.
constexpr double kNicDifference = 0.05;

void scale_nics(ClusterDescription& description, double factor) {
  for (NodeDescription& type : description.types) {
    type.per_nic = type.per_nic * factor;
    if (!type.wiring) continue;
    for (Vertex& vertex : type.wiring->vertices) vertex.port = vertex.port * factor;
  }
}

/// Neighbours of the cluster: one node more or less, and slightly faster or slower NICs. A single
/// node has no neighbours: its NICs are idle, and two nodes would be a very different case.
std::vector<NearCluster> near_clusters(const ClusterDescription& description,
                                       const std::vector<GroupSize>& groups) {
  std::vector<NearCluster> near;
  if (description.nodes() <= description.nodes_per_domain) return near;
  const auto add = [&](std::string difference, const auto& change) {
    ClusterDescription changed = description;
    try {
      change(changed);
      near.push_back(
          {std::move(difference), std::make_shared<const Cluster>(resolved(changed, groups))});
    } catch (const InputError&) {
      // This size is impossible: a list of switches names each node, or no node is left.
    }
  };
  for (const int more : {-1, 1}) {
    const int nodes = description.nodes() + more * description.nodes_per_domain;
    if (nodes <= description.nodes_per_domain || description.types.size() > 1) continue;
    add(fmt::format("on {} nodes", nodes),
        [&](ClusterDescription& changed) { resize(changed, nodes, {}); });
  }
  for (const double more : {-kNicDifference, kNicDifference})
    add(fmt::format("with NICs {:.0f} % {}", 100 * kNicDifference, more < 0 ? "slower" : "faster"),
        [&](ClusterDescription& changed) { scale_nics(changed, 1 + more); });
  return near;
}

}  // namespace

ClusterDescription describe_request(const ClusterRequest& request, std::string* json) {
  ClusterDescription description;
  std::optional<int> nodes = request.nodes;
  std::error_code error;
  if (std::filesystem::is_regular_file(request.text, error) || is_archive(request.text)) {
    description =
        // A file may have '@' and spaces in its name.
        describe_named(request.text, "", json);
  } else if (const auto [first, words] = split_first(request.text); is_line(first)) {
    description = describe_line(request.text);
  } else {
    auto [name, suffix] = split_nodes(first);
    std::string beside = words;
    if (const auto at = nodes_behind_words(words)) {
      beside = words.substr(0, *at);
      if (suffix)
        fail(fmt::format("{} says twice how many nodes there are", in_quotes(request.text)),
             "Keep one of them");
      suffix = split_nodes(words.substr(*at)).second;
    }
    const Words all = words_of(beside);
    const auto counts =
        std::ranges::find_if(all, [](std::string_view word) { return word.starts_with("node:"); });
    if (suffix && counts != all.end())
      fail(fmt::format("{} says twice how many nodes there are", in_quotes(request.text)),
           fmt::format("Keep one of \"@{}\" and {}", *suffix, in_quotes(*counts)));
    description = describe_named(name, beside, json);
    if (suffix && nodes && *suffix != *nodes) {
      fail(fmt::format("{} and --nodes {} disagree", in_quotes(request.text), *nodes),
           "Keep one of them");
    }
    if (suffix) nodes = suffix;
  }
  resize(description, nodes, request.gpus_per_node);
  return description;
}

bool is_cluster(const std::string& text) {
  std::error_code error;
  const std::string first = split_first(text).first;
  const std::string unsized_name = first.substr(0, first.rfind('@'));
  for (const std::string& name :
       {text, first, unsized_name, unsized_name.substr(0, unsized_name.rfind(kSpecification))}) {
    if (find_bundled(name) != nullptr || is_archive(name)) return true;
    if (!std::filesystem::is_regular_file(name, error)) continue;
    try {
      return looks_like_cluster(read_file(name, kLargestFile));
    } catch (const InputError&) {
      return false;
    }
  }
  return is_line(first);
}

std::optional<std::string> archive_named(const std::string& text) {
  if (find_bundled(text) != nullptr) return std::nullopt;
  if (is_archive(text)) return text;
  const std::string first = split_first(text).first;
  for (const std::string& name : {first, first.substr(0, first.rfind('@'))})
    if (!name.ends_with(kSpecification) && is_archive(name)) return name;
  return std::nullopt;
}

Topology load_topology(const ClusterRequest& request) {
  const ClusterDescription description = describe_request(request);
  Topology topology = resolve(description);
  topology.line = line_of(description, topology.cluster);
  return topology;
}

Cluster load_cluster_at(const std::string& text, int nodes, int gpus_per_node) {
  ClusterDescription description =
      describe_request({.text = text, .nodes = {}, .gpus_per_node = {}});
  resize_as_nccl_counts(description, nodes, gpus_per_node);
  return resolve(description).cluster;
}

Cluster load_cluster(const ClusterRequest& request) {
  const ClusterDescription description = describe_request(request);
  Cluster cluster = resolved(description, request.groups);
  if (request.near) cluster.near = near_clusters(description, request.groups);
  return cluster;
}

std::shared_ptr<const Calibration> published_calibration(const std::string& text) {
  ClusterDescription description =
      describe_request({.text = text, .nodes = {}, .gpus_per_node = {}});
  if (!description.calibration) return nullptr;
  if (is_published(*description.calibration))
    return std::make_shared<const Calibration>(*description.calibration);
  // The file was made from a bundled cluster. Its published calibration must not depend on the
  // user's own logs.
  const EmbeddedFile* bundled = find_bundled(description.name);
  if (bundled == nullptr) return nullptr;
  return published_calibration(std::string(bundled->name));
}

std::vector<BundledCluster> bundled_clusters() {
  std::vector<BundledCluster> clusters;
  for (const EmbeddedFile& file : bundled_cluster_files()) {
    const ClusterDescription description = describe_file(file.text, std::string(file.name));
    std::set<int> nodes;
    if (description.calibration)
      for (const CalibratedShape& log : description.calibration->shapes) nodes.insert(log.nodes);
    clusters.push_back({std::string(file.name),
                        description.summary,
                        description.types.front().gpu.product(),
                        {nodes.begin(), nodes.end()}});
  }
  return clusters;
}

}  // namespace ddpsim
