"""How `make docs` builds the site of the documents with Sphinx, from the files that a code host shows as they are."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]


def as_installed() -> None:
    """Import the folder `metrics` under the name that it has for whoever installed it."""
    library = CHECKOUT / "metrics"
    spec = spec_from_file_location("reeljudge", library / "__init__.py", submodule_search_locations=[str(library)])
    assert spec
    assert spec.loader
    sys.modules["reeljudge"] = module = module_from_spec(spec)
    spec.loader.exec_module(module)


as_installed()
project = "Reeljudge"
version = release = sys.modules["reeljudge"].__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]

# The source is the checkout, so that links between documents are the same here and on a code host.
include_patterns = ["docs/**", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
exclude_patterns = [".*", "var", "docs/site"]
root_doc = "docs/index"
myst_heading_anchors = 4
nitpicky = True
# What has its pages elsewhere, and what only the library itself uses.
nitpick_ignore_regex = [("py:class", r"numpy\..*|reeljudge\.measures\.measure\.Definition")]
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_param = False  # types are words, not names of classes
autodoc_typehints = "none"
autodoc_member_order = "bysource"

html_theme = "furo"
html_title = "Reeljudge"
html_static_path = ["static"]
html_css_files = ["house.css"]
html_additional_pages = {"index": "redirect.html"}
templates_path = ["templates"]
html_copy_source = False
html_show_copyright = False
COLOURS = {
    "font-stack": 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif',
    "font-stack--monospace": 'ui-monospace, "Cascadia Mono", Menlo, monospace',
}
html_theme_options = {
    "light_css_variables": COLOURS
    | {
        "color-brand-primary": "#0f6b66",
        "color-brand-content": "#0f6b66",
        "color-brand-visited": "#0f6b66",
        "color-background-primary": "#fbfaf8",
        "color-background-secondary": "#fbfaf8",
        "color-foreground-primary": "#1d1f21",
        "color-foreground-secondary": "#5c6166",
        "color-background-border": "#dedbd5",
        "color-api-name": "#0f6b66",
        "color-api-pre-name": "#5c6166",
    },
    "dark_css_variables": {
        "color-brand-primary": "#62c9be",
        "color-brand-content": "#62c9be",
        "color-brand-visited": "#62c9be",
        "color-background-primary": "#141617",
        "color-background-secondary": "#141617",
        "color-foreground-primary": "#e9e7e3",
        "color-foreground-secondary": "#a4a9ad",
        "color-background-border": "#34393c",
        "color-api-name": "#62c9be",
        "color-api-pre-name": "#a4a9ad",
    },
}
