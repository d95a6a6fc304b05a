#include "config_fields.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "ddpsim/formats/quote.hpp"

namespace ddpsim {
namespace {

/// Fields about files, tokens, text generation and training. No module of any class reads them.
/// Readers ask for tie_word_embeddings where the output layer may be tied.
constexpr std::array<std::string_view, 65> kBookkeeping = {"_name_or_path",
                                                           "transformers_version",
                                                           "torch_dtype",
                                                           "dtype",
                                                           "use_cache",
                                                           "auto_map",
                                                           "task_specific_params",
                                                           "finetuning_task",
                                                           "tokenizer_class",
                                                           "prefix",
                                                           "id2label",
                                                           "label2id",
                                                           "num_labels",
                                                           "problem_type",
                                                           "return_dict",
                                                           "return_dict_in_generate",
                                                           "model_max_length",
                                                           "gradient_checkpointing",
                                                           "unsloth_version",
                                                           "unsloth_fixed",
                                                           "use_bfloat16",
                                                           "torchscript",
                                                           "max_length",
                                                           "min_length",
                                                           "num_beams",
                                                           "num_beam_groups",
                                                           "do_sample",
                                                           "early_stopping",
                                                           "length_penalty",
                                                           "no_repeat_ngram_size",
                                                           "temperature",
                                                           "top_k",
                                                           "top_p",
                                                           "typical_p",
                                                           "repetition_penalty",
                                                           "diversity_penalty",
                                                           "bad_words_ids",
                                                           "num_return_sequences",
                                                           "chunk_size_feed_forward",
                                                           "is_encoder_decoder",
                                                           "output_scores",
                                                           "output_attentions",
                                                           "output_hidden_states",
                                                           "output_past",
                                                           "remove_invalid_values",
                                                           "model_type",
                                                           "architectures",
                                                           "begin_suppress_tokens",
                                                           "suppress_tokens",
                                                           "generation_config",
                                                           "attn_implementation",
                                                           "_attn_implementation",
                                                           "exponential_decay_length_penalty",
                                                           "encoder_no_repeat_ngram_size",
                                                           "cross_attention_hidden_size",
                                                           "tf_legacy_loss",
                                                           "language",
                                                           "directionality",
                                                           "is_decoder",
                                                           "tie_word_embeddings",
                                                           "sep_token_id",
                                                           "vocab_file",
                                                           "pad_to_multiple_of",
                                                           "_experts_implementation",
                                                           "gradient_checkpointing_kwargs"};

/// Parts that occur only in the names of such fields.
bool is_bookkeeping(std::string_view key) {
  for (const std::string_view end :
       {"_token_id", "_token_ids", "_token_index", "_eps", "_epsilon", "_token"})
    if (key.ends_with(end)) return true;
  for (const std::string_view begin : {"initializer_", "forced_", "init_", "summary_"})
    if (key.starts_with(begin)) return true;
  return std::ranges::find(kBookkeeping, key) != kBookkeeping.end();
}

/// Words that occur in the names of dimensions.
constexpr std::array<std::string_view, 38> kDimensionWords = {
    "layers",  "layer",  "heads",    "head",    "hidden",     "size",      "sizes",  "dim",
    "dims",    "rank",   "experts",  "expert",  "vocab",      "channels",  "bias",   "kernel",
    "embed",   "inner",  "ffn",      "width",   "depth",      "depths",    "groups", "buckets",
    "modules", "blocks", "mlp",      "adapter", "embeddings", "embedding", "norm",   "positions",
    "pooler",  "proj",   "register", "conv",    "stride",     "prune"};

/// Whether a field has the name of a dimension and a value.
bool could_change_parameters(std::string_view key, const Cursor& value) {
  bool named = key.starts_with("num_") || key.starts_with("n_");
  for (std::size_t begin = 0; begin <= key.size() && !named;) {
    const std::size_t end = std::min(key.find('_', begin), key.size());
    named =
        std::ranges::find(kDimensionWords, key.substr(begin, end - begin)) != kDimensionWords.end();
    begin = end + 1;
  }
  if (!named || value.is_string()) return false;
  if (value.is_object()) return !value.free_object().items().empty();
  if (value.is_array()) return !value.array().empty();
  if (value.is_number()) return value.number(-1e300, 1e300) != 0;
  return value.boolean();
}

/// Whether the field is a share, a rate or a factor, which functions read but modules do not.
bool only_scales(std::string_view key) {
  for (const std::string_view part :
       {"dropout", "drop", "eps", "rate", "act", "activation", "coef", "prob", "theta", "scaling",
        "scale", "multiplier", "softcapping", "noise", "window"})
    for (std::size_t at = key.find(part); at != std::string_view::npos;
         at = key.find(part, at + 1)) {
      const bool begins = at == 0 || key[at - 1] == '_';
      const bool ends = at + part.size() == key.size() || key[at + part.size()] == '_';
      if (begins && ends) return true;
    }
  return key.ends_with("pdrop") || key.ends_with("layerdrop");
}

/// Remark on a field that changes no parameter but matters to DDP, if it has a value.
std::optional<std::string> what_to_know(std::string_view key, const Cursor& value) {
  if (key == "quantization_config")
    return "quantization_config is not read: parameters are counted as if none were quantized";
  if (!key.ends_with("layerdrop") || !value.is_number()) return std::nullopt;
  const double share = value.number(0, 1);
  if (share == 0) return std::nullopt;
  return fmt::format(
      "{} {:g} is not simulated: a layer that is skipped gets no gradient, so training needs "
      "find_unused_parameters=True",
      key, share);
}

/// Compares numbers and lists of numbers.
bool same_value(const Cursor& a, const Cursor& b) {
  const auto number = [](const Cursor& one) { return one.number(-1e300, 1e300); };
  if (a.is_number() && b.is_number()) return number(a) == number(b);
  return a.is_array() && b.is_array() && std::ranges::equal(a.array(), b.array(), same_value);
}

}  // namespace

std::int64_t Config::number(std::string_view key, std::int64_t usual, std::int64_t most) {
  if (const auto value = optional_number(key, most)) return *value;
  refuse_null(key, fmt::to_string(usual));
  assume(key, fmt::to_string(usual));
  return usual;
}

std::int64_t Config::count(std::string_view key, std::int64_t usual, std::int64_t most) {
  if (const auto cursor = optional(key)) return cursor->integer(0, most);
  refuse_null(key, fmt::to_string(usual));
  assume(key, fmt::to_string(usual));
  return usual;
}

std::optional<std::int64_t> Config::optional_number(std::string_view key, std::int64_t most) {
  const auto cursor = optional(key);
  if (!cursor) return std::nullopt;
  return cursor->integer(1, most);
}

bool Config::flag(std::string_view key, bool usual) {
  if (const auto cursor = optional(key)) return cursor->boolean();
  refuse_null(key, usual ? "true" : "false");
  assume(key, usual ? "true" : "false");
  return usual;
}

bool Config::flag_or_null(std::string_view key, bool usual) {
  return !says_null(key) && flag(key, usual);
}

double Config::share(std::string_view key, double usual) {
  if (const auto cursor = optional(key)) return cursor->number(0, 1);
  refuse_null(key, fmt::format("{:g}", usual));
  assume(key, fmt::format("{:g}", usual));
  return usual;
}

std::optional<std::string> Config::word(std::string_view key) {
  const auto cursor = optional(key);
  if (!cursor) return std::nullopt;
  return cursor->string();
}

std::string Config::word(std::string_view key, std::string_view usual) {
  if (const auto value = word(key)) return *value;
  refuse_null(key, usual);
  assume(key, usual);
  return std::string(usual);
}

std::optional<std::vector<std::int64_t>> Config::numbers(std::string_view key, std::int64_t most) {
  const auto cursor = optional(key);
  if (!cursor) return std::nullopt;
  std::vector<std::int64_t> values;
  for (const Cursor& one : cursor->array()) values.push_back(one.integer(0, most));
  return values;
}

std::optional<std::vector<std::string>> Config::words(std::string_view key) {
  const auto cursor = optional(key);
  if (!cursor) return std::nullopt;
  std::vector<std::string> values;
  for (const Cursor& one : cursor->array()) values.push_back(one.string());
  return values;
}

std::optional<std::vector<std::string>> Config::layer_types(std::int64_t layers) {
  auto types = words("layer_types");
  if (types && static_cast<std::int64_t>(types->size()) != layers)
    refuse("layer_types", fmt::format("layer_types names {} layers, and num_hidden_layers is {}",
                                      types->size(), layers));
  return types;
}

std::vector<std::string_view> Config::names(std::string_view key) const {
  std::vector<std::string_view> names = {key};
  for (const FieldAlias& one : aliases_)
    if (one.field == key) names.push_back(one.alias);
  return names;
}

/// If a file holds a field and its alias, classes read the alias. If the two differ, the file's
/// meaning is unclear.
std::optional<Cursor> Config::find(std::string_view key) const {
  std::optional<Cursor> found;
  for (const std::string_view name : names(key)) {
    const auto value = root_.optional(name);
    if (found && value && !same_value(*found, *value))
      value->fail(fmt::format("{} and {} name one field, and their values differ", name, key),
                  "Keep the one that is right");
    if (value) found = value;
  }
  return found;
}

std::optional<Cursor> Config::optional(std::string_view key) {
  for (const std::string_view name : names(key)) asked_.emplace(name);
  return find(key);
}

std::optional<Cursor> Config::null_of(std::string_view key) {
  if (optional(key)) return std::nullopt;
  const std::vector<std::string_view> known = names(key);
  for (const auto& [name, value] : root_.items())
    if (std::ranges::find(known, name) != known.end()) return value;
  return std::nullopt;
}

void Config::refuse_null(std::string_view key, std::string_view usual) {
  if (const auto null = null_of(key))
    null->fail("a value is expected, not null",
               fmt::format("Write it, or take the field out, which means {}", usual));
}

std::int64_t Config::rotated_features(std::int64_t head, std::string_view older_key, double usual) {
  double part = usual;
  const auto older = optional(older_key);
  if (const auto given = optional("rope_parameters");
      given && given->is_object() && given->free_object().has("partial_rotary_factor"))
    part = given->free_object().required("partial_rotary_factor").number(0, 1);
  else if (older)
    part = older->number(0, 1);
  else
    assume(older_key, fmt::format("{:g}", usual));
  return static_cast<std::int64_t>(static_cast<double>(head) * part);
}

void Config::assume(std::string_view key, std::string_view value) {
  if (!leaves_out_defaults_) assumed_.push_back(fmt::format("{}={}", key, value));
}

void Config::refuse(std::string_view key, std::string message, Hint hint) const {
  find(key).value_or(root_.cursor()).fail(std::move(message), std::move(hint));
}

void Config::require_multiple(std::string_view key, std::int64_t whole, std::string_view of,
                              std::int64_t parts) const {
  if (whole % parts != 0)
    refuse(key, fmt::format("{} {} is not a multiple of {} {}", key, whole, of, parts));
}

void Config::may_repeat(std::string_view key, std::int64_t built, std::string_view what) {
  const auto value = optional(key);
  if (value && value->number(-1e300, 1e300) != static_cast<double>(built))
    value->fail(
        fmt::format("{} is not read by its class, and differs from {}, {}", key, what, built),
        fmt::format("Take {} out if that is what you train; otherwise record the job", key));
}

void Config::require_flag(std::string_view key, bool value, std::string_view why) {
  refuse_null(key, value ? "true" : "false");
  const auto cursor = optional(key);
  if (cursor && cursor->boolean() != value)
    cursor->fail(std::string(why),
                 fmt::format("Record the job instead, or set {} to {}", key, value));
}

void Config::require_tied_words() {
  require_flag("tie_word_embeddings", true,
               "an output layer with a weight of its own is not supported for this type");
}

std::int64_t Config::labels(std::int64_t usual) {
  constexpr std::int64_t kMostLabels = 1'000'000;
  const auto number = optional_number("num_labels", kMostLabels);
  const auto names = optional("id2label");
  if (!names) {
    if (number) return *number;
    assume("num_labels", fmt::to_string(usual));
    return usual;
  }
  const auto named = static_cast<std::int64_t>(names->free_object().items().size());
  if (number && *number != named)
    refuse("num_labels",
           fmt::format("num_labels is {}, and id2label names {} classes", *number, named),
           "Keep one of them");
  if (named == 0) names->fail("id2label names no class", "Take it out, or name the classes");
  return named;
}

void Config::require_span_labels() {
  constexpr std::int64_t kEnds = 2;
  if (const std::int64_t named = labels(kEnds); named != kEnds)
    refuse(root_.optional("id2label") ? "id2label" : "num_labels",
           fmt::format("a model that finds where an answer begins and ends does not run with {} "
                       "classes",
                       named),
           "Give it 2, or take num_labels and id2label out");
}

std::string Config::architecture(std::string_view usual,
                                 std::initializer_list<std::string_view> known) {
  if (is_part_) return std::string(usual);
  const auto names = optional("architectures");
  if (!names || names->array().empty()) {
    assume("architectures", fmt::format("{}{}", classes_, usual));
    if (!leaves_out_defaults_)
      note(fmt::format("architectures is missing: {}{} is assumed", classes_, usual));
    return std::string(usual);
  }
  if (names->array().size() > 1)
    names->fail("architectures names several classes", "Keep the one that is trained");
  const Cursor first = names->array().front();
  const std::string name = first.string();
  // Models with code of their own used names such as MPTForCausalLM and LLaMAForCausalLM.
  const auto same = [](char a, char b) { return std::tolower(a) == std::tolower(b); };
  if (name.size() >= classes_.size() &&
      std::equal(classes_.begin(), classes_.end(), name.begin(), same)) {
    const std::string_view head = std::string_view(name).substr(classes_.size());
    if (std::ranges::find(known, head) != known.end()) return std::string(head);
  }
  std::vector<std::string> classes;
  for (const std::string_view head : known) classes.push_back(fmt::format("{}{}", classes_, head));
  first.fail(
      fmt::format("the class {} is unknown, so its head would be a guess", in_quotes(name)),
      fmt::format("Write the class whose parameters your model has, one of {}; or record the job",
                  fmt::join(classes, ", ")));
}

DecoderHead Config::decoder_head(std::string_view module) {
  const std::string name =
      architecture("ForCausalLM", {"ForCausalLM", "LMHeadModel", "ForSequenceClassification",
                                   "ForTokenClassification", "ForQuestionAnswering", "Model"});
  if (name == "ForCausalLM" || name == "LMHeadModel") return {};
  if (name == "Model") return {.kind = HeadKind::none};
  if (name == "ForQuestionAnswering") return {.kind = HeadKind::span};
  if (name == "ForSequenceClassification")
    return {.kind = HeadKind::sequence, .labels = labels(), .module = "score"};
  return {.kind = HeadKind::tokens, .labels = labels(), .module = std::string(module)};
}

std::vector<std::string> Config::ignored() {
  std::vector<std::string> names = ignored_;
  for (const auto& [key, value] : root_.items()) {
    if (asked_.contains(key) || is_bookkeeping(key) || value.is_null()) continue;
    if (!only_scales(key) && could_change_parameters(key, value))
      value.fail(fmt::format("{} may change the parameters, and its meaning is unknown", key),
                 "If your model's class ignores it, take it out; otherwise record the job");
    if (std::optional<std::string> text = what_to_know(key, value))
      note(std::move(*text));
    else
      names.push_back(key);
  }
  return names;
}

Config part_of(Config& whole, const char* key, std::string_view classes) {
  const auto part = whole.optional(key);
  if (!part)
    whole.refuse(key, fmt::format("{} is missing", key), "Give the config.json as it was saved");
  Config read(part->free_object(), classes);
  if (whole.defaults_left_out()) read.leaves_out_defaults();
  return read;
}

void finish_part(Config& whole, Config& part, const std::string& name) {
  for (const std::string& key : part.ignored()) whole.ignore(name + "." + key);
  for (std::string& text : part.take_assumed()) whole.assume_text(name + "." + text);
  for (std::string& text : part.take_notes()) whole.note(std::move(text));
}

}  // namespace ddpsim
