#ifndef ICLMECH_HOST_HEAD_MAP_HPP
#define ICLMECH_HOST_HEAD_MAP_HPP
// One value per head of a model whose layers may have different mixers and head counts.

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "iclmech/host/model_spec.hpp"

namespace iclmech {

/// A value for every head. Storage is flat, in the order of `model_spec::heads()`, one slice per mixer.
template <class T>
class head_map {
 public:
  head_map() = default;

  explicit head_map(const model_spec& spec, const T& value = T{}) {
    for (const mixer_id& id : spec.mixer_ids()) {
      const int heads = spec.mixer(id.layer, id.mixer).heads;
      slices_.push_back({id, values_.size(), static_cast<std::size_t>(heads)});
      values_.insert(values_.end(), static_cast<std::size_t>(heads), value);
      for (int head = 0; head < heads; ++head) ids_.push_back({id.layer, id.mixer, head});
    }
  }

  std::size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }

  T& operator[](head_id id) { return values_[position(id)]; }
  const T& operator[](head_id id) const { return values_[position(id)]; }

  /// The heads of one mixer, in order.
  std::span<T> mixer(mixer_id id) { return slice_of(values_, id); }
  std::span<const T> mixer(mixer_id id) const { return slice_of(values_, id); }

  /// All values, in the order of `ids()`.
  std::span<T> values() { return values_; }
  std::span<const T> values() const { return values_; }
  std::span<const head_id> ids() const { return ids_; }

  /// Where a head's value stands in `values()`; argument_error if the map has no such head.
  std::size_t position(head_id id) const {
    const slice& s = find({id.layer, id.mixer});
    if (id.head < 0 || static_cast<std::size_t>(id.head) >= s.count)
      throw argument_error("head map has no head " + to_string(id, true));
    return s.first + static_cast<std::size_t>(id.head);
  }

 private:
  struct slice {
    mixer_id id;
    std::size_t first;
    std::size_t count;
  };

  const slice& find(mixer_id id) const {
    // Layers are few and slices sorted by layer, so a scan from the first possible place is short.
    const auto first = std::lower_bound(slices_.begin(), slices_.end(), id.layer,
                                        [](const slice& s, int layer) { return s.id.layer < layer; });
    const auto it = std::find_if(first, slices_.end(), [id](const slice& s) { return s.id == id; });
    if (it == slices_.end())
      throw argument_error("head map has no " + std::string(to_string(id.mixer)) + " mixer in layer " +
                           std::to_string(id.layer));
    return *it;
  }

  template <class Values>
  auto slice_of(Values& values, mixer_id id) const {
    const slice& s = find(id);
    return std::span(values).subspan(s.first, s.count);
  }

  std::vector<slice> slices_;
  std::vector<head_id> ids_;
  std::vector<T> values_;
};

}  // namespace iclmech

#endif  // ICLMECH_HOST_HEAD_MAP_HPP
