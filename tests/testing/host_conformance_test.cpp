#include "iclmech/testing/host_conformance_suite.hpp"

#include <gmock/gmock.h>

#include <memory>

#include "../examples/toy_host.hpp"
#include "support/archetype_host.hpp"
#include "support/hosts.hpp"

namespace iclmech {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct archetype_hosts {
  static test::archetype_host make() { return test::archetype_host(); }
  static conformance_options options() { return {}; }
};
struct toy_hosts {
  static toy_host make() { return toy_host(toy::engine(3)); }
  static conformance_options options() { return {}; }
};
struct bundled_hosts {
  static any_host make() { return test::golden_host("llama"); }
  static conformance_options options() { return {}; }
};
using all_hosts = ::testing::Types<archetype_hosts, toy_hosts, bundled_hosts>;
INSTANTIATE_TYPED_TEST_SUITE_P(hosts, host_conformance, all_hosts);

class reference_engine_on : public ::testing::TestWithParam<std::string> {};

TEST_P(reference_engine_on, keeps_what_hosts_promise) {
  any_host host = test::golden_host(GetParam());
  EXPECT_THAT(check_host(host), IsEmpty());
}

TEST_P(reference_engine_on, keeps_it_on_prompts_of_the_authors_choice) {
  any_host host = test::golden_host(GetParam());
  conformance_options options;
  options.prompts = {test::some_tokens(host.spec(), 12, 3), test::some_tokens(host.spec(), 2, 4)};
  EXPECT_THAT(check_host(host, options), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(models, reference_engine_on, ::testing::ValuesIn(test::golden_models),
                         [](const auto& instance) { return instance.param; });

/// What a faulty host does to a firing before its hooks see it, and to the value after.
using tampering =
    std::function<void(const site&, activation_view, const std::function<void(activation_view)>&)>;

/// A good host with one thing wrong.
struct faulty_host {
  std::shared_ptr<any_host> good;
  tampering tamper = [](const site&, activation_view view, const auto& fire) { fire(view); };
  std::function<row_matrix(row_matrix)> projection = [](row_matrix w) { return w; };
  std::function<row_matrix(row_matrix)> rows = [](row_matrix r) { return r; };
  std::function<void(prompt_batch, row_matrix&)> logits = [](prompt_batch, row_matrix&) {};
  std::function<void(model_spec&)> claim = [](model_spec&) {};
  bool checks_prompts = true;
  model_spec claimed = good->spec();

  template <hooks H>
  struct between {
    H* theirs;
    const tampering* tamper;
    static constexpr bool observes(hook) { return true; }
    static constexpr bool edits(hook) { return true; }
    bool wants(const site& s) const { return theirs->wants(s); }
    void fire(const site& s, activation_view view) {
      (*tamper)(s, view, [theirs = theirs, s](activation_view shown) { theirs->fire(s, shown); });
    }
  };

  const model_spec& spec() const { return claimed; }
  template <hooks H>
  row_matrix run(prompt_batch prompts, H& hook_functions, logit_rows wanted) {
    if (!checks_prompts && prompts[0].size() < 3) return row_matrix::Zero(1, claimed.vocab_size);
    between<H> ours{&hook_functions, &tamper};
    row_matrix result = good->run(prompts, ours, wanted);
    logits(prompts, result);
    return result;
  }
  row_matrix unembedding(std::span<const token_id> ids) { return rows(good->unembedding(ids)); }
  row_matrix output_projection(mixer_id id) { return projection(good->output_projection(id)); }
};

class seeded_fault : public ::testing::Test {
 protected:
  seeded_fault() : host_{std::make_shared<any_host>(test::golden_host("llama"))} {}

  /// All complaints, a line each.
  std::string complaints(const conformance_options& options = {}) {
    std::string all;
    for (const std::string& complaint : check_host(host_, options)) all += complaint + "\n";
    return all;
  }

  faulty_host host_;
};

TEST_F(seeded_fault, none_is_found_in_the_good_host) { EXPECT_EQ(complaints(), ""); }

void swap_heads(activation_view view) {
  for (index r = 0; r < view.rows(); ++r) {
    auto row = view.row(r);
    const row_vector first = row.head(view.shape(2));
    row.head(view.shape(2)) = row.segment(view.shape(2), view.shape(2));
    row.segment(view.shape(2), view.shape(2)) = first;
  }
}

TEST_F(seeded_fault, heads_in_another_order) {
  host_.tamper = [](const site& s, activation_view view, const auto& fire) {
    if (s.point == hook::z) swap_heads(view);
    fire(view);
    if (s.point == hook::z) swap_heads(view);
  };
  EXPECT_THAT(
      complaints(),
      HasSubstr("what hook_z calls head 0 goes through the columns of head 1, so the heads' order is wrong"));
}

TEST_F(seeded_fault, a_projection_with_its_heads_in_another_order) {
  host_.projection = [](row_matrix w) {
    const row_matrix first = w.leftCols(16);
    w.leftCols(16) = w.rightCols(16);
    w.rightCols(16) = first;
    return w;
  };
  EXPECT_THAT(complaints(), HasSubstr("what hook_z calls head 0 goes through the columns of head 3"));
}

TEST_F(seeded_fault, a_transposed_projection) {
  host_.projection = [](const row_matrix& w) { return row_matrix(w.transpose()); };
  EXPECT_THAT(complaints(), HasSubstr("the output projection is transposed"));
}

TEST_F(seeded_fault, a_projection_of_another_shape) {
  host_.projection = [](const row_matrix& w) { return row_matrix(w.leftCols(32)); };
  EXPECT_THAT(
      complaints(),
      HasSubstr(
          "The output projection of attention in layer 0 is 64 x 32, not d_model x heads*d_head = 64 x 64."));
}

TEST_F(seeded_fault, a_gain_that_is_not_folded_in) {
  host_.projection = [](const row_matrix& w) { return row_matrix(1.1F * w); };
  EXPECT_THAT(complaints(), HasSubstr("The heads' writes in layer 0 (output projection times hook_z) do not "
                                      "add up to blocks.0.hook_attn_out"));
}

TEST_F(seeded_fault, a_hook_that_fires_twice) {
  host_.tamper = [](const site& s, activation_view view, const auto& fire) {
    fire(view);
    if (s.point == hook::resid_mid && s.layer == 1) fire(view);
  };
  EXPECT_THAT(complaints(), HasSubstr("blocks.1.hook_resid_mid fired 2 times in a run of one prompt"));
}

TEST_F(seeded_fault, a_hook_that_never_fires) {
  host_.tamper = [](const site& s, activation_view view, const auto& fire) {
    if (s.point != hook::mlp_post) fire(view);
  };
  EXPECT_THAT(complaints(), HasSubstr("blocks.0.mlp.hook_post did not fire"));
}

TEST_F(seeded_fault, a_hook_that_is_not_claimed) {
  host_.claimed.observable.remove(hook::mlp_pre);
  EXPECT_THAT(complaints(),
              HasSubstr("blocks.0.mlp.hook_pre fired, but the model has no such place or the spec does not"));
}

TEST_F(seeded_fault, hooks_in_another_order) {
  // Keeps hook_z back until mixer_out has fired.
  auto late = std::make_shared<std::function<void()>>();
  host_.tamper = [late](const site& s, activation_view view, const auto& fire) {
    if (s.point == hook::z && s.layer == 0) {
      *late = [fire, shape = view.shape(), copy = row_matrix(view.matrix())]() mutable {
        fire(activation_view::contiguous(copy.data(), 3, shape));
      };
      return;
    }
    fire(view);
    if (s.point == hook::mixer_out && s.layer == 0 && *late) std::exchange(*late, nullptr)();
  };
  EXPECT_THAT(complaints(),
              HasSubstr("blocks.0.hook_mixer_out fired before blocks.0.attn.hook_z, which it depends on."));
}

TEST_F(seeded_fault, claiming_fewer_points_is_none) {
  host_.claimed.observable = {hook::z, hook::resid_post};
  host_.claimed.editable = {hook::z};
  host_.tamper = [](const site& s, activation_view view, const auto& fire) {
    if (s.point == hook::z || s.point == hook::resid_post) fire(view);
  };
  EXPECT_EQ(complaints(), "");
}

TEST_F(seeded_fault, a_shape_that_is_not_the_specs) {
  host_.tamper = [](const site& s, activation_view view, const auto& fire) {
    if (s.point == hook::z)
      fire({view.data(), 2, {view.rows(), view.row_size()}, view.row_stride()});
    else
      fire(view);
  };
  EXPECT_THAT(
      complaints(),
      HasSubstr("blocks.0.attn.hook_z showed [7, 64] instead of [7, 4, 16] (position, head, d_head)."));
}

TEST_F(seeded_fault, a_state_that_leaks_between_runs) {
  auto last = std::make_shared<float>(0.0F);
  host_.logits = [last](prompt_batch prompts, row_matrix& logits) {
    logits.array() += 1e-6F * *last;
    *last = static_cast<float>(prompts.back().back());
  };
  EXPECT_THAT(complaints(), HasSubstr("a cache or state leaks between runs"));
}

TEST_F(seeded_fault, observing_that_changes_a_value) {
  host_.tamper = [](const site& s, activation_view view, const auto& fire) {
    fire(view);
    if (s.point == hook::mlp_out && s.layer == 2) view.last_row()[0] += 1e-5F;
  };
  EXPECT_THAT(complaints(),
              HasSubstr("Observing blocks.2.hook_mlp_out changed the logits: a watched run must equal"));
}

TEST_F(seeded_fault, an_edit_that_is_ignored) {
  host_.tamper = [](const site& s, activation_view view, const auto& fire) {
    row_matrix copy = view.matrix();
    if (s.point == hook::resid_pre)
      fire(activation_view::contiguous(copy.data(), 2, view.shape()));
    else
      fire(view);
  };
  EXPECT_THAT(complaints(), HasSubstr("An edit of blocks.0.hook_resid_pre at the last position was ignored"));
}

TEST_F(seeded_fault, an_edit_that_reaches_earlier_positions) {
  host_.tamper = [](const site& s, activation_view view, const auto& fire) {
    const row_vector before = view.last_row();
    fire(view);
    if (s.point == hook::mlp_out && before != view.last_row()) view.row(0) = view.last_row();
  };
  EXPECT_THAT(
      complaints(),
      HasSubstr(
          "An edit of blocks.0.hook_mlp_out at the last position changed the logits of earlier positions"));
}

TEST_F(seeded_fault, an_edit_that_outlives_its_run) {
  auto seen = std::make_shared<bool>(false);
  host_.tamper = [seen](const site&, activation_view view, const auto& fire) {
    const row_matrix before = view.matrix();
    fire(view);
    *seen = *seen || before != view.matrix();
  };
  host_.logits = [seen](prompt_batch, row_matrix& logits) { logits.array() += *seen ? 0.5F : 0.0F; };
  EXPECT_THAT(complaints(), HasSubstr("an edit outlives its run"));
}

TEST_F(seeded_fault, a_batch_in_another_order) {
  host_.logits = [](prompt_batch prompts, row_matrix& logits) {
    if (prompts.size() > 1 && logits.rows() > 1) logits = row_matrix(logits.colwise().reverse());
  };
  EXPECT_THAT(complaints(), HasSubstr("In a batch, prompt 0 has other logits than alone"));
}

TEST_F(seeded_fault, wrong_rows_of_the_unembedding) {
  host_.rows = [](const row_matrix& r) { return row_matrix(2.0F * r); };
  EXPECT_THAT(complaints(),
              HasSubstr("The logits are 0.500000 times the unembedding rows times ln_final.hook_normalized"));
  host_.rows = [](const row_matrix& r) { return row_matrix(r.colwise().reverse()); };
  EXPECT_THAT(complaints(), HasSubstr("but its unembedding row times ln_final.hook_normalized is"));
  host_.rows = [](const row_matrix& r) { return row_matrix(r.leftCols(3)); };
  EXPECT_THAT(complaints(),
              HasSubstr("The unembedding rows of two tokens are 2 x 3, not 2 x d_model = 2 x 64"));
}

TEST_F(seeded_fault, a_stream_that_misses_a_part) {
  host_.tamper = [](const site& s, activation_view view, const auto& fire) {
    row_matrix scaled = 2.0F * view.matrix();
    if (s.point == hook::mlp_out)
      fire(activation_view::contiguous(scaled.data(), 2, view.shape()));
    else
      fire(view);
  };
  host_.claimed.editable.remove(hook::mlp_out);
  EXPECT_THAT(
      complaints(),
      HasSubstr("hook_resid_post of layer 0 is not hook_resid_pre plus what the layer's parts put out"));
}

TEST_F(seeded_fault, an_empty_prompt_that_is_taken) {
  host_.checks_prompts = false;
  EXPECT_THAT(complaints(), HasSubstr("The host took an empty prompt without an iclmech::error."));
}

TEST_F(seeded_fault, an_error_that_breaks_the_host) {
  auto failed = std::make_shared<bool>(false);
  host_.tamper = [failed](const site&, activation_view view, const auto& fire) {
    try {
      fire(view);
    } catch (...) {
      *failed = true;
      throw;
    }
  };
  host_.logits = [failed](prompt_batch, row_matrix& logits) { logits.array() += *failed ? 0.5F : 0.0F; };
  EXPECT_THAT(complaints(),
              HasSubstr("After an exception from a hook, the host gives other logits than before"));
}

TEST_F(seeded_fault, logits_of_another_shape) {
  host_.claimed.vocab_size = 100;
  EXPECT_THAT(complaints(), HasSubstr("gave 7 x 128 logits instead of one row of 100 per token"));
}

/// A host whose forks are wrong: it says it can fork and leaves the edits out.
struct forks_without_edits : test::archetype_host {
  template <hooks H, class Sink>
  void run_forked(prompt_batch prompts, std::span<const fork> forks, H&, Sink&& sink) {
    no_hooks none;
    sink(0, run(prompts, none));
    for (std::size_t f = 0; f < forks.size(); ++f)
      sink(static_cast<index>(prompts.size() + f),
           run(prompts.subspan(static_cast<std::size_t>(forks[f].parent), 1), none));
  }
};

TEST(host_conformance_errors, a_sweep_that_is_not_the_loop) {
  forks_without_edits host;
  EXPECT_THAT(check_host(host), ElementsAre(HasSubstr("run_forked and run disagree")));
}

TEST(host_conformance_errors, prompts_that_cannot_tell_anything) {
  test::archetype_host host;
  conformance_options options;
  options.prompts = {{1, 2}, {3, 4}};
  EXPECT_THROW(check_host(host, options), argument_error);
}

TEST(distance, is_relative_and_knows_infinities) {
  row_matrix a(1, 3), b(1, 3);
  a << 2.0F, -INFINITY, 0.0F;
  b << 1.0F, -INFINITY, 0.0F;
  EXPECT_EQ(distance(a, b), 1.0F);
  b << 2.0F, 1.0F, 0.0F;
  EXPECT_EQ(distance(a, b), INFINITY);
  EXPECT_EQ(distance(a, row_matrix::Zero(3, 1)), INFINITY);
  EXPECT_EQ(distance(row_matrix::Zero(2, 2), row_matrix::Zero(2, 2)), 0.0F);
}

}  // namespace
}  // namespace iclmech
