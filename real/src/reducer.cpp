#include "reducer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ddpsim/sim/assert.hpp"

namespace ddpsim {
namespace {

std::int64_t elements_of(const Parameter& parameter) {
  return gradient_bytes(parameter)->count() / element_size(parameter.dtype);
}

bool same_parameters(const std::vector<Bucket>& a, const std::vector<Bucket>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Bucket& x, const Bucket& y) { return x.parameters == y.parameters; });
}

}  // namespace

std::optional<std::string> cannot_reduce(const Workload& workload, const DdpOptions& options,
                                         DtypeRule refuses) {
  if (std::optional<std::string> problem = unsupported(options)) return problem;
  if (std::optional<std::string> problem = cannot_assign(workload)) return problem;
  if (!workload.backward || workload.backward->ready.empty())
    return "the workload says nothing of when gradients are ready (backward.ready)";
  if (options.find_unused_parameters || options.static_graph || options.accumulate > 1 ||
      options.process_groups > 1 || options.sync_batchnorm)
    return "the real reducer knows neither find_unused_parameters, static_graph, accumulation, "
           "SyncBatchNorm nor several process groups";
  for (const Parameter& parameter : workload.parameters) {
    if (parameter.ignored) continue;
    if (parameter.sparse_gradient)
      return "parameter " + parameter.name + " has a sparse gradient: not reduced here";
    if (options.comm_hook != CommHook::none && parameter.dtype != Dtype::float32)
      return fmt::format("parameter {}: {} is run here on float32 gradients alone", parameter.name,
                         name_of(options.comm_hook));
    if (const std::string problem = refuses(parameter.dtype); !problem.empty())
      return "parameter " + parameter.name + ": " + problem;
  }
  return std::nullopt;
}

Reducer::Reducer(Device& device, Communicator& communicator, HostClock clock,
                 const Workload& workload, const DdpOptions& options)
    : device_(device),
      communicator_(communicator),
      clock_(clock),
      workload_(workload),
      options_(options) {
  for (const Parameter& parameter : workload.parameters) {
    gradients_.push_back(
        parameter.ignored ? Region{} : device.allocate(parameter.dtype, elements_of(parameter)));
  }
  if (options.broadcast_buffers)
    for (const BufferGroup& group : workload.buffers)
      buffers_.push_back(device.allocate(Dtype::float32, (group.bytes.count() + 3) / 4));
  for (const int iteration : {1, 2}) {
    std::vector<Bucket> buckets = buckets_of_iteration(workload, options, iteration);
    if (assignments_.empty() || !same_parameters(buckets, assignments_.back().buckets))
      assignments_.push_back(assigned(std::move(buckets)));
  }
  now_ = &assignments_.front();
}

void Reducer::prepare_for_forward(int iteration) {
  now_ = iteration == 1 ? &assignments_.front() : &assignments_.back();
  broadcast_buffers();
  for (std::size_t i = 0; i < now_->buckets.size(); ++i)
    now_->buffer[i].pending = now_->buckets[i].parameters.size();
  next_ = 0;
  launched_.clear();
}

Reducer::Assignment Reducer::assigned(std::vector<Bucket> buckets) {
  Assignment result{.buckets = std::move(buckets), .buffer = {}, .places = {}};
  result.places.resize(workload_.parameters.size());
  for (std::size_t i = 0; i < result.buckets.size(); ++i) {
    const Bucket& bucket = result.buckets[i];
    std::int64_t elements = 0;
    for (const std::size_t parameter : bucket.parameters) {
      result.places[parameter] = {i, elements};
      elements += gradients_[parameter].elements;
    }
    BucketBuffer& buffer = result.buffer.emplace_back();
    buffer.memory = device_.allocate(bucket.dtype, elements);
    if (options_.comm_hook != CommHook::none)
      buffer.compressed = device_.allocate(wire_dtype(options_, bucket.dtype), elements);
  }
  return result;
}

void Reducer::broadcast_buffers() {
  std::vector<WorkId> works;
  for (const Region buffer : buffers_) works.push_back(communicator_.broadcast(buffer));
  for (const WorkId work : works) communicator_.wait(work);
}

void Reducer::gradient_ready(std::size_t parameter) {
  if (workload_.parameters[parameter].ignored) return;
  const Place place = now_->places[parameter];
  BucketBuffer& bucket = now_->buffer[place.bucket];
  DDPSIM_ASSERT(bucket.pending > 0, "a gradient is ready once in a step");
  const Region gradient = gradients_[parameter];
  const Region to = bucket.memory.part(place.first, gradient.elements);
  if (bucket.pending == 1) bucket.ready = device_.record_event();
  if (options_.comm_hook == CommHook::none)
    device_.scale_copy(gradient, to, 1.0 / communicator_.ranks());
  else
    device_.copy(gradient, to);
  if (--bucket.pending > 0) return;
  while (next_ < now_->buckets.size() && now_->buffer[next_].pending == 0) launch(next_++);
}

void Reducer::launch(std::size_t bucket) {
  const BucketBuffer& buffer = now_->buffer[bucket];
  LaunchedBucket launched{.parameters = now_->buckets[bucket].parameters,
                          .bytes = buffer.memory.bytes(),
                          .ready = buffer.ready};
  launched.launch_begin = clock_.now();
  launched.work = all_reduce(buffer);
  launched.launch_end = clock_.now();
  launched_.push_back(std::move(launched));
}

WorkId Reducer::all_reduce(const BucketBuffer& bucket) {
  if (options_.comm_hook == CommHook::none) return communicator_.all_reduce(bucket.memory);
  device_.cast(bucket.memory, bucket.compressed);
  device_.scale_copy(bucket.compressed, bucket.compressed, 1.0 / communicator_.ranks());
  return communicator_.all_reduce_and_decompress(bucket.compressed, bucket.memory);
}

std::vector<LaunchedBucket> Reducer::finalize() {
  DDPSIM_ASSERT(next_ == now_->buckets.size(), "every parameter's gradient is ready in every step");
  for (std::size_t i = 0; i < launched_.size(); ++i) {
    communicator_.wait(launched_[i].work);
    launched_[i].copy_out_begin = launched_[i].copy_out_end = device_.record_event();
    if (options_.gradient_as_bucket_view) continue;
    for (const std::size_t parameter : now_->buckets[i].parameters)
      device_.copy(averaged(parameter), gradients_[parameter]);
    launched_[i].copy_out_end = device_.record_event();
  }
  return std::move(launched_);
}

Region Reducer::averaged(std::size_t parameter) const {
  const Place place = now_->places[parameter];
  return now_->buffer[place.bucket].memory.part(place.first, gradients_[parameter].elements);
}

}  // namespace ddpsim
