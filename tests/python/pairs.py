def pairs(*all):
    """As zip(*all, strict=True), which CPython 3.9 has not."""
    all = [list(a) for a in all]
    assert len({len(a) for a in all}) <= 1, [len(a) for a in all]
    return zip(*all)
