#include "wiring_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "ddpsim/formats/files.hpp"
#include "ddpsim/formats/object_type.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "nccl_rates.hpp"
#include "node_graph.hpp"
#include "switch_list.hpp"

namespace ddpsim {
namespace {

using Kind = ValueType::Kind;

constexpr std::size_t kMostWires = 65'536;
constexpr const char* kEnds = "names of the two vertices that it joins";
constexpr const char* kPlacement =
    "whether ranks follow the leaves, or neighbours are under other leaves; without it both are "
    "considered";

const ObjectType& vertex_type() {
  static const auto type =
      ObjectType("WiringVertex", "a device of a node")
          .needs("name", {Kind::text}, "its name: letters, digits, '_', '-' and '.'")
          .needs("kind", word_of({"gpu", "nvswitch", "pcie-switch", "cpu", "nic"}), "what it is")
          .may_have("rate", {Kind::text},
                    "rate of a NIC towards the network: \"100Gbps\"; by default per_nic");
  return type;
}

const ObjectType& nvlinks_type() {
  static const auto type =
      ObjectType("WiringNvlinks", "NVLinks, or xGMI links, between two devices of a node")
          .needs("between", list_of({Kind::text}), kEnds)
          .needs("kind", word_of({"nvlink", "xgmi"}), "nvlink, or xgmi between GPUs of AMD")
          .may_have("links", {Kind::integer}, "how many links are bundled; 1 by default")
          .needs("per_link", {Kind::text}, "rate of one of the links, one way: \"25GBps\"");
  return type;
}

const ObjectType& host_link_type() {
  static const auto type =
      ObjectType("WiringHostLink", "a PCIe or socket link between two devices of a node")
          .needs("between", list_of({Kind::text}), kEnds)
          .needs("kind", word_of({"pcie", "socket"}), "pcie, or socket between two CPUs")
          .needs("rate", {Kind::text}, "its rate, one way: \"15.75GBps\"")
          .may_have("nccl_rate", {Kind::text},
                    "the rate that NCCL counts on, of a socket link; by default rate");
  return type;
}

const ObjectType& switch_list_type() {
  static const auto type =
      ObjectType("SwitchList", "switches that a file lists")
          .needs("list", {Kind::text},
                 "file in the folder of the cluster file: lines of HOST SWITCH, or Slurm's "
                 "topology.conf")
          .may_have("placement", word_of({"ordered", "scattered"}), kPlacement);
  return type;
}

const ObjectType& one_switch_type() {
  static const auto type = ObjectType("OneSwitch", "one switch that never blocks")
                               .needs("kind", word_of({"one-switch"}), "how switches are wired");
  return type;
}

const ObjectType& leaf_spine_type() {
  static const auto type =
      ObjectType("LeafSpine", "nodes on leaves, and every leaf on every spine")
          .needs("kind", word_of({"leaf-spine"}), "how switches are wired")
          .needs("nodes_per_leaf", {Kind::integer}, "how many nodes hang on one leaf")
          .may_have("spines", {Kind::integer}, "how many spines there are; 1 by default")
          .may_have("placement", word_of({"ordered", "scattered"}), kPlacement)
          .may_have("nodes_per_pod", {Kind::integer},
                    "how many nodes make a pod, whose leaves have spines of their own below a core")
          .may_have("pod_oversubscription", {Kind::number},
                    "oversubscription of the core that joins the pods; 1 by default");
  return type;
}

const ObjectType& rails_type() {
  static const auto type =
      ObjectType("Rails", "NIC i of all nodes of a pod on the pod's leaf i, and leaves on spines")
          .needs("kind", word_of({"rail"}), "how switches are wired")
          .needs("nodes_per_leaf", {Kind::integer},
                 "how many nodes make a pod, with a leaf for each NIC of a node")
          .may_have("spines", {Kind::integer}, "how many spines there are; 1 by default")
          .may_have("placement", word_of({"ordered", "scattered"}), kPlacement);
  return type;
}

VertexKind read_kind(const Cursor& cursor) {
  const std::string word = cursor.choice({"gpu", "nvswitch", "pcie-switch", "cpu", "nic"});
  if (word == "gpu") return VertexKind::gpu;
  if (word == "nvswitch") return VertexKind::nvswitch;
  if (word == "pcie-switch") return VertexKind::pcie_switch;
  return word == "cpu" ? VertexKind::cpu : VertexKind::nic;
}

Vertex read_vertex(const Cursor& cursor) {
  const Object fields = cursor.object(vertex_type());
  Vertex out;
  if (const auto kind = fields.optional("kind")) out.kind = read_kind(*kind);
  if (const auto rate = fields.optional("rate")) {
    out.port = rate->bandwidth();
    if (out.kind != VertexKind::nic) rate->fail("only a NIC has a rate of its own");
  }
  fields.required("kind");
  out.name = fields.required("name").string();
  const bool plain = !out.name.empty() && out.name.find_first_not_of(
                                              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVW"
                                              "XYZ0123456789_.-") == std::string::npos;
  if (!plain) {
    fields.required("name").fail(in_quotes(out.name) + " is not a name",
                                 "Letters, digits, '_', '-' and '.'");
  }
  return out;
}

using PlacesByName = std::map<std::string, std::uint32_t>;

std::uint32_t place_of(const Cursor& cursor, const PlacesByName& places) {
  const std::string name = cursor.string();
  const auto found = places.find(name);
  if (found != places.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& entry : places) names.push_back(entry.first);
  cursor.fail("there is no vertex " + in_quotes(name), did_you_mean(name, names));
}

Wire read_link(const Cursor& cursor, const PlacesByName& places, const GpuModel& gpu) {
  Wire out;
  const Cursor written = cursor.free_object().required("kind");
  const std::string kind = written.choice({"nvlink", "xgmi", "pcie", "socket"});
  if (const auto foreign = foreign_link(kind, gpu)) written.fail(foreign->message, foreign->hint);
  const bool nvlink = kind == "nvlink" || kind == "xgmi";
  const Object fields = cursor.object(nvlink ? nvlinks_type() : host_link_type());
  if (nvlink) {
    out.kind = LinkKind::nvlink;
    const auto links = fields.optional("links");
    out.lanes = links ? static_cast<int>(links->integer(1, kMostLinksPerGpu)) : 1;
    const NvlinkRate rate = nvlink_rate(gpu);
    out.nominal = fields.required("per_link").bandwidth() * out.lanes;
    out.nccl = out.nominal * (rate.nccl / rate.nominal);
  } else {
    out.kind = kind == "pcie" ? LinkKind::pcie : LinkKind::socket;
    out.nominal = fields.required("rate").bandwidth();
    out.nccl = kind == "pcie"
                   ? Bandwidth::gigabytes_per_second(pcie_rate(out.nominal.gigabytes_per_second()))
                   : out.nominal;
    if (const auto figure = fields.optional("nccl_rate")) out.nccl = figure->bandwidth();
  }
  const Cursor between = fields.required("between");
  const auto ends = between.array();
  if (ends.size() != 2) {
    between.fail(
        fmt::format("{} end{}; expected two names", ends.size(), ends.size() == 1 ? "" : "s"));
  }
  out.a = place_of(ends[0], places);
  out.b = place_of(ends[1], places);
  if (out.a == out.b) between.fail("a link from a vertex to itself");
  return out;
}

void read_pods(const Object& fields, SwitchPlan& out) {
  const auto ratio = fields.optional("pod_oversubscription");
  if (ratio) out.pod_oversubscription = ratio->number(1, kMostOversubscription);
  const auto nodes = fields.optional("nodes_per_pod");
  if (!nodes) {
    if (ratio) fields.required("nodes_per_pod");
    return;
  }
  out.nodes_per_pod = static_cast<int>(nodes->integer(1, kMostNodesPerLeaf));
  if (const std::string problem = pod_problem(out); !problem.empty()) nodes->fail(problem);
}

}  // namespace

const ObjectType& wiring_type() {
  static const auto type =
      ObjectType("ClusterWiring", "how the devices of a node are wired, link by link")
          .needs("vertices", list_of(object_of(vertex_type())),
                 "its devices; GPUs and NICs are numbered in this order")
          .needs("links", list_of(any_of({object_of(nvlinks_type()), object_of(host_link_type())})),
                 "links between its devices, one for each pair that is joined");
  return type;
}

const std::vector<ValueType>& switches_types() {
  static const std::vector<ValueType> types = {
      object_of(one_switch_type()), object_of(leaf_spine_type()), object_of(rails_type()),
      object_of(switch_list_type())};
  return types;
}

const ObjectType& degraded_link_type() {
  static const auto type =
      ObjectType("DegradedLink", "a link that is slower than it should be")
          .needs("link", {Kind::text},
                 "its name as `ddpsim topo` shows it: \"A > B\" one way, \"A - B\" both ways")
          .needs("rate", {Kind::text}, "the rate it runs at: \"50Gbps\"");
  return type;
}

NodeGraph read_wiring(const Cursor& cursor, const GpuModel& gpu) {
  const Object fields = cursor.object(wiring_type());
  NodeGraph out;
  PlacesByName places;
  for (const Cursor& item : fields.required("vertices").array()) {
    if (out.vertices.size() == kMostVertices) item.fail("more than 1024 vertices in a node");
    const Vertex vertex = read_vertex(item);
    if (vertex.kind == VertexKind::nvswitch)
      if (const auto foreign = foreign_link("nvswitch", gpu))
        item.fail(foreign->message, foreign->hint);
    if (!places.emplace(vertex.name, static_cast<std::uint32_t>(out.vertices.size())).second) {
      item.fail(fmt::format("two vertices have the name {}", in_quotes(vertex.name)));
    }
    out.vertices.push_back(vertex);
  }
  std::set<std::pair<std::uint32_t, std::uint32_t>> joined;
  for (const Cursor& item : fields.required("links").array()) {
    if (out.wires.size() == kMostWires) item.fail("more than 65536 links in a node");
    const Wire wire = read_link(item, places, gpu);
    if (!joined.insert(std::minmax(wire.a, wire.b)).second) {
      item.fail(fmt::format("{} and {} are joined twice", in_quotes(out.vertices[wire.a].name),
                            in_quotes(out.vertices[wire.b].name)),
                "Bundle them: \"links\": 2");
    }
    out.wires.push_back(wire);
  }
  return out;
}

SwitchPlan read_switches(const Cursor& cursor, const std::string& file) {
  constexpr std::int64_t kMostSpines = 1'024;
  if (cursor.free_object().has("list")) {
    const Object fields = cursor.object(switch_list_type());
    const std::string name = fields.required("list").string();
    const auto path = std::filesystem::path(file).parent_path() / name;
    SwitchPlan listed = parse_switch_list(read_file(path, kLargestSwitchList), path.string());
    if (const auto placement = fields.optional("placement"))
      listed.placement = placement_of(placement->choice({"ordered", "scattered"}));
    return listed;
  }
  SwitchPlan out;
  const std::string kind =
      cursor.free_object().required("kind").choice({"one-switch", "leaf-spine", "rail"});
  if (kind == "one-switch") {
    cursor.object(one_switch_type());
    return out;
  }
  out.kind = kind == "rail" ? SwitchPlan::Kind::rail : SwitchPlan::Kind::leaf_spine;
  const bool leaves = out.kind == SwitchPlan::Kind::leaf_spine;
  const Object fields = cursor.object(leaves ? leaf_spine_type() : rails_type());
  if (const auto placement = fields.optional("placement"))
    out.placement = placement_of(placement->choice({"ordered", "scattered"}));
  if (const auto spines = fields.optional("spines")) {
    out.spines = static_cast<int>(spines->integer(1, kMostSpines));
  }
  out.nodes_per_leaf =
      static_cast<int>(fields.required("nodes_per_leaf").integer(1, kMostNodesPerLeaf));
  if (leaves) read_pods(fields, out);
  return out;
}

std::vector<DegradedLink> read_degraded(const Cursor& cursor) {
  std::vector<DegradedLink> out;
  for (const Cursor& item : cursor.array()) {
    const Object fields = item.object(degraded_link_type());
    DegradedLink link;
    if (const auto rate = fields.optional("rate")) link.bandwidth = rate->bandwidth();
    link.link = fields.required("link").string();
    fields.required("rate");
    out.push_back(link);
  }
  return out;
}

}  // namespace ddpsim
