#ifndef ICLMECH_TESTS_COMPILE_FAIL_COMPLETE_HOST_HPP
#define ICLMECH_TESTS_COMPILE_FAIL_COMPLETE_HOST_HPP
// A host with every required member, declared and no more, for snippets that take one away.

#include "iclmech/host/host.hpp"

struct complete_host {
  const iclmech::model_spec& spec() const;
  template <iclmech::hooks H>
  iclmech::row_matrix run(iclmech::prompt_batch prompts, H& hooks, iclmech::logit_rows rows);
  iclmech::row_matrix unembedding(std::span<const iclmech::token_id> ids);
  iclmech::row_matrix output_projection(iclmech::mixer_id mixer);
};

#endif  // ICLMECH_TESTS_COMPILE_FAIL_COMPLETE_HOST_HPP
