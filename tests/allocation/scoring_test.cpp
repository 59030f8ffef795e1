// Scoring a prompt must not allocate.
#include <gtest/gtest.h>

#include <vector>

#include "allocation/allocations.hpp"
#include "iclmech/tsla.hpp"
#include "support/random_matrix.hpp"

namespace {

using namespace iclmech;
using iclmech::index;  // and not the POSIX function
using iclmech::test::allocations_of;
using iclmech::test::random_matrix;

TEST(allocation, scoring_does_not_allocate) {
  const label_subspace labels(random_matrix(5, 64, 1), label_set({1, 2, 3, 4, 5}));
  const row_matrix projection = random_matrix(64, 48, 2);
  const folded_labels folded(labels, projection, 4);
  const row_matrix writes = random_matrix(3, 64, 3);
  const row_matrix outputs = random_matrix(3, 48, 4);
  std::vector<tsla_score> scores(4);
  std::vector<float> c(20);
  tsla_means means(4);
  EXPECT_EQ(allocations_of([&] {
              for (index prompt = 0; prompt < 3; ++prompt) {
                scores[0] = labels.score(writes.row(prompt), prompt);
                labels.coordinates(std::span(writes.data(), 64), std::span(c).first(5));
                scores[1].tr = labels.projection_norm(writes.row(prompt));
                folded.scores(outputs.row(prompt), prompt, scores, 0.5F);
                folded.coordinates(std::span(outputs.data(), 48), c);
                means.add(scores);
              }
            }),
            0);
}

}  // namespace
