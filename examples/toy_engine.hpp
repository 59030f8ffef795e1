#ifndef ICLMECH_EXAMPLES_TOY_ENGINE_HPP
#define ICLMECH_EXAMPLES_TOY_ENGINE_HPP
// Stands for an inference engine that knows nothing of iclmech: two transformer layers with its own tensors
// and a callback for whoever wants to see them. Its weights are set so that it learns in context.

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <vector>

namespace toy {

struct tensor {
  int rows = 0, cols = 0;
  std::vector<float> data;
  tensor(int r, int c) : rows(r), cols(c), data(static_cast<std::size_t>(r * c)) {}
  float& operator()(int r, int c) { return data[static_cast<std::size_t>(r * cols + c)]; }
  float operator()(int r, int c) const { return data[static_cast<std::size_t>(r * cols + c)]; }
};

inline tensor multiply(const tensor& x, const tensor& w) {  // x w^T
  tensor y(x.rows, w.rows);
  for (int r = 0; r < x.rows; ++r)
    for (int o = 0; o < w.rows; ++o)
      for (int c = 0; c < x.cols; ++c) y(r, o) += x(r, c) * w(o, c);
  return y;
}
inline void add(tensor& x, const tensor& y) {
  for (std::size_t i = 0; i < x.data.size(); ++i) x.data[i] += y.data[i];
}

/// Called with a stage ("embed", "resid", "heads", "attn", "mlp", "out", "final"), its layer and its rows.
using callback = std::function<void(std::string_view stage, int layer, tensor& value)>;

class engine {
 public:
  // The stream: [the token | the token before it | the position]. Tokens 0 to 5 are words, 6 and 7 are
  // labels.
  static constexpr int vocabulary = 8, positions = 16, width = 2 * vocabulary + positions, layers = 2,
                       heads = 2, head_width = 16, hidden = 8;
  struct layer {
    tensor q{heads * head_width, width}, k = q, v = q, o{width, heads*head_width}, up{hidden, width},
                                         down{width, hidden};
  };

  explicit engine(unsigned seed)
      : layers_(layers), embedding(vocabulary, width), unembedding(vocabulary, width) {
    for (layer& l : layers_)
      for (tensor* t : {&l.q, &l.k, &l.v, &l.o, &l.up, &l.down})
        for (float& x : t->data)
          x = 0.04F * (static_cast<float>((seed = seed * 1664525U + 1013904223U) >> 8) / 16777216.0F - 0.5F);
    for (int t = 0; t < vocabulary; ++t) embedding(t, t) += 1, unembedding(t, t) += 1;
    layer &first = layers_[0], &second = layers_[1];
    for (int p = 0; p < positions; ++p) {  // L0H0 looks one position back ...
      first.q(p, 2 * vocabulary + p) += 40;
      if (p + 1 < positions) first.k(p + 1, 2 * vocabulary + p) += 1;
    }
    for (int t = 0; t < vocabulary; ++t) {
      first.v(t, t) += 1, first.o(vocabulary + t, t) += 1;  // ... and copies the token it finds there.
      second.q(t, t) += 40,
          second.k(t, vocabulary + t) += 1;      // L1H0 looks for what followed this word before ...
      second.v(t, t) += 1, second.o(t, t) += 3;  // ... and says it again.
    }
    for (int t : {6, 7}) second.v(head_width, t) += 2, second.o(t, head_width) += 3;  // L1H1 says "a label".
  }

  const tensor& output_weights(int l) const { return layers_[static_cast<std::size_t>(l)].o; }
  const tensor& unembedding_weights() const { return unembedding; }

  tensor forward(const std::vector<int>& tokens, const callback& show) const {  // logits, a row per token
    tensor x(static_cast<int>(tokens.size()), width);
    for (int p = 0; p < x.rows; ++p) {
      for (int c = 0; c < width; ++c) x(p, c) = embedding(tokens[static_cast<std::size_t>(p)], c);
      x(p, 2 * vocabulary + p % positions) += 1;
    }
    show("embed", -1, x);
    for (int l = 0; l < layers; ++l) {
      const layer& w = layers_[static_cast<std::size_t>(l)];
      show("resid", l, x);
      tensor z = attend(multiply(x, w.q), multiply(x, w.k), multiply(x, w.v));
      show("heads", l, z);
      tensor a = multiply(z, w.o);
      show("attn", l, a);
      add(x, a);
      tensor h = multiply(x, w.up);
      for (float& value : h.data) value = std::max(0.0F, value);
      tensor m = multiply(h, w.down);
      show("mlp", l, m);
      add(x, m);
      show("out", l, x);
    }
    show("final", -1, x);
    return multiply(x, unembedding);
  }

 private:
  static tensor attend(const tensor& q, const tensor& k, const tensor& v) {
    tensor z(q.rows, q.cols);
    for (int head = 0; head < heads; ++head)
      for (int p = 0; p < q.rows; ++p) {
        std::vector<float> weight;
        float sum = 0;
        for (int s = 0; s <= p; ++s) {
          float score = 0;
          for (int c = head * head_width; c < (head + 1) * head_width; ++c) score += q(p, c) * k(s, c) / 4;
          sum += weight.emplace_back(std::exp(score));
        }
        for (int s = 0; s <= p; ++s)
          for (int c = head * head_width; c < (head + 1) * head_width; ++c)
            z(p, c) += weight[static_cast<std::size_t>(s)] / sum * v(s, c);
      }
    return z;
  }

  std::vector<layer> layers_;
  tensor embedding, unembedding;
};

}  // namespace toy

#endif  // ICLMECH_EXAMPLES_TOY_ENGINE_HPP
