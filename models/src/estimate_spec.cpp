#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/models/estimate.hpp"
#include "ddpsim/models/model_config.hpp"

namespace ddpsim {
namespace {

/// Far above any batch that fits on a GPU, and far below an overflow.
constexpr std::int64_t kMostSamples = 1'000'000;

constexpr std::string_view kAttention = "attn=";
constexpr std::string_view kCheckpointing = "ckpt=";
constexpr std::string_view kFrozen = "frozen=";
constexpr std::string_view kChannelsLast = "channels_last";
constexpr std::string_view kSynchronized = "sync";
constexpr std::string_view kFusedOptimizer = "fused";

[[noreturn]] void refuse(std::string_view spec, std::string message, Hint hint = {}) {
  throw InputError({.file = in_quotes(spec),
                    .where = "",
                    .message = std::move(message),
                    .hint = std::move(hint)});
}

std::int64_t count_after(std::string_view spec, std::string_view part, const char* what,
                         std::int64_t most) {
  const std::string_view digits = part.substr(1);
  std::string_view rest = digits;
  const auto value = take_number<std::int64_t>(rest);
  const bool whole = rest.empty() && !digits.empty();
  if (!whole || (value && *value < 1) || digits.front() == '-')
    refuse(spec, fmt::format("{} is not a {}", in_quotes(part), what),
           fmt::format("Expected a whole number from 1, such as {}32", part.front()));
  if (!value || *value > most)
    refuse(spec, fmt::format("{} is beyond the largest {}, {}", in_quotes(part), what, most));
  return *value;
}

AttentionKernel kernel_after(std::string_view spec, std::string_view part) {
  const std::string_view word = part.substr(kAttention.size());
  for (const AttentionKernel kernel : {AttentionKernel::eager, AttentionKernel::sdpa})
    if (word == name_of(kernel)) return kernel;
  refuse(spec, fmt::format("{} is neither attn=eager nor attn=sdpa", in_quotes(part)));
}

Checkpointing checkpointing_after(std::string_view spec, std::string_view part) {
  const auto checkpointing = checkpointing_from_name(part.substr(kCheckpointing.size()));
  if (!checkpointing)
    refuse(spec, fmt::format("{} is not understood", in_quotes(part)),
           "Write ckpt=none, ckpt=full, ckpt=selective, or how many blocks: ckpt=12");
  return *checkpointing;
}

std::vector<std::string> patterns_after(std::string_view spec, std::string_view part) {
  std::vector<std::string> patterns;
  const std::string_view list = part.substr(kFrozen.size());
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find('+', begin), list.size());
    if (end == begin)
      refuse(spec, fmt::format("{} names nothing to freeze", in_quotes(part)),
             "Write modules or parameters, separated by '+': "
             "frozen=transformer.wte+transformer.h.*");
    patterns.emplace_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return patterns;
}

/// Requires that a sequence is longer than the tokens of its image.
void require_place_for_image(std::string_view text, std::int64_t tokens,
                             const ModelDescription& description) {
  if (tokens > description.image_tokens) return;
  refuse(text,
         fmt::format("a sequence of {} tokens is too short for its image, which is {} tokens",
                     tokens, description.image_tokens),
         fmt::format("Write s{} or more", description.image_tokens + 1));
}

/// The text up to the next colon. `rest` becomes the text after it.
std::string_view take_part(std::string_view& rest) {
  const std::size_t colon = rest.find(':');
  const std::string_view part = rest.substr(0, colon);
  rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
  return part;
}

/// The model in front of the '@': of the catalogue, a config.json, or dimensions.
ModelDescription describe_named(std::string_view text, const std::string& model) {
  std::optional<ModelDescription> described = describe_model(model);
  if (!described) described = model_of_dimensions(model, text);
  if (!described)
    refuse(text, fmt::format("there is no model {}", in_quotes(model)), models_instead_of(model));
  return std::move(*described);
}

/// Reads the options after the GPU.
class OptionParts {
 public:
  OptionParts(std::string_view text, EstimateSpec& spec) : text_(text), spec_(spec) {}

  void take(std::string_view part) {
    if (const auto precision = precision_from_name(part)) {
      require_first(part, has_precision_);
      spec_.precision = *precision;
      has_precision_ = true;
    } else if (const auto optimizer = optimizer_from_word(part)) {
      require_first(part, spec_.optimizer.has_value());
      spec_.optimizer = optimizer;
    } else if (part == kFusedOptimizer) {
      require_first(part, spec_.fused_optimizer);
      spec_.fused_optimizer = true;
    } else if (part.size() > 1 && part.front() == 'b') {
      require_first(part, spec_.batch.has_value());
      spec_.batch = count_after(text_, part, "batch size", kMostSamples);
    } else if (part == kChannelsLast) {
      require_first(part, spec_.channels_last);
      require_untraced(part, "its memory format");
      require_images(part);
      spec_.channels_last = true;
    } else if (part == kSynchronized) {
      require_first(part, spec_.synchronized);
      spec_.synchronized = true;
    } else if (part.size() > 1 && part.front() == 's') {
      require_first(part, spec_.tokens.has_value());
      require_untraced(part, "the length of its sequences");
      require_sequences(part, "sequence length");
      spec_.tokens = count_after(text_, part, "sequence length", spec_.description.most_tokens);
      require_place_for_image(text_, *spec_.tokens, spec_.description);
    } else if (part.starts_with(kAttention)) {
      require_first(part, spec_.attention.has_value());
      require_untraced(part, "its attention");
      if (std::ranges::none_of(built().layers, [](const Layer& l) { return l.fused.has_value(); }))
        lacks(part, "attention to choose");
      spec_.attention = kernel_after(text_, part);
    } else if (part.starts_with(kCheckpointing)) {
      require_first(part, has_checkpointing_);
      if (!spec_.description.traced && built().blocks.empty()) lacks(part, "blocks to checkpoint");
      spec_.checkpointing = checkpointing_after(text_, part);
      has_checkpointing_ = true;
    } else if (part.starts_with(kFrozen)) {
      require_first(part, !spec_.frozen.empty());
      spec_.frozen = patterns_after(text_, part);
    } else {
      refuse(
          text_, fmt::format("{} is not understood", in_quotes(part)),
          "After the GPU come bBATCH, sSEQ, one of fp32, tf32, amp, bf16, bf16-true, attn=eager or "
          "attn=sdpa, ckpt=none, full or selective, and frozen=MODULES. Further words are sgd, "
          "momentum, adam, adamw, fused, channels_last, sync: bert-large@A100:b8:s512:amp");
    }
  }

 private:
  /// A trace holds for the inputs and the attention that it was made with.
  void require_untraced(std::string_view part, std::string_view what) const {
    if (spec_.description.traced)
      refuse(text_, fmt::format("{} is a trace, which fixes {}", spec_.model, what),
             fmt::format("Trace the module again with ddpsim.estimate, and leave out {}",
                         in_quotes(part)));
  }
  void require_first(std::string_view part, bool given) const {
    if (given) refuse(text_, fmt::format("{} says again what stands before it", in_quotes(part)));
  }
  [[noreturn]] void lacks(std::string_view part, std::string_view lacking) const {
    refuse(text_, fmt::format("{} has no {}", spec_.model, lacking),
           "Leave out " + std::string(in_quotes(part)));
  }
  void require_sequences(std::string_view part, std::string_view lacking) const {
    if (spec_.description.sample == SampleKind::image) lacks(part, lacking);
  }

  /// The model with fused attention, where it has a choice.
  Model built() const {
    return build_model(spec_.description, std::nullopt, AttentionKernel::sdpa);
  }
  void require_images(std::string_view part) const {
    if (spec_.description.sample != SampleKind::image) lacks(part, "images to lay out");
  }

  std::string_view text_;
  EstimateSpec& spec_;
  bool has_precision_ = false;
  bool has_checkpointing_ = false;
};

}  // namespace

Checkpointing usual_checkpointing(const ModelDescription& description) {
  if (!description.checkpointed) return {};
  return {.policy = Checkpointing::Policy::full};
}

std::string_view model_part(std::string_view text) {
  return text.substr(0, text.rfind('@'));
}

EstimateSpec parse_estimate_spec(std::string_view text, std::optional<ModelDescription> described) {
  const std::size_t at = text.rfind('@');
  if (at == std::string_view::npos)
    refuse(text, "is not an estimate", "Write MODEL@GPU, such as resnet50@V100:b32");
  EstimateSpec spec;
  spec.model = text.substr(0, at);
  spec.description = described ? std::move(*described) : describe_named(text, spec.model);
  std::string_view rest = text.substr(at + 1);
  spec.gpu = take_part(rest);
  if (spec.gpu.empty()) refuse(text, "names no GPU", "Write " + spec.model + "@V100");
  spec.checkpointing = usual_checkpointing(spec.description);
  OptionParts options(text, spec);
  while (!rest.empty()) options.take(take_part(rest));
  if (text.back() == ':') refuse(text, "ends in a colon", "Leave it out, or say what follows");
  return spec;
}

}  // namespace ddpsim
