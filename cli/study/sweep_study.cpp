#include "sweep_study.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <system_error>

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/digest.hpp"
#include "ddpsim/formats/file_identity.hpp"
#include "ddpsim/formats/files.hpp"
#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/traces/import.hpp"
#include "study.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostPoints = 10'000'000;

std::string token_of(const Cursor& value) {
  constexpr double kAny = 1e300;
  if (value.is_null()) return "null";
  if (value.is_string()) return string_token(value.string());
  if (value.is_number()) return number_token(value.number(-kAny, kAny));
  if (!value.is_array()) return value.boolean() ? "true" : "false";
  std::vector<std::string> items;
  for (const Cursor& item : value.array()) items.push_back(token_of(item));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

/// Returns the names of the workloads. A sweep ignores their shares.
std::vector<std::string> read_names(const Object& root) {
  std::vector<std::string> names;
  for (StudyWorkload& named : read_workloads(root)) names.push_back(std::move(named.workload));
  if (names.empty()) root.required("workload");
  return names;
}

SweepAxis read_axis(const std::string& option, const Cursor& values, const CLI::App& point) {
  SweepAxis axis{.option = option, .values = {}};
  option_of_study(point, option, values);
  if (!values.is_array())
    values.fail("varies, so it must be a list", "Write [value, …], or move it to /options");
  for (const Cursor& value : values.array()) {
    SweepAxis::Value own{.json = token_of(value), .values = {}};
    if (!value.is_null()) own.values = read_option(point, option, value).values;
    axis.values.push_back(std::move(own));
  }
  if (axis.values.empty()) values.fail("is empty", "Give at least one value");
  return axis;
}

std::vector<Candidate> read_clusters(const Object& root) {
  const Cursor given = root.required("candidates");
  const std::vector<CandidateRequest> requests = read_candidates(root);
  if (requests.empty()) given.fail("is empty", "Name at least one cluster");
  try {
    return candidates(requests);
  } catch (const UsageError& error) {
    given.fail(error.what());
  } catch (const InputError& error) {  // in a range
    given.fail(error.diagnostic().message, error.diagnostic().hint);
  }
}

/// Reads measured_with: a step was measured with one value of each option that varies, and only the user knows which.
void read_measured_with(const Object& root, const CLI::App& point, SweepStudy& study) {
  const auto given = root.optional("measured_with");
  const bool measured =
      std::ranges::any_of(study.options,
                          [](const StudyOption& option) {
                            return option.name == "--measured-step" && !option.values.empty();
                          }) ||
      std::ranges::any_of(study.candidates, [](const Candidate& candidate) {
        return candidate.measured_step.has_value();
      });
  if (given && !measured) given->fail("no step was measured", "Leave it out");
  if (!measured) return;
  if (study.workloads.size() > 1)
    root.required("workloads")
        .fail("a measured step belongs to one workload", "Sweep this workload by itself");
  const std::string why = "a step was measured; state which value each option of \"grid\" had";
  if (!given && !study.axes.empty())
    root.cursor().fail(
        why, fmt::format("Add \"measured_with\": {{\"{}\": …}}", study.axes.front().option));
  std::vector<std::vector<std::string>> measured_values;
  for (const SweepAxis& axis : study.axes) {
    const auto values = given->free_object().items();
    const auto own = std::ranges::find_if(  // null is a value, too
        values, [&](const auto& item) { return item.first == axis.option; });
    if (own == values.end()) given->fail(fmt::format("misses {}: {}", axis.option, why));
    measured_values.emplace_back();
    if (!own->second.is_null())
      measured_values.back() = read_option(point, axis.option, own->second).values;
  }
  if (given)
    for (const auto& [option, value] : given->free_object().items())
      if (std::ranges::find(study.axes, option, &SweepAxis::option) == study.axes.end())
        value.fail("does not vary", "Name only options of \"grid\"");
  study.measured_with = std::move(measured_values);
}

/// Notes the files that a point may read, before the first line is written. These are the traces of a folder, and FILE in
/// "switches:FILE", "FILE@8" and "FILE:KEY".
void note_files(const std::string& value) {
  constexpr std::size_t kMost = 100'000;
  std::error_code error;
  if (!value.empty() && std::filesystem::is_directory(value, error)) {
    std::filesystem::recursive_directory_iterator entry(
        value, std::filesystem::directory_options::skip_permission_denied, error);
    for (std::size_t k = 0; !error && k < kMost && entry != end(entry); ++k) {
      std::error_code none;
      if (entry->is_regular_file(none) && is_recording(entry->path())) note_input(entry->path());
      entry.increment(error);
    }
  }
  for (std::size_t begin = 0; begin < value.size();) {
    const std::size_t end = std::min(value.find(' ', begin), value.size());
    const std::string word = value.substr(begin, end - begin);
    for (const std::string& name : {word, word.substr(word.find(':') + 1)})
      for (const std::size_t cut : {name.npos, name.find('@'), name.rfind('@'), name.rfind(':')})
        note_input(name.substr(0, cut));
    begin = end + 1;
  }
}

/// Adds the content of a value that names a file.
void add_file(Digest& digest, const std::string& value) {
  for (const std::string& name :
       {value, value.substr(0, value.rfind('@')), value.substr(0, value.rfind(':'))}) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(name, error)) continue;
    constexpr std::int64_t kMostOfAFile = std::int64_t{16} << 30;
    digest.add(read_file(name, kMostOfAFile));
    return;
  }
}

}  // namespace

std::size_t SweepStudy::combinations() const {
  std::size_t count = 1;
  for (const SweepAxis& axis : axes) count *= axis.values.size();
  return count;
}

SweepPoint SweepStudy::point(std::size_t index) const {
  const std::size_t of_candidate = combinations();
  const std::size_t candidate = index / of_candidate;
  return {.workload = candidate / candidates.size(),
          .candidate = candidate % candidates.size(),
          .combination = index % of_candidate};
}

std::vector<const SweepAxis::Value*> SweepStudy::values_of(std::size_t combination) const {
  std::vector<const SweepAxis::Value*> values(axes.size());
  for (std::size_t k = axes.size(); k-- > 0;) {
    const std::vector<SweepAxis::Value>& own = axes[k].values;
    values[k] = &own[combination % own.size()];
    combination /= own.size();
  }
  return values;
}

std::vector<StudyOption> SweepStudy::options_of(std::size_t combination) const {
  std::vector<StudyOption> all = options;
  const std::vector<const SweepAxis::Value*> own = values_of(combination);
  for (std::size_t k = 0; k < axes.size(); ++k) all.push_back(axes[k].given(own[k]->values));
  return all;
}

SweepStudy read_sweep_study(std::string_view text, const std::string& file, const CLI::App& point) {
  const Document document = Document::parse(text, file);
  const Object root = document.root().object(study_document());
  root.required("schema").choice({"ddpsim.study/1"});
  if (const auto about = root.optional("about")) about->string();
  SweepStudy study{.file = file,
                   .workloads = {},
                   .candidates = {},
                   .options = {},
                   .axes = {},
                   .measured_with = {}};
  const auto options = root.optional("options");
  study.options = read_options(point, root);
  if (const auto grid = root.optional("grid"))
    for (const auto& [key, values] : grid->free_object().items()) {
      if (options && options->free_object().has(key))
        values.fail("is also in /options", "Give it in one of the two");
      if (key == "measured-step")
        values.fail("cannot vary, because it belongs to the current job", "Give it in /options");
      study.axes.push_back(read_axis(key, values, point));
    }
  study.workloads = read_names(root);
  study.candidates = read_clusters(root);
  read_measured_with(root, point, study);
  std::size_t points = study.workloads.size() * study.candidates.size();
  for (const SweepAxis& axis : study.axes)
    if ((points *= axis.values.size()) > kMostPoints)
      root.cursor().fail(fmt::format("has more than {} points", kMostPoints),
                         "Split it into several studies");
  return study;
}

std::string digest_of(const SweepStudy& study, const std::string& program, bool intervals) {
  Digest digest;
  digest.add(program);
  digest.add(intervals ? "intervals" : "none");
  const auto add = [&](const std::vector<std::string>& values) {
    digest.add(std::to_string(values.size()));
    for (const std::string& value : values) {
      digest.add(value);
      note_files(value);
      add_file(digest, value);
    }
  };
  add(study.workloads);
  for (const Candidate& candidate : study.candidates) {
    digest.add(candidate.label);
    add({candidate.cluster, candidate.price.value_or(""), candidate.measured_step.value_or("")});
  }
  for (const StudyOption& option : study.options) {
    digest.add(option.name);
    add(option.values);
  }
  if (study.measured_with)
    for (const std::vector<std::string>& values : *study.measured_with) add(values);
  for (const SweepAxis& axis : study.axes) {
    digest.add(axis.option);
    for (const SweepAxis::Value& value : axis.values) add(value.values);
  }
  return digest.hex();
}

}  // namespace ddpsim
