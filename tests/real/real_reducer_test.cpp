// Tests the reducer through its interfaces: PyTorch's order of hooks, copies, launches and
// finalize.
#include <doctest/doctest.h>

#include "fake_world.hpp"
#include "reducer.hpp"

using namespace ddpsim;
using namespace ddpsim::testing;

namespace {

struct Scene {
  Calls calls;
  FakeDevice device{calls};
  FakeCommunicator communicator{calls, device};
  Workload workload;
  Reducer reducer;
  Scene(Workload given, const ReducerOptions& options)
      : workload(std::move(given)), reducer(device, communicator, HostClock(), workload, options) {}
};

constexpr double kBytesInMib = 1048576;

ReducerOptions cap_of_bytes(double bytes) {
  ReducerOptions options;
  options.bucket_cap_mb = bytes / kBytesInMib;
  return options;
}

constexpr int kRebuilt = 2;  // first iteration with buckets in ready order
// Regions in order of allocation: gradients, buffers, the bucket of the first iteration, the
// rebuilt buckets.

}  // namespace

TEST_CASE(
    "real reducer: scales gradients into buckets, launches full ones, and waits for all in order") {
  // Ready order 2 1 0 with 8 bytes for each bucket gives buckets {2} and {1, 0}.
  Scene scene(small_workload({1, 1, 2}, {2, 1, 0}), cap_of_bytes(8));
  scene.reducer.prepare_for_forward(kRebuilt);
  for (const std::size_t parameter : {2U, 1U, 0U}) scene.reducer.gradient_ready(parameter);
  const auto launched = scene.reducer.finalize();
  CHECK(scene.calls == Calls{"2+0:2 -> 4+0:2 x0.5", "all_reduce 4+0:2", "1+0:1 -> 5+0:1 x0.5",
                             "0+0:1 -> 5+4:1 x0.5", "all_reduce 5+0:2", "wait 0", "4+0:2 -> 2+0:2",
                             "wait 1", "5+0:1 -> 1+0:1", "5+4:1 -> 0+0:1"});
  REQUIRE(launched.size() == 2);
  CHECK(launched[0].bytes == Bytes(8));
  CHECK(launched[1].parameters == std::vector<std::size_t>{1, 0});
}

TEST_CASE("real reducer: a bucket that is ready early waits, and both launch together") {
  // The recorded ready order is 1 0, but this step's gradients come in the opposite order.
  Scene scene(small_workload({2, 2}, {1, 0}), cap_of_bytes(8));
  scene.reducer.prepare_for_forward(kRebuilt);
  scene.reducer.gradient_ready(0);
  CHECK(scene.calls == Calls{"0+0:2 -> 4+0:2 x0.5"});
  scene.reducer.gradient_ready(1);
  CHECK(Calls(scene.calls.begin() + 1, scene.calls.end()) ==
        Calls{"1+0:2 -> 3+0:2 x0.5", "all_reduce 3+0:2", "all_reduce 4+0:2"});
}

TEST_CASE("real reducer: gradient_as_bucket_view copies nothing out") {
  ReducerOptions options = cap_of_bytes(8);
  options.gradient_as_bucket_view = true;
  Scene scene(small_workload({2}, {0}), options);
  scene.reducer.prepare_for_forward(kRebuilt);
  scene.reducer.gradient_ready(0);
  scene.reducer.finalize();
  CHECK(scene.calls == Calls{"0+0:2 -> 1+0:2 x0.5", "all_reduce 1+0:2", "wait 0"});
  CHECK(scene.device.name(scene.reducer.averaged(0)) == "1+0:2");
}

TEST_CASE(
    "real reducer: one bucket of all parameters in the first iteration, rebuilt ones in the "
    "second") {
  Scene scene(small_workload({2, 2}, {1, 0}), cap_of_bytes(8));
  scene.reducer.prepare_for_forward(1);
  scene.reducer.gradient_ready(1);
  scene.reducer.gradient_ready(0);
  CHECK(scene.reducer.finalize().size() == 1);
  scene.reducer.prepare_for_forward(2);
  scene.reducer.gradient_ready(1);
  scene.reducer.gradient_ready(0);
  CHECK(scene.reducer.finalize().size() == 2);
}

TEST_CASE("real reducer: a compression hook casts a full bucket, divides it, and casts sums back") {
  ReducerOptions options = cap_of_bytes(8);
  options.comm_hook = CommHook::fp16_compress;
  Scene scene(small_workload({1, 1}, {1, 0}), options);
  scene.reducer.prepare_for_forward(kRebuilt);
  for (const std::size_t parameter : {1U, 0U}) scene.reducer.gradient_ready(parameter);
  const auto launched = scene.reducer.finalize();
  CHECK(scene.calls == Calls{"1+0:1 -> 4+0:1", "0+0:1 -> 4+4:1", "4+0:2 -> 5+0:2 as float16",
                             "5+0:2 -> 5+0:2 x0.5", "all_reduce 5+0:2 -> 4+0:2", "wait 0",
                             "4+0:1 -> 1+0:1", "4+4:1 -> 0+0:1"});
  CHECK(launched[0].bytes == Bytes(8));  // gradient bytes, which the cap counts
}

TEST_CASE("real reducer: forward waits for the broadcast of buffers") {
  Workload workload = small_workload({2}, {0});
  workload.buffers.push_back({.dtype = Dtype::float32, .bytes = Bytes(6), .tensors = 2});
  Scene scene(workload, {});
  scene.reducer.prepare_for_forward(kRebuilt);
  CHECK(scene.calls == Calls{"broadcast 1+0:2", "wait 0"});
  ReducerOptions without;
  without.broadcast_buffers = false;
  Scene quiet(workload, without);
  quiet.reducer.prepare_for_forward(kRebuilt);
  CHECK(quiet.calls.empty());
}

TEST_CASE(
    "real reducer: find_unused_parameters zeroes unused gradients at the first hook and checks the "
    "map for other ranks") {
  // Parameters 1 and 2 are unused here, and the other rank uses 1. Buckets {2}, {1}, {0} are never
  // rebuilt.
  ReducerOptions options = cap_of_bytes(4);
  options.find_unused_parameters = true;
  Scene scene(small_workload({1, 1, 1}, {0}), options);
  scene.device.peer_used = {1, 1, 0};
  scene.reducer.prepare_for_forward(kRebuilt);
  scene.reducer.gradient_ready(0);
  // Allocations: gradients 0 to 2, the map on the host, its sums, the map on the device, buckets 6
  // to 8.
  CHECK(scene.calls == Calls{"7+0:1 = 0", "6+0:1 = 0", "0+0:1 -> 8+0:1 x0.5", "all_reduce 6+0:1",
                             "all_reduce 7+0:1", "all_reduce 8+0:1", "3+0:3 -> 5+0:3",
                             "all_reduce 5+0:3"});
  scene.calls.clear();
  scene.reducer.finalize();
  CHECK(scene.calls == Calls{"wait 0", "wait 3", "5+0:3 -> 4+0:3, awaited", "wait 1",
                             "7+0:1 -> 1+0:1", "wait 2", "8+0:1 -> 0+0:1"});
  CHECK_FALSE(scene.reducer.used_anywhere(2));
  CHECK(scene.reducer.map_all_reduce() == std::optional<WorkId>(3));
}

TEST_CASE("real reducer: if a rank uses all parameters, only the stream waits for the map") {
  ReducerOptions options;
  options.find_unused_parameters = true;
  options.gradient_as_bucket_view = true;
  Scene scene(small_workload({1}, {0}), options);
  scene.reducer.prepare_for_forward(kRebuilt);
  scene.reducer.gradient_ready(0);
  scene.calls.clear();
  scene.reducer.finalize();
  CHECK(scene.calls == Calls{"wait 0", "wait 1"});
}

TEST_CASE(
    "real reducer: a static graph launches after backward in the first step, then in hooks, and "
    "rebuilds in the third") {
  ReducerOptions options = cap_of_bytes(4);
  options.static_graph = true;
  options.torch = {1, 11};  // buckets follow the caps from the start
  options.first_bucket_mb = options.bucket_cap_mb;
  Scene scene(small_workload({1, 1}, {0, 1}), options);
  scene.reducer.prepare_for_forward(1);
  for (const std::size_t parameter : {0U, 1U}) scene.reducer.gradient_ready(parameter);
  CHECK(scene.calls.empty());
  scene.reducer.finalize();
  CHECK(scene.calls == Calls{"2+0:2 -> 4+0:2", "all_reduce 4+0:2", "0+0:1 -> 6+0:1 x0.5",
                             "1+0:1 -> 5+0:1 x0.5", "all_reduce 5+0:1", "all_reduce 6+0:1",
                             "wait 1", "5+0:1 -> 1+0:1", "wait 2", "6+0:1 -> 0+0:1", "wait 0"});
  for (const int iteration : {2, 3}) {
    scene.calls.clear();
    scene.reducer.prepare_for_forward(iteration);
    scene.reducer.gradient_ready(0);
    scene.reducer.gradient_ready(1);
    CHECK_FALSE(scene.reducer.map_all_reduce());
    const std::vector<LaunchedBucket> launched = scene.reducer.finalize();
    REQUIRE(launched.size() == 2);
    CHECK(launched[0].parameters == std::vector<std::size_t>{iteration == 2 ? 1U : 0U});
  }
}

TEST_CASE("real reducer: reports unsupported options before the start") {
  const auto device = FakeDevice::refuses;
  Workload workload = small_workload({2}, {0});
  CHECK_FALSE(cannot_reduce(workload, {}, device));
  ReducerOptions options;
  CHECK(cannot_reduce(small_workload({2, 2}, {0}), options, device)
            ->find("--find-unused-parameters") != std::string::npos);
  options = {};
  options.torch = {1, 13};
  options.process_groups = 2;
  CHECK(cannot_reduce(workload, options, device)->find("process groups") != std::string::npos);
  workload.parameters[0].dtype = Dtype::float64;
  options = {};
  options.comm_hook = CommHook::fp16_compress;
  CHECK(cannot_reduce(workload, options, device)->find("only for float32 gradients") !=
        std::string::npos);
  workload.parameters[0].dtype = Dtype::int64;
  CHECK(*cannot_reduce(workload, {}, device) == "parameter p0: no int64 here");
  workload.parameters[0].shape = std::nullopt;
  CHECK(cannot_reduce(workload, {}, device));
  workload.backward = std::nullopt;
  CHECK(cannot_reduce(small_workload({2}, {}), {}, device)->find("backward.ready") !=
        std::string::npos);
}
