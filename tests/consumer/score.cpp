// What somebody does with the library in an engine of their own: score one write, without any host.

#ifdef SINGLE_HEADER
#include "iclmech-tsla.hpp"
#else
#include "iclmech/tsla.hpp"
#endif

#include <cmath>
#include <cstdio>
#include <vector>

int main() {
  // Unembedding rows of two labels in a stream of width 3, and a write of length 5 in their plane.
  const std::vector<float> label_rows{1, 0, 0, 0, 2, 0};
  const std::vector<float> write{3, 4, 0};
  const iclmech::label_subspace labels(label_rows, iclmech::label_set({11, 22}, {"no", "yes"}));
  const iclmech::tsla_score score = labels.score(write, 1);
  std::printf("TR %.3f TL %.3f\n", score.tr, score.tl);
  // TR = |(3, 4)| = 5; TL = (2 * 4 - 1 * 3) / 5 = 1.
  return std::abs(score.tr - 5) < 1e-6 && std::abs(score.tl - 1) < 1e-6 ? 0 : 1;
}
