// PyTorch's own reducer instead of ours: c10d::Reducer over ProcessGroupGloo, driven as
// DistributedDataParallel drives it. Our reducer is compared with it.
//
// Backward is a chain of autograd nodes, one per parameter in the workload's ready order. Each
// waits for its deadline and returns a gradient. Launches are observed at the process group, and
// ends through the work's future. The start of a collective inside a worker thread cannot be
// observed and is set to its launch. Copies out cannot be observed separately. The time between the
// last end and the return of backward is attributed to one copy.
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/version.h>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "backends.hpp"
#include "communicator.hpp"
#include "cpu_device.hpp"
#include "ddpsim/sim/step/bucket_assignment.hpp"
#include "reducer.hpp"

namespace ddpsim {
namespace {

/// c10d's key-value store, implemented by our store.
class C10dStoreAdapter : public c10d::Store {
 public:
  explicit C10dStoreAdapter(StoreClient& store) : store_(store) {}
  void set(const std::string& key, const std::vector<uint8_t>& value) override {
    store_.set("c10d/" + key, std::string(value.begin(), value.end()));
  }
  std::vector<uint8_t> get(const std::string& key) override {
    const std::string value = store_.get("c10d/" + key);
    return {value.begin(), value.end()};
  }
  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) get(key);
  }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds&) override {
    wait(keys);
  }
  int64_t add(const std::string&, int64_t) override { return unused<int64_t>(); }
  bool deleteKey(const std::string&) override { return unused<bool>(); }
  bool check(const std::vector<std::string>&) override { return unused<bool>(); }
  int64_t getNumKeys() override { return unused<int64_t>(); }

 private:
  template <typename T>
  static T unused() {
    throw PeerLost("gloo's rendezvous used an unexpected operation of the store");
  }
  StoreClient& store_;
};

/// Records when the reducer launches collectives and when they end.
class WatchedGloo : public c10d::ProcessGroupGloo {
 public:
  struct Launch {
    std::int64_t elements;
    bool is_map;  ///< all-reduces the map of used parameters
    TimePoint begin;
    TimePoint launched;
    TimePoint end;
  };
  WatchedGloo(const c10::intrusive_ptr<c10d::Store>& store, const World& world,
              c10::intrusive_ptr<Options> options, HostClock clock)
      : c10d::ProcessGroupGloo(store, world.rank, world.ranks, std::move(options)), clock_(clock) {}

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override {
    std::size_t index = 0;
    {
      const std::scoped_lock lock(mutex_);
      index = launches_.size();
      launches_.push_back({.elements = tensors[0].numel(),
                           .is_map = tensors[0].scalar_type() == at::kInt,
                           .begin = clock_.now()});
    }
    auto work = c10d::ProcessGroupGloo::allreduce(tensors, options);
    work->getFuture()->addCallback([this, index](c10::ivalue::Future&) {
      const std::scoped_lock lock(mutex_);
      launches_[index].end = clock_.now();
      ++ended_;
      changed_.notify_all();
    });
    const std::scoped_lock lock(mutex_);
    launches_[index].launched = clock_.now();
    return work;
  }

  /// The launches since the last call, once all of them have ended. This wait is needed because a
  /// future wakes its waiters before it calls back.
  std::vector<Launch> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ended_ == launches_.size(); });
    ended_ = 0;
    return std::exchange(launches_, {});
  }

 private:
  HostClock clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Launch> launches_;
  std::size_t ended_ = 0;
};

/// What a node of the replayed backward needs, by parameter.
struct Backward {
  HostClock clock;
  TimePoint begin;
  std::vector<Duration> at;
  /// The same memory in all steps, as a GPU's allocator provides it.
  std::vector<std::vector<float>> gradients;
  std::vector<std::vector<std::int64_t>> shapes;
  /// Gradients are added up, so each needs memory of its own.
  bool accumulates = false;
};

class GradientNode : public torch::autograd::Function<GradientNode> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& chain,
                            const at::Tensor& parameter, std::int64_t backward,
                            std::int64_t index) {
    (void)parameter;
    context->saved_data["backward"] = backward;
    context->saved_data["index"] = index;
    return chain.clone();
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list outputs) {
    auto* backward = reinterpret_cast<Backward*>(context->saved_data["backward"].toInt());
    const auto index = static_cast<std::size_t>(context->saved_data["index"].toInt());
    sleep_until(backward->clock, backward->begin + backward->at[index]);
    at::Tensor gradient = at::from_blob(backward->gradients[index].data(), backward->shapes[index]);
    if (backward->accumulates) gradient = gradient.clone();
    return {outputs[0], gradient, at::Tensor(), at::Tensor()};
  }
};

std::vector<std::size_t> sizes_of(const std::vector<Bytes>& limits) {
  std::vector<std::size_t> sizes;
  for (const Bytes limit : limits) sizes.push_back(static_cast<std::size_t>(limit.count()));
  return sizes;
}

class C10dRunner : public StepRunner {
 public:
  C10dRunner(c10::intrusive_ptr<WatchedGloo> group, HostClock clock, const Workload& workload,
             const ReducerOptions& options)
      : group_(std::move(group)),
        clock_(clock),
        workload_(workload),
        recorded_(recorded_by(workload, group_->getRank())),
        options_(options) {
    backward_.clock = clock;
    backward_.accumulates = options.accumulate > 1;
    std::vector<std::size_t> indices(workload.parameters.size());
    for (std::size_t i = 0; i < workload.parameters.size(); ++i) {
      backward_.shapes.push_back(*workload.parameters[i].shape);
      parameters_.push_back(at::zeros(backward_.shapes.back()).requires_grad_(true));
      backward_.gradients.emplace_back(static_cast<std::size_t>(parameters_.back().numel()),
                                       static_cast<float>(group_->getRank() + 1));
      backward_.at.emplace_back();
    }
    for (const ReadyEvent& event : recorded_.backward->ready)
      backward_.at[event.parameter] = event.at;
    make_reducer();
  }

  void run_step(int) override {
    for (at::Tensor& parameter : parameters_) parameter.mutable_grad() = at::Tensor();
    StepRecord record;
    try {
      for (int batch = 1; batch < options_.accumulate; ++batch)
        record.accumulated.push_back(micro_batch(false));
      const MicroBatchRecord last = micro_batch(true);
      record.forward_begin = last.forward_begin;
      record.backward_begin = last.backward_begin;
      record.backward_end = last.backward_end;
      // DDP's sink makes autograd call this.
      if (options_.static_graph && !std::exchange(delayed_, true)) reducer_->delay_all_reduce();
    } catch (const std::exception& error) {
      throw PeerLost(std::string("a peer was lost during backward: ") + error.what());
    }
    record.optimizer_begin = clock_.now();
    sleep_until(clock_, record.optimizer_begin + recorded_.optimizer.value_or(Duration()));
    record.optimizer_end = clock_.now();
    note_buckets(record);
    records_.push_back(std::move(record));
  }

  /// PyTorch's reducer is not checked. But a static graph's first step must run as one of the
  /// training.
  void check_step(int iteration) override {
    if (iteration == 1) run_step(iteration);
  }

  std::vector<StepRecord> records() override { return std::exchange(records_, {}); }

 private:
  /// Under no_sync, the reducer is not told about forward, and its hooks do nothing.
  MicroBatchRecord micro_batch(bool synchronised) {
    MicroBatchRecord record;
    record.forward_begin = clock_.now();
    if (synchronised) {
      reducer_->prepare_for_forward();
      reducer_->rebuild_buckets();
      // Drops the broadcasts of the rebuild, which are not buckets of the reducer.
      group_->take();
    }
    at::Tensor chain = at::zeros({}).requires_grad_(true);
    const auto& ready = recorded_.backward->ready;
    for (auto event = ready.rbegin(); event != ready.rend(); ++event)
      chain = GradientNode::apply(chain, parameters_[event->parameter],
                                  reinterpret_cast<std::int64_t>(&backward_),
                                  static_cast<std::int64_t>(event->parameter));
    const bool searches = options_.find_unused_parameters && !options_.static_graph;
    if (synchronised)
      reducer_->prepare_for_backward(searches ? std::vector<at::Tensor>{chain}
                                              : std::vector<at::Tensor>{});
    const Duration forward = recorded_.forward.value_or(Duration());
    sleep_until(clock_, record.forward_begin + forward);
    record.backward_begin = clock_.now();
    backward_.begin = record.forward_begin + forward;
    torch::autograd::backward({chain}, {});
    record.backward_end = clock_.now();
    return record;
  }

  void make_reducer() {
    const BucketLimits limits = bucket_limits(options_, options_.torch);
    std::vector<bool> sparse(parameters_.size(), false);
    auto [buckets, sizes] =
        c10d::compute_bucket_assignment_by_size(parameters_, sizes_of(limits.construction), sparse);
    std::reverse(buckets.begin(), buckets.end());
    std::reverse(sizes.begin(), sizes.end());
    std::unordered_map<std::size_t, std::string> names;
    for (std::size_t i = 0; i < parameters_.size(); ++i) names[i] = workload_.parameters[i].name;
    reducer_ = std::make_unique<c10d::Reducer>(
        parameters_, buckets, sizes, group_, sparse, limits.rebuild.back().count(),
        options_.find_unused_parameters, options_.gradient_as_bucket_view, names,
        limits.rebuild.front().count());
    if (options_.static_graph) reducer_->set_static_graph();
    if (options_.comm_hook == CommHook::fp16_compress)
      reducer_->register_builtin_comm_hook(c10d::BuiltinCommHookType::FP16_COMPRESS);
    // The buckets that the reducer will build for this ready order, by its own function.
    std::vector<at::Tensor> in_order;
    std::vector<std::int64_t> order;
    for (const std::size_t index : ready_order(workload_)) {
      in_order.push_back(parameters_[index]);
      order.push_back(static_cast<std::int64_t>(index));
    }
    rebuilt_ = std::get<0>(
        c10d::compute_bucket_assignment_by_size(in_order, sizes_of(limits.rebuild), sparse, order));
  }

  void note_buckets(StepRecord& record) {
    TimePoint last_end = record.backward_begin;
    std::vector<WatchedGloo::Launch> launches = group_->take();
    const auto map = std::ranges::find(launches, true, &WatchedGloo::Launch::is_map);
    if (map != launches.end()) {
      record.map_start = map->begin;
      record.map_end = map->end;
      launches.erase(map);
    }
    for (std::size_t i = 0; i < launches.size(); ++i) {
      const WatchedGloo::Launch& launch = launches[i];
      BucketRecord bucket{.bytes = Bytes(launch.elements * element_size(Dtype::float32)),
                          .ready = launch.begin,
                          .launch_begin = launch.begin,
                          .launch_end = launch.launched,
                          .start = launch.begin,
                          .end = launch.end,
                          .done = launch.end,
                          .copy_out_begin = launch.end,
                          .copy_out_end = launch.end};
      if (launches.size() == rebuilt_.size()) bucket.parameters = rebuilt_[i];
      // The last gradient's hook launches the last bucket.
      record.backward_end = launch.launched;
      last_end = std::max(last_end, launch.end);
      record.buckets.push_back(std::move(bucket));
    }
    if (record.buckets.empty()) return;
    record.buckets.back().copy_out_begin = std::max(last_end, record.backward_end);
    record.buckets.back().copy_out_end =
        std::max(record.buckets.back().copy_out_begin, record.optimizer_begin);
  }

  c10::intrusive_ptr<WatchedGloo> group_;
  HostClock clock_;
  const Workload& workload_;
  const Recorded& recorded_;  ///< what this rank replays
  ReducerOptions options_;
  Backward backward_;
  std::vector<at::Tensor> parameters_;
  std::unique_ptr<c10d::Reducer> reducer_;
  std::vector<std::vector<std::size_t>> rebuilt_;
  bool delayed_ = false;  ///< a static graph's first step is over
  std::vector<StepRecord> records_;
};

class C10dBackend : public RealBackend {
 public:
  C10dBackend(StoreClient& store, const BackendSetting& setting) : clock_(setting.clock) {
    ask_for_sharp_timers();
    at::set_num_threads(1);
    auto options = c10d::ProcessGroupGloo::Options::create(setting.timeout);
    options->devices.push_back(
        c10d::ProcessGroupGloo::createDeviceForHostname(store.own_address()));
    try {
      group_ = c10::make_intrusive<WatchedGloo>(c10::make_intrusive<C10dStoreAdapter>(store),
                                                setting.world, options, clock_);
    } catch (const std::exception& error) {
      throw PeerLost(std::string("gloo could not connect the ranks: ") + error.what());
    }
  }

  std::vector<std::pair<std::string, std::string>> description() const override {
    return {{"device", "CPU; compute is a wait until a deadline, copies are real"},
            {"communication", "ProcessGroupGloo of libtorch " TORCH_VERSION}};
  }

  std::unique_ptr<StepRunner> runner(const Workload& workload,
                                     const ReducerOptions& options) override {
    return std::make_unique<C10dRunner>(group_, clock_, workload, options);
  }

  std::vector<AllReduceTimes> all_reduce(Dtype dtype, Bytes size, int repetitions,
                                         const std::function<void()>& meet) override {
    const bool hooked = dtype == Dtype::float16;
    at::Tensor wide = at::full({size.count() / element_size(dtype)}, 1.5F);
    meet();
    std::vector<AllReduceTimes> times;
    for (int i = 0; i < repetitions; ++i) {
      const TimePoint begin = clock_.now();
      at::Tensor tensor = hooked ? wide.to(at::kHalf) : wide;
      tensor /= group_->getSize();
      std::vector<at::Tensor> tensors = {tensor};
      const TimePoint compressed = clock_.now();
      group_->allreduce(tensors, {})->wait();
      const TimePoint summed = clock_.now();
      if (hooked) wide.copy_(tensor);
      times.push_back({.all_reduce = summed - compressed});
      if (!hooked) continue;
      times.back().compress = compressed - begin;
      times.back().decompress = clock_.now() - summed;
    }
    group_->take();
    return times;
  }

 private:
  HostClock clock_;
  c10::intrusive_ptr<WatchedGloo> group_;
};

}  // namespace

}  // namespace ddpsim

extern "C" ddpsim::RealBackend* ddpsim_make_c10d_gloo(ddpsim::StoreClient& store,
                                                      const ddpsim::BackendSetting& setting) {
  return new ddpsim::C10dBackend(store, setting);
}
