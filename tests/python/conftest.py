import os

os.environ.setdefault("PIJIT_STRICT", "1")
os.environ.setdefault("PIJIT_VERIFY", "1")
