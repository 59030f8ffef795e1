"""The texts that tokenizers are compared on: what breaks them, by kind. Deterministic."""

import random

WORDS = [
    "", " ", "a", "Hello, world!", "Hello world", " Hello world", "Hello  world ", "The quick brown fox jumps over the lazy dog.",
    "antidisestablishmentarianism", "Donaudampfschifffahrtsgesellschaftskapitän", "pneumonoultramicroscopicsilicovolcanoconiosis",
    "camelCaseAndPascalCaseAnd_snake_case-kebab-case", "UPPER lower MiXeD tItLe", "e.g. i.e. U.S.A. Ph.D. Mr. Mrs.",
    "x : y ; q :", "Review: great film\nSentiment: positive\n\nReview: dull\nSentiment:", "country: France\ncapital:",
    "positive", " positive", "Positive", " POSITIVE", "negative", " negative",
    "don't won't can't I'm you're they've she'll he'd it's", "DON'T WON'T I'M YOU'RE THEY'VE SHE'LL HE'D IT'S",
    "'s 't 're 've 'm 'll 'd", "''s '''t 'S'T'RE'VE'M'LL'D", "rock 'n' roll o'clock ma'am y'all'd've", "it\u2019s don\u2019t we\u2019re",
    "'\u017f 'l\u017f \u017ft 'S\u017f", "'K\u212a 'RE\u212a \u212belvin", "I\u0307stanbul \u0130stanbul \u0131",
]

SPACES = [
    "  ", "   ", "    ", " " * 7, " " * 8, " " * 15, " " * 16, " " * 23, " " * 24, " " * 25, " " * 31, " " * 32, " " * 33, " " * 63, " " * 100,
    "\t", "\t\t", "\t\t\t\t", "\t" * 31, "\t" * 40, " \t \t ", "\t \t", "\n", "\n\n", "\n\n\n", "\n" * 16, "\n" * 31, "\n" * 32, "\n" * 33, "\n" * 65,
    "\r", "\r\n", "\r\n\r\n", "\n\r\n\r", " \n", "\n ", " \n \n ", "  \n  \n  ", "a\nb", "a \n b", "a\n\nb", "a  \n\n  b", "a\r\nb\r\n", "a\rb",
    "a ", " a", "  a", "   a", "a  ", "a   ", "a  b", "a   b", "a    b", "a\tb", "a\t\tb", "a \tb", "a\t b", "a  \tb", "\ta", "\t a", " \ta",
    "a\n", "a\n ", "a\n  b", "a\n\t\tb", "x\n    y\n        z\n", "line one  \nline two\t\nline three   \n\n\n   end",
    "\u00a0", "a\u00a0b", "\u00a0\u00a0a", " \u00a0 ", "\u2003\u2003a", "a\u2009b", "a\u3000b", "\u3000\u3000", "a\u2028b", "a\u2029b", "a\u0085b", "\u0085", " \u0085\u0085 x",
    "a\u1680b", "a\u180eb", "\u180e", " \u180e ", "a\u200bb", "\u200b", "a\ufeffb", "\ufeffHello", "a\u2060b", "a\u202fb", "a\u205fb", "a\x0bb", "a\x0cb", "\x0b\x0c", "\x1c\x1d\x1e\x1f",
    ".\n", "!\n\n", "?\r\n", ". \n", ".\n\n\n x", "...\n...", "  .  ,  ;  ", " .", "  .", "   .", " ...", "  ...",
]

DIGITS = [
    "0", "7", "42", "007", "123", "1234", "12345", "123456", "1234567", "1234567890", "3.14159265358979", "1,234,567.89", "-17", "+1 (555) 123-4567",
    "1e10", "1.5e-07", "0x1F", "0b1011", "1/2", "50%", "$100", "\u20ac99,99", "2024-01-15T12:34:56Z", "192.168.0.1", "v1.2.3", "a1b2c3", "1a", "a1", "1 2 3", "1  2", "12 345 6789",
    "\u0661\u0662\u0663\u0664", "\u096a\u096b\u096c", "\uff11\uff12\uff13\uff14\uff15", "\u00b2\u00b3\u00b9", "x\u00b2+y\u00b2", "\u00bd\u00bc\u00be", "\u2167\u2168 \u2160\u2161\u2162", "\u2460\u2461\u2462", "\u3007\u4e00\u4e8c\u4e09", "\U0001d7d8\U0001d7d9\U0001d7da\U0001d7db",
    "1\u00bd2", "100\u4e07", "\u0e51\u0e52\u0e53", "9" * 100, "1234 5678 " * 5, "3 + 4 = 7", "12:30", "1st 2nd 3rd 4th",
]

SCRIPTS = [
    "caf\u00e9", "cafe\u0301", "na\u00efve co\u00f6perate r\u00e9sum\u00e9", "\u00c5ngstr\u00f6m \u212bngstr\u00f6m A\u030angstro\u0308m", "\u00e6\u00f8\u00e5 \u00df \u1e9e \u0153", "\ufb01 \ufb02 \ufb03 \ufb06 \u0133", "\u1e69 s\u0323\u0307 s\u0307\u0323 \u1e63\u0307",
    "e\u0301\u0301\u0301\u0301", "Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f\u0334\u0319A\u0314\u030f\u0359\u0356L\u0367G\u0315\u0310O\u030d!", "\u0301", " \u0301", "\u0301a", "a\u0327\u0301 a\u0301\u0327", "\u0344 \u0958 \u2126 \u2adc \ufb1d",
    "q\u0307\u0323", "q\u0323\u0307", "\u1100\u1161\u11a8", "\uac01", "\u1112\u1161\u11ab\u1100\u1173\u11af", "\ud55c\uad6d\uc5b4 \ud14d\uc2a4\ud2b8\uc785\ub2c8\ub2e4.", "\uc548\ub155\ud558\uc138\uc694, \uc138\uacc4!",
    "\u4f60\u597d\uff0c\u4e16\u754c\uff01", "\u4f60\u597d \u4e16\u754c", "\u4eca\u5929\u5929\u6c14\u5f88\u597d\u3002\u6211\u4eec\u53bb\u516c\u56ed\u5427\u3002", "\u7e41\u9ad4\u4e2d\u6587\u6e2c\u8a66", "\u65e5\u672c\u8a9e\u306e\u30c6\u30b9\u30c8\u3067\u3059\u3002", "\u3053\u3093\u306b\u3061\u306f\u3001\u4e16\u754c\uff01", "\u30ab\u30bf\u30ab\u30ca\u3072\u3089\u304c\u306a\u6f22\u5b57mixed", "\u304b\u3099\u304d\u3099\u304f\u3099", "\uff76\uff9e\uff77\uff9e", "\u300c\u5f15\u7528\u300d\u3001\u300e\u4e8c\u91cd\u300f\uff08\u62ec\u5f27\uff09",
    "\U00020000\U00020001\U0002a6d6", "\u9f98\u9f98\u9f98", "\u3400\u4dbf", "\ufa0e\uf900\u8c48",
    "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645", "\u0627\u0644\u0633\u0644\u0627\u0645\u064f \u0639\u0644\u064a\u0643\u0645", "\u0628\u0650\u0633\u0652\u0645\u0650 \u0627\u0644\u0644\u0651\u064e\u0647\u0650", "\ufdfa \ufdf2 \ufefb", "\u06f1\u06f2\u06f3 \u0641\u0627\u0631\u0633\u06cc \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0634\u0640\u0640\u0640\u0643\u0631\u0627",
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd", "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd", "\u05d1\u05bc\u05b0\u05e8\u05b5\u05d0\u05e9\u05b4\u05c1\u05d9\u05ea",
    "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440!", "\u0439\u0451 \u0438\u0306\u0435\u0308", "\u0421\u044a\u0435\u0448\u044c \u0436\u0435 \u0435\u0449\u0451 \u044d\u0442\u0438\u0445 \u043c\u044f\u0433\u043a\u0438\u0445", "\u039a\u03b1\u03bb\u03b7\u03bc\u03ad\u03c1\u03b1 \u03ba\u03cc\u03c3\u03bc\u03b5", "\u1f00\u03c1\u03c7\u1fc7 \u1f26\u03bd \u1f41 \u03bb\u03cc\u03b3\u03bf\u03c2", "\u0386\u03c3\u03c3\u03bf\u03c2 \u03a3\u03c3\u03c2",
    "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e", "\u0915\u094d\u0937\u0924\u094d\u0930\u093f\u092f", "\u0995\u09cb\u09b2\u0995\u09be\u09a4\u09be \u0995\u09c7\u09be", "\u0ba4\u0bae\u0bbf\u0bb4\u0bcd \u0bae\u0bca\u0bb4\u0bbf \u0bae\u0bc6\u0bbe", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01", "\u0e01\u0e33 \u0e01\u0e4d\u0e32", "\u1019\u103c\u1014\u103a\u1019\u102c\u1018\u102c\u101e\u102c", "\u1797\u17b6\u179f\u17b6\u1781\u17d2\u1798\u17c2\u179a", "\u10e5\u10d0\u10e0\u10d7\u10e3\u10da\u10d8 \u1c90\u1c91", "\u0540\u0561\u0575\u0565\u0580\u0565\u0576 \u0587", "\u1208\u1230\u120b\u121d \u12d3\u1208\u121d", "\u0f56\u0f7c\u0f51\u0f0b\u0f66\u0f90\u0f51", "\u13e3\u13b3\u13a9", "\u16a0\u16a2\u16a6\u16a8", "\U00010330\U00010331\U00010332",
    "Ti\u1ebfng Vi\u1ec7t c\u00f3 d\u1ea5u", "Tie\u0302\u0301ng Vie\u0323\u0302t", "T\u00fcrk\u00e7e \u0130\u0131\u011f\u015f", "Pchn\u0105\u0107 w t\u0119 \u0142\u00f3d\u017a je\u017ca", "\u00bfQu\u00e9 tal? \u00a1Bien!", "P\u0159\u00edli\u0161 \u017elu\u0165ou\u010dk\u00fd k\u016f\u0148", "\u01c4\u01c5\u01c6 \u01c7\u01c8\u01c9",
    "\U0001d400\U0001d401\U0001d41a \U0001d54f", "\u24b6\u24b7\u24d0\u24d1", "\uff21\uff22\uff43 \uff01\uff1f", "\u1d2c\u1d43\u2090", "\u2102\u210d\u2115 \u2200x\u2208\u211d", "\u202eright-to-left\u202c", "abc \u05d0\u05d1\u05d2 123 \u0661\u0662",
]

SYMBOLS = [
    "\U0001f600", "\U0001f600\U0001f603\U0001f604", "Hi \U0001f44b!", "\U0001f44b\U0001f3fd \U0001f44d\U0001f3ff", "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466", "\U0001f3f3\ufe0f\u200d\U0001f308", "\U0001f469\U0001f3fc\u200d\U0001f680", "\u2764\ufe0f \u2764", "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7\U0001f1ef\U0001f1f5", "1\ufe0f\u20e32\ufe0f\u20e3#\ufe0f\u20e3", "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", "\U0001fae0\U0001fae8", "\U0001f937\u200d\u2642\ufe0f", "text\U0001f602text \U0001f602 text", "\u263a\u263b\u2665\u266b\u2602", "\U0001f9d1\u200d\U0001f4bb\U0001f9d1\u200d\U0001f4bb", "\u200d\u200d", "\ufe0f", "a\u200db", "\u200ca\u200cb",
    "!", "!!", "!!!!!!!!", "?!?!?!", "...", "\u2026", "....", "--", "---", "\u2014 \u2013 -", "***", "===", "======== ========", "~~~~", "####", "@@", "&&||", "^_^ :-) ;-P <3", "(\u256f\u00b0\u25a1\u00b0)\u256f\ufe35 \u253b\u2501\u253b", "\u00af\\_(\u30c4)_/\u00af",
    "\"quoted\" 'single' `tick`", "\u201cquoted\u201d \u2018single\u2019 \u00abguillemets\u00bb \u201eunten\u201c", "(a)[b]{c}<d>", "a/b\\c|d", "a_b__c___d", "a-b--c", "user@example.com", "https://www.example.com/path?query=1&b=%20x#frag", "C:\\Users\\name\\file.txt", "#hashtag @mention $AAPL", "\u00a9\u00ae\u2122 \u00a7\u00b6 \u2020\u2021", "\u2190\u2191\u2192\u2193 \u21d2\u21d4", "\u2211\u220f\u222b\u221a\u221e \u2260\u2264\u2265\u2248", "\u2580\u2588\u2591\u2592\u2593 \u2500\u2502\u250c", "\u20bf\u20b9\u20a9\u00a3\u00a5", "\u00b5\u03bc \u00aa\u00ba \u2126\u03a9", "\u2024\u2025 \uff0e",
    "\u2581", "\u2581\u2581", "\u2581Hello", "Hello\u2581world", "\u2581 \u2581", "\u0120Hello", "\u010a\u0120", "\u0100\u0101\u0143", "<0x0A>", "<0x41><0xFF>", "\ufffd", "\ufffd\ufffd a",
]

CODE = [
    "def f(x):\n    return x**2 + 1\n", "for (int i = 0; i < n; ++i) {\n\tsum += a[i];\n}\n", "#include <vector>\nint main() { std::vector<int> v{1,2,3}; }", "if (a && b || !c) { return a->b.c[0]; }", "SELECT * FROM t WHERE id='1' AND name LIKE '%x%';", "<html><body><h1>Hi</h1><p class=\"x\">text</p></body></html>", "{\"key\": [1, 2.5, null, true], \"s\": \"a\\n\"}", "\\begin{equation} E = mc^2 \\end{equation}", "$ ls -la | grep '^d' > out.txt 2>&1", "let x: Vec<&'a str> = s.split(\"::\").collect();", "/* comment */ // line\n# hash\n-- sql\n", "a = b if c else d  # noqa: E501", "x=1;y=2;z=x+y;print(f\"{z:>10}\")", "lambda x: (x, *args, **kwargs)", "\t\tif x:\n\t\t\ty()\n\n\n\t\telse:\n", "        deeply\n                indented\n                        code", "i++; --j; k+=1; l<<=2; m>>>=3;", "0xDEADBEEF 0o777 1_000_000 1e-5f", "import numpy as np\nimport os, sys\n\n\nclass A(B):\n    pass", "<div>\n  <span>&nbsp;&amp;&#x27;</span>\n</div>", "std::cout << \"x\" << '\\n';", "```python\nprint('hi')\n```", "| a | b |\n|---|---|\n| 1 | 2 |", "- item\n  - nested\n    1. deep\n",
]

CONTROLS = [
    "\x00", "a\x00b", "\x01\x02\x03", "\x07\x08", "\x1b[31mred\x1b[0m", "\x7f", "\x80\x81\x9f", "a\x00\x00\x00b", "\ue000\uf8ff", "\U000f0000\U0010fffd", "\uffff\ufffe", "\ufdd0", "\U0010ffff", "\u0378\u0379", "\u00ad soft\u00adhyphen", "\u061c\u200e\u200f",
]

SPECIALS = [
    "<|endoftext|>", "a<|endoftext|>b", "a <|endoftext|> b", "<|endoftext|><|endoftext|>", "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n", "<|begin_of_text|>Hello<|end_of_text|>", "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>", "<s>Hello</s>", "a<s>b", "<s> a </s> b", "  <s>  ", "<s><s></s>", "<bos>Hi<eos>", "<start_of_turn>user\nHi<end_of_turn>\n", "<pad><unk><mask>", "<unk>", "a<unk>b <unk> c", "<|endoftext|", "<|endoftext", "|endoftext|>", "<|EndOfText|>", "< |endoftext|>", "<|endoftext |>", "<|im_start", "<|im_start|<|im_start|>>", "<tool_call>{\"a\":1}</tool_call>", "<think>\nhm\n</think>", "<repo_name>x<file_sep>y", "<|padding|> x", "<unused0><unused99>", "<table><tr><td>x</td></tr></table>", "[INST] Hi [/INST]", "[CLS] [SEP] [MASK] [PAD] [UNK]", "\n\n<|im_start|>\n\n", "\u00e9<s>\u00e9</s>\u65e5", "<s>\n</s>\t<s>", "<extra>", "a<extra>b", " <extra> ", "<left> a  <left>", "a  <right>  b", "a  <both>  b<both>c", "xwordx word wordx word.", "word", "w\u00f6rd word\u0301", "a <norm> b", "<norm>", "<norm><norm>x",
]


def long_strings():
    """Long enough to be merged for long, short enough to commit."""
    return [
        "a" * 300, "ab" * 200, "the" * 100, "aA" * 150, "x" + "y" * 200 + "z", "!" * 300, "=" * 257, "\u00e9" * 150, "\u65e5" * 150, "\U0001f600" * 60, "\u0301" * 120, "a\u0301" * 100, "\u0300\u0316" * 60, " a" * 150, "a " * 150, "\n a" * 80, "ABC" * 120, "0123456789" * 30, "<" * 200, "<|" * 100, "\u2581" * 80, "the quick brown fox " * 20, "supercalifragilisticexpialidocious" * 8, "\u0645\u0631\u062d\u0628\u0627" * 30, "\ud55c\uad6d\uc5b4" * 40, "   \n" * 40, "'s" * 100, "\u200d" * 60,
    ]


def random_strings(count, seed):
    """Draws from alphabets whose members act on each other."""
    alphabets = [
        list(" \t\n\r") + ["a", "B", "1", ".", "\u00a0", "  "],
        ["'", "s", "S", "t", "re", "VE", "ll", "d", "m", " ", "\u2019", "\u017f"],
        ["1", "2", "\u00bd", "\u0663", "\uff15", "\u2163", ".", ",", " ", "a"],
        ["e", "\u0301", "\u0323", "\u0327", "\u0308", "a", "\u00e9", "\u1e69", "\u1100", "\u1161", "\u11a8", " "],
        ["\U0001f600", "\u200d", "\ufe0f", "\U0001f3fd", "\u2764", " ", "\n", "x", "\U0001f1e6", "\U0001f1fa"],
        ["<s>", "</s>", "<|endoftext|>", "<|im_start|>", " ", "  ", "\n", "a", "<", "|", ">", "<extra>", "<left>", "<right>"],
        ["\u4f60", "\u3042", "\ud55c", "\u0645", "\u05d0", "\u0e01", "\u0915", "\u094d", "\u0937", " ", "a", "\u3002"],
        ["def", "(", ")", ":", "\n    ", "\t", "==", "->", "_", "x", "1", "\"", "#", ";", "{", "}"],
        ["\x00", "\x1f", "\x7f", "\u0085", "\u180e", "\u200b", "\ufeff", "\u2028", "\u3000", "a", " ", "\n"],
        ["the", " the", "ing", "er", "tion", " of", "s", " ", "un", "able", "-", "THE", "re"],
    ]
    source = random.Random(seed)
    return ["".join(source.choice(alphabets[i % len(alphabets)]) for _ in range(source.randint(3, 24))) for i in range(count)]


def all_strings():
    """Every text once, in a fixed order."""
    texts = WORDS + SPACES + DIGITS + SCRIPTS + SYMBOLS + CODE + CONTROLS + SPECIALS + long_strings() + random_strings(100, seed=1)
    return list(dict.fromkeys(texts))


if __name__ == "__main__":
    print(len(all_strings()))
