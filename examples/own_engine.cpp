// The smallest use: an engine of your own that has head outputs and unembedding rows, as plain floats, calls
// tsla.hpp with spans. No adapter, no host, no Eigen in sight.

#include <cstddef>
#include <cstdio>
#include <vector>

#include "iclmech/tsla.hpp"

// Stands for your engine. One layer of 4 heads: head 2 writes "one of the labels" whatever the prompt says,
// head 3 writes the label that is right for the prompt, and heads 0 and 1 have nothing to do with labels.
struct engine {
  static constexpr int width = 16, heads = 4, head_width = 2, vocabulary = 10;
  std::vector<float> unembedding = std::vector<float>(vocabulary * width);  // [vocabulary x width]
  std::vector<float> output_projection =
      std::vector<float>(width * heads * head_width);  // [width x heads * head_width]

  engine() {
    for (int token = 0; token < vocabulary; ++token) unembedding[token * width + token] = 2;
    const auto weight = [&](int row, int head, int column) -> float& {
      return output_projection[(row * heads + head) * head_width + column];
    };
    for (int row = 0; row < width; ++row) weight(row, 0, 0) = weight(row, 1, row % 2) = 0.1F;
    weight(4, 2, 0) = weight(7, 2, 0) = 3;
    weight(4, 3, 0) = weight(7, 3, 1) = 1;
  }

  // Head outputs at the last position of a prompt, [heads * head_width].
  std::vector<float> run(int prompt) const {
    const float right = prompt % 2 == 0 ? 1.0F : 0.0F;
    return {1, 0.5F, -1, 1, 1, 0, right, 1 - right};
  }
};

int main() {
  const engine engine;

  // Once per set of labels: their unembedding rows, one after the other, folded through the output
  // projection.
  const iclmech::label_set tokens({4, 7}, {"positive", "negative"});
  std::vector<float> rows;
  for (const iclmech::token_id token : tokens.tokens()) {
    const float* row = engine.unembedding.data() + token * engine::width;
    rows.insert(rows.end(), row, row + engine::width);
  }
  const iclmech::label_subspace labels(rows, tokens);
  const iclmech::folded_labels folded(labels, engine.output_projection, engine::heads);

  // For every prompt: the scores of all heads, from their outputs alone.
  iclmech::tsla_means means(engine::heads);
  std::vector<iclmech::tsla_score> scores(engine::heads);
  for (int prompt = 0; prompt < 50; ++prompt) {
    const iclmech::token_id answer = prompt % 2 == 0 ? 4 : 7;
    folded.scores(engine.run(prompt), tokens.index_of(answer), scores);
    means.add(scores);
  }

  std::printf("head     TR     TL\n");
  for (int head = 0; head < engine::heads; ++head)
    std::printf("%4d %6.3f %6.3f\n", head, means.tr().mean()(head), means.tl().mean()(head));
  const auto highest = [](const auto& mean) {
    std::ptrdiff_t head = 0;
    mean.maxCoeff(&head);
    return head;
  };
  std::printf("recognises the task: head %td\nlearns the task: head %td\n", highest(means.tr().mean()),
              highest(means.tl().mean()));
}
