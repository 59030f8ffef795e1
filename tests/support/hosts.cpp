#include "support/hosts.hpp"

#include "iclmech/detail/random.hpp"
#include "iclmech/engine/load_host.hpp"

namespace iclmech::test {

std::string golden_folder(const std::string& model) {
  return std::string(ICLMECH_TEST_DATA "/models/") + model;
}

any_host file_host(const std::string& path, bool packed) {
  load_options options;
  options.storage = packed ? weight_storage::packed : weight_storage::dense;
  return load_host(path, options);
}

any_host golden_host(const std::string& model, bool packed) {
  return file_host(golden_folder(model), packed);
}

row_matrix golden_decoded(const std::string& model, const token_sequence& ids, std::size_t together) {
  no_hooks none;
  any_hooks erased(none);
  return golden_decoded(model, ids, together, erased);
}

row_matrix golden_decoded(const std::string& model, const token_sequence& ids, std::size_t together,
                          any_hooks& hook_functions) {
  reference_engine engine(load_model(golden_folder(model)));
  std::vector<sequence_cache> cache(1);
  row_matrix logits(static_cast<index>(ids.size() - together + 1), engine.spec().vocab_size);
  for (std::size_t done = 0; done < ids.size();) {
    const std::size_t count = done == 0 ? together : 1;
    const std::vector<token_sequence> next{
        token_sequence(ids.begin() + static_cast<std::ptrdiff_t>(done),
                       ids.begin() + static_cast<std::ptrdiff_t>(done + count))};
    done += count;
    logits.row(static_cast<index>(done - together)) = engine.advance(next, cache, hook_functions);
  }
  return logits;
}

token_sequence some_tokens(const model_spec& spec, std::size_t count, std::uint64_t seed) {
  detail::random_stream random(seed);
  token_sequence ids(count);
  for (token_id& id : ids)
    id = static_cast<token_id>(random.below(static_cast<std::uint64_t>(spec.vocab_size)));
  return ids;
}

}  // namespace iclmech::test
