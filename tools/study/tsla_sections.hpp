#ifndef ICLMECH_TOOLS_STUDY_TSLA_SECTIONS_HPP
#define ICLMECH_TOOLS_STUDY_TSLA_SECTIONS_HPP
// The causal sections of a TSLA study, which compile apart from the others.

#include "study/subject.hpp"

namespace iclmech::cli {

nlohmann::json ablation_section(subject& s, const nlohmann::json& done);
nlohmann::json each_head_section(subject& s, const nlohmann::json& done);
nlohmann::json task_vector_section(subject& s, const nlohmann::json& done);
nlohmann::json generation_section(subject& s, const nlohmann::json& done);

}  // namespace iclmech::cli

#endif  // ICLMECH_TOOLS_STUDY_TSLA_SECTIONS_HPP
