#include "allocation/allocations.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<long> count{0};

}  // namespace

// Not inlined, or the compiler sees a delete of what malloc gave and warns.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++count;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++count;
  return std::malloc(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

long iclmech_test::allocations() { return count; }

namespace {

TEST(allocation_check_death_test, sees_both_kinds_of_allocation) {
  // A plain call, because a compiler may leave out a new expression and its delete.
  EXPECT_EQ(iclmech_test::allocations_of([] { operator delete(operator new(1)); }), 1);
  EXPECT_DEATH(iclmech_test::allocations_of([] { Eigen::VectorXf(100).setZero(); }),
               "heap allocation is forbidden");
}

}  // namespace
