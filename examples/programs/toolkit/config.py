"""Configuration: YAML into nested dicts whose keys are attributes as well."""

import ast
import copy

try:
    import yaml
except ImportError:  # the programs' own files need no more than `_parsed` reads
    yaml = None


class Config(dict):
    """A dict whose keys are attributes, nested dicts too; `cfg.merge(["optimizer.lr=0.1"])` overrides."""

    def __init__(self, values=()):
        super().__init__()
        for key, value in dict(values).items():
            self[key] = Config(value) if isinstance(value, dict) else value

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the configuration has no {name!r}") from None

    def __setattr__(self, name, value):
        self[name] = value

    def __deepcopy__(self, memo):
        return Config({k: copy.deepcopy(v, memo) for k, v in self.items()})

    def merge(self, overrides):
        for item in overrides:
            path, _, value = item.partition("=")
            *parents, last = path.split(".")
            at = self
            for name in parents:
                at = at.setdefault(name, Config())
            at[last] = _scalar(value)
        return self

    def without(self, *names):
        return {k: v for k, v in self.items() if k not in names}


def _scalar(text):
    text = text.strip()
    if text in ("true", "false"):
        return text == "true"
    if text in ("", "null", "~"):
        return None
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _parsed(text):
    """Indented `key: value` lines, as nested dicts."""
    root = {}
    stack = [(-1, root)]
    for line in text.splitlines():
        line = line.split("#")[0].rstrip()
        if not line:
            continue
        indent = len(line) - len(line.lstrip())
        key, _, value = line.strip().partition(":")
        while stack[-1][0] >= indent:
            stack.pop()
        if value.strip():
            stack[-1][1][key] = _scalar(value)
        else:
            stack[-1][1][key] = inner = {}
            stack.append((indent, inner))
    return root


def load_config(text, overrides=()):
    values = yaml.safe_load(text) if yaml else _parsed(text)
    return Config(values).merge(overrides)
