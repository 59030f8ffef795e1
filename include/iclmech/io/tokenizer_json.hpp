#ifndef ICLMECH_IO_TOKENIZER_JSON_HPP
#define ICLMECH_IO_TOKENIZER_JSON_HPP
// Reads tokenizer.json, the format of Hugging Face's `tokenizers`, with tokenizer_config.json beside it.
//
// What the file asks for and this library does not do (another model, normalizer, pre-tokenizer or decoder)
// is an error that lists what it does: a tokenizer is never read halfway.

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "iclmech/error.hpp"
#include "iclmech/io/json_fields.hpp"
#include "iclmech/io/json_file.hpp"
#include "iclmech/io/mapped_file.hpp"
#include "iclmech/io/tokenizer_json_text.hpp"
#include "iclmech/io/tokenizer_pipeline.hpp"
#include "iclmech/io/utf8.hpp"

namespace iclmech {
namespace detail {

/// Translates the sections of a tokenizer.json.
class tokenizer_json_reader {
 public:
  tokenizer_json_reader(const std::string& path, tokenizer_json_text text)
      : path_(path), text_(std::move(text)) {}

  tokenizer read() {
    const json_fields root(path_, "", text_.rest);
    tokenizer_parts parts{
        read_added_tokens(root), {}, {}, read_model(root.object("model")), {}, {}, {}, false};
    if (root.find("normalizer")) add_normalizers(root.object("normalizer"), parts.normalizer);
    if (root.find("pre_tokenizer")) add_pre_tokenizers(root.object("pre_tokenizer"), parts.pre_tokenizer);
    if (root.find("decoder")) add_decoders(root.object("decoder"), parts.decoder.emplace());
    read_template(root, parts);
    read_config(parts);
    try {
      return tokenizer(std::move(parts));
    } catch (const argument_error& problem) {
      throw file_error(path_, "added_tokens", problem.what());
    }
  }

 private:
  using model = decltype(tokenizer_parts::model);

  static constexpr std::string_view models = "BPE and WordLevel";
  static constexpr std::string_view normalizers = "Sequence, Prepend, Replace, NFC, NFD, NFKC and NFKD";
  static constexpr std::string_view pre_tokenizers =
      "Sequence, Split, ByteLevel, Digits, Metaspace, Whitespace and WhitespaceSplit";
  static constexpr std::string_view decoders =
      "Sequence, ByteLevel, ByteFallback, Fuse, Strip, Metaspace and Replace";

  [[noreturn]] void refuse(const json_fields& section, const std::string& type,
                           std::string_view known) const {
    throw unsupported_error(path_ + ": " + section.name("type") + ": is " + in_quotes(type) +
                            "; iclmech reads " + std::string(known));
  }

  std::vector<added_token> read_added_tokens(const json_fields& root) const {
    std::vector<added_token> tokens;
    if (!root.find("added_tokens")) return tokens;
    for (const json_fields& item : root.objects("added_tokens")) {
      added_token token;
      token.id = static_cast<token_id>(item.number("id", vocabulary::max_size - 1));
      token.content = item.text("content");
      token.single_word = item.flag("single_word", false);
      token.lstrip = item.flag("lstrip", false);
      token.rstrip = item.flag("rstrip", false);
      token.normalized = item.flag("normalized", !item.flag("special", false));
      tokens.push_back(std::move(token));
    }
    return tokens;
  }

  model read_model(const json_fields& section) {
    // GPT-2's own file, of before the field, has no type.
    const std::string type = section.find("type") ? section.text("type") : "BPE";
    try {
      if (type == "BPE") return read_bpe(section);
      if (type == "WordLevel") {
        vocabulary tokens(std::move(text_.tokens));
        const auto unknown = read_unknown(section, tokens);
        return word_level_model(std::move(tokens), unknown);
      }
    } catch (const argument_error& problem) {
      throw file_error(path_, "model", problem.what());
    }
    refuse(section, type, models);
  }

  bpe_model read_bpe(const json_fields& section) {
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (section.find(key) && !section.text(key).empty())
        throw unsupported_error(path_ + ": " + section.name(key) + ": is set, which iclmech does not read");
    if (const auto* dropout = section.find("dropout"); dropout && *dropout != 0)
      throw unsupported_error(path_ + ": " + section.name("dropout") +
                              ": is set, which makes the token ids random; remove it");
    vocabulary tokens(std::move(text_.tokens));
    bpe_options options;
    options.byte_fallback = section.flag("byte_fallback", false);
    options.fuse_unknown = section.flag("fuse_unk", false);
    options.ignore_merges = section.flag("ignore_merges", false);
    options.unknown = read_unknown(section, tokens);
    return bpe_model(std::move(tokens), text_.merges, options);
  }

  static std::optional<token_id> read_unknown(const json_fields& section, const vocabulary& tokens) {
    if (!section.find("unk_token")) return std::nullopt;
    const token_id id = tokens.id(section.text("unk_token"));
    return id < 0 ? std::nullopt : std::optional(id);
  }

  /// A "String" to look for or a "Regex".
  static std::variant<std::string, unicode_regex> read_pattern(const json_fields& section) {
    const json_fields pattern = section.object("pattern");
    if (!pattern.find("Regex")) {
      std::string text = pattern.text("String");
      if (text.empty()) pattern.fail("String", "is empty");
      return text;
    }
    try {
      return unicode_regex(pattern.text("Regex"));
    } catch (const argument_error& problem) {
      pattern.fail("Regex", problem.what());
    } catch (const unsupported_error& problem) {
      throw unsupported_error(pattern.path() + ": " + pattern.name("Regex") + ": " + problem.what());
    }
  }

  void add_normalizers(const json_fields& section, std::vector<normalizer_step>& steps) const {
    const std::string type = section.text("type");
    if (type == "Sequence")
      for (const json_fields& part : section.objects("normalizers")) add_normalizers(part, steps);
    else if (type == "Prepend")
      steps.push_back(prepend_normalizer{section.text("prepend")});
    else if (type == "Replace")
      steps.push_back(replace_normalizer{read_pattern(section), section.text("content")});
    else if (type == "NFC")
      steps.push_back(unicode_form::nfc);
    else if (type == "NFD")
      steps.push_back(unicode_form::nfd);
    else if (type == "NFKC")
      steps.push_back(unicode_form::nfkc);
    else if (type == "NFKD")
      steps.push_back(unicode_form::nfkd);
    else
      refuse(section, type, normalizers);
  }

  void add_pre_tokenizers(const json_fields& section, std::vector<pre_tokenizer_step>& steps) const {
    const std::string type = section.text("type");
    if (type == "Sequence")
      for (const json_fields& part : section.objects("pretokenizers")) add_pre_tokenizers(part, steps);
    else if (type == "Split")
      steps.push_back(
          pattern_split{read_pattern(section), read_behavior(section), section.flag("invert", false)});
    else if (type == "ByteLevel")
      steps.push_back(
          byte_level_split{section.flag("add_prefix_space", true), section.flag("use_regex", true)});
    else if (type == "Digits")
      steps.push_back(digit_split{section.flag("individual_digits", false)});
    else if (type == "Metaspace")
      steps.push_back(metaspace_split{section.text("replacement"), read_prepend_scheme(section),
                                      section.flag("split", true)});
    else if (type == "Whitespace")
      steps.push_back(word_split{});
    else if (type == "WhitespaceSplit")
      steps.push_back(white_space_split{});
    else
      refuse(section, type, pre_tokenizers);
  }

  static split_behavior read_behavior(const json_fields& section) {
    const std::string name = section.text("behavior");
    if (name == "Removed") return split_behavior::removed;
    if (name == "Isolated") return split_behavior::isolated;
    if (name == "MergedWithPrevious") return split_behavior::merged_with_previous;
    if (name == "MergedWithNext") return split_behavior::merged_with_next;
    if (name == "Contiguous") return split_behavior::contiguous;
    section.fail("behavior",
                 "is " + in_quotes(name) +
                     ", but must be Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
  }

  static metaspace_split::prepend_scheme read_prepend_scheme(const json_fields& section) {
    using scheme = metaspace_split::prepend_scheme;
    if (!section.flag("add_prefix_space", true)) return scheme::never;
    if (!section.find("prepend_scheme")) return scheme::always;
    const std::string name = section.text("prepend_scheme");
    if (name == "always") return scheme::always;
    if (name == "first") return scheme::first;
    if (name == "never") return scheme::never;
    section.fail("prepend_scheme", "is " + in_quotes(name) + ", but must be always, first or never");
  }

  void add_decoders(const json_fields& section, std::vector<decoder_step>& steps) const {
    const std::string type = section.text("type");
    if (type == "Sequence")
      for (const json_fields& part : section.objects("decoders")) add_decoders(part, steps);
    else if (type == "ByteLevel")
      steps.push_back(byte_level_decoder{});
    else if (type == "ByteFallback")
      steps.push_back(byte_fallback_decoder{});
    else if (type == "Fuse")
      steps.push_back(fuse_decoder{});
    else if (type == "Strip")
      steps.push_back(read_strip(section));
    else if (type == "Metaspace")
      steps.push_back(
          metaspace_decoder{section.text("replacement"),
                            read_prepend_scheme(section) != metaspace_split::prepend_scheme::never});
    else if (type == "Replace")
      steps.push_back(replace_normalizer{read_pattern(section), section.text("content")});
    else
      refuse(section, type, decoders);
  }

  static strip_decoder read_strip(const json_fields& section) {
    const std::string content = section.text("content");
    if (content.empty() || read_utf8(content, 0).size != content.size())
      section.fail("content", "is " + in_quotes(content) + " instead of one character");
    return {read_utf8(content, 0).code_point, static_cast<std::size_t>(section.number("start", 1 << 20)),
            static_cast<std::size_t>(section.number("stop", 1 << 20))};
  }

  /// The token that the post-processor puts in front of every text.
  void read_template(const json_fields& root, tokenizer_parts& parts) const {
    if (!root.find("post_processor")) return;
    const json_fields processor = root.object("post_processor");
    std::vector<json_fields> processors;
    if (processor.text("type") == "Sequence")
      processors = processor.objects("processors");
    else
      processors.push_back(processor);
    for (const json_fields& p : processors) {
      if (p.text("type") != "TemplateProcessing") continue;
      const std::vector<json_fields> single = p.objects("single");
      if (single.empty() || !single.front().find("SpecialToken")) continue;
      const std::string name = single.front().object("SpecialToken").text("id");
      parts.bos = find_special(parts, name);
      if (!parts.bos)
        p.fail("single",
               "begins with the special token " + in_quotes(name) + ", which is not in the vocabulary");
      parts.adds_bos = true;
    }
  }

  /// bos_token, eos_token and add_bos_token of the tokenizer_config.json beside the file, if there is one.
  void read_config(tokenizer_parts& parts) const {
    const std::filesystem::path config =
        std::filesystem::path(path_).replace_filename("tokenizer_config.json");
    if (!std::filesystem::exists(config)) return;
    const std::string config_path = config.string();
    const nlohmann::json value = read_json_file(config_path);
    const json_fields fields(config_path, "", value);
    const auto special = [&](const char* key, std::optional<token_id>& id) {
      const nlohmann::json* const entry = fields.find(key);
      if (!entry) return;
      // Either the token itself or a description of it.
      const std::string name = entry->is_object() ? fields.object(key).text("content") : fields.text(key);
      id = find_special(parts, name);
      if (!id)
        fields.fail(key, "is " + in_quotes(name) + ", which is not in the vocabulary of " + in_quotes(path_));
    };
    special("bos_token", parts.bos);
    special("eos_token", parts.eos);
    parts.adds_bos = fields.flag("add_bos_token", parts.adds_bos) && parts.bos.has_value();
  }

  static std::optional<token_id> find_special(const tokenizer_parts& parts, const std::string& name) {
    for (const added_token& token : parts.added)
      if (token.content == name) return token.id;
    const token_id id = std::visit([&](const auto& m) { return m.tokens().id(name); }, parts.model);
    return id < 0 ? std::nullopt : std::optional(id);
  }

  const std::string& path_;
  tokenizer_json_text text_;
};

}  // namespace detail

/// The tokenizer in a tokenizer.json whose content is `text`; `path` names it in messages, and in its folder
/// tokenizer_config.json is looked for. Throws file_error with the field or byte that is wrong, or
/// unsupported_error naming the part that iclmech does not have.
inline tokenizer parse_tokenizer_json(const std::string& path, std::string_view text) {
  return detail::tokenizer_json_reader(path, detail::parse_tokenizer_json(path, text)).read();
}

/// As above, from the file.
inline tokenizer read_tokenizer_json(const std::string& path) {
  const mapped_file file(path);
  return parse_tokenizer_json(path, detail::as_text(file.bytes()));
}

}  // namespace iclmech

#endif  // ICLMECH_IO_TOKENIZER_JSON_HPP
