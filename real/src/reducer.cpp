#include "reducer.hpp"

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
      options.process_groups > 1)
    return "the real reducer knows neither find_unused_parameters, static_graph, accumulation nor "
           "several process groups";
  for (const Parameter& parameter : workload.parameters) {
    if (parameter.ignored) continue;
    if (parameter.sparse_gradient)
      return "parameter " + parameter.name + " has a sparse gradient: not reduced here";
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
      options_(options),
      places_(workload.parameters.size()) {
  for (const Parameter& parameter : workload.parameters) {
    gradients_.push_back(
        parameter.ignored ? Region{} : device.allocate(parameter.dtype, elements_of(parameter)));
  }
  if (!options.broadcast_buffers) return;
  for (const BufferGroup& group : workload.buffers) {
    buffers_.push_back(device.allocate(Dtype::float32, (group.bytes.count() + 3) / 4));
  }
}

void Reducer::prepare_for_forward(int iteration) {
  assign(iteration);
  broadcast_buffers();
  for (std::size_t i = 0; i < buckets_.size(); ++i)
    filling_[i].pending = buckets_[i].parameters.size();
  next_ = 0;
  launched_.clear();
}

void Reducer::assign(int iteration) {
  std::vector<Bucket> buckets = buckets_of_iteration(workload_, options_, iteration);
  if (same_parameters(buckets, buckets_)) return;
  buckets_ = std::move(buckets);
  filling_.clear();
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    const Bucket& bucket = buckets_[i];
    std::int64_t elements = 0;
    for (const std::size_t parameter : bucket.parameters) {
      places_[parameter] = {i, elements};
      elements += gradients_[parameter].elements;
    }
    filling_.push_back({.memory = device_.allocate(bucket.dtype, elements)});
  }
}

void Reducer::broadcast_buffers() {
  std::vector<Ticket> tickets;
  for (const Region buffer : buffers_) tickets.push_back(communicator_.broadcast(buffer));
  for (const Ticket ticket : tickets) communicator_.wait(ticket);
}

void Reducer::gradient_ready(std::size_t parameter) {
  if (workload_.parameters[parameter].ignored) return;
  const Place place = places_[parameter];
  Filling& bucket = filling_[place.bucket];
  DDPSIM_ASSERT(bucket.pending > 0, "a gradient is ready once in a step");
  const Region gradient = gradients_[parameter];
  device_.scale_copy(gradient, bucket.memory.part(place.first, gradient.elements),
                     1.0 / communicator_.ranks());
  if (--bucket.pending > 0) return;
  bucket.ready = device_.mark();
  while (next_ < buckets_.size() && filling_[next_].pending == 0) launch(next_++);
}

void Reducer::launch(std::size_t bucket) {
  LaunchedBucket launched{.parameters = buckets_[bucket].parameters,
                          .bytes = filling_[bucket].memory.bytes(),
                          .ready = filling_[bucket].ready};
  launched.launch_begin = clock_.now();
  launched.ticket = communicator_.all_reduce(filling_[bucket].memory);
  launched.launch_end = clock_.now();
  launched_.push_back(std::move(launched));
}

std::vector<LaunchedBucket> Reducer::finalize() {
  DDPSIM_ASSERT(next_ == buckets_.size(), "every parameter's gradient is ready in every step");
  for (std::size_t i = 0; i < launched_.size(); ++i) {
    communicator_.wait(launched_[i].ticket);
    launched_[i].copy_out_begin = launched_[i].copy_out_end = device_.mark();
    if (options_.gradient_as_bucket_view) continue;
    for (const std::size_t parameter : buckets_[i].parameters)
      device_.copy(averaged(parameter), gradients_[parameter]);
    launched_[i].copy_out_end = device_.mark();
  }
  return std::move(launched_);
}

Region Reducer::averaged(std::size_t parameter) const {
  const Place place = places_[parameter];
  return filling_[place.bucket].memory.part(place.first, gradients_[parameter].elements);
}

}  // namespace ddpsim
