// Our side of the comparison with Python tools (see peers.py): all heads of a model replaced in turn on one
// prompt, and plain forward passes, timed in this process. Prints one line of JSON.
//
//   iclmech-peer sweep MODEL PROMPTS.json [low-memory]
//   iclmech-peer forward MODEL TOKENS

#include <sys/resource.h>

#include <cstdio>
#include <functional>
#include <string>

#include "iclmech/io/json_file.hpp"
#include "iclmech/method/indirect_effect.hpp"
#include "open_host.hpp"
#include "stopwatch.hpp"

namespace {

using namespace iclmech;

double shortest_of(int runs, const std::function<void()>& work) {
  shortest time;
  for (int i = 0; i < runs; ++i) time.run(work);
  return time.seconds();
}

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

std::vector<answered_prompt> prompts_of(const nlohmann::json& list) {
  std::vector<answered_prompt> prompts;
  for (const auto& p : list)
    prompts.push_back({p.at("ids").get<token_sequence>(), p.at("answer").get<token_id>()});
  return prompts;
}

nlohmann::json sweep_side(any_host& engine, const std::string& file) {
  const nlohmann::json source = read_json_file(file);
  const std::vector<answered_prompt> clean = prompts_of(source.at("clean")),
                                     shuffled = prompts_of(source.at("shuffled"));
  const head_means means = mean_head_outputs(engine, std::span(clean));
  indirect_effect_result result{{}, indirect_effects(engine.spec().head_count()), {}};
  const double seconds = shortest_of(5, [&] {
    result = measure_indirect_effects(engine, means.outputs, std::span(shuffled).first(1), {}, 1,
                                      [](std::size_t) {});
  });
  const Eigen::VectorXd effects = result.effects.mean();
  return {{"seconds", seconds},
          {"cie", std::vector<double>(effects.data(), effects.data() + effects.size())}};
}

nlohmann::json forward_side(any_host& engine, int tokens) {
  std::vector<token_sequence> ids(1);
  for (token_id i = 0; i < tokens; ++i) ids.front().push_back(100 + i);
  no_hooks none;
  float sum = 0;
  return {{"seconds", shortest_of(8, [&] { sum += engine.run(ids, none).sum(); })}, {"sum", sum}};
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 4)
    throw argument_error("usage: iclmech-peer sweep MODEL PROMPTS.json [low-memory] | forward MODEL TOKENS");
  cli::model_options options;
  options.model = argv[2];
  options.low_memory = argc > 4;
  any_host engine = cli::open_host(options);
  nlohmann::json result = std::string(argv[1]) == "sweep" ? sweep_side(engine, argv[3])
                                                          : forward_side(engine, std::stoi(argv[3]));
  result["megabytes"] = peak_megabytes();
  std::puts(result.dump().c_str());
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
