#include "allocation/allocations.hpp"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <atomic>
#include <cstdlib>

namespace {

std::atomic<long> count{0};

}  // namespace

#ifdef __GLIBC__

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) {
  ++count;
  return __libc_malloc(size);
}
void* calloc(std::size_t items, std::size_t size) {
  ++count;
  return __libc_calloc(items, size);
}
void* realloc(void* memory, std::size_t size) {
  ++count;
  return __libc_realloc(memory, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  ++count;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  ++count;
  *memory = __libc_memalign(alignment, size);
  return *memory ? 0 : 12;  // ENOMEM
}
}

long iclmech::test::allocations() { return count; }

#else

long iclmech::test::allocations() { return -1; }

#endif

namespace {

TEST(allocations, sees_those_of_new_of_eigen_and_of_alignment) {
  if (iclmech::test::allocations() < 0) GTEST_SKIP() << "malloc cannot be replaced here";
  // A plain call, because a compiler may leave out a new expression and its delete.
  EXPECT_EQ(iclmech::test::allocations_of([] { operator delete(operator new(1)); }), 1);
  EXPECT_EQ(iclmech::test::allocations_of([] { Eigen::VectorXf(100).setZero(); }), 1);
  EXPECT_EQ(iclmech::test::allocations_of(
                [] { operator delete(operator new(64, std::align_val_t(64)), std::align_val_t(64)); }),
            1);
  EXPECT_EQ(iclmech::test::allocations_of([] {}), 0);
}

}  // namespace
