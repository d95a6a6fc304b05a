#include "rank.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <thread>

namespace fsdp {
namespace {

constexpr int kFailure = 1;
constexpr ddpsim_type kStored = DDPSIM_FLOAT32;

std::int64_t padded_share(std::int64_t elements, int ranks) {
  return (elements + ranks - 1) / ranks;
}

/// Small whole numbers, which all types represent exactly.
float first_value(std::int64_t element, std::size_t unit) {
  constexpr std::int64_t kValues = 8;
  constexpr std::int64_t kStride = 7;
  return static_cast<float>(1 + (element * kStride + static_cast<std::int64_t>(unit)) % kValues);
}

}  // namespace

void require(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  std::_Exit(kFailure);
}

void require(ncclResult_t status, const char* what) {
  if (status == ncclSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, ncclGetErrorString(status));
  std::_Exit(kFailure);
}

std::int64_t size_of(ddpsim_type type) {
  return type == DDPSIM_FLOAT32 ? 4 : 2;
}

Rank::Rank(const Job& job, int rank, Communicators communicators, bool by_parameter)
    : job_(job), rank_(rank), communicators_(communicators), by_parameter_(by_parameter) {
  compute_ = open_stream(false);
  lay_out(by_parameter);
  fill();
}

bool Rank::root_computes_last() const {
  return job_.root_output_is_its_own || units_[parts_.back().unit].is_root;
}

/// Orders units by first use, with the root first.
void Rank::lay_out(bool by_parameter) {
  const auto unit_named = [&](const std::string& name) {
    for (std::size_t u = 0; u < units_.size(); ++u)
      if (units_[u].name == name) return u;
    units_.push_back({});
    units_.back().name = name;
    units_.back().is_root = name == "root";
    return units_.size() - 1;
  };
  for (const Segment& segment : job_.segments)
    if (segment.name == "root") unit_named(segment.name);
  for (const Segment& segment : job_.segments) {
    const std::size_t u = unit_named(segment.name);
    Unit& unit = units_[u];
    parts_.push_back({.unit = u,
                      .first = unit.parameters.size(),
                      .count = segment.parameters.size(),
                      .forward_ns = segment.forward_ns});
    for (const Parameter& parameter : segment.parameters) {
      Place place{.elements = parameter.elements,
                  .shard = padded_share(parameter.elements, job_.group),
                  .shard_at = unit.shard,
                  .at = unit.elements,
                  .backward_ns = parameter.backward_ns};
      unit.elements += place.elements;
      unit.shard += place.shard;
      unit.parameters.push_back(place);
    }
  }
  if (!by_parameter)
    for (Unit& unit : units_)
      unit.shard = job_.strategy == Strategy::no_shard ? unit.elements
                                                       : padded_share(unit.elements, job_.group);
}

void Rank::fill() {
  for (std::size_t u = 0; u < units_.size(); ++u) {
    Unit& unit = units_[u];
    const bool whole = !by_parameter_ && job_.strategy == Strategy::no_shard;
    const std::int64_t own = whole ? 0 : group_rank();
    std::vector<float> values(static_cast<std::size_t>(unit.shard), 0.0F);
    const auto set = [&](std::int64_t at, std::int64_t element) {
      values[static_cast<std::size_t>(at)] = first_value(element, u);
    };
    if (by_parameter_) {
      for (const Place& place : unit.parameters)
        for (std::int64_t i = 0; i < place.shard; ++i)
          if (own * place.shard + i < place.elements)
            set(place.shard_at + i, place.at + own * place.shard + i);
    } else {
      for (std::int64_t i = 0; i < unit.shard; ++i)
        if (own * unit.shard + i < unit.elements) set(i, own * unit.shard + i);
    }
    const std::int64_t stored_bytes = unit.shard * size_of(kStored);
    if (job_.cpu_offload) {
      for (Block* block : {&unit.stored, &unit.host_gradient}) {
        *block = pinned(stored_bytes);
        std::fill_n(static_cast<float*>(block->data), unit.shard, 0.0F);
      }
      std::ranges::copy(values, static_cast<float*>(unit.stored.data));
    } else {
      unit.stored = memory_.take(stored_bytes, compute_);
    }
    const auto put = [](const Block& block, const void* from, std::size_t bytes) {
      require(cudaMemcpy(block.data, from, bytes, cudaMemcpyHostToDevice), "copying to the GPU");
    };
    if (!job_.cpu_offload) put(unit.stored, values.data(), values.size() * sizeof(float));
    unit.activation =
        memory_.take(unit.shard * (whole ? 1 : job_.group) * size_of(job_.param_type), compute_);
    std::vector<fsdp_kernels::ParameterPlace> places;
    for (const Place& place : unit.parameters)
      places.push_back({place.shard_at, place.shard, place.at, place.elements});
    unit.places = memory_.take(
        static_cast<std::int64_t>(places.size() * sizeof(fsdp_kernels::ParameterPlace)), compute_);
    put(unit.places, places.data(), places.size() * sizeof(fsdp_kernels::ParameterPlace));
  }
}

cudaStream_t Rank::open_stream(bool high_priority) {
  cudaStream_t stream = nullptr;
  require(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, high_priority ? -1 : 0),
          "making a stream");
  streams_.push_back(stream);
  return stream;
}

void Rank::wait_stream(cudaStream_t stream, cudaStream_t other) {
  if (stream == other) return;
  cudaEvent_t event = nullptr;
  require(cudaEventCreate(&event), "making an event");
  require(cudaEventRecord(event, other), "recording an event");
  require(cudaStreamWaitEvent(stream, event, 0), "waiting for a stream");
  require(cudaEventDestroy(event), "ending an event");
}

void Rank::wait_event(cudaStream_t stream, cudaEvent_t event) {
  if (event != nullptr) require(cudaStreamWaitEvent(stream, event, 0), "waiting for an event");
}

cudaEvent_t Rank::record_event(cudaStream_t stream) {
  cudaEvent_t event = nullptr;
  require(cudaEventCreate(&event), "making an event");
  require(cudaEventRecord(event, stream), "recording an event");
  return event;
}

void Rank::end_event(cudaEvent_t& event) {
  if (event != nullptr) require(cudaEventDestroy(event), "ending an event");
  event = nullptr;
}

void Rank::forward(const Part& part, const Block& parameters) {
  const Unit& unit = units_[part.unit];
  const Place& first = unit.parameters[part.first];
  const std::int64_t begin = whole_at(first);
  std::int64_t elements = 0;
  for (std::size_t p = part.first; p < part.first + part.count; ++p)
    elements += by_parameter_ ? unit.parameters[p].shard * job_.group : unit.parameters[p].elements;
  timed(compute_, "forward", unit.name, [&] {
    require_launched(
        fsdp_compute(compute_, part.forward_ns, at(parameters, begin, job_.param_type),
                     at(unit.activation, begin, job_.param_type), elements, 1, job_.param_type),
        "launching forward");
  });
}

void Rank::backward(const Unit& unit, const Place& place, const Block& parameters,
                    const Block& gradients) {
  constexpr double kHalf = 0.5;
  const ddpsim_type type = job_.param_type;
  const std::int64_t from = whole_at(place);
  timed(compute_, "backward", unit.name, [&] {
    require_launched(fsdp_read_too(compute_, at(parameters, from, type),
                                   at(unit.activation, from, type), place.elements, type),
                     "launching backward");
    require_launched(
        fsdp_compute(compute_, place.backward_ns, at(unit.activation, from, type),
                     at(gradients, place.at, type), place.elements, kHalf * (rank_ + 1), type),
        "launching backward");
  });
}

void Rank::optimizer(const std::vector<Block>& gradients) {
  const double factor = -2.0 / ((job_.ranks + 1) * job_.micro_batches);
  constexpr std::int64_t kLeastNs = 1;
  timed(compute_, "optimizer", "", [&] {
    for (std::size_t u = 0; u < units_.size(); ++u) {
      const auto others = static_cast<std::int64_t>(units_.size() - 1) * kLeastNs;
      const std::int64_t takes = u == 0 ? std::max(job_.optimizer_ns - others, kLeastNs) : kLeastNs;
      require_launched(fsdp_compute(compute_, takes, gradients[u].data, units_[u].stored.data,
                                    units_[u].shard, factor, kStored),
                       "launching the optimizer");
    }
  });
}

void Rank::optimizer_on_host() {
  const double factor = -2.0 / ((job_.ranks + 1) * job_.micro_batches);
  const double since = timing_ ? host_us() : 0;
  work_on_host(job_.optimizer_ns);
  for (Unit& unit : units_) {
    auto* const stored = static_cast<float*>(unit.stored.data);
    const auto* const gradient = static_cast<const float*>(unit.host_gradient.data);
    for (std::int64_t i = 0; i < unit.shard; ++i)
      stored[i] = static_cast<float>(factor * gradient[i]);
  }
  note_host("host optimizer", units_.front(), since);
}

Block Rank::pinned(std::int64_t bytes) {
  Block block{.data = nullptr, .bytes = bytes, .stream = nullptr};
  require(cudaMallocHost(&block.data, static_cast<std::size_t>(bytes)), "pinning memory");
  return block;
}

void Rank::copy(cudaStream_t stream, const char* what, const Unit& unit, void* to, const void* from,
                std::int64_t bytes) {
  if (bytes <= 0) return;
  work_on_host(job_.copy_ns);
  timed(stream, what, unit.name, [&] {
    require(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, stream),
            what);
  });
}

void Rank::add_on_host(float* to, const float* from, std::int64_t elements) {
  for (std::int64_t i = 0; i < elements; ++i) to[i] += from[i];
  work_on_host(static_cast<std::int64_t>(job_.add_ns_per_byte *
                                         static_cast<double>(elements * size_of(kStored))));
}

void Rank::synchronize(cudaStream_t stream) {
  cudaEvent_t event = record_event(stream);
  const cudaError_t state = cudaEventQuery(event);
  if (state == cudaErrorNotReady) {
    require(cudaEventSynchronize(event), "waiting for a stream");
    work_on_host(job_.wake_ns);
  } else {
    require(state, "querying a stream");
  }
  end_event(event);
}

void Rank::pack(cudaStream_t stream, const char* what, const Unit& unit,
                const std::function<int(cudaStream_t)>& launch) {
  timed(stream, what, unit.name, [&] { require_launched(launch(stream), what); });
}

void Rank::pack_from_python(cudaStream_t stream, const char* what, const Unit& unit,
                            const std::function<int(cudaStream_t)>& launch) {
  work_on_host(job_.copy_ns);
  pack(stream, what, unit, launch);
}

void Rank::collective(cudaStream_t stream, const char* what, const Unit& unit,
                      const std::function<ncclResult_t(cudaStream_t)>& launch) {
  const double since = timing_ ? host_us() : 0;
  work_on_host(job_.collective_ns);
  note_host("launch", unit, since);
  timed(stream, what, unit.name, [&] { require(launch(stream), what); });
}

void Rank::synchronize(cudaEvent_t event, const Unit& unit) {
  const double since = timing_ ? host_us() : 0;
  const cudaError_t state = cudaEventQuery(event);
  if (state == cudaErrorNotReady) {
    require(cudaEventSynchronize(event), "waiting for memory");
    work_on_host(job_.wake_ns);
  } else {
    require(state, "asking for memory");
  }
  note_host("limited", unit, since);
}

void Rank::train(const std::function<void()>& step, bool timed) {
  std::vector<cudaEvent_t> ends;
  for (int k = 0; k < job_.steps; ++k) {
    if (timed && k + 1 == job_.steps) timing_ = true;
    // A script that reads its loss `steps_ahead` steps late.
    const int awaited = k - 1 - job_.steps_ahead;
    if (awaited >= 0)
      require(cudaEventSynchronize(ends[static_cast<std::size_t>(awaited)]), "waiting for a step");
    if (timed && k == 0) stand_still();
    if (timing_) this->timed(compute_, "step", "begins", [] {});
    step();
    if (timing_) this->timed(compute_, "step", "ends", [] {});
    ends.push_back(record_event(compute_));
    ++steps_done_;
  }
  for (const cudaStream_t stream : streams_)
    require(cudaStreamSynchronize(stream), "waiting for the end");
  for (cudaEvent_t& end : ends) end_event(end);
  if (timed) read_spans();
}

double Rank::worst_error() {
  double worst = 0;
  const bool turned = steps_done_ % 2 == 1;
  for (std::size_t u = 0; u < units_.size(); ++u) {
    const Unit& unit = units_[u];
    std::vector<float> got(static_cast<std::size_t>(unit.shard));
    if (job_.cpu_offload)
      std::copy_n(static_cast<const float*>(unit.stored.data), got.size(), got.data());
    else
      require(cudaMemcpy(got.data(), unit.stored.data, got.size() * sizeof(float),
                         cudaMemcpyDeviceToHost),
              "copying to the host");
    const auto compare = [&](std::int64_t at, std::int64_t element) {
      const double expected = first_value(element, u) * (turned ? -1 : 1);
      const double error = std::abs(got[static_cast<std::size_t>(at)] / expected - 1);
      if (!(error <= worst)) worst = error;
    };
    const std::int64_t own =
        !by_parameter_ && job_.strategy == Strategy::no_shard ? 0 : group_rank();
    if (by_parameter_) {
      for (const Place& place : unit.parameters)
        for (std::int64_t i = 0; i < place.shard; ++i)
          if (own * place.shard + i < place.elements)
            compare(place.shard_at + i, place.at + own * place.shard + i);
    } else {
      for (std::int64_t i = 0; i < unit.shard; ++i)
        if (own * unit.shard + i < unit.elements) compare(i, own * unit.shard + i);
    }
    if (std::isnan(worst)) return std::numeric_limits<double>::quiet_NaN();
  }
  return worst;
}

void Rank::work_on_host(std::int64_t ns) {
  if (ns > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
}

double Rank::host_us() const {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - still_host_)
      .count();
}

/// Stops the host and the streams, so that their clocks can be aligned: an event begins now.
void Rank::stand_still() {
  require(cudaStreamSynchronize(compute_), "standing still");
  require(cudaEventCreate(&still_), "making an event");
  still_host_ = std::chrono::steady_clock::now();
  require(cudaEventRecord(still_, compute_), "recording an event");
}

void Rank::timed(cudaStream_t stream, const char* what, const std::string& unit,
                 const std::function<void()>& launch) {
  if (!timing_) return launch();
  TimedSpan span{.what = what, .unit = unit, .start = record_event(stream), .end = nullptr};
  launch();
  span.end = record_event(stream);
  timed_.push_back(span);
}

void Rank::note_host(const char* what, const Unit& unit, double since_us) {
  if (timing_) spans_.push_back({what, unit.name, since_us, host_us()});
}

/// Reads times relative to the step's first event. They are floats, so shorter times are more
/// precise.
void Rank::read_spans() {
  const auto between = [](cudaEvent_t first, cudaEvent_t last) {
    constexpr double kUsPerMs = 1000;
    float ms = 0;
    require(cudaEventElapsedTime(&ms, first, last), "reading an event's time");
    return ms * kUsPerMs;
  };
  const cudaEvent_t first = timed_.front().start;
  const double begin = between(still_, first);
  for (const TimedSpan& span : timed_)
    spans_.push_back({span.what, span.unit, begin + between(first, span.start),
                      begin + between(first, span.end)});
}

}  // namespace fsdp
