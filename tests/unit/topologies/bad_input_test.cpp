// Every mistake in a cluster, and its message.
#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "complaint.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/topologies/cluster_source.hpp"

using namespace ddpsim;

namespace {

struct BadCluster {
  std::string input;
  std::string message;
};

std::string request_complaint(const ClusterRequest& request) {
  return complaint_of([&] { load_cluster(request); });
}

std::string document_complaint(const std::string& text) {
  return complaint_of([&] { parse_cluster(text, "lab.json"); });
}

/// A valid document with another `node` and further fields.
std::string document_with(const std::string& node, const std::string& more = "") {
  return R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": )" + node + more + "}";
}

}  // namespace

TEST_CASE("one-line cluster: each mistake gets one message that names the word") {
  const std::string rate = "expected a rate such as \"100Gbps\" (bits) or \"25GBps\" (bytes)";
  const std::vector<BadCluster> cases = {
      {"node:8 gpu:8xA100 nvswich:300GBps",
       "cluster:nvswich:300GBps: unknown key \"nvswich\". Did you mean \"nvswitch\"?"},
      {"node:8 gpu:8xA100 colour:red",
       "cluster:colour:red: unknown key \"colour\". Known keys: node, gpu, nvswitch, nvlink, xgmi, "
       "pcie, root, domain, nic, oversubscription, leaf, pod, rail, placement, latency, "
       "connection, "
       "switches"},
      {"node:8 gpu:8xA100 gpu:8xA100", "cluster:gpu:8xA100: \"gpu\" is given twice"},
      {"node:0 gpu:8xA100", "cluster:node:0: \"0\" is out of range; expected 1 to 1000000 nodes"},
      {"node:two gpu:8xA100", "cluster:node:two: \"two\" is not a number of nodes"},
      {"node:-2 gpu:8xA100",
       "cluster:node:-2: \"-2\" is out of range; expected 1 to 1000000 nodes"},
      {"node:99999999999999999999 gpu:8xA100",
       "cluster:node:99999999999999999999: \"99999999999999999999\" is out of range; expected 1 to "
       "1000000 nodes"},
      {"node: gpu:8xA100", "cluster:node:: \"node\" has no value; expected node:…"},
      {"node:1 gpu:A100", "cluster:gpu:A100: \"A100\" is not PER_NODExMODEL, such as \"8xA100\""},
      {"node:1 gpu:8xA1000 nvswitch:300GBps",
       "cluster:gpu:8xA1000: unknown GPU \"A1000\". " + gpus_instead_of("A1000")},
      {"node:1 gpu:8xA100 nvswitch:300GB",
       "cluster:nvswitch:300GB: \"300GB\" is a size; expected a rate such as \"300GBps\". Did you "
       "mean \"300GBps\"?"},
      {"node:1 gpu:8xA100 nvswitch:300", "cluster:nvswitch:300: \"300\" has no unit; " + rate},
      {"node:1 gpu:8xA100 nvswitch:-3GBps",
       "cluster:nvswitch:-3GBps: \"-3GBps\" is negative; " + rate},
      {"node:1 gpu:8xA100 nvswitch:300GBps pcie:12GBps",
       "cluster:pcie:12GBps: \"pcie\" conflicts with \"nvswitch\". Keep one of nvswitch, nvlink, "
       "xgmi, pcie"},
      {"node:1 gpu:8xA100 pcie:12GBps root:9",
       "cluster:root:9: \"9\" is out of range; expected 1 to 8 GPUs per root port"},
      {"node:1 gpu:8xA100 nvswitch:300GBps root:4",
       "cluster:root:4: states how many GPUs share a PCIe root port, but PCIe does not join them. "
       "Leave it out, or write pcie:RATE to join the GPUs by PCIe"},
      {"node:1 gpu:8xA100 pcie:12GBps:p2p root:4",
       "cluster:root:4: contradicts pcie:RATE:p2p, which puts all GPUs under one root port. Leave "
       "one of the two out"},
      {"node:1 gpu:8xA100 pcie:12GBps:p2",
       "cluster:pcie:12GBps:p2: \"p2\" does not say how peers reach each other; expected p2p, "
       "p2p-sockets or no-p2p. Did you mean \"p2p\"?"},
      {"node:1 gpu:4xV100 nvlink:2x25GBps:pair",
       "cluster:nvlink:2x25GBps:pair: a pair has 2 GPUs, not 4"},
      {"node:1 gpu:4xV100 nvlink:6x25GBps:cube",
       "cluster:nvlink:6x25GBps:cube: a cube mesh has 8 GPUs, not 4"},
      {"node:1 gpu:8xV100 nvlink:5x25GBps:cube",
       "cluster:nvlink:5x25GBps:cube: a cube mesh has 6 links per GPU (V100) or 4 (P100), not 5"},
      {"node:1 gpu:8xH100 nvlink:18x25GBps",
       "cluster:nvlink:18x25GBps: a cube mesh has 6 links per GPU (V100) or 4 (P100), not 18. "
       "Where "
       "NVSwitches join them: \"nvswitch:450GBps\""},
      {"node:1 gpu:4xV100 nvlink:4x25GBps:mesh",
       "cluster:nvlink:4x25GBps:mesh: 4 links per GPU cannot be shared evenly by the 3 other GPUs "
       "of a mesh"},
      {"node:1 gpu:4xV100 nvlink:6x25GBps:mash",
       "cluster:nvlink:6x25GBps:mash: \"mash\" is not a layout; expected pair, mesh or cube. Did "
       "you mean \"mesh\"?"},
      {"node:1 gpu:4xV100 nvlink:25GBps",
       "cluster:nvlink:25GBps: \"25GBps\" is not LINKSxBANDWIDTH, such as \"6x25GBps\""},
      {"node:2 gpu:8xA100 nvswitch:300GBps",
       "cluster: 2 nodes need a network and none is given. Add one, such as \"nic:1x100Gbps:ib\""},
      {"node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:wifi",
       "cluster:nic:8x200Gbps:wifi: \"wifi\" is not a network; expected ib, roce, tcp, "
       "tcp-vm, tcpx, efa or slingshot"},
      {"node:2 gpu:8xA100 nvswitch:300GBps nic:200Gbps",
       "cluster:nic:200Gbps: \"200Gbps\" is not PER_NODExBANDWIDTH, such as \"8x200Gbps\""},
      {"node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps oversubscription:0.5",
       "cluster:oversubscription:0.5: \"0.5\" is not a ratio from 1 (none) to 1000"},
      {"node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps latency:5",
       "cluster:latency:5: \"5\" has no unit; expected a time such as \"3.2us\" (ps, ns, us, ms, "
       "s)"},
      {"node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib connection:10Gbps",
       "cluster:connection:10Gbps: sets the rate of one TCP connection, which only tcp and tcp-vm "
       "have"},
      {"node:2 gpu:8xA100 nvswitch:300GBps nic:1x100Gbps:tcp connection:10",
       "cluster:connection:10: \"10\" has no unit; expected a rate such as \"100Gbps\" "
       "(bits) or \"25GBps\" (bytes)"},
      {"node:1 gpu:8xA100 nvswitch:300GBps connection:5Gbps",
       "cluster:connection:5Gbps: describes a network, but the cluster has none. Add one, such as "
       "\"nic:1x100Gbps:ib\""},
      {"node:1 gpu:8xA100 nvswitch:300GBps latency:5us",
       "cluster:latency:5us: describes a network, but the cluster has none. Add one, such as "
       "\"nic:1x100Gbps:ib\""},
      {"gpu:8xA100 nvswitch:300GBps", "cluster: missing the number of nodes. Add \"node:COUNT\""},
      {"node:1 nvlink:6x25GBps",
       "cluster: missing the GPUs. Add \"gpu:PER_NODExMODEL\", such as \"gpu:8xA100\""},
      {"node:1 gpu:8xA100",
       "cluster: missing how the GPUs of a node are joined. Add one of \"nvswitch:300GBps\", "
       "\"nvlink:6x25GBps\", \"pcie:12GBps\""},
      {"node:1000000 gpu:500xA100 nvswitch:300GBps nic:1x1Gbps",
       "cluster: 1000000 nodes of 500 GPUs are 500000000 ranks. At most 10000000 can be "
       "simulated"},
  };
  for (const BadCluster& c : cases) CHECK(request_complaint({c.input, {}, {}}) == c.message);
}

TEST_CASE("cluster names and sizes: each mistake gets one message") {
  CHECK(request_complaint({"dgx1w", {}, {}}) ==
        "command line: there is no cluster or file \"dgx1w\". Did you mean \"dgx1v\"?");
  CHECK(request_complaint({"absent.json", {}, {}}) == "absent.json: no such file");
  CHECK(request_complaint({"dgx1v@many", {}, {}}) ==
        "command line: \"dgx1v@many\" ends in \"@many\", which is not a number of nodes. Expected "
        "NAME@NODES or NAME:spec@NODES with 1 to 1000000 nodes");
  CHECK(request_complaint({"dgx1v@2", 4, {}}) ==
        "command line: \"dgx1v@2\" and --nodes 4 disagree. Keep one of them");
  CHECK(request_complaint({"dgx1v", 0, {}}) ==
        "command line:--nodes: 0 is out of range. Expected 1 to 1000000 nodes");
  CHECK(request_complaint({"dgx1v", {}, 9}) ==
        "command line:--gpus-per-node: 9 is out of range. dgx1v has 8 GPUs per node");
  const std::string one_a_node = "node:2 gpu:1xV100 pcie:12GBps nic:1x10Gbps:tcp";
  CHECK(request_complaint({one_a_node, {}, 2}) ==
        "command line:--gpus-per-node: 2 is out of range. " + one_a_node + " has 1 GPU per node");
  CHECK(request_complaint({"2xv100-nvlink@2", {}, {}}).find("2 nodes need a network") !=
        std::string::npos);
  CHECK(request_complaint({"", {}, {}}).find("there is no cluster or file \"\"") !=
        std::string::npos);
}

TEST_CASE("cluster file: each mistake gets one message that names the field") {
  const std::string pcie = R"({"gpus": 2, "gpu": "T4", "interconnect": {"kind": "pcie", )";
  const std::vector<BadCluster> cases = {
      {"[]", "lab.json: an array is not an object; expected { … }"},
      {R"({"name": "lab"})",
       "lab.json: missing \"schema\"; expected \"schema\": \"ddpsim.cluster/1\""},
      {R"({"schema": "ddpsim.workload/1"})",
       "lab.json:/schema: \"ddpsim.workload/1\" is not a cluster; expected \"ddpsim.cluster/1\". "
       "This file belongs elsewhere on the command line"},
      {R"({"schema": "ddpsim.cluster/2"})",
       "lab.json:/schema: \"ddpsim.cluster/2\" is not a cluster; expected \"ddpsim.cluster/1\""},
      {R"({"schema": "ddpsim.cluster/1", "nodez": 2})",
       "lab.json:/nodez: unknown key \"nodez\". Did you mean \"nodes\"?"},
      {R"({"schema": "ddpsim.cluster/1", "nodes": 1.5})",
       "lab.json:/nodes: 1.5 is not a whole number; expected an integer from 1 to 1000000"},
      {R"({"schema": "ddpsim.cluster/1", "nodes": 0})",
       "lab.json:/nodes: 0 is out of range; expected an integer from 1 to 1000000"},
      {R"({"schema": "ddpsim.cluster/1", "name": 3})",
       "lab.json:/name: 3 is not a string; expected text in quotes"},
      {R"({"schema": "ddpsim.cluster/1", "name": "lab"})", "lab.json: missing \"node\""},
      {R"({"schema": "ddpsim.cluster/1", "node": {"gpus": 1, "gpu": "T4"}})",
       "lab.json: missing \"name\""},
      {document_with(R"({"gpus": 2})"), "lab.json:/node: missing \"gpu\""},
      {document_with(R"({"gpu": "V100"})"), "lab.json:/node: missing \"gpus\""},
      {document_with(R"({"gpus": 2, "gpu": "V100"})"), "lab.json:/node: missing \"interconnect\""},
      {document_with(R"({"gpus": 2, "gpu": "V10"})"),
       "lab.json:/node/gpu: unknown GPU \"V10\". " + gpus_instead_of("V10")},
      {document_with(R"({"gpus": 2, "gpu": "V100", "cpu": "inel"})"),
       "lab.json:/node/cpu: \"inel\" is not known; expected one of: intel, amd, arm, power. Did "
       "you "
       "mean \"intel\"?"},
      {document_with(pcie + R"("per_gpu": 12}})"),
       "lab.json:/node/interconnect/per_gpu: 12 has no unit; expected a rate such as \"100Gbps\" "
       "or "
       "\"25GBps\""},
      {document_with(pcie + R"("per_gpu": "12GB"}})"),
       "lab.json:/node/interconnect/per_gpu: \"12GB\" is a size; expected a rate such as "
       "\"12GBps\". Did you mean \"12GBps\"?"},
      {document_with(pcie + R"("per_link": "12GBps"}})"),
       "lab.json:/node/interconnect/per_link: unknown key \"per_link\". Known keys here: kind, "
       "per_gpu, peer_to_peer, across_sockets, gpus_per_root"},
      {document_with(pcie + R"("per_gpu": "12GBps", "across_sockets": true}})"),
       "lab.json:/node/interconnect/across_sockets: applies only to GPUs that reach each other "
       "over PCIe. Add "
       "\"peer_to_peer\": true"},
      {document_with(pcie + R"("kind": "pcie"}})"),
       "lab.json:line 1, column 118: the key \"kind\" appears twice in one object. Keep one of "
       "them"},
      {document_with(R"({"gpus": 2, "gpu": "T4", "interconnect": {"kind": "none"}})"),
       "lab.json:/node/interconnect: 2 GPUs per node need a connection between them"},
      {document_with(R"({"gpus": 4, "gpu": "V100", "interconnect":
            {"kind": "nvlink", "links_per_gpu": 6, "per_link": "25GBps", "layout": "cube"}})"),
       "lab.json:/node/interconnect: a cube mesh has 8 GPUs, not 4"},
      {document_with(R"({"gpus": 1, "gpu": "T4"})", R"(, "nodes": 2)"),
       "lab.json: 2 nodes need a network and none is given. Add \"network\": {\"kind\": \"ib\", "
       "\"nics_per_node\": 1, \"per_nic\": \"100Gbps\"}"},
      {document_with(R"({"gpus": 1, "gpu": "T4"})", R"(, "network": {"kind": "ib"})"),
       "lab.json:/network: missing \"nics_per_node\""},
      {document_with(R"({"gpus": 1, "gpu": "T4"})",
                     R"(, "network": {"kind": "ib", "oversubscription": 0})"),
       "lab.json:/network/oversubscription: 0 is out of range; expected a number from 1 to 1000"},
      {document_with(R"({"gpus": 1, "gpu": "T4"})", R"(, "network": {"latency": "2m"})"),
       "lab.json:/network/latency: \"2m\" has an unknown unit \"m\"; expected a time such as "
       "\"3.2us\" (ps, ns, us, ms, s)"},
      {document_with(R"({"gpus": 1, "gpu": "T4"})",
                     R"(, "network": {"kind": "ib", "connection": "5Gbps"})"),
       "lab.json:/network/connection: sets the rate of one TCP connection, which only tcp and "
       "tcp-vm have"},
      {document_with(R"({"gpus": 1, "gpu": "T4"})", R"(, "nccl": {"search_channels": 99})"),
       "lab.json:/nccl/search_channels: 99 is out of range; expected an integer from 1 to 32"},
      {document_with(R"({"gpus": 1, "gpu": "T4"})", R"(, "sources": ["a", 1])"),
       "lab.json:/sources/1: 1 is not a string; expected text in quotes"},
      {document_with(R"({"gpus": 1, "gpu": "T4"})", R"(, "verified": "yes")"),
       "lab.json:/verified: \"yes\" is not true or false"},
  };
  for (const BadCluster& c : cases) CHECK(document_complaint(c.input) == c.message);
}
