// How trees between nodes differ from rings without a calibration.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "collective_words.hpp"
#include "data_files.hpp"
#include "ddpsim/sim/certainty/allreduce_table.hpp"
#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/collective.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "open_logs.hpp"
#include "pipeline_cost.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

const std::string kNode = " gpu:4xA100 nvswitch:300GBps nic:";

double all_reduce_us(Algorithm algorithm, Protocol protocol, Bytes size, const Cluster& cluster,
                     int channels = 16) {
  const CollectiveChoice choice{.algorithm = algorithm, .protocol = protocol, .channels = channels};
  return cost(kAllReduce, choice, size, cluster).microseconds();
}

}  // namespace

TEST_CASE("tree factors: by nodes, NICs for each GPU, network and generation") {
  const auto of = [](const std::string& line) { return tree_factors(parse_cluster_line(line)); };
  const TreeFactors lone = of("node:1 gpu:4xA100 nvswitch:300GBps");
  CHECK(lone.start == 1);
  CHECK(lone.simple_hop == 1);
  CHECK(lone.network == 1);
  CHECK(std::isinf(lone.simple_gbps));
  CHECK(of("node:2" + kNode + "4x200Gbps:ib").network == 1);
  CHECK(of("node:2" + kNode + "8x200Gbps:ib").network == 1);
  CHECK(of("node:2" + kNode + "2x200Gbps:ib").network == 0.55);
  CHECK(of("node:3" + kNode + "2x200Gbps:ib").network == 0.7);
  CHECK(of("node:3" + kNode + "4x200Gbps:ib").network == 0.7);
  CHECK(of("node:2" + kNode + "4x200Gbps:ib").start == 0.3);
  CHECK(of("node:2" + kNode + "4x200Gbps:ib").simple_hop == 1);
  CHECK(of("node:2" + kNode + "4x200Gbps:slingshot").simple_hop == 0.3);
}

TEST_CASE(
    "tree factors: a thread block of Blackwell divides its rate among all its reads and writes") {
  const auto of = [](const std::string& line) { return tree_factors(parse_cluster_line(line)); };
  const auto rate = [&](const std::string& line, double touched) {
    CAPTURE(line);
    CHECK(of(line).ll128_gbps == doctest::Approx(0.3 * 79 / touched));
    CHECK(of(line).simple_gbps == doctest::Approx(0.4 * 79 / touched));
  };
  // A share of 0.4 of its threads broadcasts (0.3 with LL128). They read once, write the result,
  // and write once more for every child.
  const std::string b200 = " gpu:8xB200 nvswitch:900GBps nic:8x400Gbps:ib";
  rate("node:1 gpu:2xB200 nvswitch:900GBps", 2);
  rate("node:1 gpu:8xB200 nvswitch:900GBps", 3);
  rate("node:2" + b200, 3);
  rate("node:3" + b200, 4);
  rate("node:4" + b200, 5);
  rate("node:64" + b200, 5);
  rate("node:64 gpu:1xB200 nic:1x400Gbps:ib", 4);
  CHECK(of("node:3" + b200).network == 1);
  // If two GPUs share the edges, or before Blackwell, links are the limit in all known cases.
  CHECK(std::isinf(of("node:3 gpu:8xGB200 nvswitch:900GBps nic:8x400Gbps:ib").simple_gbps));
  CHECK(std::isinf(of("node:4 gpu:8xB200 nvswitch:900GBps nic:4x400Gbps:ib").simple_gbps));
  CHECK(std::isinf(of("node:4 gpu:8xH100 nvswitch:450GBps nic:8x400Gbps:ib").simple_gbps));
  CHECK(of("node:4 gpu:8xB200 nvswitch:900GBps nic:4x400Gbps:ib").network == 0.7);
}

TEST_CASE("tree factors: whether all edges of a tree end at one GPU of a node") {
  const auto at_one = [](const std::string& line) {
    return parse_cluster_line(line).tree_at_one_gpu;
  };
  CHECK(at_one("node:2 gpu:8xH100 nvswitch:450GBps nic:8x400Gbps:ib"));
  CHECK(at_one("node:2 gpu:8xB200 nvswitch:900GBps nic:8x400Gbps:ib"));
  CHECK(at_one("node:2 gpu:4xGH200 nvswitch:450GBps nic:4x200Gbps:slingshot"));
  CHECK(at_one("node:2 gpu:1xA100 nic:1x200Gbps:ib"));
  // Two GPUs share a NIC, as on Grace. Ampere's search continues until it finds two.
  CHECK_FALSE(at_one("node:2 gpu:8xH100 nvswitch:450GBps nic:4x400Gbps:ib"));
  CHECK_FALSE(at_one("node:2 gpu:8xGB200 nvswitch:900GBps nic:8x400Gbps:ib"));
  CHECK_FALSE(at_one("node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib"));
  CHECK_FALSE(at_one("node:1 gpu:8xH100 nvswitch:450GBps"));
}

TEST_CASE("tree factors: trees over three NVLink domains of GB200 fill their NICs") {
  // For 16 GiB with NVLS off, trees have 486 GB/s with 8 GPUs a domain and 234 with 4; rings have
  // 394 and 197.
  const auto busbw = [](const std::string& gpus, Algorithm algorithm) {
    const Cluster cluster = parse_cluster_line(
        "node:3 gpu:" + gpus + "xGB200 nvswitch:900GBps nic:" + gpus + "x400Gbps:ib");
    const Bytes size = 16384_MiB;
    const double us = all_reduce_us(algorithm, Protocol::simple, size, cluster);
    return busbw_gbps(size, Duration::microseconds(us), cluster.ranks());
  };
  CHECK(busbw("8", Algorithm::tree) == doctest::Approx(486).epsilon(0.05));
  CHECK(busbw("4", Algorithm::tree) == doctest::Approx(234).epsilon(0.05));
  CHECK(busbw("8", Algorithm::ring) == doctest::Approx(394).epsilon(0.06));
  CHECK(busbw("4", Algorithm::ring) == doctest::Approx(197).epsilon(0.06));
}

TEST_CASE("tree factors: none on a calibrated cluster, whose logs contain trees") {
  Cluster cluster = parse_cluster_line("node:8" + kNode + "2x200Gbps:slingshot");
  Calibration calibration;
  calibration.constants = constants_of(cluster);
  calibration.shapes = {{8, 4, Bytes(8), 1024_MiB, "here"}};
  cluster.calibration = std::make_shared<const Calibration>(calibration);
  const TreeFactors factors = tree_factors(cluster);
  CHECK(factors.start == 1);
  CHECK(factors.simple_hop == 1);
  CHECK(factors.network == 1);
  CHECK(std::isinf(factors.simple_gbps));
}

TEST_CASE("tree factors: rings ignore them, trees use each") {
  const Cluster nics = parse_cluster_line("node:2" + kNode + "4x100Gbps:ib");
  const Cluster shared = parse_cluster_line("node:2" + kNode + "2x200Gbps:ib");
  const auto ratio = [&](Algorithm algorithm) {
    return all_reduce_us(algorithm, Protocol::simple, 4096_MiB, shared) /
           all_reduce_us(algorithm, Protocol::simple, 4096_MiB, nics);
  };
  CHECK(ratio(Algorithm::ring) == doctest::Approx(1).epsilon(0.01));
  CHECK(ratio(Algorithm::tree) == doctest::Approx(1 / 0.55).epsilon(0.01));
  // Launch and 0.3 of the start are left. Of a hop of 82 us, a tree of Simple takes 0.3.
  const Cluster slingshot = parse_cluster_line("node:2" + kNode + "4x200Gbps:slingshot");
  const auto terms = [&](Algorithm algorithm) {
    const CollectiveChoice one{.algorithm = algorithm, .protocol = Protocol::simple, .channels = 1};
    return pipeline_terms(kAllReduce, one, 1_MiB, slingshot);
  };
  CHECK(terms(Algorithm::ring).start_us == doctest::Approx(7 + 38));
  CHECK(terms(Algorithm::tree).start_us == doctest::Approx(7 + 0.3 * 38));
  CHECK(terms(Algorithm::ring).network_hop_us == doctest::Approx(82));
  CHECK(terms(Algorithm::tree).network_hop_us == doctest::Approx(0.3 * 82));
}

TEST_CASE("tree factors: from LL to LL128 two nodes of DGX A100 grow as logs do") {
  // Logs grow by 1.05 to 1.56 per doubling of the size at this border. The model had 2.2 before
  // trees had a start of their own.
  const Cluster cluster = parse_cluster_line("node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib");
  const double before = all_reduce_us(Algorithm::tree, Protocol::ll, 128_KiB, cluster);
  const double after = all_reduce_us(Algorithm::tree, Protocol::ll128, 256_KiB, cluster);
  CHECK(after / before < 1.6);
}

TEST_CASE("tree factors: trees of 8 to 512 B200, by algorithm") {
  const std::filesystem::path path =
      files::shared_file("data/nccl-tests-more/known_algorithm_b200_32GiB.csv");
  if (!std::filesystem::exists(path)) {
    MESSAGE("skipped: the measured logs are not here");
    return;
  }
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  int rows = 0;
  while (std::getline(file, line)) {
    std::istringstream cells(line);
    std::vector<std::string> row;
    for (std::string cell; std::getline(cells, cell, ',');) row.push_back(cell);
    const Cluster cluster =
        parse_cluster_line("node:" + row[0] + " gpu:8xB200 nvswitch:900GBps nic:8x400Gbps:ib");
    CAPTURE(row[0]);
    const Bytes size = 32768_MiB;
    // NCCL's search finds twice as many channels in one node.
    const double us = all_reduce_us(Algorithm::tree, Protocol::simple, size, cluster,
                                    cluster.nodes == 1 ? 32 : 16);
    const double busbw = busbw_gbps(size, Duration::microseconds(us), cluster.ranks());
    MESSAGE(row[0] << " nodes: " << busbw << " GB/s, measured " << row[3]);
    CHECK(busbw == doctest::Approx(std::stod(row[3])).epsilon(0.08));  // one constant for all
    ++rows;
  }
  CHECK(rows == 7);
}
