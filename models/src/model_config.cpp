#include "ddpsim/models/model_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "config_fields.hpp"
#include "ddpsim/formats/quote.hpp"

namespace ddpsim {
namespace {

std::vector<ConfigFamily> all_families() {
  std::vector<ConfigFamily> families;
  for (const auto& some : {decoder_families(), older_decoder_families(), encoder_families(),
                           newer_encoder_families(), encoder_decoder_families(), vision_families(),
                           speech_families(), text_image_families(), vision_language_families()})
    families.insert(families.end(), some.begin(), some.end());
  return families;
}

/// What to do about an unknown type. A similar name is another model, not a typing error: "mixtral"
/// is not "mistral". `text` is the result of how_to_train_text.
std::string what_to_do(std::string_view type, const std::string& text) {
  const std::vector<std::string> known = config_model_types();
  for (const std::string& one : known) {
    std::string as_typed(type);
    std::replace(as_typed.begin(), as_typed.end(), '-', '_');
    std::string spelt = one;
    std::replace(spelt.begin(), spelt.end(), '-', '_');
    const auto same = [](char a, char b) { return std::tolower(a) == std::tolower(b); };
    if (std::ranges::equal(as_typed, spelt, same)) return fmt::format("Write {}", in_quotes(one));
  }
  return fmt::format("Record the job instead{}. Known types: {}", text, fmt::join(known, ", "));
}

/// Refuses other files that are often named config.json.
void refuse_other_files(const Object& root) {
  const auto refuse = [&](std::string_view key, std::string message, Hint hint) {
    if (const auto found = root.optional(key)) found->fail(std::move(message), std::move(hint));
  };
  if (root.has("model_type")) return;
  refuse("peft_type",
         "this is the config of an adapter (PEFT), which trains next to a frozen model",
         "Record the job; the config.json of the base model would train all of its parameters");
  refuse("_class_name",
         "this is the config of a model of diffusers (_class_name), which is not supported",
         "Record the job instead");
  refuse("tokenizer_class", "this is the config of a tokenizer: it has no model_type",
         "Give the config.json in the same folder");
}

struct Part {
  ConfigFamily family;
  Object object;
  /// Only the text part of a model that also reads images or sound.
  bool alone = false;
};

/// The text part of a model that also reads images or sound.
std::optional<Part> text_part(const Object& root) {
  const std::vector<ConfigFamily> families = decoder_families();
  const auto text = root.optional("text_config");
  if (!text || !text->is_object()) return std::nullopt;
  const Object object = text->free_object();
  const auto type = object.optional("model_type");
  if (!type || !type->is_string()) return std::nullopt;
  const auto family = std::ranges::find(families, type->string(), &ConfigFamily::model_type);
  if (family == families.end()) return std::nullopt;
  return Part{*family, object, true};
}

std::string text_class(const Part& text) {
  return fmt::format("{}ForCausalLM", text.family.classes);
}

/// Whether `architectures` names the class of the text part. Then transformers builds only
/// text_config.
bool is_text_alone(const Object& root, const Part& text) {
  const auto names = root.optional("architectures");
  if (!names || !names->is_array() || names->array().size() != 1) return false;
  const Cursor name = names->array().front();
  return name.is_string() && name.string() == text_class(text);
}

/// Hint how to train only the text. Without the parts for images or sound, the model would have
/// fewer parameters, so the user must ask for it.
std::string how_to_train_text(const std::optional<Part>& text) {
  if (!text) return "";
  return fmt::format(
      ". If you train only its text model, write that class: \"architectures\": [\"{}\"]",
      text_class(*text));
}

/// The part of `root` that is built: the whole model, or only its text.
Part part_to_build(const Object& root) {
  const std::vector<ConfigFamily> families = all_families();
  const Cursor type = root.required("model_type");
  const auto family = std::ranges::find(families, type.string(), &ConfigFamily::model_type);
  const auto text = text_part(root);
  if (text && is_text_alone(root, *text)) return *text;
  if (family == families.end())
    type.fail(fmt::format("the model type {} is unknown", in_quotes(type.string())),
              what_to_do(type.string(), how_to_train_text(text)));
  return {*family, root, false};
}

}  // namespace

std::vector<std::string> config_model_types() {
  std::vector<std::string> types;
  for (const ConfigFamily& family : all_families()) types.emplace_back(family.model_type);
  return types;
}

ModelDescription model_of_config(std::string_view content, const std::string& file,
                                 ConfigOrigin origin) {
  const Document document = Document::parse(content, file);
  const Object root = document.root().free_object();
  refuse_other_files(root);
  const auto [family, object, alone] = part_to_build(root);
  Config config(object, family.classes);
  config.know(family.aliases);
  if (origin == ConfigOrigin::catalogue) config.leaves_out_defaults();
  if (alone) {
    config.becomes_part();
    config.note(
        fmt::format("{}ForCausalLM is built of text_config: what reads images or sound is "
                    "left out",
                    family.classes));
  }
  config.require_flag("add_cross_attention", false,
                      "attention to another model's output is not supported");
  const DescribedModel read = family.read(config);
  ModelDescription description;
  description.name = file;
  description.sample = read.most_tokens > 0 ? SampleKind::sequence : SampleKind::image;
  description.usual_size = read.usual_size;
  description.usual_batch = 1;
  description.most_tokens = read.most_tokens;
  description.image_tokens = read.image_tokens;
  description.attention = read.attention;
  description.build = [file, build = read.build](std::int64_t size, AttentionKernel kernel) {
    return build(file, size, kernel);
  };
  description.source =
      fmt::format("config.json of model_type {}, as transformers 5 builds it", family.model_type);
  description.ignored = config.ignored();
  description.assumed = config.take_assumed();
  description.config_file = origin == ConfigOrigin::file;
  description.notes = config.take_notes();
  return description;
}

}  // namespace ddpsim
