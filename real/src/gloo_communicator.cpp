#include "gloo_communicator.hpp"

#include <gloo/allreduce.h>
#include <gloo/broadcast.h>
#include <gloo/config.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>

#include "cpu_elements.hpp"

namespace ddpsim {
namespace {

constexpr int kThreads = 2;  // ProcessGroupGloo::Options::threads

/// gloo's rendezvous, implemented by our store.
class Rendezvous : public gloo::rendezvous::Store {
 public:
  explicit Rendezvous(StoreClient& store) : store_(store) {}
  void set(const std::string& key, const std::vector<char>& data) override {
    store_.set("gloo/" + key, std::string(data.begin(), data.end()));
  }
  std::vector<char> get(const std::string& key) override {
    const std::string data = store_.get("gloo/" + key);
    return {data.begin(), data.end()};
  }
  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) store_.get("gloo/" + key);
  }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds&) override {
    wait(keys);
  }

 private:
  StoreClient& store_;
};

using Sum = void (*)(void*, const void*, const void*, std::size_t);

/// Needed because gloo has no bfloat16.
void sum_bfloat16(void* sums, const void* a, const void* b, std::size_t count) {
  const auto* one = static_cast<const Eigen::bfloat16*>(a);
  const auto* other = static_cast<const Eigen::bfloat16*>(b);
  auto* to = static_cast<Eigen::bfloat16*>(sums);
  for (std::size_t i = 0; i < count; ++i) to[i] = one[i] + other[i];
}

template <typename T>
void all_reduce_of(const std::shared_ptr<gloo::Context>& context, Region region, std::uint32_t tag,
                   Sum sum = static_cast<Sum>(&gloo::sum<T>)) {
  gloo::AllreduceOptions options(context);
  options.setOutput(reinterpret_cast<T*>(region.data), static_cast<std::size_t>(region.elements));
  options.setReduceFunction(sum);
  options.setTag(tag);
  gloo::allreduce(options);
}

void all_reduce_in_type(const std::shared_ptr<gloo::Context>& context, Region region,
                        std::uint32_t tag) {
  switch (region.dtype) {
    case Dtype::float64:
      return all_reduce_of<double>(context, region, tag);
    case Dtype::float16:
      return all_reduce_of<gloo::float16>(context, region, tag);
    case Dtype::bfloat16:
      return all_reduce_of<Eigen::bfloat16>(context, region, tag, sum_bfloat16);
    case Dtype::int32:
      return all_reduce_of<std::int32_t>(context, region, tag);
    default:
      return all_reduce_of<float>(context, region, tag);
  }
}

}  // namespace

GlooCommunicator::GlooCommunicator(StoreClient& store, const std::string& address, int rank,
                                   int ranks, HostClock clock, std::chrono::milliseconds timeout)
    : rank_(rank), ranks_(ranks), clock_(clock), address_(address) {
  try {
    gloo::transport::tcp::attr attributes;
    attributes.hostname = address;
    auto device = gloo::transport::tcp::CreateDevice(attributes);
    auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
    context->setTimeout(timeout);
    Rendezvous rendezvous(store);
    if (ranks > 1) context->connectFullMesh(rendezvous, device);
    context_ = context;
  } catch (const gloo::Exception& error) {
    throw PeerLost(std::string("gloo could not connect the ranks: ") + error.what());
  }
  for (int i = 0; i < kThreads; ++i) threads_.emplace_back([this] { run_in_order(); });
}

GlooCommunicator::~GlooCommunicator() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::vector<std::pair<std::string, std::string>> GlooCommunicator::description() const {
  return {{"communication", "gloo " + std::to_string(GLOO_VERSION_MAJOR) + "." +
                                std::to_string(GLOO_VERSION_MINOR) + "." +
                                std::to_string(GLOO_VERSION_PATCH) + " over TCP, " +
                                std::to_string(kThreads) + " threads"}};
}

WorkId GlooCommunicator::all_reduce(Region region) {
  return launch(Operation::all_reduce, region);
}

WorkId GlooCommunicator::all_reduce_and_decompress(Region region, Region wide) {
  return launch(Operation::all_reduce, region, wide);
}

WorkId GlooCommunicator::broadcast(Region region) {
  return launch(Operation::broadcast, region);
}

WorkId GlooCommunicator::launch(Operation operation, Region region, Region wide) {
  WorkId id = 0;
  {
    const std::scoped_lock lock(mutex_);
    id = works_.size();
    Work work;
    work.operation = operation;
    work.region = region;
    work.wide = wide;
    work.tag = tag_++;
    works_.push_back(std::move(work));
  }
  changed_.notify_all();
  return id;
}

void GlooCommunicator::run_in_order() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || next_ < works_.size(); });
    if (ending_) return;
    Work& work = works_[next_++];
    lock.unlock();
    run(work);
    lock.lock();
    work.done = true;
    changed_.notify_all();
  }
}

void GlooCommunicator::run(Work& work) {
  work.times.start = clock_.now();
  try {
    if (ranks_ > 1 && work.region.elements > 0) {
      if (work.operation == Operation::broadcast) {
        gloo::BroadcastOptions options(context_);
        options.setOutput(reinterpret_cast<char*>(work.region.data),
                          static_cast<std::size_t>(work.region.bytes().count()));
        options.setRoot(0);
        options.setTag(work.tag);
        gloo::broadcast(options);
      } else {
        all_reduce_in_type(context_, work.region, work.tag);
      }
    }
  } catch (const std::exception& error) {
    work.error = error.what();
  }
  work.times.end = work.times.done = clock_.now();
  // Like ProcessGroupGloo, the worker first runs what was chained to the collective, and then takes
  // the next one.
  if (work.wide.data != nullptr && work.error.empty()) {
    cast_elements(work.region, work.wide);
    work.times.done = clock_.now();
  }
}

void GlooCommunicator::wait(WorkId work) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this, work] { return works_[work].done; });
  if (!works_[work].error.empty())
    throw PeerLost("a peer was lost during a collective: " + works_[work].error);
}

CollectiveTimes GlooCommunicator::times_of(WorkId work) {
  const std::scoped_lock lock(mutex_);
  return works_[work].times;
}

void GlooCommunicator::forget_works() {
  const std::scoped_lock lock(mutex_);
  works_.clear();
  next_ = 0;
}

}  // namespace ddpsim
