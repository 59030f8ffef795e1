#ifndef ICLMECH_TOOLS_STUDY_BEHAVIOUR_SECTIONS_HPP
#define ICLMECH_TOOLS_STUDY_BEHAVIOUR_SECTIONS_HPP
// What a model answers as demonstrations get more, fewer and wrong.

#include "study/subject.hpp"

namespace iclmech::cli {

nlohmann::json shots_section(subject& s, const nlohmann::json& done);
nlohmann::json noise_section(subject& s, const nlohmann::json& done);
nlohmann::json flips_section(subject& s, const nlohmann::json& done);

}  // namespace iclmech::cli

#endif  // ICLMECH_TOOLS_STUDY_BEHAVIOUR_SECTIONS_HPP
