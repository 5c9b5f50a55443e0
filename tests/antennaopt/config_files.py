"""A good experiment file to break, one entry at a time."""

LENS = """\
title = "a lens"
seed = 7

[antenna]
family = "shaped_lens"

[antenna.feed]
inner_radius = "3.6 mm"
outer_radius = "4.0 mm"
length = "20 mm"

[antenna.lens]
permittivity = 2.53
loss_tangent = 6.6e-4
radii = { count = 6, min = "8 mm", max = "20 mm" }

[solver]
frequencies = ["28.5 GHz", "30 GHz", "31.5 GHz"]
cells_per_wavelength = 12

[evolution]
population = 16
tournament_size = 3
elites = 2

[[objective]]
metric = "directivity_dbi"
at_least = 18.0

[[objective]]
metric = "s11_db"
at_most = -15.0
"""

WAVEGUIDE = """\
[antenna]
family = "open_waveguide"

[antenna.feed]
inner_radius = "3.6 mm"
outer_radius = "4.0 mm"
length = "20 mm"

[solver]
frequencies = ["28.5 GHz", "30 GHz", "31.5 GHz"]
"""


def replaced(text: str, old: str, new: str) -> str:
    """Replace one entry, which must be there."""
    assert old in text, old
    return text.replace(old, new)
