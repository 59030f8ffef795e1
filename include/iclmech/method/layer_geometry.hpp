#ifndef ICLMECH_METHOD_LAYER_GEOMETRY_HPP
#define ICLMECH_METHOD_LAYER_GEOMETRY_HPP
// Where the residual stream stands against the label subspace, layer by layer, and what the writes of chosen
// heads change about it. Also: how much of those writes lies in the subspace, against chance.

#include <string>
#include <vector>

#include "iclmech/geometry.hpp"
#include "iclmech/method/head_selection.hpp"
#include "iclmech/method/head_writes.hpp"
#include "iclmech/method/predict.hpp"

namespace iclmech {

/// Means over prompts, at the last position.
struct layer_geometry {
  std::vector<stream_geometry> entering;           ///< [layer]: the stream entering each layer
  stream_geometry leaving;                         ///< the stream behind the last layer
  std::vector<std::string> selections;             ///< names, in the order of `with`
  std::vector<std::vector<stream_geometry>> with;  ///< [selection][layer]: entering, plus the writes that the
                                                   ///< selection's heads of this layer make
};

/// How much of a head's write lies in the label subspace.
struct subspace_share {
  head_id head;
  double share = 0.0;            ///< mean over prompts of ||P a||^2 / ||a||^2
  double expected = 0.0;         ///< mean of rank / d_model, the share of a random subspace
  std::vector<double> p_values;  ///< per prompt, under `concentration_null`

  /// The median p-value; 1 without prompts.
  double median_p() const {
    if (p_values.empty()) return 1.0;
    std::vector<double> sorted = p_values;
    std::sort(sorted.begin(), sorted.end());
    return detail::sorted_quantile(sorted, 0.5);
  }
};

namespace detail {

inline void add_scaled(stream_geometry& sum, const stream_geometry& x, double factor) {
  sum.alignment += factor * x.alignment;
  sum.logit_difference += factor * x.logit_difference;
  sum.rotation += factor * x.rotation;
}

}  // namespace detail

/// Runs the prompts, `batch` together; `progress(done)` is called after each batch.
/// @throws argument_error for prompts the model cannot take, colliding labels, heads it does not have.
template <class Host, class Progress>
layer_geometry measure_layer_geometry(Host& h, std::span<const labelled_prompt> prompts,
                                      std::span<const head_selection> selections, std::size_t batch,
                                      Progress&& progress) {
  require_host<Host>();
  const auto layers = h.spec().layers.size();
  layer_geometry result;
  result.entering.resize(layers);
  for (const head_selection& s : selections) result.selections.push_back(s.name);
  result.with.assign(selections.size(), std::vector<stream_geometry>(layers));
  const double share = prompts.empty() ? 0.0 : 1.0 / static_cast<double>(prompts.size());
  for (std::size_t first = 0; first < prompts.size(); first += batch) {
    const auto part = prompts.subspan(first, std::min(batch, prompts.size() - first));
    std::vector<token_sequence> ids;
    for (const labelled_prompt& p : part) ids.push_back(p.ids);
    std::vector<std::vector<vector>> stream(part.size(), std::vector<vector>(layers + 1));
    last_output_collector outputs(h.spec(), part.size(), false);
    const auto ends = [](const site& s) { return s.ends_sequence; };
    const auto keep = [&stream](std::size_t offset) {
      return [&stream, offset](const site& s, const_activation_view x) {
        stream[static_cast<std::size_t>(s.sequence)][static_cast<std::size_t>(s.layer) + offset] =
            x.last_row().transpose();
      };
    };
    const int last = h.spec().layer_count() - 1;
    hook_set watch{hooks_ref<last_output_collector>(outputs), observe<hook::resid_pre>(ends, keep(0)),
                   observe<hook::resid_post>(
                       [last](const site& s) { return s.ends_sequence && s.layer == last; }, keep(1))};
    h.run(ids, watch, logit_rows::none);
    for (std::size_t p = 0; p < part.size(); ++p) {
      const label_subspace labels(h.unembedding(part[p].labels), label_set(part[p].labels));
      const index answer = labels.labels().index_of(part[p].answer);
      for (std::size_t l = 0; l < layers; ++l)
        detail::add_scaled(result.entering[l], geometry_of(labels, stream[p][l], answer), share);
      detail::add_scaled(result.leaving, geometry_of(labels, stream[p][layers], answer), share);
      for (std::size_t s = 0; s < selections.size(); ++s)
        for (std::size_t l = 0; l < layers; ++l) {
          std::vector<head_id> here;
          for (const head_id head : selections[s].heads)
            if (head.layer == static_cast<int>(l)) here.push_back(head);
          const vector x =
              here.empty() ? stream[p][l] : vector(stream[p][l] + summed_write(h, ids[p], outputs[p], here));
          detail::add_scaled(result.with[s][l], geometry_of(labels, x, answer), share);
        }
    }
    progress(first + part.size());
  }
  return result;
}

/// The share of each head's write in the label subspace and how likely it is by chance.
/// @throws argument_error for prompts the model cannot take, colliding labels, heads it does not have.
template <class Host>
std::vector<subspace_share> subspace_shares(Host& h, std::span<const labelled_prompt> prompts,
                                            std::span<const head_id> heads, std::size_t batch = 8) {
  require_host<Host>();
  std::vector<subspace_share> result;
  for (const head_id head : heads) result.push_back({head, 0.0, 0.0, {}});
  const double n = static_cast<double>(std::max<std::size_t>(1, prompts.size()));
  for (std::size_t first = 0; first < prompts.size(); first += batch) {
    const auto part = prompts.subspan(first, std::min(batch, prompts.size() - first));
    std::vector<token_sequence> ids;
    for (const labelled_prompt& p : part) ids.push_back(p.ids);
    last_output_collector outputs(h.spec(), part.size(), false);
    h.run(ids, outputs, logit_rows::none);
    for (std::size_t p = 0; p < part.size(); ++p) {
      const label_subspace labels(h.unembedding(part[p].labels), label_set(part[p].labels));
      const concentration_null chance(labels.rank(), h.spec().d_model);
      for (std::size_t k = 0; k < heads.size(); ++k) {
        const vector write = summed_write(h, ids[p], outputs[p], heads.subspan(k, 1));
        const double length = write.template cast<double>().squaredNorm();
        const double inside = labels.projection_norm(write);
        const double share = length > 0.0 ? std::min(1.0, inside * inside / length) : 0.0;
        result[k].share += share / n;
        result[k].expected += chance.mean() / n;
        result[k].p_values.push_back(chance.p_value(share));
      }
    }
  }
  return result;
}

}  // namespace iclmech

#endif  // ICLMECH_METHOD_LAYER_GEOMETRY_HPP
