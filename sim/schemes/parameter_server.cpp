// A step with parameter servers. server_costs.hpp gives the times of transfers.
//
// The compute stream runs:
// - forward, which may wait for the parameters it reads
// - backward, gradient by gradient
// - then, depending on the options, a wait until everything is pulled, and the optimizer
//
// The streams of communication are:
// - within the node: a reduce-scatter of a part among the GPUs of a worker, if it has several
// - to each server: pushes of its parts, one after the other, in the order their gradients are
//   written
// - from each server: pulls of its parts, each after it has been pushed and answered
// - within the node again: an all-gather of each part among the GPUs
//
// The host runs a hook per gradient, which hands it over. The library's own threads do the rest.
//
// Parameters are assigned to servers in turn, in the order of definition. They are whole
// (tf.train.replica_device_setter) or in parts (BytePS: BYTEPS_PARTITION_BYTES; the last part of
// each is smaller). A node's GPUs reduce-scatter and all-gather, as BytePS does by default
// (BYTEPS_REDUCE_ROOTS unset). If the host is the server, every GPU pushes and pulls by itself.
//
// With pull=forward, parameters are pulled from the start of forward in the order it reads them.
// TensorFlow runs steps like this: its graph reads the variables, and the step before ended when
// the servers had stepped all of them.
//
// With pull=backward, each parameter is pulled as soon as possible, and the step ends when all have
// arrived (MXNet, BytePS).
//
// With pull=priority, parameters are pulled in the same way, but forward waits only for each
// module's own (ByteScheduler, P3). Among parts that wait for their server's link, the one that
// forward reads first in the recorded step is sent first. A part that is being sent is not
// interrupted. A step is then cut, and drawn, where nothing is in flight: it begins with backward
// and ends with the next step's forward.
//
// Only the last micro-batch pushes. Asynchronous workers do not wait for each other: the step is
// one worker's, with equally busy servers. staleness.cpp computes how stale its parameters are.
//
// Every parameter's push and pull is modelled as a collective of all ranks, a reduce and a
// broadcast. So sending begins when the last worker has the gradient. In reality, gradients of
// earlier workers would already have arrived and been added up.

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ddpsim/sim/values/limits.hpp"
#include "process_groups.hpp"
#include "schedules.hpp"
#include "scheme_writer.hpp"
#include "server_costs.hpp"
#include "server_parts.hpp"
#include "units.hpp"

namespace ddpsim {
namespace {

using Pull = ParameterServer::Pull;

/// What happens to one part of a parameter in a step.
struct PlannedPart {
  std::size_t server = 0;
  std::optional<StepCollective> reduce_scatter;
  StepCollective push;
  StepCollective pull;
  std::optional<StepCollective> all_gather;
};

struct ServerPlan {
  const ParameterServer& scheme;
  std::size_t servers = 1;
  std::vector<std::vector<PlannedPart>> parts;  ///< by parameter
  std::vector<Unit> modules;                    ///< in which forward waits
};

StepCollective to_or_from_server(CollectiveKind kind, Bytes bytes, const std::string& unit,
                                 const ServerCosts::Transfer& time, std::uint8_t links,
                                 StepPhase phase) {
  StepCollective collective{.scheduled = {.transfer = time.transfer,
                                          .channels = 0,
                                          .kind = kind,
                                          .size = bytes,
                                          .volume = time.volume,
                                          .memory_load = 0,
                                          .links = links},
                            .choice = std::nullopt,
                            .to_host = time.before,
                            .to_device = time.after};
  collective.unit = unit;
  collective.phase = phase;
  return collective;
}

ServerPlan plan_servers(const Job& job, const ParameterServer& scheme) {
  const ServerCosts costs(job, scheme);
  ServerPlan plan{.scheme = scheme,
                  .servers = static_cast<std::size_t>(costs.servers()),
                  .parts = {},
                  .modules = {}};
  plan.parts.resize(job.workload().parameters.size());
  const bool one_link = scheme.colocated && !scheme.host;
  const std::uint8_t there = one_link ? kToServers | kFromServers : kToServers;
  const std::uint8_t back = one_link ? kToServers | kFromServers : kFromServers;
  const StepPhase pulled = scheme.pull == Pull::backward ? StepPhase::backward : StepPhase::forward;
  const int of_node = job.cluster().gpus_per_node;
  const bool within = !scheme.host && of_node > 1;
  const auto node = within ? std::optional<Job>(group_of(job, of_node)) : std::nullopt;
  const auto among_node = [&](CollectiveKind kind, Bytes bytes, const std::string& unit,
                              StepPhase phase) {
    StepCollective collective = planned_collective(*node, kind, bytes, kUnrecorded);
    collective.scheduled.links = kInsideNodes;
    collective.unit = unit;
    collective.phase = phase;
    return collective;
  };
  for (const ServerPart& part : server_parts(job, scheme, costs.servers())) {
    const std::string unit = part.name(job.workload());
    const ServerCosts::Transfer push = costs.push(part.bytes);
    ServerCosts::Transfer pull = costs.pull(part.bytes);
    // Without pull=forward, the server answers without being asked.
    if (scheme.pull != Pull::forward) pull.before = push.after;
    PlannedPart planned{
        .server = part.server,
        .reduce_scatter = {},
        .push = to_or_from_server(CollectiveKind::reduce, part.bytes, unit, push, there,
                                  StepPhase::backward),
        .pull = to_or_from_server(CollectiveKind::broadcast, part.bytes, unit, pull, back, pulled),
        .all_gather = {}};
    if (within) {
      planned.reduce_scatter =
          among_node(CollectiveKind::reduce_scatter, part.bytes, unit, StepPhase::backward);
      planned.all_gather = among_node(CollectiveKind::all_gather, part.bytes, unit, pulled);
      planned.all_gather->to_host += pull.after;
    }
    plan.parts[part.parameter].push_back(std::move(planned));
  }
  if (scheme.pull != Pull::backward)
    plan.modules = units_of(job.workload(), {.by = WrapPolicy::By::leaves, .modules = {}});
  return plan;
}

class ParameterServerWriter {
 public:
  ParameterServerWriter(const Job& job, const ServerPlan& plan, StepCollectives& collectives,
                        const StepKind& kind, const RankClass& rank_class,
                        const Recording& recording, std::vector<std::size_t>& order)
      : plan_(plan),
        hook_(job.options().costs.host_hook),
        order_(order),
        writer_(job, collectives, kind, rank_class, recording),
        streams_(writer_.streams()),
        pulled_(plan.parts.size()) {
    const bool within = std::ranges::any_of(
        plan.parts, [](const auto& parts) { return !parts.empty() && parts.front().all_gather; });
    for (std::size_t server = 0; server < plan.servers; ++server) {
      pushes_.push_back(streams_.open());
      pulls_.push_back(streams_.open());
      if (within) gathers_.push_back(streams_.open());
    }
  }

  RankStep write() {
    if (plan_.scheme.pull == Pull::priority)
      from_backward_on();
    else
      from_forward_on();
    if (plan_.scheme.update == ParameterServer::Update::worker)
      writer_.optimizer(1);
    else
      writer_.leave_out_optimizer();
    return writer_.finish();
  }

 private:
  using Launched = SchemeWriter::Launched;

  struct HandedOver {
    std::size_t parameter;
    EventId called;
    EventId written;
    Duration at;  ///< in the recorded backward
  };
  struct Push {
    const PlannedPart* part;
    const HandedOver* from;
    EventId ready;      ///< when it can be pushed
    std::size_t place;  ///< in the order forward reads parameters
  };

  void from_forward_on() {
    const int batches = writer_.micro_batches();
    const bool pulls = plan_.scheme.pull == Pull::forward;
    if (pulls) ask_for_all();
    for (int batch = 0; batch < batches; ++batch) {
      writer_.begin_batch(batch > 0);
      if (pulls && batch == 0) forward_behind_pulls();
      writer_.forward_to(1);
      if (batch + 1 < batches) writer_.end_backward();
    }
    const std::vector<Launched> pushed = push_in_backward();
    if (pulls)
      for (const Launched& push : pushed) writer_.wait_for(push);
    for (std::size_t parameter = 0; parameter < pulled_.size(); ++parameter)
      wait_for_pulls(parameter);
  }

  void from_backward_on() {
    const int batches = writer_.micro_batches();
    writer_.begin_batch(batches > 1);
    push_in_backward();
    for (int batch = 0; batch < batches; ++batch) {
      writer_.begin_batch(batch > 0);
      if (batch == 0) forward_behind_pulls();
      writer_.forward_to(1);
      if (batch + 1 < batches) writer_.end_backward();
    }
  }

  /// Parameters in the order forward reads them.
  std::vector<std::size_t> as_read() const {
    std::vector<std::size_t> order;
    for (const UnitHook& hook :
         forward_hooks(plan_.modules, spans_of(plan_.modules, writer_.recording())))
      if (hook.when == UnitHook::When::before)
        for (const std::size_t parameter : plan_.modules[hook.unit].parameters)
          order.push_back(parameter);
    return order;
  }

  void ask_for_all() {
    const EventId called = writer_.call_launcher();
    for (const std::size_t parameter : as_read())
      for (const PlannedPart& part : plan_.parts[parameter])
        pull(part, parameter, called, {writer_.begun()});
  }

  void forward_behind_pulls() {
    for (const UnitHook& hook :
         forward_hooks(plan_.modules, spans_of(plan_.modules, writer_.recording()))) {
      if (hook.when != UnitHook::When::before) continue;
      writer_.forward_to(hook.forward);
      for (const std::size_t parameter : plan_.modules[hook.unit].parameters)
        wait_for_pulls(parameter);
    }
  }
  void wait_for_pulls(std::size_t parameter) {
    for (const Launched& pulled : std::exchange(pulled_[parameter], {})) writer_.wait_for(pulled);
  }

  std::vector<Launched> push_in_backward() {
    std::vector<HandedOver> handed;
    for (std::size_t k = 0; k < writer_.recording().gradients(); ++k) {
      writer_.backward_to(k);
      const GradientInterval gradient = writer_.recording().gradient(k);
      if (plan_.parts[gradient.parameter].empty()) continue;
      writer_.call_hook(hook_);
      handed.push_back({gradient.parameter, writer_.call_launcher(),
                        streams_.record_on_compute(OperationKind::backward),
                        streams_.scaled(gradient.at)});
    }
    writer_.end_backward();
    std::vector<Launched> pushed;
    for (const Push& push : pushes_of(handed)) pushed.push_back(send(push));
    return pushed;
  }

  Launched send(const Push& push) {
    const PlannedPart& part = *push.part;
    const Launched pushed =
        writer_.launch_after(push.from->called, pushes_[part.server], part.push, {push.ready});
    if (plan_.scheme.pull != Pull::forward)
      pull(part, push.from->parameter, push.from->called, {pushed.done});
    return pushed;
  }

  void pull(const PlannedPart& part, std::size_t parameter, EventId called,
            std::vector<EventId> ready) {
    Launched pulled =
        writer_.launch_after(called, pulls_[part.server], part.pull, std::move(ready));
    if (part.all_gather)
      pulled = writer_.launch_after(called, gathers_[part.server], *part.all_gather, {pulled.done});
    pulled_[parameter].push_back(pulled);
  }

  /// Pushes in the order written. With pull=priority, each server's link takes the available part
  /// that forward reads first.
  std::vector<Push> pushes_of(const std::vector<HandedOver>& handed) {
    std::vector<Push> all;
    std::vector<std::size_t> place(plan_.parts.size());
    if (plan_.scheme.pull == Pull::priority) {
      const std::vector<std::size_t> order = as_read();
      for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
    }
    for (const HandedOver& from : handed)
      for (const PlannedPart& part : plan_.parts[from.parameter]) {
        EventId ready = from.written;
        if (part.reduce_scatter)
          ready = writer_.launch_after(from.called, {}, *part.reduce_scatter, {ready}).done;
        all.push_back({&part, &from, ready, place[from.parameter]});
      }
    if (plan_.scheme.pull != Pull::priority) return all;
    if (order_.empty()) order_ = order_by_priority(all);
    std::vector<Push> ordered;
    for (const std::size_t index : order_) ordered.push_back(all[index]);
    return ordered;
  }
  std::vector<std::size_t> order_by_priority(const std::vector<Push>& all) const {
    std::vector<std::vector<std::size_t>> by_server(plan_.servers);
    for (std::size_t i = 0; i < all.size(); ++i) by_server[all[i].part->server].push_back(i);
    std::vector<std::size_t> order;
    for (const std::vector<std::size_t>& pushes : by_server) {
      std::multimap<std::size_t, std::size_t> waiting;  // by place, then in the order written
      Duration free;
      for (std::size_t next = 0; next < pushes.size() || !waiting.empty();) {
        if (waiting.empty()) free = std::max(free, all[pushes[next]].from->at);
        for (; next < pushes.size() && all[pushes[next]].from->at <= free; ++next)
          waiting.emplace(all[pushes[next]].place, pushes[next]);
        const std::size_t first = waiting.begin()->second;
        free += all[first].part->push.scheduled.transfer;
        order.push_back(first);
        waiting.erase(waiting.begin());
      }
    }
    return order;
  }

  const ServerPlan& plan_;
  const Duration hook_;  ///< host time per gradient
  /// With pull=priority: the order in rank 0's recording, which all ranks use.
  std::vector<std::size_t>& order_;
  SchemeWriter writer_;
  RankStreams& streams_;
  std::vector<RankStreams::SideStream> pushes_;   ///< by server
  std::vector<RankStreams::SideStream> pulls_;    ///< by server
  std::vector<RankStreams::SideStream> gathers_;  ///< by server
  std::vector<std::vector<Launched>> pulled_;     ///< by parameter: not yet waited for
};

}  // namespace

PlannedStep schedule_parameter_server(const StepToPlan& step, const ParameterServer& scheme) {
  const ServerPlan plan = plan_servers(step.job, scheme);
  StepCollectives collectives;
  std::vector<std::size_t> order;
  // Asynchronous ranks do not wait for each other's jitter.
  const bool alone =
      scheme.mode == ParameterServer::Mode::async && !step.job.options().variation.empty();
  static const std::vector<RankState> kNoStates;
  return planned_step(step.job, alone ? kNoStates : step.states, collectives,
                      [&](const RankClass& rank_class, const Recording& recording) {
                        return ParameterServerWriter(step.job, plan, collectives, step.kind,
                                                     rank_class, recording, order)
                            .write();
                      });
}

}  // namespace ddpsim
