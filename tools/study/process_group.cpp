#include "study/process_group.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "iclmech/error.hpp"

#ifdef ICLMECH_WITH_MPI
#include <mpi.h>
#endif

namespace iclmech::cli {

#ifdef ICLMECH_WITH_MPI

namespace {

/// Whether a launcher started this process: initialising MPI without one takes longer than small studies do.
bool launched() {
  constexpr std::array variables{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK"};
  return std::any_of(variables.begin(), variables.end(),
                     [](const char* name) { return std::getenv(name) != nullptr; });
}

}  // namespace

process_group::process_group() {
  if (!launched()) return;
  int running = 0;
  MPI_Initialized(&running);
  if (running == 0) MPI_Init(nullptr, nullptr);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
}

std::vector<nlohmann::json> process_group::exchange(const nlohmann::json& mine) const {
  if (size_ == 1) return {mine};
  const std::vector<std::uint8_t> bytes = nlohmann::json::to_cbor(mine);
  const auto count = static_cast<std::size_t>(size_);
  const std::uint64_t own = bytes.size();
  std::vector<std::uint64_t> sizes(count);
  MPI_Allgather(&own, 1, MPI_UINT64_T, sizes.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD);
  const std::uint64_t total = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
  if (total > static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
    throw error("the processes have " + std::to_string(total) +
                " bytes of results to exchange at once, more than MPI can: take fewer prompts (--count)");
  std::vector<int> lengths(count), offsets(count);
  for (std::size_t r = 0; r < count; ++r) {
    lengths[r] = static_cast<int>(sizes[r]);
    offsets[r] = r == 0 ? 0 : offsets[r - 1] + lengths[r - 1];
  }
  std::vector<std::uint8_t> all(total);
  MPI_Allgatherv(bytes.data(), static_cast<int>(own), MPI_BYTE, all.data(), lengths.data(), offsets.data(),
                 MPI_BYTE, MPI_COMM_WORLD);
  std::vector<nlohmann::json> values;
  for (std::size_t r = 0; r < count; ++r)
    values.push_back(
        nlohmann::json::from_cbor(all.begin() + offsets[r], all.begin() + offsets[r] + lengths[r]));
  return values;
}

void process_group::finish() const {
  if (launched()) MPI_Finalize();
}

#else

process_group::process_group() = default;
std::vector<nlohmann::json> process_group::exchange(const nlohmann::json& mine) const { return {mine}; }
void process_group::finish() const {}

#endif

nlohmann::json process_group::of_leader(const nlohmann::json& mine) const {
  return exchange(leads() ? mine : nlohmann::json()).front();
}

}  // namespace iclmech::cli
