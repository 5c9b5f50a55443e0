"""Rules of `antennaopt new`: the range of gains of each family's closed form."""

from __future__ import annotations

from antennaopt.families import start_dishes, start_horns, start_lenses
from antennaopt.families.start import Rule

RULES = {
    "hemispherical_lens": Rule(lowest=12.0, highest=26.0, make=start_lenses.hemispherical_lens),
    "shaped_lens": Rule(lowest=12.0, highest=26.0, make=start_lenses.shaped_lens),
    "shell_lens": Rule(lowest=12.0, highest=26.0, make=start_lenses.shell_lens),
    "conical_horn": Rule(lowest=10.0, highest=28.0, make=start_horns.conical_horn),
    "profile_horn": Rule(lowest=10.0, highest=28.0, make=start_horns.profile_horn),
    "spline_horn": Rule(lowest=10.0, highest=28.0, make=start_horns.spline_horn),
    "dual_mode_horn": Rule(lowest=12.5, highest=26.0, make=start_horns.dual_mode_horn),
    "corrugated_horn": Rule(lowest=11.0, highest=25.0, make=start_horns.corrugated_horn),
    "lens_horn": Rule(lowest=13.0, highest=26.0, make=start_horns.lens_horn),
    "choke_ring_feed": Rule(lowest=7.0, highest=9.5, make=start_horns.choke_ring_feed),
    "reflector": Rule(lowest=23.0, highest=40.0, make=start_dishes.reflector),
    "cassegrain": Rule(lowest=29.0, highest=42.0, make=start_dishes.cassegrain),
    "ring_focus": Rule(lowest=28.0, highest=42.0, make=start_dishes.ring_focus),
    "splash_plate": Rule(lowest=26.0, highest=40.0, make=start_dishes.splash_plate),
    "dielectric_rod": Rule(lowest=11.0, highest=18.0, make=start_lenses.dielectric_rod),
}
"""By family; a family that has none has nothing to search, or no closed form here."""

NAMED_RULES = {"balanis": Rule(lowest=10.0, highest=28.0, make=start_horns.balanis_horn)}
"""By the word of `start`, where it is not the family's rule above."""
