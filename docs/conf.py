"""How Sphinx builds the documentation site: `make docs`.

The sources are the Markdown files of the whole repository in their own folders, so that no page is
copied, and a link is the same in the repository and on the site.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "docs"), str(ROOT / "python")]

project = "Peerlane"
html_title = "Peerlane"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "extension"]

root_doc = "docs/index"
include_patterns = [
    "docs/**.md",
    "python/peerlane/systems/*/README.md",
    "integrations/*/*.md",
    "fuzz/README.md",
    "gateware/README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
]
# Folders without pages, which Sphinx does not search.
exclude_patterns = ["target", ".*", "crates", "tests", "**/node_modules", "**/__pycache__"]

myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
suppress_warnings = ["myst.header"]  # pages of one mechanism begin at the level that they need

html_theme = "furo"
html_static_path = ["extension/static"]
html_css_files = ["charts.css", "site.css"]
html_extra_path = ["extension/root"]
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
highlight_language = "text"
smartquotes = False  # quotes belong to what is quoted

default_role = "code"  # docstrings write code in single backticks
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
