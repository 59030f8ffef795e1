#!/usr/bin/env python3
"""Writes tests/golden/tokenizers: small tokenizers in each style, and the ids that Hugging Face's `tokenizers` gives.

    pip install tokenizers gguf
    python3 scripts/make_tokenizer_goldens.py            # the small tokenizers and their ids
    scripts/fetch_real_files.sh && python3 scripts/make_tokenizer_goldens.py --real   # also the ids of real ones

strings.json        the texts
small/NAME/         a tokenizer trained on them (tokenizer.json, tokenizer_config.json)
small/NAME.gguf     the same vocabulary in a GGUF without weights
ids/NAME.json       {"ids": [one list per text], "decoded": {text number: what the ids decode to, where not the text}}
stages.json         what single normalizers and pre-tokenizers make of texts
"""

import argparse
import collections
import json
import pathlib

import gguf
import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import nasty_strings

ROOT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden" / "tokenizers"

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")

PROSE = """
The committee has decided that the meeting will be held on the first Monday of each month, and that the results of the
election are to be published within three days. Where are the others? They were walking along the river when it started
to rain, so nothing came of the picnic. She's sure that we'll find what they've lost; he'd rather not say.
Die Ergebnisse der Untersuchung wurden gestern veröffentlicht. Les résultats de l'enquête ont été publiés hier.
Los resultados de la investigación se publicaron ayer. Wyniki badania opublikowano wczoraj.
""".strip().splitlines()


def special(text, **flags):
    return AddedToken(text, special=True, normalized=False, **flags)


def byte_level(pre_tokenizer, normalizer=None, ignore_merges=False):
    """A byte-level BPE tokenizer, trained."""
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    train(tokenizer, trainers.BpeTrainer(vocab_size=256 + 450, initial_alphabet=alphabet, show_progress=False))
    return tokenizer


def train(tokenizer, trainer):
    tokenizer.train_from_iterator(PROSE * 3 + nasty_strings.all_strings(), trainer)


def scored_pieces(specials, user_defined=()):
    """A SentencePiece-like vocabulary: [(text, score, GGUF token type)]."""
    trained = Tokenizer(models.BPE())
    trained.normalizer = normalizers.Replace(" ", "▁")
    trained.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    # The trainer breaks ties between equally frequent characters at random, so the alphabet is chosen here.
    counts = collections.Counter("".join(PROSE * 3 + nasty_strings.all_strings()).replace(" ", "▁"))
    alphabet = sorted(counts, key=lambda c: (-counts[c], c))[:180]
    train(trained, trainers.BpeTrainer(vocab_size=700, initial_alphabet=alphabet, limit_alphabet=180, show_progress=False))
    model = json.loads(trained.to_str())["model"]
    joined = ["".join(merge) for merge in model["merges"]]
    characters = [piece for piece in sorted(model["vocab"], key=model["vocab"].get) if len(piece) == 1]
    kind = gguf.TokenType
    vocabulary = [(text, 0.0, kind.UNKNOWN if text == "<unk>" else kind.CONTROL) for text in specials]
    vocabulary += [(text, -1000.0, kind.USER_DEFINED) for text in user_defined]
    vocabulary += [(f"<0x{byte:02X}>", 0.0, kind.BYTE) for byte in range(256)]
    pieces = list(dict.fromkeys(joined + characters))
    taken = {text for text, _, _ in vocabulary}
    pieces = [piece for piece in pieces if piece not in taken]
    return vocabulary + [(piece, -float(rank), kind.NORMAL) for rank, piece in enumerate(pieces)]


def sentencepiece(pieces, normalizer, pre_tokenizer, decoder, specials):
    """The tokenizer that Hugging Face makes of scored pieces: every way to split a piece in two becomes a merge."""
    ids = {text: i for i, (text, _, _) in enumerate(pieces)}
    merges = []
    for text, score, kind in pieces:
        if kind == gguf.TokenType.NORMAL:
            merges += [(score, cut, text) for cut in range(1, len(text)) if text[:cut] in ids and text[cut:] in ids]
    merges = [(text[:cut], text[cut:]) for _, cut, text in sorted(merges, key=lambda m: m[:2], reverse=True)]
    tokenizer = Tokenizer(models.BPE(vocab=ids, merges=merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizer
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoder
    tokenizer.add_special_tokens([special(text) for text in specials])
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text, _, kind in pieces
                          if kind == gguf.TokenType.USER_DEFINED])
    return tokenizer


def unspaced(strip):
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    return decoders.Sequence(steps + ([decoders.Strip(" ", 1, 0)] if strip else []))


def small_tokenizers():
    """{name: (tokenizer, begin-of-sequence token, end-of-sequence token, how to write the GGUF or None)}."""
    result = {}

    whole = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    llama3 = byte_level(pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA3), "isolated"), whole]), ignore_merges=True)
    llama3.add_special_tokens([special(t) for t in ("<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>",
                                                    "<|end_header_id|>", "<|eot_id|>")])
    llama3.post_processor = processors.TemplateProcessing(
        single="<|begin_of_text|> $A", special_tokens=[("<|begin_of_text|>", llama3.token_to_id("<|begin_of_text|>"))])
    result["llama3"] = (llama3, "<|begin_of_text|>", "<|end_of_text|>", byte_level_gguf("llama-bpe", True))

    qwen2 = byte_level(pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(QWEN2), "isolated"), whole]), normalizers.NFC())
    qwen2.add_special_tokens([special(t) for t in ("<|endoftext|>", "<|im_start|>", "<|im_end|>")])
    qwen2.add_tokens([AddedToken(t, normalized=False) for t in ("<tool_call>", "</tool_call>", "<think>", "</think>")])
    result["qwen2"] = (qwen2, None, "<|im_end|>", byte_level_gguf("qwen2", False))

    gpt2 = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    smollm2 = byte_level(pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), gpt2]))
    smollm2.add_special_tokens([special(t) for t in ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<repo_name>", "<file_sep>")])
    result["smollm2"] = (smollm2, "<|im_start|>", "<|im_end|>", byte_level_gguf("smollm", False))

    neox = byte_level(gpt2, normalizers.NFC())
    neox.add_special_tokens([special(t) for t in ("<|endoftext|>", "<|padding|>")])
    neox.add_tokens([AddedToken(" " * n, normalized=True) for n in range(24, 1, -1)])
    result["neox"] = (neox, "<|endoftext|>", "<|endoftext|>", byte_level_gguf("mpt", False))

    gemma_specials = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "<start_of_turn>", "<end_of_turn>"]
    runs = [c * n for c in "\n▁\t" for n in range(31, 0, -1) if (c, n) != ("▁", 1)]
    gemma_pieces = scored_pieces(gemma_specials, runs + ["<table>", "<tr>", "<td>", "</td>", "</tr>", "</table>", "<unused0>"])
    gemma = sentencepiece(gemma_pieces, normalizers.Replace(" ", "▁"),
                          pre_tokenizers.Split(" ", "merged_with_previous"), unspaced(strip=False), gemma_specials)
    # Runs of spaces: what the added tokens cannot match, since they are matched before spaces become "▁".
    gemma = with_first_merges(gemma, [("▁" * left, "▁" * (n - left)) for n in range(31, 1, -1) for left in range(n - 1, 0, -1)])
    gemma.post_processor = processors.TemplateProcessing(single="<bos> $A", special_tokens=[("<bos>", 2)])
    result["gemma"] = (gemma, "<bos>", "<eos>", sentencepiece_gguf(gemma_pieces, False, True))

    llama2_specials = ["<unk>", "<s>", "</s>"]
    llama2_pieces = scored_pieces(llama2_specials)
    llama2 = sentencepiece(llama2_pieces, normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]),
                           None, unspaced(strip=True), llama2_specials)
    llama2.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    result["llama2"] = (llama2, "<s>", "</s>", sentencepiece_gguf(llama2_pieces, True, True))

    # The newer form of the same: Metaspace instead of a normalizer, a space in front of the first text only.
    metaspace = sentencepiece(llama2_pieces, None, pre_tokenizers.Metaspace("▁", "first", split=False), unspaced(strip=True), llama2_specials)
    result["metaspace"] = (metaspace, "<s>", "</s>", None)

    # No byte tokens: unknown characters, fused and not. And every flag that an added token can have.
    known = [p for p in llama2_pieces if p[2] != gguf.TokenType.BYTE]
    unknown = sentencepiece(known, normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(r"\s"), "▁")]),
                            pre_tokenizers.Split("▁", "merged_with_next"), decoders.Metaspace("▁", "never"), llama2_specials)
    unknown.add_tokens([AddedToken("<left>", lstrip=True, normalized=False), AddedToken("<right>", rstrip=True, normalized=False),
                        AddedToken("<both>", lstrip=True, rstrip=True, normalized=False), AddedToken("word", single_word=True, normalized=False),
                        AddedToken("<norm>", normalized=True), AddedToken("<extra>", single_word=True, lstrip=True, normalized=True)])
    result["flags"] = (unknown, "<s>", "</s>", None)

    words = sorted({word for line in PROSE for word in line.replace(".", " . ").replace(",", " , ").split()})
    for name, pre_tokenizer in (("words", pre_tokenizers.Whitespace()), ("blanks", pre_tokenizers.WhitespaceSplit())):
        vocabulary = {word: i for i, word in enumerate(["[UNK]", "[BOS]"] + words + ["a", "b", "x", ":", ";", "q", "<", ">", "Hello", "world", "!"])}
        tokenizer = Tokenizer(models.WordLevel(vocab=vocabulary, unk_token="[UNK]"))
        tokenizer.pre_tokenizer = pre_tokenizer
        tokenizer.add_special_tokens([special("[UNK]"), special("[BOS]")])
        result[name] = (tokenizer, "[BOS]", None, None)
    return result


def with_first_merges(tokenizer, merges):
    state = json.loads(tokenizer.to_str())
    state["model"]["merges"] = [list(merge) for merge in merges] + state["model"]["merges"]
    return Tokenizer.from_str(json.dumps(state))


def byte_level_gguf(pre, add_bos):
    def write(path, tokenizer, bos, eos):
        state = json.loads(tokenizer.to_str())
        added = {token["id"]: token for token in state["added_tokens"]}
        texts = {i: text for text, i in state["model"]["vocab"].items()} | {i: t["content"] for i, t in added.items()}
        types = [gguf.TokenType.NORMAL if i not in added else
                 gguf.TokenType.CONTROL if added[i]["special"] else gguf.TokenType.USER_DEFINED for i in range(len(texts))]
        writer = gguf.GGUFWriter(path, "llama")
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre(pre)
        writer.add_token_list([texts[i] for i in range(len(texts))])
        writer.add_token_types(types)
        writer.add_token_merges([" ".join(merge) for merge in state["model"]["merges"]])
        finish_gguf(writer, tokenizer, bos, eos, add_bos)
    return write


def sentencepiece_gguf(pieces, add_space_prefix, add_bos):
    def write(path, tokenizer, bos, eos):
        writer = gguf.GGUFWriter(path, "llama")
        writer.add_tokenizer_model("llama")
        # The converters store the spaces of user-defined tokens as spaces.
        writer.add_token_list([text.replace("▁", " ") if kind == gguf.TokenType.USER_DEFINED else text for text, _, kind in pieces])
        writer.add_token_scores([score for _, score, _ in pieces])
        writer.add_token_types([kind for _, _, kind in pieces])
        writer.add_unk_token_id(tokenizer.token_to_id("<unk>"))
        writer.add_add_space_prefix(add_space_prefix)
        finish_gguf(writer, tokenizer, bos, eos, add_bos)
    return write


def finish_gguf(writer, tokenizer, bos, eos, add_bos):
    if bos:
        writer.add_bos_token_id(tokenizer.token_to_id(bos))
    writer.add_eos_token_id(tokenizer.token_to_id(eos))
    writer.add_add_bos_token(add_bos)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


def write_ids(name, tokenizer, texts):
    ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    decoded = {}
    for i, (text, tokens) in enumerate(zip(texts, ids)):
        back = tokenizer.decode(tokens, skip_special_tokens=False)
        if back != text:
            decoded[str(i)] = back
    write_json(ROOT / "ids" / f"{name}.json", {"tokenizers": tokenizers.__version__, "ids": ids, "decoded": decoded})
    print(f"{name}: {len(texts)} texts, {sum(map(len, ids))} ids, vocabulary of {tokenizer.get_vocab_size()}")


def stages(texts):
    """{kind: {name: [what it makes of each text]}} for stages on their own."""
    texts = [text for text in texts if text]
    behaviors = ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous")
    splitters = {f"split {b}": pre_tokenizers.Split(Regex(r"[\s.]|\d"), b) for b in behaviors}
    splitters |= {f"inverted {b}": pre_tokenizers.Split(Regex(r"[a-z]+"), b, invert=True) for b in behaviors}
    splitters |= {f"literal {b}": pre_tokenizers.Split(" ", b) for b in behaviors}
    splitters |= {
        "lookahead": pre_tokenizers.Split(Regex(r"(?=\d)|(?<=\.)"), "isolated"),
        "gpt2": pre_tokenizers.ByteLevel(add_prefix_space=False), "gpt2 prefixed": pre_tokenizers.ByteLevel(add_prefix_space=True),
        "llama3": pre_tokenizers.Split(Regex(LLAMA3), "isolated"), "qwen2": pre_tokenizers.Split(Regex(QWEN2), "isolated"),
        "word escape": pre_tokenizers.Split(Regex(r"\w+|[^\w\s]"), "isolated"),
        "digits": pre_tokenizers.Digits(individual_digits=True), "numbers": pre_tokenizers.Digits(individual_digits=False),
        "metaspace always": pre_tokenizers.Metaspace("▁", "always"), "metaspace first": pre_tokenizers.Metaspace("▁", "first"),
        "metaspace never": pre_tokenizers.Metaspace("▁", "never"), "metaspace whole": pre_tokenizers.Metaspace("▁", "always", split=False),
        "words": pre_tokenizers.Whitespace(), "blanks": pre_tokenizers.WhitespaceSplit(),
    }
    forms = {"nfc": normalizers.NFC(), "nfd": normalizers.NFD(), "nfkc": normalizers.NFKC(), "nfkd": normalizers.NFKD(),
             "prepend": normalizers.Prepend("▁"), "replace": normalizers.Replace("a", "<a>"), "replace regex": normalizers.Replace(Regex(r"\s+"), "_")}
    return {"texts": texts,
            "pre_tokenizers": {name: [[piece for piece, _ in s.pre_tokenize_str(text)] for text in texts] for name, s in splitters.items()},
            "normalizers": {name: [n.normalize_str(text) for text in texts] for name, n in forms.items()}}


def from_gguf(path):
    """The Hugging Face tokenizer of a byte-level GGUF in SmolLM2's style."""
    fields = gguf.GGUFReader(path).fields
    texts, types, merges = (fields[f"tokenizer.ggml.{key}"].contents() for key in ("tokens", "token_type", "merges"))
    tokenizer = Tokenizer(models.BPE(vocab={text: i for i, text in enumerate(texts)}, merges=[tuple(m.split(" ")) for m in merges]))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([special(text) for text, kind in zip(texts, types) if kind == gguf.TokenType.CONTROL])
    return tokenizer


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--real", action="store_true", help="also write the ids of the tokenizers in --cache")
    arguments.add_argument("--cache", type=pathlib.Path, default=pathlib.Path.home() / ".cache/iclmech/real")
    arguments = arguments.parse_args()
    texts = nasty_strings.all_strings()
    write_json(ROOT / "strings.json", texts)
    write_json(ROOT / "stages.json", stages(texts[::4]))
    for name, (tokenizer, bos, eos, write_gguf) in small_tokenizers().items():
        folder = ROOT / "small" / name
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / "tokenizer.json", json.loads(tokenizer.to_str()))
        config = {"bos_token": bos, "eos_token": eos, "add_bos_token": tokenizer.post_processor is not None}
        write_json(folder / "tokenizer_config.json", {key: value for key, value in config.items() if value is not None})
        if write_gguf:
            write_gguf(str(ROOT / "small" / f"{name}.gguf"), tokenizer, bos, eos)
        write_ids(f"small-{name}", tokenizer, texts)
    if arguments.real:
        for name in ("llama3", "qwen3", "gemma3", "llama2"):
            write_ids(name, Tokenizer.from_file(str(arguments.cache / name / "tokenizer.json")), texts)
        write_ids("smollm2", from_gguf(arguments.cache / "smollm2.gguf"), texts)


if __name__ == "__main__":
    main()
