#include "step_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"

namespace ddpsim {
namespace {

using Of = StepTimeName::Of;

constexpr double kLargestNumber = 1e300;

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/// A name that only holds records and says nothing about them.
bool is_container(std::string_view name) {
  static constexpr std::array<std::string_view, 17> kContainers = {
      "results", "result",  "log_history", "history", "logs",        "log",
      "metrics", "entries", "records",     "summary", "stats",       "statistics",
      "data",    "perf",    "performance", "run",     "training_log"};
  return std::find(kContainers.begin(), kContainers.end(), in_small_letters(name)) !=
         kContainers.end();
}

bool counts_its_steps(const Object& object) {
  static constexpr std::array<std::string_view, 8> kCounters = {
      "step", "iter", "iteration", "global_step", "batch_idx", "batch", "it", "_step"};
  return std::any_of(kCounters.begin(), kCounters.end(),
                     [&](std::string_view key) { return object.has(key); });
}

std::string said_by(std::string_view key, const Cursor& value) {
  if (value.is_string()) return value.string();
  if (value.is_number()) {
    if (!key.starts_with("is") && !key.starts_with("in")) return "";
    const double number = value.number(-kLargestNumber, kLargestNumber);
    return number == 0 ? "0" : number == 1 ? "1" : "";
  }
  if (value.is_object() || value.is_array() || value.is_null()) return "";
  return value.boolean() ? "true" : "false";
}

RecordOf record_of_object(const Object& object) {
  for (const auto& [key, value] : object.items())
    if (const RecordOf of = record_of(key, said_by(key, value)); of != RecordOf::unknown) return of;
  return RecordOf::unknown;
}

/// The fields of an object that say which step its times belong to: the rank and the number of the
/// step. Also whether the object looks like a record of training steps.
ReadingRecord record_beside(const Object& object) {
  ReadingRecord record;
  bool trains = false;
  for (const auto& [key, value] : object.items()) {
    trains = trains || key == "lr" || key == "base_lr" || key == "iter" || key.starts_with("loss");
    if (!value.is_number()) continue;
    const double number = value.number(-kLargestNumber, kLargestNumber);
    if (is_rank_name(key) && number >= 0 && number < 1e6) record.rank = static_cast<int>(number);
    if (counts_steps_by_name(key) && record.step < 0) record.step = number;
  }
  record.bare = !trains && object.has("data_time");
  return record;
}

/// detectron2, mmcv and mmengine write "time" next to "data_time", both in seconds, with fields
/// that no other program has.
std::string convention_in(const Object& object) {
  if (!object.has("data_time")) return "";
  std::size_t signs = 0;
  for (const std::string_view key : {"eta_seconds", "memory", "max_mem", "lr", "base_lr", "mode"})
    signs += object.has(key) ? 1 : 0;
  return signs >= 2 ? "in seconds, as detectron2 and mmengine write it" : "";
}

class ObjectReader {
 public:
  ObjectReader(std::uint32_t line, DecimalMark& mark, StepReadings& found)
      : line_(line), mark_(mark), found_(found) {}

  void walk(const Object& object, const std::string& path, const std::string& judged) {
    if (const RecordOf of = record_of_object(object); of != RecordOf::unknown) {
      ++(of == RecordOf::evaluation ? found_.evaluations : found_.warm_ups);
      return;
    }
    found_.record = record_beside(object);
    const bool counts = counts_its_steps(object);
    const std::size_t before = found_.size();
    for (const auto& [key, value] : object.items()) {
      const std::string own = path.empty() ? key : path + '/' + key;
      const std::string name = is_container(key) ? judged
                               : judged.empty()  ? key
                                                 : judged + '/' + key;
      take(value, own, name, counts, object);
    }
    if (found_.size() == before) return;
    for (const auto& [key, value] : object.items()) {
      if (!is_run_setting(key)) continue;
      if (value.is_string()) found_.note_setting(key, value.string());
      if (value.is_number())
        found_.note_setting(key, std::to_string(value.number(-kLargestNumber, kLargestNumber)));
    }
  }

  void take(const Cursor& value, const std::string& path, const std::string& judged, bool counts,
            const Object& object) {
    if (found_.too_many) return;
    if (value.is_object()) return walk(value.free_object(), path, judged);
    if (value.is_array()) {
      for (const Cursor& entry : value.array()) take(entry, path, judged, counts, object);
      return;
    }
    if (value.is_number() || value.is_string() || value.is_null())
      take_leaf(value, path, judged, counts, object);
  }

 private:
  void take_leaf(const Cursor& value, const std::string& path, const std::string& judged,
                 bool counts, const Object& object) {
    const std::string last = path.substr(path.rfind('/') + 1);
    StepTimeName meaning = step_time_name(judged);
    if (judged.ends_with("batches_per_sec")) {
      std::vector<std::string> names;
      for (const auto& item : object.items()) names.push_back(item.first);
      meaning = step_time_name_among(last, names);
    }
    // fairseq writes updates per second next to words per batch.
    const bool updates = judged == "ups" && (object.has("wpb") || object.has("wps"));
    if (updates) meaning = {.of = Of::step_time, .unit_s = 1.0, .rate = true};
    const bool asked = found_.is_asked(path) || found_.is_asked(last);
    if (meaning.near) found_.note_near(path, value.is_string() && states_unit(value.string()));
    if (!asked && !is_candidate(meaning, counts)) return;
    std::string text;
    std::optional<StepValue> stated;
    if (value.is_number()) {
      stated.emplace().number = value.number(-kLargestNumber, kLargestNumber);
    } else if (value.is_string()) {
      text = value.string();
      stated = parse_step_value(text, mark_);
    }
    if (meaning.of == Of::step_word && !asked &&
        (!stated || stated->suffix != StepValue::Suffix::time))
      return;
    StepKey* key = found_.key(path, meaning, asked);
    if (key == nullptr) return;
    if (!stated) {
      ++key->without_number;
      return;
    }
    if (meaning.of == Of::bare_time && !meaning.unit_s && key->convention.empty()) {
      key->convention = convention_in(object);
      if (!key->convention.empty()) key->meaning.unit_s = 1.0;
    }
    if (updates) {
      const auto beside = [&](std::string_view name) {
        const auto at = object.optional(name);
        return at && at->is_string()   ? parse_number<double>(at->string()).value_or(0)
               : at && at->is_number() ? at->number(-kLargestNumber, kLargestNumber)
                                       : 0;
      };
      key->convention = take_updates(*stated, text, beside("wps"), beside("wpb"));
      text = fmt::format("{:.9f}", stated->number);
    }
    found_.add(*key, *stated, line_, text.empty() ? std::to_string(stated->number) : text);
  }

  bool states_unit(const std::string& text) {
    const std::optional<StepValue> value = parse_step_value(text, mark_);
    return value && value->suffix != StepValue::Suffix::none;
  }

  static bool is_candidate(const StepTimeName& meaning, bool counts) {
    if (meaning.of == Of::bare_time) return counts;
    return meaning.of != Of::other;
  }

  std::uint32_t line_;
  DecimalMark& mark_;
  StepReadings& found_;
};

std::optional<double> number_of(const Object& object, std::string_view key) {
  const auto at = object.optional(key);
  if (!at || !at->is_number()) return std::nullopt;
  return at->number(-kLargestNumber, kLargestNumber);
}

/// Finds the run of the last train_runtime. A later run extends the list. Its count continues that
/// of the previous run, or starts again at most one entry's distance from 0.
void find_last_run(const std::vector<Cursor>& history, StepDocument& found) {
  std::optional<double> begin = 0;
  double end = 0;
  // The entry at which the count went back.
  std::optional<double> again;
  for (const Cursor& one : history) {
    if (!one.is_object()) continue;
    const Object entry = one.free_object();
    const auto step = number_of(entry, "step");
    const auto seconds = number_of(entry, "train_runtime");
    if (seconds) found.ended = true;
    if (!step) {
      if (seconds) found.end = 0;
      continue;
    }
    if (*step < end) {
      again = step;
      begin.reset();
    } else if (again && *step > *again) {
      if (*again <= *step - *again) begin = 0;
      again.reset();
    }
    end = *step;
    if (!seconds) continue;
    found.run_s = *seconds;
    found.begin = begin.value_or(-1);
    found.end = end;
    begin = end;
    again.reset();
  }
}

}  // namespace

std::string as_json(std::string_view text) {
  std::string json;
  json.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      json += '"';
      for (++i; i < text.size() && text[i] != c; ++i) {
        if (text[i] == '\\' && i + 1 < text.size()) {
          ++i;
          if (text[i] == '\'')
            json += '\'';
          else
            (json += '\\') += text[i];
        } else if (text[i] == '"') {
          json += "\\\"";
        } else {
          json += text[i];
        }
      }
      if (i < text.size()) json += '"';
      ++i;
      continue;
    }
    if (!is_name_char(c)) {
      // "1e-05" is a number.
      if (c >= '0' && c <= '9') {
        while (i < text.size() && (is_name_char(text[i]) || (text[i] >= '0' && text[i] <= '9')))
          json += text[i++];
        continue;
      }
      json += c == '(' ? '[' : c == ')' ? ']' : c;
      ++i;
      continue;
    }
    const std::size_t begin = i;
    while (i < text.size() && is_name_char(text[i])) ++i;
    const std::string_view word = text.substr(begin, i - begin);
    if (word == "True" || word == "False") {
      json += word == "True" ? "true" : "false";
    } else if (word == "None" || word == "NaN" || word == "nan" || word == "inf" ||
               word == "Infinity") {
      if (!json.empty() && json.back() == '-') json.pop_back();
      json += "null";
    } else {
      json += word;
    }
  }
  return json;
}

bool read_step_object(std::string_view text, std::uint32_t line, DecimalMark& mark,
                      StepReadings& found) {
  std::optional<Document> document;
  try {
    document = Document::parse(as_json(text), "");
  } catch (const InputError&) {
    return false;
  }
  if (!document->root().is_object()) return false;
  ObjectReader(line, mark, found).walk(document->root().free_object(), "", "");
  return true;
}

StepDocument read_step_document(std::string_view text, const std::string& file,
                                StepReadings& found) {
  const std::string json = as_json(text);
  const Document document = Document::parse(json, file);
  StepDocument result;
  const Cursor root = document.root();
  DecimalMark mark(json);
  ObjectReader reader(0, mark, found);
  if (root.is_array()) {
    for (const Cursor& entry : root.array())
      if (entry.is_object()) reader.walk(entry.free_object(), "", "");
    return result;
  }
  if (!root.is_object()) return result;
  const Object object = root.free_object();
  if (const auto schema = object.optional("schema");
      schema && schema->is_string() && schema->string().starts_with("ddpsim."))
    result.schema = schema->string();
  const auto history = object.optional("log_history");
  result.is_trainer_state = history && history->is_array();
  if (result.is_trainer_state) find_last_run(history->array(), result);
  reader.walk(object, "", "");
  return result;
}

}  // namespace ddpsim
