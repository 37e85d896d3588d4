"""The words of repmath.random under statistical tests that find structure: of one stream, and of words that neighbouring streams and seeds have at one place.
A sound generator fails one of them less than once in 10^9 rounds; generators that are known to be weak fail in each (the controls)."""

import math

import numpy as np

from repmath import random

WORDS = 1 << 15
LEAST = 1e-10  # of a probability, by each test
SIZE = 32  # of matrices over two elements
RANKS = {0: 0.2887880951, 1: 0.5775761902, 2: 0.1283502645}  # how often such a matrix lacks so many of its ranks


def normal(z):
    return math.erfc(abs(z) / math.sqrt(2))


def chi_squared(counts, expected):
    """The probability of so much or more (Wilson and Hilferty), and of so little."""
    counts, expected = np.asarray(counts, float), np.asarray(expected, float)
    degrees = counts.size - 1
    share = float(np.sum((counts - expected) ** 2 / expected)) / degrees
    return normal((share ** (1 / 3) - (1 - 2 / (9 * degrees))) / math.sqrt(2 / (9 * degrees)))


def poisson(count, mean):
    """The probability of such a count or one farther out, within a factor of two."""
    tail = [math.exp(-mean + k * math.log(mean) - math.lgamma(k + 1)) for k in range(int(6 * mean) + 60)]
    return min(1.0, 2 * min(sum(tail[: count + 1]), sum(tail[count:])))


def bits_of_words(words):
    """Each of the 32 bits is 1 in half of the words, and changes from one word to the next in half of them."""
    for sample in (words, words[1:] ^ words[:-1], words[2:] ^ words[:-2]):
        for bit in range(32):
            ones = int(np.sum(sample >> np.uint32(bit) & np.uint32(1)))
            yield normal((2 * ones - len(sample)) / math.sqrt(len(sample)))


def bytes_of_words(words):
    """Bytes, and pairs of neighbouring half bytes, are equally frequent."""
    found = words.view(np.uint8)
    yield chi_squared(np.bincount(found, minlength=256), np.full(256, len(found) / 256))
    pairs = (found[:-1] & 15).astype(int) << 4 | found[1:] >> 4
    yield chi_squared(np.bincount(pairs, minlength=256), np.full(256, len(pairs) / 256))


def spacings_of_birthdays(words):
    """Marsaglia's: equal spacings between 512 sorted numbers of 24 bits are as many as Poisson's law of mean 2 has, over all parts of the words."""
    for shift in (0, 4, 8):
        days = np.sort((words >> np.uint32(shift) & np.uint32(0xFFFFFF)).reshape(-1, 512), axis=1)
        spacings = np.sort(np.diff(days.astype(np.int64), axis=1), axis=1)
        equal = np.sum(spacings[:, 1:] == spacings[:, :-1], axis=1)
        yield poisson(int(equal.sum()), 512**3 / (4 * 2**24) * len(days))


def ranks_of_matrices(words):
    """32 words are a matrix over two elements."""
    rows = words.reshape(-1, SIZE).astype(np.uint64).copy()
    rank = np.zeros(len(rows), int)
    left = np.ones(rows.shape, bool)
    every = np.arange(len(rows))
    for bit in range(SIZE):
        have = (rows >> np.uint64(bit) & np.uint64(1)).astype(bool)
        pivots = have & left
        some, at = pivots.any(axis=1), pivots.argmax(axis=1)
        pivot = rows[every, at]
        others = have & some[:, None]
        others[every, at] = False
        rows = np.where(others, rows ^ pivot[:, None], rows)
        left[every[some], at[some]] = False
        rank += some
    lacking = np.minimum(SIZE - rank, 3)
    shares = [*RANKS.values(), 1 - sum(RANKS.values())]
    counts = np.bincount(lacking, minlength=4)
    yield chi_squared([*counts[:2], counts[2] + counts[3]], np.array([*shares[:2], shares[2] + shares[3]]) * len(rows))


def weights_of_words(words):
    """How many bits are 1: of neighbouring words together, and the variance, whose own is 124 for 32 bits."""
    weight = np.bitwise_count(words).astype(float) - 16
    yield normal(np.sum(weight[1:] * weight[:-1]) / (8 * math.sqrt(len(weight) - 1)))
    yield normal(np.sum(weight**2 - 8) / math.sqrt(124 * len(weight)))


TESTS = (bits_of_words, bytes_of_words, spacings_of_birthdays, ranks_of_matrices, weights_of_words)


def failed(words):
    return [test.__name__ for test in TESTS if min(test(np.ascontiguousarray(words, np.uint32))) < LEAST]


def of_generator(rng):
    """One stream, words at the same place of many streams or seeds, and the bits of neighbouring streams compared."""
    seed, stream, place = (int(v) for v in rng.integers(0, [2**63, 2**63, 2**61], dtype=np.int64))
    kind, many = int(rng.integers(4)), 256
    if kind == 0:
        return random.bits(seed, WORDS, stream=stream, offset=place)
    if kind == 3:
        return random.bits(seed, WORDS, stream=stream) ^ random.bits(seed, WORDS, stream=stream + 1)
    apart = 1 << int(rng.integers(0, 40))
    pairs = [(seed + i * apart, stream) if kind == 1 else (seed, stream + i * apart) for i in range(many)]
    return np.concatenate([random.bits(s % 2**64, WORDS // many, stream=t % 2**64, offset=place) for s, t in pairs])


def test_words(attack):
    for rng in attack.rounds(6):
        assert failed(of_generator(rng)) == []


def test_controls():
    """A congruential generator, a register of 31 bits with feedback, a counter, and one bit that is set a little too often."""
    x, congruential = 1, []
    for _ in range(WORDS):
        x = x * 65539 % 2**31
        congruential.append(2 * x)
    state, register = 0xACE1ACE1 >> 1, []
    for _ in range(WORDS):
        word = 0
        for _ in range(32):
            state = state >> 1 | ((state ^ state >> 3) & 1) << 30
            word = word << 1 | state & 1
        register.append(word)
    rng = np.random.default_rng(1)
    biased = rng.integers(0, 2**32, WORDS, np.uint32) | (rng.random(WORDS) < 0.05).astype(np.uint32)
    assert len(failed(congruential)) >= 2
    assert "ranks_of_matrices" in failed(register)
    assert "bytes_of_words" in failed(np.arange(WORDS) * 2**17 % 2**32)
    assert failed(biased) == ["bits_of_words"]
    assert failed(rng.integers(0, 2**32, WORDS, np.uint32)) == []
