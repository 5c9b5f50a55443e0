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


def _add(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    """Generate `add_filtered`, or `add_scaled` where one more array is given."""
    *arrays, packed = zip(kinds, args, strict=True)
    psi, filters, state, *gain = arrays
    m, b, c, plus, minus, at, *g = (builder.extract_value(packed[1], one) for one in range(packed[0].count))
    vector = ir.VectorType(context.get_value_type(psi[0].dtype), LANES)
    size = psi[0].dtype.bitwidth // 8

    def address(array: tuple[Any, Any], place: Any) -> Any:
        return builder.bitcast(_pointer(context, builder, *array, place), vector.as_pointer())

    def load(array: tuple[Any, Any], place: Any) -> Any:
        return builder.load(address(array, place), align=size)

    def product(one: Any, other: Any) -> Any:
        return builder.fmul(one, other, flags=_FUSED)

    difference = builder.fsub(load(state, plus), load(state, minus), flags=_FUSED)
    kept, driven = product(load(filters, b), load(psi, m)), product(load(filters, c), difference)
    new = builder.fadd(kept, driven, flags=_FUSED)
    added = product(load(gain[0], g[0]), new) if gain else new
    found = builder.fadd(load(state, at), added, flags=_FUSED)
    builder.store(new, address(psi, m), align=size)
    builder.store(found, address(state, at), align=size)
    return context.get_dummy_value()


@intrinsic
def _add_filtered(_typing: Any, psi: Any, filters: Any, state: Any, places: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _add(context, builder, signature.args, args)

    return types.void(psi, filters, state, places), generate


@intrinsic
def _add_scaled(_typing: Any, psi: Any, filters: Any, state: Any, gain: Any, places: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _add(context, builder, signature.args, args)

    return types.void(psi, filters, state, gain, places), generate


add_filtered: Any = _add_filtered
"""One step of a layer's convolution for LANES numbers at once: psi <- b psi + c (plus - minus), and psi is added.

`add_filtered(psi, filters, state, (m, b, c, plus, minus, at))`: arrays of one dimension, and the places in them of psi,
of b and c, of both values of the difference and of what psi is added to. Vectors are written out, because LLVM unrolls
so short a loop before it looks for any.
"""

add_scaled: Any = _add_scaled
"""The same with psi times a gain added: `add_scaled(psi, filters, state, gain, (m, b, c, plus, minus, at, g))`."""
