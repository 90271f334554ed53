"""European, Asian and barrier options by Monte Carlo with antithetic paths, and Black-Scholes for arrays of strikes."""

import math

import numpy as np


def normal_cdf(x):
    # Abramowitz and Stegun 7.1.26
    t = 1 / (1 + 0.2316419 * np.abs(x))
    poly = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    upper = 1 - np.exp(-x * x / 2) / math.sqrt(2 * math.pi) * poly
    return np.where(x >= 0, upper, 1 - upper)


def black_scholes(spot, strike, rate, sigma, years):
    root = sigma * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + sigma ** 2 / 2) * years) / root
    d2 = d1 - root
    call = spot * normal_cdf(d1) - strike * np.exp(-rate * years) * normal_cdf(d2)
    put = call - spot + strike * np.exp(-rate * years)
    delta = normal_cdf(d1)
    return call, put, delta


def paths(draws, spot, rate, sigma, years):
    steps = draws.shape[1]
    dt = years / steps
    both = np.concatenate([draws, -draws])
    moves = (rate - sigma ** 2 / 2) * dt + sigma * np.sqrt(dt) * both
    return spot * np.exp(np.cumsum(moves, axis=1))


def price(payoff, rate, years):
    discounted = np.exp(-rate * years) * payoff
    half = len(discounted) // 2
    pairs = (discounted[:half] + discounted[half:]) / 2
    return pairs.mean(), pairs.std(ddof=1) / np.sqrt(len(pairs))


def european(s, strike):
    return np.maximum(s[:, -1] - strike, 0)


def asian(s, strike):
    return np.maximum(s.mean(axis=1) - strike, 0)


def up_and_out(s, strike, barrier):
    alive = np.all(s < barrier, axis=1)
    return np.where(alive, np.maximum(s[:, -1] - strike, 0), 0)


def implied(prices, spot, strike, rate, years, turns=40):
    low, high = np.full_like(prices, 1e-3), np.full_like(prices, 2.0)
    for _ in range(turns):
        mid = (low + high) / 2
        above = black_scholes(spot, strike, rate, mid, years)[0] > prices
        high = np.where(above, mid, high)
        low = np.where(above, low, mid)
    return (low + high) / 2


def main(count=500, steps=50):
    draws = np.random.default_rng(1).standard_normal((count, steps))
    strikes = np.linspace(60, 140, 81)
    s = paths(draws, 100.0, 0.03, 0.2, 1.0)
    call, put, delta = black_scholes(100.0, strikes, 0.03, 0.2, 1.0)
    return (price(european(s, 105.0), 0.03, 1.0), price(asian(s, 105.0), 0.03, 1.0),
            price(up_and_out(s, 105.0, 140.0), 0.03, 1.0), call, put, delta,
            implied(call, 100.0, strikes, 0.03, 1.0))


if __name__ == "__main__":
    print(main()[:3])
