#ifndef ICLMECH_DETAIL_RANDOM_HPP
#define ICLMECH_DETAIL_RANDOM_HPP
// Seeded random numbers that are the same on every platform and standard library: SplitMix64 and what is
// drawn from it.
//
// The standard's engines are portable but its distributions and std::shuffle are not, and results must be
// repeatable from a seed alone. The generator is Steele, Lea and Flood's SplitMix64 (OOPSLA 2014).

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace iclmech::detail {

/// A key part made of a word (FNV-1a), so that different uses of one seed do not share random numbers.
constexpr std::uint64_t stream_key(std::string_view purpose) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char letter : purpose) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  return hash;
}

/// A stream of random numbers that is a pure function of its key.
class random_stream {
 public:
  /// The plain SplitMix64 sequence that starts from `state`.
  explicit constexpr random_stream(std::uint64_t state) : state_(state) {}

  /// A stream of its own for each key, such as {seed, stream_key("queries"), index}; order matters.
  constexpr random_stream(std::initializer_list<std::uint64_t> key) : state_(0) {
    for (const std::uint64_t part : key) state_ = mix(state_ + increment) ^ part;
    state_ = mix(state_);
  }

  /// 64 random bits.
  constexpr std::uint64_t next() {
    state_ += increment;
    return mix(state_);
  }

  /// A whole number in [0, bound), every one equally likely; `bound` must not be 0.
  constexpr std::uint64_t below(std::uint64_t bound) {
    // Numbers under 2^64 mod bound are drawn again, as they would make small remainders likelier.
    const std::uint64_t rejected = (std::uint64_t{0} - bound) % bound;
    std::uint64_t number = next();
    while (number < rejected) number = next();
    return number % bound;
  }

  /// A number in [0, 1) with 53 random bits.
  constexpr double uniform() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

  /// Puts `items` in a random order (Fisher-Yates).
  template <typename T>
  constexpr void shuffle(std::vector<T>& items) {
    for (std::size_t last = items.size(); last > 1; --last) std::swap(items[last - 1], items[below(last)]);
  }

  /// 0 .. size-1 in a random order.
  constexpr std::vector<std::size_t> permutation(std::size_t size) {
    std::vector<std::size_t> order(size);
    std::iota(order.begin(), order.end(), std::size_t{0});
    shuffle(order);
    return order;
  }

  /// One of `items`, which must not be empty.
  template <typename T>
  constexpr const T& pick(std::span<const T> items) {
    return items[below(items.size())];
  }

 private:
  static constexpr std::uint64_t increment = 0x9e3779b97f4a7c15U;

  static constexpr std::uint64_t mix(std::uint64_t bits) {
    bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;
    bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
    return bits ^ (bits >> 31U);
  }

  std::uint64_t state_;
};

}  // namespace iclmech::detail

#endif  // ICLMECH_DETAIL_RANDOM_HPP
