#include "study/behaviour_sections.hpp"

#include "iclmech/statistics.hpp"

namespace iclmech::cli {
namespace {

nlohmann::json answers_json(subject& s, const std::vector<labelled_prompt>& prompts) {
  const prediction_result found = answers(s.host, prompts, s.work());
  nlohmann::json j = rates(prompts, found.predictions);
  double sum = 0.0;
  for (const double p : found.probabilities) sum += p;
  j["probability"] = sum / static_cast<double>(std::max<std::size_t>(1, found.probabilities.size()));
  return j;
}

/// What a section says of prompts that the task or the context has no room for.
std::string no_room_for(std::size_t shots, const argument_error& e) {
  return fmt::format("{} demonstrations: {}", shots, e.what());
}

}  // namespace

nlohmann::json shots_section(subject& s, const nlohmann::json&) {
  nlohmann::json rows = nlohmann::json::array(), notes = nlohmann::json::array();
  for (const std::size_t shots : {0, 1, 2, 4, 8, 16, 32}) {
    std::vector<labelled_prompt> prompts;
    try {
      prompts = s.make.shown(shots);
    } catch (const argument_error& e) {
      notes.push_back(no_room_for(shots, e));
      break;
    }
    nlohmann::json row = answers_json(s, prompts);
    row["shots"] = shots;
    rows.push_back(std::move(row));
  }
  return {{"rows", std::move(rows)}, {"notes", std::move(notes)}};
}

nlohmann::json noise_section(subject& s, const nlohmann::json&) {
  constexpr double random = -1.0;
  nlohmann::json rows = nlohmann::json::array(), notes = nlohmann::json::array();
  for (const std::size_t shots : s.options.grid_shots)
    for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0, random}) {
      std::vector<labelled_prompt> prompts;
      try {
        prompts = s.make.with_noise(shots, share, s.options.grid_count);
      } catch (const argument_error& e) {
        notes.push_back(no_room_for(shots, e));
        break;
      }
      nlohmann::json row = answers_json(s, prompts);
      row["shots"] = shots;
      row["labels"] = share < 0.0 ? "random" : fmt::format("{:.0f} % right", 100.0 * share);
      if (share >= 0.0) row["share_right"] = share;
      rows.push_back(std::move(row));
    }
  return {{"rows", std::move(rows)}, {"notes", std::move(notes)}};
}

nlohmann::json flips_section(subject& s, const nlohmann::json&) {
  nlohmann::json rows = nlohmann::json::array(), notes = nlohmann::json::array();
  if (s.make.kind() == label_kind::open)
    return {{"rows", std::move(rows)},
            {"notes", {"open answers cannot be read off answers that were exchanged"}}};
  for (const std::size_t shots : s.options.grid_shots) {
    prompt_maker::flipped_prompts prompts;
    try {
      prompts = s.make.flipped(shots, s.options.grid_count);
    } catch (const argument_error& e) {
      notes.push_back(no_room_for(shots, e));
      continue;
    }
    const prediction_result found = answers(s.host, prompts.flipped, s.work());
    nlohmann::json row = rates(prompts.flipped, found.predictions);
    double original = 0.0;
    for (std::size_t p = 0; p < found.predictions.size(); ++p)
      original += found.predictions[p] == prompts.original_answers[p] ? 1.0 : 0.0;
    row["original"] = original / static_cast<double>(std::max<std::size_t>(1, found.predictions.size()));
    row["shots"] = shots;
    rows.push_back(std::move(row));
  }
  return {{"rows", std::move(rows)}, {"notes", std::move(notes)}};
}

}  // namespace iclmech::cli
