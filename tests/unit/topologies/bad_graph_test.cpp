// Every mistake in a graph, a dump or a list, and its message. Nothing hangs.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "complaint.hpp"
#include "ddpsim/formats/files.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/topologies/topology.hpp"
#include "description.hpp"
#include "nccl_xml.hpp"
#include "nvidia_matrix.hpp"
#include "switch_list.hpp"

using namespace ddpsim;

namespace {

struct BadGraph {
  std::string input;
  std::string message;
};

std::string matrix_complaint(const std::string& text, const char* gpu = "A100") {
  return complaint_of([&] { parse_nvidia_matrix(text, "m.txt", *find_gpu(gpu)); });
}

std::string xml_complaint(const std::string& text) {
  return complaint_of([&] { parse_nccl_xml(text, "t.xml", {}); });
}

std::string list_complaint(const std::string& text) {
  return complaint_of([&] { parse_switch_list(text, "l.txt"); });
}

std::string file_complaint(const std::string& text) {
  return complaint_of([&] { build_fabric(resolve(describe_file(text, "lab.json"))); });
}

const std::string kXmlHead = R"(<system version="1"><cpu numaid="0" arch="x86_64">)";

std::string gpu_xml(const std::string& bus, const std::string& inner = "") {
  return "<pci busid=\"" + bus + R"(" class="0x030200" link_width="16"><gpu dev="0" sm="70">)" +
         inner + "</gpu></pci>";
}

std::string wired(const std::string& vertices, const std::string& links,
                  const std::string& more = "") {
  return R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpu": "V100", "wiring": )"
         R"({"vertices": [)" +
         vertices + R"(], "links": [)" + links + "]}}" + more + "}";
}

}  // namespace

TEST_CASE("nvidia-smi matrix: each mistake gets one message") {
  const std::string head = "\tGPU0\tGPU1\tCPU Affinity\n";
  const std::vector<BadGraph> cases = {
      {"", "m.txt: no header with GPU columns. Expected the output of `nvidia-smi topo -m`"},
      {"NVIDIA-SMI has failed",
       "m.txt: no header with GPU columns. Expected the output of `nvidia-smi topo -m`"},
      {head, "m.txt:line 2: 0 rows for 2 columns. The matrix was cut off"},
      {head + "GPU0\t X \tNV2\t0-15\n",
       "m.txt:line 3: 1 rows for 2 columns. The matrix was cut off"},
      {head + "GPU0\t X \n", "m.txt:line 2: 1 cells for 2 columns"},
      {head + "GPU1\tNV2\t X \n",
       "m.txt:line 2: row \"GPU1\" where the columns have \"GPU0\". Rows and columns stand in the "
       "same order"},
      {head + "GPU0\t X \tNW2\nGPU1\tNV2\t X \n",
       "m.txt:line 2: \"NW2\" between GPU0 and GPU1 is no link. Did you mean \"NV2\"?"},
      {head + "GPU0\t X \tlink\nGPU1\tNV2\t X \n",
       "m.txt:line 2: \"link\" between GPU0 and GPU1 is no link. Expected X, NV1 to NV64, PIX, "
       "PXB, "
       "PHB, NODE or SYS"},
      {head + "GPU0\t X \tNV0\nGPU1\tNV0\t X \n",
       "m.txt:line 2: \"NV0\" is not a number of NVLinks from 1 to 64"},
      {head + "GPU0\t X \tNV99\nGPU1\tNV99\t X \n",
       "m.txt:line 2: \"NV99\" is not a number of NVLinks from 1 to 64"},
      {head + "GPU0\tNV2\tNV2\nGPU1\tNV2\t X \n",
       "m.txt:line 2: GPU0 to GPU0 is \"NV2\". \"X\" stands where a device meets itself, and only "
       "there"},
      {head + "GPU0\t X \t X \nGPU1\tNV2\t X \n",
       "m.txt:line 2: GPU0 to GPU1 is \"X\". \"X\" stands where a device meets itself, and only "
       "there"},
      {head + "GPU0\t X \tNV2\nGPU1\tNV1\t X \n",
       "m.txt: GPU0 to GPU1 is not the same as back. Every link works in both directions"},
      {head + "GPU0\t X \tNV2\t0-15\t0\tN/A\t7\nGPU1\tNV2\t X \n",
       "m.txt:line 2: \"7\" behind the 2 cells of GPU0. Expected CPUs and NUMA nodes there, such "
       "as "
       "\"0-31\", and no further column"},
      {head + "GPU0\t X \tNV2\tPIX\nGPU1\tNV2\t X \n",
       "m.txt:line 2: \"PIX\" behind the 2 cells of GPU0. Expected CPUs and NUMA nodes there, such "
       "as "
       "\"0-31\", and no further column"},
      {"\tGPU0\tNIC0\tNIC1\nGPU0\tX\tPIX\tSYS\nNIC0\tPIX\n\nNIC1\tSYS\tX\n",
       "m.txt:line 3: 1 cells for 3 columns"},
      {head + "GPU0\t X \tNV18\nGPU1\tNV18\t X \n",
       "m.txt: 18 links between two GPUs are more than the 12 that A100 has. Name the right GPU "
       "with "
       "\"gpu:MODEL\""},
      {"\tGPU0\tGPU0\n", "m.txt:line 1: \"GPU0\" has two columns"},
      {"\tGPU0\tGPU1\tGPU2\nGPU0\tX\tPIX\tSYS\nGPU1\tPIX\tX\tPIX\nGPU2\tSYS\tPIX\tX\n",
       "m.txt: GPU0 and GPU2 cannot be that far apart: what is near both of them joins them. The "
       "matrix contradicts itself; take it again"},
      {"\tGPU0\tGPU1\tGPU2\nGPU0\tX\tNV12\tNV4\nGPU1\tNV12\tX\tNV8\nGPU2\tNV4\tNV8\tX\n",
       "m.txt: up to 20 NVLinks in one row are more than the 12 that A100 has. Behind an NVSwitch "
       "every "
       "pair shows the same number; or name the right GPU with \"gpu:MODEL\""},
  };
  for (const BadGraph& c : cases) CHECK(matrix_complaint(c.input) == c.message);
}

TEST_CASE("NCCL topology XML: each mistake gets one message") {
  const std::vector<BadGraph> cases = {
      {"<system version=\"1\"><cpu>",
       "t.xml:line 1: not well-formed XML: Start-end tags mismatch. Was the file cut off?"},
      {kXmlHead + "\n<pci busid=\"0000:1",
       "t.xml:line 2: not well-formed XML: Error parsing element attribute. Was the file cut off?"},
      {"<!-- nothing -->",
       "t.xml:line 1: not well-formed XML: No document element found. Was the file cut off?"},
      {"<html><body/></html>",
       "t.xml:line 1: <html> is not NCCL's topology; expected <system>. Write one with "
       "NCCL_TOPO_DUMP_FILE=topo.xml"},
      {"<graphs version=\"1\"/>",
       "t.xml:line 1: <graphs> is not NCCL's topology; expected <system>. That is "
       "NCCL_GRAPH_DUMP_FILE; take NCCL_TOPO_DUMP_FILE"},
      {"<!DOCTYPE lolz [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;&a;\">]><system>&b;</system>",
       "t.xml:line 1: a document type is declared. NCCL's topology files have none"},
      {"<system/>",
       "t.xml: no GPU in <system>. A file for NCCL_TOPO_FILE may name none. Give what NCCL writes "
       "on a node with GPUs: "
       "NCCL_TOPO_DUMP_FILE=topo.xml"},
      {kXmlHead + R"(<pci class="0x030200"><gpu dev="0"/></pci></cpu></system>)",
       "t.xml: the GPU model is not stated. Add it after the file name: \"t.xml gpu:A100\""},
      {kXmlHead + R"(<pci class="0x030200"/><pci class="0x030200"/></cpu></system>)",
       "t.xml: this is a file for NCCL_TOPO_FILE: it names no GPU model, and NCCL adds NVLinks at "
       "run time. Add both after the file name, such as \"t.xml gpu:A100 nvswitch:300GBps\", or "
       "\"t.xml gpu:T4 pcie:15.75GBps\" for GPUs without NVLink"},
      {kXmlHead + R"(<pci class="0x030200" vendor="0x10de" device="0x20b0"><gpu dev="0"/></pci>)"
                  R"(<pci class="0x030200" vendor="0x10de" device="0x2330"><gpu dev="1"/></pci>)"
                  "</cpu></system>",
       "t.xml:line 1: GPUs of one node differ: A100-40GB and H100-SXM. Use the file of a node with "
       "identical GPUs"},
      {kXmlHead + R"(<pci class="0x030200"><gpu dev="0" sm="86"/></pci></cpu></system>)",
       "t.xml: several GPU models have sm=\"86\". Add it after the file name: \"t.xml gpu:A100\""},
      {kXmlHead + R"(<pci class="0x030200"><gpu dev="0" sm="seventy"/></pci></cpu></system>)",
       "t.xml:line 1: sm=\"seventy\" is not a number from 0 to 1000"},
      {kXmlHead +
           R"(<pci class="0x030200" link_width="nan"><gpu dev="0" sm="70"/></pci></cpu></system>)",
       "t.xml:line 1: link_width=\"nan\" is not a number from 0 to 32"},
      {kXmlHead +
           R"(<pci class="0x030200" link_width="-4"><gpu dev="0" sm="70"/></pci></cpu></system>)",
       "t.xml:line 1: link_width=\"-4\" is not a number from 0 to 32"},
      {kXmlHead + gpu_xml("0000:1", R"(<nvlink target="0000:2" count="65"/>)") + "</cpu></system>",
       "t.xml:line 1: count=\"65\" is not a number from 0 to 64"},
      {kXmlHead + gpu_xml("0000:1") + gpu_xml("0000:1") + "</cpu></system>",
       "t.xml:line 1: two devices have the bus id \"0000:1\""},
      {R"(<system><cpu host_hash="0x1"/><cpu host_hash="0x2"><pci class="0x030200"><gpu sm="70"/>)"
       "</pci></cpu></system>",
       "t.xml:line 1: CPUs of several hosts in one file. Take the file of one node, and say how "
       "many "
       "there are: \"FILE node:8 nic:…\""},
      {kXmlHead + R"(<pci class="0x030200"><gpu sm="70"/></pci><nic><net speed="1e9"/></nic></cpu>)"
                  "</system>",
       "t.xml:line 1: speed=\"1e9\" is not a number from 0 to 1000000000000"},
  };
  for (const BadGraph& c : cases) CHECK(xml_complaint(c.input) == c.message);

  std::string deep = kXmlHead;
  for (int i = 0; i < 100'000; ++i) deep += "<pci>";
  for (int i = 0; i < 100'000; ++i) deep += "</pci>";
  CHECK(xml_complaint(deep + "</cpu></system>") ==
        "t.xml:line 1: elements are nested more than 32 deep");
  const auto nested = [](int depth) {  // in <system><cpu>
    std::string text = kXmlHead;
    for (int i = 0; i < depth; ++i) text += "<pci>";
    for (int i = 0; i < depth; ++i) text += "</pci>";
    return xml_complaint(text + "</cpu></system>");
  };
  CHECK(nested(31) != nested(32));
  CHECK(nested(32) == "t.xml:line 1: elements are nested more than 32 deep");
  std::string wide = kXmlHead;
  for (int i = 0; i < 2'000; ++i) wide += R"(<pci class="0x030200"><gpu sm="70"/></pci>)";
  CHECK(xml_complaint(wide + "</cpu></system>") == "t.xml:line 1: more than 1024 devices");
}

TEST_CASE("switch list: each mistake gets one message") {
  const std::vector<BadGraph> cases = {
      {"",
       "l.txt: no node is named. Expected a line per node, \"HOST SWITCH\", or Slurm's "
       "\"SwitchName=leaf1 Nodes=n[1-16]\""},
      {"# only words",
       "l.txt: no node is named. Expected a line per node, \"HOST SWITCH\", or "
       "Slurm's \"SwitchName=leaf1 Nodes=n[1-16]\""},
      {"n1 leaf1 spine",
       "l.txt:line 1: 3 words; expected a node and its switch. Such as \"node001 leaf1\""},
      {"n1 \"leaf1\"",
       "l.txt:line 1: \"\"leaf1\"\" is not the name of a node or switch. Expected a line per node, "
       "such "
       "as \"node001 leaf1\""},
      {"n1 leaf1\nn1 leaf2", "l.txt:line 2: node \"n1\" is named twice. First on line 1"},
      {"Switch=leaf1 Nodes=n1",
       "l.txt:line 1: \"Switch=leaf1\" is not a field of topology.conf. Fields read here: "
       "SwitchName, Nodes, Switches (LinkSpeed and Level are ignored)"},
      {"Nodes=n1", "l.txt:line 1: no SwitchName"},
      {"SwitchName=a Nodes=n[1-3", "l.txt:line 1: \"n[1-3\" has a '[' that nothing closes"},
      {"SwitchName=a Nodes=n[3-1]", "l.txt:line 1: \"3-1\" is not a range. Such as \"01-16\""},
      {"SwitchName=a Nodes=n[]", "l.txt:line 1: \"n\"[] names nothing"},
      {"SwitchName=a Nodes=n[1-2]x",
       "l.txt:line 1: \"n[1-2]x\" goes on after ']'. One bracket at the end of each name"},
      {"SwitchName=a Nodes=n[1-999999999]", "l.txt:line 1: \"1-999999999\" names more than 65536"},
      {"SwitchName=a Nodes=n1\nSwitchName=b Switches=b", "l.txt:line 2: \"b\" hangs on itself"},
      {"SwitchName=a Nodes=n1\nSwitchName=b Switches=a\nSwitchName=c Switches=a",
       "l.txt:line 3: \"a\" hangs on two switches. The tree has one above each"},
      {"n1 leaf1\nleaf1 spine\nleaf2 spine",
       "l.txt:line 3: \"leaf2\" hangs on \"spine\", as switches do, and no node hangs on it. Nodes "
       "connect to leaves; leave out the row of a switch without nodes"},
      {"n1 leaf1\nleaf1 spine\nleaf1 core\nn2 core\n",
       "l.txt:line 3: \"leaf1\" hangs on two switches. The tree has one above each"},
      {"SwitchName=a Nodes=n1 Switches=b\nSwitchName=b Switches=a",
       "l.txt: the switches above \"a\" form a cycle"},
      {"SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\nSwitchName=s Switches=a",
       "l.txt: \"s\" and \"b\" are not connected. Name a switch above both: \"SwitchName=spine "
       "Switches=…\""},
  };
  for (const BadGraph& c : cases) CHECK(list_complaint(c.input) == c.message);
}

TEST_CASE("wiring in a cluster file: each mistake gets one message") {
  const std::string two = R"({"name": "gpu0", "kind": "gpu"}, {"name": "gpu1", "kind": "gpu"})";
  const std::string link =
      R"({"between": ["gpu0", "gpu1"], "kind": "nvlink", "per_link": "25GBps"})";
  const std::vector<BadGraph> cases = {
      {wired("", ""), "lab.json:/node/wiring: no GPU among the vertices"},
      {wired(two, ""),
       "lab.json: gpu0 and gpu1 are not connected. Join them over NVLink, or through "
       "PCIe switches and CPUs"},
      {wired(two + R"(, {"name": "gpu0", "kind": "nic"})", link),
       "lab.json:/node/wiring/vertices/2: two vertices have the name \"gpu0\""},
      {wired(R"({"name": "gpu0", "kind": "gpus"})", ""),
       "lab.json:/node/wiring/vertices/0/kind: \"gpus\" is not known; expected one of: gpu, "
       "nvswitch, "
       "pcie-switch, cpu, nic. Did you mean \"gpu\"?"},
      {wired(R"({"name": "gpu 0", "kind": "gpu"})", ""),
       "lab.json:/node/wiring/vertices/0/name: \"gpu 0\" is not a name. Letters, digits, '_', '-' "
       "and "
       "'.'"},
      {wired(R"({"name": "gpu0", "kind": "gpu", "rate": "1Gbps"})", ""),
       "lab.json:/node/wiring/vertices/0/rate: only a NIC has a rate of its own"},
      {wired(two, link + ", " + link),
       "lab.json:/node/wiring/links/1: \"gpu0\" and \"gpu1\" are joined twice. Bundle them: "
       "\"links\": 2"},
      {wired(two, R"({"between": ["gpu0", "gpu0"], "kind": "nvlink", "per_link": "25GBps"})"),
       "lab.json:/node/wiring/links/0/between: a link from a vertex to itself"},
      {wired(two, R"({"between": ["gpu0", "gpu2"], "kind": "nvlink", "per_link": "25GBps"})"),
       "lab.json:/node/wiring/links/0/between/1: there is no vertex \"gpu2\". Did you mean "
       "\"gpu0\"?"},
      {wired(two, R"({"between": ["gpu0"], "kind": "nvlink", "per_link": "25GBps"})"),
       "lab.json:/node/wiring/links/0/between: 1 end; expected two names"},
      {wired(two, R"({"between": ["gpu0", "gpu1"], "kind": "nvlink", "per_link": "0GBps"})"),
       "lab.json:/node/wiring/links/0/per_link: \"0GBps\" is too slow; a rate must be at least "
       "1 byte per second"},
      {wired(two, R"({"between": ["gpu0", "gpu1"], "kind": "pcie", "rate": "nanGBps"})"),
       "lab.json:/node/wiring/links/0/rate: \"nanGBps\" is not a number with a unit; expected a "
       "rate "
       "such as \"100Gbps\" (bits) or \"25GBps\" (bytes)"},
      {wired(two, R"({"between": ["gpu0", "gpu1"], "kind": "nvlnk", "per_link": "25GBps"})"),
       "lab.json:/node/wiring/links/0/kind: \"nvlnk\" is not known; expected one of: nvlink, xgmi, "
       "pcie, "
       "socket. Did you mean \"nvlink\"?"},
      {wired(two, link,
             R"(, "nodes": 2, "network": {"kind": "ib", "nics_per_node": 1, )"
             R"("per_nic": "100Gbps"})"),
       "lab.json: a node has no NIC. Nodes reach each other through NICs"},
      {wired(two, link, R"(, "degraded": [{"link": "node0/gpu0 > node1/gpu0", "rate": "1GBps"}])"),
       "lab:/degraded: there is no link \"node0/gpu0 > node1/gpu0\". `ddpsim topo` names them; the "
       "first is \"node0/gpu0 > node0/gpu1\""},
      {wired(two, link, R"(, "degraded": [{"link": "node0/gpu0 > node0/gpu1", "rate": "0GBps"}])"),
       "lab.json:/degraded/0/rate: \"0GBps\" is too slow; a rate must be at least 1 byte per "
       "second"},
      {wired(two, link, R"(, "switches": {"kind": "torus"})"),
       "lab.json:/switches/kind: \"torus\" is not known; expected one of: one-switch, leaf-spine, "
       "rail"},
      {wired(two, link, R"(, "switches": {"kind": "rail"})"),
       "lab.json:/switches: missing \"nodes_per_leaf\""},
      {wired(two, link, R"(, "node_types": [])"),
       "lab.json:/node: conflicts with \"node_types\". Keep one of them"},
      {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node_types": []})",
       "lab.json:/node_types: is empty; expected at least one type of node"},
      {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node_types": [
          {"name": "a", "count": 1, "node": {"gpus": 1, "gpu": "T4"}},
          {"name": "a", "count": 1, "node": {"gpus": 1, "gpu": "T4"}}]})",
       "lab.json:/node_types/1: two types have the name \"a\""},
      {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node_types": [
          {"name": "a", "count": 1, "node": {"gpus": 1, "gpu": "T4"}},
          {"name": "b", "count": 1, "node": {"gpus": 2, "gpu": "T4", "interconnect":
            {"kind": "pcie", "per_gpu": "12GBps"}}}]})",
       "lab.json: nodes of 1 and of 2 GPUs in one cluster. Ranks are counted node by node: give "
       "every "
       "type as many GPUs"},
      {R"({"schema": "ddpsim.cluster/1", "name": "lab", "prices": [{"per": "node"}]})",
       "lab.json:/prices/0: missing \"usd\""},
  };
  for (const BadGraph& c : cases) CHECK(file_complaint(c.input) == c.message);
}

TEST_CASE("words after a file: words that do not fit the file are reported") {
  const auto path = std::filesystem::temp_directory_path() /
                    ("ddpsim-matrix-" + std::to_string(::getpid()) + ".txt");
  write_file(path, "\tGPU0\tGPU1\tNIC0\nGPU0\tX\tNV2\tPIX\nGPU1\tNV2\tX\tPIX\nNIC0\tPIX\tPIX\tX\n");
  const std::string file = path.string();
  const auto said = [&](const std::string& words) {
    std::string message = complaint_of([&] { load_topology({file + words, {}, {}}); });
    for (std::size_t at; (at = message.find(file)) != std::string::npos;) {
      message.replace(at, file.size(), "FILE");
    }
    return message;
  };
  const std::vector<BadGraph> cases = {
      {"",
       "FILE: nvidia-smi's matrix does not name the GPU model. Add it after the file name: \"FILE "
       "gpu:A100\""},
      {" gpu:4xV100",
       "cluster:gpu:4xV100: FILE has 2 GPUs per node. To take part of them: "
       "--gpus-per-node"},
      {" gpu:V100 node:2",
       "FILE: 2 nodes need a network and none is given. Add one, such as \"nic:1x100Gbps:ib\""},
      {" gpu:V100 nic:4x100Gbps",
       "cluster:nic:4x100Gbps: 4 NICs where the file has 1. Leave the number out: \"nic:100Gbps\""},
      {" gpu:V100 latency:2us",
       "cluster:latency:2us: describes a network, but the cluster has none. Add one, such as "
       "\"nic:1x100Gbps:ib\""},
      {" gpu:V100 nvlink:6x25GBps",
       "cluster:nvlink:6x25GBps: FILE shows how its GPUs are joined. Leave the word out"},
      {" gpu:V100 nic:100Gbps switches:absent.txt", "absent.txt: no such file"},
  };
  for (const BadGraph& c : cases) CHECK(said(c.input) == c.message);
  std::filesystem::remove(path);
  CHECK(complaint_of([] {
          load_topology({"dgx1v gpu:A100", {}, {}});
        }) == "cluster:gpu:A100: dgx1v has V100. Leave the word out");
}
