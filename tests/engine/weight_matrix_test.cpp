#include "iclmech/engine/weight_matrix.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "iclmech/detail/random.hpp"
#include "support/product_reference.hpp"
#include "support/random_matrix.hpp"

namespace iclmech {
namespace {

using iclmech::test::is_product;
using iclmech::test::random_matrix;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// Random bytes of a matrix, at an odd address. One bit of every byte is 0, so that no half or bfloat16 is
/// larger than 2 in magnitude.
struct stored_bytes {
  stored_bytes(dtype type, index rows, index cols)
      : memory(std::make_shared<std::vector<std::byte>>(
            static_cast<std::size_t>(rows * cols / block_elements(type) * block_bytes(type)) + 1)) {
    detail::random_stream random{11, detail::stream_key(name(type))};
    for (std::byte& b : *memory) b = static_cast<std::byte>(random.below(256)) & std::byte{0xbf};
    if (type == dtype::f32 || type == dtype::f64) {
      for (index i = 0; i < rows * cols; ++i) {
        const double value = 2 * random.uniform() - 1;
        const float narrow = static_cast<float>(value);
        std::byte* const place = memory->data() + 1 + i * block_bytes(type);
        if (type == dtype::f32) std::memcpy(place, &narrow, sizeof narrow);
        if (type == dtype::f64) std::memcpy(place, &value, sizeof value);
      }
    }
  }
  std::span<const std::byte> data() const { return std::span<const std::byte>(*memory).subspan(1); }

  std::shared_ptr<std::vector<std::byte>> memory;
};

class every_encoding : public testing::TestWithParam<dtype> {
 protected:
  index whole(index cols) const { return (cols + unit() - 1) / unit() * unit(); }
  index unit() const { return block_elements(GetParam()); }
};

TEST_P(every_encoding, decodes_as_the_reader_does) {
  const index rows = 5, cols = whole(70);
  const stored_bytes bytes(GetParam(), rows, cols);
  const weight_matrix w(GetParam(), bytes.data(), rows, cols, bytes.memory);
  row_matrix expected(rows, cols);
  dequantize(GetParam(), bytes.data().data(), rows * cols, expected.data());
  EXPECT_EQ(w.to_dense(), expected);
  EXPECT_EQ(w.rows(), rows);
  EXPECT_EQ(w.cols(), cols);
}

TEST_P(every_encoding, multiplies_as_its_values_do) {
  for (const index cols : {whole(1), whole(300), whole(1100)}) {
    for (const index rows : {1, 18, 50}) {
      const stored_bytes bytes(GetParam(), rows, cols);
      const weight_matrix w(GetParam(), bytes.data(), rows, cols, bytes.memory);
      const row_matrix dense = w.to_dense();
      for (const index n : {0, 1, 3, 4, 13}) {
        const row_matrix x = random_matrix(n, cols, 1), before = random_matrix(n, rows, 2);
        row_matrix y = before;
        w.multiply(x, y);
        EXPECT_TRUE(is_product(y, x, dense, row_matrix::Zero(n, rows)));
        y = before;
        w.multiply(x, y, true);
        EXPECT_TRUE(is_product(y, x, dense, before));
      }
    }
  }
}

TEST_P(every_encoding, multiplies_by_columns_that_cut_through_blocks) {
  const index rows = 21, cols = whole(900);
  const stored_bytes bytes(GetParam(), rows, cols);
  const weight_matrix w(GetParam(), bytes.data(), rows, cols, bytes.memory);
  const row_matrix dense = w.to_dense();
  for (const index first : {0, 1, 64, 300}) {
    for (const index width : {1, 64, 500}) {
      for (const index n : {1, 9}) {
        const row_matrix x = random_matrix(n, width, 1), before = random_matrix(n, rows, 2);
        row_matrix y = before;
        w.multiply_columns(first, x, y, true);
        EXPECT_TRUE(is_product(y, x, dense.middleCols(first, width), before)) << "from column " << first;
        y = before;
        detail::stored_matrix part{.type = GetParam(),
                                   .data = bytes.data().data(),
                                   .row_bytes = cols / unit() * block_bytes(GetParam()),
                                   .rows = rows,
                                   .cols = width,
                                   .first_column = first};
        detail::multiply_portable(x, part, y, true);
        EXPECT_TRUE(is_product(y, x, dense.middleCols(first, width), before)) << "without kernels of our own";
      }
    }
  }
}

TEST_P(every_encoding, gathers_rows_in_the_order_asked_for) {
  const index rows = 6, cols = whole(40);
  const stored_bytes bytes(GetParam(), rows, cols);
  const weight_matrix w(GetParam(), bytes.data(), rows, cols, bytes.memory);
  const std::vector<token_id> ids{5, 0, 5, 2};
  row_matrix out(4, cols);
  w.gather(ids, out);
  const row_matrix dense = w.to_dense();
  for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(out.row(static_cast<index>(i)), dense.row(ids[i]));
}

TEST_P(every_encoding, undoes_an_order_of_rows_everywhere) {
  const index rows = 24, cols = whole(64);
  const stored_bytes bytes(GetParam(), rows, cols);
  const row_matrix stored = weight_matrix(GetParam(), bytes.data(), rows, cols, bytes.memory).to_dense();
  std::vector<std::int32_t> order(24);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i * 7 % 24);
  const weight_matrix w(GetParam(), bytes.data(), rows, cols, bytes.memory, order);
  row_matrix expected(rows, cols), gathered(1, cols);
  for (index r = 0; r < rows; ++r) expected.row(r) = stored.row(order[static_cast<std::size_t>(r)]);
  EXPECT_EQ(w.to_dense(), expected);
  EXPECT_FALSE(w.is_dense());
  w.gather(std::vector<token_id>{10}, gathered);
  EXPECT_EQ(gathered.row(0), expected.row(10));
  for (const index n : {1, 8}) {
    const row_matrix x = random_matrix(n, cols, 1), zero = row_matrix::Zero(n, rows);
    row_matrix y = zero;
    w.multiply(x, y);
    EXPECT_TRUE(is_product(y, x, expected, zero));
  }
}

INSTANTIATE_TEST_SUITE_P(weight_matrix, every_encoding,
                         testing::Values(dtype::f64, dtype::f32, dtype::f16, dtype::bf16, dtype::q4_0,
                                         dtype::q4_1, dtype::q5_0, dtype::q5_1, dtype::q8_0, dtype::q4_k,
                                         dtype::q5_k, dtype::q6_k),
                         [](const auto& type) { return std::string(name(type.param)); });

TEST(weight_matrix, shows_float32_where_it_lies) {
  const row_matrix values = random_matrix(7, 9, 1);
  const weight_matrix owned(values);
  ASSERT_TRUE(owned.is_dense());
  EXPECT_EQ(owned.dense(), values);
  const weight_matrix copy = owned;
  EXPECT_EQ(copy.dense().data(), owned.dense().data());

  const auto mapped = std::make_shared<const row_matrix>(values);
  const weight_matrix view(dtype::f32, std::as_bytes(std::span(mapped->data(), 63)), 7, 9, mapped);
  ASSERT_TRUE(view.is_dense());
  EXPECT_EQ(view.dense().data(), mapped->data());
}

TEST(weight_matrix, keeps_its_bytes_alive) {
  stored_bytes bytes(dtype::q8_0, 3, 32);
  const std::weak_ptr<std::vector<std::byte>> watch = bytes.memory;
  weight_matrix plain(dtype::q8_0, bytes.data(), 3, 32, bytes.memory);
  weight_matrix ordered(dtype::q8_0, bytes.data(), 3, 32, bytes.memory, {2, 0, 1});
  bytes.memory.reset();
  EXPECT_FALSE(watch.expired());
  plain = {};
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(ordered.to_dense().rows(), 3);
  ordered = {};
  EXPECT_TRUE(watch.expired());
  EXPECT_EQ(ordered.rows(), 0);
}

TEST(weight_matrix, says_what_does_not_fit) {
  const stored_bytes bytes(dtype::q8_0, 3, 32);
  const auto make = [&](dtype type, index rows, index cols, std::vector<std::int32_t> order = {}) {
    return [&bytes, type, rows, cols, order] {
      return weight_matrix(type, bytes.data(), rows, cols, bytes.memory, order);
    };
  };
  EXPECT_THAT(make(dtype::q8_0, 4, 32),
              ThrowsMessage<argument_error>(HasSubstr("102 bytes are not 4 rows of 32 elements of q8_0")));
  EXPECT_THAT(make(dtype::q8_0, 3, 33), ThrowsMessage<argument_error>(HasSubstr("blocks of 32")));
  EXPECT_THAT(make(dtype::i32, 3, 32),
              ThrowsMessage<argument_error>(HasSubstr("i32 elements are not real numbers")));
  EXPECT_THAT(make(dtype::q8_0, 3, 32, {0, 1}),
              ThrowsMessage<argument_error>(HasSubstr("must list 3 stored rows")));
  EXPECT_THAT(make(dtype::q8_0, 3, 32, {0, 1, 3}),
              ThrowsMessage<argument_error>(HasSubstr("must list 3 stored rows")));

  const weight_matrix w = make(dtype::q8_0, 3, 32)();
  row_matrix out(2, 32), y(1, 3);
  EXPECT_THAT([&] { w.dense(); },
              ThrowsMessage<argument_error>(HasSubstr("stored as q8_0, there is no float32")));
  EXPECT_THAT(
      [&] {
        make(dtype::q8_0, 3, 32, {2, 1, 0})().dense();
      },
      ThrowsMessage<argument_error>(HasSubstr("in another order")));
  EXPECT_THAT(
      [&] {
        w.gather(std::vector<token_id>{1, 3}, out);
      },
      ThrowsMessage<argument_error>(HasSubstr("id 3 at place 1 is outside [0, 3)")));
  EXPECT_THAT(
      [&] {
        w.gather(std::vector<token_id>{-1, 0}, out);
      },
      ThrowsMessage<argument_error>(HasSubstr("id -1 at place 0")));
  EXPECT_THAT([&] { w.gather(std::vector<token_id>{1}, out); },
              ThrowsMessage<argument_error>(HasSubstr("1 rows of 32 values do not fit into a 2x32 matrix")));
  EXPECT_THAT([&] { w.multiply_columns(30, row_matrix(1, 3), y); },
              ThrowsMessage<argument_error>(HasSubstr("columns 30 to 33 of 32")));
  EXPECT_THAT([&] { w.multiply(row_matrix(1, 31), y); }, ThrowsMessage<argument_error>(HasSubstr("W 3x32")));
}

}  // namespace
}  // namespace iclmech
