// FullyShardedDataParallel, function by function as in torch/distributed/fsdp/_runtime_utils.py of
// PyTorch 2.13 (with _flat_param.py, _exec_order_utils.py and _limiter_utils.py). It has
// use_orig_params=False, trains every parameter, and offloads nothing. Functions have PyTorch's
// names.
//
// A collective that no host thread waits for runs on the current stream (ProcessGroupNCCL.cpp,
// since 2.8). Here that is the stream passed to it.
#include <deque>
#include <optional>
#include <utility>

#include "trainer.hpp"

namespace fsdp {
namespace {

enum class HandleState { idle, forward, backward_pre, backward_post };

/// FlatParamHandle, with the state that FSDP keeps in its module.
struct Handle {
  HandleState state = HandleState::idle;
  bool prefetched = false;
  bool needs_pre_forward_unshard = false;
  bool needs_pre_backward_unshard = false;
  bool ran_pre_backward_hook = false;
  std::optional<std::size_t> pre_forward_index;
  std::optional<std::size_t> post_forward_index;
  Block low_precision_shard;           ///< _mp_shard
  Block whole;                         ///< _full_param_padded, whose storage may be freed
  Block gradient;                      ///< unsharded .grad
  Block saved_shard;                   ///< _saved_grad_shard
  std::optional<std::uint64_t> views;  ///< views of the flat parameter, created by forward
  std::size_t parts_left = 0;          ///< parts that backward has not run yet
  Block pieces;                        ///< gradients of the views
};

class Fsdp1 : public Trainer {
 public:
  explicit Fsdp1(Rank& rank)
      : rank_(rank),
        job_(rank.job()),
        unshard_(rank.open_stream(high_priority())),
        post_backward_(rank.open_stream(high_priority())),
        pre_unshard_(rank.open_stream(high_priority())),
        all_reduce_(hybrid() ? rank.open_stream(false) : rank.compute()),
        handles_(rank.units().size()) {
    // DefaultState._get_gradient_predivide_factor
    while (job_.ranks % predivide_ == 0 && job_.ranks / predivide_ > predivide_) predivide_ *= 2;
  }

  void step() override {
    for (int batch = 0; batch < job_.micro_batches; ++batch) {
      syncs_ = !job_.no_sync || batch + 1 == job_.micro_batches;
      forward();
      backward();
    }
    std::vector<Block> gradients;
    for (Handle& handle : handles_)
      gradients.push_back(shards() ? handle.saved_shard : handle.gradient);
    if (job_.cpu_offload)
      rank_.optimizer_on_host();
    else
      rank_.optimizer(gradients);
    for (Handle& handle : handles_) {  // zero_grad
      rank_.memory().give(handle.saved_shard);
      rank_.memory().give(handle.gradient);
    }
  }

 private:
  enum class PrefetchMode { forward, backward };

  bool hybrid() const {
    return job_.strategy == Strategy::hybrid_shard || job_.strategy == Strategy::hybrid_shard_zero2;
  }
  bool high_priority() const { return job_.limit_all_gathers && hybrid(); }
  /// uses_sharded_strategy
  bool shards() const { return job_.strategy != Strategy::no_shard; }
  bool reshards_after_forward() const {
    return job_.strategy == Strategy::full_shard || job_.strategy == Strategy::hybrid_shard;
  }
  bool mixed() const { return job_.param_type != DDPSIM_FLOAT32; }
  double postdivide() const { return static_cast<double>(job_.ranks) / predivide_; }
  Unit& unit(std::size_t h) { return rank_.units()[h]; }
  std::optional<std::size_t> root() const {
    return rank_.units().front().is_root ? std::optional<std::size_t>(0) : std::nullopt;
  }
  std::int64_t padded(std::size_t h) { return unit(h).shard * (shards() ? job_.group : 1); }

  void forward() {
    root_pre_forward();
    if (root()) pre_forward(*root());
    pending_.clear();
    for (const Part& part : rank_.parts()) {
      const bool is_root = unit(part.unit).is_root;
      if (!is_root) pre_forward(part.unit);
      pending_.push_back(rank_.autograd().made());
      rank_.forward(part, parameters_of(part.unit));
      if (!is_root) post_forward(part.unit);
    }
    if (root()) post_forward(*root());
  }

  void backward() {
    for (Handle& handle : handles_) handle.parts_left = 0;
    for (const Part& part : rank_.parts()) ++handles_[part.unit].parts_left;
    // The gradient of the root's output. If it is the last unit's output, the unit's hook was
    // registered first.
    if (root() && rank_.root_computes_last()) pre_backward_hook(*root());
    back_to(rank_.parts().size() - 1);
    rank_.autograd().run();
    post_backward_final_callback();
  }

  /// Runs when the gradient of a part's output is ready.
  void back_to(std::size_t s) {
    rank_.autograd().ready(pending_[s], [this, s] {
      const Part& part = rank_.parts()[s];
      if (!unit(part.unit).is_root) pre_backward_hook(part.unit);
      if (root() && s + 1 == rank_.parts().size() && !rank_.root_computes_last())
        pre_backward_hook(*root());
      Handle& handle = handles_[part.unit];
      if (handle.pieces.data == nullptr)
        handle.pieces = rank_.memory().take(unit(part.unit).elements * size_of(job_.param_type),
                                            rank_.compute());
      for (std::size_t p = part.first; p < part.first + part.count; ++p)
        rank_.backward(unit(part.unit), unit(part.unit).parameters[p], parameters_of(part.unit),
                       handle.pieces);
      if (s > 0) back_to(s - 1);
      if (--handle.parts_left == 0)
        rank_.autograd().ready(*handle.views,
                               [this, h = part.unit] { accumulate_flat_gradient(h); });
    });
  }

  /// Runs backward of the views (one split of the flat parameter), AccumulateGrad and its hook.
  void accumulate_flat_gradient(std::size_t h) {
    Handle& handle = handles_[h];
    const std::int64_t elements = unit(h).elements;
    Block flat = rank_.memory().take(handle.pieces.bytes, rank_.compute());
    rank_.pack(rank_.compute(), "pack", unit(h), [&](cudaStream_t stream) {
      return fsdp_cast(stream, handle.pieces.data, job_.param_type, flat.data, job_.param_type,
                       elements);
    });
    rank_.memory().give(handle.pieces);
    if (handle.gradient.data == nullptr) {
      handle.gradient = flat;
    } else {
      rank_.pack(rank_.compute(), "accumulate", unit(h), [&](cudaStream_t stream) {
        return ddpsim_add(stream, flat.data, handle.gradient.data, elements, job_.param_type);
      });
      rank_.memory().give(flat);
    }
    post_backward_hook(h);
  }

  /// The parameters in the type in which a layer computes.
  const Block& parameters_of(std::size_t h) {
    return shards() ? handles_[h].whole : unit(h).stored;
  }

  void root_pre_forward() {
    if (job_.forward_prefetch)
      for (Handle& handle : handles_) {
        handle.needs_pre_forward_unshard = true;
        handle.prefetched = false;
      }
    rank_.wait_stream(unshard_, rank_.compute());
    rank_.wait_stream(pre_unshard_, rank_.compute());
  }

  void pre_forward(std::size_t h) {
    rank_.call_hook();
    Handle& handle = handles_[h];
    if (first_iteration_ && !handle.pre_forward_index) {
      handle.pre_forward_index = pre_forward_order_.size();
      pre_forward_order_.push_back(h);
    }
    handle.state = HandleState::forward;
    if (!handle.prefetched) unshard(h);
    handle.needs_pre_forward_unshard = false;
    rank_.wait_stream(rank_.compute(), unshard_);
    prefetch_handle(h, PrefetchMode::forward);
  }

  void post_forward(std::size_t h) {
    Handle& handle = handles_[h];
    handle.post_forward_index = post_forward_order_.size();
    post_forward_order_.push_back(h);
    reshard(h, !unit(h).is_root && reshards_after_forward());
    handle.ran_pre_backward_hook = false;
    handle.needs_pre_backward_unshard = true;
    handle.state = HandleState::idle;
  }

  void pre_backward_hook(std::size_t h) {
    Handle& handle = handles_[h];
    if (handle.ran_pre_backward_hook) return;
    rank_.call_hook();
    handle.state = HandleState::backward_pre;
    if (handle.needs_pre_backward_unshard) {
      if (!handle.prefetched) unshard(h);
      rank_.wait_stream(rank_.compute(), unshard_);
    }
    handle.needs_pre_backward_unshard = false;
    prefetch_handle(h, PrefetchMode::backward);
    handle.ran_pre_backward_hook = true;
  }

  void post_backward_hook(std::size_t h) {
    rank_.call_hook();
    Handle& handle = handles_[h];
    handle.state = HandleState::backward_post;
    reshard(h, should_free_in_backward());
    prefetch_handle(h, PrefetchMode::backward);
    if (!syncs_) return;
    rank_.wait_stream(post_backward_, rank_.compute());
    Block computed = std::exchange(handle.gradient, {});
    Block reduced = computed;
    if (job_.reduce_type != job_.param_type) {
      reduced = rank_.memory().take(unit(h).elements * size_of(job_.reduce_type), post_backward_);
      rank_.pack(post_backward_, "cast", unit(h), [&](cudaStream_t stream) {
        return fsdp_cast(stream, computed.data, job_.param_type, reduced.data, job_.reduce_type,
                         unit(h).elements);
      });
    }
    const bool is_cast = reduced.data != computed.data;
    if (shards()) {
      reduce_grad(h, reduced);
      if (is_cast) rank_.memory().give(reduced);
      rank_.memory().give(computed, {post_backward_});
    } else {
      reduce_grad_no_shard(h, computed);
    }
  }

  bool should_free_in_backward() const { return shards() && (syncs_ || reshards_after_forward()); }

  void reduce_grad(std::size_t h, const Block& unsharded) {
    Handle& handle = handles_[h];
    const ddpsim_type type = job_.reduce_type;
    const std::int64_t shard = unit(h).shard;
    Block padded_gradient = unsharded;
    const bool pads = padded(h) > unit(h).elements;
    if (pads) {  // F.pad fills, then copies
      padded_gradient = rank_.memory().take(padded(h) * size_of(type), post_backward_);
      rank_.pack(post_backward_, "pad", unit(h), [&](cudaStream_t stream) {
        return ddpsim_fill(stream, padded_gradient.data, padded(h), 0, type);
      });
      rank_.pack(post_backward_, "pad", unit(h), [&](cudaStream_t stream) {
        return fsdp_cast(stream, unsharded.data, type, padded_gradient.data, type,
                         unit(h).elements);
      });
    }
    Block sharded = rank_.memory().take(shard * size_of(type), post_backward_);
    divide_if_needed(post_backward_, h, padded_gradient, padded(h), predivide_);
    rank_.collective(post_backward_, "reduce_scatter", unit(h), [&](cudaStream_t stream) {
      return ncclReduceScatter(padded_gradient.data, sharded.data, static_cast<std::size_t>(shard),
                               nccl_type(type), ncclSum, rank_.communicators().shards, stream);
    });
    if (pads) rank_.memory().give(padded_gradient);
    cudaStream_t last = post_backward_;
    if (hybrid()) {
      last = all_reduce_;
      rank_.wait_stream(all_reduce_, post_backward_);
      if (rank_.communicators().replicas != nullptr)
        rank_.collective(all_reduce_, "all_reduce", unit(h), [&](cudaStream_t stream) {
          return ncclAllReduce(sharded.data, sharded.data, static_cast<std::size_t>(shard),
                               nccl_type(type), ncclSum, rank_.communicators().replicas, stream);
        });
    }
    divide_if_needed(last, h, sharded, shard, postdivide());
    // _accumulate_sharded_grad
    if (type != DDPSIM_FLOAT32) {
      Block cast = rank_.memory().take(shard * size_of(DDPSIM_FLOAT32), last);
      rank_.pack(last, "cast back", unit(h), [&](cudaStream_t stream) {
        return fsdp_cast(stream, sharded.data, type, cast.data, DDPSIM_FLOAT32, shard);
      });
      rank_.memory().give(sharded, {last});
      sharded = cast;
    }
    if (handle.saved_shard.data == nullptr) {
      handle.saved_shard = sharded;
      if (job_.cpu_offload)  // _offload_grad
        rank_.copy(last, "to host", unit(h), unit(h).host_gradient.data, sharded.data,
                   shard * size_of(DDPSIM_FLOAT32));
      return;
    }
    rank_.pack(last, "add", unit(h), [&](cudaStream_t stream) {
      return ddpsim_add(stream, sharded.data, handle.saved_shard.data, shard, DDPSIM_FLOAT32);
    });
    rank_.memory().give(sharded, {last});
  }

  void reduce_grad_no_shard(std::size_t h, Block gradient) {
    const std::int64_t elements = unit(h).elements;
    divide_if_needed(post_backward_, h, gradient, elements, predivide_);
    rank_.collective(post_backward_, "all_reduce", unit(h), [&](cudaStream_t stream) {
      return ncclAllReduce(gradient.data, gradient.data, static_cast<std::size_t>(elements),
                           nccl_type(job_.reduce_type), ncclSum, rank_.communicators().shards,
                           stream);
    });
    divide_if_needed(post_backward_, h, gradient, elements, postdivide());
    handles_[h].gradient = gradient;
  }

  void divide_if_needed(cudaStream_t stream, std::size_t h, const Block& block,
                        std::int64_t elements, double by) {
    if (by <= 1) return;
    rank_.pack(stream, "divide", unit(h), [&](cudaStream_t on) {
      return ddpsim_scale_copy(on, block.data, block.data, elements, 1 / by, job_.reduce_type);
    });
  }

  void post_backward_final_callback() {
    if (syncs_) {
      rank_.wait_stream(rank_.compute(), post_backward_);
      if (all_reduce_ != rank_.compute()) rank_.wait_stream(rank_.compute(), all_reduce_);
      if (job_.cpu_offload) rank_.synchronize(rank_.compute());
    }
    first_iteration_ = false;
    post_forward_order_.clear();
    for (Handle& handle : handles_) {
      handle.ran_pre_backward_hook = false;
      handle.needs_pre_backward_unshard = false;
      handle.post_forward_index.reset();
      handle.state = HandleState::idle;
      handle.prefetched = false;
    }
  }

  void unshard(std::size_t h) {
    Handle& handle = handles_[h];
    const bool needs = shards() && handle.whole.data == nullptr;
    const void* from = unit(h).stored.data;
    Block copied;
    if (job_.cpu_offload) {  // pre_unshard, even if already unsharded
      copied = rank_.memory().take(unit(h).stored.bytes, pre_unshard_);
      rank_.copy(pre_unshard_, "to device", unit(h), copied.data, from, copied.bytes);
      from = copied.data;
    }
    if ((needs || job_.cpu_offload) && mixed()) {  // pre_unshard
      handle.low_precision_shard =
          rank_.memory().take(unit(h).shard * size_of(job_.param_type), pre_unshard_);
      rank_.pack(pre_unshard_, "cast shard", unit(h), [&](cudaStream_t stream) {
        return fsdp_cast(stream, from, DDPSIM_FLOAT32, handle.low_precision_shard.data,
                         job_.param_type, unit(h).shard);
      });
      from = handle.low_precision_shard.data;
      rank_.wait_stream(unshard_, pre_unshard_);
    } else if (job_.cpu_offload) {
      rank_.wait_stream(unshard_, pre_unshard_);
    }
    if (job_.limit_all_gathers) wait_for_a_free(h);
    if (needs) {
      handle.whole = rank_.memory().take(padded(h) * size_of(job_.param_type), unshard_);
      rank_.collective(unshard_, "all_gather", unit(h), [&](cudaStream_t stream) {
        return ncclAllGather(from, handle.whole.data, static_cast<std::size_t>(unit(h).shard),
                             nccl_type(job_.param_type), rank_.communicators().shards, stream);
      });
    }
    if (handle.state == HandleState::forward) handle.views = rank_.autograd().made();
    rank_.memory().give(handle.low_precision_shard, {unshard_});  // post_unshard
    rank_.memory().give(copied, {unshard_});
  }

  /// _FreeEventQueue.dequeue_if_needed and the host's wait.
  void wait_for_a_free(std::size_t h) {
    constexpr std::size_t kMostInFlight = 2;
    if (free_events_.size() < kMostInFlight) return;
    cudaEvent_t event = free_events_.front();
    free_events_.pop_front();
    rank_.synchronize(event, unit(h));
    rank_.end_event(event);
  }

  void reshard(std::size_t h, bool frees) {
    Handle& handle = handles_[h];
    if (frees && shards()) {
      rank_.memory().give(handle.whole, {rank_.compute()});
      if (job_.limit_all_gathers) free_events_.push_back(rank_.record_event(rank_.compute()));
    }
    handle.prefetched = false;
  }

  void prefetch_handle(std::size_t current, PrefetchMode mode) {
    const std::optional<std::size_t> target = handle_to_prefetch(current);
    if (!target) return;
    Handle& handle = handles_[*target];
    const HandleState before =
        std::exchange(handle.state, mode == PrefetchMode::backward ? HandleState::backward_pre
                                                                   : HandleState::forward);
    unshard(*target);
    handle.state = before;
    handle.prefetched = true;
  }

  std::optional<std::size_t> handle_to_prefetch(std::size_t current) const {
    const Handle& handle = handles_[current];
    const bool backward =
        (handle.state == HandleState::backward_pre && job_.backward_prefetch == Prefetch::pre) ||
        (handle.state == HandleState::backward_post && job_.backward_prefetch == Prefetch::post);
    if (backward) {
      if (!handle.post_forward_index || *handle.post_forward_index == 0) return std::nullopt;
      const std::size_t target = post_forward_order_[*handle.post_forward_index - 1];
      const Handle& candidate = handles_[target];
      if (candidate.needs_pre_backward_unshard && !candidate.prefetched) return target;
    } else if (handle.state == HandleState::forward && job_.forward_prefetch) {
      if (!handle.pre_forward_index || *handle.pre_forward_index + 1 >= pre_forward_order_.size())
        return std::nullopt;
      const std::size_t target = pre_forward_order_[*handle.pre_forward_index + 1];
      const Handle& candidate = handles_[target];
      if (candidate.needs_pre_forward_unshard && !candidate.prefetched) return target;
    }
    return std::nullopt;
  }

  Rank& rank_;
  const Job& job_;
  const cudaStream_t unshard_;
  const cudaStream_t post_backward_;
  const cudaStream_t pre_unshard_;
  const cudaStream_t all_reduce_;
  std::vector<Handle> handles_;
  std::deque<cudaEvent_t> free_events_;
  std::vector<std::size_t> pre_forward_order_;   ///< order in the first iteration
  std::vector<std::size_t> post_forward_order_;  ///< order in this iteration
  std::vector<std::uint64_t> pending_;           ///< autograd's nodes of the parts
  bool first_iteration_ = true;
  bool syncs_ = true;
  int predivide_ = 1;
};

}  // namespace

std::unique_ptr<Trainer> make_fsdp1(Rank& rank) {
  return std::make_unique<Fsdp1>(rank);
}

std::string refused_by_fsdp1(const Job& job) {
  const bool hybrid =
      job.strategy == Strategy::hybrid_shard || job.strategy == Strategy::hybrid_shard_zero2;
  if (!hybrid && job.group != job.ranks) return "only hybrid strategies have groups";
  if (job.group < 2) return "PyTorch turns groups of one rank into no_shard";
  if (job.strategy == Strategy::no_shard &&
      (job.param_type != DDPSIM_FLOAT32 || job.reduce_type != DDPSIM_FLOAT32))
    return "no_shard with other types is not supported";
  if (job.cpu_offload &&
      (job.strategy == Strategy::no_shard || (job.micro_batches > 1 && !job.no_sync)))
    return "cpu_offload is not supported with no_shard or with gradients that stay on the host "
           "between micro-batches";
  return {};
}

}  // namespace fsdp
