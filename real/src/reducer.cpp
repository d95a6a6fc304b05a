#include "reducer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ddpsim/sim/step/cannot_replay.hpp"
#include "ddpsim/sim/values/assert.hpp"

namespace ddpsim {
namespace {

std::int64_t elements_of(const Parameter& parameter) {
  return gradient_bytes(parameter)->count() / element_size(parameter.dtype);
}

/// Iteration of a static graph in which hooks only count.
constexpr int kDelayed = 1;

bool same_parameters(const std::vector<Bucket>& a, const std::vector<Bucket>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Bucket& x, const Bucket& y) { return x.parameters == y.parameters; });
}

}  // namespace

std::optional<std::string> cannot_reduce(const Workload& workload, const ReducerOptions& options,
                                         DtypeRule refuses) {
  if (std::optional<std::string> problem = unsupported(options, options.torch)) return problem;
  if (std::optional<std::string> problem = cannot_assign(workload)) return problem;
  if (std::optional<std::string> problem = cannot_replay(workload, options)) return problem;
  if (options.process_groups > 1 || options.sync_batchnorm)
    return "the real reducer supports neither SyncBatchNorm nor several process groups";
  for (const Parameter& parameter : workload.parameters) {
    if (!is_reduced(parameter)) continue;
    if (parameter.sparse_gradient)
      return "parameter " + parameter.name + " has a sparse gradient, which is not supported";
    if (options.comm_hook != CommHook::none && parameter.dtype != Dtype::float32)
      return fmt::format("parameter {}: {} is supported only for float32 gradients", parameter.name,
                         name_of(options.comm_hook));
    if (const std::string problem = refuses(parameter.dtype); !problem.empty())
      return "parameter " + parameter.name + ": " + problem;
  }
  return std::nullopt;
}

Reducer::Reducer(Device& device, Communicator& communicator, HostClock clock,
                 const Workload& workload, const ReducerOptions& options)
    : device_(device),
      communicator_(communicator),
      clock_(clock),
      workload_(workload),
      options_(options),
      rebuilt_from_(bucket_limits(options, options.torch).rebuilt_from) {
  for (const Parameter& parameter : workload.parameters) {
    gradients_.push_back(!is_reduced(parameter)
                             ? Region{}
                             : device.allocate(parameter.dtype, elements_of(parameter)));
  }
  if (options.broadcast_buffers)
    for (const BufferGroup& group : workload.buffers)
      buffers_.push_back(device.allocate(Dtype::float32, (group.bytes.count() + 3) / 4));
  if (options.find_unused_parameters || options.static_graph)
    map_.emplace(device, communicator, workload, recorded_by(workload, communicator.rank()));
  for (const int iteration : {1, rebuilt_from_.value_or(1)}) {
    std::vector<Bucket> buckets = buckets_of_iteration(workload, options, options.torch, iteration);
    if (assignments_.empty() || !same_parameters(buckets, assignments_.back().buckets))
      assignments_.push_back(assigned(std::move(buckets)));
  }
  now_ = &assignments_.front();
}

void Reducer::prepare_for_forward(int iteration) {
  iteration_ = iteration;
  const bool rebuilt = rebuilt_from_ && iteration >= *rebuilt_from_;
  now_ = rebuilt ? &assignments_.back() : &assignments_.front();
  broadcast_buffers();
  for (std::size_t i = 0; i < now_->buckets.size(); ++i)
    now_->buffer[i].pending = now_->buckets[i].parameters.size();
  next_ = 0;
  first_hook_ = true;
  if (map_) map_->begin_step();
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
  if (!is_reduced(workload_.parameters[parameter])) return;
  BucketBuffer& bucket = now_->buffer[now_->places[parameter].bucket];
  DDPSIM_ASSERT(bucket.pending > 0, "a gradient is ready once in a step");
  note_ready(bucket);  // it was written before its hook was called
  if (std::exchange(first_hook_, false)) hooks_of_unused();
  if (delayed()) return;
  fill_place(parameter);
  launch_what_is_next();
}

/// Hooks of unused parameters are not called, so their slices become zeros now.
void Reducer::hooks_of_unused() {
  if (!map_) return;
  for (const std::size_t parameter : map_->unused_here()) {
    note_ready(now_->buffer[now_->places[parameter].bucket]);
    if (!delayed()) fill_place(parameter);
  }
}

void Reducer::note_ready(BucketBuffer& bucket) {
  if (--bucket.pending == 0) bucket.ready = device_.record_event();
}

void Reducer::fill_place(std::size_t parameter) {
  const Region gradient = gradients_[parameter];
  const Region to = averaged(parameter);
  if (map_ && !map_->used_here(parameter)) return device_.fill(to, 0);
  if (options_.comm_hook == CommHook::none)
    device_.scale_copy(gradient, to, 1.0 / communicator_.ranks());
  else
    device_.copy(gradient, to);
}

/// Launches complete buckets in order. The map follows the last bucket, and the same hook launches
/// it.
void Reducer::launch_what_is_next() {
  const std::size_t before = next_;
  while (next_ < now_->buckets.size() && now_->buffer[next_].pending == 0) launch(next_++);
  if (next_ == now_->buckets.size() && next_ > before && options_.find_unused_parameters &&
      !options_.static_graph)
    map_->all_reduce();
}

/// As in delay_all_reduce: the map, then all copies, then all buckets.
void Reducer::launch_behind_backward() {
  map_->all_reduce();
  for (std::size_t i = 0; i < workload_.parameters.size(); ++i)
    if (is_reduced(workload_.parameters[i])) fill_place(i);
  while (next_ < now_->buckets.size()) launch(next_++);
}

bool Reducer::delayed() const {
  return options_.static_graph && iteration_ == kDelayed;
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
  if (std::exchange(first_hook_, false)) hooks_of_unused();
  if (delayed())
    launch_behind_backward();
  else
    launch_what_is_next();
  DDPSIM_ASSERT(next_ == now_->buckets.size(), "every parameter's gradient is ready in every step");
  for (LaunchedBucket& bucket : launched_) {
    communicator_.wait(bucket.work);
    copy_out(bucket);
  }
  if (map_) map_->finish();
  return std::move(launched_);
}

/// Copies a bucket out. If it ends with the wait for the map, and nothing is copied after that, it
/// ends before the wait.
void Reducer::copy_out(LaunchedBucket& bucket) {
  bucket.copy_out_begin = bucket.copy_out_end = device_.record_event();
  bool copied = false;
  for (const std::size_t parameter : bucket.parameters) {
    const bool knew = map_awaited().has_value();
    const bool copies = used_anywhere(parameter) && !options_.gradient_as_bucket_view;
    if (!knew && map_awaited() && std::exchange(copied, false))
      bucket.copy_out_end = map_awaited()->first;
    if (!copies) continue;
    device_.copy(averaged(parameter), gradients_[parameter]);
    copied = true;
  }
  if (copied) bucket.copy_out_end = device_.record_event();
}

bool Reducer::used_anywhere(std::size_t parameter) {
  return !map_ || map_->used_anywhere(parameter);
}

Region Reducer::averaged(std::size_t parameter) const {
  const Place place = now_->places[parameter];
  return now_->buffer[place.bucket].memory.part(place.first, gradients_[parameter].elements);
}

}  // namespace ddpsim
