"""What may still change: optimizers with parameter groups that are dicts, their schedulers, tables of rows by key."""

from pijit import compat

__getattr__, __dir__ = compat.names(__name__, {"experimental.map_parameter": "MapParameter"})
