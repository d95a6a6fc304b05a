// Which mutants each test case reached, for scripts/mutate.sh: one line a test case, as it ends, in the file that
// DDPSIM_MUTANT_TESTS names. A line that begins with ">" says which test case is running, so that a crash has a name.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "switch.hpp"

namespace {

using ddpsim_mutation::kMost;
using ddpsim_mutation::reached;

struct ReachListener : doctest::IReporter {
  std::FILE* file = nullptr;
  const char* name = "";

  explicit ReachListener(const doctest::ContextOptions&) {
    if (const char* path = std::getenv("DDPSIM_MUTANT_TESTS")) file = std::fopen(path, "w");
  }
  ~ReachListener() override {
    if (file != nullptr) std::fclose(file);
  }

  void test_case_start(const doctest::TestCaseData& test) override {
    name = test.m_name;
    std::fill(reached, reached + kMost, static_cast<unsigned char>(0));
    if (file == nullptr) return;
    std::fprintf(file, ">%s\n", name);
    std::fflush(file);
  }
  void test_case_end(const doctest::CurrentTestCaseStats& stats) override {
    if (file == nullptr) return;
    std::fprintf(file, "%s\t%.6f\t%s\t", stats.failure_flags == 0 ? "passed" : "failed",
                 stats.seconds, name);
    for (int mutant = 0; mutant < kMost; ++mutant)
      if (reached[mutant]) std::fprintf(file, " %d", mutant);
    std::fputc('\n', file);
    std::fflush(file);
  }

  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};

REGISTER_LISTENER("reach", 1, ReachListener);

}  // namespace
