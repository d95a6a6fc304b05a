// What the simulator knows about AMD's GPUs: the rate of xGMI, PyTorch's releases, no TF32 unless
// requested.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>
#include <vector>

#include "data_files.hpp"
#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "ddpsim/models/catalogue.hpp"
#include "ddpsim/models/layer_cost.hpp"
#include "ddpsim/sim/certainty/allreduce_table.hpp"
#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/values/possible_versions.hpp"
#include "ddpsim/topologies/cluster_source.hpp"

using namespace ddpsim;

TEST_CASE("amd: the usable share of xGMI's rate is the one RCCL assumes") {
  CHECK(constants_of(parse_cluster_line("node:1 gpu:8xMI300X xgmi:7x64GBps")).local_share == 0.75);
  CHECK(constants_of(parse_cluster_line("node:1 gpu:8xH100 nvswitch:450GBps")).local_share == 0.82);
}

TEST_CASE("amd: the interval for one node is as wide as for a network") {
  const auto width = [](const char* line) {
    const std::vector<Bytes> sizes = {Bytes(std::int64_t{1} << 28)};
    const AllReduceRow row = all_reduce_table(parse_cluster_line(line), {}, sizes).rows.front();
    return row.high / row.low;
  };
  CHECK(width("node:1 gpu:8xMI300X xgmi:7x64GBps") == doctest::Approx(1.61 / 0.75));
  CHECK(width("node:1 gpu:8xH100 nvlink:14x25GBps:mesh") < 1.4);
}

TEST_CASE("amd: the first PyTorch with ROCm for a GPU; RCCL's version excludes no other") {
  Workload workload;
  Cluster cluster;
  const auto first = [&](const char* gpu) {
    cluster.gpu = find_gpu(gpu).value();
    return possible_versions(workload, cluster, nullptr, {}, {}).front().from;
  };
  CHECK(first("MI250X") == TorchVersion{1, 11});
  CHECK(first("MI300X") == TorchVersion{2, 3});
  CHECK(first("H100") == TorchVersion{2, 0});
  workload.recorded_with.nccl = NcclVersion{2, 20, 5};  // PyTorch 2.3 and 2.4 with CUDA
  const GpuModel amd = find_gpu("MI300X").value();
  const GpuModel nvidia = find_gpu("H100").value();
  cluster.gpu = amd;
  CHECK(possible_versions(workload, cluster, &amd, {}, {}).back().to == kNewestTorch);
  cluster.gpu = nvidia;
  CHECK(possible_versions(workload, cluster, &nvidia, {}, {}).back().to == TorchVersion{2, 4});
}

TEST_CASE("amd: a convolution in fp32 uses no TensorFloat-32 unless it is requested") {
  const Model model = find_model("resnet50").value();
  const auto convolution =
      std::find_if(model.layers.begin(), model.layers.end(),
                   [](const Layer& layer) { return layer.kind == LayerKind::convolution; });
  const auto forward = [&](GpuModel gpu, Precision precision) {
    return layer_cost(*convolution, {std::move(gpu), precision, 64}).forward;
  };
  GpuModel gpu = find_gpu("MI300X").value();
  CHECK(forward(gpu, Precision::fp32) != forward(gpu, Precision::tf32));
  gpu.vendor = GpuVendor::nvidia;
  CHECK(forward(gpu, Precision::fp32) == forward(gpu, Precision::tf32));
}

TEST_CASE("amd: two nodes of eight MI300X are within the interval for networks") {
  const std::filesystem::path path = files::shared_file("data/nccl-tests-more/mi300x-n2g8.txt");
  if (!std::filesystem::exists(path)) {
    MESSAGE("skipped: " << path.string() << " is not there");
    return;
  }
  const MeasuredLog log = read_nccl_tests_log(path, JobShape{2, 8});
  const Cluster cluster =
      parse_cluster_line("node:2 gpu:8xMI300X xgmi:7x64GBps nic:8x400Gbps:roce");
  std::vector<Bytes> sizes;
  for (const MeasuredPoint& point : log.points) sizes.push_back(point.size);
  const AllReduceTable table = all_reduce_table(cluster, {}, sizes);
  double worst_large = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    CAPTURE(sizes[i].count());
    const double ratio = log.points[i].time_us / table.rows[i].time.microseconds();
    CHECK(ratio > 0.66);
    CHECK(ratio < 1.85);
    if (sizes[i] >= Bytes(std::int64_t{1} << 30))
      worst_large = std::max(worst_large, std::abs(std::log(ratio)));
  }
  CHECK(worst_large < 0.08);
  MESSAGE("MI300X, 2x8, from 1 GiB: worst |log(measured / predicted)| ", worst_large);
}
