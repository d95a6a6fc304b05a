// Lines as NCCL 2.4 to 2.31 and RCCL print them, with hosts of our own. Tests what is read, which
// lines are findings, and which only look like one.
#include "ddpsim/diagnose/evidence/nccl_facts.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "data_files.hpp"
#include "ddpsim/formats/files.hpp"
#include "evidence_text.hpp"
#include "mentions.hpp"

using namespace ddpsim;
using namespace ddpsim::evidence_text;

namespace {

Kinds problems_in(const std::string& text) {
  return kinds_of(problems_of(text));
}
Kinds changes_in(const std::string& before, const std::string& after) {
  return kinds_of(changes_of(before, after));
}

/// Two nodes with two GPUs and two NICs each, GPUDirect RDMA at both ends, and PXN for the second
/// ring.
const std::string kSoundInfiniBand =
    R"(n1:10:10 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to bond0
n1:10:10 [0] NCCL INFO Bootstrap: Using bond0:10.0.0.1<0>
n1:10:10 [0] NCCL INFO cudaDriverVersion 12080
n1:10:10 [0] NCCL INFO NCCL version 2.26.2+cuda12.8
n1:10:12 [0] NCCL INFO NET/Plugin: Failed to find ncclNetPlugin_v10 symbol.
n1:10:12 [0] NCCL INFO NET/Plugin: Loaded net plugin NCCL RDMA Plugin v8 (v8)
n1:10:12 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB/SHARP [1]mlx5_1:1/IB/SHARP [RO]; OOB bond0:10.0.0.1<0>
n1:10:12 [0] NCCL INFO PROFILER/Plugin: Could not find: libnccl-profiler.so.
n1:10:12 [0] NCCL INFO Using network NCCL RDMA Plugin v8
n1:10:12 [0] NCCL INFO ncclCommInitRank comm 0x55 rank 0 nranks 4 cudaDev 0 nvmlDev 0 busId 18000 commId 0x1 - Init START
n1:10:12 [0] NCCL INFO comm 0x55 rank 0 nRanks 4 nNodes 2 localRanks 2 localRank 0 MNNVL 0
n1:10:12 [0] NCCL INFO 8 coll channels, 8 collnet channels, 0 nvls channels, 8 p2p channels, 2 p2p channels per peer
n1:10:12 [0] NCCL INFO ncclCommInitRank comm 0x55 rank 0 nranks 4 cudaDev 0 nvmlDev 0 busId 18000 commId 0x1 - Init COMPLETE
n1:10:13 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM
n1:10:13 [0] NCCL INFO Channel 00/0 : 3[1] -> 0[0] [receive] via NET/NCCL RDMA Plugin v8/0/GDRDMA
n1:11:14 [1] NCCL INFO Channel 00/0 : 1[1] -> 2[0] [send] via NET/NCCL RDMA Plugin v8/0(0)/GDRDMA
n2:10:13 [0] NCCL INFO Channel 00/0 : 1[1] -> 2[0] [receive] via NET/NCCL RDMA Plugin v8/0/GDRDMA
n2:11:14 [1] NCCL INFO Channel 00/0 : 3[1] -> 0[0] [send] via NET/NCCL RDMA Plugin v8/0(2)/GDRDMA
n1:10:13 [0] NCCL INFO Connected all rings, use ring PXN 1 GDR 1
)";

const std::string kSockets = R"(n1:10:12 [0] NCCL INFO NET/IB : No device found.
n1:10:12 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0> [1]eth1:10.1.0.1<0>
n1:10:12 [0] NCCL INFO Using network Socket
n1:10:12 [0] NCCL INFO comm 0x55 rank 0 nRanks 4 nNodes 2 localRanks 2 localRank 0 MNNVL 0
n1:10:13 [0] NCCL INFO Channel 00/0 : 3[1] -> 0[0] [receive] via NET/Socket/0
n1:11:14 [1] NCCL INFO Channel 00/0 : 1[1] -> 2[0] [send] via NET/Socket/0
)";

}  // namespace

TEST_CASE("findings: each class has its own name") {
  std::set<std::string_view> names;
  for (const CauseClass what : cause_classes()) names.insert(name_of(what));
  CHECK(names.size() == cause_classes().size());
  CHECK(name_of(CauseClass::socket_instead_of_ib) == "socket_instead_of_ib");
  CHECK(name_of(CauseClass::data_parallel_changed) == "data_parallel_changed");
  CHECK(name_of(CauseClass::nic_port_down) == "nic_port_down");
  // The last name: a missing one would shift it.
  CHECK(cause_classes().back() == CauseClass::unknown);
  CHECK(name_of(CauseClass::unequal_versions) == "unequal_versions");
}

TEST_CASE("NCCL's lines: facts of a healthy job without findings") {
  const Evidence evidence = evidence_of(kSoundInfiniBand);
  const NcclFacts& facts = evidence.nccl;
  CHECK(facts.lines == 19);
  REQUIRE(facts.versions.size() == 1);
  CHECK(facts.versions[0].word == "2.26.2");
  CHECK(facts.versions[0].place == "evidence.txt:4");
  REQUIRE(facts.cuda_driver);
  CHECK(facts.cuda_driver->word == "12.8");
  CHECK(facts.networks == std::map<std::string, int>{{"NCCL RDMA Plugin v8", 4}});
  CHECK(facts.nics.at("n1") == std::vector<std::string>{"mlx5_0:1/IB/SHARP", "mlx5_1:1/IB/SHARP"});
  REQUIRE(facts.plugins.size() == 1);
  REQUIRE(facts.largest() != nullptr);
  CHECK(facts.largest()->ranks == 4);
  CHECK(facts.largest()->nodes == 2);
  CHECK(facts.largest()->local_ranks == 2);
  CHECK(facts.largest()->channels == 8);
  CHECK(facts.largest()->collnet_channels == 8);
  CHECK(facts.largest()->nvls_channels == 0);
  CHECK(facts.peer_to_peer == 1);
  CHECK(facts.pxn == true);
  CHECK(facts.hosts.at("n1").receives_with == 1);
  CHECK(facts.hosts.at("n1").sends_with == 1);
  REQUIRE(evidence.environment.find("NCCL_SOCKET_IFNAME") != nullptr);
  CHECK(evidence.environment.find("NCCL_SOCKET_IFNAME")->value == "bond0");
  CHECK(problems_in(kSoundInfiniBand).empty());
}

TEST_CASE("NCCL's lines: merged ports count as NICs") {
  const Evidence evidence = evidence_of(
      "h:1:2 [0] NCCL INFO NET/IB : Using [0]={[0] mlx5_2:1/RoCE, [1] mlx5_3:1/RoCE} [1]={[2] "
      "mlx5_0:1/RoCE, [3] mlx5_1:1/RoCE} [RO]; OOB bond0:10.0.0.9<0>\n");
  CHECK(evidence.nccl.nics.at("h") == std::vector<std::string>{"mlx5_2:1/RoCE", "mlx5_3:1/RoCE",
                                                               "mlx5_0:1/RoCE", "mlx5_1:1/RoCE"});
}

TEST_CASE("NCCL's lines: variants of NCCL 2.4, of RCCL and with a prefix of mpirun") {
  const Evidence old = evidence_of(
      "[1,0]<stdout>:n1:7:9 [0] NCCL INFO Ring 00 : 15 -> 0 [receive] via NET/IB/1/GDRDMA\n"
      "[1,0]<stdout>:n1:7:9 [0] NCCL INFO Ring 00 : 1[0] -> 2[0] via direct shared memory\n"
      "NCCL version 2.4.8+cuda10.1\n");
  CHECK(old.nccl.networks == std::map<std::string, int>{{"IB", 1}});
  CHECK(old.nccl.hosts.at("n1").receives_with == 1);
  CHECK(old.nccl.ranks.at(0).nics == std::set<std::pair<std::string, int>>{{"n1", 1}});
  CHECK(old.nccl.shared_memory == 1);
  const Evidence rccl = evidence_of(
      "n1:7:9 [1] NCCL INFO Channel 01/0 : 6[202000] -> 1[102000] [receive] via NET/AWS "
      "Libfabric/1 "
      "comm 0x7f nRanks 08\n"
      "RCCL version : 2.20.5-HEAD:d3bfdd1\n");
  CHECK(rccl.nccl.networks == std::map<std::string, int>{{"AWS Libfabric", 1}});
  CHECK(rccl.nccl.versions[0].word == "RCCL 2.20.5");
  // A NIC without GPUDirect has none to lose.
  CHECK(find_problems(rccl).empty());
}

TEST_CASE("NCCL's lines: consecutive communicators of one thread, in old and new formats") {
  const auto largest = [](const std::string& text) {
    const Evidence evidence = evidence_of(text);
    REQUIRE(evidence.nccl.largest() != nullptr);
    return std::pair(evidence.nccl.largest()->ranks, evidence.nccl.largest()->channels);
  };
  const std::string head = "h:1:2 [0] NCCL INFO ";
  CHECK(largest(head + "2 coll channels, 2 p2p channels, 1 p2p channels per peer\n" + head +
                "comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1000 - Init COMPLETE\n" + head +
                "12 coll channels, 16 p2p channels, 1 p2p channels per peer\n" + head +
                "comm 0x2 rank 0 nranks 16 cudaDev 0 busId 1000 - Init COMPLETE\n") ==
        std::pair(16, std::optional(12)));
  const auto began = [&](int ranks, int channels) {
    const std::string comm =
        head + "ncclCommInitRank comm 0x1 rank 0 nranks " + std::to_string(ranks);
    return comm + " commId 0x1 - Init START\n" + head + std::to_string(channels) +
           " coll channels, 0 collnet channels, 0 nvls channels\n" + comm +
           " commId 0x1 - Init COMPLETE\n";
  };
  CHECK(largest(began(16, 12) + began(16, 12) + began(2, 4)) == std::pair(16, std::optional(12)));
  CHECK(largest(began(2, 4) + began(2, 4) + began(16, 12)) == std::pair(16, std::optional(12)));
}

TEST_CASE("NCCL's lines: drawings of rings and texts about channels are not channels") {
  const Evidence evidence = evidence_of(
      "h:1:2 [0] NCCL INFO Channel 00/02 :    0   1   2   3\n"
      "h:1:2 [0] NCCL INFO Ring 00 : 17 -> 0 -> 7\n"
      "h:1:2 [0] NCCL INFO Trees [0] 1/16/-1->0->-1\n"
      "what goes via NET/Socket/0 -> is slow\n"
      "h:1:2 [0] NCCL INFO Channel x : 0[0] -> 1[0] [send] via NET/IB/0\n"
      "h:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] via NET/IB/0\n");
  CHECK(evidence.nccl.networks.empty());
  CHECK(evidence.nccl.sends.empty());
}

TEST_CASE("GPUDirect at only one end is reported with the node that lacks it") {
  const std::string one_side =
      "n1 [0] NCCL INFO Channel 00 : 0[7000] -> 8[7000] [send] via NET/IB/1/GDRDMA\n"
      "n2 [0] NCCL INFO Channel 00 : 0[7000] -> 8[7000] [receive] via NET/IB/0\n";
  const std::vector<Finding> findings = problems_of(one_side);
  REQUIRE(kinds_of(findings) == Kinds{CauseClass::gpudirect_one_side});
  CHECK(findings[0].place == "evidence.txt:2");
  CHECK(mentions(findings[0].says, "n2"));
  CHECK(mentions(findings[0].says, "nvidia_peermem"));
  CHECK_FALSE(mentions(findings[0].says, "n1"));
  SUBCASE("receivers with it and senders without: by design for GPUs without NVLink") {
    CHECK(problems_in("n1 [0] NCCL INFO Channel 00 : 0[0] -> 1[0] [send] via NET/IB/0\n"
                      "n2 [0] NCCL INFO Channel 00 : 0[0] -> 1[0] [receive] via NET/IB/0/GDRDMA\n"
                      "n2 [0] NCCL INFO Channel 00 : 1[0] -> 0[0] [send] via NET/IB/0\n"
                      "n1 [0] NCCL INFO Channel 00 : 1[0] -> 0[0] [receive] via NET/IB/0/GDRDMA\n")
              .empty());
  }
  SUBCASE("a NIC near one GPU and far from another on both nodes, in two communicators") {
    CHECK(problems_in("n1 [0] NCCL INFO Channel 00 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA\n"
                      "n2 [0] NCCL INFO Channel 00 : 0[0] -> 1[0] [receive] via NET/IB/0/GDRDMA\n"
                      "n1 [4] NCCL INFO Channel 00 : 0[4] -> 1[4] [send] via NET/IB/0\n"
                      "n2 [4] NCCL INFO Channel 00 : 0[4] -> 1[4] [receive] via NET/IB/0\n")
              .empty());
  }
  SUBCASE("ends that do not meet in the logs, node against node") {
    CHECK(problems_in("n1 [0] NCCL INFO Channel 00 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA\n"
                      "n2 [0] NCCL INFO Channel 00 : 1[0] -> 2[0] [send] via NET/IB/0\n") ==
          Kinds{CauseClass::gpudirect_one_side});
  }
  SUBCASE("one log of a rank that sends with it tells nothing about others") {
    CHECK(problems_in("n1 [0] NCCL INFO Channel 00 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA\n")
              .empty());
  }
}

TEST_CASE("GPUDirect nowhere: reported only for InfiniBand and RoCE") {
  const std::string roce =
      "n1:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IBext_v8/0\n"
      "n2:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [receive] via NET/IBext_v8/0\n";
  CHECK(problems_in(roce) == Kinds{CauseClass::gpudirect_off});
}

TEST_CASE("Sockets: the reason that hides the fast network, if a line tells") {
  const auto said = [](const std::string& text) {
    const std::vector<Finding> findings = problems_of(text);
    CHECK(kinds_of(findings) == Kinds{CauseClass::socket_instead_of_ib});
    return findings.empty() ? "" : findings[0].says;
  };
  CHECK(mentions(said(kSockets), "If they have none, nothing is wrong"));
  CHECK(mentions(said("h:1:2 [0] NCCL INFO Failed to open libibverbs.so[.1]\n" + kSockets),
                 "cannot open its RDMA device"));
  CHECK(mentions(said("h:1:2 [0] transport/net_ib.cc:148 NCCL WARN NET/IB : Unable to open device "
                      "mlx5_bond_0\n" +
                      kSockets),
                 "Unable to open device mlx5_bond_0"));
  std::string over_ib0 = kSockets;
  over_ib0.replace(over_ib0.find("[0]eth0"), 7, "[0]ib0");
  CHECK(mentions(said(over_ib0), "on ib0, an interface of an RDMA network"));
  CHECK(mentions(said("h:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB ; OOB ib0:10.0.0.1<0>\n" +
                      kSockets.substr(kSockets.find('\n') + 1)),
                 "mlx5_0:1/IB"));
  SUBCASE("a plugin that loads but finds no network: NCCL lists no NIC after it") {
    const std::vector<Finding> findings = problems_of(
        "n1:1:2 [0] NCCL INFO NET/Plugin: Loaded net plugin Libfabric (v10)\n"
        "n1:1:2 [0] NCCL INFO NET/OFI No eligible providers were found\n"
        "[2025-01-28 16:04:25] n1:1:2 [0] nccl_net_ofi_create_plugin:352 NCCL WARN NET/OFI "
        "aws-ofi-nccl initialization failed\n"
        "n1:1:2 [0] NCCL INFO NET/IB : Using [RO]; OOB eth0:10.0.0.1<0>\n" +
        kSockets);
    REQUIRE(kinds_of(findings) == Kinds{CauseClass::socket_instead_of_ib, CauseClass::nccl_error});
    CHECK(mentions(findings[0].says, "though the network plugin Libfabric (v10) was loaded"));
  }
  SUBCASE("one node uses none of it") {
    CHECK(problems_in(
              "h:1:2 [0] NCCL INFO NET/IB : No device found.\n"
              "h:1:2 [0] NCCL INFO Using network Socket\n"
              "h:1:2 [0] NCCL INFO comm 0x1 rank 0 nRanks 2 nNodes 1 localRanks 2 localRank 0 "
              "MNNVL 0\n"
              "h:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n")
              .empty());
  }
  SUBCASE("requested by the environment: the variable is named too") {
    const std::vector<Finding> findings = find_problems(
        evidence_of("n1:1:2 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.\n" +
                    kSockets.substr(kSockets.find('\n') + 1)));
    REQUIRE(kinds_of(findings) == Kinds{CauseClass::socket_instead_of_ib});
    CHECK(mentions(findings[0].says, "NCCL_IB_DISABLE=1"));
  }
  SUBCASE("InfiniBand is off, and a plugin sends") {
    CHECK(problems_in("n1:1:2 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.\n"
                      "n1:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 4[0] [send] via NET/AWS "
                      "Libfabric/0/GDRDMA\n")
              .empty());
  }
}

TEST_CASE("Plugins: requested but missing; every job without one starts the same way") {
  const std::string sends =
      "h:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 4[0] [send] via NET/IB/0/GDRDMA\n";
  for (const std::string usual :
       {"NET/Plugin : No plugin found (libnccl-net.so), using internal implementation",
        "NET/Plugin : No plugin found (librccl-net.so), using internal implementation",
        "NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.",
        "NET/Plugin: Could not find: librccl-net.so. Using internal net plugin.",
        "NET/Plugin : Plugin load returned 2 : libnccl-net.so: cannot open shared object file: No "
        "such file or directory.",
        "NET/Plugin : dlerror=libnccl-net.so: cannot open shared object file: No such file or "
        "directory No plugin found (libnccl-net.so), using internal implementation",
        "TUNER/Plugin: Could not find: libnccl-tuner.so libnccl-net.so. Using internal tuner "
        "plugin."}) {
    CAPTURE(usual);
    CHECK(problems_in("h:1:2 [0] NCCL INFO " + usual + "\n" + sends).empty());
  }
  for (const std::string missing :
       {"NET/Plugin: Could not find: ofi libnccl-net-ofi.so. Using internal network plugin.",
        "NET/Plugin : No plugin found (libnccl-net-ofi.so), using internal implementation",
        "NET/Plugin: Could not find: /opt/plugin/libnccl-net.so",
        "NET/Plugin : Plugin load returned 0 : libfabric.so.1: cannot open shared object file: No "
        "such file or directory."}) {
    CAPTURE(missing);
    CHECK(problems_in("h:1:2 [0] NCCL INFO " + missing + "\n" + sends) ==
          Kinds{CauseClass::plugin_missing});
  }
}

TEST_CASE("Inside a node: peer-to-peer off by the hardware, the network between GPUs of one node") {
  CHECK(
      problems_in("h:1:2 [0] graph/paths.cc:300 NCCL WARN P2P is disabled between NVLINK connected "
                  "GPUs 1 and 0. This should not be the case given their connectivity, and is "
                  "probably due to a hardware issue.\n") == Kinds{CauseClass::peer_to_peer_off});
  CHECK(problems_in("h:1:2 [1] NCCL INFO Could not enable P2P between dev 1(=3d000) and dev "
                    "0(=1a000)\n") == Kinds{CauseClass::peer_to_peer_off});
  CHECK(
      problems_in("h:1:2 [0] NCCL INFO comm 0x1 rank 0 nRanks 2 nNodes 1 localRanks 2 localRank 0 "
                  "MNNVL 0\n"
                  "h:1:2 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[1] [send] via NET/IB/0/GDRDMA\n") ==
      Kinds{CauseClass::shared_memory_off});
}

TEST_CASE("NCCL's warnings: each kind once; versions that differ between ranks") {
  const std::vector<Finding> findings = problems_of(
      "n1:1:2 [0] transport/net_ib.cc:90 NCCL WARN NET/IB : Got "
      "completion from peer 10.0.0.2<48133> "
      "with error 12, opcode 0, len 32768\n"
      "n1:1:2 [1] transport/net_ib.cc:90 NCCL WARN NET/IB : Got "
      "completion from peer 10.0.0.3<48134> "
      "with error 12, opcode 0, len 16384\n"
      "n1:1:2 [0] NCCL INFO NCCL version 2.20.5+cuda12.4\n"
      "n2:1:2 [0] NCCL INFO NCCL version 2.18.3+cuda12.1\n"
      "n2:1:2 [0] graph/search.cc:900 NCCL WARN Could not find a path "
      "for pattern 4, falling back to "
      "simple order\n");
  CHECK(kinds_of(findings) == Kinds{CauseClass::topology_search_failed, CauseClass::nccl_error,
                                    CauseClass::unequal_versions});
}

TEST_CASE("Two sides: nothing is reported for an unchanged job") {
  CHECK(changes_in(kSoundInfiniBand, kSoundInfiniBand).empty());
  CHECK(changes_in("", kSoundInfiniBand).empty());
  CHECK(changes_in(kSoundInfiniBand, "").empty());
}

TEST_CASE("Two sides: sockets instead of InfiniBand") {
  const std::vector<Finding> findings =
      find_changes(evidence_of(kSoundInfiniBand), evidence_of(kSockets));
  // The change, the new side's own finding, and what changed with the network.
  CHECK(std::ranges::count(kinds_of(findings), CauseClass::socket_instead_of_ib) == 2);
  CHECK(std::ranges::count(kinds_of(findings), CauseClass::plugin_missing) == 1);
  CHECK(mentions(findings[0].says, "NCCL RDMA Plugin v8"));
}

TEST_CASE("Two sides: GPUDirect lost, fewer NICs, other NICs, PXN") {
  const auto job = [](const std::string& path0, const std::string& path1) {
    return "n1:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [2]mlx5_2:1/IB ; OOB "
           "ib0:10.0.0.1<0>\n"
           "n1:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via " +
           path0 + "\nn1:1:2 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[0] [send] via " + path1 + "\n";
  };
  const std::string sound = job("NET/IB/0/GDRDMA", "NET/IB/1/GDRDMA");
  CHECK(changes_in(sound, job("NET/IB/0/GDRDMA", "NET/IB/1")) == Kinds{CauseClass::gpudirect_off});
  CHECK(changes_in(sound, job("NET/IB/0/GDRDMA", "NET/IB/0/GDRDMA")) ==
        Kinds{CauseClass::fewer_nics});
  CHECK(changes_in(sound, job("NET/IB/0/GDRDMA", "NET/IB/2/GDRDMA")) ==
        Kinds{CauseClass::other_nic});
  CHECK(changes_in("n1:1:2 [0] NCCL INFO Connected all rings, use ring PXN 1 GDR 1\n",
                   "n1:1:2 [0] NCCL INFO Connected all rings, use ring PXN 0 GDR 1\n") ==
        Kinds{CauseClass::pxn_changed});
}

TEST_CASE("Two sides: channels of equal numbers of ranks, and channels that reduce in switches") {
  const auto job = [](int ranks, const std::string& channels) {
    return "n1:1:2 [0] NCCL INFO comm 0x1 rank 0 nRanks " + std::to_string(ranks) +
           " nNodes 1 localRanks 8 localRank 0 MNNVL 0\nn1:1:2 [0] NCCL INFO " + channels +
           ", 8 p2p channels, 8 p2p channels per peer\n";
  };
  const std::string sound = job(8, "24 coll channels, 0 collnet channels, 16 nvls channels");
  CHECK(changes_in(sound, job(8, "12 coll channels, 0 collnet channels, 16 nvls channels")) ==
        Kinds{CauseClass::fewer_channels});
  CHECK(changes_in(sound, job(8, "32 coll channels, 0 collnet channels, 16 nvls channels")) ==
        Kinds{CauseClass::more_channels});
  CHECK(changes_in(sound, job(8, "24 coll channels, 0 collnet channels, 0 nvls channels")) ==
        Kinds{CauseClass::in_switch_off});
  CHECK(changes_in(sound, job(4, "12 coll channels, 0 collnet channels, 16 nvls channels")) ==
        Kinds{CauseClass::ranks_changed});
}

TEST_CASE("Two sides: rings instead of trees, by NCCL's choices or connections") {
  const auto chose = [](const std::string& words) {
    return "n1:1:2 [0] NCCL INFO AllReduce: 26214400 Bytes -> Algo " + words + "\n";
  };
  CHECK(changes_in(chose("TREE proto SIMPLE channel{Lo..Hi}={0..15}"),
                   chose("RING proto SIMPLE channel{Lo..Hi}={0..15}")) ==
        Kinds{CauseClass::ring_where_tree});
  // Before 2.22 choices are numbers: 0 is the tree, 1 the ring.
  CHECK(changes_in(chose("0 proto 2 time 123.4"),
                   chose("RING proto SIMPLE channel{Lo..Hi}={0..3}")) ==
        Kinds{CauseClass::ring_where_tree});
  CHECK(changes_in(chose("NVLS proto SIMPLE channel{Lo..Hi}={0..15}"),
                   chose("RING proto SIMPLE channel{Lo..Hi}={0..15}")) ==
        Kinds{CauseClass::in_switch_off});
  CHECK(changes_in(chose("RING proto LL128"), chose("RING proto SIMPLE")) ==
        Kinds{CauseClass::other_algorithm});
  const auto connected = [](const std::string& version, bool trees) {
    return "n1:1:2 [0] NCCL INFO NCCL version " + version +
           "+cuda12.4\nn1:1:2 [0] NCCL INFO Connected all rings\n" +
           (trees ? "n1:1:2 [0] NCCL INFO Connected all trees\n" : "") +
           "n1:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 8 cudaDev 0 busId 1000 - Init COMPLETE\n";
  };
  CHECK(changes_in(connected("2.22.3", true), connected("2.25.1", false)) ==
        Kinds{CauseClass::ring_where_tree, CauseClass::version_changed});
  // A log that ends with rings may have continued with trees.
  const std::string rings = connected("2.25.1", false);
  CHECK(changes_in(connected("2.25.1", true),
                   rings.substr(0, rings.find("n1:1:2 [0] NCCL INFO comm")))
            .empty());
  const auto trees = [](const std::string& words) {
    return "n1:1:2 [0] NCCL INFO Using 256 threads, Min Comp Cap 7, Trees " + words + "\n";
  };
  CHECK(changes_in(trees("enabled up to size 469999999"), trees("disabled")) ==
        Kinds{CauseClass::ring_where_tree});
  CHECK(changes_in(trees("enabled up to size 469999999"), trees("enabled up to size 1")).empty());
  // Up to 2.21 trees were connected whether or not they were chosen, so their absence later tells
  // nothing.
  CHECK(changes_in(connected("2.18.3", true), connected("2.25.1", false)) ==
        Kinds{CauseClass::version_changed});
}

TEST_CASE("Two sides: host memory instead of peer-to-peer") {
  CHECK(changes_in("n1:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n",
                   "n1:1:2 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct\n") ==
        Kinds{CauseClass::peer_to_peer_off});
}

TEST_CASE("Two sides: one rank's log against all ranks' is compared by that rank") {
  const auto channel = [](int from, int to, const std::string& via) {
    return "n1:1:2 [0] NCCL INFO Channel 00/0 : " + std::to_string(from) + "[0] -> " +
           std::to_string(to) + "[0] " + via + "\n";
  };
  std::string all;
  for (int rank = 0; rank < 4; ++rank)
    all += channel(rank, rank + 4, "[send] via NET/IB/" + std::to_string(rank) + "/GDRDMA");
  all += channel(0, 1, "via P2P/IPC") + channel(3, 2, "via SHM/direct/direct");
  CHECK(changes_in(all, channel(0, 4, "[send] via NET/IB/0/GDRDMA")).empty());
  CHECK(changes_in(all, channel(3, 2, "via SHM/direct/direct")).empty());
  CHECK(changes_in(all, channel(0, 1, "via SHM/direct/direct")) ==
        Kinds{CauseClass::peer_to_peer_off});
  CHECK(changes_in(all, channel(2, 6, "[send] via NET/IB/2")) ==
        Kinds{CauseClass::gpudirect_off, CauseClass::gpudirect_off});
}

TEST_CASE("Two sides: without a common rank, shares of all channels are compared") {
  const auto channels = [](int rank, int with, int without) {
    std::string lines;
    for (int k = 0; k < with + without; ++k)
      lines += "n1:1:2 [0] NCCL INFO Channel 0" + std::to_string(k) +
               "/0 : " + std::to_string(rank) + "[0] -> " + std::to_string(rank + 8) +
               "[0] [send] via NET/IB/0" + (k < with ? "/GDRDMA" : "") + "\n";
    return lines;
  };
  const auto said = [&](const std::string& before, const std::string& after) -> std::string {
    for (const Finding& finding : changes_of(before, after))
      if (finding.what == CauseClass::gpudirect_off && mentions(finding.says, "of the ends"))
        return finding.says.substr(0, finding.says.find(" now"));
    return "";
  };
  CHECK(said(channels(0, 1, 1), channels(1, 2, 2)) == "");
  CHECK(said(channels(0, 1, 1), channels(1, 1, 3)) ==
        "50 % of the ends of channels between nodes used GPUDirect RDMA and 25 % use it");
  CHECK(said(channels(0, 1, 3), channels(1, 2, 2)) ==
        "25 % of the ends of channels between nodes used GPUDirect RDMA and 50 % use it");
}

TEST_CASE("Two sides: a NIC stays the same with another protocol, and so do merged ports") {
  const auto job = [](const std::string& listed, int nic) {
    return "n1:1:2 [0] NCCL INFO NET/IB : Using " + listed +
           " ; OOB ib0:10.0.0.1<0>\nn1:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via "
           "NET/IB/" +
           std::to_string(nic) + "/GDRDMA\n";
  };
  CHECK(changes_in(job("[0]mlx5_0:1/IB/SHARP [1]mlx5_1:1/IB/SHARP", 0),
                   job("[0]mlx5_0:1/IB [1]mlx5_1:1/IB", 0))
            .empty());
  CHECK(changes_in(job("[0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE", 0),
                   job("[0]={[0] mlx5_0:1/RoCE, [1] mlx5_1:1/RoCE}", 0))
            .empty());
  CHECK(changes_in(job("[0]mlx5_0:1/IB [1]mlx5_1:1/IB", 0), job("[0]mlx5_0:1/IB", 0)) ==
        Kinds{CauseClass::fewer_nics});
}

TEST_CASE("Two sides: a log cut off at either end lacks channels, and a name is not an index") {
  const std::string head = "n1:1:2 [0] NCCL INFO ";
  const std::string listed =
      head +
      "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [2]mlx5_bond_0:1/IB ; OOB e:10.0.0.1<0>\n";
  const auto channel = [&](int number, int nic, const std::string& end = "/GDRDMA") {
    return head + "Channel 0" + std::to_string(number) + "/0 : 0[0] -> 8[0] [send] via NET/IB/" +
           std::to_string(nic) + end + "\n";
  };
  const auto ended = [&](int channels) {
    return head + "Connected all rings\n" + head + std::to_string(channels) +
           " coll channels, 0 collnet channels, 0 nvls channels\n" + head +
           "comm 0x1 rank 0 nranks 16 cudaDev 0 busId 1000 - Init COMPLETE\n";
  };
  const std::string whole = listed + channel(0, 0) + channel(1, 1) + ended(2);
  CHECK(changes_in(whole, listed + channel(0, 0)).empty());
  CHECK(changes_in(listed + channel(0, 0), whole).empty());
  CHECK(changes_in(whole, channel(1, 1) + ended(2)).empty());
  CHECK(changes_in(channel(1, 1) + ended(2), whole).empty());
  CHECK(changes_in(whole, channel(0, 0) + channel(1, 1)).empty());
  CHECK(changes_in(whole, listed + channel(0, 0) + ended(2)) == Kinds{CauseClass::fewer_nics});
  // The missing part may use the other NIC. GPUDirect RDMA was used everywhere.
  CHECK(changes_in(whole, listed + channel(1, 0)).empty());
  CHECK(has(changes_in(whole, listed + channel(0, 0, "")), CauseClass::gpudirect_off));
  // Some NICs have GPUDirect RDMA, and those of the missing channels do not.
  CHECK(changes_in(listed + channel(0, 0) + channel(1, 1, "") + ended(2), listed + channel(0, 0))
            .empty());
  // A missing channel takes its NIC along, but not the transport of the others.
  CHECK(changes_in(whole, listed + channel(0, 1) + ended(1)) ==
        Kinds{CauseClass::other_nic, CauseClass::fewer_channels});
  CHECK(changes_in(whole, listed + channel(0, 0) + ended(1)) == Kinds{CauseClass::fewer_channels});
  SUBCASE("an unused NIC is not reported as missing") {
    const std::string without =
        head + "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB ; OOB e:10.0.0.1<0>\n";
    const std::string excluded = without + channel(0, 0) + channel(1, 1) + ended(2);
    CHECK(changes_in(whole, excluded).empty());
    CHECK(changes_in(excluded, whole).empty());
    CHECK(changes_in(listed, without) == Kinds{CauseClass::fewer_nics});
    const auto made = [&](int index, const std::string& name) {
      return head + "NET/IB : Made virtual device [" + std::to_string(index) + "] name=" + name +
             " speed=400000 ndevs=2\n";
    };
    const std::string merged = made(2, "mlx5_0+mlx5_1");
    CHECK(
        changes_in(excluded, without + merged + channel(0, 2) + channel(1, 2) + ended(2)).empty());
    CHECK(
        changes_in(without + merged + channel(0, 2) + channel(1, 2) + ended(2), excluded).empty());
    CHECK(changes_in(excluded, without + channel(0, 2) + channel(1, 2) + ended(2)).empty());
    CHECK(changes_in(excluded, channel(0, 2) + channel(1, 2)).empty());
    CHECK(changes_in(excluded, without + made(2, "mlx5_0") + channel(0, 2) + channel(1, 2) +
                                   ended(2)) == Kinds{CauseClass::fewer_nics});
  }
}

TEST_CASE("Two sides: NVLink between nodes, RoCE, and slower ports") {
  const auto job = [](const std::string& end) {
    return "n1:1:2 [0] NCCL INFO comm 0x5 rank 0 nRanks 16 nNodes 4 localRanks 4 localRank 0\n"
           "n1:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] " +
           end + "\nn1:1:2 [0] NCCL INFO Connected all rings\n";
  };
  const std::string nvlink = job("via P2P/MNNVL"), network = job("[send] via NET/IB/0/GDRDMA");
  const auto lost = changes_of(nvlink, network);
  REQUIRE(kinds_of(lost) == Kinds{CauseClass::transport_changed});
  CHECK(mentions(lost.front().says, "went over NVLink (MNNVL) and now go over IB"));
  CHECK(lost.front().effect == FindingEffect::costs);
  CHECK(kinds_of(changes_of(network, nvlink)) == Kinds{CauseClass::transport_changed});
  // One rank of several nodes may have no end that leaves its node.
  CHECK(changes_in(job("via P2P/CUMEM"), network).empty());
  const auto lists = [](const std::string& link) {
    return "n1:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/" + link + " ; OOB e:10.0.0.1<0>\n";
  };
  CHECK(changes_in(lists("IB"), lists("RoCE")) == Kinds{CauseClass::transport_changed});
  CHECK(changes_in(lists("IB"), lists("IB/SHARP")).empty());
  const auto runs = [](int speed) {
    return "n1:1:2 [0] NCCL INFO NET/IB: [0] mlx5_0:uverbs0:1/IB provider=Mlx5 speed=" +
           std::to_string(speed) + " context=0x5 pciPath=/sys/devices/pci0 ar=1\n";
  };
  CHECK(changes_in(runs(400000), runs(200000)) == Kinds{CauseClass::nic_below_its_best});
  CHECK(changes_in(runs(400000), runs(400000)).empty());
}

TEST_CASE("Two sides: libfabric over TCP instead of EFA") {
  const auto job = [](const std::string& provider) {
    return "n1:1:2 [0] NCCL INFO NET/OFI Selected Provider is " + provider +
           "\nn1:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/AWS Libfabric/0\n";
  };
  CHECK(has(changes_in(job("efa (found 4 nics)"), job("tcp;ofi_rxm (found 1 nics)")),
            CauseClass::socket_instead_of_ib));
  CHECK(has(problems_in(job("tcp;ofi_rxm (found 1 nics)")), CauseClass::socket_instead_of_ib));
  CHECK(changes_in(job("efa (found 4 nics)"), job("efa (found 1 nics)")) ==
        Kinds{CauseClass::fewer_nics});
  CHECK_FALSE(has(problems_in(job("efa (found 4 nics)")), CauseClass::socket_instead_of_ib));
}

TEST_CASE("Two sides: an interrupted line is ignored") {
  CHECK(problems_in("n1:1:2 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to n2:1:2 [0] NCCL "
                    "INFO Channel 00/0 : 0[0] -> 1[0] via P2P/IPC\n")
            .empty());
}

TEST_CASE("Two sides: variables in NCCL's list appear and vanish, harmless values are ignored") {
  const std::string began =
      "n1:1:2 [0] NCCL INFO NCCL version 2.21.5+cuda12.4\n"
      "n1:1:2 [0] NCCL INFO comm 0x1 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0\n"
      "n1:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 16 cudaDev 0 busId 1000 - Init COMPLETE\n";
  const auto with = [&](const std::string& setting) {
    return began + "n1:1:2 [0] NCCL INFO " + setting + "\n";
  };
  // NCCL may read it up to the end of its initialisation, and from 2.22 on until it connects.
  const std::string set = with("NCCL_CROSS_NIC set by environment to 1.");
  CHECK(changes_in(began, set) == Kinds{CauseClass::environment_changed});
  CHECK(changes_in(began.substr(0, began.rfind("n1:1:2")), set).empty());
  CHECK(changes_in(set, began.substr(0, began.rfind("n1:1:2"))).empty());
  std::string newer = began, newer_set = set;
  newer.replace(newer.find("2.21.5"), 6, "2.26.2");
  newer_set.replace(newer_set.find("2.21.5"), 6, "2.26.2");
  CHECK(changes_in(newer, newer_set).empty());
  const std::string rings = "n1:1:2 [0] NCCL INFO Connected all rings, use ring PXN 0 GDR 1\n";
  CHECK(changes_in(newer + rings, newer_set + rings) == Kinds{CauseClass::environment_changed});
  // What NCCL does not print is unknown if a side has only its log.
  CHECK(changes_in("NCCL_ASYNC_ERROR_HANDLING=1\n" + began, began).empty());
  CHECK(changes_in(began, with("NCCL_BUFFSIZE set by environment to 4194304.")).empty());
  CHECK(changes_in(began, with("NCCL_NET_GDR_LEVEL set by environment to SYS")) ==
        Kinds{CauseClass::environment_changed});
  CHECK(changes_in(began, with("NCCL_BUFFSIZE set by environment to 65536.")) ==
        Kinds{CauseClass::environment_changed});
  CHECK(changes_in(began, with("NCCL_P2P_DISABLE set by environment to 0.")).empty());
  // To strtol, "true" is not 1.
  CHECK(changes_in(began, with("NCCL_P2P_DISABLE set by environment to true.")).empty());
  CHECK(changes_in(began, with("NCCL_P2P_DISABLE set by environment to 1.")) ==
        Kinds{CauseClass::peer_to_peer_off});
  const auto gone = find_changes(evidence_of(with("NCCL_P2P_DISABLE set by environment to 1.")),
                                 evidence_of(began));
  REQUIRE(gone.size() == 1);
  CHECK(gone.front().what == CauseClass::peer_to_peer_off);
  CHECK(gone.front().effect == FindingEffect::relieves);
}

TEST_CASE("lines without their head are recognised as NCCL's") {
  CHECK(problems_in("NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'\n") ==
        Kinds{CauseClass::gpudirect_off});
  CHECK(changes_in("NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB bond0:10.0.0.1<0>\n",
                   "NET/Socket : Using [0]bond0\n") == Kinds{CauseClass::socket_instead_of_ib});
  CHECK(problems_in("NET/Socket : Using [0]bond0\n").empty());
  CHECK(changes_in("Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n",
                   "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0\n") ==
        Kinds{CauseClass::gpudirect_off, CauseClass::gpudirect_off});
  // A network of a plugin shows that the plugin works, whatever else the log says.
  CHECK(changes_in("n1:1:2 [0] NCCL INFO NET/Plugin: Loaded net plugin AWS Libfabric (v6)\n"
                   "n1:1:2 [0] NCCL INFO Using network AWS Libfabric\n",
                   "via NET/AWS Libfabric/3\n")
            .empty());
}

TEST_CASE("Two sides: another number of ranks, and channels that leave the node") {
  const std::string one = R"(n1:1:2 [0] NCCL INFO comm 0x5 rank 0 nRanks 2 nNodes 1 localRanks 2
n1:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC
)";
  const std::string two = R"(n1:1:2 [0] NCCL INFO comm 0x5 rank 0 nRanks 4 nNodes 2 localRanks 2
n1:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC
n1:1:2 [0] NCCL INFO Channel 00/0 : 1[1] -> 2[0] [send] via NET/Socket/0
)";
  CHECK(changes_in(one, two) == Kinds{CauseClass::transport_changed, CauseClass::ranks_changed});
  const auto back = changes_of(two, one);
  REQUIRE(back.size() == 2);
  CHECK(back.front().effect == FindingEffect::relieves);
  CHECK(mentions(back.back().says, "4 ranks on 2 nodes and has 2 ranks on 1 node"));
}

TEST_CASE("Two sides: another version of the network's plugin") {
  const auto changes =
      changes_of("n1:1:2 [0] NCCL INFO NET/OFI Using aws-ofi-nccl 1.6.0\n",
                 "n1:1:2 [0] NCCL INFO NET/OFI Initializing aws-ofi-nccl 1.9.1-aws\n");
  REQUIRE(changes.size() == 1);
  CHECK(mentions(changes.front().says, "aws-ofi-nccl 1.6.0 and is aws-ofi-nccl 1.9.1-aws"));
}

TEST_CASE("A cut-off last line is used only if the cut cannot change its meaning") {
  const std::string line =
      "n1:1:2 [0] NCCL INFO Channel 01/0 : 0[0] -> 8[0] [send] via NET/IB/1/GDRDMA";
  const std::string before =
      "n1:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n";
  const std::string whole = before + line + "\n";
  for (std::size_t length = 60; length < line.size(); ++length) {
    CAPTURE(line.substr(0, length));
    CHECK(
        kinds_of(find_changes(evidence_of(whole), evidence_of(before + line.substr(0, length)))) ==
        changes_in(whole, before));
  }
}

TEST_CASE("findings: the page explains the evidence of each class") {
  const std::string page = read_file(files::page("docs/reference/evidence.md"), 1 << 20);
  for (const CauseClass what : cause_classes()) {
    if (what > CauseClass::unequal_versions) break;  // not shown by any line of evidence
    CAPTURE(std::string(name_of(what)));
    CHECK(mentions(page, "`" + std::string(name_of(what)) + "`"));
  }
}
