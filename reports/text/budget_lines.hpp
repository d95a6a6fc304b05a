// What the GPU does with a step, in words.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/reports/reports.hpp"
#include "text_layout.hpp"

namespace ddpsim {

/// What the GPU waits for longest, where that takes much of the step: what a first line has to speak of.
std::optional<BudgetPart> leading_wait(const ReportContext& context, const ReportedStep& step);

/// "the GPU waits 48 ms of it for input: the thread that trains loads its batches (num_workers=0)"; `whole`: the step, "it".
std::string wait_clause(const ReportContext& context, const ReportedStep& step, BudgetPart part,
                        const std::string& whole, int digits, TimeUnit unit);

/// "slower GPUs", "communication"; of ranks one that is slow by its number: "rank 5, the slowest".
std::string waits_for_whom(const Job& job, BudgetPart part);

/// The same as sentences in front of an answer: "The GPU waits …. ", and, unless the answer says it, what helps. Empty where no
/// such wait leads.
enum class Help { said_here, in_the_answer };
std::string wait_first(const ReportContext& context, const ReportedStep& step, int digits,
                       TimeUnit unit, Help help = Help::said_here);

/// budget_text() as a sentence; empty of a step that takes no time.
std::string budget_line(const Trust& trust, const StepBudget& budget, const TerminalStyle& style);

}  // namespace ddpsim
