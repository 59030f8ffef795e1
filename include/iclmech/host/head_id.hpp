#ifndef ICLMECH_HOST_HEAD_ID_HPP
#define ICLMECH_HOST_HEAD_ID_HPP
// Names of mixers and heads: what kind of mixer, in which layer, which head, as values and as text.

#include <array>
#include <charconv>
#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "iclmech/error.hpp"

namespace iclmech {

/// The part of a layer that moves information between positions.
enum class mixer_kind : unsigned char { attention, mamba1, mamba2 };

inline constexpr std::array all_mixer_kinds{mixer_kind::attention, mixer_kind::mamba1, mixer_kind::mamba2};

/// The kind's name in files and on the command line: "attention", "mamba1" or "mamba2".
constexpr std::string_view to_string(mixer_kind kind) {
  switch (kind) {
    case mixer_kind::attention:
      return "attention";
    case mixer_kind::mamba1:
      return "mamba1";
    case mixer_kind::mamba2:
      return "mamba2";
  }
  return "unknown";
}

constexpr bool is_state_space(mixer_kind kind) { return kind != mixer_kind::attention; }

/// Reads a kind's name. "attn" means attention; "mamba" and "ssm" mean whichever of mamba1 and mamba2
/// `layer_ssm` says.
constexpr std::optional<mixer_kind> parse_mixer_kind(std::string_view text,
                                                     mixer_kind layer_ssm = mixer_kind::mamba1) {
  for (const mixer_kind kind : all_mixer_kinds)
    if (text == to_string(kind)) return kind;
  if (text == "attn") return mixer_kind::attention;
  if (text == "mamba" || text == "ssm" || text == "mixer") return layer_ssm;
  return std::nullopt;
}

/// One head of one mixer. Orders by layer, then mixer, then head.
struct head_id {
  int layer = 0;
  mixer_kind mixer = mixer_kind::attention;
  int head = 0;

  friend constexpr auto operator<=>(const head_id&, const head_id&) = default;
};

/// A mixer of a layer, without a head.
struct mixer_id {
  int layer = 0;
  mixer_kind mixer = mixer_kind::attention;

  friend constexpr auto operator<=>(const mixer_id&, const mixer_id&) = default;
};

/// `L5H3`; with `name_mixer` (for layers that have more than one) `L5.attention.H3` or `L5.mamba.H3`.
inline std::string to_string(head_id id, bool name_mixer = false) {
  std::string text = "L" + std::to_string(id.layer);
  if (name_mixer) text += id.mixer == mixer_kind::attention ? ".attention." : ".mamba.";
  return text + "H" + std::to_string(id.head);
}

/// What `L5H3` or `L5.mamba.H3` says, before it is checked against a model: the mixer is absent in the short
/// form.
struct parsed_head_id {
  int layer = 0;
  std::string_view mixer;
  int head = 0;
};

/// Takes a head's text apart; nothing if it is not of the form `L<layer>H<head>` or
/// `L<layer>.<mixer>.H<head>`.
inline std::optional<parsed_head_id> parse_head_id(std::string_view text) {
  const auto number = [&text](int& value) {
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status != std::errc{} || value < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
  };
  const auto letter = [&text](char wanted) {
    if (text.empty() || text.front() != wanted) return false;
    text.remove_prefix(1);
    return true;
  };
  parsed_head_id id;
  if (!letter('L') || !number(id.layer)) return std::nullopt;
  if (letter('.')) {
    const auto dot = text.find('.');
    if (dot == std::string_view::npos || dot == 0) return std::nullopt;
    id.mixer = text.substr(0, dot);
    text.remove_prefix(dot + 1);
  }
  if (!letter('H') || !number(id.head) || !text.empty()) return std::nullopt;
  return id;
}

}  // namespace iclmech

#endif  // ICLMECH_HOST_HEAD_ID_HPP
