"""Moving averages, exponential ones, bands, drawdowns and ratios of series of prices."""

import numpy as np


def moving_average(x, n):
    c = np.cumsum(np.insert(x, 0, 0.0))
    return (c[n:] - c[:-n]) / n


def moving_std(x, n):
    c, s = np.cumsum(x), np.cumsum(x * x)
    c, s = np.concatenate(([0.0], c)), np.concatenate(([0.0], s))
    mean = (c[n:] - c[:-n]) / n
    return np.sqrt(np.maximum((s[n:] - s[:-n]) / n - mean ** 2, 0))


def exponential(x, alpha):
    out = np.empty_like(x)
    out[0] = x[0]
    for k in range(1, len(x)):
        out[k] = alpha * x[k] + (1 - alpha) * out[k - 1]
    return out


def bands(x, n, width):
    mean, std = moving_average(x, n), moving_std(x, n)
    upper, lower = mean + width * std, mean - width * std
    inside = x[n - 1:]
    return upper, lower, np.count_nonzero((inside > upper) | (inside < lower))


def returns(x):
    return np.diff(x) / x[:-1], np.diff(np.log(x))


def drawdown(x):
    top = np.maximum.accumulate(x)
    loss = x / top - 1
    end = np.argmin(loss)
    begin = np.argmax(x[:end + 1])
    return loss.min(), begin, end


def sharpe(r, periods=252):
    return r.mean() / r.std(ddof=1) * np.sqrt(periods)


def crossings(a, b):
    sign = np.sign(a - b)
    return np.flatnonzero(np.diff(sign))


def summary(r):
    q = np.percentile(r, [5, 50, 95])
    centred = r - r.mean()
    skew = (centred ** 3).mean() / r.std() ** 3
    return q, skew, (r > 0).mean(), np.sort(r)[:3]


def main(count=500):
    rng = np.random.default_rng(29)
    x = 100 * np.exp(np.cumsum(0.0003 + 0.01 * rng.standard_normal(count)))
    fast, slow = moving_average(x, 10), moving_average(x, 30)
    simple, logs = returns(x)
    return (bands(x, 20, 2.0), exponential(x, 0.1), drawdown(x), sharpe(simple), crossings(fast[20:], slow),
            summary(logs))


if __name__ == "__main__":
    print(main()[2:])
