#include "sweep.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>

#include "backends.hpp"
#include "communicator.hpp"
#include "ddpsim/formats/output_file.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/reports/reports.hpp"
#include "ddpsim/traces/workload_file.hpp"
#include "hosts.hpp"
#include "point_measurement.hpp"
#include "printing.hpp"
#include "rank_clock.hpp"
#include "store.hpp"
#include "what_failed.hpp"

namespace ddpsim {
namespace {

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// All options, because ranks that differ in any of them would launch other collectives or wait for
/// them.
std::string text_of(const ReducerOptions& options) {
  const auto optional = [](std::optional<double> mb) { return mb ? fmt::format("{}", *mb) : "-"; };
  return fmt::format(" {} {} {} [{}] {} {} {} {} {} {} {}", to_string(options.torch),
                     optional(options.bucket_cap_mb), optional(options.first_bucket_mb),
                     fmt::join(options.bucket_cap_mb_list, " "), options.find_unused_parameters,
                     options.static_graph, options.gradient_as_bucket_view,
                     options.broadcast_buffers, options.process_groups, options.accumulate,
                     name_of(options.comm_hook));
}

/// Steps run in intervals of this length. Until an interval ends, each of its steps holds dozens of
/// GPU events. After it, ranks meet again.
constexpr int kStepsPerInterval = 200;

/// Shown only on a terminal.
void progress(const std::string& text) {
  if (isatty(STDERR_FILENO) != 0) print_error(text);
}

class RankOfSweep {
 public:
  RankOfSweep(const Sweep& sweep, const World& world, StoreClient& store)
      : sweep_(sweep),
        world_(world),
        store_(store),
        rank_clock_(store, world.rank, boot_id()),
        clock_(rank_clock_.start()) {
    if (!world_.local_rank_known) {
      world_.local_rank = local_rank_among(store, world.rank, boot_id());
      world_.local_rank_known = true;
      require_machine(sweep.backend, world_);
    }
    const BackendSetting setting{.world = world_,
                                 .clock = clock_,
                                 .timeout = sweep.timeout,
                                 .busy_compute = sweep.busy_compute};
    backend_ = make_backend(sweep.backend, store, setting);
    describe();
  }

  Measurement run() {
    for (const Bytes size : sweep_.all_reduce_sizes) measure_all_reduce(size);
    for (const Configuration& configuration : sweep_.configurations) {
      measure_configuration(configuration);
      write_summary();
    }
    if (sweep_.configurations.empty()) write_summary();
    store_.barrier("done");
    return std::move(measurement_);
  }

 private:
  void describe() {
    measurement_.ranks = world_.ranks;
    store_.set(fmt::format("host/{}", world_.rank), host_name());
    if (world_.rank != 0) return;
    std::string hosts;
    for (int rank = 0; rank < world_.ranks; ++rank) {
      hosts_.push_back(legible(store_.get(fmt::format("host/{}", rank))));
      hosts += (rank == 0 ? "" : " ") + hosts_.back();
    }
    auto& setup = measurement_.setup;
    setup = {{"program", "ddpsim-real " DDPSIM_VERSION},
             {"command", sweep_.command},
             {"workload", sweep_.workload.name},
             {"workload_digest", fmt::format("{:016x}", fnv1a(format_workload(sweep_.workload)))},
             {"backend", sweep_.backend},
             {"ranks", std::to_string(world_.ranks)},
             {"hosts", hosts},
             {"ranks_per_process", std::to_string(sweep_.ranks_per_process)},
             {"iterations", fmt::format("{} after {}", sweep_.iterations, sweep_.warmup)}};
    if (!sweep_.configurations.empty())
      setup.emplace_back("torch_rules", to_string(sweep_.configurations[0].options.torch));
    if (hook() != CommHook::none) setup.emplace_back("comm_hook", name_of(hook()));
    if (!sweep_.configurations.empty()) describe(sweep_.configurations[0].options);
    for (auto& note : backend_->description()) setup.push_back(std::move(note));
  }

  /// Describes what all configurations share.
  void describe(const ReducerOptions& options) {
    auto& setup = measurement_.setup;
    if (options.find_unused_parameters) setup.emplace_back("find_unused_parameters", "true");
    if (options.static_graph) setup.emplace_back("static_graph", "true");
    if (options.accumulate > 1)
      setup.emplace_back("accumulate", std::to_string(options.accumulate));
  }

  void measure_all_reduce(Bytes size) {
    constexpr int kWarmup = 2;
    const Dtype dtype =
        wire_dtype({.comm_hook = hook()}, Dtype::float32);  // same type as in the steps
    std::vector<AllReduceTimes> times =
        backend_->all_reduce(dtype, size, kWarmup + sweep_.all_reduce_repetitions,
                             [&] { store_.barrier(fmt::format("all_reduce/{}", size.count())); });
    times.erase(times.begin(), times.begin() + kWarmup);
    const auto quantiles = [&times](Duration AllReduceTimes::*part) {
      std::vector<double> us;
      for (const AllReduceTimes& one : times) us.push_back((one.*part).microseconds());
      return quantiles_of(us);
    };
    MeasuredAllReduce measured{
        .size = size, .dtype = dtype, .time_us = quantiles(&AllReduceTimes::all_reduce)};
    if (hook() != CommHook::none) {
      measured.compress_us = quantiles(&AllReduceTimes::compress);
      measured.decompress_us = quantiles(&AllReduceTimes::decompress);
    }
    measurement_.all_reduces.push_back(measured);
    if (world_.rank == 0) progress(fmt::format("all-reduce {} B", size.count()));
  }

  static std::vector<StepRecord> run_interval(StepRunner& runner, int& iteration, int steps) {
    for (int i = 0; i < steps; ++i) runner.run_step(++iteration);
    return complete_steps(runner.records());
  }

  void measure_configuration(const Configuration& configuration) {
    const auto runner = backend_->runner(sweep_.workload, configuration.options);
    store_.barrier("begin/" + configuration.name);
    int iteration = 0;
    // A static graph's first step differs from all others, and its buckets are rebuilt one step
    // later than usual.
    const bool static_graph = configuration.options.static_graph;
    if (sweep_.check && static_graph) runner->check_step(++iteration);
    for (int left = sweep_.warmup + (static_graph ? 1 : 0) - iteration; left > 0;
         left -= kStepsPerInterval)
      run_interval(*runner, iteration, std::min(left, kStepsPerInterval));
    std::vector<StepRecord> own;
    for (int left = sweep_.iterations; left > 0; left -= kStepsPerInterval)
      std::ranges::move(run_interval(*runner, iteration, std::min(left, kStepsPerInterval) + 1),
                        std::back_inserter(own));
    rank_clock_.correct(own);
    if (sweep_.check) runner->check_step(++iteration);
    const std::string key = "records/" + configuration.name + "/";
    if (world_.rank != 0) {
      rank_clock_.tell(configuration.name);
      store_.set(key + std::to_string(world_.rank), pack(own));
      return;
    }
    std::vector<std::vector<StepRecord>> ranks = {own};
    for (int rank = 1; rank < world_.ranks; ++rank)
      ranks.push_back(unpack(store_.get(key + std::to_string(rank))));
    note("clock", rank_clock_.agreement(configuration.name, world_.ranks));
    MeasuredConfiguration measured{
        .name = configuration.name,
        .bucket_cap_mb = configuration.options.bucket_cap_mb,
        .gradient_as_bucket_view = configuration.options.gradient_as_bucket_view};
    measure(ranks, measured);
    write_timeline(ranks, measured);
    progress(fmt::format("{}: {:.3f} ms a step", configuration.name,
                         measured.iteration_us.median / 1000));
    measurement_.configurations.push_back(std::move(measured));
  }

  /// Sets a value for a key. A later call replaces it.
  void note(const std::string& key, const std::string& text) {
    auto& setup = measurement_.setup;
    const auto place = std::ranges::find(setup, key, &std::pair<std::string, std::string>::first);
    if (place == setup.end())
      setup.emplace_back(key, text);
    else
      place->second = text;
  }

  void write_timeline(const std::vector<std::vector<StepRecord>>& ranks,
                      MeasuredConfiguration& measured) const {
    if (sweep_.output.empty()) return;
    Timeline timeline = median_timeline(ranks);
    timeline.provenance = measurement_.setup;
    timeline.provenance.emplace_back("configuration", measured.name);
    std::string bytes;  // of buckets, in launch order
    for (const MeasuredBucket& bucket : measured.buckets)
      bytes += (bytes.empty() ? "" : " ") + std::to_string(bucket.bytes.count());
    timeline.provenance.emplace_back("bucket_bytes", bytes);
    measured.timeline = timeline_name(measured.name);
    write_into_folder(sweep_.output, measured.timeline, timeline_json(timeline));
  }

  void write_summary() const {
    if (world_.rank != 0 || sweep_.output.empty()) return;
    write_into_folder(sweep_.output, "measurement.json", measurement_json(measurement_));
    write_into_folder(sweep_.output, "measurement.csv", measurement_csv(measurement_));
    if (!measurement_.all_reduces.empty())
      write_into_folder(sweep_.output, "all_reduce.txt",
                        measurement_log(measurement_, hosts_, device()));
  }

  /// The hook, which is the same for the whole sweep.
  CommHook hook() const {
    return sweep_.configurations.empty() ? CommHook::none
                                         : sweep_.configurations[0].options.comm_hook;
  }

  /// Name of the device, such as "Tesla V100-SXM2-16GB", from the backend's description.
  std::string device() const {
    for (const auto& [key, text] : measurement_.setup)
      if (key == "device") return text.substr(0, text.find_first_of(",;"));
    return "";
  }

  const Sweep& sweep_;
  World world_;
  StoreClient& store_;
  RankClock rank_clock_;
  HostClock clock_;
  std::unique_ptr<RealBackend> backend_;
  Measurement measurement_;
  std::vector<std::string> hosts_;  ///< by rank; on rank 0
};

/// Ends the job. If a launcher started the ranks, the first failing rank that tells the others
/// prints the message. It does so at once, because the launcher may end this process when another
/// one ends.
void end_job(StoreClient& store, const World& world, const std::string& what) {
  const std::string name = fmt::format("rank {}: ", world.rank);
  const std::string reason = name + what.substr(0, what.find('\n'));
  const std::string in_force = store.end_job(reason);
  if (!in_force.empty() && !in_force.starts_with(name)) throw SaidElsewhere(in_force);
  if (!world.launched && in_force.empty()) throw JobEnded(what);  // rank 0 may know the real cause
  if (!world.launched) return;
  print_error("ddpsim-real: " + reason);
  throw SaidElsewhere(reason);
}

}  // namespace

std::string timeline_name(const std::string& configuration) {
  return configuration + ".timeline.json";
}

std::string digest_of(const Sweep& sweep) {
  std::string all = format_workload(sweep.workload) + sweep.backend;
  for (const Configuration& configuration : sweep.configurations)
    all += "\n" + configuration.name + text_of(configuration.options);
  for (const Bytes size : sweep.all_reduce_sizes) all += fmt::format(" {}", size.count());
  all += fmt::format(" {} {} {} {} {} {}", sweep.warmup, sweep.iterations,
                     sweep.all_reduce_repetitions, sweep.check, sweep.busy_compute,
                     sweep.timeout.count());
  return fmt::format("{:016x}", fnv1a(all));
}

Measurement run_sweep(const Sweep& sweep, const World& world) {
  require_machine(sweep.backend, world);
  std::optional<StoreServer> server;
  if (world.rank == 0 && !world.served) {
    const Listening listening = world.listening >= 0 ? Listening{{world.listening}, world.port, ""}
                                                     : listen_on(world.host, world.port);
    server.emplace(listening, world.ranks, sweep.timeout, world.token);
  }
  StoreClient store(world.host, world.port,
                    {.rank = world.rank,
                     .ranks = world.ranks,
                     .version = DDPSIM_VERSION,
                     .job = digest_of(sweep),
                     .token = world.token},
                    sweep.timeout, world.launched);
  try {
    Measurement measurement = RankOfSweep(sweep, world, store).run();
    store.leave();
    return measurement;
  } catch (const PeerLost& lost) {
    // Another rank may know the real cause.
    if (const std::string reason = store.why_ended(); !reason.empty()) throw SaidElsewhere(reason);
    end_job(store, world, lost.what());
    throw;
  } catch (const SaidElsewhere&) {
    throw;
  } catch (const std::exception& error) {
    end_job(store, world, to_string(what_failed(error)));
    throw;
  }
}

}  // namespace ddpsim
