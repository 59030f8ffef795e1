#ifndef ICLMECH_TESTS_SUPPORT_ARCHETYPE_HOST_HPP
#define ICLMECH_TESTS_SUPPORT_ARCHETYPE_HOST_HPP
// The smallest thing that is a host: a linear model. Heads average what they read over the prompt so far; no
// norms, no MLPs, no forks. What methods find on it can be worked out by hand.

#include "iclmech/detail/random.hpp"
#include "iclmech/host/host.hpp"

namespace iclmech::test {

/// stream(p) = E[id(p)]; per layer, z(p) = V mean(stream(0..p)) and stream += W z; logits = U stream.
class archetype_host {
 public:
  /// The heads of one layer.
  struct layer_shape {
    int heads;
    int d_head;
  };

  explicit archetype_host(int layers = 2, int heads = 3, int d_head = 2, int d_model = 8, int vocabulary = 12)
      : archetype_host(std::vector<layer_shape>(static_cast<std::size_t>(layers), {heads, d_head}), d_model,
                       vocabulary) {}

  /// Layers of different shapes.
  archetype_host(const std::vector<layer_shape>& layers, int d_model, int vocabulary) {
    spec_.name = spec_.architecture = "archetype";
    spec_.d_model = d_model;
    spec_.vocab_size = vocabulary;
    spec_.context_length = 32;
    spec_.observable = {hook::embed,    hook::resid_pre,  hook::z,
                        hook::attn_out, hook::resid_post, hook::final_normalized};
    spec_.editable = spec_.observable;
    embedding = noise(vocabulary, d_model);
    unembedding_rows = noise(vocabulary, d_model);
    for (const auto& [heads, d_head] : layers) {
      mixer_spec mixer;
      mixer.heads = mixer.kv_heads = heads;
      mixer.d_head = mixer.d_key = d_head;
      spec_.layers.push_back({{mixer}, false, false, 0});
      read.push_back(noise(heads * d_head, d_model));
      write.push_back(noise(d_model, heads * d_head));
    }
  }

  row_matrix embedding;           ///< [vocabulary x d_model]
  row_matrix unembedding_rows;    ///< [vocabulary x d_model]
  std::vector<row_matrix> read;   ///< by layer, [heads*d_head x d_model]
  std::vector<row_matrix> write;  ///< by layer, [d_model x heads*d_head]

  const model_spec& spec() const { return spec_; }

  template <hooks H>
  row_matrix run(prompt_batch prompts, H& hook_functions, logit_rows rows = logit_rows::last) {
    check_prompts(spec_, prompts);
    row_matrix logits(0, rows == logit_rows::none ? 0 : spec_.vocab_size);
    for (std::size_t p = 0; p < prompts.size(); ++p) {
      const row_matrix stream = forward(prompts[p], static_cast<int>(p), hook_functions);
      if (rows == logit_rows::none) continue;
      const index count = rows == logit_rows::all ? stream.rows() : 1;
      logits.conservativeResize(logits.rows() + count, Eigen::NoChange);
      logits.bottomRows(count) = stream.bottomRows(count) * unembedding_rows.transpose();
    }
    return logits;
  }

  row_matrix unembedding(std::span<const token_id> ids) const {
    row_matrix rows(static_cast<index>(ids.size()), spec_.d_model);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] < 0 || ids[i] >= spec_.vocab_size)
        throw argument_error("token id " + std::to_string(ids[i]) + " is outside the vocabulary");
      rows.row(static_cast<index>(i)) = unembedding_rows.row(ids[i]);
    }
    return rows;
  }

  row_matrix output_projection(mixer_id id) const {
    spec_.mixer(id.layer, id.mixer);
    return write[static_cast<std::size_t>(id.layer)];
  }

 private:
  row_matrix noise(index rows, index cols) {
    row_matrix m(rows, cols);
    for (index i = 0; i < m.size(); ++i) m.data()[i] = static_cast<float>(random_.uniform() - 0.5);
    return m;
  }

  template <hooks H>
  row_matrix forward(const token_sequence& ids, int sequence, H& hook_functions) {
    const auto fire = [&](hook point, int layer, row_matrix& x, index heads = 0) {
      const site where{point, layer, mixer_kind::attention, sequence, 0, true};
      if (!hook_functions.wants(where)) return;
      if (heads == 0)
        hook_functions.fire(where, activation_view::contiguous(x.data(), 2, {x.rows(), x.cols()}));
      else
        hook_functions.fire(where,
                            activation_view::contiguous(x.data(), 3, {x.rows(), heads, x.cols() / heads}));
    };
    row_matrix stream(static_cast<index>(ids.size()), spec_.d_model);
    for (std::size_t p = 0; p < ids.size(); ++p) stream.row(static_cast<index>(p)) = embedding.row(ids[p]);
    fire(hook::embed, -1, stream);
    for (int l = 0; l < spec_.layer_count(); ++l) {
      const auto layer = static_cast<std::size_t>(l);
      fire(hook::resid_pre, l, stream);
      row_matrix mean = stream;
      for (index p = 1; p < mean.rows(); ++p) mean.row(p) += mean.row(p - 1);
      for (index p = 1; p < mean.rows(); ++p) mean.row(p) /= static_cast<float>(p + 1);
      row_matrix z = mean * read[layer].transpose();
      fire(hook::z, l, z, spec_.layers[layer].mixers.front().heads);
      row_matrix out = z * write[layer].transpose();
      fire(hook::attn_out, l, out);
      stream += out;
      fire(hook::resid_post, l, stream);
    }
    fire(hook::final_normalized, -1, stream);
    return stream;
  }

  model_spec spec_;
  detail::random_stream random_{5};
};

static_assert(host<archetype_host>);

}  // namespace iclmech::test

#endif  // ICLMECH_TESTS_SUPPORT_ARCHETYPE_HOST_HPP
