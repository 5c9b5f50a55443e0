"""Loads and stores that promise LLVM not to overlap, so that fused update loops vectorise; vectors for short loops.

Numba gives LLVM no aliasing facts about its arrays. A loop that writes three components and reads ten rows then needs
dozens of overlap checks at run time, more than the vectoriser accepts. Here every access of an update carries LLVM's
scoped-noalias metadata instead: a store to one component does not alias the loads of any other. The promise is kept by
construction: every component of the state is an array of its own range, and an E update never writes H, nor an H update
E. Measured on an AVX-512 core, update only, 150 x 250 cells, before coefficients stood in blocks: 380 M cell-steps/s
without, 1,030 with.

References:
    LLVM Language Reference, 'noalias' and 'alias.scope' metadata.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

LANES = 8
"""Numbers that `add_filtered` and `add_scaled` take at once: a vector of any processor, or some."""

_FUSED = ("contract",)


def _tag(builder: Any, instruction: Any, own: Sequence[str], others: Sequence[str]) -> None:
    """Mark an access as belonging to the scopes `own` and as not touching those in `others`."""
    module = builder.module
    domain = module.add_metadata([ir.MetaDataString(module, "fdtd")])
    scopes = {
        name: module.add_metadata([ir.MetaDataString(module, f"fdtd.{name}"), domain]) for name in (*own, *others)
    }
    if own:
        instruction.set_metadata("alias.scope", module.add_metadata([scopes[name] for name in own]))
    if others:
        instruction.set_metadata("noalias", module.add_metadata([scopes[name] for name in others]))


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, place: Any) -> Any:
    """Address of an element of a contiguous array of one dimension; the place must be in range and not negative."""
    return builder.gep(context.make_array(array_type)(context, builder, array).data, [place], inbounds=True)


def _make_load(own: Sequence[str], others: Sequence[str]) -> Any:
    """An intrinsic load(array, place) of an array of one dimension, with the given scopes."""

    @intrinsic
    def load(_typing: Any, array: Any, place: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            value = builder.load(_pointer(context, builder, signature.args[0], args[0], args[1]))
            _tag(builder, value, own, others)
            return value

        return array.dtype(array, types.intp), generate

    return load


def _make_store(own: Sequence[str], others: Sequence[str]) -> Any:
    """An intrinsic store(array, place, value) with the given scopes."""

    @intrinsic
    def store(_typing: Any, array: Any, place: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            instruction = builder.store(args[2], _pointer(context, builder, signature.args[0], args[0], args[1]))
            _tag(builder, instruction, own, others)
            return context.get_dummy_value()

        return types.void(array, types.intp, array.dtype), generate

    return store


def accesses(names: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any], Any]:
    """Loads and stores for arrays written together in one loop.

    Args:
        names: The arrays that the loop writes.

    Returns:
        A load and a store for each name, and a load for everything that the loop only reads.
    """
    loads, stores = {}, {}
    for name in names:
        others = tuple(other for other in names if other != name)
        loads[name], stores[name] = _make_load((name,), others), _make_store((name,), others)
    return loads, stores, _make_load((), tuple(names))


def _add(context: Any, builder: Any, kinds: Any, args: Any, psi: Any, gain: tuple[int, int] | None = None) -> Any:
    """Generate `add_filtered`, or `add_scaled` with the arguments that are gains and their place."""
    vector = ir.VectorType(context.get_value_type(psi.dtype), LANES)
    size = psi.dtype.bitwidth // 8

    def place(array: int, number: int) -> Any:
        found = _pointer(context, builder, kinds[array], args[array], args[number])
        return builder.bitcast(found, vector.as_pointer())

    def load(array: int, number: int) -> Any:
        return builder.load(place(array, number), align=size)

    def product(one: Any, other: Any) -> Any:
        return builder.fmul(one, other, flags=_FUSED)

    difference = builder.fsub(load(5, 6), load(5, 7), flags=_FUSED)
    new = builder.fadd(product(load(2, 3), load(0, 1)), product(load(2, 4), difference), flags=_FUSED)
    added = new if gain is None else product(load(*gain), new)
    found = builder.fadd(load(5, 8), added, flags=_FUSED)
    builder.store(new, place(0, 1), align=size)
    builder.store(found, place(5, 8), align=size)
    return context.get_dummy_value()


def _make_adds() -> tuple[Any, Any]:
    place = types.intp

    @intrinsic
    def add_filtered(
        _typing: Any, psi: Any, m: Any, filters: Any, b: Any, c: Any, state: Any, plus: Any, minus: Any, at: Any
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return _add(context, builder, signature.args, args, psi)

        return types.void(psi, place, filters, place, place, state, place, place, place), generate

    @intrinsic
    def add_scaled(
        _typing: Any, psi: Any, m: Any, filters: Any, b: Any, c: Any, state: Any, plus: Any, minus: Any, at: Any,
        gain: Any, g: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return _add(context, builder, signature.args, args, psi, gain=(9, 10))

        return types.void(psi, place, filters, place, place, state, place, place, place, gain, place), generate

    return add_filtered, add_scaled


add_filtered, add_scaled = _make_adds()
"""One step of a layer's convolution for LANES numbers at once: psi <- b psi + c (plus - minus), and psi is added.

`add_filtered(psi, m, filters, b, c, state, plus, minus, at)`: arrays of one dimension, each followed by places in it.
`state[at]` is what psi is added to; `add_scaled` goes on with `gain, g`, an array and the place of what psi is
multiplied by before. Vectors are written out, because LLVM unrolls so short a loop before it looks for any.
"""
