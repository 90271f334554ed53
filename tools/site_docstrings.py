"""For mkdocstrings: the section that docstrings here call "Example:" is the one that Griffe calls "Examples:"."""

import re

import griffe


class Examples(griffe.Extension):
    def on_object(self, *, obj, **_):
        if obj.docstring:
            obj.docstring.value = re.sub(r"^( *)Example:$", r"\1Examples:", obj.docstring.value, flags=re.M)
