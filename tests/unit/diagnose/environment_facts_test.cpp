// Environments as `env`, NCCL, lscpu and torchrun write them: which values cost time, and which are
// defaults that tell nothing.
#include "ddpsim/diagnose/evidence/environment_facts.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "evidence_text.hpp"
#include "mentions.hpp"

using namespace ddpsim;
using namespace ddpsim::evidence_text;

namespace {

struct EnvironmentCase {
  std::string line;
  CauseClass what;
  std::string default_line;
};

}  // namespace

TEST_CASE("environment: a costly value is a finding with its cost, the default is not") {
  const std::vector<EnvironmentCase> cases = {
      {"NCCL_P2P_DISABLE=1", CauseClass::peer_to_peer_off, "NCCL_P2P_DISABLE=0"},
      {"NCCL_P2P_LEVEL=LOC", CauseClass::peer_to_peer_off, "NCCL_P2P_LEVEL=NVL"},
      {"NCCL_SHM_DISABLE=1", CauseClass::shared_memory_off, "NCCL_SHM_DISABLE=0"},
      {"NCCL_IB_DISABLE=1", CauseClass::socket_instead_of_ib, "NCCL_IB_DISABLE=0"},
      {"NCCL_NET=Socket", CauseClass::socket_instead_of_ib, "NCCL_NET=IB"},
      {"NCCL_NET_GDR_LEVEL=LOC", CauseClass::gpudirect_off, "NCCL_NET_GDR_LEVEL=PHB"},
      {"NCCL_NET_GDR_READ=0", CauseClass::gpudirect_off, "NCCL_NET_GDR_READ=1"},
      {"NCCL_DMABUF_ENABLE=0", CauseClass::gpudirect_off, "NCCL_DMABUF_ENABLE=1"},
      {"NCCL_PXN_DISABLE=1", CauseClass::pxn_changed, "NCCL_PXN_DISABLE=0"},
      {"NCCL_MAX_NCHANNELS=2", CauseClass::channels_limited, "NCCL_MAX_NCHANNELS=-2"},
      {"NCCL_MIN_NCHANNELS=32", CauseClass::channels_limited, "NCCL_MIN_NCHANNELS=-2"},
      {"NCCL_MAX_CTAS=4", CauseClass::channels_limited, "NCCL_MAX_CTAS="},
      {"NCCL_ALGO=Ring", CauseClass::algorithm_forced, "NCCL_ALGO="},
      {"NCCL_PROTO=^LL128", CauseClass::algorithm_forced, "NCCL_PROTO="},
      {"NCCL_TREE_THRESHOLD=0", CauseClass::algorithm_forced, "NCCL_TREE_THRESHOLD=2147483647"},
      {"NCCL_NVLS_ENABLE=0", CauseClass::in_switch_off, "NCCL_NVLS_ENABLE=2"},
      {"NCCL_CHECK_POINTERS=1", CauseClass::nccl_setting, "NCCL_CHECK_POINTERS=0"},
      {"NCCL_DEBUG=TRACE", CauseClass::debug_level, "NCCL_DEBUG=INFO"},
      {"CUDA_LAUNCH_BLOCKING=1", CauseClass::blocking_launches, "CUDA_LAUNCH_BLOCKING=0"},
      {"CUDA_DEVICE_MAX_CONNECTIONS=1", CauseClass::device_connections,
       "CUDA_DEVICE_MAX_CONNECTIONS=8"},
      {"TORCH_NCCL_BLOCKING_WAIT=1", CauseClass::blocking_wait, "TORCH_NCCL_BLOCKING_WAIT=0"},
      {"NCCL_BLOCKING_WAIT=true", CauseClass::blocking_wait, "NCCL_BLOCKING_WAIT=false"},
      {"TORCH_DISTRIBUTED_DEBUG=DETAIL", CauseClass::debug_level, "TORCH_DISTRIBUTED_DEBUG=OFF"},
      {"TORCH_NCCL_DESYNC_DEBUG=1", CauseClass::debug_level, "TORCH_NCCL_DESYNC_DEBUG=0"},
      {"PYTORCH_NO_CUDA_MEMORY_CACHING=1", CauseClass::allocator_uncached,
       "PYTORCH_NO_CUDA_MEMORY_CACHING=0"},
      {"NVIDIA_TF32_OVERRIDE=0", CauseClass::tensor_cores_off, "NVIDIA_TF32_OVERRIDE=1"}};
  for (const EnvironmentCase& known : cases) {
    CAPTURE(known.line);
    const std::vector<Finding> findings = problems_of("HOME=/root\n" + known.line + "\n");
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].what == known.what);
    CHECK(findings[0].place == "evidence.txt:2");
    CHECK(mentions(findings[0].says, known.line));
    CHECK(problems_of(known.default_line + "\n").empty());
    CHECK(problems_of("unrelated " + known.line + "\n").empty());
  }
}

TEST_CASE("environment: read from NCCL's lines and from a shell's exports") {
  CHECK(problems_of("h:1:2 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1.\n").size() == 1);
  CHECK(problems_of("NCCL_P2P_LEVEL set by environment to LOC\n").size() == 1);
  CHECK(problems_of("export CUDA_LAUNCH_BLOCKING=\"1\"\n").size() == 1);
  CHECK(problems_of("declare -x CUDA_LAUNCH_BLOCKING='1'\n").size() == 1);
  // A sentence that begins with a setting, Python text, and names that nobody exports.
  CHECK(problems_of("NCCL_P2P_DISABLE=1 brought it back to 34 GB/s\n").empty());
  CHECK(problems_of("'NCCL_P2P_DISABLE=1'\nNccl_p2p_disable=1\n").empty());
  const Evidence evidence = evidence_of("NCCL_NET=AWS Libfabric\n");
  REQUIRE(evidence.environment.find("NCCL_NET") != nullptr);
  CHECK(evidence.environment.find("NCCL_NET")->value == "AWS Libfabric");
}

TEST_CASE("environment: what cannot matter to the job is not reported") {
  const std::string one_gpu_a_node =
      "h:1:2 [0] NCCL INFO comm 0x1 rank 0 nRanks 3 nNodes 3 localRanks 1 localRank 0 MNNVL 0\n";
  const std::string one_node =
      "h:1:2 [0] NCCL INFO comm 0x1 rank 0 nRanks 8 nNodes 1 localRanks 8 localRank 0 MNNVL 0\n";
  CHECK(problems_of(one_gpu_a_node + "NCCL_P2P_LEVEL set by environment to LOC\n").empty());
  CHECK(problems_of(one_node + "NCCL_P2P_LEVEL set by environment to LOC\n").size() == 1);
  CHECK(problems_of(one_node + "NCCL_IB_DISABLE set by environment to 1\n").empty());
  CHECK(problems_of(one_gpu_a_node + "NCCL_IB_DISABLE set by environment to 1\n").size() == 1);
}

TEST_CASE("environment: a subsystem that prints at each call, at level INFO") {
  CHECK(problems_of("NCCL_DEBUG=INFO\nNCCL_DEBUG_SUBSYS=INIT,COLL\n").size() == 1);
  CHECK(problems_of("NCCL_DEBUG=INFO\nNCCL_DEBUG_SUBSYS=ALL\n").size() == 1);
  CHECK(problems_of("NCCL_DEBUG=INFO\nNCCL_DEBUG_SUBSYS=INIT,GRAPH,TUNING\n").empty());
  CHECK(problems_of("NCCL_DEBUG=WARN\nNCCL_DEBUG_SUBSYS=ALL\n").empty());
}

TEST_CASE("environment: threads of all ranks of a node against its cores") {
  const std::string node = "OMPI_COMM_WORLD_LOCAL_SIZE=8\nCPU(s):                             64\n";
  std::vector<Finding> findings = problems_of(node);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].what == CauseClass::host_threads);
  CHECK(mentions(findings[0].says, "each of 8 ranks starts a thread for each of 64 cores"));
  CHECK(mentions(findings[0].says, "Set it to 8 or less"));
  findings = problems_of(node + "OMP_NUM_THREADS=16\n");
  REQUIRE(findings.size() == 1);
  CHECK(mentions(findings[0].says, "128 threads for 64 cores"));
  CHECK(problems_of(node + "OMP_NUM_THREADS=8\n").empty());
  findings = problems_of(node + "OMP_NUM_THREADS=1\n");
  REQUIRE(findings.size() == 1);
  CHECK(mentions(findings[0].says, "one of the 8 cores"));
  // torchrun's default is nobody's choice, and without cores nothing can be said.
  CHECK(problems_of(node + "OMP_NUM_THREADS=1\nTORCHELASTIC_RUN_ID=none\n").empty());
  CHECK(problems_of(node +
                    "Setting OMP_NUM_THREADS environment variable for each process to be 1 in "
                    "default, to avoid your system being overloaded\n")
            .empty());
  CHECK(problems_of("OMPI_COMM_WORLD_LOCAL_SIZE=8\n").empty());
  // The launcher is unknown, so 1 may be torchrun's default.
  const std::string by_nccl =
      "h:1:2 [0] NCCL INFO comm 0x1 rank 0 nRanks 8 nNodes 1 localRanks 8 localRank 0 MNNVL 0\n"
      "cores=64\n";
  CHECK(problems_of(by_nccl + "OMP_NUM_THREADS=1\n").empty());
  CHECK(problems_of(by_nccl + "HOME=/root\n").empty());
  REQUIRE(problems_of(by_nccl + "OMP_NUM_THREADS=16\n").size() == 1);
  CHECK(problems_of("LOCAL_WORLD_SIZE=1\nCPU(s): 64\n").empty());
}

TEST_CASE("environment: cores that a rank may run on, as /proc lists them") {
  REQUIRE(problems_of("cores=64\nCpus_allowed_list=5\n").size() == 1);
  CHECK(mentions(problems_of("cores=64\nCpus_allowed_list=5\n")[0].says, "on only 1 of 64 cores"));
  CHECK(problems_of("cores=64\nCpus_allowed_list=0,8\n").size() == 1);
  CHECK(problems_of("cores=64\nCpus_allowed_list=0,4,8\n").empty());
  CHECK(problems_of("cores=8\nCpus_allowed_list=0,4\n").size() == 1);  // a quarter of the node
  CHECK(problems_of("cores=7\nCpus_allowed_list=0,4\n").empty());
  CHECK(problems_of("cores=64\nCpus_allowed_list=0-3,8\n").empty());
  CHECK(problems_of("cores=4\nCpus_allowed_list=0-1\n").empty());
  CHECK(problems_of("cores=64\nCpus_allowed_list=7-3\n").empty());
}

TEST_CASE("environment: versions, and a value that was hidden") {
  std::vector<Finding> findings =
      changes_of("torch=2.12.0\nkernel=6.1\n", "torch=2.13.0\nkernel=6.1\n");
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].what == CauseClass::version_changed);
  CHECK(mentions(findings[0].says, "torch was 2.12.0 and is 2.13.0"));
  // The Python that collected the versions may not be the job's; the kernel is the same for all.
  CHECK(changes_of("torch=2.12.0\nseen_by=collect.sh\n", "torch=2.13.0\nseen_by=collect.sh\n")
            .empty());
  CHECK(changes_of("torch=2.12.0\nseen_by=job\n", "torch=2.13.0\nseen_by=job\n").size() == 1);
  CHECK(
      changes_of("seen_by=collect.sh\nkernel=5.15\n", "seen_by=collect.sh\nkernel=6.1\n").size() ==
      1);
  CHECK(problems_of("NCCL_P2P_DISABLE=<hidden>\n").empty());
  CHECK(changes_of("NCCL_P2P_DISABLE=<hidden>\n", "NCCL_P2P_DISABLE=1\n").size() == 1);
}

TEST_CASE("environment: changed, set or unset; unknown if nobody listed it") {
  std::vector<Finding> findings = changes_of("NCCL_BUFFSIZE=4194304\n", "NCCL_BUFFSIZE=1048576\n");
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].what == CauseClass::environment_changed);
  CHECK(mentions(findings[0].says, "NCCL_BUFFSIZE was \"4194304\" and is \"1048576\""));
  findings = changes_of("HOME=/root\n", "NCCL_CROSS_NIC=1\n");
  REQUIRE(findings.size() == 1);
  CHECK(mentions(findings[0].says, "was not set"));
  CHECK(findings[0].place == "evidence.txt:1");
  findings = changes_of("NCCL_CROSS_NIC=1\n", "HOME=/root\n");
  REQUIRE(findings.size() == 1);
  CHECK(mentions(findings[0].says, "is not set"));
  CHECK(findings[0].place == "NCCL_CROSS_NIC");
  // A value that costs by itself is reported once.
  findings = changes_of("HOME=/root\n", "CUDA_LAUNCH_BLOCKING=1\n");
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].what == CauseClass::blocking_launches);
  // It was there before, so it is no change.
  CHECK(changes_of("CUDA_LAUNCH_BLOCKING=1\n", "CUDA_LAUNCH_BLOCKING=1\n").empty());
  // NCCL's log names only what it read, so variables that it does not name are unknown.
  CHECK(changes_of("h:1:2 [0] NCCL INFO NCCL_CROSS_NIC set by environment to 1\n",
                   "h:1:2 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.1<0>\n")
            .empty());
  CHECK(changes_of("TORCHELASTIC_RUN_ID=a\nHOME=/a\n", "TORCHELASTIC_RUN_ID=b\nHOME=/b\n").empty());
}

TEST_CASE("environment: read from /proc/PID/environ, separated by zero bytes") {
  std::string block = "PWD=/job\nNCCL_P2P_DISABLE=1\nNCCL_BUFFSIZE=65536\nWORLD_SIZE=8\n";
  const std::string lines = block;
  for (char& c : block)
    if (c == '\n') c = '\0';
  const Evidence evidence = evidence_of(block);
  CHECK(evidence.environment.listed == 4);
  REQUIRE(evidence.environment.find("NCCL_P2P_DISABLE") != nullptr);
  CHECK(evidence.environment.find("NCCL_P2P_DISABLE")->place == "evidence.txt:1, setting 2");
  CHECK(changes_of(lines, block).empty());
  CHECK(kinds_of(changes_of("PWD=/job\nNCCL_BUFFSIZE=131072\nWORLD_SIZE=8\n", block)) ==
        Kinds{CauseClass::peer_to_peer_off, CauseClass::environment_changed});
}

TEST_CASE("environment: a fault that is gone keeps its class if the new side would show it") {
  const auto gone = changes_of("PWD=/\nCUDA_LAUNCH_BLOCKING=1\n", "PWD=/\n");
  REQUIRE(kinds_of(gone) == Kinds{CauseClass::blocking_launches});
  CHECK(gone.front().effect == FindingEffect::relieves);
  CHECK(kinds_of(changes_of("PWD=/\nNCCL_IB_DISABLE=1\n", "PWD=/\n")) ==
        Kinds{CauseClass::socket_instead_of_ib});
  // NCCL lists none of CUDA's variables.
  CHECK(find_repairs(evidence_of("PWD=/\nCUDA_LAUNCH_BLOCKING=1\n"),
                     evidence_of("n1:1:2 [0] NCCL INFO NCCL version 2.21.5+cuda12.4\n"
                                 "n1:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 16 cudaDev 0 busId "
                                 "1000 - Init COMPLETE\n"))
            .empty());
}
