#include "ddpsim/models/model_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "config_fields.hpp"
#include "ddpsim/formats/quote.hpp"

namespace ddpsim {
namespace {

std::vector<ConfigFamily> all_families() {
  std::vector<ConfigFamily> families;
  for (const auto& some : {decoder_families(), older_decoder_families(), encoder_families(),
                           encoder_decoder_families(), vision_families(), speech_families()})
    families.insert(families.end(), some.begin(), some.end());
  return families;
}

/// A type of this name is another model, not a slip of the finger: "mixtral" is no "mistral".
std::string what_to_do(std::string_view type) {
  const std::vector<std::string> known = config_model_types();
  std::string hint =
      fmt::format("Known: {}. For another type record the job", fmt::join(known, ", "));
  for (const std::string& one : known) {
    std::string as_typed(type);
    std::replace(as_typed.begin(), as_typed.end(), '-', '_');
    std::string spelt = one;
    std::replace(spelt.begin(), spelt.end(), '-', '_');
    const auto same = [](char a, char b) { return std::tolower(a) == std::tolower(b); };
    if (std::ranges::equal(as_typed, spelt, same)) return fmt::format("Write {}", in_quotes(one));
  }
  return hint;
}

/// Files of a like name that describe no model.
void refuse_other_files(const Object& root) {
  const auto refuse = [&](std::string_view key, std::string message, std::string hint) {
    if (const auto found = root.optional(key)) found->fail(std::move(message), std::move(hint));
  };
  if (root.has("model_type")) return;
  refuse("peft_type", "this is the config of an adapter (PEFT), which trains beside a frozen model",
         "Give the config.json of its base model, with frozen= for what does not train; or record "
         "the job");
  refuse("_class_name",
         "this is the config of a model of diffusers (_class_name), which is not built here",
         "Record the job instead");
  refuse("tokenizer_class", "this is the config of a tokenizer: it has no model_type",
         "Give the config.json beside it");
}

/// The model of text inside of one that also takes images or sound.
Object text_part(const Object& root, std::vector<std::string>& notes) {
  const auto text = root.optional("text_config");
  if (!text || !text->is_object() || !text->free_object().optional("model_type")) return root;
  notes.push_back(
      "text_config alone: the parts that read images and sound are left out, with their "
      "parameters");
  return text->free_object();
}

}  // namespace

std::vector<std::string> config_model_types() {
  std::vector<std::string> types;
  for (const ConfigFamily& family : all_families()) types.emplace_back(family.model_type);
  return types;
}

ModelDescription model_of_config(std::string_view content, const std::string& file) {
  const Document document = Document::parse(content, file);
  const Object whole = document.root().free_object();
  refuse_other_files(whole);
  const std::vector<ConfigFamily> families = all_families();
  const auto family_of = [&](const Object& object) {
    return std::ranges::find(families, object.required("model_type").string(),
                             &ConfigFamily::model_type);
  };
  std::vector<std::string> notes;
  auto family = family_of(whole);
  Object root = whole;
  if (family == families.end()) {
    root = text_part(whole, notes);
    family = family_of(root);
  }
  const Cursor type = root.required("model_type");
  if (family == families.end())
    type.fail(fmt::format("no model of type {} is known here", in_quotes(type.string())),
              what_to_do(type.string()));
  Config config(root, family->classes);
  if (!notes.empty()) config.lies_in(whole);
  config.require_flag("add_cross_attention", false,
                      "attention to another model's output is not built here");
  const Described read = family->read(config);
  ModelDescription description;
  description.name = file;
  description.sample = read.most_tokens > 0 ? SampleKind::sequence : SampleKind::image;
  description.usual_size = read.usual_size;
  description.usual_batch = 1;
  description.most_tokens = read.most_tokens;
  description.attention = read.attention;
  description.build = [file, build = read.build](std::int64_t size, AttentionKernel kernel) {
    return build(file, size, kernel);
  };
  description.source =
      fmt::format("config.json of model_type {}, as transformers 5 builds it", family->model_type);
  description.ignored = config.ignored();
  description.assumed = config.take_assumed();
  description.notes = std::move(notes);
  for (std::string& note : config.take_notes()) description.notes.push_back(std::move(note));
  return description;
}

}  // namespace ddpsim
