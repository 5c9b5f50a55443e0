"""Antenna cross-sections in the (r, z) half plane as Open CASCADE faces, and their curved triangle meshes.

Lengths in this program are millimetres (`x` of the mesh is r, `y` is z); the case file and the stored results are SI.

The perfect metal is cut out of the domain. The inside of the feed is kept from the aperture plane z = 0 back to the
port plane z = -port_depth only: there an exact TE11 condition stands for an infinitely long guide (see `fields.py`),
while the outside of the tube, closed at z = -(length + outer_radius - inner_radius), is part of the scatterer. Lines
that the mesh must follow: the dielectric surface, the Huygens contour and the inner edge of the absorbing layer.

Rims of metal are singular points (the field grows like rho^(-1/3) at a right-angled one), marked for geometric hp
refinement (Schwab, p- and hp-Finite Element Methods, Oxford 1998).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import netgen.occ as occ
import ngsolve as ngs
import numpy as np
from scipy.interpolate import PchipInterpolator

MM = 1e3
ON_THE_FEED_ALONE = (
    "open_waveguide",
    "outline",
    "hemispherical_lens",
    "shaped_lens",
    "dielectric_rod",
)  # no other metal
_TOLERANCE = 1e-6


@dataclass(frozen=True, kw_only=True)
class Resolution:
    """Everything that decides the accuracy of one solve.

    Attributes:
        order: Polynomial order of the Nedelec space; the scalar space has one more.
        elements_per_wavelength: Elements a wavelength in every medium, at `mesh_frequency_hz`.
        rim_levels: Levels of geometric refinement towards the rims.
        air_gap_mm: Distance from the antenna to the Huygens contour, and again from there to the absorbing layer.
        pml_thickness_mm: Thickness of the absorbing layer.
        pml_attenuation: Nepers that a wave at normal incidence loses on one way through the layer.
        design_frequency_hz: Frequency at which it loses them.
        mesh_frequency_hz: Frequency for which the mesh is made.
    """

    order: int = 5
    elements_per_wavelength: float = 3.0
    rim_levels: int = 5
    air_gap_mm: float = 2.5
    pml_thickness_mm: float = 8.0
    pml_attenuation: float = 12.0
    design_frequency_hz: float = 30e9
    mesh_frequency_hz: float = 31.5e9

    def for_band(self, case):
        """The same in wavelengths for a case of another band."""
        scale = self.design_frequency_hz / case["design_frequency_hz"]
        return replace(
            self,
            air_gap_mm=self.air_gap_mm * scale,
            pml_thickness_mm=self.pml_thickness_mm * scale,
            design_frequency_hz=case["design_frequency_hz"],
            mesh_frequency_hz=max(case["frequencies_hz"]),
        )


@dataclass(frozen=True, kw_only=True)
class Domain:
    """Mesh of one antenna with the positions that the solver and the far field need, mm."""

    mesh: ngs.Mesh
    inner_radius: float
    port_z: float
    contour: tuple[float, float, float]
    layer: tuple[float, float, float]
    layer_thickness: float


def _polygon(points):
    plane = occ.WorkPlane().MoveTo(*points[0])
    for r, z in points[1:]:
        plane.LineTo(r, z)
    return plane.Close().Face()


def _rectangle(r_max, z_min, z_max):
    return _polygon([(0, z_min), (r_max, z_min), (r_max, z_max), (0, z_max)])


def lens_radius(radii_mm):
    """Distance from the aperture centre as a function of the polar angle: PCHIP of the list mirrored about the axis."""
    theta = np.linspace(0.0, np.pi / 2, len(radii_mm))
    mirrored = np.concatenate([radii_mm[:0:-1], radii_mm])
    return PchipInterpolator(np.concatenate([-theta[:0:-1], theta]), mirrored)


def _pchip_edges(radii_mm, samples=41):
    """One spline edge for every interval of the interpolation, from the plane z = 0 to the axis.

    The curve is smooth only inside an interval, so every knot becomes a mesh vertex. Each edge is a cubic B-spline
    through `samples` exact points with the exact tangents at its ends.
    """
    radius = lens_radius(radii_mm)
    slope = radius.derivative()
    knots = np.linspace(0.0, np.pi / 2, len(radii_mm))

    def point(t):
        return occ.gp_Pnt(float(radius(t) * np.sin(t)) if t > 0 else 0.0, float(radius(t) * np.cos(t)), 0.0)

    edges = []
    for start, end in zip(knots[:0:-1], knots[-2::-1], strict=True):
        angles = np.linspace(start, end, samples)
        points = [point(t) for t in angles]
        if start == knots[-1]:
            points[0] = occ.gp_Pnt(float(radii_mm[-1]), 0.0, 0.0)
        tangents = {}
        for index, t in ((0, start), (samples - 1, end)):
            dr = slope(t) * np.sin(t) + radius(t) * np.cos(t)
            dz = slope(t) * np.cos(t) - radius(t) * np.sin(t)
            norm = float(np.hypot(dr, dz))
            tangents[index] = occ.gp_Vec(-float(dr) / norm, -float(dz) / norm, 0.0)
        edges.append(occ.SplineInterpolation(points, tangents=tangents))
    return edges


def _line(start, end):
    return occ.Segment(occ.gp_Pnt(*start, 0.0), occ.gp_Pnt(*end, 0.0))


def lens_face(case):
    """Cross-section of the dielectric, or None for an antenna without one."""
    if case["family"] == "hemispherical_lens":
        radius, extension = case["lens_radius_m"] * MM, case["lens_extension_m"] * MM
        half = radius / np.sqrt(2.0)
        arc = occ.ArcOfCircle(
            occ.gp_Pnt(radius, extension, 0),
            occ.gp_Pnt(half, extension + half, 0),
            occ.gp_Pnt(0, extension + radius, 0),
        )
        edges = [_line((0, 0), (radius, 0)), _line((radius, 0), (radius, extension)), arc]
        return occ.Face(occ.Wire([*edges, _line((0, extension + radius), (0, 0))]))
    if case["family"] == "shaped_lens":
        radii = np.asarray(case["lens_radii_m"]) * MM
        return occ.Face(occ.Wire([_line((0, 0), (radii[-1], 0)), *_pchip_edges(radii), _line((0, radii[0]), (0, 0))]))
    if case["family"] == "dielectric_rod":
        radius, length, tip = case["rod_radius_m"] * MM, case["rod_length_m"] * MM, case["rod_tip_radius_m"] * MM
        shoulder = length - case["rod_taper_m"] * MM
        return _polygon([(0, 0), (radius, 0), (radius, shoulder), (tip, length), (0, length)])
    return None


def metal_face(case, port_depth):
    """Cross-section of everything the fields cannot enter, and its corners.

    The inside of the feed behind the port plane is counted in: nothing is solved there.
    """
    a, outer = case["inner_radius_m"] * MM, case["outer_radius_m"] * MM
    back = -(case["feed_length_m"] * MM + outer - a)
    behind = [(0, -port_depth), (0, back), (outer, back)]
    if case["family"] == "conical_horn":
        length, mouth = case["horn_length_m"] * MM, case["horn_aperture_radius_m"] * MM
        rims = [(outer, 0), (mouth + case["horn_wall_m"] * MM, length), (mouth, length), (a, 0)]
    elif case["family"] in ON_THE_FEED_ALONE:
        rims = [(outer, 0), (a, 0)]
    else:
        raise ValueError(f"no cross-section is drawn for family = {case['family']!r}; add it to metal_face")
    corners = [*behind, *rims, (a, -port_depth)]
    return _polygon(corners), corners


def _turn_deg(polygon, at):
    """By how much the outline of a polygon turns at a corner, degrees."""
    (before, here, after) = (np.array(polygon[(at + step) % len(polygon)]) for step in (-1, 0, 1))
    first, second = here - before, after - here
    return abs(np.degrees(np.arctan2(np.linalg.det([first, second]), first @ second)))


def _drawn(case):
    """Polygons of the family `outline`, mm: those of metal, and those of dielectric by the name of their region."""
    bodies = [[(r * MM, z * MM) for r, z in body["points_m"]] for body in case["bodies"]]
    metal = [points for points, body in zip(bodies, case["bodies"], strict=True) if body.get("metal")]
    solids = {
        f"body{place}": points
        for place, (points, body) in enumerate(zip(bodies, case["bodies"], strict=True))
        if not body.get("metal")
    }
    return metal, solids


def _drawn_faces(case, metal):
    """Faces of the dielectrics by region: later ones replace earlier ones, and metal all of them."""
    _, solids = _drawn(case)
    faces, later = {}, []
    for name, points in reversed(solids.items()):
        face = _polygon(points) - metal
        for other in later:
            face = face - other
        faces[name] = face
        later.append(_polygon(points))
    return dict(reversed(faces.items()))


def _extent(case, lens):
    """Largest r and z of the antenna, mm."""
    metal, _ = metal_face(case, 1.0)
    if case["family"] == "outline":
        points = np.array([point for body in case["bodies"] for point in body["points_m"]]) * MM
        return max(points[:, 0].max(), case["outer_radius_m"] * MM), max(points[:, 1].max(), 0.0)
    boxes = [shape.bounding_box for shape in (metal, lens) if shape is not None]
    # boxes of Open CASCADE are a trifle too large
    return round(max(box[1].x for box in boxes), 3), round(max(box[1].y for box in boxes), 3)


def _on_segment(point, start, end):
    along, to_point = np.subtract(end, start), np.subtract(point, start)
    length = np.hypot(*along)
    fraction = np.dot(along, to_point) / length**2
    return -_TOLERANCE < fraction < 1 + _TOLERANCE and abs(np.linalg.det([along, to_point])) / length < _TOLERANCE


def _name_edges(face, corners, outer_corners, metal_polygons=()):
    """Boundary names: axis, port, outer (end of the absorbing layer), metal; edges inside the domain stay `inner`.

    `corners` runs round the metal, its last corner and its first one being the ends of the port plane;
    `metal_polygons` are further bodies.
    """
    segments = [("port", corners[-1], corners[0])]
    segments += [("outer", *ends) for ends in pairwise(outer_corners)]
    segments += [("metal", *ends) for ends in pairwise(corners[1:])]
    segments += [("metal", *ends) for polygon in metal_polygons for ends in pairwise([*polygon, polygon[0]])]
    for edge in face.edges:
        middle = (edge.center.x, edge.center.y)
        edge.name = "axis" if abs(middle[0]) < _TOLERANCE else "inner"
        for name, start, end in segments:
            if edge.name == "inner" and _on_segment(middle, start, end):
                edge.name = name


def _check_connected(mesh):
    """Refuse a mesh in which two regions lie side by side without sharing their nodes."""
    for element in mesh.Elements(ngs.BND):
        neighbours = len(mesh[element.edges[0]].elements)
        if neighbours != (2 if element.mat == "inner" else 1):
            raise RuntimeError(f"boundary {element.mat!r} has {neighbours} neighbours: the faces were not glued")


def build_domain(case, resolution, port_depth=None):
    """Mesh one antenna.

    The port plane stands `port_depth` mm behind the aperture, 10/3 of the feed's inner radius if None: below 1.37 times
    the cutoff of TE11 the slowest of the other m = 1 modes, TM11, loses more than 9 nepers on that way, so what the
    one-mode condition reflects wrongly reaches the aperture at e^-18 at most.
    """
    port_depth = 10 / 3 * case["inner_radius_m"] * MM if port_depth is None else port_depth
    wavelength = 299.792458 / (resolution.mesh_frequency_hz / 1e9)
    h_air = wavelength / resolution.elements_per_wavelength
    lens = lens_face(case)
    metal, corners = metal_face(case, port_depth)
    drawn_metal, drawn_solids = _drawn(case) if case["family"] == "outline" else ([], {})
    for polygon in drawn_metal:
        metal = metal + _polygon(polygon)
    solids = _drawn_faces(case, metal) if drawn_solids else {}
    r_max, z_max = _extent(case, lens)
    z_min = min(z for _, z in corners)
    gap, thickness = resolution.air_gap_mm, resolution.pml_thickness_mm
    contour = (r_max + gap, z_min - gap, z_max + gap)
    layer = (r_max + 2 * gap, z_min - 2 * gap, z_max + 2 * gap)

    outer_corners = [
        (0, layer[1] - thickness),
        (layer[0] + thickness, layer[1] - thickness),
        (layer[0] + thickness, layer[2] + thickness),
        (0, layer[2] + thickness),
    ]
    inside, between, whole = _rectangle(*contour), _rectangle(*layer), _polygon(outer_corners)
    air = inside - metal
    for body in (*solids.values(), *([] if lens is None else [lens])):
        air = air - body
    faces = [whole - between, between - inside, air]
    faces[0].faces.name, faces[1].faces.name, faces[2].faces.name = "layer", "air", "air"
    if lens is not None:
        lens.faces.name = "lens"
        lens.faces.maxh = h_air / np.sqrt(case["permittivity"])
        faces.append(lens)
    for name, body in solids.items():
        body.faces.name = name
        body.faces.maxh = h_air / np.sqrt(case["bodies"][int(name.removeprefix("body"))]["permittivity"])
        faces.append(body)
    shape = occ.Glue(faces)
    _name_edges(shape, corners, outer_corners, drawn_metal)
    singular = corners[2:-1]
    for polygon in (*drawn_metal, *drawn_solids.values()):
        singular += [polygon[at] for at in range(len(polygon)) if polygon[at][0] > 0 and _turn_deg(polygon, at) > 8]
    if case["family"] == "shaped_lens":
        singular.append((case["lens_radii_m"][-1] * MM, 0.0))
    elif lens is not None:
        base = "rod_radius_m" if case["family"] == "dielectric_rod" else "lens_radius_m"
        singular.append((case[base] * MM, 0.0))
    for vertex in shape.vertices:
        if any(np.hypot(vertex.p.x - r, vertex.p.y - z) < _TOLERANCE for r, z in singular):
            vertex.hpref = 1
    mesh = ngs.Mesh(occ.OCCGeometry(shape, dim=2).GenerateMesh(maxh=h_air, grading=0.3))
    _check_connected(mesh)
    if resolution.rim_levels:
        mesh.RefineHP(resolution.rim_levels, factor=0.15)
    mesh.Curve(resolution.order)
    return Domain(
        mesh=mesh,
        inner_radius=case["inner_radius_m"] * MM,
        port_z=-port_depth,
        contour=contour,
        layer=layer,
        layer_thickness=thickness,
    )
