"""Threefry-2x32 written from the paper's description, in Python integers, and what is made of its words."""
import numpy as np

WORD = 0xFFFFFFFF


def threefry(key, counter):
    """Threefry-2x32-20: Salmon et al., SC 2011."""
    schedule = [key[0], key[1], 0x1BD11BDA ^ key[0] ^ key[1]]
    left, right = (counter[0] + schedule[0]) & WORD, (counter[1] + schedule[1]) & WORD
    for step in range(20):
        turn = [13, 15, 26, 6, 17, 29, 16, 24][step % 8]
        left = (left + right) & WORD
        right = ((right << turn | right >> (32 - turn)) & WORD) ^ left
        if step % 4 == 3:
            group = step // 4 + 1
            left = (left + schedule[group % 3]) & WORD
            right = (right + schedule[(group + 1) % 3] + group) & WORD
    return left, right


# Random123's kat_vectors: threefry2x32 20.
KNOWN = [
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((WORD, WORD), (WORD, WORD), (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
]


def words(count, key):
    pairs = [threefry(key, (i, 0)) for i in range((count + 1) // 2)]
    return np.array([p[0] for p in pairs], np.uint32), np.array([p[1] for p in pairs], np.uint32)


def bits(count, key):
    return np.concatenate(words(count, key))[:count]


def normal(count, key):
    first, second = (w.astype(np.float64) for w in words(count, key))
    radius, angle = np.sqrt(-2 * np.log((first + 0.5) / 2**32)), second / 2**32 * 2 * np.pi
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:count]


def unit(count, key, digits=24):
    return (bits(count, key) >> np.uint32(32 - digits)).astype(np.float64) / 2**digits


def cases():
    for key, counter, result in KNOWN:
        assert threefry(key, counter) == result
    many = 20000
    assert abs(unit(many, (1, 2)).mean() - 0.5) < 0.01 and abs(unit(many, (1, 2)).var() - 1 / 12) < 0.005
    assert abs(normal(many, (3, 4)).mean()) < 0.03 and abs(normal(many, (3, 4)).std() - 1) < 0.03

    key = (0xDEADBEEF, 7)
    given = np.array(key, np.uint32)
    for i, (known, counter, result) in enumerate(KNOWN):
        yield f"known_answer_{i}", [np.array(known, np.uint32), np.array([counter, counter], np.uint32)], [
            np.array([result, result], np.uint32)]
    yield "bits", [given], [bits(15, key).reshape(3, 5), bits(6, key)]
    yield "seeded_bits", [], [bits(4, (0x55667788, 0x11223344))]
    yield "uniform", [given], [unit(20, key).astype(np.float32).reshape(4, 5), (unit(7, key) * 3 - 1).astype(np.float32)]
    yield "uniform_widths", [given], [unit(9, key, 32), unit(9, key, 11).astype(np.float16)]
    yield "normal", [given], [normal(21, key).astype(np.float32).reshape(3, 7), 2 * normal(5, key) + 1]
    p = np.float32([[0, 0.2, 0.5], [0.7, 0.9, 1]])
    yield "bernoulli", [given, p], [unit(6, key).reshape(2, 3) < p]
    weights = np.array([[1, 2, 3, 4], [0.1, 5, 0.2, 0.1]])
    limits = np.cumsum(weights / weights.sum(1, keepdims=True), 1)
    drawn = unit(14, key).reshape(2, 7)
    yield "multinomial", [given, np.log(weights).astype(np.float32)], [
        np.stack([np.searchsorted(limits[row], drawn[row], "right") for row in range(2)])]
