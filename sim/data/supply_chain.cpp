#include "supply_chain.hpp"

#include <algorithm>

#include "ddpsim/sim/values/assert.hpp"

namespace ddpsim {
namespace {

/// Time for `work` at `rate`, at least one picosecond if there is any work.
Duration time_at(Duration work, double rate) {
  const Duration time = rate == 1 ? work : work.scaled(1 / rate);
  return work > Duration() ? std::max(time, Duration::picoseconds(1)) : time;
}
Duration work_in(Duration time, double rate) {
  return rate == 1 ? time : time.scaled(rate);
}

}  // namespace

SupplyChain::SupplyChain(const SupplySetting& setting)
    : setting_(setting), workers_(static_cast<std::size_t>(setting.workers)) {
  if (setting.workers == 0) return;
  now_ = setting.worker_start;
  for (std::int64_t task = 0; task < std::int64_t{setting.workers} * setting.prefetch; ++task)
    hand_out();
}

void SupplyChain::hand_out() {
  Worker& worker = workers_[static_cast<std::size_t>(handed_out_ % setting_.workers)];
  worker.queue.push_back(handed_out_++);
  if (worker.queue.size() == 1) begin(worker);
}

void SupplyChain::begin(Worker& worker) const {
  worker.left = setting_.read + setting_.decode;
}

double SupplyChain::rate() const {
  const auto busy = static_cast<double>(
      std::ranges::count_if(workers_, [](const Worker& worker) { return !worker.queue.empty(); }));
  const double alone = (setting_.read + setting_.decode).seconds();
  double rate = 1;
  if (setting_.read > Duration()) rate = std::min(rate, alone / (busy * setting_.read.seconds()));
  if (setting_.cores && setting_.decode > Duration())
    rate = std::min(rate, alone / (busy * setting_.decode.seconds()) *
                              static_cast<double>(setting_.cores->of_node) /
                              static_cast<double>(setting_.cores->ranks));
  return rate;
}

std::optional<Duration> SupplyChain::to_next_change() const {
  std::optional<Duration> least;
  for (const Worker& worker : workers_)
    if (!worker.queue.empty()) least = std::min(least.value_or(worker.left), worker.left);
  if (!least) return std::nullopt;
  return time_at(*least, rate());
}

/// Precondition: no worker ends a task before `time` is over.
void SupplyChain::pass(Duration time) {
  const double rate = this->rate();
  now_ += time;
  std::vector<std::int64_t> loaded;
  for (Worker& worker : workers_) {
    if (worker.queue.empty()) continue;
    if (time_at(worker.left, rate) > time) {
      worker.left -= std::min(work_in(time, rate), worker.left);
      continue;
    }
    loaded.push_back(worker.queue.front());
    worker.queue.pop_front();
    if (!worker.queue.empty()) begin(worker);
  }
  std::ranges::sort(loaded);  // equal times: in task order
  for (const std::int64_t batch : loaded) {
    if (setting_.pin) pin_free_ = std::max(pin_free_, now_) + *setting_.pin;
    there_.emplace(batch, setting_.pin ? pin_free_ : now_);
  }
}

void SupplyChain::run_until(Duration instant) {
  while (now_ < instant) {
    const std::optional<Duration> change = to_next_change();
    if (!change) {
      now_ = instant;
      return;
    }
    pass(std::min(*change, instant - now_));
  }
}

/// Time at which the trainer gets `batch`, if it asks for it at `asked`.
Duration SupplyChain::taken(std::int64_t batch, Duration asked) {
  if (setting_.workers == 0)
    return asked + setting_.read + setting_.decode + setting_.pin.value_or(Duration());
  run_until(asked);
  while (!there_.contains(batch)) {
    const std::optional<Duration> change = to_next_change();
    DDPSIM_ASSERT(change.has_value(), "a wait for a batch that no worker loads", batch);
    pass(*change);
  }
  const Duration got = std::max(asked, there_.extract(batch).mapped());
  run_until(got);
  hand_out();
  return got;
}

SupplyChain::Stall SupplyChain::next(Duration step) {
  const Duration got = taken(batch_++, asks_);
  const Duration free = gpu_free_;
  const Duration copies = std::max(got, free);
  const Duration starts = copies + setting_.copy;
  gpu_free_ = starts + step;
  if (setting_.steps_ahead == 0) {
    asks_ = gpu_free_;
  } else {
    ends_.push_back(gpu_free_);
    const Duration goes_on =
        (setting_.blocking_copy && setting_.copy > Duration() ? starts : got) + setting_.host_step;
    asks_ = goes_on;
    if (ends_.size() > static_cast<std::size_t>(setting_.steps_ahead)) {
      asks_ = std::max(asks_, ends_.front());
      ends_.pop_front();
    }
  }
  return {.wait = copies - free, .copy = setting_.copy};
}

SupplyChain::Stall steady_stall(const SupplySetting& setting, Duration step) {
  SupplyChain chain(setting);
  const int round = std::max(setting.workers, 1);
  const int alike = setting.prefetch + std::max(setting.steps_ahead, 1) + 2;
  constexpr std::int64_t kMostBatches = 20'000;
  const Duration exact = Duration::picoseconds(16) * round;  // tolerance for the rounding of shares
  const std::int64_t most_rounds = std::max<std::int64_t>(4L * alike, kMostBatches / round);
  const auto run_round = [&] {
    Duration waited;
    for (int batch = 0; batch < round; ++batch) waited += chain.next(step).wait;
    return waited;
  };
  Duration before = run_round();
  Duration sum;
  int same = 0;
  std::int64_t summed = 0;
  for (std::int64_t rounds = 1; rounds < most_rounds && same < alike; ++rounds) {
    const Duration waited = run_round();
    same = std::max(waited - before, before - waited) <= exact ? same + 1 : 0;
    before = waited;
    if (rounds < most_rounds / 2) continue;
    sum += waited;
    ++summed;
  }
  const auto mean = [&](Duration total, std::int64_t batches) {
    return Duration::picoseconds(total.picoseconds() / batches);
  };
  return {.wait = same == alike ? mean(before, round) : mean(sum, summed * round),
          .copy = setting.copy};
}

}  // namespace ddpsim
