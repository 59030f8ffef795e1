// An engine of your own behind an adapter: every method runs on it. toy_engine.hpp is the engine, which knows
// nothing of iclmech; toy_host.hpp is the adapter.

#include <cstdio>

#include "iclmech/method/ablate_heads.hpp"
#include "iclmech/method/score_heads.hpp"
#include "toy_host.hpp"

int main() {
  toy_host host(toy::engine(3));

  // Words 0 to 5 with labels 6 and 7, which only the demonstrations tell; the last word was among them.
  std::vector<iclmech::labelled_prompt> prompts;
  for (int query = 0; query < 6; ++query) {
    iclmech::token_sequence ids;
    for (int word = 0; word < 6; ++word) ids.insert(ids.end(), {word, word % 2 == 0 ? 6 : 7});
    ids.push_back(query);
    prompts.push_back({ids, {6, 7}, query % 2 == 0 ? 6 : 7});
  }

  // Which heads recognise the task, and which learn it?
  const iclmech::head_scores scores = iclmech::score_heads(host, prompts);
  std::printf("head    TR     TL\n");
  iclmech::head_id recognises, learns;
  for (const iclmech::head_id h : scores.heads.ids()) {
    std::printf("%s %6.2f %6.2f\n", host.spec().label(h).c_str(), scores.heads[h].tr, scores.heads[h].tl);
    if (scores.heads[h].tr > scores.heads[recognises].tr) recognises = h;
    if (scores.heads[h].tr * scores.heads[h].tl > scores.heads[learns].tr * scores.heads[learns].tl)
      learns = h;
  }
  std::printf("recognises the task: %s\nlearns the task: %s\naccuracy: %.2f\n",
              host.spec().label(recognises).c_str(), host.spec().label(learns).c_str(), scores.accuracy);

  // What does the model lose without them?
  const std::vector<iclmech::head_selection> selections{{"L1H0", {host.spec().parse_head("L1H0")}},
                                                        {"L0H0", {host.spec().parse_head("L0H0")}},
                                                        {"L0H1", {host.spec().parse_head("L0H1")}}};
  iclmech::ablation_options everywhere;
  everywhere.all_positions = true;
  for (const auto& outcome : iclmech::ablate_heads(host, std::span<const iclmech::labelled_prompt>(prompts),
                                                   selections, everywhere, [](std::size_t) {}))
    std::printf("without %s: accuracy %.2f\n", outcome.name.c_str(), outcome.summary.accuracy);

  // Any intervention on any number of prompts: here every head in turn, doubled at the last position.
  std::vector<iclmech::variant> variants;
  for (const iclmech::head_id h : host.spec().heads())
    variants.push_back({0, {iclmech::scale_head(h, 2.0F)}});
  const std::vector<iclmech::token_id> answers{prompts[0].answer};
  const auto swept = iclmech::sweep(host, std::span(&prompts[0].ids, 1), variants,
                                    iclmech::reduce::answer_probability(answers));
  std::printf("P(answer): %.3f\n", swept.prompts[0]);
  for (std::size_t v = 0; v < variants.size(); ++v)
    std::printf("P(answer) with %s doubled: %.3f\n", host.spec().label(host.spec().heads()[v]).c_str(),
                swept.variants[v]);
}
