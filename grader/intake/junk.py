"""What computers put beside a student's work by themselves. It is listed, never graded."""

from __future__ import annotations

FOLDERS = frozenset(
    {
        "__macosx",
        "__pycache__",
        ".git",
        ".github",
        ".svn",
        ".hg",
        ".ipynb_checkpoints",
        ".idea",
        ".vscode",
        ".venv",
        ".pytest_cache",
        ".mypy_cache",
        ".ruff_cache",
        ".spotlight-v100",
        ".trashes",
        "node_modules",
        "$recycle.bin",
    }
)
FILES = frozenset({".ds_store", "thumbs.db", "ehthumbs.db", "desktop.ini", ".git", ".localized", "icon\r"})


def is_junk_folder(name: str) -> bool:
    return name.lower() in FOLDERS


def is_junk_file(name: str) -> bool:
    lower = name.lower()
    return lower in FILES or lower.startswith(("._", "~$")) or lower.endswith((".pyc", ".swp"))


def junk_within(names: tuple[str, ...]) -> int:
    """How many leading parts of a member's path make it junk (the junk folder, or the file); 0 when it is none."""
    for depth, name in enumerate(names[:-1], start=1):
        if is_junk_folder(name):
            return depth
    return len(names) if names and is_junk_file(names[-1]) else 0
