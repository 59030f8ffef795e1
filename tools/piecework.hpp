#ifndef ICLMECH_TOOLS_PIECEWORK_HPP
#define ICLMECH_TOOLS_PIECEWORK_HPP
// How a method goes through its prompts: in pieces, each of which a study may keep, find again, or leave to
// another process.

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace iclmech::cli {

/// Whose pieces a process needs.
enum class needed : unsigned char {
  anywhere,  ///< it is enough that some process has measured a piece
  here       ///< this process goes on with the result, so it needs all
};

/// Measures everything itself and keeps nothing.
class piecework {
 public:
  /// The result of a method on prompts [first, first + count).
  using measure = std::function<nlohmann::json(std::size_t first, std::size_t count)>;

  explicit piecework(std::string what) : what_(std::move(what)) {}
  piecework(const piecework&) = delete;
  piecework& operator=(const piecework&) = delete;
  virtual ~piecework() = default;

  /// The results of `method` on `prompts` prompts in pieces of `size`, in order; null for those that are left
  /// to others.
  virtual std::vector<nlohmann::json> pieces(const std::string& method, std::size_t prompts, std::size_t size,
                                             needed where, const measure& run);

  const std::string& what() const { return what_; }  ///< what the progress bar is called

 private:
  std::string what_;
};

}  // namespace iclmech::cli

#endif  // ICLMECH_TOOLS_PIECEWORK_HPP
