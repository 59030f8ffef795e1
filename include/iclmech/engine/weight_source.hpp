#ifndef ICLMECH_ENGINE_WEIGHT_SOURCE_HPP
#define ICLMECH_ENGINE_WEIGHT_SOURCE_HPP
// Weights by their Hugging Face names, whatever file they come from, in the layout the blocks expect.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "iclmech/engine/weight_matrix.hpp"
#include "iclmech/io/tensor_file.hpp"

namespace iclmech {

/// How weight matrices are held in memory.
enum class weight_storage : unsigned char {
  dense,  ///< as float32: the fastest products
  packed  ///< as the file has them, widened panel by panel in every product: little more memory than the file
};

namespace detail {

/// The GGUF name of a Hugging Face tensor. `gemma` tells apart two uses of one name.
inline std::string gguf_name(std::string_view hf, bool gemma) {
  using pair = std::pair<std::string_view, std::string_view>;
  static constexpr std::array whole{pair{"model.embed_tokens.weight", "token_embd.weight"},
                                    pair{"backbone.embeddings.weight", "token_embd.weight"},
                                    pair{"model.norm.weight", "output_norm.weight"},
                                    pair{"backbone.norm_f.weight", "output_norm.weight"},
                                    pair{"lm_head.weight", "output.weight"}};
  for (const auto& [from, to] : whole)
    if (hf == from) return std::string(to);
  static constexpr std::array parts{pair{"input_layernorm", "attn_norm"},
                                    pair{"norm", "attn_norm"},
                                    pair{"pre_feedforward_layernorm", "ffn_norm"},
                                    pair{"post_feedforward_layernorm", "post_ffw_norm"},
                                    pair{"self_attn.q_proj", "attn_q"},
                                    pair{"self_attn.k_proj", "attn_k"},
                                    pair{"self_attn.v_proj", "attn_v"},
                                    pair{"self_attn.o_proj", "attn_output"},
                                    pair{"self_attn.q_norm", "attn_q_norm"},
                                    pair{"self_attn.k_norm", "attn_k_norm"},
                                    pair{"mlp.gate_proj", "ffn_gate"},
                                    pair{"mlp.up_proj", "ffn_up"},
                                    pair{"mlp.down_proj", "ffn_down"},
                                    pair{"mixer.in_proj", "ssm_in"},
                                    pair{"mixer.conv1d", "ssm_conv1d"},
                                    pair{"mixer.x_proj", "ssm_x"},
                                    pair{"mixer.dt_proj", "ssm_dt"},
                                    pair{"mixer.norm", "ssm_norm"},
                                    pair{"mixer.out_proj", "ssm_out"}};
  const auto layers = hf.find("layers.");
  const auto number = layers + 7, dot = hf.find('.', number);
  const std::string block = "blk." + std::string(hf.substr(number, dot - number)) + ".";
  const std::string_view rest = hf.substr(dot + 1);
  if (rest == "mixer.A_log") return block + "ssm_a";
  if (rest == "mixer.D") return block + "ssm_d";
  if (rest == "mixer.dt_bias") return block + "ssm_dt.bias";
  const auto kind = rest.rfind('.');
  const std::string_view part = rest.substr(0, kind), suffix = rest.substr(kind);
  if (part == "post_attention_layernorm")
    return block + (gemma ? "post_attention_norm" : "ffn_norm") + std::string(suffix);
  for (const auto& [from, to] : parts)
    if (part == from) return block + std::string(to) + std::string(suffix);
  return std::string(hf);
}

}  // namespace detail

/// Hands out weights from a tensor_file. Shapes are checked against what the configuration asks for.
class weight_source {
 public:
  struct options {
    weight_storage storage = weight_storage::dense;
    bool gguf = false;         ///< names and layout of GGUF
    bool gemma = false;        ///< two norms of Gemma have other GGUF names than Llama's
    bool split_pairs = false;  ///< q and k rows are stored with rotary pairs as neighbours (GGUF of llama)
  };

  weight_source(tensor_file file, options how)
      : file_(std::make_shared<tensor_file>(std::move(file))), options_(how) {}

  const options& how() const { return options_; }
  bool has(const std::string& name) const { return file_->find(stored(name)) != nullptr; }

  /// @throws file_error unless the file has such a tensor exactly if it is `expected`; the message ends with
  /// `reason`, which says what expects that.
  void require_presence(const std::string& name, bool expected, const std::string& reason) const {
    if (has(name) == expected) return;
    throw file_error(file_->path(), "tensor " + detail::in_quotes(stored(name)),
                     (expected ? "is missing, but " : "is in the file, but ") + reason);
  }

  /// The first of several names that the file has, or the first if it has none.
  std::string any_of(std::initializer_list<std::string> names) const {
    for (const std::string& name : names)
      if (has(name)) return name;
    return *names.begin();
  }

  /// A matrix in float32; dimensions of size 1 are ignored in the comparison of shapes.
  row_matrix matrix(const std::string& name, index rows, index cols) const {
    const tensor_entry& entry = checked(name, {rows, cols});
    row_matrix values(rows, cols);
    const std::vector<float> flat = file_->read(entry);
    std::copy(flat.begin(), flat.end(), values.data());
    return values;
  }

  vector values(const std::string& name, index size) const {
    const std::vector<float> flat = file_->read(checked(name, {size}));
    return Eigen::Map<const vector>(flat.data(), size);
  }

  vector optional_values(const std::string& name, index size) const {
    return has(name) ? values(name, size) : vector{};
  }

  /// A weight to multiply with, rows of q and k put into the order of rotate-half if `head_dim` is given.
  weight_matrix weight(const std::string& name, index rows, index cols, index head_dim = 0) const {
    const tensor_entry& entry = checked(name, {rows, cols});
    const bool in_pairs = head_dim > 0 && options_.split_pairs;
    if (options_.storage == weight_storage::packed) {
      std::vector<std::int32_t> order;
      if (in_pairs)
        for (index row = 0; row < rows; ++row)
          order.push_back(static_cast<std::int32_t>(stored_row(row, head_dim)));
      return weight_matrix(entry.type, entry.data, rows, cols, file_, std::move(order));
    }
    row_matrix values = file_->read_matrix(entry);
    file_->release(entry);
    return weight_matrix(in_pairs ? join_pairs(values, head_dim) : std::move(values));
  }

  /// Biases of q and k, in the same order.
  vector head_bias(const std::string& name, index size, index head_dim) const {
    const vector bias = optional_values(name, size);
    if (bias.size() == 0 || !options_.split_pairs) return bias;
    return join_pairs(row_matrix(bias), head_dim).col(0);
  }

 private:
  std::string stored(const std::string& name) const {
    return options_.gguf ? detail::gguf_name(name, options_.gemma) : name;
  }

  const tensor_entry& checked(const std::string& name, std::vector<index> shape) const {
    const tensor_entry& entry = file_->require(stored(name));
    const auto squeezed = [](std::vector<index> extents) {
      std::erase(extents, index{1});
      return extents;
    };
    const index wanted = std::accumulate(shape.begin(), shape.end(), index{1}, std::multiplies<>());
    // GGUF stores some vectors in groups, [groups, size/groups].
    const bool grouped = options_.gguf && shape.size() == 1 && entry.size() == wanted;
    if (!grouped && squeezed(entry.shape) != squeezed(shape)) file_->require(entry.name, shape);  // throws
    file_->require_reals(entry);
    return entry;
  }

  // Row j D/2 + i of a head in the rotate-half order is stored as row 2i + j.
  static index stored_row(index row, index head_dim) {
    const index half = head_dim / 2, within = row % head_dim;
    return row - within + 2 * (within % half) + within / half;
  }

  static row_matrix join_pairs(const row_matrix& stored_rows, index head_dim) {
    row_matrix rows(stored_rows.rows(), stored_rows.cols());
    for (index row = 0; row < rows.rows(); ++row) rows.row(row) = stored_rows.row(stored_row(row, head_dim));
    return rows;
  }

  std::shared_ptr<const tensor_file> file_;
  options options_;
};

}  // namespace iclmech

#endif  // ICLMECH_ENGINE_WEIGHT_SOURCE_HPP
