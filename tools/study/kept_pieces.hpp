#ifndef ICLMECH_TOOLS_STUDY_KEPT_PIECES_HPP
#define ICLMECH_TOOLS_STUDY_KEPT_PIECES_HPP
// Piecework of one section of a study: pieces are kept as they are done, found again by a run that resumes,
// and shared among processes and shards.

#include <map>
#include <string>

#include "piecework.hpp"
#include "study/options.hpp"
#include "study/part_store.hpp"
#include "study/process_group.hpp"

namespace iclmech::cli {

class kept_pieces : public piecework {
 public:
  /// `place` says whose pieces they are. `whole`: this process needs all of them, whatever its share.
  kept_pieces(const part_store& store, const process_group& group, const shard& share, section_place place,
              bool whole, std::string what)
      : piecework(std::move(what)),
        store_(store),
        group_(group),
        share_(share),
        place_(std::move(place)),
        whole_(whole) {}

  std::vector<nlohmann::json> pieces(const std::string& method, std::size_t prompts, std::size_t size,
                                     needed where, const measure& run) override;

 private:
  bool mine(std::size_t piece, std::size_t count, needed where) const;

  const part_store& store_;
  const process_group& group_;
  const shard& share_;
  section_place place_;
  bool whole_;
  std::map<std::string, int> calls_;  ///< sections call a method in the same order each time
};

}  // namespace iclmech::cli

#endif  // ICLMECH_TOOLS_STUDY_KEPT_PIECES_HPP
