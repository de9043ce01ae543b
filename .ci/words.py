"""Check the prose of pages, docstrings and messages against a list of words to avoid.

Run by ``make lint``. Prints file, line, words and what to write instead; exit code 1 if any is found. Code
in Markdown, comments in Python (except in the gallery), and stored results are not checked.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Generated from stored results, remarks on papers, third-party text, and kernels (an edit recompiles all).
LEFT_OUT = re.compile(
    r"docs/reproduced/|docs/performance_tables\.md|src/highrelief/papers/|report/vendor/|CODE_OF_CONDUCT\.md|\.github/"
    r"|src/highrelief/_kernels/"
)
#: Pattern, and what to write instead. Case is ignored.
AVOID = {
    r"\bmend(s|ed|ing)?\b": "fix",
    r"\bas (it|they) (come|comes|came)\b": "as is, unmodified",
    r"\bthe usual\b": "the default, by default",
    r"\btargets? (that|which) (is|are) (a )?numbers?\b": "continuous target",
    r"\bwhole numbers?\b": "integers",
    r"\bdealt out\b": "permuted",
    r"\b(say|tell)s? (much )?the same\b": "redundant",
    r"\b(out of|in) reach\b": "masked; within the limit",
    r"\bwrit(e|es|ten) over\b": "overwrite",
    r"\bheld against\b": "compared with",
    r"\banew\b": "again",
    r"\b(where (it|they) lie|lies? with)\b": "on the workers; is stored in",
    r"\bdoubt(s|ful)?\b": "error bound; uncertain, ambiguous",
    r"\b(absent|lack(s|ed|ing)?)\b": "missing, without",
    r"\bjudg(e|es|ed|ing)\b": "validate, check, evaluate",
    r"\b(nobody|whoever|everybody|everyone|somebody)\b": "name the subject; data is 'it'",
    r"\b(says?|said|saying)\b": "state, report, mean, contain",
    r"\b(tells?|told|telling)\b(?![^.;:]{0,80}\bapart\b)": "show, report, distinguish",
    r"\b(ask|asks|asked|asking)\b": "request, require, call",
    r"\bbr(ings?|ought) (it |them )?(here|back)\b": "gather, restore",
    r"\bin vain\b|\blest\b|\bthereby\b": "plain words",
    # British spelling
    r"\b\w*(colour|behaviour|neighbour|favour|labelled|labelling|modelled|modelling|tumour|leukaemia)\w*": (
        "American spelling"
    ),
    r"\b(centre|centres|grey|catalogue|whilst|amongst|learnt|artefacts?|licen[c]e|judgement|programme)\b": (
        "American spelling"
    ),
    r"\b(normal|optim|standard|real|summar|visual|minim|maxim|parametr|initial|general|random|recogn|organ|vector"
    r"|serial|penal|regular|synchron|memor|discret|character|emphas|categor)is(e|es|ed|ing|ation)\b": (
        "American spelling"
    ),
    r"\banalys(e|ed|es|ing)\b(?! of\b)": "American spelling",
}
#: Fine once in a file, as an explanation.
ONCE = {r"\b(acts?|acting) (only )?together\b": "matter only in combination, interact"}
#: Words inside quotations, titles of papers and names; removed before the check.
QUOTED = re.compile(r"``[^`]*``|`[^`\n]*`|:\w+:`[^`]*`|\]\([^)]*\)|https?://\S+")


def prose_of_markdown(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs outside blocks of code, with the number of their first line."""
    fenced = re.sub(
        r"^( *)(```|~~~).*?^\1\2[^\S\n]*$", lambda block: re.sub(r".", "", block[0]), text, flags=re.M | re.S
    )
    without_math = re.sub(r"\$\$.*?\$\$", lambda block: re.sub(r".", "", block[0]), fenced, flags=re.S)
    yield from paragraphs(without_math, 1)


def prose_of_python(text: str) -> Iterator[tuple[int, str]]:
    """Docstrings and other strings of at least three words, with the number of their first line."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value.split()) >= 3:
            without_examples = re.sub(r"^ *(>>>|\.\.\.).*$", "", node.value, flags=re.M)
            yield from paragraphs(without_examples, node.lineno)
    # The gallery shows comments below "# %%" as text.
    if "\n# %%\n" in text:
        yield from paragraphs(re.sub(r"^(?!# ).*$|^# ", "", text, flags=re.M), 1)


def paragraphs(text: str, line: int) -> Iterator[tuple[int, str]]:
    """Parts between empty lines."""
    for part in re.split(r"(\n[^\S\n]*\n)", text):
        if part.strip():
            yield line, part
        line += part.count("\n")


def found_in(path: Path) -> Iterator[tuple[int, str, str]]:
    """Line, words and remedy of everything to avoid in a file."""
    text = path.read_text(encoding="utf-8")
    prose = prose_of_python(text) if path.suffix == ".py" else prose_of_markdown(text)
    seen: set[str] = set()
    for first, part in prose:
        plain = QUOTED.sub(lambda quoted: "x" * len(quoted[0]), part)
        for pattern, remedy in (AVOID | ONCE).items():
            for match in re.finditer(pattern, plain, flags=re.I):
                if pattern in AVOID or pattern in seen:
                    yield first + plain[: match.start()].count("\n"), match[0].replace("\n", " "), remedy
                seen.add(pattern)


def checked_files() -> list[Path]:
    """Markdown, and Python of the package and the examples, as far as git knows it."""
    named = ["*.md", "src/*.py", "examples/*.py", "examples/*.rst", "benchmarks/page.py"]
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *named],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    names = listed.stdout.splitlines()
    return [ROOT / name for name in names if not LEFT_OUT.search(name)]


def main() -> int:
    """Print what is found; 1 if anything is."""
    files = [Path(name).resolve() for name in sys.argv[1:]] or checked_files()
    count = 0
    for path in files:
        for line, words, remedy in sorted(found_in(path)) if path.exists() else ():
            print(f"{path.relative_to(ROOT)}:{line}: '{words}': write {remedy}")
            count += 1
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main())
