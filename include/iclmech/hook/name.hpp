#ifndef ICLMECH_HOOK_NAME_HPP
#define ICLMECH_HOOK_NAME_HPP
// Hook points as text: TransformerLens' strings for a model's sites, and patterns that choose among them.

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "iclmech/detail/nearest_names.hpp"
#include "iclmech/hook/site.hpp"
#include "iclmech/host/model_spec.hpp"

namespace iclmech {

/// A point of a model, without the sequence: what a name stands for.
struct hook_place {
  hook point = hook::embed;
  int layer = -1;
  mixer_kind mixer = mixer_kind::attention;  ///< for points that belong to a mixer

  bool holds(const site& s) const {
    return s.point == point && s.layer == layer && (!belongs_to_mixer(point) || s.mixer == mixer);
  }
  friend bool operator==(const hook_place&, const hook_place&) = default;
};

/// `blocks.5.attn.hook_z`, `blocks.0.hook_resid_pre`, `blocks.3.mixer.hook_dt` (state-space mixers are
/// `mixer`, as in TransformerLens), `blocks.2.ln1.hook_scale`, `ln_final.hook_scale`, `hook_embed`.
inline std::string hook_name(const hook_place& place) {
  const hook_description& d = describe(place.point);
  const std::string name(d.name), block = "blocks." + std::to_string(place.layer) + ".";
  switch (d.scope) {
    case hook_scope::model:
      return name;
    case hook_scope::ln_final:
      return "ln_final." + name;
    case hook_scope::block:
      return block + name;
    case hook_scope::ln1:
      return block + "ln1." + name;
    case hook_scope::ln2:
      return block + "ln2." + name;
    case hook_scope::mlp:
      return block + "mlp." + name;
    case hook_scope::attention:
      return block + "attn." + name;
    case hook_scope::state_space:
      return block + "mixer." + name;
    case hook_scope::mixer:
      return block + (place.mixer == mixer_kind::attention ? "attn." : "mixer.") + name;
  }
  return name;
}

/// Every place at which a hook can fire in a model, in the order of the forward pass within a layer.
inline std::vector<hook_place> hook_places(const model_spec& spec) {
  std::vector<hook_place> places;
  const auto add = [&](hook point, int layer, mixer_kind mixer) {
    if (spec.observable.contains(point)) places.push_back({point, layer, mixer});
  };
  const auto exists = [](hook point, const layer_spec& layer) {
    const bool parallel = layer.mixers.size() > 1 && !layer.shares_block;
    const bool attention_only =
        layer.mixers.size() == 1 && layer.mixers.front().kind == mixer_kind::attention;
    switch (point) {
      case hook::resid_mid:
      case hook::ln2_scale:
      case hook::ln2_normalized:
        return layer.has_mlp;
      case hook::mlp_pre:
      case hook::mlp_pre_linear:
      case hook::mlp_post:
      case hook::mlp_out:
        return layer.has_mlp || layer.shares_block;
      case hook::attn_out:
        return attention_only || layer.shares_block;
      case hook::shared_out:
        return layer.shares_block;
      case hook::merged:
        return parallel;
      case hook::mixer_out:
      case hook::ln1_scale:
      case hook::ln1_normalized:
        return !layer.mixers.empty();
      default:
        return true;
    }
  };
  const auto exists_in_mixer = [](hook point, const mixer_spec& mixer) {
    const hook_scope scope = describe(point).scope;
    if (scope == hook_scope::attention && is_state_space(mixer.kind)) return false;
    if (scope == hook_scope::state_space && !is_state_space(mixer.kind)) return false;
    if (mixer.reuses_keys && (point == hook::k || point == hook::v || point == hook::rot_k)) return false;
    return point != hook::write_scale || mixer.write == write_path::frozen_norm;
  };
  add(hook::embed, -1, mixer_kind::attention);
  for (int l = 0; l < spec.layer_count(); ++l) {
    const layer_spec& layer = spec.layers[static_cast<std::size_t>(l)];
    for (std::size_t i = 0; i < hook_count; ++i) {
      const auto point = static_cast<hook>(i);
      if (belongs_to_model(point)) continue;
      if (!belongs_to_mixer(point)) {
        if (exists(point, layer)) add(point, l, mixer_kind::attention);
        continue;
      }
      for (const mixer_spec& mixer : layer.mixers)
        if (exists_in_mixer(point, mixer)) add(point, l, mixer.kind);
    }
  }
  add(hook::final_scale, -1, mixer_kind::attention);
  add(hook::final_normalized, -1, mixer_kind::attention);
  return places;
}

namespace detail {

/// Shell-like matching: `*` any run of characters, `?` one.
inline bool matches_pattern(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, retry = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p, ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++retry;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

/// Other spellings in use: `mamba.` and `ssm.` for `mixer.`, TransformerLens' shorthand `z5` for layer 5's
/// hook_z.
inline std::string canonical_pattern(std::string pattern) {
  for (const std::string_view alias : {".mamba.", ".ssm.", ".mamba1.", ".mamba2."})
    if (const auto at = pattern.find(alias); at != std::string::npos)
      pattern.replace(at, alias.size(), ".mixer.");
  if (const auto at = pattern.find(".attention."); at != std::string::npos) pattern.replace(at, 11, ".attn.");
  const auto digit =
      std::find_if(pattern.begin(), pattern.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  const bool letters = digit != pattern.begin() && std::all_of(pattern.begin(), digit, [](unsigned char c) {
                         return std::isalpha(c) != 0 || c == '_';
                       });
  const bool number = digit != pattern.end() &&
                      std::all_of(digit, pattern.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  if (letters && number)
    pattern = "blocks." + std::string(digit, pattern.end()) + ".*hook_" + std::string(pattern.begin(), digit);
  return pattern;
}

}  // namespace detail

/// The places that any of the comma-separated patterns names, in the model's order.
/// @throws argument_error for a pattern that matches nothing, with the nearest names.
inline std::vector<hook_place> find_hook_places(const model_spec& spec, std::string_view patterns) {
  const std::vector<hook_place> all = hook_places(spec);
  std::vector<std::string> names;
  for (const hook_place& place : all) names.push_back(hook_name(place));
  std::vector<bool> chosen(all.size(), false);
  while (!patterns.empty()) {
    const auto comma = patterns.find(',');
    const std::string_view written = patterns.substr(0, comma);
    patterns = comma == std::string_view::npos ? std::string_view{} : patterns.substr(comma + 1);
    const std::string pattern = detail::canonical_pattern(std::string(written));
    bool found = false;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (detail::matches_pattern(pattern, names[i])) found = chosen[i] = true;
    if (!found)
      throw argument_error("no hook point matches '" + std::string(written) + "'; the nearest names are " +
                           detail::joined(detail::nearest_names(pattern, names, 3)) +
                           " (`iclmech inspect` lists all)");
  }
  std::vector<hook_place> places;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (chosen[i]) places.push_back(all[i]);
  return places;
}

}  // namespace iclmech

#endif  // ICLMECH_HOOK_NAME_HPP
