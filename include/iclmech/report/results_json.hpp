#ifndef ICLMECH_REPORT_RESULTS_JSON_HPP
#define ICLMECH_REPORT_RESULTS_JSON_HPP
// Results as JSON and CSV: the fixed part of the schema (docs/results.md) and who, what and when.

#include <ctime>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "iclmech/method/ablate_heads.hpp"
#include "iclmech/method/steer.hpp"
#include "iclmech/report/csv_field.hpp"
#include "iclmech/version.hpp"

namespace iclmech {

/// What a result was made from.
struct result_identity {
  std::string model;
  std::string architecture;
  std::string prompts;  ///< task name or prompt file
  std::uint64_t seed = 0;
  std::string command;
};

namespace detail {

inline std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

inline nlohmann::json head_json(head_id id) {
  return {{"layer", id.layer}, {"mixer", std::string(to_string(id.mixer))}, {"head", id.head}};
}

inline nlohmann::json scores_json(const write_scores& s) {
  return {{"tr", s.tr},
          {"tl", s.tl},
          {"dla_sum", s.dla_sum},
          {"dla_answer", s.dla_answer},
          {"logit_difference", s.logit_difference}};
}

}  // namespace detail

/// The fields that every result has.
inline nlohmann::json identity_json(const result_identity& id) {
  return {{"model", id.model},        {"architecture", id.architecture}, {"prompts", id.prompts},
          {"seed", id.seed},          {"command", id.command},           {"library_version", library_version},
          {"date", detail::utc_now()}};
}

/// A result together with where it comes from.
inline nlohmann::json with_identity(nlohmann::json result, const result_identity& id) {
  result.update(identity_json(id));
  return result;
}

/// The fields of tsla.json.
inline nlohmann::json to_json(const head_scores& r) {
  nlohmann::json j;
  j["heads"] = nlohmann::json::array();
  const auto ids = r.heads.ids();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    nlohmann::json head = detail::head_json(ids[i]);
    head.update(detail::scores_json(r.heads.values()[i]));
    for (const auto& prompt : r.each) {
      const nlohmann::json scores = detail::scores_json(prompt[i]);
      for (const auto& [name, value] : scores.items()) head["each"][name].push_back(value);
    }
    j["heads"].push_back(std::move(head));
  }
  j["components"] = nlohmann::json::array();
  for (const component_scores& c : r.components) {
    nlohmann::json part{{"name", c.name}, {"layer", c.layer}};
    part.update(detail::scores_json(c.scores));
    j["components"].push_back(std::move(part));
  }
  j["predictions"] = r.predictions;
  j["accuracy"] = r.accuracy;
  j["tr_ratio"] = r.tr_ratio;
  j["notes"] = r.notes;
  return j;
}

/// tsla.csv: one line per head.
inline std::string to_csv(const head_scores& r) {
  std::ostringstream csv;
  csv.precision(9);
  csv << "layer,mixer,head,tr,tl,dla_sum,dla_answer,logit_difference\n";
  const auto ids = r.heads.ids();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const write_scores& s = r.heads.values()[i];
    csv << ids[i].layer << ',' << to_string(ids[i].mixer) << ',' << ids[i].head << ',' << s.tr << ',' << s.tl
        << ',' << s.dla_sum << ',' << s.dla_answer << ',' << s.logit_difference << '\n';
  }
  return csv.str();
}

/// The fields of aie.json.
inline nlohmann::json to_json(const indirect_effect_result& r) {
  nlohmann::json j;
  const std::vector<interval> aie = r.effects.intervals();
  j["heads"] = nlohmann::json::array();
  for (std::size_t i = 0; i < r.heads.size(); ++i) {
    nlohmann::json head = detail::head_json(r.heads[i]);
    head["aie"] = aie[i].estimate;
    head["aie_low"] = aie[i].low;
    head["aie_high"] = aie[i].high;
    nlohmann::json cie = nlohmann::json::array();
    for (index p = 0; p < r.effects.count(); ++p)
      cie.push_back(r.effects.effects()(p, static_cast<index>(i)));
    head["cie"] = std::move(cie);
    j["heads"].push_back(std::move(head));
  }
  j["baseline"] = r.baseline;
  return j;
}

/// aie.csv: one line per head.
inline std::string to_csv(const indirect_effect_result& r) {
  std::ostringstream csv;
  csv.precision(9);
  csv << "layer,mixer,head,aie,aie_low,aie_high\n";
  const std::vector<interval> aie = r.effects.intervals();
  for (std::size_t i = 0; i < r.heads.size(); ++i)
    csv << r.heads[i].layer << ',' << to_string(r.heads[i].mixer) << ',' << r.heads[i].head << ','
        << aie[i].estimate << ',' << aie[i].low << ',' << aie[i].high << '\n';
  return csv.str();
}

/// The fields of ablation.json.
inline nlohmann::json to_json(const std::vector<ablation_outcome>& outcomes) {
  nlohmann::json j;
  j["outcomes"] = nlohmann::json::array();
  for (const ablation_outcome& o : outcomes)
    j["outcomes"].push_back({{"set", o.name},
                             {"heads", o.heads},
                             {"accuracy", o.summary.accuracy},
                             {"tr_ratio", o.summary.tr_ratio},
                             {"probability", o.probability}});
  return j;
}

/// ablation.csv: one line per set.
inline std::string to_csv(const std::vector<ablation_outcome>& outcomes) {
  std::ostringstream csv;
  csv.precision(9);
  csv << "set,heads,accuracy,tr_ratio,probability\n";
  for (const ablation_outcome& o : outcomes)
    csv << csv_field(o.name) << ',' << o.heads << ',' << o.summary.accuracy << ',' << o.summary.tr_ratio
        << ',' << o.probability << '\n';
  return csv.str();
}

/// The fields of steering.json.
inline nlohmann::json to_json(const std::vector<steering_outcome>& outcomes) {
  nlohmann::json j;
  j["outcomes"] = nlohmann::json::array();
  for (const steering_outcome& o : outcomes)
    j["outcomes"].push_back({{"at", o.name},
                             {"layer", o.layer},
                             {"strength", o.strength},
                             {"accuracy", o.summary.accuracy},
                             {"tr_ratio", o.summary.tr_ratio},
                             {"probability", o.probability}});
  return j;
}

/// steering.csv: one line per way of steering.
inline std::string to_csv(const std::vector<steering_outcome>& outcomes) {
  std::ostringstream csv;
  csv.precision(9);
  csv << "at,layer,strength,accuracy,tr_ratio,probability\n";
  for (const steering_outcome& o : outcomes)
    csv << o.name << ',' << o.layer << ',' << o.strength << ',' << o.summary.accuracy << ','
        << o.summary.tr_ratio << ',' << o.probability << '\n';
  return csv.str();
}

}  // namespace iclmech

#endif  // ICLMECH_REPORT_RESULTS_JSON_HPP
