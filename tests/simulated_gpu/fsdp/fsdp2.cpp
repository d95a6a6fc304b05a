// fully_shard, function by function as in torch/distributed/fsdp/_fully_shard of PyTorch 2.13
// (_fsdp_param_group.py, _fsdp_collectives.py, _fsdp_state.py). There is one group of parameters
// for each module, sharded on their first dimension, with default communication. cpu_offload stands
// for CPUOffloadPolicy. Functions have PyTorch's names.
#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "trainer.hpp"

namespace fsdp {
namespace {

enum class TrainingState { idle, forward, pre_backward, post_backward };

struct AllGatherResult {
  Block output;
  cudaEvent_t event;
};

/// FSDPParamGroup.
struct Group {
  TrainingState state = TrainingState::idle;
  bool unsharded = false;
  std::optional<AllGatherResult> gathered;
  Block parameters;                   ///< unsharded, one parameter after another
  Block gradients;                    ///< unsharded and unpadded
  Block sharded_gradient;             ///< the optimizer's input
  Block all_reduce_input;             ///< _all_reduce_state
  cudaEvent_t all_reduced = nullptr;  ///< event of _all_reduce_state
  cudaEvent_t post_reduce = nullptr;  ///< not owned
  cudaEvent_t offloaded = nullptr;    ///< after its last gradient
  std::vector<std::size_t> post_forward_indices;
  std::optional<std::uint64_t> post_backward_node;
};

class Fsdp2 : public Trainer {
 public:
  explicit Fsdp2(Rank& rank)
      : rank_(rank),
        job_(rank.job()),
        copy_in_(rank.open_stream(true)),
        gather_(rank.open_stream(true)),
        reduce_scatter_(rank.open_stream(true)),
        all_reduce_(rank.open_stream(false)),
        groups_(rank.units().size()) {}

  void step() override {
    for (int batch = 0; batch < job_.micro_batches; ++batch) {
      syncs_ = !job_.no_sync || batch + 1 == job_.micro_batches;
      forward();
      backward();
    }
    if (job_.cpu_offload) {
      rank_.optimizer_on_host();
      has_host_gradients_ = false;
      return;
    }
    std::vector<Block> gradients;
    for (const Group& group : groups_) gradients.push_back(group.sharded_gradient);
    rank_.optimizer(gradients);
    for (Group& group : groups_) rank_.memory().give(group.sharded_gradient);  // zero_grad
  }

 private:
  struct AllGatherState {
    AllGatherResult result;
    cudaEvent_t copied_out;
  };
  struct ReduceScatterState {
    Block input;
    cudaEvent_t event;
  };

  Unit& unit(std::size_t g) { return rank_.units()[g]; }
  std::optional<std::size_t> root() const {
    return rank_.units().front().is_root ? std::optional<std::size_t>(0) : std::nullopt;
  }
  /// As under replicate, which shards within one rank.
  bool shards_alone() const { return job_.group == 1; }
  bool mixed() const { return job_.param_type != DDPSIM_FLOAT32; }
  bool reshards_after_forward(std::size_t g) {
    return unit(g).is_root ? job_.reshard_root : job_.reshard_after_forward;
  }
  const fsdp_kernels::ParameterPlace* places(std::size_t g) {
    return static_cast<const fsdp_kernels::ParameterPlace*>(unit(g).places.data);
  }
  std::int64_t count(std::size_t g) { return static_cast<std::int64_t>(unit(g).parameters.size()); }

  void forward() {
    root_pre_forward();
    if (root()) pre_forward(*root(), false);
    pending_.clear();
    for (const Part& part : rank_.parts()) {
      const bool is_root = unit(part.unit).is_root;
      // The step's input needs no gradient, but the output of another layer does.
      if (!is_root) pre_forward(part.unit, !pending_.empty());
      pending_.push_back(rank_.autograd().made());
      rank_.forward(part, groups_[part.unit].parameters);
      if (!is_root) post_forward(part.unit);
    }
    if (root()) post_forward(*root());
    if (all_gather_state_) {
      wait_all_gather_streams_on(all_gather_state_->copied_out);
      free_all_gather_state();
    }
  }

  void backward() {
    if (root() && rank_.root_computes_last()) pre_backward(*root());
    back_to(rank_.parts().size() - 1);
    rank_.autograd().run();
    root_post_backward_final_callback();
  }

  void back_to(std::size_t s) {
    rank_.autograd().ready(pending_[s], [this, s] {
      const Part& part = rank_.parts()[s];
      const std::size_t g = part.unit;
      if (!unit(g).is_root) pre_backward(g);
      if (root() && s + 1 == rank_.parts().size() && !rank_.root_computes_last())
        pre_backward(*root());
      compute_gradients(part);
      const auto before = [this, s] {
        if (s > 0) back_to(s - 1);
      };
      if (!unit(g).is_root && groups_[g].post_backward_node)
        rank_.autograd().ready(*groups_[g].post_backward_node, [this, g, before] {
          post_backward(g);
          before();
        });
      else
        before();
    });
  }

  /// AccumulateGrad keeps its first input and adds later ones to it.
  void compute_gradients(const Part& part) {
    Group& group = groups_[part.unit];
    const Unit& own = unit(part.unit);
    const auto bytes = own.elements * size_of(job_.param_type);
    const bool adds = group.gradients.data != nullptr && adds_;
    if (group.gradients.data == nullptr)
      group.gradients = rank_.memory().take(bytes, rank_.compute());
    Block fresh;
    if (adds) fresh = rank_.memory().take(bytes, rank_.compute());
    for (std::size_t p = part.first; p < part.first + part.count; ++p) {
      const Place& place = own.parameters[p];
      rank_.backward(own, place, group.parameters, adds ? fresh : group.gradients);
      if (!adds) continue;
      rank_.pack(rank_.compute(), "accumulate", own, [&](cudaStream_t stream) {
        return ddpsim_add(stream, rank_.at(fresh, place.at, job_.param_type),
                          rank_.at(group.gradients, place.at, job_.param_type), place.elements,
                          job_.param_type);
      });
    }
    rank_.memory().give(fresh);
  }

  void root_pre_forward() {
    rank_.wait_stream(copy_in_, rank_.compute());
    rank_.wait_stream(gather_, rank_.compute());
  }

  void pre_forward(std::size_t g, bool input_needs_gradient) {
    rank_.call_hook();
    Group& group = groups_[g];
    group.state = TrainingState::forward;
    unshard(g);
    wait_for_unshard(g);
    group.post_backward_node.reset();
    if (input_needs_gradient) group.post_backward_node = rank_.autograd().made();
  }

  void post_forward(std::size_t g) {
    reshard(g);
    groups_[g].post_forward_indices.push_back(post_forward_order_.size());
    post_forward_order_.push_back(g);
    groups_[g].state = TrainingState::idle;
  }

  void pre_backward(std::size_t g) {
    Group& group = groups_[g];
    if (group.state == TrainingState::pre_backward) return;
    rank_.call_hook();
    group.state = TrainingState::pre_backward;
    unshard(g);
    wait_for_unshard(g);
    backward_prefetch(g);
  }

  void backward_prefetch(std::size_t g) {
    Group& group = groups_[g];
    if (group.post_forward_indices.empty()) return;
    const std::size_t index = group.post_forward_indices.back();
    group.post_forward_indices.pop_back();
    if (index == 0) return;
    Group& target = groups_[post_forward_order_[index - 1]];
    const TrainingState before = std::exchange(target.state, TrainingState::pre_backward);
    unshard(post_forward_order_[index - 1]);
    target.state = before;
  }

  void unshard(std::size_t g) {
    Group& group = groups_[g];
    if (group.gathered || group.unsharded) return;
    if (shards_alone()) {
      group.gathered = AllGatherResult{};
      return;
    }
    const Unit& own = unit(g);
    const ddpsim_type type = job_.param_type;
    const std::int64_t shard = own.shard;
    // foreach_all_gather
    const void* inputs = own.stored.data;
    Block copied;
    Block cast;
    if (job_.cpu_offload) {  // FSDPParam.all_gather_inputs for each parameter
      copied = rank_.memory().take(own.stored.bytes, copy_in_);
      inputs = copied.data;
      if (mixed()) {
        cast = rank_.memory().take(shard * size_of(type), copy_in_);
        inputs = cast.data;
      }
      for (const Place& place : own.parameters) {
        void* const there = rank_.at(copied, place.shard_at, DDPSIM_FLOAT32);
        rank_.copy(copy_in_, "to device", own, there,
                   rank_.at(own.stored, place.shard_at, DDPSIM_FLOAT32),
                   place.shard * size_of(DDPSIM_FLOAT32));
        if (!mixed()) continue;
        rank_.pack(copy_in_, "cast shard", own, [&](cudaStream_t stream) {
          return fsdp_cast(stream, there, DDPSIM_FLOAT32, rank_.at(cast, place.shard_at, type),
                           type, place.shard);
        });
      }
    } else if (mixed()) {  // _get_param_all_gather_inputs
      cast = rank_.memory().take(shard * size_of(type), copy_in_);
      rank_.pack(copy_in_, "cast shard", own, [&](cudaStream_t stream) {
        return fsdp_cast(stream, own.stored.data, DDPSIM_FLOAT32, cast.data, type, shard);
      });
      inputs = cast.data;
    }
    Block output = rank_.memory().take(shard * job_.group * size_of(type), copy_in_);
    void* const input = rank_.at(output, shard * rank_.group_rank(), type);
    rank_.pack(copy_in_, "copy in", own, [&](cudaStream_t stream) {
      return fsdp_cast(stream, inputs, type, input, type, shard);
    });
    rank_.memory().give(cast);
    rank_.memory().give(copied);
    rank_.wait_stream(gather_, copy_in_);
    rank_.collective(gather_, "all_gather", own, [&](cudaStream_t stream) {
      return ncclAllGather(input, output.data, static_cast<std::size_t>(shard), nccl_type(type),
                           rank_.communicators().shards, stream);
    });
    group.gathered = AllGatherResult{output, rank_.record_event(gather_)};
  }

  void wait_for_unshard(std::size_t g) {
    Group& group = groups_[g];
    if (!group.gathered) return;
    if (shards_alone()) return copy_own(g);
    const bool in_forward = group.state == TrainingState::forward;
    if (in_forward && all_gather_state_) {
      wait_all_gather_streams_on(all_gather_state_->copied_out);
      free_all_gather_state();
    }
    const Unit& own = unit(g);
    // foreach_all_gather_copy_out
    rank_.wait_event(rank_.compute(), group.gathered->event);
    group.parameters = rank_.memory().take(group.gathered->output.bytes, rank_.compute());
    rank_.pack(rank_.compute(), "pack", own, [&](cudaStream_t stream) {
      return fsdp_copy_out(stream, group.gathered->output.data, group.parameters.data, places(g),
                           count(g), own.shard, job_.group, job_.param_type);
    });
    group.unsharded = true;
    cudaEvent_t copied_out = rank_.record_event(rank_.compute());
    if (in_forward) {
      all_gather_state_ = AllGatherState{*group.gathered, copied_out};
    } else {
      wait_all_gather_streams_on(copied_out);
      rank_.end_event(copied_out);
      free_result(*group.gathered);
    }
    group.gathered.reset();
  }

  /// wait_for_unshard if world_size is 1: copies parameter by parameter.
  void copy_own(std::size_t g) {
    Group& group = groups_[g];
    const Unit& own = unit(g);
    const ddpsim_type type = job_.param_type;
    group.parameters = rank_.memory().take(own.shard * size_of(type), rank_.compute());
    for (const Place& place : own.parameters) {
      const void* from = rank_.at(own.stored, place.shard_at, DDPSIM_FLOAT32);
      Block cast;
      if (mixed()) {
        cast = rank_.memory().take(place.elements * size_of(type), rank_.compute());
        rank_.pack_from_python(rank_.compute(), "pack", own, [&](cudaStream_t stream) {
          return fsdp_cast(stream, from, DDPSIM_FLOAT32, cast.data, type, place.elements);
        });
        from = cast.data;
      }
      rank_.pack_from_python(rank_.compute(), "pack", own, [&](cudaStream_t stream) {
        return fsdp_cast(stream, from, type, rank_.at(group.parameters, place.at, type), type,
                         place.elements);
      });
      rank_.memory().give(cast);
    }
    group.unsharded = true;
    group.gathered.reset();
    cudaEvent_t copied_out = rank_.record_event(rank_.compute());
    wait_all_gather_streams_on(copied_out);
    rank_.end_event(copied_out);
  }

  void wait_all_gather_streams_on(cudaEvent_t event) {
    rank_.wait_event(copy_in_, event);
    rank_.wait_event(gather_, event);
  }
  void free_all_gather_state() {
    free_result(all_gather_state_->result);
    rank_.end_event(all_gather_state_->copied_out);
    all_gather_state_.reset();
  }
  void free_result(AllGatherResult& result) {
    rank_.memory().give(result.output);
    rank_.end_event(result.event);
  }

  void reshard(std::size_t g) {
    Group& group = groups_[g];
    if (group.state == TrainingState::forward && !reshards_after_forward(g)) return;
    to_sharded(g);
  }
  void to_sharded(std::size_t g) {
    rank_.memory().give(groups_[g].parameters);
    groups_[g].unsharded = false;
  }

  void post_backward(std::size_t g) {
    Group& group = groups_[g];
    group.state = TrainingState::post_backward;
    reshard(g);
    if (!syncs_) return;
    constexpr std::size_t kMostInputs = 1;
    while (reduce_scatter_states_.size() >= kMostInputs) {
      ReduceScatterState oldest = reduce_scatter_states_.front();
      reduce_scatter_states_.pop_front();
      rank_.wait_event(rank_.compute(), oldest.event);
      rank_.end_event(oldest.event);
      rank_.memory().give(oldest.input);
    }
    if (group.gradients.data == nullptr) return;
    wait_for_post_backward(g);
    foreach_reduce(g);
  }

  void wait_for_post_backward(std::size_t g) {
    Group& group = groups_[g];
    if (group.post_reduce != nullptr) rank_.wait_event(rank_.compute(), group.post_reduce);
    group.post_reduce = nullptr;
    release_all_reduce_input(g, true);
  }
  void release_all_reduce_input(std::size_t g, bool waits) {
    Group& group = groups_[g];
    if (waits && group.all_reduced != nullptr) rank_.wait_event(rank_.compute(), group.all_reduced);
    rank_.end_event(group.all_reduced);
    rank_.memory().give(group.all_reduce_input);
  }

  void foreach_reduce(std::size_t g) {
    Group& group = groups_[g];
    const Unit& own = unit(g);
    const ddpsim_type type = job_.reduce_type;
    const bool overflows = type == DDPSIM_FLOAT16;
    const ncclRedOp_t operation = overflows ? ncclSum : ncclAvg;
    int pre = 1;
    while (overflows && job_.ranks % pre == 0 && job_.ranks / pre > pre) pre *= 2;
    const double post = overflows ? static_cast<double>(job_.ranks) / pre : 1;
    const std::int64_t padded = own.shard * job_.group;

    Block input = rank_.memory().take(padded * size_of(type), rank_.compute());
    rank_.pack(rank_.compute(), "pack", own, [&](cudaStream_t stream) {
      return fsdp_chunk_cat(stream, group.gradients.data, own.elements, job_.param_type, input.data,
                            type, places(g), count(g), own.shard, job_.group);
    });
    rank_.memory().give(group.gradients);
    rank_.wait_stream(reduce_scatter_, rank_.compute());
    Block output = rank_.memory().take(own.shard * size_of(type), reduce_scatter_);
    divide_if_needed(reduce_scatter_, g, input, padded, pre);
    if (shards_alone())
      rank_.pack(reduce_scatter_, "copy", own, [&](cudaStream_t stream) {
        return fsdp_cast(stream, input.data, type, output.data, type, own.shard);
      });
    else
      rank_.collective(reduce_scatter_, "reduce_scatter", own, [&](cudaStream_t stream) {
        return ncclReduceScatter(input.data, output.data, static_cast<std::size_t>(own.shard),
                                 nccl_type(type), operation, rank_.communicators().shards, stream);
      });
    reduce_scatter_states_.push_back({input, rank_.record_event(reduce_scatter_)});
    cudaStream_t last = reduce_scatter_;
    if (rank_.communicators().replicas != nullptr) {
      last = all_reduce_;
      rank_.wait_stream(all_reduce_, reduce_scatter_);
      rank_.collective(all_reduce_, "all_reduce", own, [&](cudaStream_t stream) {
        return ncclAllReduce(output.data, output.data, static_cast<std::size_t>(own.shard),
                             nccl_type(type), operation, rank_.communicators().replicas, stream);
      });
      group.all_reduced = rank_.record_event(all_reduce_);
    }
    divide_if_needed(last, g, output, own.shard, post);
    if (type != DDPSIM_FLOAT32) {
      Block cast = rank_.memory().take(own.shard * size_of(DDPSIM_FLOAT32), last);
      rank_.pack(last, "cast back", own, [&](cudaStream_t stream) {
        return fsdp_cast(stream, output.data, type, cast.data, DDPSIM_FLOAT32, own.shard);
      });
      if (last == all_reduce_)
        group.all_reduce_input = output;  // kept across layers
      else
        rank_.memory().give(output);
      output = cast;
    }
    if (job_.cpu_offload) {
      offload(last, g, output);
      rank_.memory().give(output);
    } else if (group.sharded_gradient.data == nullptr) {
      group.sharded_gradient = output;
    } else {
      for (const Place& place : own.parameters) {
        const std::int64_t behind = place.elements - rank_.group_rank() * place.shard;
        rank_.pack(last, "add", own, [&](cudaStream_t stream) {  // nothing to add, so no kernel
          return ddpsim_add(stream, rank_.at(output, place.shard_at, DDPSIM_FLOAT32),
                            rank_.at(group.sharded_gradient, place.shard_at, DDPSIM_FLOAT32),
                            std::min(place.shard, behind), DDPSIM_FLOAT32);
        });
      }
      rank_.memory().give(output);
    }
    cudaEvent_t& last_event = last_post_reduce_[last];
    rank_.end_event(last_event);
    last_event = rank_.record_event(last);
    group.post_reduce = last_event;
  }

  /// Copies each parameter's shard to the host. If a gradient is already there, the host waits for
  /// the copy and adds it.
  void offload(cudaStream_t stream, std::size_t g, const Block& output) {
    const Unit& own = unit(g);
    for (const Place& place : own.parameters) {
      const std::int64_t behind = place.elements - rank_.group_rank() * place.shard;
      const std::int64_t elements = std::clamp<std::int64_t>(behind, 0, place.shard);
      const void* from = rank_.at(output, place.shard_at, DDPSIM_FLOAT32);
      void* const gradient = rank_.at(own.host_gradient, place.shard_at, DDPSIM_FLOAT32);
      const std::int64_t bytes = elements * size_of(DDPSIM_FLOAT32);
      if (elements == 0) continue;
      if (!has_host_gradients_) {
        rank_.copy(stream, "to host", own, gradient, from, bytes);
        continue;
      }
      if (staging_.bytes < bytes) staging_ = rank_.pinned(bytes);
      rank_.copy(stream, "to host", own, staging_.data, from, bytes);
      rank_.synchronize(stream);
      rank_.add_on_host(static_cast<float*>(gradient), static_cast<const float*>(staging_.data),
                        elements);
    }
    if (!has_host_gradients_) groups_[g].offloaded = rank_.record_event(stream);
  }

  void divide_if_needed(cudaStream_t stream, std::size_t g, const Block& block,
                        std::int64_t elements, double by) {
    if (by == 1) return;
    rank_.pack(stream, "divide", unit(g), [&](cudaStream_t on) {
      return ddpsim_scale_copy(on, block.data, block.data, elements, 1 / by, job_.reduce_type);
    });
  }

  void root_post_backward_final_callback() {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (groups_[g].state != TrainingState::post_backward) post_backward(g);
      groups_[g].state = TrainingState::idle;
      finalize_backward(g);
    }
    post_forward_order_.clear();
    for (ReduceScatterState& state : reduce_scatter_states_) {
      rank_.wait_event(rank_.compute(), state.event);
      rank_.end_event(state.event);
      rank_.memory().give(state.input);
    }
    reduce_scatter_states_.clear();
    adds_ = !syncs_;
    has_host_gradients_ = has_host_gradients_ || (job_.cpu_offload && syncs_);
  }

  /// The default value of is_last_backward.
  void finalize_backward(std::size_t g) {
    for (auto& [stream, event] : last_post_reduce_) {
      rank_.wait_event(rank_.compute(), event);
      rank_.end_event(event);
    }
    last_post_reduce_.clear();
    if (groups_[g].offloaded != nullptr) {  // grad_offload_event
      rank_.synchronize(groups_[g].offloaded, unit(g));
      rank_.end_event(groups_[g].offloaded);
    }
    groups_[g].post_reduce = nullptr;
    release_all_reduce_input(g, false);
    groups_[g].post_forward_indices.clear();
  }

  Rank& rank_;
  const Job& job_;
  const cudaStream_t copy_in_;
  const cudaStream_t gather_;
  const cudaStream_t reduce_scatter_;
  const cudaStream_t all_reduce_;
  std::vector<Group> groups_;
  std::optional<AllGatherState> all_gather_state_;
  std::deque<ReduceScatterState> reduce_scatter_states_;
  std::map<cudaStream_t, cudaEvent_t> last_post_reduce_;
  std::vector<std::size_t> post_forward_order_;
  std::vector<std::uint64_t> pending_;
  bool syncs_ = true;
  bool adds_ = false;  ///< adds to the previous micro-batch's gradients
  bool has_host_gradients_ = false;
  /// On the host, for a gradient that is added to another.
  Block staging_;
};

}  // namespace

std::unique_ptr<Trainer> make_fsdp2(Rank& rank) {
  return std::make_unique<Fsdp2>(rank);
}

std::string refused_by_fsdp2(const Job& job) {
  if (job.group < 2 && job.cpu_offload) return "one rank that shards alone does not offload";
  if (job.micro_batches > 1 && job.no_sync && job.reduce_type != job.param_type)
    return "gradients accumulated in another type are not supported";
  return {};
}

}  // namespace fsdp
