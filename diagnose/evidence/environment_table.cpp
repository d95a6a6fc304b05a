#include "environment_table.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/embedded.hpp"
#include "ddpsim/formats/words.hpp"
#include "ddpsim/sim/values/assert.hpp"
#include "evidence_words.hpp"

namespace ddpsim {

std::span<const EmbeddedFile> environment_variables_file();  // generated

namespace {

bool switched_on(std::string_view value) {
  const std::string lower = in_small_letters(value);
  constexpr std::array<std::string_view, 6> kOff = {"", "0", "false", "off", "no", "n"};
  return std::ranges::find(kOff, lower) == kOff.end();
}
bool switched_off(std::string_view value) {
  return !value.empty() && !switched_on(value);
}
/// As NCCL reads parameters, with strtoll: text that is no number is 0, even "true".
bool nccl_on(std::string_view value) {
  return leading_number<long long>(value).value_or(0) != 0;
}
bool nccl_off(std::string_view value) {
  return !value.empty() && !nccl_on(value);
}
/// NCCL_P2P_DISABLE is the only variable compared with 1 (ncclGetLevel).
bool nccl_one(std::string_view value) {
  return leading_number<long long>(value) == 1;
}
bool is_local_only(std::string_view value) {
  return value == "LOC" || value == "0";
}
bool is_detail(std::string_view value) {
  return in_small_letters(value) == "detail";
}
bool is_trace(std::string_view value) {
  return in_small_letters(value) == "trace";
}
bool is_socket(std::string_view value) {
  return in_small_letters(value) == "socket";
}
bool is_one(std::string_view value) {
  return value == "1";
}
bool is_zero(std::string_view value) {
  return value == "0";
}
bool is_anything(std::string_view value) {
  return !value.empty();
}
bool holds_at_most(std::string_view value) {
  return leading_number<int>(value).value_or(0) >= 1;
}

using ValueTest = std::pair<std::string_view, bool (*)(std::string_view)>;
constexpr std::array kValueTests = {ValueTest{"on", switched_on},
                                    ValueTest{"off", switched_off},
                                    ValueTest{"on as NCCL reads it", nccl_on},
                                    ValueTest{"off as NCCL reads it", nccl_off},
                                    ValueTest{"1 as NCCL reads it", nccl_one},
                                    ValueTest{"LOC or 0", is_local_only},
                                    ValueTest{"DETAIL in any case", is_detail},
                                    ValueTest{"TRACE in any case", is_trace},
                                    ValueTest{"Socket in any case", is_socket},
                                    ValueTest{"exactly 1", is_one},
                                    ValueTest{"exactly 0", is_zero},
                                    ValueTest{"any value", is_anything},
                                    ValueTest{"1 or more", holds_at_most}};

using JobWord = std::pair<std::string_view, MattersTo>;
constexpr std::array kJobWords = {JobWord{"several GPUs a node", MattersTo::several_gpus_a_node},
                                  JobWord{"several nodes", MattersTo::several_nodes}};

template <typename Known>
auto meaning_of(const Known& known, std::string_view word, std::size_t row) {
  const auto found = std::ranges::find(known, word, &Known::value_type::first);
  DDPSIM_ASSERT(found != known.end(), "environment_variables.json has an unknown word", row);
  return found->second;
}

CauseClass cause_of(std::string_view word, std::size_t row) {
  const std::vector<CauseClass> all = cause_classes();
  const auto found = std::ranges::find(all, word, name_of);
  DDPSIM_ASSERT(found != all.end(), "environment_variables.json has an unknown cause", row);
  return *found;
}

EnvironmentRow read_row(const Cursor& written, bool of_launcher, std::size_t row) {
  const Object object = written.object({"name", "values", "costs", "cause", "needs", "sentence"});
  EnvironmentRow read{
      .name = object.required("name").string(), .of_launcher = of_launcher, .costly = {}};
  if (const auto costs = object.optional("costs")) {
    const auto needs = object.optional("needs");
    read.costly = {
        .test = meaning_of(kValueTests, costs->string(), row),
        .what = cause_of(object.required("cause").string(), row),
        .matters_to = needs ? meaning_of(kJobWords, needs->string(), row) : MattersTo::any_job,
        .sentence = object.required("sentence").string()};
  }
  return read;
}

std::vector<EnvironmentRow> read_table() {
  const EmbeddedFile& file = environment_variables_file().front();
  const Document document = Document::parse(file.text, "environment_variables.json");
  std::vector<EnvironmentRow> rows;
  for (const Cursor& written :
       document.root().object({"about", "groups"}).required("groups").array()) {
    const Object group = written.object({"group", "variables"});
    const bool of_launcher = group.required("group").string() == "launchers";
    for (const Cursor& row : group.required("variables").array())
      rows.push_back(read_row(row, of_launcher, rows.size() + 1));
  }
  return rows;
}

}  // namespace

const std::vector<EnvironmentRow>& environment_table() {
  static const std::vector<EnvironmentRow> rows = read_table();
  return rows;
}

const EnvironmentRow* find_environment_row(std::string_view name) {
  const auto& rows = environment_table();
  const auto found = std::ranges::find(rows, name, &EnvironmentRow::name);
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace ddpsim
