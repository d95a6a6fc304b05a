// DDP logging data: true order and buckets, assumed ready times, and messages for wrong logs.
#include "ddpsim/traces/ddp_log.hpp"
#include "complaint.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "data_files.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/sim/step/bucket_assignment.hpp"
#include "ddpsim/traces/workload_file.hpp"
#include "mentions.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

using OrderedJson = nlohmann::ordered_json;

/// ResNet-18 in two gloo processes, bucket_cap_mb=5, PyTorch 1.13. The times are made up.
OrderedJson logged_resnet18() {
  std::ifstream file(files::fixture_file("ddp-log-resnet18.json"));
  return OrderedJson::parse(file);
}

/// Three parameters of an unknown model.
OrderedJson unknown_model() {
  return {{"module_name", "Net"},
          {"world_size", 4},
          {"rank", 1},
          {"num_parameter_tensors", 3},
          {"total_parameter_size_bytes", 96},
          {"bucket_cap_bytes", 64},
          {"bucket_sizes", "96"},
          {"rebuilt_bucket_sizes", "64, 32"},
          {"rebuilt_per_bucket_param_indices", "2 0, 1"},
          {"prev_iteration_grad_ready_order_indices", "2, 0, 1"},
          {"backward_compute_time", 9'000'000},
          {"forward_compute_time", 4'000'000}};
}

Imported imported_log(const OrderedJson& log, const ImportOptions& options = {}) {
  return parse_ddp_log(log.dump(), "log.json", options);
}

std::string log_complaint(const std::string& text, const ImportOptions& options = {}) {
  return complaint_of([&] { parse_ddp_log(text, "log.json", options); });
}

}  // namespace

TEST_CASE("DDP log: shapes come from the only model that fills the logged buckets") {
  const Imported result = imported_log(logged_resnet18(), {.gpu = "V100"});
  const Workload& workload = result.workload;
  CHECK(mentions(result.recognised, "used those of resnet18"));
  CHECK(workload.parameters.size() == 62);
  CHECK(workload.gpu == "V100");
  CHECK(workload.recorded_with.ddp_hooks);
  CHECK(workload.recorded_with.world_size == 2);
  CHECK(workload.recorded_with.nccl_kernels == 0);  // gloo
  CHECK(workload.recorded_with.exposed == 8_ms);    // 150 - 142 ms
  CHECK(workload.forward == 60_ms);
  CHECK(workload.backward->duration == 190_ms);
  REQUIRE(workload.backward->ready.size() == 62);
  CHECK(workload.parameters[workload.backward->ready.front().parameter].name == "fc.bias");
  CHECK(mentions(result.warnings, "as in the bundled resnet18-v100-b256. This assumption"));
  const Workload recorded = bundled_workload("resnet18-v100-b256").value();
  const auto share = [](const Workload& of, std::size_t k) {
    return of.backward->ready[k].at / of.backward->duration;
  };
  CHECK(share(workload, 30) == doctest::Approx(share(recorded, 30)).epsilon(0.02));
  CHECK(mentions(result.recognised, "--bucket-cap-mb 5"));
  const std::string text = format_workload(workload);
  CHECK(format_workload(parse_workload(text, "w.json")) == text);
}

TEST_CASE("DDP log: the buckets assigned from it equal the ones DDP rebuilt") {
  const Imported result = imported_log(logged_resnet18());
  REQUIRE(result.ddp_log);
  CHECK(result.ddp_log->options.bucket_cap_mb == 5);
  const DdpOptions options = result.ddp_log->options;
  const std::vector<Bucket> buckets = steady_buckets(result.workload, options, {1, 13});
  CHECK_FALSE(first_difference(buckets, result.ddp_log->rebuilt_bytes).has_value());
  // An explicit cap removes the small first bucket.
  CHECK(first_difference(steady_buckets(result.workload, options, {2, 8}),
                         result.ddp_log->rebuilt_bytes) == 0);
}

TEST_CASE("DDP log: another model, half precision, no model") {
  CHECK(log_complaint(logged_resnet18().dump(), {.model = "resnet50"}).find("resnet50 has 161") !=
        std::string::npos);
  // Two parameters are swapped between buckets. Their number and total stay, so only the buckets
  // show it.
  OrderedJson swapped = logged_resnet18();
  std::string members = swapped["rebuilt_per_bucket_param_indices"];
  REQUIRE(members.starts_with("61 60, 58"));
  swapped["rebuilt_per_bucket_param_indices"] = "61 58, 60" + members.substr(9);
  CHECK(log_complaint(swapped.dump(), {.model = "resnet18"})
            .find("does not fit resnet18: its parameters 61 58 have") != std::string::npos);
  CHECK_FALSE(imported_log(swapped).workload.parameters[0].shape.has_value());

  OrderedJson half = logged_resnet18();
  half["dtypes"] = "c10::Half";
  CHECK(log_complaint(half.dump(), {.model = "resnet18"})
            .find("its parameters have 23379024 bytes") != std::string::npos);

  const Imported unknown = imported_log(unknown_model());
  // because DDP's indices are
  CHECK(unknown.workload.parameter_order == ParameterOrder::definition);
  CHECK(unknown.workload.backward->ready[0].parameter == 2);
  CHECK(unknown.workload.backward->ready[0].at == 3_ms);
  CHECK(mentions(unknown.warnings, "spread evenly over backward. This assumption"));
  CHECK(mentions(unknown.warnings, "--model"));
}

TEST_CASE("DDP log: the order of the rebuilt buckets is preferred to that of the last iteration") {
  OrderedJson log = unknown_model();
  log["prev_iteration_grad_ready_order_indices"] = "0, 1, 2";
  const Imported moved = imported_log(log);
  CHECK(moved.workload.backward->ready[0].parameter == 2);
  CHECK(mentions(moved.warnings, "in another order"));
  log.erase("rebuilt_bucket_sizes");
  log.erase("rebuilt_per_bucket_param_indices");
  CHECK(imported_log(log).workload.backward->ready[0].parameter == 0);
  log["prev_iteration_grad_ready_order_indices"] = "N/A";
  CHECK(mentions(imported_log(log).warnings, "no complete ready order"));
}

TEST_CASE("DDP log: without a complete order, the model's own order is used") {
  OrderedJson log = logged_resnet18();
  log.erase("rebuilt_bucket_sizes");
  log.erase("rebuilt_per_bucket_param_indices");
  log["prev_iteration_grad_ready_order_indices"] = "61, 60";
  const Imported imported = imported_log(log, {.model = "resnet18"});
  const Workload& workload = imported.workload;
  CHECK(mentions(
      imported.warnings,
      "the log's ready order names only 2 of 62 parameters; the model's own order is used"));
  REQUIRE(workload.backward);
  REQUIRE(workload.backward->ready.size() == 62);
  CHECK(workload.parameters[workload.backward->ready.front().parameter].name == "fc.bias");
}

TEST_CASE("DDP log: without sampled times there is an order but no timing") {
  OrderedJson log = unknown_model();
  log["backward_compute_time"] = 0;
  const Imported result = imported_log(log);
  CHECK(result.workload.backward->ready.size() == 3);
  CHECK(result.workload.backward->duration == Duration());
  CHECK(mentions(result.warnings, "no backward time is in the log"));
}

TEST_CASE("DDP log: flags and known communication hooks are options, other hooks a warning") {
  OrderedJson log = unknown_model();
  log["static_graph"] = 1;
  log["gradient_as_bucket_view"] = 1;
  log["broadcast_buffers"] = 0;
  log["has_sync_bn"] = 1;
  log["bucket_cap_bytes"] = 25 << 20;
  log["comm_hook"] = "fp16_compress_hook";
  const Imported result = imported_log(log);
  CHECK_FALSE(result.ddp_log->options.bucket_cap_mb.has_value());
  CHECK(mentions(result.recognised,
                 "pass --static-graph --gradient-as-bucket-view --no-broadcast-buffers "
                 "--sync-batchnorm --comm-hook fp16, and"));
  CHECK(result.ddp_log->options.comm_hook == CommHook::fp16_compress);
  CHECK_FALSE(mentions(result.warnings, "hook"));
  log["comm_hook"] = "BuiltinCommHookType.FP16_COMPRESS";
  CHECK(imported_log(log).ddp_log->options.comm_hook == CommHook::fp16_compress);
  log["comm_hook"] = "powerSGD_hook";
  CHECK(imported_log(log).ddp_log->options.comm_hook == CommHook::power_sgd);
  CHECK(mentions(imported_log(log).recognised,  // the log does not state its rank
                 "--comm-hook powersgd --matrix-approximation-rank R, and"));
  log["comm_hook"] = "batched_powerSGD_hook";
  CHECK(mentions(imported_log(log).warnings, "batched_powerSGD_hook"));
}

TEST_CASE("DDP log: each wrong log gets its message") {
  struct Case {
    const char* key;
    OrderedJson value;  ///< null: the key is removed
    const char* message;
  };
  const std::vector<Case> cases = {
      {"world_size", nullptr, "missing \"world_size\""},
      {"num_parameter_tensors", nullptr, "missing \"num_parameter_tensors\""},
      {"total_parameter_size_bytes", nullptr, "missing \"total_parameter_size_bytes\""},
      {"bucket_cap_bytes", nullptr, "missing \"bucket_cap_bytes\""},
      {"world_size", 0, "/world_size"},
      {"world_size", "4", "/world_size"},
      {"rank", 4, "there is no rank 4 in a world of 4"},
      {"rank", -1, "/rank"},
      {"num_parameter_tensors", 0, "/num_parameter_tensors"},
      {"num_parameter_tensors", 1e9, "/num_parameter_tensors"},
      {"num_parameter_tensors", 2, "/prev_iteration_grad_ready_order_indices"},
      {"total_parameter_size_bytes", -1, "/total_parameter_size_bytes"},
      {"total_parameter_size_bytes", 97,
       "add up to 96 bytes, but total_parameter_size_bytes is 97"},
      {"bucket_cap_bytes", 2.5, "/bucket_cap_bytes"},
      {"bucket_sizes", 96, "/bucket_sizes"},
      {"bucket_sizes", "96,", "/bucket_sizes: \"\" does not belong"},
      {"bucket_sizes", "9x", "\"9x\" does not belong in this list"},
      {"bucket_sizes", "-96", "\"-96\" does not belong"},
      {"bucket_sizes", "9223372036854775807, 1", "more than 2^63 - 1 bytes"},
      {"rebuilt_bucket_sizes", "64, 31", "add up to 95 bytes"},
      {"rebuilt_bucket_sizes", "96", "2 buckets, but rebuilt_bucket_sizes lists 1"},
      {"rebuilt_bucket_sizes", "18446744073709551616", "does not belong"},
      {"rebuilt_per_bucket_param_indices", "2 0, 3", "Expected whole numbers from 0 to 2"},
      {"rebuilt_per_bucket_param_indices", "2 0, 0", "parameter 0 is in it twice"},
      {"rebuilt_per_bucket_param_indices", "2 a, 1", "\"a\" does not belong"},
      {"prev_iteration_grad_ready_order_indices", "2, 0, 2", "parameter 2 is in it twice"},
      {"prev_iteration_grad_ready_order_indices", "2; 0", "\"2; 0\" does not belong"},
      {"backward_compute_time", -5, "/backward_compute_time"},
      {"backward_compute_time", 1e300, "/backward_compute_time"},
      {"backward_compute_time", std::int64_t{1} << 62, "/backward_compute_time"},
      {"backward_compute_time", "9 ms", "/backward_compute_time"},
      {"static_graph", 2, "/static_graph"},
      {"static_graph", "True", "/static_graph"},
      {"module_name", 7, "/module_name"},
  };
  for (const Case& one : cases) {
    OrderedJson log = unknown_model();
    if (one.value.is_null()) {
      log.erase(one.key);
    } else {
      log[one.key] = one.value;
    }
    CAPTURE(log.dump());
    const std::string message = log_complaint(log.dump());
    CAPTURE(message);
    CHECK(message.find("log.json") == 0);
    CHECK(message.find(one.message) != std::string::npos);
  }
  for (const char* text : {"", "[]", "{", "nul", "{\"world_size\": NaN}"}) {
    CAPTURE(text);
    CHECK(log_complaint(text).find("log.json") == 0);
  }
}
