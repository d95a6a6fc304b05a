#include "recording_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "ddpsim/formats/cost_file.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/sim/values/versions.hpp"
#include "described_recording.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostCollectives = 100'000;
constexpr std::int64_t kMostCollectiveBytes = std::int64_t{1} << 50;
constexpr std::int64_t kMostLaunches = 10'000'000;  // per interval; three hours at 1 ms each
constexpr std::size_t kMostSteps = 100'000;
constexpr std::int64_t kMostStepsAhead = 1000;
constexpr std::int64_t kMostMicroBatches = 100'000;  // the limit of --accumulate

class RecordingReader {
 public:
  RecordingReader(std::size_t parameters, WorkloadFields& fields, StatedCosts* costs)
      : parameters_(parameters), fields_(fields), costs_(costs) {}

  void read(const Object& object, Recorded& recorded);

 private:
  Backward read_backward(const Cursor& cursor);
  /// Returns true if no entry lacks a field.
  bool read_ready(const Cursor& list, Backward& backward);
  /// A check of two fields, made once each is known to be valid by itself.
  void check_ready(const Cursor& list, const Backward& backward) const;
  void read_host(const Cursor& cursor, Recorded& recorded);
  Launches read_launches(const Cursor& cursor) const;
  PartTimes read_launch_cost(const Cursor& cursor);
  PartTimes read_parts(const Cursor& cursor);
  std::optional<DataLoading> read_data_loading(const Cursor& cursor);
  HostThreads read_threads(const Cursor& cursor);
  EarlierMicroBatches read_earlier(const Cursor& cursor, const RecordedWith& with);
  /// Reads a time for each part of the step. No part may have a time longer than its duration.
  PartTimes read_parts_of(const Cursor& cursor, const Recorded& recorded, std::string_view what);
  void read_steps(const Cursor& list, Recorded& recorded);
  static void check_iteration(const Cursor& steps, const Recorded& recorded);
  void read_recorded_with(const Cursor& cursor, RecordedWith& recorded);
  std::vector<RecordedCollective> read_collectives(const Cursor& list);

  const std::size_t parameters_;
  WorkloadFields& fields_;
  StatedCosts* const costs_;  ///< null: costs of one rank among others
};

void RecordingReader::read(const Object& object, Recorded& recorded) {
  recorded.forward = fields_.phase(object, "forward");
  if (const auto backward = object.optional("backward")) {
    recorded.backward = read_backward(*backward);
  }
  recorded.optimizer = fields_.phase(object, "optimizer");
  recorded.iteration = fields_.phase(object, "iteration");
  if (const auto host = object.optional("host")) read_host(*host, recorded);
  if (const auto busy = object.optional("gpu_busy"))
    recorded.busy = read_parts_of(*busy, recorded, "busy");
  if (const auto loading = object.optional("data_loading"))
    recorded.data_loading = read_data_loading(*loading);
  if (const auto threads = object.optional("threads")) recorded.threads = read_threads(*threads);
  if (const auto with = object.optional("recorded_with")) {
    read_recorded_with(*with, recorded.recorded_with);
  }
  if (const auto earlier = object.optional("earlier_micro_batches"))
    recorded.earlier = read_earlier(*earlier, recorded.recorded_with);
  if (const auto steps = object.optional("steps")) {
    read_steps(*steps, recorded);
    check_iteration(*steps, recorded);
  }
}

std::optional<DataLoading> RecordingReader::read_data_loading(const Cursor& cursor) {
  const Object object = cursor.object(described_data_loading().type());
  const auto median = fields_.need(object, "median_us");
  const auto p90 = fields_.need(object, "p90_us");
  if (!median || !p90) return std::nullopt;
  DataLoading loading{.median = fields_.time(*median), .p90 = fields_.time(*p90), .count = 1};
  if (loading.p90 < loading.median)
    p90->fail("the 90th percentile is below the median", "Expected at least the median");
  const auto mean = object.optional("mean_us");
  loading.mean = mean ? fields_.time(*mean) : loading.median;
  if (const auto count = object.optional("count")) loading.count = count->integer(1, 1'000'000'000);
  if (const auto loads = object.optional("loads"))
    loading.processes = loads->choice({"workers", "trainer"}) == "workers";
  if (const auto interval = object.optional("interval_us")) {
    loading.interval = fields_.time(*interval);
    if (!loading.processes)
      interval->fail("conflicts with a trainer that loads batches itself",
                     "It applies to workers, which load batches in parallel to the step");
  }
  return loading;
}

HostThreads RecordingReader::read_threads(const Cursor& cursor) {
  const Object object = cursor.object(described_threads().type());
  HostThreads threads;
  if (const auto cores = object.optional("cores"))
    threads.cores = static_cast<int>(cores->integer(1, 1'000'000));
  const auto take = [&](std::string_view key, Duration& time) {
    if (const auto value = fields_.need(object, key)) time = fields_.time(*value);
  };
  take("running_us", threads.running);
  take("waiting_us", threads.waiting);
  take("all_running_us", threads.all_running);
  take("all_waiting_us", threads.all_waiting);
  return threads;
}

EarlierMicroBatches RecordingReader::read_earlier(const Cursor& cursor, const RecordedWith& with) {
  const Object object = cursor.object(described_earlier().type());
  EarlierMicroBatches earlier;
  if (const auto count = fields_.need(object, "count")) {
    earlier.count = static_cast<int>(count->integer(1, kMostMicroBatches));
    if (with.accumulate > 1 && earlier.count != with.accumulate - 1)
      count->fail(
          fmt::format("{} micro-batches before the last of {}", earlier.count, with.accumulate),
          "recorded_with.accumulate counts them all");
  }
  if (const auto reduced = object.optional("all_reduced"))
    earlier.all_reduced = static_cast<int>(reduced->integer(0, earlier.count));
  if (const auto compute = fields_.need(object, "compute_us"))
    earlier.compute = fields_.time(*compute);
  if (const auto exposed = object.optional("exposed_us")) earlier.exposed = fields_.time(*exposed);
  return earlier;
}

void RecordingReader::check_iteration(const Cursor& steps, const Recorded& recorded) {
  std::vector<Duration> periods;
  for (const StepSample& step : recorded.steps)
    if (step.iteration) periods.push_back(*step.iteration);
  if (periods.empty() || !recorded.iteration) return;
  const auto [least, most] = std::ranges::minmax(periods);
  if (*recorded.iteration < least || *recorded.iteration > most)
    steps.fail(fmt::format("take {} to {} us, but the iteration takes {} us", least.microseconds(),
                           most.microseconds(), recorded.iteration->microseconds()),
               "The iteration must be one of these steps");
}

Backward RecordingReader::read_backward(const Cursor& cursor) {
  const Object object = cursor.object(described_backward().type());
  Backward backward;
  const auto duration = fields_.need(object, "duration_us");
  if (duration) backward.duration = fields_.time(*duration);
  if (const auto ready = object.optional("ready")) {
    const bool whole = read_ready(*ready, backward);
    // Indices can only be checked if the list was present, and times only if the duration was.
    if (duration && whole && parameters_ > 0) check_ready(*ready, backward);
  }
  return backward;
}

bool RecordingReader::read_ready(const Cursor& list, Backward& backward) {
  bool whole = true;
  for (const Cursor& entry : list.array()) {
    const Object object = entry.object(described_ready().type());
    ReadyEvent event;
    event.copied_at = fields_.optional_time(object, "copied_at_us");
    const auto parameter = fields_.need(object, "parameter");
    const auto at = fields_.need(object, "at_us");
    if (parameter) event.parameter = static_cast<std::size_t>(parameter->integer(0, kMostCount));
    if (at) event.at = fields_.time(*at);
    whole = whole && parameter && at;
    backward.ready.push_back(event);
  }
  return whole;
}

void RecordingReader::check_ready(const Cursor& list, const Backward& backward) const {
  constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> first_place(parameters_, kNowhere);
  const std::vector<Cursor> entries = list.array();
  const auto place = [&](std::size_t k) { return fmt::format("{}/{}", list.where(), k); };
  for (std::size_t k = 0; k < entries.size(); ++k) {
    const ReadyEvent& event = backward.ready[k];
    const Object object = entries[k].free_object();
    if (event.parameter >= first_place.size()) {
      object.required("parameter")
          .fail(fmt::format("there is no parameter {}", event.parameter),
                fmt::format("Expected an index from 0 to {} into /parameters",
                            first_place.size() - 1));
    }
    std::size_t& first = first_place[event.parameter];
    if (first != kNowhere) {
      object.required("parameter")
          .fail(fmt::format("parameter {} is already ready at {}", event.parameter, place(first)),
                "Each gradient becomes ready once");
    }
    first = k;
    const Cursor at = object.required("at_us");
    if (k > 0 && event.at < backward.ready[k - 1].at) {
      at.fail(fmt::format("{} us is before the {} us of {}", event.at.microseconds(),
                          backward.ready[k - 1].at.microseconds(), place(k - 1)),
              "The list is in execution order, so its times never decrease");
    }
    if (event.at > backward.duration) {
      at.fail(fmt::format("{} us is after the end of backward, {} us", event.at.microseconds(),
                          backward.duration.microseconds()),
              "Times count from the start of backward");
    }
    if (!event.copied_at) continue;
    if (*event.copied_at < event.at || *event.copied_at > backward.duration) {
      object.required("copied_at_us")
          .fail(fmt::format("{} us is not between the gradient's own time and the end of backward",
                            event.copied_at->microseconds()),
                fmt::format("Expected {} to {} us", event.at.microseconds(),
                            backward.duration.microseconds()));
    }
  }
}

void RecordingReader::read_host(const Cursor& cursor, Recorded& recorded) {
  const Object object = cursor.object(described_host().type());
  const std::size_t expected = recorded.backward ? recorded.backward->ready.size() : 0;
  const auto require_one_each = [&](const Cursor& list, std::string_view what, std::size_t count) {
    if (count != expected)
      list.fail(fmt::format("{} {} for {} entries of backward/ready", count, what, expected),
                "Expected one per entry, in the same order");
  };
  if (const auto ready = object.optional("ready_us")) {
    for (const Cursor& entry : ready->array())
      recorded.host_ready.push_back(fields_.time(entry, true));
    require_one_each(*ready, "times", recorded.host_ready.size());
  }
  if (const auto held = object.optional("held_us")) {
    for (const Cursor& entry : held->array()) recorded.host_held.push_back(fields_.time(entry));
    require_one_each(*held, "times", recorded.host_held.size());
  }
  if (const auto waits = object.optional("launch_waits"))
    recorded.launch_waits = read_parts_of(*waits, recorded, "waiting for launches");
  if (const auto costs = object.optional("costs")) {
    if (costs_ == nullptr)
      costs->fail("belongs to one of several ranks",
                  "Write costs of all ranks at the top of the document");
    *costs_ = read_costs(*costs, host_costs());
  }
  const auto launches = object.optional("launches");
  const auto cost = object.optional("launch_cost");
  const auto ahead = object.optional("steps_ahead");
  for (const auto& of_launches : {cost, ahead})
    if (of_launches && !launches)
      of_launches->fail("is given without launches", "State how many kernels there are");
  if (ahead && !recorded.host_ready.empty())
    ahead->fail("conflicts with ready_us",
                "The recorded times already place the host; keep one of the two");
  if (!launches) return;
  if (!recorded.host_ready.empty() && !cost)
    launches->fail("are given with ready_us but without launch_cost",
                   "State launch_cost, or leave out ready_us or launches");
  recorded.launches = read_launches(*launches);
  require_one_each(launches->free_object().required("backward"), "counts",
                   recorded.launches->backward.size());
  if (cost) recorded.launches->cost = read_launch_cost(*cost);
  if (ahead) recorded.launches->steps_ahead = static_cast<int>(ahead->integer(0, kMostStepsAhead));
}

PartTimes RecordingReader::read_launch_cost(const Cursor& cursor) {
  constexpr Duration kMost = Duration::microseconds(1e6);
  const PartTimes cost = read_parts(cursor);
  const Duration longest = std::max({cost.forward, cost.backward, cost.optimizer});
  if (longest > kMost)
    cursor.fail(fmt::format("a launch of {} us", longest.microseconds()),
                "Expected the host's time for one kernel, at most a second");
  return cost;
}

Launches RecordingReader::read_launches(const Cursor& cursor) const {
  const Object object = cursor.object(described_launches().type());
  const auto count = [](const Cursor& entry) { return entry.integer(0, kMostLaunches); };
  Launches launches;
  if (const auto forward = object.optional("forward")) launches.forward = count(*forward);
  for (const Cursor& entry : object.required("backward").array())
    launches.backward.push_back(count(entry));
  if (const auto optimizer = object.optional("optimizer")) launches.optimizer = count(*optimizer);
  return launches;
}

PartTimes RecordingReader::read_parts(const Cursor& cursor) {
  const Object object = cursor.object(described_host_times().type());
  PartTimes times;
  const auto read = [&](std::string_view key, Duration& time) {
    if (const auto field = fields_.need(object, key)) time = fields_.time(*field);
  };
  read("forward_us", times.forward);
  read("backward_us", times.backward);
  read("optimizer_us", times.optimizer);
  return times;
}

PartTimes RecordingReader::read_parts_of(const Cursor& cursor, const Recorded& recorded,
                                         std::string_view what) {
  const PartTimes times = read_parts(cursor);
  const Object object = cursor.free_object();
  const auto check = [&](std::string_view key, std::optional<Duration> window, Duration time) {
    if (time > window.value_or(Duration()))
      object.required(key).fail(
          fmt::format("{} for {} us of a window of {} us", what, time.microseconds(),
                      window.value_or(Duration()).microseconds()),
          "Expected at most the duration of the window with that name");
  };
  check("forward_us", recorded.forward, times.forward);
  check("backward_us", recorded.backward ? recorded.backward->duration : Duration(),
        times.backward);
  check("optimizer_us", recorded.optimizer, times.optimizer);
  return times;
}

void RecordingReader::read_steps(const Cursor& list, Recorded& recorded) {
  const std::vector<Cursor> entries = list.array();
  if (entries.size() > kMostSteps)
    list.fail(fmt::format("{} steps", entries.size()),
              fmt::format("At most {} are read", kMostSteps));
  for (const Cursor& entry : entries) {
    const Object object = entry.object(described_recorded_step().type());
    StepSample step;
    if (const auto name = object.optional("name")) step.name = name->string();
    step.forward = fields_.optional_time(object, "forward_us");
    step.backward = fields_.optional_time(object, "backward_us");
    step.iteration = fields_.optional_time(object, "iteration_us");
    if (step.iteration == Duration())
      object.required("iteration_us").fail("a step must take more than 0 us");
    if (const auto all = object.optional("collectives")) step.collectives = read_collectives(*all);
    recorded.steps.push_back(std::move(step));
  }
}

void RecordingReader::read_recorded_with(const Cursor& cursor, RecordedWith& recorded) {
  const Object object = cursor.object(described_recorded_with().type());
  if (const auto hooks = object.optional("ddp_hooks")) recorded.ddp_hooks = hooks->boolean();
  if (const auto world = object.optional("world_size")) {
    recorded.world_size = static_cast<int>(world->integer(0, 1'000'000'000));
  }
  if (const auto nccl = object.optional("nccl")) {
    recorded.nccl = parse_nccl_version(nccl->string());
    if (!recorded.nccl)
      nccl->fail(fmt::format("{} is not a version such as \"2.21.5\"", in_quotes(nccl->string())));
  }
  if (const auto kernels = object.optional("nccl_kernels")) {
    recorded.nccl_kernels = kernels->integer(0, 1'000'000'000'000);
  }
  if (const auto compiled = object.optional("compiled_gradients")) {
    recorded.compiled_gradients = compiled->integer(0, kMostCount);
  }
  if (const auto wire = object.optional("wire_dtype"))
    recorded.wire = dtype_from_name(wire->choice({"float16", "bfloat16"}));
  if (const auto by = object.optional("reduced_by"))
    recorded.reduced_by =
        reduced_by_from_word(by->choice({"reducer", "compiled", "hooks", "script"}))
            .value_or(ReducedBy::reducer);
  if (const auto sync = object.optional("sync_batchnorm"))
    recorded.sync_batchnorm = sync->boolean();
  if (const auto accumulate = object.optional("accumulate"))
    recorded.accumulate = static_cast<int>(accumulate->integer(1, kMostMicroBatches));
  recorded.exposed = fields_.optional_time(object, "exposed_us");
  recorded.finalize = fields_.optional_time(object, "finalize_us");
  recorded.buffer_broadcast = fields_.optional_time(object, "buffer_broadcast_us");
  if (const auto list = object.optional("collectives"))
    recorded.collectives = read_collectives(*list);
}

std::vector<RecordedCollective> RecordingReader::read_collectives(const Cursor& list) {
  std::vector<RecordedCollective> collectives;
  Bytes total;
  Duration together;
  for (const Cursor& entry : list.array()) {
    if (collectives.size() == kMostCollectives)
      entry.fail(fmt::format("more than {} collectives in a step", kMostCollectives));
    const Object object = entry.object(described_collective().type());
    RecordedCollective collective;
    if (const auto bytes = fields_.need(object, "bytes")) {
      collective.bytes = Bytes(bytes->integer(0, kMostCollectiveBytes));
      total += collective.bytes;
      if (total > Bytes(kMostCollectiveBytes))
        bytes->fail("the collectives up to here carry more than 2^50 bytes");
    }
    // The host may enqueue a collective, and the device may begin it, before the first kernel of
    // backward starts.
    if (const auto launch = fields_.need(object, "launch_us"))
      collective.launch = fields_.time(*launch, true);
    if (const auto start = fields_.need(object, "start_us"))
      collective.start = fields_.time(*start, true);
    if (const auto length = fields_.need(object, "duration_us")) {
      collective.duration = fields_.time(*length);
      together += collective.duration;
      if (together > kLongestTime)
        length->fail("the collectives up to here take longer than 11 days",
                     "Expected at most 1e12 microseconds together");
    }
    if (const auto channels = object.optional("channels"))
      collective.channels = static_cast<int>(channels->integer(0, 1024));
    collectives.push_back(collective);
  }
  return collectives;
}

}  // namespace

void read_recorded(const Object& object, std::size_t parameters, WorkloadFields& fields,
                   Recorded& recorded, StatedCosts* host_costs) {
  RecordingReader(parameters, fields, host_costs).read(object, recorded);
}

}  // namespace ddpsim
