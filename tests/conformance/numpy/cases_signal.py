"""Fourier transforms by numpy.fft, windows by their definitions, and counts of n-grams one run at a time."""
import numpy as np


def parts(z, dtype=np.float32):
    return np.stack([z.real, z.imag], -1).astype(dtype)


def stft(x, window, step, onesided):
    frames = [x[:, i:i + len(window)] * window for i in range(0, x.shape[1] - len(window) + 1, step)]
    f = np.fft.rfft if onesided else np.fft.fft
    return parts(f(np.stack(frames, 1), axis=-1))


def mel(bins, length, rate, low, high):
    to_mel = lambda f: 2595 * np.log10(1 + f / 700)
    edges = to_mel(low) + np.arange(bins + 2) * (to_mel(high) - to_mel(low)) / (bins + 2)
    edges = np.floor((length + 1) * 700 * (10**(edges / 2595) - 1) / rate)
    place = np.arange(length // 2 + 1)[:, None]
    begin, middle, end = edges[:-2], edges[1:-1], edges[2:]
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.where(begin == middle, 1.0, (place - begin) / (middle - begin))
        down = (end - place) / (end - middle)
    rising = (place >= begin) & (place <= middle)
    return np.where((place >= middle) & (place < end), down, np.where(rising, up, 0)).astype(np.float32)


def count(x, grams, skip):
    out = np.zeros((len(x), len(grams)), np.int32)
    for row, tokens in enumerate(x.tolist()):
        for column, gram in enumerate(grams):
            for distance in range(1, 2 if len(gram) == 1 else skip + 2):
                last = (len(gram) - 1) * distance
                out[row, column] += sum(tokens[i:i + last + 1:distance] == gram for i in range(len(tokens) - last))
    return out


def cases():
    rng = np.random.default_rng(7)
    x = rng.standard_normal((2, 10, 3, 2)).astype(np.float32)
    z = x[..., 0] + 1j * x[..., 1]
    yield "dft_real", [x[..., :1]], [parts(np.fft.fft(z.real, axis=1))]
    yield "dft_complex", [x], [parts(np.fft.fft(z, axis=1))]
    yield "dft_inverse", [x], [parts(np.fft.ifft(z, axis=2))]
    yield "dft_onesided", [x[..., :1]], [parts(np.fft.rfft(z.real, axis=1))]
    half = np.fft.rfft(z.real, axis=1)
    for name, length in (("even", None), ("odd", 2 * half.shape[1] - 1), ("longer", 2 * half.shape[1] + 3), ("shorter", 4)):
        signal = np.fft.irfft(half, length, axis=1)
        yield f"dft_onesided_inverse_{name}", [parts(half)], [signal[..., None].astype(np.float32)]
    yield "dft_onesided_inverse_real", [parts(half)[..., :1]], [np.fft.irfft(half.real, axis=1)[..., None].astype(np.float32)]
    yield "dft_longer", [x], [parts(np.fft.fft(z, 13, axis=1))]
    yield "dft_shorter", [x], [parts(np.fft.fft(z, 7, axis=1))]
    # 480 = 20 * 24; 1024 = 32 * 32; 130 = 10 * 13; 67 is prime.
    for n in (67, 130, 480):
        long = rng.standard_normal((1, n, 2)).astype(np.float32)
        yield f"dft_{n}", [long], [parts(np.fft.fft(long[..., 0] + 1j * long[..., 1], axis=1))]
    real = rng.standard_normal((2, 1024, 1)).astype(np.float32)
    yield "dft_1024_onesided", [real], [parts(np.fft.rfft(real[..., 0], axis=1))]
    doubles = rng.standard_normal((1, 130, 2))
    yield "dft_f64", [doubles], [parts(np.fft.ifft(doubles[..., 0] + 1j * doubles[..., 1], axis=1), np.float64)]

    wave = rng.standard_normal((2, 37, 1)).astype(np.float32)
    window = rng.standard_normal(16).astype(np.float32)
    yield "stft", [wave, window], [stft(wave[..., 0], window, 5, True)]
    both = rng.standard_normal((1, 20, 2)).astype(np.float32)
    yield "stft_complex", [both, window], [stft(both[..., 0] + 1j * both[..., 1], window, 3, False)]
    yield "hann", [], [np.hanning(9).astype(np.float32), np.hanning(11)[:10].astype(np.float32)]
    yield "hamming", [], [np.hamming(9).astype(np.float32), np.hamming(11)[:10].astype(np.float32)]
    yield "blackman", [], [np.blackman(9).astype(np.float32), np.blackman(1).astype(np.float32)]
    yield "mel", [], [mel(8, 64, 8000, 50, 3900)]

    tokens = rng.integers(1, 4, (3, 9)).astype(np.int64)
    grams = [[1, 2], [3], [2, 2, 1], [3, 1], [1], [7, 7]]
    yield "ngrams", [tokens], [count(tokens, grams, 0)]
    yield "ngrams_skip", [tokens], [count(tokens, grams, 3)]
    yield "ngrams_row", [tokens[0].astype(np.int32)], [count(tokens[:1], grams, 1)[0]]
