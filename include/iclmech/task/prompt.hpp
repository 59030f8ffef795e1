#ifndef ICLMECH_TASK_PROMPT_HPP
#define ICLMECH_TASK_PROMPT_HPP
// Writes an episode as text and remembers which characters are demonstration, label, query or separator.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "iclmech/task/episode.hpp"
#include "iclmech/task/task.hpp"
#include "iclmech/task/token_role.hpp"

namespace iclmech {

/// In place of a demonstration's index: what belongs to the query.
inline constexpr std::int32_t no_demonstration = -1;

/// Bytes [begin, end) of a prompt's text, what they are, and which demonstration they belong to.
struct prompt_span {
  token_role role = token_role::separator;
  std::int32_t demonstration = no_demonstration;
  std::size_t begin = 0;
  std::size_t end = 0;

  friend bool operator==(const prompt_span&, const prompt_span&) = default;
};

/// A prompt as text. The spans cover the text from begin to end without gaps, in order, none empty; a
/// separator between two demonstrations belongs to the one before it.
struct prompt {
  std::string text;
  std::vector<prompt_span> spans;
  std::vector<std::string> labels;  ///< the labels in play; the answer is one of them
  std::string answer;
  std::string label_prefix;  ///< what stands between the text's end and a label
};

/// Writes `source` as `layout` says, up to where the answer would begin.
inline prompt render(const prompt_template& layout, const episode& source) {
  prompt written;
  written.labels = source.labels;
  written.answer = source.query.output;
  written.label_prefix = layout.label_prefix;
  const auto write = [&written](std::string_view text, token_role role, std::int32_t demonstration) {
    if (text.empty()) return;
    const std::size_t begin = written.text.size();
    written.text += text;
    written.spans.push_back({role, demonstration, begin, written.text.size()});
  };
  std::int32_t demonstration = 0;
  for (const task_pair& pair : source.demonstrations) {
    write(layout.input_prefix, token_role::separator, demonstration);
    write(pair.input, token_role::demonstration, demonstration);
    write(layout.output_prefix, token_role::separator, demonstration);
    write(layout.label_prefix, token_role::separator, demonstration);
    write(pair.output, token_role::label, demonstration);
    write(layout.separator, token_role::separator, demonstration);
    ++demonstration;
  }
  write(layout.input_prefix, token_role::separator, no_demonstration);
  write(source.query.input, token_role::query, no_demonstration);
  write(layout.output_prefix, token_role::separator, no_demonstration);
  return written;
}

}  // namespace iclmech

#endif  // ICLMECH_TASK_PROMPT_HPP
