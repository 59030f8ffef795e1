#ifndef ICLMECH_TEST_ALLOCATION_ALLOCATIONS_HPP
#define ICLMECH_TEST_ALLOCATION_ALLOCATIONS_HPP
// Counts what is allocated. The tests of this folder are a program of their own, because the check replaces
// operator new and changes Eigen for the whole program: include this header first.

#ifdef EIGEN_CORE_H
#error "allocations.hpp must come before Eigen"
#endif
#define EIGEN_RUNTIME_NO_MALLOC

#include <Eigen/Core>

namespace iclmech_test {

/// How often operator new has run.
long allocations();

/// Runs `work` with Eigen's allocations forbidden (they end the program) and returns how often operator new
/// ran.
template <class Work>
long allocations_of(Work&& work) {
  const long before = allocations();
  Eigen::internal::set_is_malloc_allowed(false);
  work();
  Eigen::internal::set_is_malloc_allowed(true);
  return allocations() - before;
}

}  // namespace iclmech_test

#endif  // ICLMECH_TEST_ALLOCATION_ALLOCATIONS_HPP
