"""Configuration of Sphinx, which builds the site: ``make docs``."""

from __future__ import annotations

import os
import re
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
# Examples draw into files.
os.environ["MPLBACKEND"] = "Agg"

from api_pages import write_pages  # noqa: E402
from docutils import nodes  # noqa: E402
from sphinx.errors import ExtensionError  # noqa: E402

import highrelief  # noqa: E402

project = "highrelief"
author = "The highrelief developers"
copyright = "the highrelief developers, BSD-3-Clause"
version = release = highrelief.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_static", "**/GALLERY_HEADER.rst"]
nitpicky = True
highlight_language = "text"
# Quotes are those of Python: a value that is copied must work.
smartquotes = False
needs_sphinx = "8.1"

# Markdown: formulas between dollars, links to headings as other viewers of Markdown make them.
myst_enable_extensions = ["attrs_inline", "colon_fence", "dollarmath"]
myst_heading_anchors = 4
myst_dmath_double_inline = True

# Docstrings.
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False
numpydoc_validation_checks = {
    "GL03",  # double blank lines
    "GL05",  # tabs
    "GL06",  # unknown sections
    "GL07",  # sections in another order
    "GL08",  # no docstring
    "PR01",  # parameters without a description
    "PR02",  # descriptions of parameters that are none
    "PR03",  # parameters in another order
    "PR07",  # no description
    "PR10",  # "name: type" without a space
    "RT03",  # a return value without a description
    "SS01",  # no summary
}
# What functions return: their fields are described one by one.
numpydoc_validation_exclude = {
    r"\.(Accuracy|Comparison|MethodResult|Decision|InteractionTable|Pair|Report)(\.|$)"
}
numpydoc_validation_exclude |= {r"\.(NogueiraStability|StabilityBySize)(\.|$)"}

# The gallery.
sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("highrelief",),
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"(^|/)(?!plot_)[^/]*\.py$",
    "subsection_order": [f"../examples/{part}" for part in ("finding", "trusting", "tables", "spaces")],
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 0,
    "write_computation_times": False,
    "reset_modules": ("matplotlib",),
    "matplotlib_animations": False,
    "remove_config_comments": True,
    "image_scrapers": ("matplotlib",),
    "thumbnail_size": (400, 280),
    "default_thumb_file": None,
}

# The look. Nothing is fetched when a page is viewed.
html_theme = "pydata_sphinx_theme"
html_title = "highrelief"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "github_url": "https://github.com/highrelief/highrelief",
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "show_prev_next": False,
    "header_links_before_dropdown": 9,
    "navbar_align": "left",
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
    "back_to_top_button": True,
}
html_sidebars = {"index": [], "start": [], "choosing": [], "glossary": []}
mathjax_path = "tex-svg.js"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True


def _copy_mathjax(app: Any, failure: Exception | None) -> None:
    """Put MathJax beside the pages, so that formulas are drawn without a network."""
    if failure is None and app.builder.format == "html":
        package = find_spec("sphinx-mathjax-offline")
        if package is None or package.origin is None:
            raise ModuleNotFoundError("pip install sphinx-mathjax-offline: formulas need it")
        script = Path(package.origin).parent / "static" / "mathjax" / mathjax_path
        shutil.copy(script, Path(app.outdir) / "_static" / mathjax_path)


def _check_that_nothing_is_fetched(app: Any, failure: Exception | None) -> None:
    """Refuse pages that would load a script, a style, a font or a picture from elsewhere."""
    if failure is not None or app.builder.format != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        fetched = re.search(r'<(?:script|link|img|iframe)\b[^>]*"(?:https?:)?//[^>]*>', text)
        if fetched:
            raise ExtensionError(f"{page.name} would fetch {fetched[0]}")


def _forget_examples(app: Any) -> None:
    """Take away the pages of examples that are no longer there."""
    gallery, examples = HERE / "gallery", HERE.parent / "examples"
    for page in gallery.rglob("plot_*.*"):
        if not (examples / page.relative_to(gallery).parent / f"{page.name.split('.')[0]}.py").exists():
            page.unlink()


def _end_blocks_of_code(app: Any, doctree: Any) -> None:
    """Take away the empty line at the end of blocks, which doctest needs and no reader does."""
    for block in doctree.findall(nodes.literal_block):
        text = block.astext().rstrip()
        block.rawsource = text
        block.children = [nodes.Text(text)]


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("builder-inited", _forget_examples)
    app.connect("doctree-read", _end_blocks_of_code)
    app.connect("builder-inited", lambda app: write_pages(HERE / "api"))
    app.connect("build-finished", _copy_mathjax)
    app.connect("build-finished", _check_that_nothing_is_fetched)
