#include "ddpsim/diagnose/diff/setting_changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "ddpsim/formats/csv.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/sim/values/versions.hpp"

namespace ddpsim {
namespace {

using enum LossCause;

std::string of_provenance(const Workload& workload, std::string_view key) {
  for (const auto& [name, text] : workload.provenance)
    if (name == key) return text;
  return "";
}

/// Bytes of the all-reduces, as recorded or as in DDP's log; empty if neither tells.
std::string buckets_of(const Workload& workload) {
  std::string text;
  for (const RecordedCollective& one : workload.recorded_with.collectives)
    text += (text.empty() ? "" : " ") + std::to_string(one.bytes.count());
  return text.empty() ? of_provenance(workload, "bucket_bytes") : text;
}

std::size_t word_count(std::string_view text) {
  std::size_t count = 0;
  bool inside = false;
  for (const char c : text) {
    if (c != ' ' && !inside) ++count;
    inside = c != ' ';
  }
  return count;
}

/// Sum of the bytes that `buckets_of` lists.
double sum_of(std::string_view bytes) {
  double sum = 0;
  while (!bytes.empty()) {
    bytes = trimmed(bytes);
    sum += take_number<double>(bytes).value_or(0);
    bytes.remove_prefix(std::min(bytes.size(), bytes.find(' ')));
  }
  return sum;
}

/// The options in `text` with their values: "--bucket-cap-mb 50" is one option.
std::set<std::string> options_in(std::string_view text) {
  std::set<std::string> options;
  std::size_t from = text.find("--");
  while (from != std::string_view::npos) {
    const std::size_t next = text.find(" --", from);
    options.insert(
        std::string(text.substr(from, next == std::string_view::npos ? next : next - from)));
    from = next == std::string_view::npos ? next : next + 1;
  }
  return options;
}

/// With a static graph, unused parameters are searched for only once.
bool searches_each_step(const std::set<std::string>& options) {
  return options.contains("--find-unused-parameters") && !options.contains("--static-graph");
}

/// Threads of a rank that both sides recorded with its threads.
struct RankThreads {
  static constexpr double kLeast = 0.01;  ///< share of a step

  int rank = 0;
  Duration step;
  HostThreads before, now;

  Duration waiting() const { return now.waiting - before.waiting; }
  Duration running() const { return now.running - before.running; }
  bool waits_longer() const { return waiting() >= step.scaled(kLeast); }
  bool runs_longer() const { return running() >= step.scaled(kLeast); }
};

std::vector<RankThreads> threads_of_both(const Workload& before, const Workload& now) {
  std::vector<RankThreads> all;
  const auto take = [&](int rank, const Recorded& was, const Recorded& is) {
    if (was.threads && is.threads)
      all.push_back({rank, is.iteration.value_or(Duration()), *was.threads, *is.threads});
  };
  if (before.ranks.empty() || now.ranks.empty()) take(0, before, now);
  for (const RankRecording& is : now.ranks)
    if (const auto was = std::ranges::find(before.ranks, is.rank, &RankRecording::rank);
        was != before.ranks.end())
      take(is.rank, *was, is);
  return all;
}

class Changes {
 public:
  Changes(const Workload& before, const Workload& now) : before_(before), now_(now) {}

  std::vector<SettingChange> run() {
    versions();
    machine();
    buckets();
    options();
    accumulation();
    threads();
    return std::move(changes_);
  }

 private:
  void add(CauseClass what, std::string says, std::vector<StepPart> lengthens,
           bool version = false) {
    changes_.push_back({.what = what,
                        .says = std::move(says),
                        .lengthens = std::move(lengthens),
                        .version = version});
  }
  /// Sets the effect of the last change: the current state costs time, or the previous one did.
  void costs(bool now) {
    changes_.back().effect = now ? FindingEffect::costs : FindingEffect::relieves;
  }
  void text(std::string_view name, const std::string& before, const std::string& now,
            CauseClass what, std::vector<StepPart> lengthens, bool version = false) {
    if (before.empty() || now.empty() || before == now) return;
    add(what, fmt::format("{} {} before, {} now", name, before, now), std::move(lengthens),
        version);
  }
  void versions();
  void machine();
  void buckets();
  void options();
  void accumulation();
  void threads();

  const Workload& before_;
  const Workload& now_;
  std::vector<SettingChange> changes_;
};

void Changes::versions() {
  text("PyTorch", before_.torch, now_.torch, CauseClass::version_changed, {}, true);
  const auto nccl = [](const Workload& of) {
    return of.recorded_with.nccl ? to_string(*of.recorded_with.nccl) : std::string();
  };
  text("NCCL", nccl(before_), nccl(now_), CauseClass::version_changed,
       {StepPart::all_reduce_transfer, part_of(slowest_gpu), part_of(buffer_broadcast)}, true);
}

void Changes::machine() {
  text("GPU", before_.gpu, now_.gpu, CauseClass::gpu_changed, {});
  text("precision", before_.precision, now_.precision, CauseClass::precision_changed, {});
  const auto number = [](const auto& value) {
    return value ? fmt::format("{}", *value) : std::string();
  };
  text("batch per GPU", number(before_.batch_per_gpu), number(now_.batch_per_gpu),
       CauseClass::batch_changed, {StepPart::kernels, part_of(launch_bound), part_of(input)});
  const RecordedWith& old = before_.recorded_with;
  const RecordedWith& with = now_.recorded_with;
  if (old.world_size != with.world_size && old.world_size > 0 && with.world_size > 0)
    add(CauseClass::ranks_changed,
        fmt::format("{} ranks before, {} now", old.world_size, with.world_size),
        {StepPart::all_reduce_transfer, part_of(slowest_gpu), part_of(copies), part_of(hooks),
         part_of(buffer_broadcast), part_of(sync_batchnorm)});
  if (old.ddp_hooks && with.ddp_hooks && old.reduced_by != with.reduced_by)
    add(CauseClass::data_parallel_changed,
        fmt::format("the {} all-reduced gradients before, the {} does now", word_of(old.reduced_by),
                    word_of(with.reduced_by)),
        {StepPart::all_reduce_transfer, part_of(copies), part_of(hooks)});
  if (old.wire != with.wire)
    add(CauseClass::comm_hook,
        fmt::format("all-reduces carried {} before, {} now",
                    old.wire ? name_of(*old.wire) : "the gradients' type",
                    with.wire ? name_of(*with.wire) : "the gradients' type"),
        {StepPart::all_reduce_transfer, part_of(copies), part_of(hooks)});
  if (old.sync_batchnorm != with.sync_batchnorm && old.ddp_hooks && with.ddp_hooks) {
    add(CauseClass::sync_batchnorm,
        with.sync_batchnorm ? "SyncBatchNorm exchanges statistics now, and did not before"
                            : "SyncBatchNorm exchanged statistics before, and does not now",
        lengthened_by(CauseClass::sync_batchnorm));
    costs(with.sync_batchnorm);
  }
}

void Changes::buckets() {
  const std::string old = buckets_of(before_);
  const std::string now = buckets_of(now_);
  if (old.empty() || now.empty() || old == now) return;
  const std::size_t count_before = word_count(old);
  const std::size_t count_now = word_count(now);
  // Under the same options, another version cuts buckets differently (2.5 changed which buckets a
  // cap applies to).
  const bool by_version =
      !before_.torch.empty() && !now_.torch.empty() && before_.torch != now_.torch &&
      of_provenance(before_, "ddp_options") == of_provenance(now_, "ddp_options") &&
      !of_provenance(now_, "ddp_options").empty();
  // DDP rebuilds buckets in the order of gradients, unless it searches for unused parameters in
  // every step.
  const auto searches = [](const Workload& of) {
    return searches_each_step(options_in(of_provenance(of, "ddp_options")));
  };
  const bool by_search = searches(before_) != searches(now_);
  const std::size_t had = before_.parameters.size(), has = now_.parameters.size();
  // A step may leave parameters unused, but its buckets contain all of them.
  const bool by_model = had > 0 && has > 0 && had != has && sum_of(old) != sum_of(now);
  add(by_model     ? CauseClass::data_parallel_changed
      : by_version ? CauseClass::version_changed
      : by_search  ? CauseClass::find_unused_parameters
                   : CauseClass::bucket_sizes,
      fmt::format(
          "{} bucket{} before, {} now{}", count_before, count_before == 1 ? "" : "s", count_now,
          by_model     ? fmt::format(": another model with {} parameters, not {}", has, had)
          : by_version ? ", under the same options"
          : by_search  ? ": with find_unused_parameters they are not rebuilt in the order of "
                         "gradients"
                       : ""),
      lengthened_by(CauseClass::bucket_sizes));
}

/// Whether buffers were recorded. Traces and DDP's logs have none; their buffers come from the
/// model that was assumed for the recording.
bool buffers_recorded(const Workload& workload) {
  const std::string kind = of_provenance(workload, "kind");
  return of_provenance(workload, "shapes").empty() && kind != "DDP logging data" &&
         kind != "PyTorch profiler trace";
}

/// Changes of options as the recorder notes them, and of buffers.
void Changes::options() {
  const auto bytes = [](const Workload& of) {
    std::int64_t sum = 0;
    for (const BufferGroup& group : of.buffers) sum += group.bytes.count();
    return sum;
  };
  if (bytes(before_) != bytes(now_) && before_.recorded_with.ddp_hooks &&
      now_.recorded_with.ddp_hooks && buffers_recorded(before_) && buffers_recorded(now_))
    add(CauseClass::buffers_broadcast,
        fmt::format("{} bytes of buffers before, {} now", bytes(before_), bytes(now_)),
        lengthened_by(CauseClass::buffers_broadcast));
  const std::string old = of_provenance(before_, "ddp_options");
  const std::string now = of_provenance(now_, "ddp_options");
  if (old.empty() || now.empty()) return;
  const std::string hook_before = of_provenance(before_, "comm_hook");
  const std::string hook_now = of_provenance(now_, "comm_hook");
  if (hook_before != hook_now) {
    const auto or_none = [](const std::string& hook) { return hook.empty() ? "none" : hook; };
    add(CauseClass::comm_hook,
        fmt::format("communication hook {} before, {} now", or_none(hook_before),
                    or_none(hook_now)),
        lengthened_by(CauseClass::comm_hook));
  }
  const std::set<std::string> had = options_in(old);
  const std::set<std::string> has = options_in(now);
  const auto take = [&](const std::string& option, bool added) {
    if (option == "--find-unused-parameters" && searches_each_step(had) == searches_each_step(has))
      // With a static graph, only that option is new or gone.
      return;
    const auto is = [&](std::string_view name) { return option.starts_with(name); };
    const std::string says = fmt::format("{} {}", option, added ? "was added" : "was left out");
    const CauseClass what = is("--find-unused-parameters")    ? CauseClass::find_unused_parameters
                            : is("--no-broadcast-buffers")    ? CauseClass::buffers_broadcast
                            : is("--gradient-as-bucket-view") ? CauseClass::bucket_views_off
                            : is("--bucket-cap") || is("--first-bucket")
                                ? CauseClass::bucket_sizes
                                : CauseClass::data_parallel_changed;
    add(what, says, lengthened_by(what));
    if (what == CauseClass::find_unused_parameters) costs(added);
    if (what == CauseClass::buffers_broadcast || what == CauseClass::bucket_views_off)
      costs(!added);
  };
  for (const std::string& option : has)
    if (!had.contains(option)) take(option, true);
  for (const std::string& option : had)
    if (!has.contains(option)) take(option, false);
}

void Changes::accumulation() {
  const int count_before = micro_batches(before_);
  const int count_now = micro_batches(now_);
  if (count_before != count_now)
    add(CauseClass::accumulation_changed,
        fmt::format("{} micro-batches a step before, {} now", count_before, count_now), {});
  const auto reduced = [](const Workload& of) { return of.earlier ? of.earlier->all_reduced : 0; };
  if (reduced(now_) <= reduced(before_)) return;
  add(CauseClass::no_sync_misplaced,
      fmt::format("{} of {} micro-batches a step all-reduce, {} of {} before: no_sync() must "
                  "cover forward as well as backward",
                  reduced(now_) + 1, count_now, reduced(before_) + 1, count_before),
      lengthened_by(CauseClass::no_sync_misplaced));
}

/// Only training threads count, because waits of other threads may cost nothing.
void Changes::threads() {
  std::optional<RankThreads> waits, runs;
  for (const RankThreads& one : threads_of_both(before_, now_)) {
    if (one.waits_longer() && (!waits || one.waiting() > waits->waiting())) waits = one;
    if (one.runs_longer() && (!runs || one.running() > runs->running())) runs = one;
  }
  const auto ms = [](Duration time) { return fmt::format("{:.2f} ms", time.milliseconds()); };
  if (waits) {
    const HostThreads& now = waits->now;
    std::string says = fmt::format(
        "the training thread of rank {} waited for a core for {} a step ({} before) and ran for "
        "{}",
        waits->rank, ms(now.waiting), ms(waits->before.waiting), ms(now.running));
    if (now.cores)
      says += fmt::format("; its process has {} core{}, and all its threads use {:.2f}", *now.cores,
                          *now.cores == 1 ? "" : "s",
                          now.all_running / std::max(waits->step, Duration::picoseconds(1)));
    add(CauseClass::host_threads, std::move(says), lengthened_by(CauseClass::host_threads));
    changes_.back().at_most = waits->waiting();
  }
  // On a CPU, the model itself runs on that thread.
  if (runs && now_.gpu != "CPU")
    add(CauseClass::host_overhead,
        fmt::format("the training thread of rank {} ran for {} a step, {} before", runs->rank,
                    ms(runs->now.running), ms(runs->before.running)),
        {part_of(launch_bound)});
}

}  // namespace

bool threads_known(const Workload& before, const Workload& now) {
  return !threads_of_both(before, now).empty();
}

std::vector<SettingChange> setting_changes(const Workload& before, const Workload& now) {
  return Changes(before, now).run();
}

std::optional<SettingChange> slower_network(Bytes size, Duration before, Duration now,
                                            double growth) {
  constexpr double kSlower = 1.1;
  if (growth <= kSlower) return std::nullopt;
  return SettingChange{
      .what = CauseClass::network_slower,
      .says = fmt::format("an all-reduce of {} bytes alone takes {:.3g} ms, {:.3g} before, "
                          "according to the logs",
                          size.count(), now.milliseconds(), before.milliseconds()),
      .lengthens = lengthened_by(CauseClass::transport_changed)};
}

}  // namespace ddpsim
