// The advised setting as a Python module. The settings are data; the code that applies them is
// always the same.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "advice_lines.hpp"
#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/reports/reports.hpp"
#include "report_lines.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

constexpr const char* kCode = R"py(
SETTING = {"today": TODAY, "proposed": PROPOSED}[os.environ.get("DDPSIM_SETTING", "proposed")]

if SETTING["environment"] and dist.is_available() and dist.is_initialized():
    raise RuntimeError(f"import {__name__} before init_process_group: NCCL reads its environment once")
for variable, value in SETTING["environment"].items():
    os.environ.pop(variable, None)
    if value is not None:
        os.environ[variable] = value


def wrap(model, *, setting=SETTING, optimizer=None, **arguments):
    """DistributedDataParallel(model, …). Arguments you pass (device_ids, process_group, …) override those of `setting`.

    `optimizer`: its class and a dict of its arguments; needed if the setting steps it in backward.
    """
    group = arguments.get("process_group")
    if setting["sync_batchnorm"]:
        model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model, group)
    if setting["optimizer_in_backward"]:
        if optimizer is None:
            raise ValueError("the optimizer steps in backward: wrap(model, optimizer=(torch.optim.SGD, {'lr': 0.1}))")
        from torch.distributed.optim import _apply_optimizer_in_backward
        _apply_optimizer_in_backward(optimizer[0], model.parameters(), optimizer[1])
    with first_bucket(setting["first_bucket_bytes"]):
        wrapped = DistributedDataParallel(model, **{**setting["arguments"], **arguments})
    if setting["hook"] == "powerSGD_hook":
        from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
        wrapped.register_comm_hook(powerSGD_hook.PowerSGDState(group, **setting["power_sgd"]), powerSGD_hook.powerSGD_hook)
    elif setting["hook"]:
        from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
        wrapped.register_comm_hook(group, getattr(default_hooks, setting["hook"]))
    return wrapped


@contextlib.contextmanager
def first_bucket(limit):
    """DDP reads the limit of its first bucket while it is constructed. None keeps PyTorch's default."""
    if limit is None:
        yield
        return
    before = dist._DEFAULT_FIRST_BUCKET_BYTES
    dist._DEFAULT_FIRST_BUCKET_BYTES = limit
    try:
        yield
    finally:
        dist._DEFAULT_FIRST_BUCKET_BYTES = before


def micro_batch(model, index, *, setting=SETTING):
    """Wrap forward and backward of micro-batch 0, 1, …. The last one of a step reduces gradients: step after it."""
    last = (index + 1) % setting["accumulate"] == 0
    return contextlib.nullcontext() if last else model.no_sync()
)py";

// Code that only some settings need. It is left out of the other modules.
constexpr const char* kOtherHooks = R"py(    elif setting["hook"]:
)py";
constexpr const char* kLocalSgd = R"py(    elif setting["hook"] == "post_localSGD_hook":
        from torch.distributed.algorithms.ddp_comm_hooks import post_localSGD_hook
        gradients = {} if setting["local_sgd"]["gradients"] else {"post_local_gradient_allreduce": False}
        state = post_localSGD_hook.PostLocalSGDState(group, None, START_LOCAL_SGD, **gradients)
        wrapped.register_comm_hook(state, post_localSGD_hook.post_localSGD_hook)
)py";
constexpr const char* kAverager = R"py(

START_LOCAL_SGD = 100  # the first steps all-reduce gradients as usual


def averager(*, setting=SETTING):
    """Returns an averager: call its average_parameters(model.parameters()) after every optimizer.step()."""
    from torch.distributed.algorithms.model_averaging import averagers
    period = setting["local_sgd"]["period"]
    return averagers.PeriodicModelAverager(period or 2, START_LOCAL_SGD if period else float("inf"))
)py";

constexpr const char* kNormsOfDdp = "convert_sync_batchnorm(model, group)";
constexpr const char* kNormsOfGroup =
    "convert_sync_batchnorm(model, batch_norm_group(setting) or group)";
constexpr const char* kGroup = R"py(

def batch_norm_group(setting):
    """The process group of ranks that share their statistics. None: the one DDP uses."""
    ranks = setting["sync_batchnorm_group"]
    return dist.new_subgroups(ranks)[0] if ranks else None
)py";

constexpr const char* kEveryBucket =
    "register_comm_hook(group, getattr(default_hooks, setting[\"hook\"]))";
constexpr const char* kLargeBuckets =
    "register_comm_hook(group, of_large_buckets(default_hooks, setting))";
constexpr const char* kOfLarge = R"py(

def of_large_buckets(default_hooks, setting):
    """The setting's hook for buckets of at least hook_min_bytes; smaller ones are all-reduced as they are."""
    def hook(group, bucket):
        size = bucket.buffer().numel() * bucket.buffer().element_size()
        name = setting["hook"] if size >= setting["hook_min_bytes"] else "allreduce_hook"
        return getattr(default_hooks, name)(group, bucket)
    return hook
)py";

std::string python_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : legible(text, std::string_view::npos)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

/// Makes text safe for a docstring: names may hold anything, but quotes and backslashes would end
/// it, and Python refuses a module that is not UTF-8.
std::string in_docstring(std::string_view text) {
  std::string plain = legible(text, std::string_view::npos);
  for (char& c : plain) {
    if (c == '"') c = '\'';
    if (c == '\\') c = '/';
  }
  return plain;
}

std::string python_bool(bool value) {
  return value ? "True" : "False";
}

std::string dict(const std::vector<std::string>& items) {
  return fmt::format("{{{}}}", fmt::join(items, ", "));
}

/// DDP's arguments as items of a dict, without those that equal PyTorch's defaults.
std::string arguments_of(const DdpOptions& ddp, TorchVersion torch) {
  std::vector<std::string> items;
  if (ddp.bucket_cap_mb) items.push_back(fmt::format("\"bucket_cap_mb\": {}", *ddp.bucket_cap_mb));
  if (!ddp.bucket_cap_mb_list.empty())
    items.push_back(
        fmt::format("\"bucket_cap_mb_list\": [{}]", fmt::join(ddp.bucket_cap_mb_list, ", ")));
  if (!ddp.broadcast_buffers)
    items.push_back(fmt::format("\"{}\": False", buffers_argument(torch)));
  if (ddp.gradient_as_bucket_view) items.emplace_back("\"gradient_as_bucket_view\": True");
  if (ddp.static_graph) items.emplace_back("\"static_graph\": True");
  if (ddp.find_unused_parameters) items.emplace_back("\"find_unused_parameters\": True");
  return dict(items);
}

/// "Ring,Tree", as NCCL parses it.
std::string nccl_list(const AlgorithmSet& set) {
  std::vector<std::string_view> names;
  for (int i = 0; i < kAlgorithms; ++i)
    if (const auto algorithm = static_cast<Algorithm>(i); set.has(algorithm))
      names.push_back(name_of(algorithm));
  return fmt::format("{}", fmt::join(names, ","));
}

std::string nccl_list(const ProtocolSet& set) {
  std::vector<std::string_view> names;
  for (int i = 0; i < kProtocols; ++i)
    if (const auto protocol = static_cast<Protocol>(i); set.has(protocol))
      names.push_back(name_of(protocol));
  return fmt::format("{}", fmt::join(names, ","));
}

/// NCCL's environment variables and their values.
std::map<std::string, std::string> variables_of(const std::optional<CollectiveTuning>& nccl) {
  std::map<std::string, std::string> set;
  if (!nccl) return set;
  if (nccl->algorithms) set["NCCL_ALGO"] = nccl_list(*nccl->algorithms);
  if (nccl->protocols) set["NCCL_PROTO"] = nccl_list(*nccl->protocols);
  if (nccl->min_channels) set["NCCL_MIN_NCHANNELS"] = fmt::to_string(*nccl->min_channels);
  if (nccl->max_channels) set["NCCL_MAX_NCHANNELS"] = fmt::to_string(*nccl->max_channels);
  if (nccl->buffer != CollectiveTuning::kDefaultBuffer)
    set["NCCL_BUFFSIZE"] = fmt::to_string(nccl->buffer.count());
  if (!nccl->nvls) set["NCCL_NVLS_ENABLE"] = "0";
  if (nccl->collnet) set["NCCL_COLLNET_ENABLE"] = "1";
  return set;
}

/// The environment of `setting`. A variable that only `before` sets becomes None, which unsets it.
std::string environment_of(const JobSettings& setting, const JobSettings& before) {
  std::vector<std::string> items;
  const std::map<std::string, std::string> set = variables_of(setting.nccl);
  for (const auto& [name, value] : set) items.push_back(fmt::format("\"{}\": \"{}\"", name, value));
  for (const auto& [name, value] : variables_of(before.nccl))
    if (!set.contains(name)) items.push_back(fmt::format("\"{}\": None", name));
  return dict(items);
}

/// Which optional code the two settings need.
struct Uses {
  bool local_sgd = false;
  bool groups = false;
  bool large_buckets = false;
};

bool is_local(const JobSettings& setting) {
  return setting.ddp.comm_hook == CommHook::post_local_sgd;
}

Uses used_by(const JobSettings& current, const JobSettings& proposed) {
  Uses any;
  for (const JobSettings* setting : {&current, &proposed}) {
    any.local_sgd = any.local_sgd || is_local(*setting);
    any.groups = any.groups || setting->ddp.sync_batchnorm_group;
    any.large_buckets = any.large_buckets || setting->ddp.comm_hook_min_mb > 0;
  }
  return any;
}

std::string code_for(const Uses& uses) {
  std::string code = kCode;
  const auto replace = [&](std::string_view text, const std::string& by) {
    code.replace(code.find(text), text.size(), by);
  };
  if (uses.local_sgd) replace(kOtherHooks, fmt::format("{}{}", kLocalSgd, kOtherHooks));
  if (uses.groups) replace(kNormsOfDdp, kNormsOfGroup);
  if (uses.large_buckets) replace(kEveryBucket, kLargeBuckets);
  return code + (uses.local_sgd ? kAverager : "") + (uses.groups ? kGroup : "") +
         (uses.large_buckets ? kOfLarge : "");
}

std::string local_sgd_dict(const JobSettings& setting) {
  const LocalSgd& local = setting.ddp.local_sgd;
  return fmt::format("{{\"period\": {}, \"gradients\": {}}}", is_local(setting) ? local.period : 0,
                     python_bool(local.averages_gradients));
}

std::string setting_dict(const char* name, const JobSettings& setting, const JobSettings& before,
                         const Uses& uses) {
  constexpr double kMiB = 1'048'576;
  const DdpOptions& ddp = setting.ddp;
  const bool power_sgd = ddp.comm_hook == CommHook::power_sgd;
  std::string text = fmt::format("{} = {{\n", name);
  const auto add = [&](const char* key, const std::string& value) {
    text += fmt::format("    \"{}\": {},\n", key, value);
  };
  add("environment", environment_of(setting, before));
  if (setting.recorded_buckets)
    text +=
        "    # the current buckets are the recorded ones: add the bucket_cap_mb of your script\n";
  if (ddp.process_groups > 1)
    text += fmt::format(
        "    # {} process groups take turns: pass process_group=_round_robin_process_groups(…) to "
        "wrap\n",
        ddp.process_groups);
  add("arguments", arguments_of(ddp, setting.torch));
  add("first_bucket_bytes",
      ddp.first_bucket_mb ? fmt::format("{}", std::llround(*ddp.first_bucket_mb * kMiB)) : "None");
  add("hook", ddp.comm_hook == CommHook::none ? "None" : python_string(name_of(ddp.comm_hook)));
  add("power_sgd",
      power_sgd
          ? fmt::format("{{\"matrix_approximation_rank\": {}, \"min_compression_rate\": {}}}",
                        ddp.power_sgd.matrix_approximation_rank, ddp.power_sgd.min_compression_rate)
          : "{}");
  if (uses.local_sgd) add("local_sgd", local_sgd_dict(setting));
  if (uses.large_buckets)
    add("hook_min_bytes", fmt::format("{}", std::llround(std::ceil(ddp.comm_hook_min_mb * kMiB))));
  add("accumulate", fmt::format("{}", setting.accumulate));
  add("optimizer_in_backward", python_bool(ddp.optimizer_in_backward));
  add("sync_batchnorm", python_bool(ddp.sync_batchnorm));
  if (uses.groups)
    add("sync_batchnorm_group",
        ddp.sync_batchnorm_group ? fmt::format("{}", *ddp.sync_batchnorm_group) : "None");
  return text + "}\n";
}

std::string prediction_dict(const Advice& advice, const AdviceRow* best, Grade grade) {
  const Gain gain = best != nullptr ? best->gain : Gain{};
  return fmt::format(
      "# Step of the current batch, in microseconds.\n"
      "PREDICTED = {{\"iteration_us\": {}, \"gain_us\": {}, \"low_us\": {}, \"high_us\": {},\n"
      "             \"confidence\": \"{}\"}}\n",
      microseconds_token(advice.iteration), microseconds_token(gain.value),
      microseconds_token(gain.low), microseconds_token(gain.high), name_of(grade));
}

}  // namespace

std::string advice_python(const AdviceReport& report, const AdviceRow* best,
                          const std::string& made_by) {
  const Advice& advice = report.advice;
  const ReportContext& context = report.context;
  const Confidence& confidence = context.trust.confidence;
  const int digits = digits_of(confidence.grade);
  const TimeUnit unit = unit_for(advice.iteration);
  std::string head;
  const auto add = [&](const char* name, const std::string& text) {
    head += wrapped(fmt::format("{:<10} {}", name, in_docstring(text)), 110, 11);
  };
  if (best != nullptr) {
    add("Proposed", fmt::format("{}", fmt::join(best->settings, " + ")));
    Gain shown = best->gain;
    const bool costs = shown.value < Duration();
    if (costs) shown = {-shown.value, -shown.high, -shown.low};
    const GainText gain = gain_text(shown, digits, unit);
    add("Predicted", fmt::format("{0} {1} {4} of {2} a step (80 % interval {3} {4}; {5})",
                                 costs ? "costs" : "saves", gain.value,
                                 time_text(advice.iteration, digits, unit), gain.interval,
                                 name_of(unit), confidence.provenance));
    if (best->changes_numerics)
      add("Changes",
          best->changes_batch ? "numerics, and the batch the optimizer sees" : "numerics");
    if (!best->note.empty()) add("Besides", best->note);
    if (!best->by_hand.empty())
      add("By hand", best->by_hand + ": this file cannot set it, and without it saves less");
  } else {
    add("Proposed",
        "nothing: no setting gains enough with enough certainty; PROPOSED equals TODAY");
  }
  add("Job", subject(context));
  add("PyTorch", to_string(context.job.options().torch) +
                     (context.provenance.torch_known ? "" : " (assumed: --torch)"));
  add("Made by", made_by);
  std::string text =
      "\"\"\"How to wrap a model in DistributedDataParallel, as ddpsim advises for one job.\n\n" +
      head +
      "\nImport this before torch.distributed.init_process_group, then\n\n"
      "    model = wrap(model)\n\n"
      "DDPSIM_SETTING=today in the environment gives the current setting; scripts/ab.py compares "
      "the two.\n\"\"\"\n\n"
      "import contextlib\nimport os\n\nimport torch\nimport torch.distributed as dist\n"
      "from torch.nn.parallel import DistributedDataParallel\n\n";
  const JobSettings& proposed = best != nullptr ? best->job_settings : advice.current;
  const Uses used = used_by(advice.current, proposed);
  text += setting_dict("TODAY", advice.current, advice.current, used);
  text += setting_dict("PROPOSED", proposed, advice.current, used);
  text += prediction_dict(advice, best, confidence.grade);
  return text + code_for(used);
}

}  // namespace ddpsim
