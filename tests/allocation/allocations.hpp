#ifndef ICLMECH_TEST_ALLOCATION_ALLOCATIONS_HPP
#define ICLMECH_TEST_ALLOCATION_ALLOCATIONS_HPP
// Counts what is allocated, by operator new, Eigen and everything else alike. The tests of this folder are a
// program of their own, because counting replaces malloc.

namespace iclmech::test {

/// How often memory has been asked for; -1 where malloc cannot be replaced (outside glibc).
long allocations();

/// How often `work` asks for memory.
template <class Work>
long allocations_of(Work&& work) {
  const long before = allocations();
  work();
  return allocations() - before;
}

}  // namespace iclmech::test

#endif  // ICLMECH_TEST_ALLOCATION_ALLOCATIONS_HPP
