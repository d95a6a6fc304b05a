#include "how_reduced.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "ddpsim/formats/quote.hpp"
#include "ddpsim/sim/values/ddp_options.hpp"
#include "ddpsim/sim/values/reduced_by.hpp"
#include "other_schemes.hpp"

namespace ddpsim {
namespace {

void note_compiled(const RecordedStep& step, Imported& imported) {
  const auto compiled = std::ranges::count(step.gradients, true, &RecordedGradient::compiled);
  imported.workload.recorded_with.compiled_gradients = compiled;
  if (compiled == 0) return;
  imported.recognised.push_back(
      fmt::format("compiled backward: {} of {} gradients come out of one node of torch.compile "
                  "together, when it has ended; `tune` recommends no cap for it",
                  compiled, step.gradients.size()));
}

void note_other_reduction(const RecordedStep& step, Imported& imported) {
  imported.workload.recorded_with.reduced_by = step.reduced_by;
  if (step.reduced_by != ReducedBy::reducer) {
    const std::size_t calls = step.reducer.size();
    imported.recognised.push_back(
        fmt::format("not DDP's reducer but {} made the {} all-reduce{} of gradients{}; PyTorch's "
                    "bucketing is not how this ran, so `tune` recommends no cap for it",
                    caller_of(step.reduced_by), calls, calls == 1 ? "" : "s",
                    calls == step.gradients.size() ? ", one for each" : ""));
  }
  imported.workload.recorded_with.sync_batchnorm = step.sync_batchnorm;
  if (step.sync_batchnorm)
    imported.recognised.push_back(
        fmt::format("SyncBatchNorm ran: {} all-reduce{} inside backward's nodes",
                    step.other_all_reduces, step.other_all_reduces == 1 ? "" : "s"));
  else if (step.other_all_reduces > 0)
    imported.warnings.push_back(
        fmt::format("{} all-reduces inside autograd nodes are not the reducer's and were left out",
                    step.other_all_reduces));
  if (const std::string beside = collectives_beside(step); !beside.empty() && !step.reducer.empty())
    imported.recognised.push_back(
        fmt::format("other collectives than the gradients' all-reduces: {}; they stay in the "
                    "recorded step as they ran",
                    beside));
  // These may be the all-reduces of a loss, or of a reducer whose calls are unknown.
  if (step.reducer.empty() && step.unclaimed > 0)
    imported.warnings.push_back(
        fmt::format("{} NCCL all-reduce{} of backward {} not taken for the gradients' (the trace "
                    "calls it {}): no "
                    "bucket is known, and its time is counted to the parts of the step beside it",
                    step.unclaimed, step.unclaimed == 1 ? "" : "s",
                    step.unclaimed == 1 ? "is" : "are", in_quotes(step.unclaimed_operation)));
}

/// A trace does not name communication hooks. The size of the all-reduces reveals them.
void note_hook(const RecordedStep& step, Imported& imported) {
  if (!step.reduced) return;
  imported.workload.recorded_with.wire = step.wire;
  const bool bfloat16 = step.reduced == Dtype::bfloat16;
  if (!bfloat16 && step.reduced != Dtype::float16) return;
  const CommHook hook = bfloat16 ? CommHook::bf16_compress : CommHook::fp16_compress;
  if (step.wire) {
    imported.recognised.push_back(fmt::format(
        "a compression hook was on ({}): the all-reduces carry {}, the gradients are wider; to "
        "simulate it as it ran, pass --comm-hook {}",
        name_of(hook), name_of(*step.wire), word_of(hook)));
  } else if (step.gradients.front().tensor == nullptr) {
    imported.warnings.push_back(fmt::format(
        "the all-reduces carry {}, but the type of the gradients is not recorded. If it is "
        "float32, {} was on and buckets are twice as large. Record with record_shapes=True",
        name_of(*step.reduced), name_of(hook)));
  }
}

}  // namespace

void note_reduction(const RecordedStep& step, Imported& imported) {
  note_compiled(step, imported);
  note_other_reduction(step, imported);
  note_hook(step, imported);
}

}  // namespace ddpsim
