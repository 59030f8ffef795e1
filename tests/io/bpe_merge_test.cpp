#include "iclmech/io/bpe_merge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace {

using iclmech::append_symbol;
using iclmech::bpe_join;
using iclmech::bpe_symbol;
using iclmech::merge_symbols;
using iclmech::token_id;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using join_table = std::map<std::pair<token_id, token_id>, bpe_join>;

std::vector<token_id> merged(const std::vector<token_id>& ids, const join_table& table) {
  std::vector<bpe_symbol> symbols;
  for (std::size_t i = 0; i < ids.size(); ++i) append_symbol(symbols, ids[i], i, 1);
  std::vector<token_id> out;
  merge_symbols(
      symbols,
      [&](const bpe_symbol& left, const bpe_symbol& right) -> std::optional<bpe_join> {
        const auto found = table.find({left.id, right.id});
        return found == table.end() ? std::nullopt : std::optional(found->second);
      },
      [&](const bpe_symbol& symbol) { out.push_back(symbol.id); });
  return out;
}

/// The definition: of all neighbours the best pair, leftmost among equals, again and again.
std::vector<token_id> merged_by_definition(std::vector<token_id> ids, const join_table& table) {
  while (true) {
    std::optional<std::size_t> best;
    std::uint32_t best_rank = 0;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      const auto found = table.find({ids[i], ids[i + 1]});
      if (found != table.end() && (!best || found->second.rank < best_rank)) {
        best = i;
        best_rank = found->second.rank;
      }
    }
    if (!best) return ids;
    ids[*best] = table.at({ids[*best], ids[*best + 1]}).id;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(*best) + 1);
  }
}

TEST(bpe_merge, joins_the_best_pair_first) {
  const join_table table = {{{1, 2}, {1, 10}}, {{2, 3}, {0, 11}}, {{1, 11}, {2, 12}}};
  EXPECT_THAT(merged({1, 2, 3}, table), ElementsAre(12));
  EXPECT_THAT(merged({1, 2, 2, 3}, table), ElementsAre(10, 11));
  EXPECT_THAT(merged({3, 2, 1}, table), ElementsAre(3, 2, 1));
}

TEST(bpe_merge, joins_from_the_left_among_equals) {
  const join_table table = {{{1, 1}, {0, 2}}};
  EXPECT_THAT(merged({1, 1, 1}, table), ElementsAre(2, 1));
  EXPECT_THAT(merged({1, 1, 1, 1, 1}, table), ElementsAre(2, 2, 1));
}

TEST(bpe_merge, leaves_short_lists) {
  EXPECT_THAT(merged({}, {}), IsEmpty());
  EXPECT_THAT(merged({7}, {}), ElementsAre(7));
}

TEST(bpe_merge, equals_the_definition_on_random_tables) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 300; ++trial) {
    join_table table;
    token_id next = 4;
    for (std::uint32_t rank = 0; rank < 40;
         ++rank) {  // each pair makes a new token, as in a trained vocabulary
      const auto left = static_cast<token_id>(random() % static_cast<unsigned>(next));
      const auto right = static_cast<token_id>(random() % static_cast<unsigned>(next));
      if (table.emplace(std::pair(left, right), bpe_join{rank, next}).second) ++next;
    }
    std::vector<token_id> ids(1 + random() % 60);
    for (token_id& id : ids) id = static_cast<token_id>(random() % 4);
    ASSERT_EQ(merged(ids, table), merged_by_definition(ids, table)) << "trial " << trial;
  }
}

}  // namespace
