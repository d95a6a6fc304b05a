// How the GPU spends a step, in words.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ddpsim/reports/reports.hpp"
#include "text_layout.hpp"

namespace ddpsim {

/// What the GPU waits for longest, if that takes enough of the step for the first line to name it.
std::optional<BudgetPart> leading_wait(const ReportContext& context, const ReportedStep& step);

/// "the GPU waits 48 ms of it for input: the training thread loads its batches itself
/// (num_workers=0)". `whole` names the step: "it" or its time.
std::string wait_clause(const ReportContext& context, const ReportedStep& step, BudgetPart part,
                        const std::string& whole, int digits, TimeUnit unit);

/// What helps against waits for the host, as a sentence.
std::string_view host_remedy(const ReportContext& context, const StepBudget& budget);

/// "slower GPUs", "communication". A single straggler is named by its number: "rank 5, the
/// slowest".
std::string waits_for_whom(const Job& job, BudgetPart part);

/// Sentences that stand before an answer: what the GPU waits for most ("The GPU waits …. ") and,
/// unless the answer says it, what helps. Empty without a wait that matters.
enum class Help { said_here, in_the_answer };
std::string wait_first(const ReportContext& context, const ReportedStep& step, int digits,
                       TimeUnit unit, Help help = Help::said_here);

/// budget_text() as a sentence; empty if the step takes no time.
std::string budget_line(const Trust& trust, const StepBudget& budget, const TerminalStyle& style);

}  // namespace ddpsim
