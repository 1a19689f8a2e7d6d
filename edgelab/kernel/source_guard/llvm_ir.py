"""Guard for edited LLVM IR: the interface of the generated module, and bodies of allow-listed words only.

What an edit leaves as it was is not looked at again, so the generated source itself always passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from edgelab.kernel.source_guard import llvm_names as names
from edgelab.kernel.source_guard.findings import SourceFinding, check_text, refusal
from edgelab.kernel.source_guard.llvm_text import Entity, Token, entities

_FIXED = ("source_filename", "target", "type", "comdat")
_LOOKUPS = ("FuncCall", "FunctionCall", "ModLookup", "GetFunc", "FuncGet", "GetGlobal")
"""Parts of names of TVM runtime functions that find or call any other function by its name."""
_FUNCTION_POINTERS = "@__TVM"


def check(source: str, original: str) -> None:
    """Raise GuardRefusal unless `source` is an edit of `original` that keeps its interface.

    Functions keep their names and headers; module flags, targets, types and everything that other modules
    see stay. New are at most: private constants, and declarations of listed intrinsics and libm functions.
    """
    try:
        check_text(source, original)
        _Check(_by_name(entities(source)), _by_name(entities(original))).run()
    except SourceFinding as found:
        raise refusal(found, source) from None


_Module = dict[str, dict[str, Entity]]


def _by_name(found: Iterable[Entity]) -> _Module:
    """Entities by kind and name. Raises SourceFinding for two of the same name."""
    module: _Module = {}
    for entity in found:
        same_kind = module.setdefault(entity.kind, {})
        if entity.name in same_kind:
            raise SourceFinding(entity.offset, f"{entity.name} is defined twice")
        same_kind[entity.name] = entity
    return module


class _Check:
    def __init__(self, edited: _Module, original: _Module) -> None:
        self.edited = edited
        self.original = original
        self.globals = original.get("global", {})
        self.known = set(self.globals) | set(original.get("define", {})) | set(original.get("declare", {}))
        self.frozen_strings = any(part in name for name in self.known for part in _LOOKUPS)

    def run(self) -> None:
        """Raise SourceFinding at the first thing that is not allowed."""
        allowed = {*_FIXED, "global", "define", "declare", "attributes", "metadata"}
        for kind, group in self.edited.items():
            if kind not in allowed:
                first = next(iter(group.values()))
                what = "module-level assembly" if kind == "module" else f"the directive {kind}"
                raise SourceFinding(first.offset, f"{what} is not allowed in an edit", hack=kind == "module")
        for kind in _FIXED:
            self._same(kind)
        for entity in self.edited.get("global", {}).values():
            self._global(entity)
        for entity in self.edited.get("declare", {}).values():
            self._declaration(entity)
        self._kept_globals()
        self._interface()
        for entity in self.edited.get("attributes", {}).values():
            self._attributes(entity)
        self._metadata()
        for name, entity in self.edited.get("define", {}).items():
            if entity.body != self.original["define"][name].body:
                self._body(entity, self.original["define"][name])

    def _same(self, kind: str) -> None:
        edited, original = self.edited.get(kind, {}), self.original.get(kind, {})
        for name in edited.keys() | original.keys():
            before, after = original.get(name), edited.get(name)
            if before is None or after is None or before.words != after.words:
                offset = after.offset if after is not None else 0
                raise SourceFinding(offset, f"{_called(kind, name)} {_change(before, after)}")

    def _global(self, entity: Entity) -> None:
        before = self.globals.get(entity.name)
        if before is not None:
            if _plain(entity) != _plain(before):
                raise SourceFinding(entity.offset, f"the global {entity.name} was changed")
            return
        words = [token.text for token in entity.tokens[2:] if token.kind == "word"]
        if "constant" not in words[:4] or words[0] not in ("private", "internal"):
            what = f"the new global {entity.name} is not a private constant: it could keep data between calls"
            raise SourceFinding(entity.offset, what, hack=True)
        if entity.name.startswith("@llvm.") or self.frozen_strings:
            raise SourceFinding(entity.offset, f"the global {entity.name} was added", hack=True)
        linkage = {"private", "internal", "unnamed_addr", "local_unnamed_addr", "constant", "align"}
        self._words(entity.tokens[2:], names.TYPES | linkage | {"zeroinitializer", "true", "false", "splat"})
        for token in entity.tokens[1:]:
            if token.kind == "global":
                raise SourceFinding(
                    token.offset, "a constant that holds an address is not allowed", hack=True
                )
        self.known.add(entity.name)

    def _declaration(self, entity: Entity) -> None:
        before = self.original.get("declare", {}).get(entity.name)
        if before is not None:
            if entity.header != before.header:
                raise SourceFinding(entity.offset, f"the declaration of {entity.name} was changed")
            return
        if not (names.INTRINSIC.fullmatch(entity.name) or entity.name in names.LIBM):
            what = f"the function {entity.name} is not on the list of those that an edit may call"
            raise SourceFinding(entity.offset, what, hack=True)
        self.known.add(entity.name)

    def _kept_globals(self) -> None:
        for name, entity in self.globals.items():
            hidden = {"private", "internal"} & set(entity.words[:5])
            if name not in self.edited.get("global", {}) and not hidden:
                raise SourceFinding(0, f"the global {name} was removed")

    def _interface(self) -> None:
        edited, original = self.edited.get("define", {}), self.original.get("define", {})
        for name in original.keys() - edited.keys():
            raise SourceFinding(0, f"the function {name} was removed or renamed")
        for name, entity in edited.items():
            if name not in original:
                raise SourceFinding(entity.offset, f"the function {name} was added")
            if entity.header != original[name].header:
                raise SourceFinding(entity.offset, f"the signature of function {name} was changed")

    def _attributes(self, entity: Entity) -> None:
        before = self.original.get("attributes", {}).get(entity.name)
        if before is not None and before.words == entity.words:
            return
        body = entity.tokens[3:]
        self._words(body, names.ATTRIBUTE_WORDS)
        fixed = _attribute_values(self.original.get("attributes", {}).values())
        for index, token in enumerate(body):
            if token.kind != "string" or body[index - 1].text == "=":
                continue
            if token.text not in names.ATTRIBUTE_KEYS:
                raise SourceFinding(token.offset, f"the attribute {token.text} is not on the list")
            if token.text in names.FIXED_ATTRIBUTES and _value(body, index) not in fixed[token.text]:
                raise SourceFinding(token.offset, f"the attribute {token.text} was changed")

    def _metadata(self) -> None:
        edited, original = self.edited.get("metadata", {}), self.original.get("metadata", {})
        named = {name for name in edited.keys() | original.keys() if not name[1:].isdecimal()}
        for name in sorted(named):
            before, after = original.get(name), edited.get(name)
            if before is None or after is None or before.words != after.words:
                offset = after.offset if after is not None else 0
                raise SourceFinding(offset, f"the module's {name} {_change(before, after)}", hack=True)
        flags = original.get("!llvm.module.flags")
        for token in flags.tokens[1:] if flags is not None else ():
            if token.kind == "metadata" and token.text in original:
                after = edited.get(token.text)
                if after is None or after.words != original[token.text].words:
                    offset = after.offset if after is not None else 0
                    raise SourceFinding(offset, f"the module flag {token.text} was changed", hack=True)

    def _body(self, entity: Entity, original: Entity) -> None:
        if any(part in text for text in (*original.words, *entity.words) for part in _LOOKUPS):
            what = f"the function {entity.name} calls the runtime by name and must stay as it is"
            raise SourceFinding(entity.offset, what, hack=True)
        # The vectoriser compares addresses as numbers, so a function may have this already.
        kept = names.KEPT_WORDS & set(original.words)
        self._words(_without_debug_records(entity.body), names.WORDS | kept)
        pointers = _runtime_pointers(entity.body)
        previous: list[str] = []
        for index, token in enumerate(entity.body):
            if token.kind == "string" and token.text not in names.BUNDLES:
                raise SourceFinding(token.offset, f"the text {token.text[:40]} is not allowed in a function")
            if token.kind == "global":
                self._reference(token, previous)
            if token.text == "call" and token.kind == "word":
                _check_call(entity.body, index, pointers)
            previous = [*previous[-3:], token.text]

    def _reference(self, token: Token, previous: list[str]) -> None:
        """A mutable global may be loaded from and nothing else; what is not known may not be named."""
        if token.text not in self.known:
            what = f"{token.text} is neither in the generated source nor on the list of functions"
            raise SourceFinding(token.offset, what, hack=True)
        entity = self.globals.get(token.text)
        if entity is not None and "constant" not in entity.words and previous != ["load", "ptr", ",", "ptr"]:
            raise SourceFinding(token.offset, f"{token.text} may only be loaded from", hack=True)

    def _words(self, tokens: Iterable[Token], allowed: frozenset[str]) -> None:
        for token in tokens:
            if token.kind == "word" and token.text not in allowed:
                known = names.REFUSED_WORDS.get(token.text)
                what = f"{known} is not allowed" if known else f"the word {token.text} is not on the list"
                raise SourceFinding(token.offset, what, hack=known is not None)


def _called(kind: str, name: str) -> str:
    return {"target": f"the target {name}", "type": f"the type {name}"}.get(kind, f"the {kind} {name}")


def _change(before: Entity | None, after: Entity | None) -> str:
    return "was added" if before is None else "was removed" if after is None else "was changed"


def _plain(entity: Entity) -> tuple[str, ...]:
    return tuple(token.text for token in entity.tokens if token.kind not in ("metadata", "group"))


def _value(tokens: tuple[Token, ...], index: int) -> str:
    """The value of the string attribute at `index`, or nothing."""
    following = [token.text for token in tokens[index + 1 : index + 3]]
    return following[1] if len(following) == 2 and following[0] == "=" else ""


def _attribute_values(groups: Iterable[Entity]) -> Mapping[str, set[str]]:
    values: dict[str, set[str]] = {key: set() for key in names.FIXED_ATTRIBUTES}
    for group in groups:
        for index, token in enumerate(group.tokens):
            if token.text in values:
                values[token.text].add(_value(group.tokens, index))
    return values


def _without_debug_records(body: tuple[Token, ...]) -> Iterator[Token]:
    """The tokens outside of `#dbg_value(...)` and `!DIExpression(...)`, which hold no code."""
    depth = 0
    for index, token in enumerate(body):
        if depth == 0 and token.text == "(" and body[index - 1].kind in ("record", "metadata"):
            depth = 1
        elif depth > 0 and token.kind == "sign":
            depth += {"(": 1, ")": -1}.get(token.text, 0)
        elif depth == 0:
            yield token


def _runtime_pointers(body: tuple[Token, ...]) -> set[str]:
    """Local names that hold a function of TVM's runtime: `%f = load ptr, ptr @__TVMBackendParallelLaunch`."""
    found: set[str] = set()
    texts = [token.text for token in body]
    for index, token in enumerate(body):
        loads = texts[index + 1 : index + 6] == ["=", "load", "ptr", ",", "ptr"]
        if token.kind == "local" and loads and texts[index + 6].startswith(_FUNCTION_POINTERS):
            found.add(token.text)
    return found


def _check_call(body: tuple[Token, ...], index: int, pointers: set[str]) -> None:
    """Raise SourceFinding unless what the `call` at `index` calls is named, or is a pointer of the runtime's."""
    for position in range(index + 1, len(body) - 1):
        token, following = body[position], body[position + 1].text
        if token.kind in ("global", "local") and following == "(":
            if token.kind == "local" and token.text not in pointers:
                raise SourceFinding(token.offset, f"a call through the pointer {token.text}", hack=True)
            return
        plain = token.kind in ("number", "sign", "local")
        if not plain and not (token.kind == "word" and token.text in names.CALL_PREFIX):
            raise SourceFinding(
                token.offset, f"a call of something without a name: {token.text[:40]}", hack=True
            )
    raise SourceFinding(body[index].offset, "a call of nothing")
