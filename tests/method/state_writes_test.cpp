#include "iclmech/method/state_writes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "iclmech/method/head_writes.hpp"
#include "support/edited_host.hpp"
#include "support/golden_scans.hpp"

namespace iclmech {
namespace {

/// float32 sums in other orders, relative to the largest value of the whole.
constexpr float same = 1e-4F;

float limit_of(const const_matrix_ref& whole) { return same * whole.cwiseAbs().maxCoeff(); }

/// A head's write at the last position of a prompt, from hook_z, hook_write_scale and the output projection.
template <class Host>
row_vector last_write(Host& host, const token_sequence& prompt, head_id id) {
  last_output_collector outputs(host.spec(), 1, false);
  host.run(std::span(&prompt, 1), outputs, logit_rows::none);
  return summed_write(host, prompt, outputs[0], std::span(&id, 1)).transpose();
}

class state_writes_of : public ::testing::TestWithParam<std::string> {
 protected:
  state_writes_of() : host_(test::golden_host(GetParam())), prompt_(test::some_tokens(host_.spec(), 14, 3)) {}

  const mixer_spec& mixer(head_id id) const { return host_.spec().mixer(id.layer, id.mixer); }

  /// The rows of a head that a point of its mixer shows, [rows x d_head].
  row_matrix head_of(hook point, head_id id) {
    const index width = mixer(id).d_head;
    return test::shown(host_, prompt_, {point, id.layer, id.mixer}).middleCols(id.head * width, width);
  }

  /// What `y`, a change of the scan's output at `position`, changes of the write with gate and norm held.
  row_vector carried(head_id id, index position, const row_vector& y) {
    const index row = position + host_.spec().prefix_rows, width = mixer(id).d_head;
    const mixer_id m{id.layer, id.mixer};
    const row_vector factor =
        head_of(hook::z, id).row(row).cwiseQuotient(head_of(hook::recurrence_out, id).row(row));
    float scale = 1.0F;
    if (mixer(id).write == write_path::frozen_norm)
      scale = test::shown(host_, prompt_, {hook::write_scale, id.layer, id.mixer})(row, 0);
    return scale * y.cwiseProduct(factor) *
           host_.output_projection(m).middleCols(id.head * width, width).transpose();
  }

  std::vector<head_id> heads() const {
    std::vector<head_id> found;
    for (const head_id id : host_.spec().heads())
      if (is_state_space(id.mixer)) found.push_back(id);
    return found;
  }

  any_host host_;
  token_sequence prompt_;
};

TEST_P(state_writes_of, add_up_to_the_write_of_every_head_at_any_position) {
  for (const index position : {index{0}, index{6}, std::ssize(prompt_) - 1}) {
    const token_sequence until(prompt_.begin(), prompt_.begin() + position + 1);
    std::vector<head_id> seen;
    for_each_state_attribution(host_, prompt_, position, [&](head_id id, const state_attribution& parts) {
      seen.push_back(id);
      ASSERT_EQ(parts.sources.rows(), position + 1 + host_.spec().prefix_rows);
      ASSERT_EQ(parts.sources.cols(), host_.spec().d_model);
      EXPECT_TRUE(parts.initial.isZero());
      const row_vector write = last_write(host_, until, id);
      EXPECT_LE((parts.total() - write).cwiseAbs().maxCoeff(), limit_of(write))
          << host_.spec().label(id) << " at " << position;
    });
    EXPECT_EQ(seen, heads());
  }
}

// The remainder that is credited to the position itself is the skip that the checkpoint stores, times x.
TEST_P(state_writes_of, leave_the_skip_to_the_position_itself) {
  const index position = 9, row = position + host_.spec().prefix_rows;
  for_each_state_attribution(host_, prompt_, position, [&](head_id id, const state_attribution& parts) {
    const index width = mixer(id).d_head;
    const row_vector D =
        test::golden_skip(GetParam(), id.layer, mixer(id).width()).segment(id.head * width, width);
    const row_vector expected = carried(id, position, D.cwiseProduct(head_of(hook::conv, id).row(row)));
    EXPECT_LE((parts.skip - expected).cwiseAbs().maxCoeff(), limit_of(expected)) << host_.spec().label(id);
  });
}

// A source's part is what the write loses in a run in which that source writes nothing to the state.
TEST_P(state_writes_of, give_a_source_what_is_lost_when_it_does_not_write) {
  const index position = 10, prefix = host_.spec().prefix_rows;
  for (const index source : {-prefix, index{4}, position}) {
    for (const head_id id : heads()) {
      if (id.head != 1) continue;
      auto silence = edit<hook::ssm_write>(
          at_mixer({id.layer, id.mixer}),
          [&](const site& s, activation_view write) { write.row(source - s.first_position).setZero(); });
      test::edited_host silenced(host_, silence);
      const index width = mixer(id).d_head;
      const row_vector without = test::shown(silenced, prompt_, {hook::recurrence_out, id.layer, id.mixer})
                                     .block(position + prefix, id.head * width, 1, width);
      const row_vector lost = head_of(hook::recurrence_out, id).row(position + prefix) - without;
      const row_vector expected = carried(id, position, lost);
      const state_attribution parts = source_writes(host_, prompt_, id, position);
      EXPECT_LE((parts.sources.row(source + prefix) - expected).cwiseAbs().maxCoeff(),
                limit_of(parts.total()))
          << host_.spec().label(id) << " from " << source;
    }
  }
}

TEST_P(state_writes_of, can_be_read_out_and_asked_for_by_head) {
  const row_matrix labels = host_.unembedding(std::vector<token_id>{3, 7, 9});
  std::map<head_id, state_attribution> coordinates;
  for_each_state_attribution(host_, prompt_, 8, labels,
                             [&](head_id id, const state_attribution& parts) { coordinates[id] = parts; });
  for_each_state_attribution(host_, prompt_, 8, [&](head_id id, const state_attribution& parts) {
    const auto expect_same = [&](const state_attribution& found, const state_attribution& expected) {
      EXPECT_LE((found.sources - expected.sources).cwiseAbs().maxCoeff(), limit_of(expected.sources))
          << host_.spec().label(id);
      EXPECT_LE((found.skip - expected.skip).cwiseAbs().maxCoeff(), limit_of(expected.skip))
          << host_.spec().label(id);
    };
    expect_same(coordinates.at(id), parts.mapped(labels));
    expect_same(source_writes(host_, prompt_, id, 8), parts);
  });
}

// A channel without output has no quotient to take the factor of gate and norm from.
TEST_P(state_writes_of, add_up_where_a_channel_puts_out_zero) {
  const index last = std::ssize(prompt_) - 1;
  test::edited_host host(host_, edit<hook::recurrence_out>([](const site&, activation_view y) {
                           for (index c = 0; c < y.row_size(); c += 3) y.last_row()[c] = 0.0F;
                         }));
  for_each_state_attribution(host, prompt_, last, [&](head_id id, const state_attribution& parts) {
    EXPECT_TRUE(parts.sources.allFinite()) << host_.spec().label(id);
    const row_vector write = last_write(host, prompt_, id);
    EXPECT_LE((parts.total() - write).cwiseAbs().maxCoeff(), limit_of(write)) << host_.spec().label(id);
  });
}

INSTANTIATE_TEST_SUITE_P(models, state_writes_of, ::testing::ValuesIn(test::state_space_models),
                         [](const auto& instance) { return instance.param; });

TEST(state_writes, of_a_model_without_state_are_none) {
  any_host host = test::golden_host("llama");
  for_each_state_attribution(host, {1, 2, 3}, 2,
                             [](head_id, const state_attribution&) { FAIL() << "llama has no state"; });
}

TEST(state_writes, say_what_cannot_be_split) {
  any_host host = test::golden_host("zamba2");
  const auto message = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const error& e) {
      return e.what();
    }
    return "no error";
  };
  const auto ignore = [](head_id, const state_attribution&) {};
  EXPECT_EQ(message([&] {
              for_each_state_attribution(host, {1, 2, 3}, 3, ignore);
            }),
            "for_each_state_attribution: position 3 is outside [0, 3)");
  EXPECT_EQ(message([&] {
              for_each_state_attribution(host, {1, 2, 3}, 0, row_matrix(2, 5), ignore);
            }),
            "for_each_state_attribution: readout is 2x5 but should be 2x32 to fit the other arguments");
  EXPECT_EQ(message([&] {
              source_writes(host, {1, 2, 3}, {0, mixer_kind::mamba2, 1}, -1);
            }),
            "source_writes: position -1 is outside [0, 3)");
  EXPECT_EQ(message([&] {
              source_writes(host, {1, 2, 3}, {2, mixer_kind::attention, 1}, 0);
            }),
            "source_writes: L2.attention.H1 is an attention head: only state-space heads write from a state");
  EXPECT_THAT(message([&] {
                source_writes(host, {1, 2, 3}, {0, mixer_kind::mamba2, 4}, 0);
              }),
              ::testing::HasSubstr("does not exist"));

  test::edited_host blind(host, no_hooks{});
  blind.spec().observable.remove(hook::log_decay);
  EXPECT_EQ(
      message([&] {
        for_each_state_attribution(blind, {1, 2, 3}, 2, ignore);
      }),
      "this host does not show hook_log_decay of state-space mixers, without which their writes cannot be "
      "split by source");
  test::edited_host bent(host, no_hooks{});
  bent.spec().layers[1].mixers[0].write = write_path::measured;
  EXPECT_EQ(message([&] {
              for_each_state_attribution(bent, {1, 2, 3}, 2, ignore);
            }),
            "the state-space heads of layer 1 have no linear path to the stream, so their writes cannot be "
            "split by source");
}

}  // namespace
}  // namespace iclmech
