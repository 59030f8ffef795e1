#ifndef ICLMECH_TOOLS_STUDY_PROCESS_GROUP_HPP
#define ICLMECH_TOOLS_STUDY_PROCESS_GROUP_HPP
// The processes that mpirun started for one study; one alone in builds without MPI.

#include <nlohmann/json.hpp>
#include <vector>

namespace iclmech::cli {

/// Every process must call the same functions in the same order. One that ends without `finish` takes the
/// others with it, as MPI does.
class process_group {
 public:
  process_group();
  process_group(const process_group&) = delete;
  process_group& operator=(const process_group&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool leads() const { return rank_ == 0; }

  /// Everybody's value, by rank.
  std::vector<nlohmann::json> exchange(const nlohmann::json& mine) const;

  /// What the leading process has.
  nlohmann::json of_leader(const nlohmann::json& mine) const;

  /// Ends the group: nothing may be exchanged any more.
  void finish() const;

 private:
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace iclmech::cli

#endif  // ICLMECH_TOOLS_STUDY_PROCESS_GROUP_HPP
