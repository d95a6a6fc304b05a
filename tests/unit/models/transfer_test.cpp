#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "ddpsim/models/transfer.hpp"
#include "ddpsim/sim/values/quantile.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "ddpsim/traces/import.hpp"

using namespace ddpsim;

namespace {

ComputeSetting on(const char* gpu, std::int64_t batch) {
  return {.gpu = find_gpu(gpu).value(), .precision = Precision::fp32, .batch = batch};
}

Workload carried(const Workload& workload, const Transfer& transfer) {
  return transferred(workload, recognised_model(workload).value(), transfer);
}

/// Three gradients of AlexNet's last Linears, as a recording would hold them. Everything else is
/// left out.
Workload recorded_alexnet() {
  Workload workload;
  const Model model = find_model("alexnet").value();
  workload.parameters = model.parameters;
  workload.forward = Duration::milliseconds(10);
  workload.optimizer = Duration::milliseconds(1);
  workload.backward.emplace();
  Duration at;
  for (const std::size_t parameter : model.ready_order) {
    at += Duration::milliseconds(1);
    workload.backward->ready.push_back({.parameter = parameter, .at = at, .copied_at = {}});
  }
  workload.backward->duration = at + Duration::milliseconds(1);
  return workload;
}

}  // namespace

TEST_CASE("transfer: nothing changes with the same GPU and batch") {
  const Workload workload = bundled_workload("resnet50-v100-b32").value();
  const Workload same = carried(workload, {on("V100", 32), on("V100", 32)});
  CHECK(static_cast<const Recorded&>(same) == static_cast<const Recorded&>(workload));
}

TEST_CASE("transfer: an estimate keeps its memory format and its optimizer") {
  const EstimateSpec spec = parse_estimate_spec("resnet18@A100:b8:amp:channels_last:adamw:fused");
  const Workload workload = estimate_workload(spec, find_gpu("A100").value());
  const Model model = recognised_model(workload).value();
  CHECK(model.layers.front().channels_last);
  CHECK(model.optimizer == Optimizer::adamw);
  CHECK(model.fused_optimizer);
  EstimateSpec larger = spec;
  larger.batch = 64;
  const Workload direct = estimate_workload(larger, find_gpu("A100").value());
  ComputeSetting from = on("A100", 8);
  from.precision = Precision::amp;
  ComputeSetting to = from;
  to.batch = 64;
  CHECK(*carried(workload, {from, to}).forward / *direct.forward == doctest::Approx(1));
}

TEST_CASE("transfer: a model is recognised by its shapes alone") {
  Workload workload = bundled_workload("resnet101-v100-b64").value();
  for (Parameter& parameter : workload.parameters) parameter.name = "p";
  CHECK(recognised_model(workload).value().name == "resnet101");
  workload.parameters.back().shape = std::vector<std::int64_t>{7};
  CHECK_FALSE(recognised_model(workload).has_value());
  workload.parameters.clear();
  CHECK_FALSE(recognised_model(workload).has_value());
}

TEST_CASE("transfer: every model of the catalogue is recognised, under any name") {
  for (const Model& model : bundled_models()) {
    Workload workload;
    workload.parameters = model.parameters;
    INFO(model.name);
    CHECK(recognised_model(workload).value().name == model.name);
    workload.name = "estimate " + model.name + "@V100";
    CHECK(recognised_model(workload).value().name == model.name);
  }
}

TEST_CASE("transfer: a workload's name only says which model to try first") {
  Workload workload = bundled_workload("resnet101-v100-b64").value();
  for (const char* name : {"estimate resnet101@V100:b64", "estimate vgg16@V100:b64:fp32", "vgg16",
                           "estimate unknown@V100", "", "@", " "}) {
    workload.name = name;
    INFO(name);
    CHECK(recognised_model(workload).value().name == "resnet101");
  }
}

TEST_CASE("transfer: gradients keep their order, and each part has its own ratio") {
  const Workload workload = bundled_workload("resnet50-v100-b32").value();
  const Workload faster = carried(workload, {on("V100", 32), on("A100", 32)});
  CHECK(faster.gpu == "A100");
  const auto& ready = faster.backward->ready;
  CHECK(std::is_sorted(ready.begin(), ready.end(),
                       [](const ReadyEvent& a, const ReadyEvent& b) { return a.at < b.at; }));
  std::vector<double> ratios;
  for (std::size_t k = 0; k < ready.size(); ++k)
    ratios.push_back(workload.backward->ready[k].at / ready[k].at);
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  CHECK(*least > 1);
  CHECK(*most > 1.05 * *least);
  CHECK(*faster.forward < *workload.forward);
  CHECK(*faster.optimizer < *workload.optimizer);
  CHECK(stall(faster) == stall(workload));
  CHECK(faster.carried_over);
  CHECK_FALSE(workload.carried_over);
  // If a forward begins before the last step has ended, the overlap is part of that forward.
  Workload overlapping = workload;
  *overlapping.iteration -= *stall(workload) + workload.forward->scaled(0.25);
  const Workload carried_over = carried(overlapping, {on("V100", 32), on("A100", 32)});
  CHECK(-*stall(carried_over) / *carried_over.forward == doctest::Approx(0.25));
}

TEST_CASE("transfer: steps vary by the same share, and all-reduces of the other GPU are dropped") {
  Workload workload = bundled_workload("resnet50-v100-b32").value();
  StepSample step{
      .name = "1",
      .forward = workload.forward,
      .backward = workload.backward->duration,
      .iteration = workload.iteration->scaled(1.5),
      .collectives = {
          {.bytes = Bytes(8), .launch = {}, .start = {}, .duration = {}, .channels = 1}}};
  workload.steps = {step};
  workload.busy = PartTimes{.forward = workload.forward->scaled(0.5),
                            .backward = workload.backward->duration.scaled(0.25),
                            .optimizer = *workload.optimizer};
  const Workload faster = carried(workload, {on("V100", 32), on("A100", 32)});
  REQUIRE(faster.steps.size() == 1);
  CHECK(faster.steps[0].forward == faster.forward);
  CHECK(*faster.steps[0].backward / faster.backward->duration == doctest::Approx(1));
  CHECK(*faster.steps[0].iteration / *faster.iteration == doctest::Approx(1.5));
  CHECK(faster.steps[0].collectives.empty());
  CHECK(faster.busy->forward / *faster.forward == doctest::Approx(0.5));
  CHECK(faster.busy->backward / faster.backward->duration == doctest::Approx(0.25));
  CHECK(faster.busy->optimizer / *faster.optimizer == doctest::Approx(1));
}

TEST_CASE("transfer: the host keeps its speed, and gradients wait for it") {
  Workload workload = recorded_alexnet();
  for (const ReadyEvent& event : workload.backward->ready)
    workload.host_ready.push_back(event.at - Duration::milliseconds(2));
  const Workload faster = carried(workload, {on("V100", 128), on("H100", 128)});
  const Duration saved = *workload.forward - *faster.forward;
  CHECK(saved > Duration::milliseconds(2));
  for (std::size_t k = 0; k < faster.host_ready.size(); ++k) {
    CHECK(faster.host_ready[k] == workload.host_ready[k] + saved);
    CHECK(faster.backward->ready[k].at >= faster.host_ready[k]);
  }
}

TEST_CASE("transfer: recorded collectives move with the gradients and keep their length") {
  Workload workload = recorded_alexnet();
  const Duration middle = workload.backward->ready[7].at;
  workload.recorded_with.collectives.push_back({.bytes = Bytes(1024),
                                                .launch = middle,
                                                .start = middle,
                                                .duration = Duration::milliseconds(3)});
  const Workload faster = carried(workload, {on("V100", 128), on("H100", 128)});
  const RecordedCollective& collective = faster.recorded_with.collectives.front();
  CHECK(collective.start == faster.backward->ready[7].at);
  CHECK(collective.duration == Duration::milliseconds(3));
}

TEST_CASE("transfer: every rank of a job is rescaled") {
  Workload workload = recorded_alexnet();
  RankRecording other;
  static_cast<Recorded&>(other) = workload;
  other.rank = 1;
  other.backward->duration += Duration::milliseconds(5);
  workload.ranks = {other};
  const Workload faster = carried(workload, {on("V100", 128), on("A100", 128)});
  CHECK(faster.ranks.front().backward->duration < other.backward->duration);
  CHECK(faster.ranks.front().backward->ready.back().at == faster.backward->ready.back().at);
}

TEST_CASE("transfer: samples per step follow the batch") {
  const Workload workload = bundled_workload("resnet50-v100-b32").value();
  const Workload larger = carried(workload, {on("V100", 32), on("V100", 128)});
  CHECK(larger.batch_per_gpu == 128);
  CHECK(larger.samples_per_step == 128);
}

TEST_CASE("transfer: ResNet-50 from batch 32 to 128 compared with a measurement at 128") {
  const Workload measured = bundled_workload("resnet50-v100-b128").value();
  const Workload small = bundled_workload("resnet50-v100-b32").value();
  const Workload predicted = carried(small, {on("V100", 32), on("V100", 128)});
  const double backward = predicted.backward->duration / measured.backward->duration - 1;
  std::vector<double> errors;
  std::vector<double> rival;  // baseline: everything takes four times as long
  for (std::size_t k = 1; k < measured.backward->ready.size(); ++k) {
    const auto at = [&](const Workload& workload) { return workload.backward->ready[k].at; };
    // Compared from the last gradient backwards, as shares of backward. Both tables are cut in the
    // same way.
    errors.push_back(std::abs((at(predicted) - at(measured)) / measured.backward->duration));
    rival.push_back(std::abs((at(small) * 4 - at(measured)) / measured.backward->duration));
  }
  MESSAGE(fmt::format(
      "backward {:+.1f} % (four times: {:+.1f} %); a gradient is off by {:.1f} % of "
      "backward in the median, {:.1f} % at worst (four times: {:.1f}, {:.1f})",
      100 * backward, 100 * (4 * (small.backward->duration / measured.backward->duration) - 1),
      100 * median(errors), 100 * quantile(errors, 1), 100 * median(rival),
      100 * quantile(rival, 1)));
  CHECK(std::abs(backward) <= 0.08);
  CHECK(quantile(errors, 1) <= 0.08);
}

TEST_CASE("transfer: ResNet-50 from V100 to A100 compared with the kernels of an A100 trace") {
  // The trace (DDP, 2 x A100, fp32 with convolutions in TF32) is bound by its host, so its windows
  // say nothing about the GPU. The time of its kernels does: 25.3 ms in backward without copies
  // out, and 39.4 ms in all. Of these, 1.2 ms are copies out and the optimizer.
  constexpr double kBackward_ms = 25.3;
  constexpr double kForward_ms = 39.4 - 25.3 - 1.2;
  const Workload predicted =
      carried(bundled_workload("resnet50-v100-b32").value(), {on("V100", 32), on("A100", 32)});
  const double backward = predicted.backward->duration.milliseconds() / kBackward_ms - 1;
  const double forward = predicted.forward->milliseconds() / kForward_ms - 1;
  MESSAGE(fmt::format("forward {:+.1f} %, backward {:+.1f} %", 100 * forward, 100 * backward));
  CHECK(std::abs(backward) <= 0.15);
  CHECK(std::abs(forward) <= 0.20);
}
