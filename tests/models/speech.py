"""A minute of sound that a detector of speech takes for speech in parts: voiced sounds of changing pitch through the
resonances of vowels, breathed consonants, pauses, and a quiet noise below all of it.

By a source and filters in series (Klatt, "Software for a cascade/parallel formant synthesizer", 1980).
"""
import wave

import numpy as np

RATE, SECONDS, CHUNK = 16000, 60, 512
CHUNKS = RATE * SECONDS // CHUNK
# First three resonances in Hz, of a man's vowels (Peterson and Barney, 1952).
VOWELS = np.array([(270, 2290, 3010), (390, 1990, 2550), (530, 1840, 2480), (660, 1720, 2410), (730, 1090, 2440),
                   (570, 840, 2410), (440, 1020, 2240), (300, 870, 2240), (640, 1190, 2390)])
BANDWIDTHS = (60, 90, 150)  # Hz


def _resonate(x, frequency, bandwidth):
    """A resonance of two poles, with a gain of one at 0 Hz."""
    radius = np.exp(-np.pi * bandwidth / RATE)
    b, c = 2 * radius * np.cos(2 * np.pi * frequency / RATE), -radius * radius
    y, last, before = np.empty_like(x), 0.0, 0.0
    for i, value in enumerate(x):
        last, before = (1 - b - c) * value + b * last + c * before, last
        y[i] = last
    return y


def _syllable(random, pitch):
    """A breathed consonant and a vowel, 140 to 320 ms."""
    voiced, breath = (int(RATE * random.uniform(*span)) for span in ((0.1, 0.24), (0.04, 0.08)))
    glide = np.linspace(pitch * random.uniform(0.95, 1.1), pitch * random.uniform(0.85, 1.0), voiced)
    phase = np.cumsum(glide / RATE)
    pulses = np.diff(np.floor(phase), prepend=0.0)  # one a period
    x = pulses * 8 + random.uniform(-0.02, 0.02, voiced)
    for frequency, bandwidth in zip(VOWELS[random.integers(len(VOWELS))], BANDWIDTHS):
        x = _resonate(x, frequency, bandwidth)
    x *= np.minimum(1, np.minimum(np.arange(voiced), np.arange(voiced)[::-1]) / (0.02 * RATE))
    x *= 0.25 / np.abs(x).max()
    noise = np.diff(random.uniform(-1, 1, breath + 1)) * np.hanning(breath) * 0.03
    return np.concatenate([noise, x])


def speech():
    """Samples of [-1, 1), 60 s at 16 kHz."""
    random = np.random.default_rng(5)
    sound = random.uniform(-1, 1, RATE * SECONDS) * 0.001
    at = RATE
    while at < RATE * (SECONDS - 4):
        pitch = random.uniform(95, 150)
        for _ in range(random.integers(4, 12)):  # a phrase
            syllable = _syllable(random, pitch)
            sound[at:at + len(syllable)] += syllable
            at += len(syllable)
            pitch *= 0.98
        at += int(RATE * random.uniform(0.3, 1.5))
    return sound


def write_speech(path):
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes((speech() * 32767).astype("<i2").tobytes())
