#include "node_file.hpp"

#include <fmt/format.h>

#include "ddpsim/topologies/cluster_source.hpp"
#include "node_graph.hpp"
#include "wiring_file.hpp"

namespace ddpsim {
namespace {

using Kind = ValueType::Kind;

const ObjectType& nvswitch_type() {
  static const auto type =
      ObjectType("NvswitchInterconnect", "GPUs of a node joined by NVSwitches")
          .needs("kind", word_of({"nvswitch"}), "how the GPUs of a node reach each other")
          .needs("per_gpu", {Kind::text}, "rate of one GPU, one way: \"300GBps\"");
  return type;
}

const ObjectType& nvlink_type() {
  static const auto type =
      ObjectType("NvlinkInterconnect", "GPUs of a node joined by NVLinks, or by xGMI links")
          .needs("kind", word_of({"nvlink", "xgmi"}), "nvlink, or xgmi between GPUs of AMD")
          .needs("links_per_gpu", {Kind::integer}, "how many links each GPU has")
          .needs("per_link", {Kind::text}, "rate of one link, one way: \"25GBps\"")
          .may_have("layout", word_of({"pair", "mesh", "cube"}),
                    "which GPUs are joined: by default pair for 2 GPUs, cube for 8 with NVLink, "
                    "else mesh. A cube is the hybrid cube mesh of a DGX-1; xgmi has none");
  return type;
}

const ObjectType& pcie_type() {
  static const auto type =
      ObjectType("PcieInterconnect", "GPUs of a node joined by PCIe alone")
          .needs("kind", word_of({"pcie"}), "how the GPUs of a node reach each other")
          .needs("per_gpu", {Kind::text}, "rate of one GPU's slot, one way: \"15.75GBps\"")
          .may_have("peer_to_peer", {Kind::boolean},
                    "whether GPUs reach each other's memory; by default the GPU decides")
          .may_have("across_sockets", {Kind::boolean},
                    "whether GPUs reach each other's memory across sockets, too; needs "
                    "peer_to_peer; false by default")
          .may_have("gpus_per_root", {Kind::integer},
                    "how many GPUs share a root port of a CPU; by default 1 up to 4 GPUs, else 2");
  return type;
}

const ObjectType& no_interconnect_type() {
  static const auto type =
      ObjectType("NoInterconnect", "GPUs of a node that do not reach each other")
          .needs("kind", word_of({"none"}), "how the GPUs of a node reach each other");
  return type;
}

GpuModel read_gpu(const Cursor& cursor) {
  const std::string name = cursor.string();
  const std::string problem = gpu_name_problem(name);
  if (problem.empty()) return *find_gpu(name);
  const bool count = find_gpu(name) && name.find('@') != name.npos;
  cursor.fail(problem, (count ? "Nodes are counted by \"nodes\"; " : "") + gpus_instead_of(name));
}

CpuVendor read_cpu(const Cursor& cursor) {
  const std::string word = cursor.choice({"intel", "amd", "arm", "power"});
  if (word == "intel") return CpuVendor::intel;
  if (word == "amd") return CpuVendor::amd;
  return word == "arm" ? CpuVendor::arm : CpuVendor::power;
}

NvlinkLayout read_layout(const Cursor& cursor, bool xgmi) {
  const std::string word =
      xgmi ? cursor.choice({"pair", "mesh"}) : cursor.choice({"pair", "mesh", "cube"});
  if (word == "pair") return NvlinkLayout::pair;
  return word == "mesh" ? NvlinkLayout::mesh : NvlinkLayout::cube;
}

std::optional<PeerAccess> read_peers(const Object& fields) {
  const auto access = fields.optional("peer_to_peer");
  const bool direct = access && access->boolean();
  if (const auto across = fields.optional("across_sockets")) {
    if (!direct)
      across->fail("applies only to GPUs that reach each other over PCIe",
                   R"(Add "peer_to_peer": true)");
    return across->boolean() ? PeerAccess::sockets : PeerAccess::one_root;
  }
  if (!access) return std::nullopt;
  return direct ? PeerAccess::one_root : PeerAccess::host;
}

InterconnectDescription read_interconnect(const Cursor& cursor, int gpus,
                                          const std::optional<GpuModel>& gpu) {
  InterconnectDescription out;
  const Cursor written = cursor.free_object().required("kind");
  const std::string kind = written.choice({"nvswitch", "nvlink", "xgmi", "pcie", "none"});
  if (gpu)
    if (const auto foreign = foreign_link(kind, *gpu))
      written.fail(foreign->message, foreign->hint);
  if (kind == "nvlink" || kind == "xgmi") {
    const bool xgmi = kind == "xgmi";
    const Object fields = cursor.object(nvlink_type());
    out.kind = IntraKind::nvlink;
    const auto layout = fields.optional("layout");
    out.layout = layout ? read_layout(*layout, xgmi)
                        : default_layout(gpus, xgmi ? GpuVendor::amd : GpuVendor::nvidia);
    // Checks fields that are present before fields that are missing.
    if (const auto rate = fields.optional("per_link")) out.per_link = rate->bandwidth();
    out.links_per_gpu =
        static_cast<int>(fields.required("links_per_gpu").integer(1, kMostLinksPerGpu));
    out.per_link = fields.required("per_link").bandwidth();
  } else if (kind == "none") {
    cursor.object(no_interconnect_type());
  } else if (kind == "pcie") {
    const Object fields = cursor.object(pcie_type());
    out.kind = IntraKind::pcie;
    out.peers = read_peers(fields);
    if (const auto below = fields.optional("gpus_per_root"))
      out.gpus_per_root = static_cast<int>(below->integer(1, gpus));
    out.per_gpu = fields.required("per_gpu").bandwidth();
  } else {
    const Object fields = cursor.object(nvswitch_type());
    out.kind = IntraKind::nvswitch;
    out.per_gpu = fields.required("per_gpu").bandwidth();
  }
  const std::string problem = layout_problem(out, gpus);
  if (!problem.empty()) cursor.fail(problem);
  return out;
}

void read_wired_node(const Object& node, const Cursor& wiring, NodeDescription& out) {
  for (const char* key : {"gpus", "interconnect"}) {
    if (const auto other = node.optional(key)) {
      other->fail("conflicts with \"wiring\"", "The wiring states this already: keep one of them");
    }
  }
  if (const auto cpu = node.optional("cpu")) out.cpu = read_cpu(*cpu);
  out.gpu = read_gpu(node.required("gpu"));
  out.wiring = read_wiring(wiring, out.gpu);
  const auto gpus = out.wiring->all(VertexKind::gpu).size();
  if (gpus == 0) wiring.fail("no GPU among the vertices");
  if (gpus > kMostGpusPerNode) wiring.fail(fmt::format("more than {} GPUs", kMostGpusPerNode));
  out.gpus_per_node = out.gpus_in_layout = static_cast<int>(gpus);
}

}  // namespace

const ObjectType& cluster_node_type() {
  static const auto type =
      ObjectType("ClusterNode", "one node: its GPUs and what joins them")
          .may_have("gpus", {Kind::integer}, "how many GPUs it has; needed unless wiring says it")
          .needs("gpu", {Kind::text}, "model or variant of its GPUs, as `ddpsim list` has it")
          .may_have("cpu", word_of({"intel", "amd", "arm", "power"}),
                    "vendor of its CPUs; unknown by default")
          .may_have("interconnect",
                    any_of({object_of(nvswitch_type()), object_of(nvlink_type()),
                            object_of(pcie_type()), object_of(no_interconnect_type())}),
                    "what joins its GPUs; needed from 2 GPUs on unless wiring says it")
          .may_have("wiring", object_of(wiring_type()),
                    "how it is wired link by link, in place of gpus and interconnect");
  return type;
}

void read_node(const Cursor& cursor, NodeDescription& out) {
  const Object node = cursor.object(cluster_node_type());
  if (const auto wiring = node.optional("wiring")) return read_wired_node(node, *wiring, out);
  const auto gpus = node.optional("gpus");
  if (gpus) out.gpus_per_node = static_cast<int>(gpus->integer(1, kMostGpusPerNode));
  out.gpus_in_layout = out.gpus_per_node;
  const auto model = node.optional("gpu");
  if (model) out.gpu = read_gpu(*model);
  if (const auto cpu = node.optional("cpu")) out.cpu = read_cpu(*cpu);
  const auto interconnect = node.optional("interconnect");
  if (interconnect && gpus)
    out.interconnect = read_interconnect(*interconnect, out.gpus_per_node,
                                         model ? std::optional(out.gpu) : std::nullopt);
  node.required("gpus");
  read_gpu(node.required("gpu"));
  if (out.gpus_per_node > 1) node.required("interconnect");
}

}  // namespace ddpsim
