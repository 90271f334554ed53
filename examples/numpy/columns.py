"""A table by columns of arrays: filters, groups, joins, pivots, ranks and rolling sums as data frames have them."""

import numpy as np


def table(n, rng):
    return {"store": rng.integers(0, 6, n), "day": np.sort(rng.integers(0, 90, n)),
            "amount": np.round(rng.gamma(2.0, 20.0, n), 2), "items": rng.integers(1, 9, n)}


def select(t, mask):
    return {name: column[mask] for name, column in t.items()}


def with_columns(t):
    price = t["amount"] / t["items"]
    share = t["amount"] / t["amount"].sum()
    return {**t, "price": price, "share": share, "week": t["day"] // 7}


def group_sum(keys, values):
    groups, places = np.unique(keys, return_inverse=True)
    totals = np.zeros(len(groups))
    np.add.at(totals, places, values)
    counts = np.bincount(places, minlength=len(groups))
    return groups, totals, totals / counts


def group_by_sort(keys, values):
    order = np.argsort(keys, kind="stable")
    k, v = keys[order], values[order]
    starts = np.flatnonzero(np.concatenate(([True], k[1:] != k[:-1])))
    return k[starts], np.add.reduceat(v, starts), np.maximum.reduceat(v, starts)


def pivot(rows, columns, values):
    out = np.zeros((rows.max() + 1, columns.max() + 1))
    np.add.at(out, (rows, columns), values)
    return out


def join(keys, table_keys, table_values, missing):
    order = np.argsort(table_keys)
    at = np.searchsorted(table_keys[order], keys)
    at = np.clip(at, 0, len(table_keys) - 1)
    found = table_keys[order][at] == keys
    return np.where(found, table_values[order][at], missing)


def rank(x):
    order = x.argsort(kind="stable")
    out = np.empty(len(x), dtype=int)
    out[order] = np.arange(len(x))
    return out


def standard_scores(values, keys):
    out = values.astype(float)
    for k in np.unique(keys):
        mask = keys == k
        out[mask] = (out[mask] - out[mask].mean()) / out[mask].std()
    return out


def rolling_sum(x, n):
    c = x.cumsum()
    c[n:] = c[n:] - c[:-n]
    return c[n - 1:]


def main(n=400):
    t = with_columns(table(n, np.random.default_rng(31)))
    large = select(t, (t["amount"] > 30) & (t["items"] <= 5))
    names = join(t["store"], np.array([4, 0, 2]), np.array([40.0, 0.5, 20.0]), -1.0)
    daily = pivot(t["day"], t["store"], t["amount"])
    return (group_sum(t["store"], t["amount"]), group_by_sort(t["store"], t["amount"]), len(large["day"]),
            daily.sum(axis=1), names, rank(t["amount"])[:5], standard_scores(t["amount"], t["store"]).mean(),
            rolling_sum(daily.sum(axis=1), 7))


if __name__ == "__main__":
    print(main()[0], main()[2])
