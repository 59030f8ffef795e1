// What sharing the cache is worth in llama.cpp: every head of a model replaced, one at a time, at the last
// position of a prompt, through run_forked and as one forward pass per head through the same llama.cpp.
//
//   iclmech-llama-cpp-sweep MODEL.gguf [TOKENS=80] [PROMPTS=2] [THREADS=2] [SAMPLE=20]
//
// The passes of all heads cost alike, so SAMPLE of them are timed and the rest is reckoned from their mean.

#include <cstdio>
#include <cstdlib>

#include "iclmech/adapters/llama_cpp.hpp"
#include "iclmech/detail/random.hpp"
#include "iclmech/sweep.hpp"
#include "stopwatch.hpp"

namespace {

int compare(const std::string& path, std::size_t tokens, std::size_t count, int threads, std::size_t sample) {
  using namespace iclmech;
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  llama_cpp_options options;
  options.threads = threads;
  llama_cpp_host host(path, options);
  const std::vector<head_id> heads = host.spec().heads();

  detail::random_stream random(1);
  std::vector<token_sequence> prompts(count, token_sequence(tokens));
  for (token_sequence& ids : prompts)
    for (token_id& id : ids)
      id = static_cast<token_id>(random.below(static_cast<std::uint64_t>(host.spec().vocab_size)));
  std::vector<variant> variants;
  for (std::size_t p = 0; p < count; ++p)
    for (const head_id head : heads) variants.push_back({static_cast<int>(p), {zero_head(head)}});
  const std::span<const variant> all(variants);
  sample = std::min(sample, heads.size());

  sweep(host, prompts, all.first(heads.size()), reduce::argmax());  // warms up
  sweep_result<row_vector> shared, alone;
  const double swept = seconds([&] { shared = sweep(host, prompts, all, reduce::all_logits()); });
  std::vector<variant> some;
  for (std::size_t i = 0; i < sample; ++i) some.push_back(variants[i * heads.size() / sample]);
  const std::span<const token_sequence> first(prompts.data(), 1);
  const double run = seconds([&] { alone = sweep_by_loop(host, first, some, reduce::all_logits()); });
  const double looped =
      run / static_cast<double>(sample + 1) * static_cast<double>((heads.size() + 1) * count);
  float apart = 0.0F, largest = 0.0F;
  for (std::size_t i = 0; i < sample; ++i) {
    const row_vector difference = shared.variants[i * heads.size() / sample] - alone.variants[i];
    if (!difference.allFinite()) throw error("logits are not finite");
    apart = std::max(apart, difference.cwiseAbs().maxCoeff());
    largest = std::max(largest, alone.variants[i].cwiseAbs().maxCoeff());
  }
  std::printf("%s: %zu heads, %zu prompts of %zu tokens, %d threads\n", host.spec().name.c_str(),
              heads.size(), count, tokens, threads);
  std::printf("  run_forked            %9.2f s\n", swept);
  std::printf("  one pass per head     %9.2f s, from %zu of %zu passes\n", looped, sample + 1,
              (heads.size() + 1) * count);
  std::printf("  ratio                 %9.1f\n", looped / swept);
  std::printf("  largest difference of logits, of the largest logit  %.2g\n",
              static_cast<double>(apart / largest));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int place, long otherwise) {
    return argc > place ? std::max(1L, std::strtol(argv[place], nullptr, 10)) : otherwise;
  };
  if (argc < 2) {
    std::fprintf(stderr, "usage: iclmech-llama-cpp-sweep MODEL.gguf [TOKENS [PROMPTS [THREADS [SAMPLE]]]]\n");
    return 2;
  }
  try {
    return compare(argv[1], static_cast<std::size_t>(number(2, 80)), static_cast<std::size_t>(number(3, 2)),
                   static_cast<int>(number(4, 2)), static_cast<std::size_t>(number(5, 20)));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "iclmech-llama-cpp-sweep: %s\n", e.what());
    return 1;
  }
}
