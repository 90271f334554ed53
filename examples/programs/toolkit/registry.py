"""Registries: classes and functions by name, made from configuration."""


class Registry:
    """`@MODELS.register()` above a class puts it in; `MODELS.build({"type": "Name", …})` makes one."""

    def __init__(self, kind):
        self.kind, self._entries = kind, {}

    def register(self, name=None):
        def keep(entry):
            key = name or entry.__name__
            if key in self._entries:
                raise KeyError(f"the {self.kind} {key!r} is registered twice")
            self._entries[key] = entry
            return entry
        return keep

    def get(self, name):
        try:
            return self._entries[name]
        except KeyError:
            raise KeyError(f"no {self.kind} {name!r}; there are {sorted(self._entries)}") from None

    def __contains__(self, name):
        return name in self._entries

    def names(self):
        return sorted(self._entries)

    def build(self, cfg, **more):
        return build(self, cfg, **more)


def build(registry, cfg, **more):
    """What `cfg["type"]` names, with the rest of cfg and `more` as arguments."""
    args = {k: v for k, v in cfg.items() if k != "type"}
    return registry.get(cfg["type"])(**args, **more)
