#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "ddpsim/models/model_config.hpp"
#include "model_dimensions.hpp"
#include "model_shape.hpp"

namespace ddpsim {
namespace {

constexpr std::string_view kFamily = "llama";
constexpr const char* kExample = "llama:layers=32,hidden=4096,heads=32,kv_heads=8";

[[noreturn]] void refuse_dimensions(std::string_view complete, std::string message,
                                    Hint hint = {}) {
  throw InputError({.file = in_quotes(complete),
                    .where = "",
                    .message = std::move(message),
                    .hint = std::move(hint)});
}

/// Reads "key=value,key=value". Each key occurs once and must be known.
class Dimensions {
 public:
  Dimensions(std::string_view text, std::string_view complete) : complete_(complete) {
    const std::vector<std::string> known = {"layers", "hidden", "heads", "kv_heads",
                                            "ffn",    "vocab",  "tied"};
    while (true) {
      const std::size_t comma = text.find(',');
      const std::string_view word = text.substr(0, comma);
      const std::size_t equals = word.find('=');
      if (equals == std::string_view::npos)
        refuse_dimensions(complete, fmt::format("{} is no dimension", in_quotes(word)),
                          fmt::format("Write them as in {}", kExample));
      const std::string key(word.substr(0, equals));
      if (std::ranges::find(known, key) == known.end())
        refuse_dimensions(complete,
                          fmt::format("a {} model has no dimension {}", kFamily, in_quotes(key)),
                          did_you_mean_or_known(key, known));
      if (find(key)) refuse_dimensions(complete, fmt::format("{} is given twice", key));
      values_.emplace_back(key, word.substr(equals + 1));
      if (comma == std::string_view::npos) return;
      text = text.substr(comma + 1);
    }
  }

  std::optional<std::int64_t> number(std::string_view key, std::int64_t most) const {
    const std::optional<std::string_view> text = find(key);
    if (!text) return std::nullopt;
    const auto value = parse_number<std::int64_t>(*text);
    if (!value || *value < 1 || *value > most)
      refuse_dimensions(complete_, fmt::format("{}={} is not a whole number from 1 to {}", key,
                                               in_quotes(*text), most));
    return value;
  }
  std::int64_t required(std::string_view key, std::int64_t most) const {
    const std::optional<std::int64_t> value = number(key, most);
    if (!value)
      refuse_dimensions(complete_, fmt::format("{} is missing", key),
                        fmt::format("As in {}", kExample));
    return *value;
  }
  std::optional<bool> flag(std::string_view key) const {
    const std::optional<std::string_view> text = find(key);
    if (!text) return std::nullopt;
    if (*text == "true" || *text == "false") return *text == "true";
    refuse_dimensions(complete_,
                      fmt::format("{}={} is neither true nor false", key, in_quotes(*text)));
  }

 private:
  std::optional<std::string_view> find(std::string_view key) const {
    const auto found =
        std::ranges::find(values_, key, &std::pair<std::string, std::string_view>::first);
    if (found == values_.end()) return std::nullopt;
    return found->second;
  }

  std::string_view complete_;
  std::vector<std::pair<std::string, std::string_view>> values_;
};

}  // namespace

std::optional<ModelDescription> model_of_dimensions(std::string_view text,
                                                    std::string_view complete) {
  const std::size_t colon = text.find(':');
  if (text.substr(0, colon) != kFamily) return std::nullopt;
  if (colon == std::string_view::npos)
    refuse_dimensions(complete, "the size of the llama is missing",
                      fmt::format("Give its dimensions, as in {}", kExample));
  const Dimensions given(text.substr(colon + 1), complete);
  std::vector<std::string> assumed;
  const auto otherwise = [&](std::string_view key, std::optional<std::int64_t> value,
                             std::int64_t usual) {
    if (!value) assumed.push_back(fmt::format("{}={}", key, usual));
    return value.value_or(usual);
  };
  constexpr std::int64_t kHead = 128;
  LlamaShape shape;
  const auto heads = given.number("heads", kMostHeads);
  const auto key_heads = given.number("kv_heads", kMostHeads);
  const auto feed_forward = given.number("ffn", kMostFeedForward);
  const auto vocabulary = given.number("vocab", kMostEmbeddings);
  const auto tied = given.flag("tied");
  shape.layers = given.required("layers", kMostLayers);
  shape.hidden = given.required("hidden", kMostFeatures);
  if (!heads && shape.hidden % kHead != 0)
    refuse_dimensions(
        complete,
        fmt::format("hidden={} is not a multiple of {}, a head's usual width", shape.hidden, kHead),
        "Say how many heads: heads=N");
  shape.heads = otherwise("heads", heads, shape.hidden / kHead);
  if (shape.hidden % shape.heads != 0)
    refuse_dimensions(complete, fmt::format("hidden={} is not a multiple of heads={}", shape.hidden,
                                            shape.heads));
  shape.head_features = shape.hidden / shape.heads;
  shape.key_heads = otherwise("kv_heads", key_heads, shape.heads);
  if (shape.heads % shape.key_heads != 0)
    refuse_dimensions(complete, fmt::format("heads={} is not a multiple of kv_heads={}",
                                            shape.heads, shape.key_heads));
  shape.feed_forward = otherwise("ffn", feed_forward, llama_feed_forward(shape.hidden));
  shape.vocabulary = otherwise("vocab", vocabulary, 32000);
  if (!tied) assumed.emplace_back("tied=false");
  shape.tied = tied.value_or(false);
  ModelDescription description =
      described(std::string(text), shape, {.batch = 1, .size = 2048, .most_tokens = kMostTokens},
                AttentionKernel::sdpa);
  description.source = "dimensions as given";
  description.assumed = std::move(assumed);
  return description;
}

}  // namespace ddpsim
