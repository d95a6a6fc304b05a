#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "ddpsim/models/estimate.hpp"
#include "ddpsim/models/model_config.hpp"

namespace ddpsim {
namespace {

/// Far above any batch that fits a GPU, far below what would overflow.
constexpr std::int64_t kMostSamples = 1'000'000;

constexpr std::string_view kAttention = "attn=";
constexpr std::string_view kCheckpointing = "ckpt=";
constexpr std::string_view kFrozen = "frozen=";

[[noreturn]] void refuse(std::string_view spec, std::string message, std::string hint = "") {
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
             "Write modules or parameters, more of them behind a '+': "
             "frozen=transformer.wte+transformer.h.*");
    patterns.emplace_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return patterns;
}

/// The tokens of its image are part of a sequence.
void require_place_for_image(std::string_view text, std::int64_t tokens,
                             const ModelDescription& description) {
  if (tokens > description.image_tokens) return;
  refuse(text,
         fmt::format("a sequence of {} tokens has no place for its image, which is {} tokens",
                     tokens, description.image_tokens),
         fmt::format("Write s{} or more", description.image_tokens + 1));
}

}  // namespace

std::string_view model_part(std::string_view text) {
  return text.substr(0, text.rfind('@'));
}

EstimateSpec parse_estimate_spec(std::string_view text, std::optional<ModelDescription> described) {
  const std::size_t at = text.rfind('@');
  if (at == std::string_view::npos)
    refuse(text, "is no estimate", "Write MODEL@GPU, such as resnet50@V100:b32");
  EstimateSpec spec;
  spec.model = text.substr(0, at);
  if (!described) described = describe_model(spec.model);
  if (!described) described = model_of_dimensions(spec.model, text);
  if (!described)
    refuse(text, fmt::format("there is no model {}", in_quotes(spec.model)),
           did_you_mean_or_known(spec.model, model_names()));
  spec.description = std::move(*described);
  std::string_view rest = text.substr(at + 1);
  const auto next_part = [&] {
    const std::size_t colon = rest.find(':');
    const std::string_view part = rest.substr(0, colon);
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
    return part;
  };
  const bool ends_in_colon = text.back() == ':';
  spec.gpu = next_part();
  if (spec.gpu.empty()) refuse(text, "names no GPU", "Write " + spec.model + "@V100");
  bool has_precision = false;
  bool has_checkpointing = false;
  while (!rest.empty()) {
    const std::string_view part = next_part();
    const auto once = [&](bool given) {
      if (given) refuse(text, fmt::format("{} says again what stands before it", in_quotes(part)));
    };
    if (const auto precision = precision_from_name(part)) {
      once(has_precision);
      spec.precision = *precision;
      has_precision = true;
    } else if (part.size() > 1 && part.front() == 'b') {
      once(spec.batch.has_value());
      spec.batch = count_after(text, part, "batch size", kMostSamples);
    } else if (part.size() > 1 && part.front() == 's') {
      once(spec.tokens.has_value());
      if (spec.description.sample == SampleKind::image)
        refuse(text, fmt::format("{} takes images: it has no sequence length", spec.model),
               "Leave out " + std::string(in_quotes(part)));
      spec.tokens = count_after(text, part, "sequence length", spec.description.most_tokens);
      require_place_for_image(text, *spec.tokens, spec.description);
    } else if (part.starts_with(kAttention)) {
      once(spec.attention.has_value());
      if (spec.description.sample == SampleKind::image)
        refuse(text, fmt::format("{} takes images: it has no attention", spec.model),
               "Leave out " + std::string(in_quotes(part)));
      spec.attention = kernel_after(text, part);
    } else if (part.starts_with(kCheckpointing)) {
      once(has_checkpointing);
      if (spec.description.sample == SampleKind::image)
        refuse(text, fmt::format("{} takes images: it has no blocks to checkpoint", spec.model),
               "Leave out " + std::string(in_quotes(part)));
      spec.checkpointing = checkpointing_after(text, part);
      has_checkpointing = true;
    } else if (part.starts_with(kFrozen)) {
      once(!spec.frozen.empty());
      spec.frozen = patterns_after(text, part);
    } else {
      refuse(
          text, fmt::format("{} is not understood", in_quotes(part)),
          "After the GPU come bBATCH, sSEQ, one of fp32, tf32, amp, bf16, bf16-true, attn=eager or "
          "attn=sdpa, ckpt=none, full or selective, and frozen=MODULES: "
          "bert-large@A100:b8:s512:amp");
    }
  }
  if (ends_in_colon) refuse(text, "ends in a colon", "Leave it out, or say what follows");
  return spec;
}

}  // namespace ddpsim
