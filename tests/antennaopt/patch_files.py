"""Antenna files of the family `patch` that are solved in a second or two."""

PROBE = """
title = "Small patch"

[antenna]
family = "patch"
[antenna.substrate]
permittivity = 2.2
loss_tangent = 0.0009
thickness = "1.6 mm"
margin = "4 mm"
[antenna.patch]
length = "16.4 mm"
width = "18 mm"
[antenna.feed]
offset = "4 mm"

[solver]
frequencies = ["5.6 GHz", "5.8 GHz", "6 GHz"]
cell = "2 mm"
pml_cells = 6
pml_distance = "6 mm"
"""
"""Fed by a probe."""


def changed(*replacements: tuple[str, str], text: str = PROBE) -> str:
    """Return a file with texts replaced, each of which must stand in it once."""
    for old, new in replacements:
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the file"
        text = text.replace(old, new)
    return text


INSET = changed(
    (
        'offset = "4 mm"',
        'kind = "inset"\ninset_depth = "5 mm"\ninset_gap = "2 mm"\nline_width = "4.8 mm"\nline_length = "6 mm"',
    )
)
"""Fed by a line that reaches into the patch."""

EDGE = changed(('offset = "4 mm"', 'kind = "edge"\nline_width = "1 mm"\nline_length = "8 mm"'))
"""Fed by a line at its edge."""

STUDY = changed(
    ('length = "16.4 mm"', 'length = { min = "15 mm", max = "18 mm" }'),
    ('offset = "4 mm"', 'offset = { min = "2 mm", max = "6 mm" }'),
    (
        "[solver]\n",
        "[evolution]\npopulation = 4\ngenerations = 2\nstart = 'balanis'\n"
        + "[certificate]\nmode = 'off'\n"
        + "[[objective]]\nmetric = 's11_db'\nat_most = -40\n"
        + "[cluster]\nworkers = 1\n\n[solver]\ndecay_db = 30\n",
    ),
)
"""A search over length and probe of a few antennas, which stop early."""
