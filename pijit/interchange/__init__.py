"""Networks in files that other packages read: MindIR. Loaded where `export` and `load` need it."""
