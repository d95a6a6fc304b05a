#include "trace_origin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <filesystem>

#include "ddpsim/models/transfer.hpp"

namespace ddpsim {
namespace {

void describe_gpu(const TraceOrigin& origin, Imported& result) {
  const TraceHeader& header = origin.header;
  Workload& workload = result.workload;
  workload.gpu = origin.asked_gpu;
  if (!header.gpu_full_name.empty()) {
    const std::string model = gpu_model_token(header.gpu_full_name);
    if (workload.gpu.empty()) workload.gpu = model;
    workload.provenance.emplace_back("gpu_name", header.gpu_full_name);
    result.recognised.push_back(fmt::format("recorded on {}", header.gpu_full_name));
  } else if (workload.gpu.empty()) {
    result.warnings.push_back("the GPU is not recorded; name it with --gpu");
  }
}

void describe_versions(const TraceHeader& header, Workload& workload) {
  // torch.profiler has written Kineto's traces since 1.8. They have held NCCL's version since 2.0.
  workload.torch_at_least = header.nccl_version.empty() ? TorchVersion{1, 8} : TorchVersion{2, 0};
  if (!header.nccl_version.empty()) {
    workload.provenance.emplace_back("nccl", header.nccl_version);
    workload.recorded_with.nccl = parse_nccl_version(header.nccl_version);
  }
}

void describe_ranks(const TraceOrigin& origin, Imported& result) {
  const TraceRecords& records = origin.records;
  const TraceHeader& header = origin.header;
  Workload& workload = result.workload;
  if (header.rank) workload.provenance.emplace_back("rank", std::to_string(*header.rank));
  workload.recorded_with.ddp_hooks = records.ddp_hooks();
  workload.recorded_with.world_size = header.world_size.value_or(records.kernels().empty() ? 1 : 0);
  const std::string world = header.world_size ? std::to_string(*header.world_size)
                            : workload.recorded_with.several_ranks() ? "not known"
                                                                     : "1 (assumed)";
  result.recognised.push_back(
      records.ddp_hooks() ? fmt::format("DDP hooks are in the recording, world size {}", world)
                          : "no DDP hooks are in the recording");
  if (origin.world_of_group)
    result.recognised.push_back(
        fmt::format("distributedInfo does not state the world size. The largest group that a "
                    "collective names has {} ranks, so the job has at least as many",
                    world));
  else if (workload.recorded_with.several_ranks() && !header.world_size)
    result.warnings.push_back(
        fmt::format("the number of ranks is unknown: the recording does not state it, and none of "
                    "{} NCCL kernels names the size of its group",
                    records.kernels().size()));
}

void describe_steps_and_clocks(const TraceRecords& records, Imported& result) {
  if (records.devices() > 1) {
    result.warnings.push_back(fmt::format(
        "activities on {} GPUs; a DDP rank uses one, so times may mix several", records.devices()));
  }
  if (records.step_source() == TraceRecords::StepSource::optimizer) {
    result.recognised.push_back(
        "no ProfilerStep markers: a step lasts from the end of one Optimizer.step to the end of "
        "the next");
  } else if (records.step_source() == TraceRecords::StepSource::whole) {
    result.warnings.push_back(
        "neither ProfilerStep markers nor two optimizer steps: the whole trace is used as one "
        "step");
  }
  if (10 * records.early() > static_cast<std::int64_t>(records.activity_count())) {
    result.warnings.push_back(fmt::format(
        "{} of {} GPU activities start before the host launched them: the two clocks do "
        "not agree, or one of them jumped; times across host and GPU are off",
        records.early(), records.activity_count()));
  }
  if (records.unlaunched() > 0) {
    result.warnings.push_back(
        fmt::format("{} of {} GPU activities have no recorded launch and were left out",
                    records.unlaunched(), records.gpu_activities()));
  }
}

}  // namespace

std::optional<int> ranks_of_largest_group(const TraceRecords& records) {
  std::int64_t most = 0;
  for (const std::deque<Collective>* list : {&records.calls(), &records.kernels()})
    for (const Collective& one : *list) most = std::max(most, one.group_size);
  if (most == 0) return std::nullopt;
  return static_cast<int>(most);
}

void describe_origin(const TraceOrigin& origin, Imported& result) {
  Workload& workload = result.workload;
  const std::string base = std::filesystem::path(origin.file).filename().string();
  workload.name = base.substr(0, base.find(".json"));
  workload.provenance.emplace_back("source", base);
  workload.provenance.emplace_back("kind", "PyTorch profiler trace");
  describe_gpu(origin, result);
  describe_versions(origin.header, workload);
  describe_ranks(origin, result);
  describe_steps_and_clocks(origin.records, result);
}

}  // namespace ddpsim
