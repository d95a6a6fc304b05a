// The cluster in an archive of scripts/collect.sh: what each member contributes, and which words
// override it.
#include "archive_cluster.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "complaint.hpp"
#include "mentions.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

const std::string kMatrix =
    "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\n"
    "GPU0\t X \tNV4\tPIX\t0-15\t0\n"
    "GPU1\tNV4\t X \tPIX\t0-15\t0\n"
    "NIC0\tPIX\tPIX\t X \t\t\n"
    "\n"
    "Legend:\n";

const std::string kXml =
    R"(<system version="1"><cpu numaid="0" arch="x86_64" vendor="AuthenticAMD">)"
    R"(<pci busid="1" class="0x030200"><gpu dev="0" sm="80" rank="0"/></pci></cpu></system>)";

std::string gpus(const std::vector<std::string>& names) {
  std::string csv = "index, name, driver_version\n";
  for (const std::string& name : names) csv += "0, " + name + ", 535\n";
  return csv;
}

/// The lines of one port, as in sysfs.
std::string port(const std::string& nic, const std::string& rate, const std::string& layer,
                 const std::string& state = "4: ACTIVE") {
  const std::string folder = "/sys/class/infiniband/" + nic + "/ports/1/";
  std::string lines = folder + "rate: " + rate + "\n" + folder + "state: " + state + "\n";
  if (!layer.empty()) lines += folder + "link_layer: " + layer + "\n";
  return lines;
}

struct Collected {
  Archive archive{.file = "out/job.tar.gz"};

  Collected& add(ArchiveKind kind, std::string bytes, int node = 0) {
    archive.members.push_back(
        {kind, "member" + std::to_string(archive.members.size()), {}, node, std::move(bytes)});
    return *this;
  }
  ClusterDescription described(const std::string& words = "") const {
    return describe_archive(archive, words);
  }
  std::string complaint(const std::string& words = "") const {
    return complaint_of([&] { described(words); });
  }
};

/// A matrix of two GPUs and a NIC, for this number of nodes.
Collected matrix(int nodes = 1) {
  Collected collected;
  collected.archive.nodes = nodes;
  collected.add(ArchiveKind::matrix, kMatrix)
      .add(ArchiveKind::gpus, gpus({"Tesla V100-SXM2-16GB", "Tesla V100-SXM2-16GB"}));
  return collected;
}

/// The cluster of two nodes with these ports.
ClusterDescription joined(const std::string& ports, const std::string& words = "") {
  return matrix(2).add(ArchiveKind::devices, ports).described(words);
}

}  // namespace

TEST_CASE("cluster of an archive: one node from a matrix and nvidia-smi's column of names") {
  const ClusterDescription node = matrix().described();
  CHECK(node.name == "job");
  CHECK(node.summary == "nvidia-smi topo -m, of node 0 in an archive of scripts/collect.sh");
  CHECK(node.nodes() == 1);
  CHECK(node.types.front().gpus_per_node == 2);
  CHECK(node.types.front().gpu.name == "V100");
  CHECK(node.network.kind == NetworkKind::none);  // NICs do not matter on one node
  Collected folder = matrix();
  folder.archive.file = "out/march/";
  CHECK(folder.described().name == "march");
}

TEST_CASE(
    "cluster of an archive: the GPU model is that of the described node, otherwise of any node") {
  Collected collected;
  collected.add(ArchiveKind::gpus, gpus({"NVIDIA A100-SXM4-40GB"}))
      .add(ArchiveKind::matrix, kMatrix, 1)
      .add(ArchiveKind::gpus, gpus({"Tesla V100-SXM2-16GB"}), 1);
  CHECK(collected.described().types.front().gpu.name == "V100");
  CHECK(mentions(collected.described().summary, "of node 1 in"));
  collected.archive.members.pop_back();
  CHECK(collected.described().types.front().gpu.name == "A100");
  // The user's words override the archive. They are needed if it does not name the model.
  CHECK(collected.described("gpu:H100").types.front().gpu.name == "H100");
  collected.archive.members.front().bytes = gpus({"Mystery 9000"});
  CHECK(mentions(collected.complaint(), "does not name the GPU model"));
  collected.archive.members.front().bytes = "index, power.draw\n0, 70 W\n";
  CHECK(mentions(collected.complaint(), "does not name the GPU model"));
}

TEST_CASE("cluster of an archive: the ports describe the network of several nodes") {
  const ClusterDescription two = joined(port("mlx5_0", "200 Gb/sec (4X HDR)", "InfiniBand"));
  CHECK(two.nodes() == 2);
  CHECK(two.types.front().gpu.name == "V100");
  CHECK(two.types.front().per_nic == 25_GBps);
  CHECK(two.network.kind == NetworkKind::infiniband);
  CHECK(joined(port("mlx5_0", "100 Gb/sec", "Ethernet")).network.kind == NetworkKind::roce);
  CHECK(joined(port("mlx5_0", "100 Gb/sec", "")).network.kind == NetworkKind::infiniband);
  CHECK(joined(port("efa_0", "100 Gb/sec", "Unspecified")).network.kind == NetworkKind::efa);
  CHECK(joined(port("rdmap0s6", "100 Gb/sec", "")).network.kind == NetworkKind::infiniband);
  CHECK(joined(port("rdmap0s6", "100 Gb/sec", "Ethernet")).network.kind == NetworkKind::efa);
}

TEST_CASE("cluster of an archive: ports that are down or have no rate do not count") {
  const std::string up = port("mlx5_1", "100 Gb/sec", "InfiniBand");
  for (const std::string& other :
       {port("mlx5_0", "40 Gb/sec", "Ethernet", "1: DOWN"), port("mlx5_0", "0 Gb/sec", "Ethernet"),
        port("mlx5_0", "fast", "Ethernet"), std::string("/sys/class/net/eth0/speed: 1000\n"),
        std::string("/sys/class/infiniband/mlx5_0/ports/1/lid: 7\n")}) {
    CAPTURE(other);
    const ClusterDescription two = joined(other + up);
    CHECK(two.types.front().per_nic == 12.5_GBps);
    CHECK(two.network.kind == NetworkKind::infiniband);
  }
}

TEST_CASE("cluster of an archive: ports with different rates are refused with a hint") {
  Collected collected = matrix(2);
  collected.add(ArchiveKind::devices, port("mlx5_0", "200 Gb/sec", "InfiniBand") +
                                          port("mlx5_1", "25 Gb/sec", "Ethernet"));
  const std::string complaint = collected.complaint();
  CHECK(mentions(complaint,
                 "NICs of one node differ: mlx5_0/ports/1 200Gbps:ib, mlx5_1/ports/1 25Gbps:roce"));
  CHECK(mentions(complaint, "\"out/job.tar.gz nic:200Gbps:ib\""));
  const ClusterDescription decided = collected.described("nic:200Gbps:ib");
  CHECK(decided.types.front().per_nic == 25_GBps);
  CHECK(decided.nodes() == 2);
}

TEST_CASE("cluster of an archive: the user's words override the archive") {
  const std::string ports = port("mlx5_0", "200 Gb/sec", "InfiniBand");
  CHECK(joined(ports, "node:5").nodes() == 5);
  CHECK(joined(ports, "node:5").types.front().per_nic == 25_GBps);
  const ClusterDescription slower = joined(ports, "nic:100Gbps:roce latency:3us");
  CHECK(slower.nodes() == 2);
  CHECK(slower.types.front().per_nic == 12.5_GBps);
  CHECK(slower.network.kind == NetworkKind::roce);
  CHECK(slower.network.latency == 3_us);
}

TEST_CASE("cluster of an archive: different nodes, or different GPUs in a node, are refused") {
  Collected mixed;
  mixed.add(ArchiveKind::matrix, kMatrix)
      .add(ArchiveKind::gpus, gpus({"Tesla V100-SXM2-16GB", "NVIDIA A100-SXM4-40GB"}));
  CHECK(
      mentions(mixed.complaint(), "a node with different GPUs, Tesla V100-SXM2-16GB, NVIDIA A100"));
  CHECK(mentions(mixed.complaint(), "member1"));
  CHECK(mixed.complaint("gpu:A100").empty());
  Collected unlike = matrix(2);
  unlike.add(ArchiveKind::gpus, gpus({"Tesla V100-SXM2-16GB"}), 1);
  CHECK(mentions(unlike.complaint(), "nodes differ: 1 GPUs here, 2 on the first"));
  CHECK(mentions(unlike.complaint(), "member2"));
}

TEST_CASE("cluster of an archive: NCCL's dump with its NICs is preferred to the matrix") {
  Collected collected = matrix(2);
  collected.add(ArchiveKind::topology, kXml)
      .add(ArchiveKind::devices, port("mlx5_0", "200 Gb/sec", "InfiniBand"));
  collected.archive.members[1].bytes = gpus({"NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-40GB"});
  const ClusterDescription dumped = collected.described();
  CHECK(dumped.types.front().gpus_per_node == 1);
  CHECK(dumped.types.front().gpu.name == "A100");
  CHECK(dumped.network.kind == NetworkKind::none);  // it shows none, whatever sysfs shows
  CHECK(dumped.nodes() == 2);
  collected.archive.members.erase(collected.archive.members.begin());  // the dump alone is enough
  CHECK(collected.described().types.front().gpus_per_node == 1);
}

TEST_CASE(
    "cluster of an archive: without dump and matrix there is no cluster, and the message says "
    "why") {
  Collected nothing;
  const std::string neither =
      "holds neither NCCL's topology dump nor the matrix of nvidia-smi, so there is no cluster in "
      "it";
  CHECK(mentions(nothing.complaint(), neither + ". Collect on"));
  nothing.archive.missing = {{ArchiveKind::matrix, {}, {}, "no nvidia-smi"}};
  CHECK(mentions(nothing.complaint(), neither + ": no nvidia-smi. Collect on"));
  nothing.archive.missing.push_back({ArchiveKind::topology, {}, {}, "NCCL wrote none"});
  CHECK(mentions(nothing.complaint(), neither + ": NCCL wrote none. Collect on"));
}
