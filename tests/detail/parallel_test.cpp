#include "iclmech/detail/parallel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <vector>

namespace iclmech {
namespace {

/// Sets the library's number of threads for one test.
class with_threads {
 public:
  explicit with_threads(int count) { set_thread_count(count); }
  ~with_threads() { set_thread_count(0); }
};

TEST(parallel_for, calls_every_item_once) {
  const with_threads three(3);
  for (const index n : {0, 1, 2, 3, 100}) {
    std::vector<std::atomic<int>> calls(static_cast<std::size_t>(n));
    detail::parallel_for(n, [&](index i) { ++calls[static_cast<std::size_t>(i)]; });
    for (const auto& count : calls) EXPECT_EQ(count, 1);
  }
}

TEST(parallel_for, hands_on_an_exception_after_all_items) {
  const with_threads three(3);
  std::atomic<int> done{0};
  EXPECT_THROW(detail::parallel_for(20,
                                    [&](index i) {
                                      if (i == 5) throw std::runtime_error("item 5");
                                      ++done;
                                    }),
               std::runtime_error);
  const int expected = thread_count() > 1 ? 19 : 5;  // alone, the loop ends where it fails
  EXPECT_EQ(done, expected);
}

TEST(parallel_for, is_serial_inside_itself) {
  const with_threads three(3);
  std::atomic<int> nested_threads{0};
  detail::parallel_for(4, [&](index) { nested_threads = std::max(nested_threads.load(), thread_count()); });
  EXPECT_EQ(nested_threads, 1);
}

TEST(parallel_for_ranges, covers_everything_in_pieces_of_the_grain) {
  const with_threads three(3);
  for (const index n : {0, 1, 7, 100}) {
    for (const index grain : {1, 10, 60, 1000}) {
      std::vector<std::atomic<int>> calls(static_cast<std::size_t>(n));
      detail::parallel_for_ranges(n, grain, [&](index begin, index end) {
        EXPECT_GE(end - begin, std::min(n, grain));
        for (index i = begin; i < end; ++i) ++calls[static_cast<std::size_t>(i)];
      });
      for (const auto& count : calls) EXPECT_EQ(count, 1);
    }
  }
}

TEST(thread_count, follows_the_request_and_goes_back) {
  const int before = thread_count();
  EXPECT_GE(before, 1);
#ifdef _OPENMP
  set_thread_count(5);
  EXPECT_EQ(thread_count(), 5);
#endif
  set_thread_count(0);
  EXPECT_EQ(thread_count(), before);
}

}  // namespace
}  // namespace iclmech
