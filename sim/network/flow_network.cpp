#include "flow_network.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "ddpsim/sim/values/assert.hpp"

namespace ddpsim {
namespace {

std::vector<const ChunkPipeline*> fastest_of_each_shape(
    const std::vector<ChunkPipeline>& pipelines) {
  std::vector<const ChunkPipeline*> fastest;
  for (const ChunkPipeline& pipeline : pipelines) {
    const auto same = std::ranges::find(fastest, pipeline.shape, &ChunkPipeline::shape);
    if (same == fastest.end())
      fastest.push_back(&pipeline);
    else if (pipeline.ceiling > (*same)->ceiling)
      *same = &pipeline;
  }
  return fastest;
}

}  // namespace

FlowNetwork::FlowNetwork(const NetworkLinks& links, std::vector<NetworkJob> jobs)
    : links_(links), reserved_(links.capacities.size(), 0), solver_(links.capacities) {
  std::uint32_t hops = 0;
  for (NetworkJob& job : jobs) {
    LiveJob live;
    live.pipelines = std::move(job.pipelines);
    live.recurrence = job.recurrence;
    live.first_hop = hops;
    std::size_t most = 0;
    for (const ChunkPipeline& pipeline : live.pipelines)
      most = std::max(most, pipeline.shape->hops.size());
    hops += static_cast<std::uint32_t>(most);
    jobs_.push_back(std::move(live));
  }
  hops_.resize(hops);
  flows_.resize(hops);
  book_all();
  for (std::uint32_t job = 0; job < jobs_.size(); ++job) {
    if (!jobs_[job].recurrence) continue;
    jobs_[job].due = jobs_[job].recurrence->first;
    push(*jobs_[job].due, job, What::recur);
  }
}

void FlowNetwork::start(std::size_t job, std::size_t pipeline, TimePoint at) {
  DDPSIM_ASSERT(!jobs_[job].running, "a job starts a pipeline while it runs one", job);
  const auto index = static_cast<std::uint32_t>(job);
  set_up(index, jobs_[job].pipelines[pipeline]);
  push(at + jobs_[job].pipeline->start, index, What::start);
}

TimePoint FlowNetwork::run(std::size_t job) {
  while (jobs_[job].running) {
    const bool going_on = step().has_value();
    DDPSIM_ASSERT(going_on, "a pipeline never finished");
  }
  return jobs_[job].end;
}

bool FlowNetwork::run_until(TimePoint until) {
  push(until, 0, What::mark);
  while (now_ < until) {
    if (begun_ && under_way_ == 0) return true;
    step();
  }
  return false;
}

std::optional<TimePoint> FlowNetwork::step() {
  if (queue_.empty()) return std::nullopt;
  do {
    const auto [time, wakeup] = queue_.pop();
    now_ = time;
    handle(wakeup);
  } while (queue_.more_now());
  if (!solver_.settled()) settle();
  return now_;
}

void FlowNetwork::push(TimePoint time, std::uint32_t index, What what, std::uint32_t version) {
  queue_.push(time, {index, static_cast<std::uint32_t>(what) | version << kWhatBits});
}

void FlowNetwork::handle(const Wakeup& wakeup) {
  const std::uint32_t index = wakeup.index;
  switch (static_cast<What>(wakeup.what & ((1U << kWhatBits) - 1))) {
    case What::arrived:
      advance(index);
      break;
    case What::sent:
      if (hops_[index].sending &&
          flows_[index].version << kWhatBits >> kWhatBits == wakeup.what >> kWhatBits)
        flow_sent(index);
      break;
    case What::delivered:
      hops_[index].meeting = false;
      advance(index);
      break;
    case What::start:
      begin(index);
      break;
    case What::end:
      finish(index);
      break;
    case What::recur:
      if (jobs_[index].running) {
        jobs_[index].late = true;
        break;
      }
      jobs_[index].due = now_;
      set_up(index, jobs_[index].pipelines[0]);
      push(now_ + jobs_[index].pipeline->start, index, What::start);
      if (jobs_[index].recurrence->period > Duration())
        push(now_ + jobs_[index].recurrence->period, index, What::recur);
      break;
    case What::mark:
      break;
  }
}

void FlowNetwork::set_up(std::uint32_t index, const ChunkPipeline& pipeline) {
  LiveJob& job = jobs_[index];
  job.running = true;
  job.pipeline = &pipeline;
  const std::vector<Hop>& hops = pipeline.shape->hops;
  const std::vector<HopTiming> timings = hop_timings(pipeline, links_);
  std::vector<bool> held_back(hops.size());
  for (std::size_t i = 0; i < hops.size(); ++i) {
    held_back[i] = timings[i].send > Duration() && !uncontended(hops[i].route, links_, reserved_);
    hops_[job.first_hop + i] = LiveHop{.latency = timings[i].latency,
                                       .ceiling = timings[i].ceiling,
                                       .job = index,
                                       .held_back = held_back[i],
                                       .arrivals = {}};
  }
  job.waves.emplace(pipeline, timings, held_back);
}

void FlowNetwork::begin(std::uint32_t index) {
  LiveJob& job = jobs_[index];
  ++under_way_;
  begun_ = true;
  if (job.recurrence && job.recurrence->period > Duration())
    job.due = *job.due + job.recurrence->period;
  else
    job.due.reset();
  job.waves->begin(now_);
  follow_waves(index);
}

void FlowNetwork::finish(std::uint32_t index) {
  LiveJob& job = jobs_[index];
  job.running = false;
  --under_way_;
  job.end = now_;
  if (std::exchange(job.late, false)) push(now_, index, What::recur);
}

void FlowNetwork::follow_waves(std::uint32_t index) {
  const LiveJob& job = jobs_[index];
  for (const ChunkWaves::Arrival arrival : job.waves->arrivals()) {
    LiveHop& hop = hops_[job.first_hop + arrival.hop];
    hop.arrivals.push_back(arrival.time);
    if (hop.arrivals.size() == hop.sent + 1) advance(job.first_hop + arrival.hop);
  }
  if (job.waves->complete()) push(job.waves->end(), index, What::end);
}

/// Sends the hop's next chunk if that may happen now, or schedules it if its time is known.
void FlowNetwork::advance(std::uint32_t index) {
  const LiveHop& hop = hops_[index];
  if (hop.sending || hop.meeting || hop.sent == hop.arrivals.size()) return;
  if (may_send(hop))
    send_flow(index);
  else
    push(hop.arrivals[hop.sent], index, What::arrived);
}

bool FlowNetwork::may_send(const LiveHop& hop) const {
  return hop.sent < hop.arrivals.size() && hop.arrivals[hop.sent] <= now_;
}

void FlowNetwork::begin_chunk(std::uint32_t index) {
  LiveHop& hop = hops_[index];
  ++hop.sent;
  Flow& flow = flows_[index];
  flow.left = chunk_amount(*jobs_[hop.job].pipeline);
  flow.since = now_;
}

void FlowNetwork::send_flow(std::uint32_t index) {
  LiveHop& hop = hops_[index];
  const LiveJob& job = jobs_[hop.job];
  begin_chunk(index);
  hop.sending = true;
  flows_[index].rate = 0;
  const Route route = job.pipeline->shape->hops[index - job.first_hop].route;
  solver_.add(index, links_.of(route), hop.ceiling, links_.alike_on(route));
}

/// A flow has been sent, so the time of its delivery and everything that follows is known. Only in
/// a rendezvous does the hop wait for it. Otherwise its buffers hold everything in flight, because
/// nothing is sent faster than the ceiling. If the next chunk is available, it takes the place of
/// this one, so that the same flows share the links as before.
void FlowNetwork::flow_sent(std::uint32_t index) {
  LiveHop& hop = hops_[index];
  const LiveJob& job = jobs_[hop.job];
  const TimePoint delivered = now_ + hop.latency;
  const std::uint32_t chunk = hop.sent - 1;
  if (!job.pipeline->rendezvous && may_send(hop)) {
    begin_chunk(index);
    predict(index);
  } else {
    hop.sending = false;
    solver_.remove(index);
    hop.meeting = job.pipeline->rendezvous;
    if (hop.meeting) push(delivered, index, What::delivered);
    advance(index);
  }
  jobs_[hop.job].waves->delivered(index - job.first_hop, chunk, delivered);
  follow_waves(hop.job);
}

void FlowNetwork::settle() {
  for (const std::uint32_t index : solver_.settle()) {
    Flow& flow = flows_[index];
    const auto elapsed = static_cast<TransferAmount>((now_ - flow.since).picoseconds());
    const TransferAmount done = static_cast<TransferAmount>(flow.rate) * elapsed;
    flow.left -= std::min(flow.left, done);
    flow.since = now_;
    flow.rate = solver_.rate(index);
    predict(index);
  }
}

void FlowNetwork::predict(std::uint32_t index) {
  Flow& flow = flows_[index];
  ++flow.version;
  // Far longer than any step, but far inside 63 bits.
  constexpr TransferAmount kLongest = TransferAmount{1} << 61;
  const auto rate = static_cast<TransferAmount>(flow.rate);
  const TransferAmount time = std::min(kLongest, (flow.left + rate - 1) / rate);
  push(now_ + Duration::picoseconds(static_cast<std::int64_t>(time)), index, What::sent,
       flow.version);
}

std::int64_t FlowNetwork::load(LinkId link) const {
  std::int64_t sum = 0;
  for (const LiveJob& job : jobs_) {
    if (!job.running) continue;
    const std::vector<Hop>& hops = job.pipeline->shape->hops;
    for (std::size_t i = 0; i < hops.size(); ++i) {
      const std::size_t index = job.first_hop + i;
      const LiveHop& live = hops_[index];
      const std::span<const LinkId> route = links_.of(hops[i].route);
      if (std::find(route.begin(), route.end(), link) == route.end()) continue;
      if (!live.held_back) {
        sum += live.ceiling;
      } else if (live.sending) {
        sum += flows_[index].rate;
      }
    }
  }
  return sum;
}

/// Reserves, for each job and link, the pipeline that would use most of the link, as if all jobs
/// sent at once. Of pipelines with one shape, that is the one with the highest ceiling.
void FlowNetwork::book_all() {
  std::vector<std::int64_t> most(reserved_.size());
  std::vector<std::int64_t> one(reserved_.size());
  std::vector<LinkId> passed;
  for (const LiveJob& job : jobs_) {
    passed.clear();
    for (const ChunkPipeline* pipeline : fastest_of_each_shape(job.pipelines)) {
      reserve_links(*pipeline, hop_timings(*pipeline, links_), links_, one);
      for (const Hop& hop : pipeline->shape->hops)
        for (const LinkId link : links_.of(hop.route)) {
          const std::int64_t rate = std::exchange(one[link], 0);
          if (rate > 0 && most[link] == 0) passed.push_back(link);
          most[link] = std::max(most[link], rate);
        }
    }
    for (const LinkId link : passed)
      if (__builtin_add_overflow(reserved_[link], std::exchange(most[link], 0), &reserved_[link]))
        reserved_[link] = std::numeric_limits<std::int64_t>::max();
  }
}

}  // namespace ddpsim
