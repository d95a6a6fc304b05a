// Complete messages for errors in files of background traffic, clusters and switches: place,
// expectation and hint.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "complaint.hpp"
#include "ddpsim/topologies/background_file.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "switch_list.hpp"

using namespace ddpsim;

namespace {

struct WrongFile {
  std::string text;
  std::string complaint;
};

}  // namespace

TEST_CASE("topology files: messages about background traffic") {
  const ClusterRequest cluster{.text = "node:4 gpu:2xV100 nvswitch:150GBps nic:1x100Gbps:ib"};
  const std::vector<WrongFile> cases = {
      {R"({"schema":"ddpsim.background/1","jobs":[{"nodes":[0,1],"all_reduce":"0B"}]})",
       "others.json:/jobs/0/all_reduce: is out of range; expected 1 B to 16 TiB"},
      {R"({"schema":"ddpsim.background/1","jobs":[{"nodes":[0,1],"all_reduce":"17TiB"}]})",
       "others.json:/jobs/0/all_reduce: is out of range; expected 1 B to 16 TiB"},
      {R"({"schema":"ddpsim.background/1","jobs":[{"nodes":[0,1],"all_reduce":"1MiB","first":"-1ms"}]})",
       "others.json:/jobs/0/first: \"-1ms\" is negative; expected a time such as \"3.2us\" (ps, "
       "ns, us, ms, s)"},
      {R"({"schema":"ddpsim.background/1","jobs":[{"nodes":[0,1],"all_reduce":"1MiB","first":"100001s"}]})",
       "others.json:/jobs/0/first: is out of range; expected 0 s to 100000 s after the start of "
       "the step"},
      {R"({"schema":"ddpsim.background/1","jobs":[{"nodes":[0,1],"all_reduce":"1MiB","every":"9us"}]})",
       "others.json:/jobs/0/every: is out of range; expected 10 us to 100000 s"},
      {R"({"schema":"ddpsim.background/1","jobs":[{"nodes":[0,1],"all_reduce":"1MiB","every":"100001s"}]})",
       "others.json:/jobs/0/every: is out of range; expected 10 us to 100000 s"},
      {R"({"schema":"ddpsim.background/1","jobs":[{"nodes":[1],"all_reduce":"1MiB"}]})",
       "others.json:/jobs/0/nodes: names fewer than two nodes; a job on one node sends nothing "
       "over the network"},
      {R"({"schema":"ddpsim.background/1","jobs":[{"nodes":[1,2,1],"all_reduce":"1MiB"}]})",
       "others.json:/jobs/0/nodes/2: node 1 is named twice"},
      {R"({"schema":"ddpsim.background/1","jobs":[{"nodes":[1,2]}]})",
       "others.json:/jobs/0: missing \"all_reduce\""},
      {R"({"schema":"ddpsim.background/1","transfers":[{"links":[],"size":"1MiB"}]})",
       "others.json:/transfers/0/links: names 0 links; expected 1 to 64"},
      {R"({"schema":"ddpsim.background/1","transfers":[{"links":["node0/nic0 > switch","node0/nic0 > switch"],"size":"1MiB"}]})",
       "others.json:/transfers/0/links/1: the link is named twice"},
      {R"({"schema":"ddpsim.background/1","transfers":[{"links":["node0/nic0 > switsh"],"size":"1MiB"}]})",
       "others.json:/transfers/0/links/0: there is no link \"node0/nic0 > switsh\". Did you mean "
       "\"node0/nic0 > switch\"?"},
      {R"({"schema":"ddpsim.background/1","transfers":[{"links":["moon"],"size":"1MiB"}]})",
       "others.json:/transfers/0/links/0: there is no link \"moon\". `ddpsim topo` names the links "
       "of a cluster"},
      {R"({"schema":"ddpsim.background/1","transfers":[{"links":["node0/nic0 > switch"]}]})",
       "others.json:/transfers/0: missing \"size\""},
      {R"({"schema":"ddpsim.background/1","transfers":[{"links":["node0/nic0 > switch"],"size":"0B"}]})",
       "others.json:/transfers/0/size: is out of range; expected 1 B to 16 TiB"},
      {R"({"jobs":[]})",
       "others.json: missing \"schema\"; expected \"schema\": \"ddpsim.background/1\""},
      {R"({"schema":"ddpsim.result/1"})",
       "others.json:/schema: \"ddpsim.result/1\" is not background traffic; expected "
       "\"ddpsim.background/1\""},
  };
  for (const WrongFile& c : cases)
    CHECK(complaint_of([&] { parse_background(c.text, "others.json", cluster); }) == c.complaint);
  // The limits themselves are accepted.
  for (const char* fields : {R"("all_reduce":"1B","first":"0s","every":"10us")",
                             R"("all_reduce":"16TiB","first":"100000s","every":"100000s")"}) {
    CAPTURE(fields);
    const std::string text =
        R"({"schema":"ddpsim.background/1","jobs":[{"nodes":[0,1],)" + std::string(fields) + "}]}";
    CHECK(complaint_of([&] { parse_background(text, "others.json", cluster); }) == "");
  }
}

TEST_CASE("topology files: messages about clusters") {
  const std::vector<WrongFile> cases =
      {
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpus": 1, "gpu": "T4"}, "nodes": 2, "node_types": []})",
           "lab.json:/node: conflicts with \"node_types\". Keep one of them"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node_types": []})",
           "lab.json:/node_types: is empty; expected at least one type of node"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node_types": [{"name": "a", "count": 1, "node": {"gpus": 1, "gpu": "T4"}}, {"name": "a", "count": 1, "node": {"gpus": 1, "gpu": "T4"}}], "network": {"kind": "ib", "nics_per_node": 1, "per_nic": "100Gbps"}})",
           "lab.json:/node_types/1: two types have the name \"a\""},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node_types": [{"name": "a", "count": 1, "node": {"gpus": 1, "gpu": "T4"}}, {"name": "b", "count": 1, "node": {"gpus": 2, "gpu": "V100", "interconnect": {"kind": "pcie", "per_gpu": "12GBps"}}}], "network": {"kind": "ib", "nics_per_node": 1, "per_nic": "100Gbps"}})",
           "lab.json: nodes of 1 and of 2 GPUs in one cluster. Ranks are counted node by node: "
           "give every type as many GPUs"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node_types": [{"name": "a", "count": 1, "node": {"gpus": 1, "gpu": "T4"}}, {"name": "b", "count": 1, "node": {"gpus": 1, "gpu": "MI300X"}}], "network": {"kind": "ib", "nics_per_node": 1, "per_nic": "100Gbps"}})",
           "lab.json: nodes of T4 and of MI300X in one cluster. NCCL and RCCL do not talk to each "
           "other: keep to one vendor"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node_types": [{"name": "a", "count": 1000000, "node": {"gpus": 1, "gpu": "T4"}}, {"name": "b", "count": 1, "node": {"gpus": 1, "gpu": "T4"}}]})",
           "lab.json:/node_types/1: more than 1000000 nodes"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpus": 1, "gpu": "T4"}, "network": {"latency": "1.5s"}})",
           "lab.json:/network/latency: is out of range; expected at most \"1s\", one way"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpus": 1, "gpu": "T4@2"}})",
           "lab.json:/node/gpu: unknown variant \"@2\" of T4. Nodes are counted by \"nodes\"; T4 "
           "is known in one variant: leave the word out"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpus": 1, "gpu": "T4", "cpu": "risc"}})",
           "lab.json:/node/cpu: \"risc\" is not known; expected one of: intel, amd, arm, power"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpus": 2, "gpu": "V100", "interconnect": {"kind": "nvlink", "links_per_gpu": 6, "per_link": "25GBps", "layout": "ring"}}})",
           "lab.json:/node/interconnect/layout: \"ring\" is not known; expected one of: pair, "
           "mesh, cube"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpus": 3, "gpu": "V100", "interconnect": {"kind": "nvlink", "links_per_gpu": 6, "per_link": "25GBps", "layout": "pair"}}})",
           "lab.json:/node/interconnect: a pair has 2 GPUs, not 3"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpu": "V100", "wiring": {"vertices": [{"name": "gpu0", "kind": "gpu"}, {"name": "gpu1", "kind": "gpu"}, {"name": "cpu0", "kind": "cpu"}], "links": []}}})",
           "lab.json: gpu0 and gpu1 are not connected. Join them over NVLink, or through PCIe "
           "switches and CPUs"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpu": "V100", "wiring": {"vertices": [{"name": "cpu0", "kind": "cpu"}], "links": []}}})",
           "lab.json:/node/wiring: no GPU among the vertices"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpu": "V100", "wiring": {"vertices": [{"name": "gpu0", "kind": "gpu"}, {"name": "gpu1", "kind": "gpu"}, {"name": "cpu0", "kind": "cpu"}], "links": [{"between": ["gpu0"], "kind": "pcie", "rate": "12GBps"}]}}})",
           "lab.json:/node/wiring/links/0/between: 1 end; expected two names"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpu": "V100", "wiring": {"vertices": [{"name": "gpu0", "kind": "gpu"}, {"name": "gpu1", "kind": "gpu"}, {"name": "cpu0", "kind": "cpu"}], "links": [{"between": ["gpu0", "gpu0"], "kind": "pcie", "rate": "12GBps"}]}}})",
           "lab.json:/node/wiring/links/0/between: a link from a vertex to itself"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpu": "V100", "wiring": {"vertices": [{"name": "gpu0", "kind": "gpu"}, {"name": "gpu1", "kind": "gpu"}, {"name": "cpu0", "kind": "cpu"}], "links": [{"between": ["gpu0", "gpu9"], "kind": "pcie", "rate": "12GBps"}]}}})",
           "lab.json:/node/wiring/links/0/between/1: there is no vertex \"gpu9\". Did you mean "
           "\"gpu0\"?"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpu": "V100", "wiring": {"vertices": [{"name": "gpu0", "kind": "gpu"}, {"name": "gpu1", "kind": "gpu"}, {"name": "cpu0", "kind": "cpu"}], "links": [{"between": ["gpu0", "cpu0"], "kind": "pcie", "rate": "12GBps"}, {"between": ["cpu0", "gpu0"], "kind": "pcie", "rate": "12GBps"}]}}})",
           "lab.json:/node/wiring/links/1: \"cpu0\" and \"gpu0\" are joined twice. Bundle them: "
           "\"links\": 2"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpu": "V100", "wiring": {"vertices": [{"name": "gpu0", "kind": "gpu"}, {"name": "gpu1", "kind": "gpu"}, {"name": "cpu0", "kind": "cpu"}], "links": [{"between": ["gpu0", "gpu1"], "kind": "xgmi", "per_link": "12GBps"}]}}})",
           "lab.json:/node/wiring/links/0/kind: V100 has no xGMI. xGMI joins AMD's GPUs; write "
           "nvlink, nvswitch or pcie"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpu": "V100", "wiring": {"vertices": [{"name": "gpu0", "kind": "gpu"}, {"name": "gpu1", "kind": "gpu"}, {"name": "cpu0", "kind": "cpu"}], "links": [{"between": ["gpu0", "gpu1"], "kind": "nvlink", "per_link": "12GBps", "links": 99}]}}})",
           "lab.json:/node/wiring/links/0/links: 99 is out of range; expected an integer from 1 to "
           "64"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpu": "V100", "wiring": {"vertices": [{"name": "gpu0", "kind": "gpu"}, {"name": "gpu1", "kind": "gpu"}, {"name": "cpu0", "kind": "cpu"}, {"name": "gpu0", "kind": "gpu"}], "links": []}}})",
           "lab.json:/node/wiring/vertices/3: two vertices have the name \"gpu0\""},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpu": "MI300X", "wiring": {"vertices": [{"name": "gpu0", "kind": "gpu"}, {"name": "gpu1", "kind": "gpu"}, {"name": "cpu0", "kind": "cpu"}, {"name": "s", "kind": "nvswitch"}], "links": []}}})",
           "lab.json:/node/wiring/vertices/3: MI300X has no NVSwitch. AMD's GPUs are joined by "
           "xgmi: \"xgmi:7x64GBps\" in a line, \"kind\": \"xgmi\" in a file"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpu": "V100", "wiring": {"vertices": [{"name": "gpu0", "kind": "gpu"}, {"name": "gpu1", "kind": "gpu"}, {"name": "cpu0", "kind": "cpu"}], "links": []}, "gpus": 2}})",
           "lab.json:/node/gpus: conflicts with \"wiring\". The wiring states this already: keep "
           "one of them"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpu": "V100", "wiring": {"vertices": [{"name": "gpu0", "kind": "gpu"}, {"name": "gpu1", "kind": "gpu"}, {"name": "cpu0", "kind": "cpu"}], "links": []}, "interconnect": {"kind": "pcie", "per_gpu": "12GBps"}}})",
           "lab.json:/node/interconnect: conflicts with \"wiring\". The wiring states this "
           "already: keep one of them"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpu": "V100", "wiring": {"vertices": [{"name": "gpu0", "kind": "moon"}], "links": []}}})",
           "lab.json:/node/wiring/vertices/0/kind: \"moon\" is not known; expected one of: gpu, "
           "nvswitch, pcie-switch, cpu, nic"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpu": "V100", "wiring": {"vertices": [{"name": "gpu 0", "kind": "gpu"}], "links": []}}})",
           "lab.json:/node/wiring/vertices/0/name: \"gpu 0\" is not a name. Letters, digits, '_', "
           "'-' and '.'"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpus": 2, "gpu": "V100", "interconnect": {"kind": "pcie", "per_gpu": "12GBps"}}, "calibration": {"constants": {}, "logs": []}})",
           "lab.json:/calibration/logs: is empty; a calibration rests on one log at least"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpus": 2, "gpu": "V100", "interconnect": {"kind": "pcie", "per_gpu": "12GBps"}}, "calibration": {"constants": {}, "logs": [{"source": "a", "nodes": 1, "gpus_per_node": 2, "smallest_bytes": 8, "largest_bytes": 1024}]}})",
           "lab.json:/calibration/constants: missing \"launch_us\""},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpus": 2, "gpu": "V100", "interconnect": {"kind": "pcie", "per_gpu": "12GBps"}}, "calibration": {"logs": [{"source": "a", "nodes": 1, "gpus_per_node": 2, "smallest_bytes": 1024, "largest_bytes": 8}]}})",
           "lab.json:/calibration/logs/0/largest_bytes: is less than \"smallest_bytes\""},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpus": 2, "gpu": "V100", "interconnect": {"kind": "pcie", "per_gpu": "12GBps"}}, "calibration": {"logs": [{"source": "a", "nodes": 1, "gpus_per_node": 2, "smallest_bytes": 8, "largest_bytes": 1024, "nccl": "two"}]}})",
           "lab.json:/calibration/logs/0/nccl: \"two\" is not a version such as \"2.21.5\""},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpus": 2, "gpu": "V100", "interconnect": {"kind": "pcie", "per_gpu": "12GBps"}}, "calibration": {"logs": [{"source": "a", "nodes": 1, "gpus_per_node": 2, "smallest_bytes": 8, "largest_bytes": 1024, "timed_by": "watch"}]}})",
           "lab.json:/calibration/logs/0/timed_by: \"watch\" is not known; expected one of: joined "
           "ranks of a training, one rank of a training"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpus": 2, "gpu": "V100", "interconnect": {"kind": "pcie", "per_gpu": "12GBps"}}, "calibration": {"logs": [{"source": "a", "nodes": 1, "gpus_per_node": 2, "smallest_bytes": 0, "largest_bytes": 8}]}})",
           "lab.json:/calibration/logs/0/smallest_bytes: 0 is out of range; expected an integer "
           "from 1 to 1125899906842624"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpus": 2, "gpu": "V100", "interconnect": {"kind": "pcie", "per_gpu": "12GBps"}}, "calibration": {"logs": [{"source": "a", "nodes": 1, "gpus_per_node": 2, "smallest_bytes": 8, "largest_bytes": 2251799813685248}]}})",
           "lab.json:/calibration/logs/0/largest_bytes: 2251799813685248 is out of range; expected "
           "an integer from 1 to 1125899906842624"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpus": 2, "gpu": "V100", "interconnect": {"kind": "pcie", "per_gpu": "12GBps"}}, "calibration": {"logs": [{"source": "a", "nodes": 1, "gpus_per_node": 2, "smallest_bytes": 8, "largest_bytes": 1024, "left_out_error_percent": 1000001}]}})",
           "lab.json:/calibration/logs/0/left_out_error_percent: 1000001 is out of range; expected "
           "a number from 0 to 1000000"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpus": 2, "gpu": "V100", "interconnect": {"kind": "pcie", "per_gpu": "12GBps"}}, "calibration": {"correction": [{"nodes": 1, "gpus_per_node": 2, "points": [[8, "ring", "LL", 1]]}]}})",
           "lab.json:/calibration/correction/0/points/0: has 4 values. Expected five: size in "
           "bytes, algorithm, protocol, two weights"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpus": 2, "gpu": "V100", "interconnect": {"kind": "pcie", "per_gpu": "12GBps"}}, "calibration": {"correction": [{"nodes": 1, "gpus_per_node": 2, "points": [[8, "rings", "LL", 1, 1]]}]}})",
           "lab.json:/calibration/correction/0/points/0/1: \"rings\" is not known; expected one "
           "of: ring, tree, collnetdirect, collnetchain, nvls, nvlstree. Did you mean \"ring\"?"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpus": 2, "gpu": "V100", "interconnect": {"kind": "pcie", "per_gpu": "12GBps"}}, "calibration": {"correction": [{"nodes": 1, "gpus_per_node": 2, "points": [[8, "ring", "LL64", 1, 1]]}]}})",
           "lab.json:/calibration/correction/0/points/0/2: \"LL64\" is not known; expected one of: "
           "LL, LL128, Simple"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpus": 2, "gpu": "V100", "interconnect": {"kind": "pcie", "per_gpu": "12GBps"}}, "calibration": {"correction": [{"nodes": 1, "gpus_per_node": 2, "points": [[8, "ring", "LL", 1, 1000001]]}]}})",
           "lab.json:/calibration/correction/0/points/0/4: 1000001 is out of range; expected a "
           "number from -1000000 to 1000000"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpus": 2, "gpu": "V100", "interconnect": {"kind": "pcie", "per_gpu": "12GBps"}}, "calibration": {"constants": {"launch_us": -1}}})",
           "lab.json:/calibration/constants/launch_us: -1 is out of range; expected a number from "
           "0 to 1000000"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpus": 2, "gpu": "V100", "interconnect": {"kind": "pcie", "per_gpu": "12GBps"}}, "calibration": {"constants": {"launch_us": 1, "start_us": [1, 2]}}})",
           "lab.json:/calibration/constants/start_us: has 2 values. Expected one each for LL, "
           "LL128, Simple"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpus": 2, "gpu": "V100", "interconnect": {"kind": "pcie", "per_gpu": "12GBps"}}, "gloo": {"constants": {"process_gbps": 0}}})",
           "lab.json:/gloo/constants/process_gbps: 0 is out of range; expected a number from 1e-06 "
           "to 10000"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpus": 2, "gpu": "V100", "interconnect": {"kind": "pcie", "per_gpu": "12GBps"}}, "gloo": {"constants": {}, "deviation": {"small": 0.1, "middle": 0.1, "large": 0.1}, "logs": []}})",
           "lab.json:/gloo/logs: is empty; a calibration rests on one log at least"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpus": 2, "gpu": "V100", "interconnect": {"kind": "pcie", "per_gpu": "12GBps"}}, "gloo": {"constants": {}, "deviation": {"small": -0.1, "middle": 0.1, "large": 0.1}, "logs": []}})",
           "lab.json:/gloo/logs: is empty; a calibration rests on one log at least"},
          {R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpus": 2, "gpu": "V100", "interconnect": {"kind": "pcie", "per_gpu": "12GBps"}}, "gloo": {"logs": [{"source": "a", "nodes": 1, "gpus_per_node": 2, "smallest_bytes": 8, "largest_bytes": 1024}]}})",
           "lab.json:/gloo: missing \"constants\""},
      };
  for (const WrongFile& c : cases)
    CHECK(complaint_of([&] { parse_cluster(c.text, "lab.json"); }) == c.complaint);
}

TEST_CASE("topology files: messages about lists of switches") {
  const std::vector<WrongFile> cases = {
      {"a\n",
       "switches.txt:line 1: 1 word; expected a node and its switch. Such as \"node001 leaf1\""},
      {"a b c\n",
       "switches.txt:line 1: 3 words; expected a node and its switch. Such as \"node001 leaf1\""},
      {"n1 leaf1\nn1 leaf2\n", "switches.txt:line 2: node \"n1\" is named twice. First on line 1"},
      {"n1 leaf1\nleaf1 s1\nleaf1 s2\n",
       "switches.txt:line 3: \"leaf1\" hangs on two switches. The tree has one above each"},
      {"leaf1 leaf1\n", "switches.txt:line 1: \"leaf1\" hangs on itself"},
      {"n1 leaf1\nleaf1 s1\nn2 s1\n",
       "switches.txt:line 3: \"n2\" hangs on \"s1\", as switches do, and no node hangs on it. "
       "Nodes connect to leaves; leave out the row of a switch without nodes"},
      {"SwitchName=s1 Node=n[1-2]\n",
       "switches.txt:line 1: \"Node=n[1-2]\" is not a field of topology.conf. Fields read here: "
       "SwitchName, Nodes, Switches (LinkSpeed and Level are ignored)"},
      {"Nodes=n[1-2]\n", "switches.txt:line 1: no SwitchName"},
      {"SwitchName=s1 Nodes=n[1-2\n",
       "switches.txt:line 1: \"n[1-2\" has a '[' that nothing closes"},
      {"SwitchName=s1 Nodes=n[]\n", "switches.txt:line 1: \"n\"[] names nothing"},
      {"SwitchName=s1 Nodes=n[2-1]\n",
       "switches.txt:line 1: \"2-1\" is not a range. Such as \"01-16\""},
      {"SwitchName=s1 Nodes=n[1-2]x\n",
       "switches.txt:line 1: \"n[1-2]x\" goes on after ']'. One bracket at the end of each name"},
      {"SwitchName=s1 Nodes=n[0-99999]\n",
       "switches.txt:line 1: \"0-99999\" names more than 65536"},
      {"SwitchName=s1 Nodes=,a\n", "switches.txt:line 1: \",a\" has an empty name"},
      {"n1 le@f\n",
       "switches.txt:line 1: \"le@f\" is not the name of a node or switch. Expected a line per "
       "node, such as \"node001 leaf1\""},
      {"",
       "switches.txt: no node is named. Expected a line per node, \"HOST SWITCH\", or Slurm's "
       "\"SwitchName=leaf1 Nodes=n[1-16]\""},
      {"# only a comment\n",
       "switches.txt: no node is named. Expected a line per node, \"HOST SWITCH\", or Slurm's "
       "\"SwitchName=leaf1 Nodes=n[1-16]\""},
      {"SwitchName=s1 Nodes=n1\nSwitchName=s2 Switches=s1\nSwitchName=s1 Switches=s2\n",
       "switches.txt: the switches above \"s1\" form a cycle"},
  };
  for (const WrongFile& c : cases)
    CHECK(complaint_of([&] { parse_switch_list(c.text, "switches.txt"); }) == c.complaint);
}

TEST_CASE("topology files: a list of switches is limited to one row per node and switch") {
  const auto rows = [](std::size_t count) {
    std::string text;
    for (std::size_t k = 0; k < count; ++k) text += "n" + std::to_string(k) + " leaf\n";
    return complaint_of([&] { parse_switch_list(text, "switches.txt"); });
  };
  CHECK(rows(65'536) == "");
  CHECK(rows(65'537) == "switches.txt:line 65537: more nodes than can be laid out (65536)");
  CHECK(rows(65'536 + 16'385) == "switches.txt:line 81921: more rows than can be laid out");
}
