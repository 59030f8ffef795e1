// State-space taps, and what leaves their mixers: they can be looked at and written, alike in a prompt and in
// one-token decoding.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "iclmech/hook/name.hpp"
#include "support/hosts.hpp"

namespace iclmech {
namespace {

/// float32 sums in another order: what forming the decays and writes explicitly may move the logits by.
constexpr float same = 1e-5F;
/// The same in decoding, where every matrix product has one row: what that adds up to in the last layers.
constexpr float alike = 3 * same;

/// Everything that one place shows in a run, rows of all firings below each other; states of every position.
struct tap {
  hook_place place;
  std::vector<row_vector> rows;
  std::vector<index> positions;

  static constexpr bool observes(hook) { return true; }
  static constexpr bool edits(hook) { return false; }
  bool wants(const site& s) const { return place.holds(s); }
  void fire(const site& s, const_activation_view view) {
    if (!wants(s)) return;
    if (s.point == hook::ssm_state) {
      rows.push_back(Eigen::Map<const row_vector>(view.data(), view.rows() * view.row_size()));
      positions.push_back(s.first_position);
      return;
    }
    for (index r = 0; r < view.rows(); ++r) {
      rows.push_back(view.row(r));
      positions.push_back(s.first_position + r);
    }
  }
};

/// Multiplies every other number of what a place shows by a factor (norms would undo one for all); of states,
/// that after one position.
struct scale_tap {
  hook_place place;
  float factor;
  index position = -1;  ///< for states

  static constexpr bool observes(hook) { return false; }
  static constexpr bool edits(hook) { return true; }
  bool wants(const site& s) const {
    return place.holds(s) && (s.point != hook::ssm_state || s.first_position == position);
  }
  void fire(const site& s, activation_view view) const {
    if (!wants(s)) return;
    for (index r = 0; r < view.rows(); ++r)
      for (index c = 0; c < view.row_size(); c += 2) view.row(r)[c] *= factor;
  }
};

/// The same of every point for the row of one position, however many rows a run shows at once.
struct scale_position : scale_tap {
  void fire(const site& s, activation_view view) const {
    if (s.point == hook::ssm_state) return scale_tap::fire(s, view);
    if (!wants(s)) return;
    const index row = position - s.first_position;
    if (row < 0 || row >= view.rows()) return;
    for (index c = 0; c < view.row_size(); c += 2) view.row(row)[c] *= factor;
  }
};

class state_space_taps : public ::testing::TestWithParam<std::string> {
 protected:
  state_space_taps() : host_(test::golden_host(GetParam())), ids_(test::some_tokens(host_.spec(), 9, 21)) {
    no_hooks none;
    plain_ = run(none);
    limit_ = same * std::max(1.0F, plain_.cwiseAbs().maxCoeff());
  }

  template <hooks H>
  row_matrix run(H& hook_functions) {
    return host_.run(std::span(&ids_, 1), hook_functions, logit_rows::all);
  }
  float moved(const row_matrix& logits) const { return (logits - plain_).cwiseAbs().maxCoeff(); }

  std::vector<hook_place> taps() const {
    std::vector<hook_place> found;
    for (const hook_place& place : hook_places(host_.spec()))
      if (describe(place.point).scope == hook_scope::state_space || place.point == hook::z ||
          place.point == hook::mixer_out)
        found.push_back(place);
    return found;
  }

  any_host host_;
  token_sequence ids_;
  row_matrix plain_;
  float limit_ = 0.0F;
};

TEST_P(state_space_taps, an_edit_moves_the_logits) {
  ASSERT_FALSE(taps().empty());
  for (const hook_place& place : taps()) {
    scale_tap half{place, 0.5F, 4};
    EXPECT_GT(moved(run(half)), 10.0F * limit_) << hook_name(place);
  }
}

TEST_P(state_space_taps, writing_the_same_values_changes_nothing) {
  for (const hook_place& place : taps()) {
    scale_tap one{place, 1.0F, 4};
    EXPECT_LE(moved(run(one)), limit_) << hook_name(place);
  }
}

// The state after position 4 is read out there and carried on: positions 0 to 3 stay, 4 and the ones behind
// move.
TEST_P(state_space_taps, an_edited_state_carries_on) {
  for (const hook_place& place : taps()) {
    if (place.point != hook::ssm_state) continue;
    scale_tap half_gone{place, 0.0F, 4};
    const row_matrix change = run(half_gone) - plain_;
    EXPECT_LE(change.topRows(4).cwiseAbs().maxCoeff(), limit_) << hook_name(place);
    EXPECT_GT(change.row(4).cwiseAbs().maxCoeff(), 10.0F * limit_) << hook_name(place);
    EXPECT_GT(change.row(5).cwiseAbs().maxCoeff(), 10.0F * limit_) << hook_name(place);
  }
}

// A state is its decayed predecessor plus the write, by the taps' own values.
TEST_P(state_space_taps, states_follow_from_decays_and_writes) {
  for (const hook_place& place : taps()) {
    if (place.point != hook::ssm_state) continue;
    tap state{place, {}, {}}, decay{{hook::log_decay, place.layer, place.mixer}, {}, {}},
        write{{hook::ssm_write, place.layer, place.mixer}, {}, {}};
    hook_set all{hooks_ref(state), hooks_ref(decay), hooks_ref(write)};
    run(all);
    ASSERT_EQ(state.rows.size(), write.rows.size());
    for (std::size_t p = 1; p < state.rows.size(); ++p) {
      const index repeat = state.rows[p].size() / decay.rows[p].size();  // values that decay alike
      row_vector next = write.rows[p];
      for (index i = 0; i < next.size(); ++i)
        next[i] += std::exp(decay.rows[p][i / repeat]) * state.rows[p - 1][i];
      EXPECT_LE((next - state.rows[p]).cwiseAbs().maxCoeff(),
                same * std::max(1.0F, next.cwiseAbs().maxCoeff()))
          << hook_name(place) << " at " << p;
    }
  }
}

TEST_P(state_space_taps, fire_alike_when_decoding) {
  for (const hook_place& place : taps()) {
    tap together{place, {}, {}}, one_by_one{place, {}, {}};
    run(together);
    any_hooks erased(one_by_one);
    test::golden_decoded(GetParam(), ids_, 3, erased);
    ASSERT_EQ(one_by_one.positions, together.positions) << hook_name(place);
    for (std::size_t i = 0; i < together.rows.size(); ++i)
      EXPECT_LE((one_by_one.rows[i] - together.rows[i]).cwiseAbs().maxCoeff(),
                alike * std::max(1.0F, together.rows[i].cwiseAbs().maxCoeff()))
          << hook_name(place) << " at " << together.positions[i];
  }
}

// Position 5 is a step of its own when decoding; what the edit leaves in caches is what later steps go on
// from.
TEST_P(state_space_taps, an_edit_in_decoding_equals_the_same_edit_in_a_prompt) {
  constexpr index together = 3, edited = 5;
  const float limit = alike * std::max(1.0F, plain_.cwiseAbs().maxCoeff());
  for (const hook_place& place : taps()) {
    scale_position half_gone{{place, 0.0F, edited}};
    const row_matrix prompt = run(half_gone).bottomRows(std::ssize(ids_) - together + 1);
    any_hooks erased(half_gone);
    const row_matrix steps = test::golden_decoded(GetParam(), ids_, together, erased);
    ASSERT_EQ(steps.rows(), prompt.rows());
    EXPECT_LE((steps - prompt).cwiseAbs().maxCoeff(), limit) << hook_name(place);
    const row_matrix change = steps - plain_.bottomRows(steps.rows());
    const index before = edited - together + 1;  // steps that end before the edit
    EXPECT_LE(change.topRows(before).cwiseAbs().maxCoeff(), limit) << hook_name(place);
    EXPECT_GT(change.bottomRows(change.rows() - before).cwiseAbs().maxCoeff(), 3.0F * limit)
        << hook_name(place);
  }
}

INSTANTIATE_TEST_SUITE_P(models, state_space_taps, ::testing::Values("mamba", "mamba2", "zamba2", "hymba"),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace iclmech
