// Compares every iteration of every open trace with its published values.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data_files.hpp"
#include "ddpsim/formats/byte_sources.hpp"
#include "event_reader.hpp"
#include "gradient_ready.hpp"
#include "json_splitter.hpp"
#include "trace_records.hpp"

using namespace ddpsim;

namespace {

const std::filesystem::path kFolder = files::shared_file("data/traces");

nlohmann::json json_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  return nlohmann::json::parse(in);
}

/// The records of a trace that an import uses, for all its steps.
TraceRecords records_of(const std::string& slug) {
  const std::string file = (kFolder / (slug + ".json.gz")).string();
  const ByteSource source = gzip_source(file_source(file), file);
  JsonSplitter splitter(source, file);
  EventReader reader(splitter);
  TraceRecords records;
  for (EventBatch batch = splitter.next(); !batch.text.empty(); batch = splitter.next()) {
    reader.read(batch, [&](const TraceEvent& event) { records.add(event); });
  }
  records.finish();
  return records;
}

/// The largest error so far, and its place.
struct Worst {
  double error = 0;
  std::string where = "none";
  void note(double value, double truth, const std::string& place, double scale = 1) {
    const double off = std::abs(value - truth) / scale;
    if (off > error) {
      error = off;
      where = place;
    }
  }
};

struct GroundErrors {
  Worst ready_us;
  Worst copied_us;
  Worst window;  ///< forward, backward and busy time, relative
  Worst collective_us;
};

double microseconds(std::int64_t from_ns, std::int64_t to_ns) {
  return static_cast<double>(to_ns - from_ns) / 1e3;
}

void check_step(const RecordedStep& step, const nlohmann::json& truth, const std::string& name,
                GroundErrors& errors) {
  CAPTURE(name);
  const auto number = [&](const char* key) { return truth.at(key).get<double>(); };
  const double forward = number("forward_gpu_window_us");
  const double backward = number("backward_compute_window_us");
  const double busy = number("all_noncomm_busy_us");
  errors.window.note(microseconds(step.first_ns, step.backward_start_ns), forward,
                     name + " forward", forward);
  errors.window.note(microseconds(step.backward_start_ns, step.backward_end_ns), backward,
                     name + " backward", backward);
  errors.window.note(microseconds(0, step.busy.between(step.first_ns, step.last_ns)), busy,
                     name + " busy", busy);
  const auto& gradients = truth.at("accumulate_grad");
  REQUIRE(step.gradients.size() == gradients.size());
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    const RecordedGradient& gradient = step.gradients[k];
    const nlohmann::json& one = gradients[k];
    const std::string place = fmt::format("{} gradient {}", name, k);
    if (one.at("ready_gpu_rel").is_null()) continue;
    errors.ready_us.note(microseconds(step.first_ns, gradient.ready_ns), one.at("ready_gpu_rel"),
                         place);
    if (gradient.copied_ns) {
      errors.copied_us.note(microseconds(step.first_ns, *gradient.copied_ns),
                            one.at("ready_incl_hook_rel"), place);
    }
    REQUIRE((gradient.tensor != nullptr) == !one.at("shape").is_null());
    if (gradient.tensor != nullptr) {
      CHECK(gradient.tensor->shape == one.at("shape").get<std::vector<std::int64_t>>());
    }
  }
  CHECK(step.nccl_kernels == static_cast<std::int64_t>(truth.at("nccl").size()));
  std::vector<Bytes> bytes;
  std::vector<double> starts;
  for (const nlohmann::json& kernel : truth.at("nccl")) {
    const std::string operation = kernel.at("collective");
    if (kernel.at("issued_by") != "autograd" || operation.find("all_reduce") == std::string::npos) {
      if (operation != "allreduce") continue;
    }
    starts.push_back(kernel.at("start_rel"));
    if (!kernel.at("bytes").is_null()) bytes.emplace_back(kernel.at("bytes").get<std::int64_t>());
  }
  if (bytes.empty()) return;  // no size was recorded, or no all-reduce ran
  CHECK(step.bucket_bytes == bytes);
  REQUIRE(step.reducer.size() == starts.size());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    errors.collective_us.note(microseconds(step.first_ns, step.reducer[i].start_ns), starts[i],
                              fmt::format("{} all-reduce {}", name, i));
  }
}

}  // namespace

TEST_CASE("profiler trace: every iteration of every open trace is as published") {
  if (!std::filesystem::exists(kFolder / "index.json")) {
    MESSAGE("skipped: the open traces are not beside this checkout");
    return;
  }
  GroundErrors errors;
  int steps = 0;
  const nlohmann::json index = json_of(kFolder / "index.json");
  for (const nlohmann::json& entry : index.at("traces")) {
    const std::string slug = entry.at("slug");
    CAPTURE(slug);
    const nlohmann::json truth = json_of(kFolder / (slug + ".gt.json"));
    const TraceRecords records = records_of(slug);
    CHECK(records.unlaunched() == truth.at("no_launch_found").get<std::int64_t>());
    const auto& iterations = truth.at("iterations");
    REQUIRE(records.steps().size() == iterations.size());
    for (std::size_t i = 0; i < iterations.size(); ++i, ++steps) {
      const auto step = recorded_step(records, i);
      REQUIRE(step.has_value());
      const std::string name = slug + " " + iterations[i].at("name").get<std::string>();
      check_step(*step, iterations[i], name, errors);
      if (i + 1 < iterations.size()) {
        const double period = iterations[i].at("gpu_iter_period_us");
        errors.window.note(microseconds(step->first_ns, *first_activity(records, i + 1)), period,
                           name + " period", period);
      }
    }
  }
  const auto show = [](const char* what, const Worst& worst) {
    return fmt::format("{}: worst {:.3g} ({})\n", what, worst.error, worst.where);
  };
  MESSAGE(steps << " steps\n"
                << show("gradient ready, us", errors.ready_us)
                << show("gradient copied, us", errors.copied_us)
                << show("windows, relative", errors.window)
                << show("all-reduce start, us", errors.collective_us));
  CHECK(steps >= 56);
  CHECK(errors.ready_us.error <= 1);
  CHECK(errors.copied_us.error <= 1);
  CHECK(errors.window.error <= 1e-3);
  CHECK(errors.collective_us.error <= 1);
}
