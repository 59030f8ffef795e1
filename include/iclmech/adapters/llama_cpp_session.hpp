#ifndef ICLMECH_ADAPTERS_LLAMA_CPP_SESSION_HPP
#define ICLMECH_ADAPTERS_LLAMA_CPP_SESSION_HPP
// A model loaded into llama.cpp, with a cache for many sequences, decoded batch by batch.

#include <llama.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "iclmech/adapters/llama_cpp_tap.hpp"
#include "iclmech/detail/parallel.hpp"
#include "iclmech/host/host.hpp"

namespace iclmech {

struct llama_cpp_options {
  /// Longest prompt, in tokens, if the model's own context is longer; 0: no limit but the model's. llama.cpp
  /// sets memory aside for twice the longest prompt so far (at first 2048 tokens): 4 bytes for every number
  /// of their keys and values.
  int context_limit = 0;
  int threads = 0;     ///< 0: as many as the library uses elsewhere (set_thread_count)
  int gpu_layers = 0;  ///< layers that llama.cpp may put on a GPU, if it was built for one
  int mamba1_heads = default_channel_groups;  ///< as in load_options
};

/// What one sequence adds in a decode.
struct llama_part {
  int number = 0;  ///< site::sequence
  std::span<const token_id> tokens;
  index first_position = 0;
  index prefix_cell = 0;
};

/// One llama_model and one llama_context. Sequences of a decode have the ids 0, 1, ... from `first_id` on.
class llama_session {
 public:
  /// @throws file_error if llama.cpp does not load the model (its log says why); argument_error for a limit
  /// below 0; unsupported_error for more layers than llama.cpp takes.
  llama_session(const std::string& path, const model_spec& spec, const llama_cpp_options& options,
                llama_tap& tap)
      : path_(path), tap_(&tap), recurrent_(keeps_states(spec)), prompt_limit_(spec.context_length) {
    if (options.context_limit < 0)
      throw argument_error("context_limit is " + std::to_string(options.context_limit) +
                           ", it must not be negative");
    // llama.cpp stops the program for more.
    constexpr int most_layers = 512;
    if (spec.layer_count() > most_layers)
      throw unsupported_error(path + " has " + std::to_string(spec.layer_count()) +
                              " layers, llama.cpp takes at most " + std::to_string(most_layers));
    llama_backend_init();
    llama_model_params model_params = llama_model_default_params();
    model_params.n_gpu_layers = options.gpu_layers;
    model_.reset(llama_model_load_from_file(path.c_str(), model_params));
    if (!model_) throw file_error(path, "model", "is not loaded by llama.cpp, whose log says why");
    if (options.context_limit > 0 && (prompt_limit_ == 0 || options.context_limit < prompt_limit_))
      prompt_limit_ = options.context_limit;

    params_ = llama_context_default_params();
    params_.n_seq_max = sequence_limit(spec);
    params_.n_threads = params_.n_threads_batch = options.threads > 0 ? options.threads : thread_count();
    // One cache for all sequences, in float32, and attention weights that can be seen.
    params_.kv_unified = params_.swa_full = true;
    params_.type_k = params_.type_v = GGML_TYPE_F32;
    params_.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
    params_.op_offload = false;
    params_.no_perf = true;
    params_.cb_eval = &llama_tap::callback;
    params_.cb_eval_user_data = &tap;
    constexpr int at_first = 2048;
    make_context(prompt_limit_ > 0 ? std::min(prompt_limit_, at_first) : at_first);
  }

  /// Longest prompt; 0: there is no limit.
  int prompt_limit() const { return prompt_limit_; }
  /// Sees to it that prompts of this length fit, which forgets all sequences if they did not.
  /// @throws file_error if llama.cpp cannot get the memory; what fitted before still does.
  void make_room(index prompt_length) {
    if (prompt_length > tokens_) make_context(prompt_length);
  }
  /// Most tokens of a decode.
  index token_limit() const { return tokens_; }
  /// Most tokens whose keys and values fit into the cache.
  index cell_limit() const { return 2 * tokens_; }
  int sequence_limit() const { return static_cast<int>(params_.n_seq_max); }
  /// Whether a sequence has states, which can only be gone on with at its end.
  bool recurrent() const { return recurrent_; }
  int vocab_size() const { return llama_vocab_n_tokens(llama_model_get_vocab(model_.get())); }

  /// Forgets all sequences.
  void clear() {
    llama_memory_clear(llama_get_memory(context_.get()), tap_->take_poisoned());
    cells_ = 0;
  }
  /// Forgets the sequences from `first_id` on, which were decoded last and with `tokens` tokens.
  void forget(int first_id, int count, index tokens) {
    for (int id = first_id; id < first_id + count; ++id)
      llama_memory_seq_rm(llama_get_memory(context_.get()), id, -1, -1);
    cells_ -= tokens;
  }
  /// Lets sequence `to` begin with the first `length` positions of `from`; with all of them if it has states.
  void share(int from, int to, index length) {
    const auto end = recurrent_ ? -1 : static_cast<llama_pos>(length);
    llama_memory_seq_cp(llama_get_memory(context_.get()), from, to, -1, end);
  }
  /// Where the cache has the next token.
  index next_cell() const { return cells_; }

  /// Decodes the parts, the first one as sequence `first_id`. `outputs`: which rows go through the end of the
  /// last layer; of these logits can be had afterwards if `logits`.
  /// @throws error if llama.cpp fails, and whatever a hook throws.
  void decode(std::span<const llama_part> parts, int first_id, any_hooks* hook_functions, logit_rows outputs,
              bool logits) {
    rows_.clear();
    batch_ = {};
    index outputs_before = 0;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const auto count = static_cast<index>(parts[p].tokens.size()),
                 first = static_cast<index>(batch_.token.size());
      const index kept = outputs == logit_rows::all ? count : 1;
      rows_.push_back({parts[p].number, parts[p].first_position, first, count, outputs_before, kept,
                       cells_ + first, parts[p].prefix_cell});
      outputs_before += kept;
      for (index t = 0; t < count; ++t) {
        batch_.token.push_back(parts[p].tokens[static_cast<std::size_t>(t)]);
        batch_.pos.push_back(static_cast<llama_pos>(parts[p].first_position + t));
        batch_.id.push_back(first_id + static_cast<int>(p));
        batch_.output.push_back(t >= count - kept ? 1 : 0);
      }
    }
    batch_.ids.reserve(batch_.id.size());
    for (llama_seq_id& id : batch_.id) batch_.ids.push_back(&id);
    batch_.one.assign(batch_.id.size(), 1);
    llama_batch batch{};
    batch.n_tokens = static_cast<std::int32_t>(batch_.token.size());
    batch.token = batch_.token.data();
    batch.pos = batch_.pos.data();
    batch.n_seq_id = batch_.one.data();
    batch.seq_id = batch_.ids.data();
    batch.logits = batch_.output.data();

    tap_->begin(rows_, hook_functions, logits);
    const std::int32_t status = llama_decode(context_.get(), batch);
    llama_synchronize(context_.get());
    tap_->end();
    if (status != 0)
      throw error("llama.cpp: llama_decode of " + std::to_string(batch.n_tokens) + " tokens in " +
                  std::to_string(parts.size()) + " sequences returned " + std::to_string(status));
    cells_ += batch.n_tokens;
  }

  /// Rows of the last decode's batch, part by part.
  std::span<const llama_rows> rows() const { return rows_; }
  /// Logits of a row of the last decode's batch.
  Eigen::Map<const row_vector> logits(index row) const {
    const float* values = llama_get_logits_ith(context_.get(), static_cast<std::int32_t>(row));
    if (values == nullptr)
      throw error("llama.cpp: no logits for row " + std::to_string(row) + " of the batch");
    return {values, vocab_size()};
  }

 private:
  struct free_model {
    void operator()(llama_model* m) const { llama_model_free(m); }
  };
  struct free_context {
    void operator()(llama_context* c) const { llama_free(c); }
  };
  struct batch_arrays {
    std::vector<llama_token> token;
    std::vector<llama_pos> pos;
    std::vector<llama_seq_id> id;
    std::vector<llama_seq_id*> ids;
    std::vector<std::int32_t> one;
    std::vector<std::int8_t> output;
  };

  void make_context(index prompt_length) {
    llama_context_params params = params_;
    // llama.cpp wants room for a row of every sequence.
    params.n_batch = params.n_ubatch = std::max(static_cast<std::uint32_t>(prompt_length), params.n_seq_max);
    params.n_ctx = 2 * params.n_batch;
    std::unique_ptr<llama_context, free_context> made(llama_init_from_model(model_.get(), params));
    if (!made)
      throw file_error(path_, "model",
                       "llama.cpp makes no context for prompts of " + std::to_string(prompt_length) +
                           " tokens; its log says why");
    context_ = std::move(made);
    tokens_ = static_cast<index>(params.n_batch);
  }

  static bool keeps_states(const model_spec& spec) {
    const std::vector<mixer_kind> kinds = spec.mixer_kinds();
    return std::any_of(kinds.begin(), kinds.end(), is_state_space);
  }

  // As many as llama.cpp allows; recurrent states are set aside for each, so a gigabyte of them.
  static std::uint32_t sequence_limit(const model_spec& spec) {
    const auto most = static_cast<index>(llama_max_parallel_sequences());
    index state = 0;
    for (const layer_spec& layer : spec.layers)
      for (const mixer_spec& mixer : layer.mixers) state += index{4} * mixer.width() * mixer.d_state;
    return static_cast<std::uint32_t>(state == 0 ? most
                                                 : std::clamp<index>((index{1} << 30) / state, 2, most));
  }

  std::string path_;
  llama_tap* tap_;
  bool recurrent_;
  int prompt_limit_;
  llama_context_params params_{};
  std::unique_ptr<llama_model, free_model> model_;
  std::unique_ptr<llama_context, free_context> context_;
  index tokens_ = 0;
  index cells_ = 0;
  std::vector<llama_rows> rows_;
  batch_arrays batch_;
};

}  // namespace iclmech

#endif  // ICLMECH_ADAPTERS_LLAMA_CPP_SESSION_HPP
