"""The device GPU of pijit, which finds it here by itself."""
