"""Python source as coloured lines; each source is analysed once."""

from __future__ import annotations

from functools import lru_cache

from edgelab.widgets.spans import Line, Span


@lru_cache(maxsize=64)
def python_lines(source: str) -> tuple[tuple[Span, ...], ...]:
    """Return the lines of Python `source` as spans. Pygments is imported when this is first called."""
    from pygments.lexers.python import PythonLexer
    from pygments.token import Comment, Keyword, Name, Number, Operator, String, Token

    # The first type that contains a token's type decides.
    styles = (
        (Comment, "faint italic"),
        (String.Doc, "faint italic"),
        (String, "string"),
        (Number, "number"),
        (Operator.Word, "keyword"),
        (Keyword, "keyword"),
        (Name.Function, "function bold"),
        (Name.Class, "function bold"),
        (Name.Builtin, "keyword"),
        (Name.Decorator, "function"),
        (Token, "text"),
    )
    lines: list[Line] = [[]]
    for token, text in PythonLexer(ensurenl=False).get_tokens(source):
        style = next(name for kind, name in styles if token in kind)
        for index, piece in enumerate(text.split("\n")):
            if index:
                lines.append([])
            if piece:
                lines[-1].append(Span(piece, style))
    return tuple(tuple(line) for line in lines)
