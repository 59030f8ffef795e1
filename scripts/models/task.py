"""The little language of the bundled models: its words, its prompts and what is held out.

A prompt is ``<bos> x : y ; x : y ; ... q :`` and the answer is one word. There are two families:

* contextual: two to four categories are mapped to random label words. The words say nothing about the
  categories, so the answer can only come from the demonstrations.
* parametric: one of four fixed functions (category, colour, place, successor) is applied to every item. The
  demonstrations only say which one, so a task vector is enough.

A third kind, recall (six items with six labels, every item repeated), is used early in training alone.
"""

from dataclasses import dataclass

import numpy as np

CATEGORIES = {
    "animal": "cat dog cow horse hen fox owl bear wolf deer goat mouse",
    "fruit": "apple pear plum fig lime banana mango grape lemon peach melon cherry",
    "tool": "saw axe drill file rake spade wrench chisel hammer pliers ladder shovel",
    "vehicle": "car bus van tram bike boat ship plane train truck canoe ferry",
    "clothing": "hat coat sock shoe scarf glove shirt skirt dress belt vest boot",
    "instrument": "drum harp lute horn flute piano viola cello banjo bugle organ gong",
    "body": "arm leg hand foot knee neck chin nose ear eye toe hip",
    "weather": "rain snow hail fog mist wind storm cloud frost sleet sun thunder",
}
LABELS = "foo bar baz qux zip zap dax wug fep lorp mib nop kiki toma blick vex".split()
COLOURS = "red blue green yellow black white".split()
PLACES = "home field shop sea".split()
SPECIAL = ["<pad>", "<bos>", "<eos>", "<unk>", ":", ";"]
FUNCTIONS = ["category", "colour", "place", "successor"]

N_CATEGORIES = len(CATEGORIES)
N_ITEMS = 12  # in each category
ITEMS = [word for words in CATEGORIES.values() for word in words.split()]
WORDS = SPECIAL + ITEMS + LABELS + list(CATEGORIES) + COLOURS + PLACES
VOCABULARY = WORDS + [f"<unused{i}>" for i in range(144 - len(WORDS))]
ID = {word: i for i, word in enumerate(VOCABULARY)}
assert len(ID) == len(VOCABULARY) == 144 and len(ITEMS) == N_CATEGORIES * N_ITEMS

BOS, COLON, SEMICOLON = ID["<bos>"], ID[":"], ID[";"]
FIRST_ITEM, FIRST_LABEL, FIRST_CATEGORY = ID[ITEMS[0]], ID[LABELS[0]], ID["animal"]
FIRST_COLOUR, FIRST_PLACE = ID[COLOURS[0]], ID[PLACES[0]]


def _balanced(rng, n_values):
    """One of `n_values` for every item, equally often inside each category."""
    return np.concatenate([rng.permutation(np.arange(N_ITEMS) % n_values) for _ in range(N_CATEGORIES)])


def _function_table():
    """[4, 96] token id of each function's value at each item. Colours and places are fixed arbitrary facts."""
    rng = np.random.default_rng(7)
    item = np.arange(len(ITEMS))
    category, member = item // N_ITEMS, item % N_ITEMS
    return np.stack([
        FIRST_CATEGORY + category,
        FIRST_COLOUR + _balanced(rng, len(COLOURS)),
        FIRST_PLACE + _balanced(rng, len(PLACES)),
        FIRST_ITEM + category * N_ITEMS + (member + 1) % N_ITEMS,
    ])


FUNCTION_VALUES = _function_table()


def _mix(hashes, values):
    """One step of a 64-bit multiplicative hash, elementwise."""
    mixed = (hashes ^ values.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    return mixed ^ (mixed >> np.uint64(29))


def mapping_is_held_out(categories, labels):
    """[n] A tenth of all sets of (category, label) pairs, by hash; -1 pads the rows of both [n, 4]."""
    order = np.argsort(np.where(categories < 0, N_CATEGORIES, categories), axis=1)
    categories, labels = (np.take_along_axis(a, order, 1) for a in (categories, labels))
    hashes = np.full(len(categories), 1, np.uint64)
    for c, y in zip(categories.T, labels.T):
        hashes = np.where(c < 0, hashes, _mix(hashes, c * len(LABELS) + y + 1))
    return (hashes >> np.uint64(7)) % np.uint64(10) == 0


def opening_is_held_out(function, first, second):
    """[n] A tenth of all parametric prompts: those whose function and first two items fall into it by hash."""
    hashes = _mix(_mix(_mix(np.full(len(first), 2, np.uint64), function + 1), first + 1), second + 1)
    return (hashes >> np.uint64(7)) % np.uint64(10) == 0


@dataclass
class Batch:
    """n prompts of `pairs` pairs each; the last pair is the query."""

    tokens: np.ndarray  # [n, 4 * pairs] int64: <bos> x : y ; x : y ; ... q : y
    answers: np.ndarray  # [n, pairs] the y
    determined: np.ndarray  # [n, pairs] whether the pairs before tell the answer
    allowed: np.ndarray  # [n, V] the prompt's label set: labels in play, or the function's values

    @property
    def prompts(self):
        """Tokens up to and including the query's ':'."""
        return self.tokens[:, :-1]

    def label_sets(self):
        """For every prompt the sorted token ids of its label set."""
        return [np.flatnonzero(row).tolist() for row in self.allowed]


def _assemble(items, answers, determined, allowed):
    n, pairs = items.shape
    tokens = np.full((n, 4 * pairs), BOS, np.int64)
    tokens[:, 1::4], tokens[:, 2::4], tokens[:, 3::4], tokens[:, 4::4] = items, COLON, answers, SEMICOLON
    return Batch(tokens, answers, determined, allowed)


def _seen_before(slots, n_slots):
    """[n, pairs] whether the slot of a pair occurred in an earlier pair."""
    seen = np.zeros((len(slots), n_slots), bool)
    result = np.zeros(slots.shape, bool)
    for j in range(slots.shape[1]):
        result[:, j] = np.take_along_axis(seen, slots[:, j : j + 1], 1)[:, 0]
        np.put_along_axis(seen, slots[:, j : j + 1], True, 1)
    return result


def _distinct(rng, n, universe, count):
    """[n, count] without repetition inside a row."""
    return np.argsort(rng.random((n, universe)), axis=1)[:, :count]


def draw_mappings(rng, n, n_labels, held_out):
    """categories, labels [n, 4] (-1 padded) and the number of them in use [n]."""
    kept, missing = [], n
    while missing > 0:
        size = max(64, missing * (14 if held_out else 2))
        count = rng.choice(np.asarray(n_labels), size)
        unused = np.arange(4)[None] >= count[:, None]
        categories = np.where(unused, -1, _distinct(rng, size, N_CATEGORIES, 4))
        labels = np.where(unused, -1, _distinct(rng, size, len(LABELS), 4))
        ok = mapping_is_held_out(categories, labels) == held_out
        kept.append((categories[ok], labels[ok], count[ok]))
        missing -= int(ok.sum())
    return tuple(np.concatenate(parts)[:n] for parts in zip(*kept))


def contextual(rng, n, pairs, n_labels=(2, 3, 4), held_out=False, repeat=0.0, evaluate=False):
    """Categories mapped to random labels.

    `repeat` is the chance that a pair shows the first item drawn for its category again (an easier stage of
    training). With `evaluate`, every category in play is demonstrated and the query item is a new one.
    """
    categories, labels, count = draw_mappings(rng, n, n_labels, held_out)
    slots = rng.integers(0, count[:, None], (n, pairs))
    if evaluate and pairs > 4:
        column = np.arange(4)[None]
        slots[:, :4] = np.where(column < count[:, None], column, slots[:, :4])
        slots[:, :-1] = rng.permuted(slots[:, :-1], axis=1)
    members = rng.integers(0, N_ITEMS, (n, pairs))
    if repeat > 0:
        first = rng.integers(0, N_ITEMS, (n, 4))
        members = np.where(rng.random((n, pairs)) < repeat, np.take_along_axis(first, slots, 1), members)
    if evaluate:
        same_category = slots[:, :-1] == slots[:, -1:]
        for row in range(n):
            shown = members[row, :-1][same_category[row]]
            members[row, -1] = rng.choice(np.setdiff1d(np.arange(N_ITEMS), shown))
    items = FIRST_ITEM + np.take_along_axis(categories, slots, 1) * N_ITEMS + members
    answers = FIRST_LABEL + np.take_along_axis(labels, slots, 1)
    allowed = np.zeros((n, len(VOCABULARY)), bool)
    for label in labels.T:
        rows = np.flatnonzero(label >= 0)
        allowed[rows, FIRST_LABEL + label[rows]] = True
    return _assemble(items, answers, _seen_before(slots, 4), allowed)


def parametric(rng, n, pairs, function=None, held_out=False):
    """One of the four functions (a given one, or a random one per prompt) on distinct items."""
    kept, missing = [], n
    while missing > 0:
        size = max(64, missing * (14 if held_out else 2))
        f = rng.integers(0, len(FUNCTIONS), size) if function is None else np.full(size, function)
        x = _distinct(rng, size, len(ITEMS), pairs)
        # A zero-shot prompt has no opening and is never held out.
        ok = opening_is_held_out(f, x[:, 0], x[:, 1]) == held_out if pairs > 1 else np.full(size, True)
        kept.append((f[ok], x[ok]))
        missing -= int(ok.sum())
    f, x = (np.concatenate(parts)[:n] for parts in zip(*kept))
    determined = np.ones((n, pairs), bool)
    determined[:, 0] = False
    values = np.zeros((len(FUNCTIONS), len(VOCABULARY)), bool)
    np.put_along_axis(values, FUNCTION_VALUES, True, 1)
    return _assemble(FIRST_ITEM + x, FUNCTION_VALUES[f[:, None], x], determined, values[f])


def recall(rng, n, pairs, n_items=6):
    """Distinct items with distinct labels, repeated: exact match is enough. Never one of the mappings above."""
    items, labels = _distinct(rng, n, len(ITEMS), n_items), _distinct(rng, n, len(LABELS), n_items)
    slots = rng.integers(0, n_items, (n, pairs))
    allowed = np.zeros((n, len(VOCABULARY)), bool)
    np.put_along_axis(allowed, FIRST_LABEL + labels, True, 1)
    return _assemble(FIRST_ITEM + np.take_along_axis(items, slots, 1),
                     FIRST_LABEL + np.take_along_axis(labels, slots, 1), _seen_before(slots, n_items), allowed)


def text(tokens):
    """The words of a row of token ids."""
    return " ".join(VOCABULARY[i] for i in tokens)
