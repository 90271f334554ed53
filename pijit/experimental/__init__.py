"""What may still change: optimizers with parameter groups that are dicts, and their schedulers."""
