#include "ddpsim/topologies/cluster_source.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "ddpsim/formats/files.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/topologies/kind_words.hpp"
#include "description.hpp"
#include "mentions.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

TEST_CASE("cluster: the bundled pair of V100 has 50 GB/s per direction") {
  const Cluster cluster = load_cluster({"2xv100-nvlink", {}, {}});
  CHECK(cluster.name == "2xv100-nvlink");
  CHECK(cluster.ranks() == 2);
  CHECK(cluster.gpu.name == "V100");
  CHECK(cluster.gpu.sms == 80);
  CHECK(cluster.intra.per_gpu.gigabytes_per_second() == doctest::Approx(50));
  CHECK(cluster.cpu == CpuVendor::intel);
  CHECK_FALSE(cluster.sources.empty());
}

TEST_CASE("cluster: every bundled cluster loads under its own name and has a summary") {
  const auto bundled = bundled_clusters();
  CHECK(bundled.size() >= 3);
  for (const BundledCluster& entry : bundled) {
    CHECK(load_cluster({entry.name, {}, {}}).name == entry.name);
    CHECK_FALSE(entry.summary.empty());
    CHECK_FALSE(load_cluster({entry.name, {}, {}}).sources.empty());
  }
}

TEST_CASE("cluster: NAME@NODES and --nodes mean the same") {
  const Cluster suffixed = load_cluster({"dgx1v@16", {}, {}});
  const Cluster resized = load_cluster({"dgx1v", 16, {}});
  CHECK(suffixed.ranks() == 128);
  CHECK(resized.ranks() == 128);
  const Cluster specified = load_cluster({"p4d:spec@2", {}, {}});
  CHECK(specified.name == "p4d:spec");
  CHECK(specified.ranks() == 16);
  CHECK(specified.calibration == nullptr);
  CHECK(load_cluster({"p4d:spec node:2 nic:8x200Gbps:efa", {}, {}}).network.nics_per_node == 8);
  CHECK(is_cluster("p4d:spec@2"));
  CHECK_FALSE(is_cluster("p4e:spec"));
  CHECK_THROWS_AS(load_cluster({"p4d:spec:spec@2", {}, {}}), InputError);
  CHECK(load_cluster({"dgx1v@16", 16, 4}).ranks() == 64);
}

TEST_CASE("cluster: a process group on some nodes is a cluster of that size") {
  const auto loaded = [](const char* text, std::vector<GroupSize> groups) {
    return load_cluster(
        {.text = text, .nodes = {}, .gpus_per_node = {}, .groups = std::move(groups)});
  };
  const Cluster p4d = loaded("p4d@8", {{1}, {4}, {8}, {16}});
  REQUIRE(p4d.groups.size() == 2);  // at most the existing nodes
  for (const auto& group : p4d.groups) {
    const Cluster alone = load_cluster_at("p4d", group->nodes, 8);
    CHECK(group->ring.channels == alone.ring.channels);
    CHECK(group->ring.intra == alone.ring.intra);
    CHECK(group->tree.inter == alone.tree.inter);
    CHECK((group->calibration == nullptr) == (alone.calibration == nullptr));
    CHECK(group->groups.empty());
  }
  CHECK(p4d.groups[0]->nodes == 1);
  CHECK(p4d.groups[1]->nodes == 4);
  CHECK(loaded("p4d@8", {}).groups.empty());
}

TEST_CASE("cluster: a log confirms only the size at which it was taken") {
  CHECK(load_cluster({"dgx1v", {}, {}}).verified);
  CHECK(load_cluster({"dgx1v@1", {}, 8}).verified);
  CHECK_FALSE(load_cluster({"dgx1v@2", {}, {}}).verified);
  CHECK_FALSE(load_cluster({"dgx1v", {}, 4}).verified);
}

TEST_CASE("cluster: the one-line form takes its words in any order") {
  const Cluster cluster = load_cluster(
      {"latency:2us nic:8x200Gbps:roce nvswitch:300GBps  oversubscription:1.5 gpu:8xA100 node:8",
       {},
       {}});
  CHECK(cluster.nodes == 8);
  CHECK(cluster.gpus_per_node == 8);
  CHECK(cluster.gpu.name == "A100");
  CHECK(cluster.intra.kind == IntraKind::nvswitch);
  CHECK(cluster.intra.links_per_gpu == 12);
  CHECK(cluster.network.kind == NetworkKind::roce);
  CHECK(cluster.network.nics_per_node == 8);
  CHECK(cluster.network.per_nic.gigabytes_per_second() == doctest::Approx(25));
  CHECK(cluster.network.oversubscription == 1.5);
  CHECK(cluster.network.latency == Duration::microseconds(2));
  CHECK(cluster.name ==
        "node:8 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:roce oversubscription:1.5 latency:2us");
}

TEST_CASE("cluster: TCP through a host's NIC, an emulated NIC, or GPUDirect") {
  const std::pair<std::string, Sockets> words[] = {
      {"tcp", Sockets::host}, {"tcp-vm", Sockets::virtual_nic}, {"tcpx", Sockets::gpudirect}};
  for (const auto& [word, sockets] : words) {
    const std::string line = "node:2 gpu:1xV100 nic:1x25Gbps:" + word;
    const Network network = parse_cluster_line(line).network;
    CHECK(network.kind == NetworkKind::tcp);
    CHECK(network.sockets == sockets);
    CHECK(kind_word(network) == word);
    const std::string file = calibrated_cluster_file(line, {});
    CHECK(file.find("\"kind\": \"" + word + "\"") != file.npos);
  }
  CHECK(load_cluster({"a3-mega", 2, {}}).network.sockets == Sockets::gpudirect);
}

TEST_CASE("cluster: GPUDirect RDMA is stated, or assumed from the GPU") {
  const auto network = [](const std::string& gpu, const std::string& nic) {
    const std::string line = "node:2 gpu:1x" + gpu + " nic:1x200Gbps" + nic;
    const Cluster cluster = parse_cluster_line(line);
    CHECK(assumed_of_gpudirect(cluster).empty() == !cluster.network.gpudirect_assumed);
    const auto file =
        calibrated_cluster_file(line, {.constants = constants_of(cluster),
                                       .shapes = {{2, 1, Bytes(8), Bytes(1 << 30), "a.txt"}}});
    const Cluster again = parse_cluster(file, "again.json");
    CHECK(again.network.gpudirect == cluster.network.gpudirect);
    CHECK(again.network.gpudirect_assumed == cluster.network.gpudirect_assumed);
    return cluster.network;
  };
  for (const char* kind : {"", ":ib", ":roce"}) {
    CAPTURE(kind);
    CHECK(network("H100", kind).gpudirect_assumed);
    CHECK(network("H100", kind).gpudirect);
    CHECK_FALSE(network("RTX4090", kind).gpudirect);  // GeForce cards have no GPUDirect
    CHECK(network("RTX4090", kind + std::string(":gdr")).gpudirect);
    CHECK_FALSE(network("H100", kind + std::string(":no-gdr")).gpudirect);
    CHECK_FALSE(network("H100", kind + std::string(":gdr")).gpudirect_assumed);
  }
  // For other GPUs, the kind of network decides.
  CHECK_FALSE(network("V100", ":efa").gpudirect_assumed);
  CHECK_FALSE(network("V100", ":tcp").gpudirect_assumed);
  // As a word after a file, and in the file.
  CHECK_FALSE(load_cluster({"dgx2 nic:8x100Gbps:ib:no-gdr", 2, {}}).network.gpudirect);
  CHECK_FALSE(load_cluster({"p3dn", 2, 1}).network.gpudirect);
  // With many GPUs per node it is always assumed.
  CHECK(assumed_of_gpudirect(parse_cluster_line("node:2 gpu:8xH100 nvswitch:450GBps nic:8x400Gbps"))
            .empty());
  CHECK_THROWS_AS(parse_cluster_line("node:2 gpu:1xV100 nic:1x25Gbps:tcp:gdr"), InputError);
}

TEST_CASE("cluster: a note appears once if a plugin joins EFA adapters") {
  const auto said = [](const std::string& text) {
    std::size_t count = 0;
    for (const std::string& source : load_cluster({text, {}, {}}).sources)
      if (source == "aws-ofi-nccl presents the 4 adapters next to each GPU as one device") ++count;
    return count;
  };
  const std::string h100 = "node:2 gpu:8xH100 nvswitch:450GBps ";
  CHECK(said(h100 + "nic:32x100Gbps:efa") == 1);
  CHECK(said(h100 + "nic:8x100Gbps:efa") == 0);
  CHECK(said(h100 + "nic:32x100Gbps:ib") == 0);
}

TEST_CASE("cluster: the rate of one TCP connection may be stated") {
  const std::string line = "node:2 gpu:1xV100 nic:1x100Gbps:tcp connection:12Gbps";
  const Cluster cluster = parse_cluster_line(line);
  REQUIRE(cluster.network.connection);
  CHECK(cluster.network.connection->gigabytes_per_second() == doctest::Approx(1.5));
  const std::string file = calibrated_cluster_file(line, {});
  CHECK(file.find("\"connection\": \"1.5GBps\"") != file.npos);
  const std::string by_hand = R"({"schema": "ddpsim.cluster/1", "name": "lab", "nodes": 2,
      "node": {"gpus": 1, "gpu": "V100"},
      "network": {"kind": "tcp", "nics_per_node": 1, "per_nic": "100Gbps", "connection": "12Gbps"}})";
  CHECK(parse_cluster(by_hand, "lab.json").network.connection == cluster.network.connection);
  CHECK_FALSE(load_cluster({"p3.16xlarge node:2 nic:1x25Gbps:tcp", {}, {}}).network.connection);
  // It belongs to the file's NICs, not to NICs that a word adds instead.
  CHECK(describe_source(by_hand, "lab.json", "").network.connection);
  CHECK_FALSE(describe_source(by_hand, "lab.json", "nic:1x25Gbps:tcp").network.connection);
  CHECK(load_cluster({"p3.16xlarge connection:5Gbps", 2, {}}).network.connection);
}

TEST_CASE("cluster: peer access over PCIe is stated, or assumed from the GPU") {
  const auto peers = [](const std::string& gpu, const std::string& word) {
    const Cluster cluster = parse_cluster_line("node:1 gpu:4x" + gpu + " pcie:31.5GBps" + word);
    CHECK(cluster.intra.peers_assumed == word.empty());
    CHECK(assumed_of_peers(cluster).empty() == !word.empty());
    const auto again =
        calibrated_cluster_file("node:1 gpu:4x" + gpu + " pcie:31.5GBps" + word,
                                {.constants = constants_of(cluster),
                                 .shapes = {{1, 4, Bytes(8), Bytes(1 << 30), "a.txt"}}});
    CHECK(parse_cluster(again, "again.json").intra.peers == cluster.intra.peers);
    return cluster.intra.peers;
  };
  for (const std::string gpu : {"RTX2080Ti", "TITANRTX", "RTX3090", "RTX4090", "RTX5090"})
    CHECK(peers(gpu, "") == PeerAccess::host);
  for (const std::string gpu : {"A100", "L40S", "A6000", "T4", "MI300X"})
    CHECK(peers(gpu, "") == PeerAccess::sockets);
  CHECK(peers("RTX4090", ":p2p") == PeerAccess::one_root);
  CHECK(peers("RTX4090", ":p2p-sockets") == PeerAccess::sockets);
  CHECK(peers("A100", ":no-p2p") == PeerAccess::host);

  const auto of_file = [](const std::string& said) {
    return parse_cluster(R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpus": 4,
      "gpu": "A100", "interconnect": {"kind": "pcie", "per_gpu": "31.5GBps")" +
                             said + "}}}",
                         "lab.json")
        .intra.peers;
  };
  CHECK(of_file("") == PeerAccess::sockets);
  CHECK(of_file(R"(, "peer_to_peer": false)") == PeerAccess::host);
  CHECK(of_file(R"(, "peer_to_peer": true)") == PeerAccess::one_root);
  CHECK(of_file(R"(, "peer_to_peer": true, "across_sockets": false)") == PeerAccess::one_root);
  CHECK(of_file(R"(, "peer_to_peer": true, "across_sockets": true)") == PeerAccess::sockets);
}

TEST_CASE(
    "cluster: peers under one root are not slower than across sockets, and the host path not "
    "faster") {
  const auto time = [](const std::string& word, std::int64_t size) {
    const Cluster cluster = parse_cluster_line("node:1 gpu:4xA100 pcie:15.75GBps" + word);
    const auto choice =
        select_algorithm(CollectiveKind::all_reduce, Bytes(size), cluster, CollectiveTuning());
    return cost(CollectiveKind::all_reduce, choice, Bytes(size), cluster);
  };
  for (std::int64_t size = 1 << 20; size <= 1 << 30; size *= 2) {
    CHECK(time(":p2p", size) < time(":p2p-sockets", size));
    CHECK(time(":p2p-sockets", size) <= time(":no-p2p", size));
    CHECK(time(":no-p2p", size) < time(":no-p2p root:2", size));
    CHECK(time(":no-p2p root:2", size) < time(":no-p2p root:4", size));
    CHECK(time("", size) == time(":p2p-sockets", size));
  }
}

TEST_CASE("cluster: GPUs of one root port share its path to host memory") {
  const auto intra = [](const std::string& words) {
    return parse_cluster_line("node:1 gpu:8xRTX4090 pcie:32GBps" + words).intra;
  };
  CHECK(intra("").to_host == 16_GBps);
  CHECK(intra("").roots_assumed);
  CHECK(intra(":no-p2p").roots_assumed);
  CHECK(intra(":no-p2p root:1").to_host == 32_GBps);
  CHECK_FALSE(intra(":no-p2p root:1").roots_assumed);
  CHECK(intra(":no-p2p root:4").to_host == 8_GBps);
  CHECK(intra(":no-p2p root:3").to_host == 32_GBps / 3);
  CHECK(parse_cluster_line("node:1 gpu:4xRTX4090 pcie:32GBps").intra.to_host == 32_GBps);

  const auto warned = [](const std::string& words) {
    return assumed_of_roots(parse_cluster_line("node:1 gpu:8xRTX4090 pcie:32GBps" + words));
  };
  CHECK(mentions(warned(":no-p2p"), "2 GPUs are assumed to share each root port"));
  CHECK(mentions(assumed_of_roots(parse_cluster_line("node:1 gpu:4xRTX4090 pcie:32GBps")),
                 "a root port of its own"));
  CHECK(warned(":no-p2p root:2") == "");
  CHECK(warned(":p2p") == "");

  const std::string line = "node:1 gpu:8xRTX4090 pcie:32GBps:no-p2p root:4";
  const std::string file =
      calibrated_cluster_file(line, {.constants = constants_of(parse_cluster_line(line)),
                                     .shapes = {{1, 8, Bytes(8), Bytes(1 << 30), "a.txt"}}});
  CHECK(parse_cluster(file, "again.json").intra.to_host == 8_GBps);
  CHECK_FALSE(parse_cluster(file, "again.json").intra.roots_assumed);
}

TEST_CASE("cluster: a one-line cluster can be resized once it has a network") {
  const Cluster cluster =
      load_cluster({"node:1 gpu:2xV100 nvlink:2x25GBps:pair nic:1x10Gbps:tcp", 4, {}});
  CHECK(cluster.ranks() == 8);
}

TEST_CASE("cluster: channels stated in a file apply only to its own size") {
  const std::string text = R"({"schema": "ddpsim.cluster/1", "name": "lab",
      "node": {"gpus": 4, "gpu": "NVIDIA A100-PG509-200",
               "interconnect": {"kind": "nvswitch", "per_gpu": "300GBps"}},
      "nccl": {"search_channels": 11, "per_channel": "19GBps"}})";
  const Cluster cluster = parse_cluster(text, "lab.json");
  CHECK(cluster.gpu.name == "A100");
  CHECK(cluster.ring.channels == 11);
  CHECK(cluster.ring.intra.gigabytes_per_second() == doctest::Approx(19));
  CHECK(cluster.cpu == CpuVendor::unknown);

  const auto path = std::filesystem::temp_directory_path() /
                    ("ddpsim-lab@2-" + std::to_string(::getpid()) + ".json");
  write_file(path, text);
  CHECK(load_cluster({path.string(), {}, {}}).ring.channels == 11);
  CHECK(load_cluster({path.string(), {}, 2}).ring.channels == 12);
  CHECK(load_cluster({path.string() + "@1", {}, {}}).ring.channels == 11);
  std::filesystem::remove(path);
}

TEST_CASE("gpu: names are compared by model") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"Tesla V100-SXM2-16GB", "V100"},
      {"v100", "V100"},
      {"NVIDIA A100-PG509-200", "A100"},
      {"NVIDIA A100-SXM4-80GB", "A100"},
      {"NVIDIA H100 80GB HBM3", "H100"},
      {"NVIDIA GH200 480GB", "GH200"},
      {"NVIDIA GeForce RTX 2080 Ti", "RTX2080Ti"},
      {"RTX4090", "RTX4090"},
      {"Tesla P100-PCIE-16GB", "P100"},
      {"NVIDIA L40S", "L40S"},
      // Other chips with similar names.
      {"NVIDIA GeForce RTX 3090 Ti", "NVIDIA GeForce RTX 3090 Ti"},
      {"NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA GeForce RTX 4090 Laptop GPU"},
  };
  for (const auto& [full, model] : cases) CHECK(gpu_model_name(full) == model);
}

TEST_CASE("gpu: every catalogue row is complete and finds itself") {
  for (const GpuFamily& family : gpu_families()) {
    CHECK_FALSE(family.gpus.empty());
    for (const GpuModel& row : family.gpus) {
      const auto gpu = find_gpu(row.name);
      REQUIRE(gpu);
      CHECK(gpu->name == row.name);
      CHECK(gpu->compute_capability >= 60);
      CHECK(gpu->sms > 0);
      CHECK(gpu->memory_bandwidth > Bandwidth());
      CHECK(gpu->fp32_tflops > 0);
    }
  }
}

namespace {

std::vector<NearCluster> near(const std::string& text) {
  return load_cluster({.text = text, .near = true}).near;
}

}  // namespace

TEST_CASE("cluster: neighbours have one node less or more, or NICs 5 % slower or faster") {
  const std::string line = "node:4 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib";
  CHECK(load_cluster({.text = line}).near.empty());
  const std::vector<NearCluster> found = near(line);
  REQUIRE(found.size() == 4);
  CHECK(found[0].difference == "on 3 nodes");
  CHECK(found[0].cluster->nodes == 3);
  CHECK(found[1].difference == "on 5 nodes");
  CHECK(found[1].cluster->nodes == 5);
  CHECK(found[2].difference == "with NICs 5 % slower");
  CHECK(found[2].cluster->network.per_nic.gigabytes_per_second() == doctest::Approx(0.95 * 25));
  CHECK(found[3].difference == "with NICs 5 % faster");
  CHECK(found[3].cluster->network.per_nic.gigabytes_per_second() == doctest::Approx(1.05 * 25));
}

TEST_CASE("cluster: one node has no neighbours, and is not a neighbour of two nodes") {
  CHECK(near("node:1 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib").empty());
  const std::vector<NearCluster> found =
      near("node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib");
  REQUIRE(found.size() == 3);
  CHECK(found[0].difference == "on 3 nodes");
}

TEST_CASE("cluster: a neighbour of racks has one NVLink domain more or less") {
  const std::vector<NearCluster> found = near("gb200-nvl72@54");
  REQUIRE(found.size() == 4);
  CHECK(found[0].difference == "on 36 nodes");
  CHECK(found[0].cluster->nodes == 2);  // as NCCL counts
  CHECK(found[1].cluster->nodes == 4);
}

TEST_CASE("cluster: neighbours have the requested process groups") {
  const Cluster cluster =
      load_cluster({.text = "node:4 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib",
                    .groups = {{1}},
                    .near = true});
  for (const NearCluster& one : cluster.near) {
    REQUIRE(one.cluster->groups.size() == 1);
    CHECK(one.cluster->groups.front()->nodes == 1);
  }
}
