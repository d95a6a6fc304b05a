// One line per parameter and per ready gradient, so that diff can compare two files.
#include "described_workload.hpp"

#include <array>
#include <optional>
#include <string>

#include "ddpsim/traces/described_kept_by.hpp"
#include "ddpsim/traces/workload_file.hpp"
#include "described_recording.hpp"

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;
using Shares = std::array<double, 2>;

std::optional<Shares> forward_shares(const Parameter& parameter) {
  const auto& time = parameter.module_time;
  return time ? std::optional(Shares{time->forward_begin, time->forward_end}) : std::nullopt;
}

std::optional<Shares> backward_shares(const Parameter& parameter) {
  const auto& time = parameter.module_time;
  return time && time->backward
             ? std::optional(Shares{time->backward->first, time->backward->second})
             : std::nullopt;
}

}  // namespace

const Described<SampleWork>& described_sample() {
  static const auto described =
      Described<SampleWork>("SampleWork", "what the model computes for a sample", Layout::line)
          .integer("tokens", if_positive(&SampleWork::tokens),
                   "tokens of a sequence; default: the sample is an image", Absent::left_out)
          .number("model_flops", if_positive(&SampleWork::flops),
                  "FLOPs of the model's matrix products and convolutions, forward and backward, as "
                  "MFU counts them",
                  Absent::left_out)
          .number("convolution_flops", if_positive(&SampleWork::convolution_flops),
                  "the part of `model_flops` in convolutions, which run in TF32 if the GPU has it; "
                  "default: 0",
                  Absent::left_out);
  return described;
}

const Described<Parameter>& described_parameter() {
  static const auto described =
      Described<Parameter>("Parameter", "a parameter of the module", Layout::line)
          .text("name", &Parameter::name, "the parameter's name; names are unique")
          .integers("shape", &Parameter::shape,
                    "the parameter's lengths; [] is a scalar, null was not recorded")
          .word("dtype", &Parameter::dtype, all_up_to(Dtype::complex128),
                "PyTorch's name of the dtype, without \"torch.\"")
          .boolean("sparse_gradient", if_true(&Parameter::sparse_gradient),
                   "whether the gradient is sparse and gets a bucket of its own; default: false",
                   Absent::left_out)
          .text("device", unless_empty(&Parameter::device),
                "the parameter's device, if it is not the rank's own; it gets buckets of its own",
                Absent::left_out)
          .boolean("ignored", if_true(&Parameter::ignored),
                   "whether the parameter is in the module but outside DDP; it stays in `ready`; "
                   "default: false",
                   Absent::left_out)
          .boolean("batch_norm", if_true(&Parameter::batch_norm),
                   "whether the parameter is the weight of a BatchNorm layer, with one element per "
                   "channel; default: false. --sync-batchnorm needs it if no bundled model has the "
                   "shapes",
                   Absent::left_out)
          .boolean("frozen", if_true(&Parameter::frozen),
                   "whether requires_grad is False: forward reads the parameter, but it has no "
                   "gradient, bucket or optimizer state; default: false",
                   Absent::left_out)
          .numbers("forward", &forward_shares,
                   "when forward runs the parameter's module: begin and end, as shares of "
                   "forward's time",
                   Absent::left_out)
          .numbers("backward", &backward_shares,
                   "when backward runs the parameter's module: begin and end, as shares of "
                   "backward's time. Only with `forward`, and if backward reaches the "
                   "module because a parameter before it is trainable",
                   Absent::left_out);
  return described;
}

const Described<BufferGroup>& described_buffer() {
  static const auto described =
      Described<BufferGroup>("Buffer", "module buffers of a dtype", Layout::line)
          .word("dtype", &BufferGroup::dtype, all_up_to(Dtype::complex128),
                "PyTorch's name of the dtype, without \"torch.\"")
          .integer("bytes", &BufferGroup::bytes, "what the buffers hold together")
          .integer("tensors", &BufferGroup::tensors, "how many buffers there are; default: 1")
          .optional_when_read({"tensors"});
  return described;
}

const Described<KeptBy>& described_kept_by() {
  static const auto described =
      Described<KeptBy>("KeptBy", "what modules of the same path keep", Layout::line)
          .text("name", &KeptBy::name,
                "path of the modules or operators; `*` stands for the number of a block")
          .integer("bytes", &KeptBy::bytes, "bytes that they keep together");
  return described;
}

const Described<Activations>& described_activations() {
  static const auto described =
      Described<Activations>("Activations",
                             "what is allocated at the end of forward because backward reads it",
                             Layout::line)
          .integer("bytes", &Activations::bytes,
                   "bytes of activations at the end of forward, without parameters and buffers")
          .one_of(
              "from", [](const Activations& of) { return of.recorded ? "recording" : "layers"; },
              {"recording", "layers"},
              "whether `bytes` were recorded (a trace with profile_memory=True, or the recorder), "
              "or computed from the layers of a model")
          .integers("held_bytes", unless_empty(&Activations::held),
                    "largest memory of activations and gradients up to each entry of `ready`, "
                    "including its own gradient. Then after the last entry, and after backward has "
                    "returned. Default: an equal share leaves with each gradient",
                    Absent::left_out)
          .list("by", unless_empty(&Activations::by), described_kept_by(),
                "who keeps one per cent of `bytes` and more, the largest first; default: not known",
                Absent::left_out);
  return described;
}

const Described<RankRecording>& described_rank() {
  static const auto described =
      Described<RankRecording>("RankRecording", "what one rank of several recorded")
          .integer("rank", &RankRecording::rank,
                   "the rank; ranks ascend and lie below `world_size`")
          .time("offset_us", &RankRecording::offset,
                "start of the rank's forward after that of the first rank listed; negative: it "
                "began before; default: 0")
          .members_of([](const RankRecording& of) { return ShownRecording{of}; },
                      described_recording())
          .members_of([](const RankRecording& of) -> const Recorded& { return of; },
                      described_circumstances())
          .optional_when_read({"offset_us"})
          .required_when_read({"backward"});
  return described;
}

const Described<Workload>& described_workload() {
  static const auto described =
      Described<Workload>("Workload", "what one rank, or several, computed in a step")
          .constant("schema", kWorkloadSchema, "which document this is")
          .text("name", unless_empty(&Workload::name), "what results call the workload",
                Absent::left_out)
          .text("gpu", unless_empty([](const Workload& of) -> const std::string& {
                  return of.gpu_variant.empty() ? of.gpu : of.gpu_variant;
                }),
                "the GPU that was recorded: \"V100\", or a variant such as \"V100-16GB\"",
                Absent::left_out)
          .text("precision", unless_empty(&Workload::precision),
                "\"fp32\", \"tf32\", \"amp\", \"bf16\" or \"bf16-true\"", Absent::left_out)
          .integer("batch_per_gpu", &Workload::batch_per_gpu,
                   "samples of a GPU's forward; throughput and --batch need it", Absent::left_out)
          .number("samples_per_step", &Workload::samples_per_step,
                  "samples in a step of the whole recorded job; nothing is computed from it",
                  Absent::left_out)
          .object("sample", &Workload::sample, described_sample(),
                  "what the model computes for a sample; MFU and tokens per second need it",
                  Absent::left_out)
          .text("torch", unless_empty(&Workload::torch),
                "the PyTorch version of the recording, whose rules hold unless --torch says "
                "otherwise",
                Absent::left_out)
          .text(
              "torch_at_least",
              [](const Workload& of) {
                return of.torch_at_least ? std::optional(to_string(*of.torch_at_least))
                                         : std::nullopt;
              },
              "the oldest PyTorch version whose profiler writes such a recording", Absent::left_out)
          .one_of(
              "parameter_order",
              [](const Workload& of) {
                return of.parameter_order == ParameterOrder::assumed ? "assumed" : "definition";
              },
              {"definition", "assumed"},
              "whether `parameters` are known to be in the module's definition order (default), or "
              "this is assumed")
          .list("parameters", &Workload::parameters, described_parameter(),
                "parameters of the module, in definition order")
          .members_of(
              [](const Workload& of) {
                return ShownRecording{.recorded = of, .host_costs = &of.host_costs};
              },
              described_recording())
          .list("buffers", unless_empty(&Workload::buffers), described_buffer(),
                "the module's buffers by dtype, which DDP broadcasts before each forward",
                Absent::left_out)
          .object("activations", &Workload::activations, described_activations(),
                  "what is allocated at the end of forward because backward reads it",
                  Absent::left_out)
          .object(
              "activations_in_half", &Workload::activations_in_half, described_activations(),
              "the same where a scheme hands parameters over in 16 bits, so that nothing is cast "
              "or promoted. Only of estimates under autocast",
              Absent::left_out)
          .members_of([](const Workload& of) -> const Recorded& { return of; },
                      described_circumstances())
          .list("ranks", unless_empty(&Workload::ranks), described_rank(),
                "recordings of several ranks; the document itself repeats the first of them",
                Absent::left_out)
          .texts_by_key("provenance", unless_empty(&Workload::provenance),
                        "where the workload comes from", Absent::left_out)
          .optional_when_read({"schema", "parameter_order"});
  return described;
}

const ObjectType& workload_document() {
  return described_workload().type();
}

std::string format_workload(const Workload& workload) {
  return described_workload().text_of(workload);
}

}  // namespace ddpsim
