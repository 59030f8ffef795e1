#ifndef ICLMECH_TASK_TOKEN_ROLE_HPP
#define ICLMECH_TASK_TOKEN_ROLE_HPP
// The parts that text and tokens play in a few-shot prompt. Needs the standard library alone.

#include <array>
#include <cstdint>
#include <string_view>

namespace iclmech {

/// What a piece of a prompt is there for.
enum class token_role : std::uint8_t {
  first,          ///< the first token, whatever it says: heads with nothing to do look there
  demonstration,  ///< the text of a demonstration
  label,          ///< the answer of a demonstration
  query,          ///< the text that is asked about
  separator,      ///< everything the template adds: "Q:", "A:", line ends
};

inline constexpr std::array all_token_roles{token_role::first, token_role::demonstration, token_role::label,
                                            token_role::query, token_role::separator};

/// The role's name in result files.
constexpr std::string_view to_string(token_role role) {
  switch (role) {
    case token_role::first:
      return "first";
    case token_role::demonstration:
      return "demonstration";
    case token_role::label:
      return "label";
    case token_role::query:
      return "query";
    case token_role::separator:
      return "separator";
  }
  return "unknown";
}

}  // namespace iclmech

#endif  // ICLMECH_TASK_TOKEN_ROLE_HPP
