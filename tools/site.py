"""What `make docs` adds to the pages of docs/, as a hook of MkDocs: pages of files that stand elsewhere (CHANGELOG.md,
SECURITY.md, CONTRIBUTING.md, examples, notebooks), pages that are generated (options, API), and links between them all.

`generated()` gives the texts without MkDocs."""

import ast
import base64
import inspect
import json
import pathlib
import posixpath
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tools import sbom  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Pages whose source stands outside of docs/.
ELSEWHERE = {"changelog.md": "CHANGELOG.md", "security.md": "SECURITY.md",
             "internals/contributing.md": "CONTRIBUTING.md", "benchmarks-h100.md": "benchmarks/results/h100.md"}
_OPTION = re.compile(r'^OPTION\((\w+), ([\w:]+), ("(?:[^"\\]|\\.)*"|[^,]+), "(\w+)", "((?:[^"\\]|\\.)*)"\)$', re.M)
_NOT_SEARCHED = "---\nsearch: {exclude: true}\n---\n\n"


def options():
    """The page of csrc/base/config.def."""
    kinds = {"std::string": "text", "bool": "on or off", "int": "number"}
    words = {"true": "on", "false": "off", '""': "empty"}
    rows = [(variable, kinds[kind], words.get(default, default.strip('"')), told)
            for _, kind, default, variable, told in _OPTION.findall((ROOT / "csrc/base/config.def").read_text())]
    text = ["# Options", "",
            "Environment variables that are read when pijit is imported. `1` and `0` switch on and off.",
            "Those that whole scripts read (`PIJIT_AUTO` …) stand in [Whole scripts](scripts.md).", ""]
    for variable, kind, default, told in rows:
        text += [f"## {variable}", "", told[0].upper() + told[1:] + ".", "", f"*{kind}, default: {default}*", ""]
    return "\n".join(text)


def examples():
    """A page for each folder of examples, and one for each program."""
    found = {}
    for folder in sorted(p for p in (ROOT / "examples").iterdir() if p.is_dir() and p.name != "notebooks"):
        programs = sorted(p for p in folder.rglob("*.py") if p.name != "__init__.py")
        lines = [f"# examples/{folder.name}", "", "| program | |", "|---|---|"]
        for path in programs:
            name = str(path.relative_to(folder))[:-3]
            source = path.read_text()
            told = (ast.get_docstring(ast.parse(source)) or "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|")
            lines.append(f"| [{name}]({name}.md) | {told} |")
            found[f"examples/{folder.name}/{name}.md"] = (
                _NOT_SEARCHED + f"# examples/{folder.name}/{name}.py\n\n```python\n{source.strip()}\n```\n")
        found[f"examples/{folder.name}/index.md"] = "\n".join([*lines, ""])
    return found


def notebooks():
    """A page for each notebook, with what its cells gave when they ran: text, and pictures as files."""
    found = {}
    for path in sorted((ROOT / "examples/notebooks").glob("*.ipynb")):
        lines = []
        for n, cell in enumerate(json.loads(path.read_text())["cells"]):
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                lines += [source, ""]
                continue
            lines += ["```python", source, "```", ""]
            for k, output in enumerate(cell["outputs"]):
                data = output.get("data", {"text/plain": output.get("text", "")})
                if "image/png" in data:
                    picture = f"{path.stem}-{n}-{k}.png"
                    found[f"notebooks/{picture}"] = base64.b64decode("".join(data["image/png"]))
                    lines += [f"![What the cell above draws]({picture})", ""]
                elif "".join(data.get("text/plain", "")).strip():
                    lines += ["```text", "".join(data["text/plain"]).rstrip(), "```", ""]
        found[f"notebooks/{path.stem}.md"] = "\n".join(lines)
    return found


def generated():
    """The texts (or bytes) of all pages and files that are made, by their place in the site."""
    pages = {page: (ROOT / source).read_text() for page, source in ELSEWHERE.items()}
    return {**pages, "licences.md": sbom.page(), "options.md": options(), **api(), **examples(), **notebooks()}


# The API that is pijit's own, by page: what stands where.
_OWN = {
    "capture": ("Capture", ["jit.jit", "jit.JitConfig", "automatic.enable", "automatic.disable", "automatic.enabled",
                            "context.set_context", "context.get_context"]),
    "looking": ("Explanations and profiles", ["explanation.explain", "explanation.Explanation", "explanation.Break",
                                              "profiling.profile.profile", "profiling.profile.Profile",
                                              "doctor.doctor"]),
    "gradients": ("Gradients and vmap", ["grad.grad", "grad.value_and_grad", "grad.vjp", "grad.jvp",
                                         "grad.GradOperation", "jacobian.jacrev", "jacobian.jacfwd",
                                         "jacobian.hessian", "vmap.vmap"]),
    "files": ("Files", ["serialization.save_checkpoint", "serialization.load_checkpoint",
                        "serialization.load_param_into_net", "serialization.export", "serialization.load"]),
    "random": ("Random numbers", ["random.set_seed", "random.get_seed", "random.manual_seed", "random.Generator"]),
}


# MindSpore's: package, folder, and the modules whose names are public there.
_PACKAGES = [("ops", "pijit/ops/function", ["ops"]), ("nn", "pijit/nn", ["nn"]),
             ("mint", "pijit/mint", ["mint", "mint.nn", "mint.nn.functional", "mint.linalg"]),
             ("train", "pijit/train", ["train", "train.callback", "train.metrics"]),
             ("dataset", "pijit/dataset", ["dataset", "dataset.transforms", "dataset.vision", "dataset.text"])]


def _documented(path, names):
    """Public functions and classes of a file that are among the names and have a docstring."""
    return [node.name for node in ast.parse(path.read_text()).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))
            and node.name in names and ast.get_docstring(node)]


def _operators():
    """A page of the operators that the extension has: they have no Python source, but a table says what they do."""
    space = {}
    source = (ROOT / "pijit/ops/documentation.py").read_text().split("\ndef ")[0]
    exec(compile(source, "documentation.py", "exec"), space)
    lines = ["# ops: operators", "", "Tensors and numbers that broadcast; methods of Tensors have the same names.", ""]
    for name, (signature, what, rest) in sorted(space["_TABLE"].items()):
        if name.isidentifier() and not name.startswith("_"):
            told, _, example = inspect.cleandoc(what + rest).partition("Example:")
            lines += [f"## {name}", "", f"`{name}{signature}`", "", told.strip(), ""]
            if example.strip():
                lines += ["```pycon", inspect.cleandoc(example.strip("\n")), "```", ""]
    return "\n".join(lines)


def _first_sentences():
    """Of functions that methods of Tensors are made of, by name: the docstring's first line."""
    space = {}
    source = (ROOT / "pijit/ops/documentation.py").read_text().split("\ndef ")[0]
    exec(compile(source, "documentation.py", "exec"), space)
    told = {name: inspect.cleandoc(what).split("\n")[0] for name, (_, what, _) in space["_TABLE"].items()}
    files = [*sorted((ROOT / "pijit/ops/function").rglob("*.py")), ROOT / "pijit/overloads.py",
             ROOT / "pijit/tensor_more.py", ROOT / "pijit/tensor.py"]
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and ast.get_docstring(node):
                told[node.name.removeprefix("_")] = ast.get_docstring(node).split("\n")[0]
            if path.name == "overloads.py" and isinstance(node, ast.Tuple) and len(node.elts) == 3 and all(
                    isinstance(e, ast.Constant) and isinstance(e.value, str) for e in node.elts[:2]):
                told[node.elts[0].value] = node.elts[1].value.split("\n")[0]
    return told


def _tensor():
    """A page of the class that the extension has: its methods stand in pijit/_C.pyi."""
    tensor = next(node for node in ast.parse((ROOT / "pijit/_C.pyi").read_text()).body
                  if isinstance(node, ast.ClassDef) and node.name == "Tensor")
    told, ways, attributes = _first_sentences(), {}, []
    for node in tensor.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            arguments = node.args
            for a in ast.walk(arguments):
                if isinstance(a, ast.arg):
                    a.annotation = None
            (arguments.posonlyargs or arguments.args or [None]).pop(0)
            ways.setdefault(node.name, []).append(f"`{node.name}({ast.unparse(arguments).replace('...', '…')})`")
        elif isinstance(node, ast.AnnAssign):
            attributes.append(f"`{node.target.id}`")
    lines = ["# Tensor and Parameter", "", "`Tensor(input_data=None, dtype=None, shape=None, init=None)`", "",
             "An array of numbers, with MindSpore's API. `input_data` is a number, a list or tuple of them (nested for "
             "more dimensions), an array of NumPy, whose elements are copied, or a Tensor. Where it is None, `shape`, "
             "`dtype` and `init` say what is made.", "",
             "Operators (`+`, `@`, `x[1:]`, `==` …) are those of arrays. So are the attributes " +
             ", ".join(attributes) + ".", "", "::: pijit.parameter.Parameter", "", "::: pijit.parameter.ParameterTuple",
             "", "## Methods of Tensors", "", "Functions of `ops` with the same names say more.", ""]
    for name, forms in sorted(ways.items()):
        what = told.get(name) or (f"as `{name[:-1]}`, in place." if name[:-1] in ways else "")
        lines.append(f"- {' or '.join(dict.fromkeys(forms))}" + (f": {what}" if what else ""))
    return "\n".join(lines) + "\n"


def api():
    """Pages of the API: mkdocstrings reads docstrings in the sources, without importing them."""
    found = {}
    groups = [(f"api/{page}.md", title, [f"pijit.{name}" for name in names]) for page, (title, names) in _OWN.items()]
    known = json.loads((ROOT / "tools/api_names.json").read_text())["modules"]
    for package, folder, names_of in _PACKAGES:
        public = set().union(*(known[f"mindspore.{module}"] for module in names_of))
        pages = {}
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            title = parts[0] if package == "train" and len(parts) > 1 else " ".join(
                part.strip("_").replace("_", " ") for part in parts if part not in ("layer", "wrap"))
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts).replace(".__init__", "")
            pages.setdefault(title.replace("init", "").strip() or "all", []).extend(
                f"{module}.{name}" for name in _documented(path, public))
        groups += [(f"api/{package}/{title.replace(' ', '_')}.md", f"{package}: {title}", names)
                   for title, names in pages.items() if names]
    lists = {"": ["- [Tensor and Parameter](tensor.md): `Tensor` with all its methods, `Parameter`, `ParameterTuple`"],
             "ops": ["- [operators](ops/operators.md): `add`, `mul`, `exp`, and all other elementwise ones"],
             "nn": [], "mint": [], "train": [], "dataset": []}
    for page, title, names in groups:
        found[page] = f"# {title}\n\n" + "".join(f"::: {name}\n\n" for name in names)
        package = page.split("/")[1] if page.count("/") == 2 else ""
        shown = ", ".join(f"`{name.rpartition('.')[2]}`" for name in names)
        lists[package].append(f"- [{title.rpartition(': ')[2]}]({page[4:]}): {shown}")
    found["api/ops/operators.md"], found["api/tensor.md"] = _operators(), _tensor()
    text = ["# API", "", "Made of the docstrings. [All of MindSpore's names](../api-coverage.md), and what differs, "
            "stand in a list of their own.", ""]
    for package, lines in lists.items():
        text += [f"## pijit.{package}" if package else "## pijit's own", "", *lines, ""]
    found["api/index.md"] = "\n".join(text)
    return found


_PICTURE = re.compile(r'<picture><source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)">\s*'
                      r'<img alt="([^"]+)" src="([^"]+)"></picture>')
_LINK = re.compile(r"(?<=\]\()([^)\s#]+)(#[^)\s]*)?(?=\))")


def _target(origin, link, page_is_elsewhere):
    """Where a link of the file `origin` leads in the site; None where it stays in docs/ or leaves the repository."""
    if re.match(r"[a-z]+:", link):
        return None
    path = posixpath.normpath(posixpath.join(posixpath.dirname(origin), link))
    for page, source in ELSEWHERE.items():
        if path == source:
            return page
    if path.startswith("docs/"):
        return path[5:] if page_is_elsewhere else None
    if path.startswith("examples/"):
        if path.endswith(".ipynb"):
            return path.replace("examples/notebooks", "notebooks")[:-6] + ".md"
        return path[:-3] + ".md" if path.endswith(".py") else path.rstrip("/") + "/index.md"
    return None


def with_links(page, text):
    """The text of a page, its links leading to pages of the site, its pictures in the colours that were chosen."""
    text = _PICTURE.sub(r"![\2](\3#only-light)\n![\2](\1#only-dark)", text)
    origin = ELSEWHERE.get(page, "docs/" + page)

    def link(m):
        target = _target(origin, m[1], page in ELSEWHERE)
        if target is None:
            return m[0]
        return posixpath.relpath(target, posixpath.dirname(page) or ".") + (m[2] or "")
    return "".join(part if k % 2 else _LINK.sub(link, part)
                   for k, part in enumerate(re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)))


def on_files(files, config):
    from mkdocs.structure.files import File
    for name, text in generated().items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown, page, **_):
    return with_links(page.file.src_uri, markdown)


def on_page_content(html, **_):
    """A head of a column without words is no head."""
    return re.sub(r"<th((?: [^>]*)?)></th>", r"<td\1></td>", html)


# What a browser loads by itself when it shows a page: neither links nor names of schemas.
_LOADED = re.compile(r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\s(?:src|srcset)=["']?([^"'\s>]+)"""
                     r"""|<link\b(?=[^>]*rel=["']?(?:stylesheet|icon|preload|preconnect|manifest|dns-prefetch))"""
                     r"""[^>]*?\shref=["']?([^"'\s>]+)|url\(["']?([^"')]+)|@import\s+["']([^"']+)""")


def from_network(folder):
    """What pages and style sheets of a built site load from elsewhere, as "file: address"."""
    return [f"{path.relative_to(folder)}: {address}" for path in sorted(folder.rglob("*"))
            if path.suffix in (".html", ".css") for found in _LOADED.findall(path.read_text(encoding="utf-8"))
            for address in found if re.match(r"(?:[a-z]+:)?//", address)]


def on_post_build(config, **_):
    from mkdocs.exceptions import PluginError
    found = from_network(pathlib.Path(config.site_dir))
    if found:
        raise PluginError("The site loads from a network: " + ", ".join(found[:5]))
