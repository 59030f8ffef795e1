#ifndef ICLMECH_TSLA_HPP
#define ICLMECH_TSLA_HPP
// Task subspace logit attribution (TSLA): how much of a write lies in the span of the labels' unembedding
// rows (TR, task recognition), and how far it prefers the right label to the others (TL, task learning).
//
// Source: "Localizing task recognition and task learning in in-context learning" (arXiv 2509.24164), its
// definitions of TR and TL. `label_subspace` scores any write; `folded_labels` scores all heads of a mixer
// from their outputs. Needs Eigen and the standard library alone; nothing here runs a model.

#include "iclmech/folded_labels.hpp"
#include "iclmech/label_set.hpp"
#include "iclmech/label_subspace.hpp"

#endif  // ICLMECH_TSLA_HPP
