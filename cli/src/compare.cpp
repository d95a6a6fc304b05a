#include "ddpsim/sim/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "commands.hpp"
#include "ddpsim/topologies/cluster_sizes.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "exit_code.hpp"
#include "help_format.hpp"
#include "help_group.hpp"
#include "job_warnings.hpp"
#include "load_job.hpp"
#include "measured_step.hpp"
#include "terminal.hpp"
#include "usage_error.hpp"

namespace ddpsim {
namespace {

struct CompareArguments {
  JobArguments job;
  OutputArguments output;
  std::vector<std::string> clusters;
  std::vector<std::string> gpus;
  std::vector<std::string> compute_scales;
  std::vector<std::string> measured_steps;
  int threads = 0;
};

/// What was said about GPUs the workload was not recorded on, by GPU.
class GpuSettings {
 public:
  explicit GpuSettings(const CompareArguments& arguments) {
    for (const std::string& text : arguments.compute_scales) {
      const std::size_t colon = text.find(':');
      const std::string gpu =
          colon == std::string::npos ? "" : gpu_model_name(text.substr(0, colon));
      const std::string ratio = colon == std::string::npos ? text : text.substr(colon + 1);
      if (!scales_.emplace(gpu, Scale{ratio}).second)
        throw UsageError(gpu.empty()
                             ? "--compute-scale: given twice; say which GPU each is for, as in "
                               "--compute-scale A100:2.3±0.2"
                             : fmt::format("--compute-scale: {} is given twice", gpu));
    }
    for (const std::string& text : arguments.gpus) accepted_.emplace(gpu_model_name(text), false);
  }

  /// Sets in `arguments` what holds for this cluster.
  void apply(const Workload& workload, const Cluster& cluster, JobArguments& arguments) {
    const std::string& gpu = cluster.gpu.name;
    of_clusters_.insert(gpu);
    const bool differs = workload.gpu.empty() || gpu_model_name(workload.gpu) != gpu;
    if (const auto own = scales_.find(gpu); own != scales_.end()) {
      use(own->second, gpu, arguments);
    } else if (const auto any = scales_.find(""); any != scales_.end() && differs) {
      if (!any->second.gpu.empty() && any->second.gpu != gpu)
        throw UsageError(
            fmt::format("--compute-scale {}: the clusters have {} and {}; give each its own, as in "
                        "--compute-scale {}:{}",
                        any->second.ratio, any->second.gpu, gpu, gpu, any->second.ratio));
      use(any->second, gpu, arguments);
    }
    if (const auto accepted = accepted_.find(gpu); accepted != accepted_.end()) {
      accepted->second = true;
      if (differs) arguments.gpu = gpu;
    }
  }

  void require_all_used() const {
    for (const auto& [gpu, scale] : scales_)
      if (scale.gpu.empty())
        throw UsageError(gpu.empty()
                             ? "--compute-scale: every cluster has the GPU recorded on"
                             : fmt::format("--compute-scale {}: no cluster has that GPU", gpu));
    for (const auto& [gpu, used] : accepted_)
      if (!used)
        throw UsageError(
            fmt::format("--gpu {}: no cluster has that GPU, only {}; --gpu names a cluster's GPU, "
                        "to accept that it is not the recording's",
                        gpu, fmt::join(of_clusters_, ", ")));
  }

 private:
  struct Scale {
    std::string ratio;
    std::string gpu = {};  ///< of the clusters it was used for; empty: of none
  };
  static void use(Scale& scale, const std::string& gpu, JobArguments& arguments) {
    scale.gpu = gpu;
    arguments.compute_scale = scale.ratio;
  }
  std::map<std::string, Scale> scales_;  ///< "": whatever GPU differs
  std::map<std::string, bool> accepted_;
  std::set<std::string> of_clusters_;
};

/// Each warning once; one that neither holds for all nor names its cluster says for which it does.
std::vector<std::string> common_warnings(const std::vector<LoadedJob>& jobs) {
  std::vector<std::string> texts;
  std::map<std::string, std::vector<std::string>> clusters;
  std::map<std::string, bool> named;
  for (const LoadedJob& loaded : jobs) {
    for (const std::string& warning : loaded.context.warnings) {
      std::vector<std::string>& names = clusters[warning];
      if (names.empty()) texts.push_back(warning);
      named[warning] = warning.find(loaded.job.cluster().name) != std::string::npos;
      if (names.empty() || names.back() != loaded.context.cluster)
        names.push_back(loaded.context.cluster);
    }
  }
  for (std::string& text : texts) {
    const std::vector<std::string>& names = clusters[text];
    if (names.size() == jobs.size() || named[text]) continue;
    text = names.size() == 1
               ? fmt::format("{}: {}", names.front(), text)
               : fmt::format("{} and {} more: {}", names.front(), names.size() - 1, text);
  }
  return texts;
}

/// "104ms" of the "NAME=104ms" that names this job's cluster.
std::optional<std::string> own_step(const std::vector<std::string>& texts, const LoadedJob& job) {
  for (const std::string& text : texts)
    if (text.starts_with(job.context.cluster + '='))
      return text.substr(job.context.cluster.size() + 1);
  return std::nullopt;
}

/// "NAME=104ms", by job. A name may hold any character: it is one of those compared.
std::vector<std::optional<MeasuredStep>> measured_steps(const std::vector<std::string>& texts,
                                                        const std::vector<LoadedJob>& jobs) {
  std::vector<std::optional<MeasuredStep>> measured(jobs.size());
  for (const std::string& text : texts) {
    bool named = false;  // a cluster may be given twice: its step is that of both
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const auto step = own_step({text}, jobs[i]);
      if (!step) continue;
      if (measured[i])
        throw UsageError(
            fmt::format("--measured-step: {} is given twice", jobs[i].context.cluster));
      measured[i] = parse_measured_step(*step);
      require_possible(*measured[i], jobs[i].job, jobs[i].workload_source);
      named = true;
    }
    if (named) continue;
    std::vector<std::string> names;
    for (const LoadedJob& job : jobs) names.push_back(job.context.cluster);
    throw UsageError(
        fmt::format("--measured-step {}: say whose step it is, as in --measured-step \"{}=104ms\"; "
                    "compared are {}",
                    text, names.front(), fmt::join(names, ", ")));
  }
  return measured;
}

int run(const CompareArguments& arguments, TypedLine typed) {
  std::vector<std::string> clusters;
  for (const std::string& text : arguments.clusters)
    for (std::string& size : cluster_sizes(text)) clusters.push_back(std::move(size));
  GpuSettings gpus(arguments);
  const LoadedWorkload loaded =
      load_workload(arguments.job.workload, arguments.job.model, arguments.job.timing);

  // Everything is read and checked before anything is simulated: one bad cluster is one message.
  std::vector<JobArguments> settings;
  std::vector<LoadedJob> jobs;
  std::vector<NotCompared> not_compared;
  std::optional<Diagnostic> none_fits;
  for (const std::string& cluster : clusters) {
    JobArguments& own = settings.emplace_back(arguments.job);
    own.cluster.text = cluster;
    gpus.apply(loaded.workload, load_cluster(cluster_request(own.cluster)), own);
    LoadedJob& job = jobs.emplace_back(load_job(own, typed, loaded));
    job.context.cluster = cluster;
    require_supported(job.job.options().ddp);
    require_simulatable(job);
    if (std::optional<Diagnostic> problem = count_memory(job)) {
      not_compared.push_back({cluster, job.context.ranks, job.context.memory, problem->message});
      if (!none_fits) none_fits = std::move(problem);
      jobs.pop_back();
      settings.pop_back();
    }
  }
  gpus.require_all_used();
  if (jobs.empty()) throw InputError(std::move(*none_fits));

  const std::vector<std::optional<MeasuredStep>> measured =
      measured_steps(arguments.measured_steps, jobs);
  std::vector<Job> candidates;
  std::vector<ReportContext> contexts;
  for (const LoadedJob& job : jobs) {
    candidates.push_back(job.job);
    contexts.push_back(job.context);
  }
  const bool tune = candidates.front().options().ddp.bucket_cap_mb_list.empty() &&
                    why_no_cap(candidates.front()).empty();
  const Comparison comparison =
      compare(candidates, {.threads = arguments.threads, .tune = tune, .measured = measured});
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::optional<Replay>& replay = comparison.jobs[i].replay;
    contexts[i].replay = replay;
    contexts[i].correction = comparison.jobs[i].correction;
    if (replay && replay->contradicted()) jobs[i].context.overturn(contradiction(*replay));
  }
  contexts.front().warnings = common_warnings(jobs);
  const JobArguments& fastest = settings[comparison.by_speed.front()];
  typed.set("CLUSTER", fastest.cluster.text);
  typed.set("--gpu", fastest.gpu);
  typed.set("--compute-scale", fastest.compute_scale);
  typed.set("--measured-step",
            own_step(arguments.measured_steps, jobs[comparison.by_speed.front()]));
  typed.drop("--bucket-cap-mb-list");  // tune searches over single caps
  contexts.front().next_command = typed.for_command("tune");

  deliver({.json = [&] { return compare_json(comparison, contexts, not_compared); },
           .text =
               [&](const TerminalStyle& style) {
                 return compare_text(comparison, contexts, style, not_compared);
               },
           .csv = [&] { return compare_csv(comparison, contexts, not_compared); }},
          arguments.output);
  return kOk;
}

}  // namespace

void add_compare(CLI::App& app, std::function<int()>& action) {
  CLI::App* command = app.add_subcommand(
      "compare", "one workload on several clusters: which trains faster, how surely");
  const auto arguments = std::make_shared<CompareArguments>();
  add_job_options(*command, arguments->job);
  hide_run_options(*command);
  // What one job has once, a comparison has for each cluster or for each GPU.
  for (const char* name : {"CLUSTER", "--gpu", "--compute-scale", "--measured-step"})
    command->remove_option(command->get_option(name));
  command
      ->add_option("CLUSTER", arguments->clusters,
                   "clusters as elsewhere, also in several sizes: dgxa100@1..16*2")
      ->required()
      ->take_all();
  const HelpGroup recording(*command, kRecordingGroup);
  const auto repeatable = [&](const char* name, std::vector<std::string>& values,
                              const char* help) {
    command->add_option(name, values, help)->expected(1)->take_all();
  };
  repeatable(
      "--gpu", arguments->gpus,
      "accept this GPU of a cluster: the workload is carried over layer by layer; repeatable");
  repeatable(
      "--compute-scale", arguments->compute_scales,
      "speed of a GPU relative to the recording's, A100:2.3±0.2; repeatable. Without a name: "
      "of whichever GPU differs");
  repeatable(
      "--measured-step", arguments->measured_steps,
      "today's unprofiled step on one of the clusters, dgxa100@4=104ms or =FILE; repeatable");
  add_threads_option(*command, arguments->threads);
  add_output_options(*command, arguments->output, false);
  add_length_options(*command, arguments->output);
  add_example(*command, "ddpsim compare resnet50-v100-b32 p3dn@1..8*2 dgxa100@1..8*2 --gpu A100");
  command->callback([&action, arguments, command] {
    action = [arguments, command] { return run(*arguments, TypedLine(*command)); };
  });
}

}  // namespace ddpsim
