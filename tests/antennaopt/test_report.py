"""The report: one self-contained file, its numbers taken from the run folder's files, whatever state the run is in."""

import base64
import html
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import ezdxf
import pytest
from made_up_runs import RESOLVED, MadeUpRun, lens_field, write_run
from waiting import SAFETY_S

from antennaopt import cli
from antennaopt.errors import ResumeRefusedError
from antennaopt.experiment import load_experiment
from antennaopt.report import drawn, explorer, trade_offs
from antennaopt.report.field_data import write_field_map
from antennaopt.report.page import report_text, setting_lines, write_report
from antennaopt.report.record import read_run
from antennaopt.report.summary import headline, ten_best
from antennaopt.run.ahead import Ahead, Drawer
from antennaopt.store import load

EXPERIMENTS = Path(__file__).parents[2] / "experiments"

OPTIONS = {"dxf": "--dxf", "csv": "--profile", "s1p": "--touchstone", "cut": "--cut", "ffs": "--ffs"}
VOID = {"meta", "img", "br", "input"}


class Page(HTMLParser):
    """Collects what a browser would fetch, and checks that tags are closed in order."""

    def __init__(self, text):
        super().__init__()
        self.addresses, self.tags, self.open = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.addresses += [value for name, value in attrs if name in ("src", "href", "srcset", "data", "action")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def report_of(tmp_path, **changes):
    run = MadeUpRun(**({"generations": 4, "population": 8} | changes))
    folder = write_run(tmp_path, run)
    path = write_report(folder)
    assert path == folder / "report.html"
    return run, folder, path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The run, the folder and the text of a page with its pictures, which tests look at and do not change."""
    return report_of(tmp_path_factory.mktemp("page"))


def plain(text):
    """The page's words, tags left out, spaces joined."""
    return re.sub(
        r"\s+",
        " ",
        html.unescape(re.sub(r"<style>.*?</style>|<script.*?</script>|<[^>]+>", " ", text, flags=re.DOTALL)),
    )


def test_the_page_needs_no_other_file(page):
    _, folder, text = page
    read = Page(text)
    links = [address for address in read.addresses if not address.startswith("data:image/svg+xml;base64,")]
    pictures = [address for address in read.addresses if address not in links]
    assert pictures and all(link.startswith("#") or (folder / link).is_file() for link in links)
    assert not {"link", "iframe", "object"} & set(read.tags)
    assert not re.search(r"fetch\(|XMLHttpRequest|import\(|WebSocket|innerHTML|eval\(", text)
    assert not re.search(r"https?://|@import|url\(", text)
    for address in pictures:
        drawing = base64.b64decode(address.partition(",")[2]).decode()
        assert drawing.rstrip().endswith("</svg>")
        assert not re.search(r'href="(?!#|data:)', drawing)
    assert not list(folder.glob(".tmp-*"))


def test_the_best_antennas_files_lie_next_to_the_page(tmp_path, page):
    """What `export` would write, by the page's links."""
    run, folder, text = page
    best = run.best[1]
    links = [link for link in Page(text).addresses if link.startswith("files/")]
    assert links == [f"files/best.{ending}" for ending in ("dxf", "csv", "s1p", "cut", "ffs")]
    assert f"Files of {best}" in plain(text) and f"Section of {best}" in plain(text)
    options = [part for link in links for part in (OPTIONS[link[-3:]], str(tmp_path / f"own{link[-4:]}"))]
    assert cli.main(["export", str(folder), "--individual", best, *options, "--quiet"]) == 0
    for link in links:
        ours, own = ((path.read_bytes()) for path in (folder / link, tmp_path / f"own{link[-4:]}"))
        if link.endswith("dxf"):  # has the time of writing
            found = [
                sorted(one.get_measurement() for one in ezdxf.readfile(path).modelspace().query("DIMENSION"))
                for path in (folder / link, tmp_path / "own.dxf")
            ]
            assert found[0] == found[1] and len(found[0]) > 4
        elif link.endswith("csv"):
            assert ours == own
        else:  # titles differ
            numbers = [re.findall(r"^[-+ \d.Ee]+$", data.decode(), re.MULTILINE) for data in (ours, own)]
            assert numbers[0] == numbers[1] and numbers[0]


def test_headline_numbers_are_those_of_the_files(tmp_path, blank_figures):
    run, folder, text = report_of(tmp_path, failing=("infeasible",))
    rows = load(folder)
    ok = rows[rows.status == "ok"]
    best = ok.loc[ok.fitness.idxmin()]
    first = ok[ok.generation == 0].nsmallest(1, "fitness").iloc[0]
    assert best.individual == run.best[1]
    words = plain(text)
    for row in (best, first):
        assert row.individual in words
        worst = min(row[f"directivity_dbi_{mhz}mhz"] for mhz in (28500, 30000, 31500))
        assert f"{worst:.2f} dBi" in words
        worst = max(row[f"s11_db_{mhz}mhz"] for mhz in (28500, 30000, 31500))
        assert f"−{-worst:.2f} dB" in words
        assert f"{row.fitness:.3f}" in words
    missed = best.shortfall_2_sidelobe_db
    assert missed > 0 and f"side lobe by {missed:.2f} dB" in words
    assert "at least 18 dBi" in words and "at most −10 dB" in words
    assert f"unfinished, {run.generations} of 10 generations" in words
    assert '<td class="text">directivity on axis (dBi)</td>' in text, "long names wrap"


def test_a_goal_with_two_bounds_is_shown_where_it_is_met_least(tmp_path):
    """Of directivities at three frequencies the one with the least margin, in both tables."""
    frequencies = (28.5e9, 30e9, 31.5e9)
    goal = {"metric": "directivity_dbi", "at_least": 18.0, "at_most": 18.1, "weight": 1.0, "frequencies": []}
    folder = write_run(tmp_path, MadeUpRun(generations=4, population=8, resolved=RESOLVED | {"objectives": [goal]}))
    record = read_run(folder)

    def worst(row):
        values = [row[f"directivity_dbi_{round(hz / 1e6)}mhz"] for hz in frequencies]
        return min(values, key=lambda value: min(value - 18.0, 18.1 - value))

    row = headline(record)[0]
    best, before = worst(record.best), worst(record.first_best)
    assert row.title == "Directivity on axis, worst over 28.5 to 31.5 GHz"
    assert row.best.startswith(f"{best:.2f} dBi at ") and row.before == f"{before:.2f} dBi"
    assert best != before and row.change == f"{best - before:+.2f} dB".replace("-", "\N{MINUS SIGN}")
    table = ten_best(record)
    rows = {one["individual"]: one for one in record.ok.to_dict("records")}
    shown = [line[table.header.index("directivity on axis (dBi)")] for line in table.rows]
    assert shown == [f"{worst(rows[line[1]]):.2f}" for line in table.rows]
    least = [min(record.metric(rows[line[1]], "directivity_dbi")) for line in table.rows]
    assert shown != [f"{one:.2f}" for one in least], "some antennas have too much"


KINDS_OF_RUN = [
    {"generations": 1},
    {"generations": 1, "population": 1},
    {"frequencies": (30e9,)},
    {"frequencies": tuple(28e9 + 0.25e9 * step for step in range(17))},
    {"no_side_lobes": True},
    {"field_map": False},
    {"genes": 0},
    {"failing": ("infeasible", "undecayed", "diverged", "timeout", "lost", "error")},
    {"resolved": RESOLVED | {"objectives": []}},
]
"""What is special about a run."""


@pytest.mark.parametrize(
    "changes",
    [
        # many frequencies: test_many_columns
        pytest.param(one, marks=pytest.mark.slow if len(one.get("frequencies", ())) > 1 else ())
        for one in KINDS_OF_RUN
    ],
    ids=" ".join,
)
def test_every_kind_of_run_gets_its_report(tmp_path, blank_figures, changes):
    reported(tmp_path, changes)


@pytest.mark.slow
@pytest.mark.parametrize("changes", KINDS_OF_RUN, ids=" ".join)
def test_every_kind_of_run_is_drawn(tmp_path, changes):
    reported(tmp_path, changes)


def reported(tmp_path, changes):
    run, _, text = report_of(tmp_path, **changes)
    Page(text)
    words = plain(text)
    assert "nan" not in words.lower() and "None" not in words
    for heading in (
        "Convergence",
        "Best antenna",
        "Radiation patterns",
        "Matching",
        "The ten best",
        "How to reproduce",
    ):
        assert heading in words
    assert ("no field map" in words) == (not run.field_map)
    for status in run.failing:
        assert f"{status}: <why>" in words


@pytest.mark.parametrize("count", [2, 3])
def test_goals_relative_to_boresight_are_named_where_there_are_some(tmp_path, blank_figures, count):
    """The third goal is one on side lobes."""
    _, _, text = report_of(tmp_path, resolved=RESOLVED | {"objectives": RESOLVED["objectives"][:count]})
    assert ("Goals relative to boresight are drawn for 30 GHz" in plain(text)) == (count == 3)


def test_a_run_in_which_nothing_worked_says_so(tmp_path):
    _, _, text = report_of(tmp_path, generations=2, population=3, failing=("error",) * 3, field_map=False)
    words = plain(text)
    assert "No antenna of this run could be evaluated." in words
    assert "error: <why> 6 g0000-s002" in words or "error: <why> 6 g0000-s000" in words
    assert "<img" not in text


def test_what_users_write_is_escaped(tmp_path, blank_figures):
    _, _, text = report_of(tmp_path, failing=("error",))
    assert "<on>" not in text and "<why>" not in text and "<lens>" not in text
    assert "&lt;why&gt;" in text and "&lt;on&gt;" in text


def test_the_field_map_of_an_earlier_best_is_not_shown(tmp_path, blank_figures):
    run = MadeUpRun(generations=3, population=6)
    folder = write_run(tmp_path, run)
    shown = write_report(folder).read_text().count("<img")
    solved = run.best[2] | {"field": lens_field()}
    write_field_map(folder / "best" / "field.npz", solved, individual="g0000-s099")
    text = write_report(folder).read_text()
    assert text.count("<img") == shown - 1
    assert "belongs to an earlier best antenna" in text


def test_damage_is_told_and_what_is_left_is_reported(tmp_path, blank_figures):
    folder = write_run(tmp_path, MadeUpRun(generations=3, population=6))
    for checkpoint in (folder / "checkpoint").iterdir():
        checkpoint.write_text("{torn")
    with open(folder / "logs" / "run.jsonl", "a") as log:
        log.write('{"event": "gen')
    (folder / "best" / "field.npz").write_bytes(b"PK\x03\x04torn")
    text = write_report(folder).read_text()
    assert "is damaged" in text
    Page(text)


def test_the_same_files_give_the_same_page(tmp_path):
    folder = write_run(tmp_path, MadeUpRun(generations=2, population=5))
    first = write_report(folder).read_bytes()
    assert write_report(folder).read_bytes() == first


def test_a_missing_pattern_and_an_unknown_objective_are_survived(tmp_path, blank_figures):
    goals = [*RESOLVED["objectives"], {"metric": "front_to_back_db", "at_least": 25.0, "at_most": None, "weight": 2.0}]
    folder = write_run(tmp_path, MadeUpRun(generations=2, population=5, resolved=RESOLVED | {"objectives": goals}))
    for file in (folder / "patterns").iterdir():
        file.unlink()
    words = plain(write_report(folder).read_text())
    assert "pattern is not on disk" in words and "front to back by 1.00 dB" in words


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(ResumeRefusedError, match="not a run folder"):
        write_report(tmp_path)
    folder = write_run(tmp_path, MadeUpRun(generations=0, field_map=False))
    with pytest.raises(ResumeRefusedError, match="no evaluations yet"):
        write_report(folder)
    assert not (folder / "report.html").exists()


def test_settings_are_written_in_the_units_of_people(tmp_path, blank_figures):
    start = {"start": [{"lens.radii.0": 17e-3, "lens.permittivity": 2.1}]}
    _, folder, text = report_of(tmp_path, resolved=RESOLVED | {"evolution": RESOLVED["evolution"] | start})
    words = plain(text)
    assert "antenna.feed.inner_radius 3.6 mm" in words
    assert "4 × (8 mm to 20 mm)" in words
    assert "start[0] lens.permittivity 2.1, lens.radii.0 17 mm" in words
    assert "28.5 GHz, 30 GHz, 31.5 GHz" in words
    assert "40 × 60 cells of 0.25 mm" in words
    assert "antennaopt run experiment.toml --set seed=7 --set 'title=\"a b\"' --backend cpu" in words
    versions = json.loads((folder / "manifest.json").read_text())["versions"]
    assert f"versions: numpy {versions['numpy']}" in words


@pytest.mark.parametrize(
    ("file", "change", "name", "says"),
    [
        ("patch_5g8", "seed=1", "feed.kind", "probe"),
        ("corrugated_horn", "seed=1", "horn.converter", "(one of variable_depth, ring_loaded, variable_width)"),
        ("three_flares", 'antenna.horn.curve=["linear","sinusoid","linear"]', "horn.curve", "linear, sinusoid, linear"),
        ("cassegrain", "seed=1", "reflector.feed", "conical_horn"),
    ],
)
def test_settings_that_are_words_are_written_as_words(file, change, name, says):
    resolved = load_experiment(EXPERIMENTS / f"{file}.toml", [change]).resolved()
    lines = dict(setting_lines(json.loads(json.dumps(resolved))))
    assert lines[f"antenna.{name}"] == says


@pytest.mark.parametrize(
    ("change", "name", "says"),
    [
        ('limits={slot="0.5 mm", overhang=45}', "limits.slot", "0.5 mm"),
        ('limits={slot="0.5 mm", overhang=45}', "limits.overhang", "45 deg"),
        ('fidelity={cells=["0.6 mm"]}', "fidelity.cells", "0.6 mm"),
        ('solver.report_modes=[{plane="1 mm"}]', "solver.report_modes[0]", "plane 1 mm"),
        ('evolution.stop.wall_time="2 h"', "evolution.stop.wall_time", "7200 s"),
    ],
)
def test_settings_have_their_units(change, name, says):
    """They were bare numbers in SI, `limits.slot 0.0005`."""
    resolved = load_experiment(EXPERIMENTS / "ka_band_lens.toml", [change]).resolved()
    assert dict(setting_lines(json.loads(json.dumps(resolved))))[name] == says


@pytest.mark.parametrize(("value", "says"), [(1.0, "sinusoid"), ([0.0, 1.0], "linear, sinusoid"), (99.0, "99")])
def test_words_of_a_dishs_feed(value, says):
    """An older run may hold what is no word now."""
    lines = dict(setting_lines({"antenna": {"family": "cassegrain", "horn": {"curve": value}}}))
    assert lines["antenna.horn.curve"] == says


def explored(text):
    """The data of the plot of all antennas."""
    found = re.search(r'<script type="application/json" id="explorer-data">(.*?)</script>', text, re.DOTALL)
    return json.loads(found[1])


def test_all_antennas_are_in_the_plot(page):
    """Every antenna that is ok, with its genes and figures; patterns of the best."""
    _, folder, text = page
    rows, data = load(folder)[lambda rows: rows["status"] == "ok"], explored(text)
    assert data["individuals"] == rows["individual"].tolist() and data["left_out"] == 0
    shown = dict(zip(data["columns"], data["rows"], strict=True))
    for name in ("fitness", "directivity_dbi_30000mhz"):
        assert shown[name] == pytest.approx(rows[name].tolist(), rel=1e-4)
    best = rows.loc[rows["fitness"].idxmin(), "individual"]
    assert len(data["patterns"][best]["e"]) == len(data["theta_deg"])


def test_of_very_many_antennas_the_best_stay(tmp_path, blank_figures, monkeypatch):
    monkeypatch.setattr(explorer, "MOST_NUMBERS", 200)
    _, folder, text = report_of(tmp_path)
    rows, data = load(folder)[lambda rows: rows["status"] == "ok"], explored(text)
    kept = 200 // len(data["columns"])
    assert len(data["individuals"]) <= kept and data["left_out"] == len(rows) - len(data["individuals"])
    assert set(rows.nsmallest(kept // 2, "fitness")["individual"]) <= set(data["individuals"])
    assert f"{data['left_out']} more antennas are left out" in text


def test_genes_that_go_with_the_fitness_come_first(page):
    """Rank correlations between -1 and 1, by size; the words say which way is better."""
    record = read_run(page[1])
    found = explorer.influence(record)
    sizes = [abs(rank) for _, rank, _ in found]
    assert found and sizes == sorted(sizes, reverse=True) and max(sizes) <= 1.0
    name, rank, way = found[0]
    gene = next(one for one in record.folder.columns.genes if one.name == name)
    values = record.ok[gene.column]
    assert rank == pytest.approx(values.corr(record.ok["fitness"], method="spearman"))
    assert way == ("smaller" if rank > 0 else "larger")


def test_what_a_goal_costs_the_others(page):
    """The antenna nearest to each goal, ties by fitness, with all its figures as `ok` rows have them."""
    _, folder, text = page
    record = read_run(folder)
    found = trade_offs.extremes(record)
    columns = record.folder.columns.shortfall_columns
    assert len(found) == len(record.goals) == len(columns) > 1
    for place, (one, column) in enumerate(zip(found, columns, strict=True)):
        nearest = record.ok[record.ok[column] == record.ok[column].min()]
        row = nearest.loc[nearest["fitness"].idxmin()]
        assert (one.individual, one.fitness) == (row["individual"], row["fitness"])
        missed = [standing.shortfall_db for standing in one.standings]
        assert missed == pytest.approx(row[list(columns)].tolist(), rel=1e-6)
        assert missed[place] == min(other.standings[place].shortfall_db for other in found)
    words = plain(text)
    assert "What each goal costs the others" in words and all(one.individual in words for one in found)


def test_figures_drawn_ahead_make_the_same_page(tmp_path, monkeypatch):
    """Before there is a field: the page is the same to the byte, and nothing of it is drawn twice."""
    run = MadeUpRun(generations=3, population=6)
    folder = write_run(tmp_path, run)
    (folder / "best" / "field.npz").unlink(missing_ok=True)
    ahead = Ahead(folder)
    known = ahead.drawn()
    assert known is not None and {one.path for one in known.files} >= {"files/best.dxf", "files/best.ffs"}
    write_field_map(folder / "best" / "field.npz", run.best[2] | {"field": lens_field()}, individual=run.best[1])
    expected = report_text(read_run(folder), known.files)
    with monkeypatch.context() as patch:
        patch.setattr("antennaopt.report.page.draw", lambda record: pytest.fail("drawn again"))
        assert write_report(folder, lambda: known).read_text() == expected
    ahead.close()


def test_figures_of_another_winner_are_drawn_again(tmp_path, blank_figures):
    """Certificates may crown another antenna than the best by fitness: its figures and files are its own."""
    folder = write_run(tmp_path, MadeUpRun(generations=3, population=6))
    expected = write_report(folder).read_text()
    other = drawn.Drawn(best="g9999-s000", figures={}, explored=None)
    assert write_report(folder, lambda: other).read_text() == expected


def test_drawing_ahead_stops_when_it_is_not_needed(tmp_path, blank_figures):
    """Between two figures; what is damaged or missing is left to the report itself."""
    folder = write_run(tmp_path, MadeUpRun(generations=3, population=6))
    record, asked = read_run(folder), []
    with pytest.raises(drawn.Stopped):
        drawn.draw(record, lambda: asked.append(1) or len(asked) < 3)
    assert len(asked) == 3
    (folder / "patterns" / "gen-000000.parquet").write_bytes(b"PAR1")
    assert Ahead(folder).drawn() is None
    assert Ahead(tmp_path / "nowhere").drawn() is None


@pytest.mark.slow
@pytest.mark.parametrize(("cores", "processes"), [(2, 1), (16, 3)])
def test_processes_draw_the_same(tmp_path, cores, processes):
    run = MadeUpRun(generations=3, population=6)
    folder = write_run(tmp_path, run)
    mine, drawer = Ahead(folder).drawn(), Drawer(cores)
    assert len(drawer._processes) == processes
    ahead = Ahead(folder, drawer)
    found = ahead.drawn()
    assert mine is not None and found is not None
    assert [one.path for one in found.files] == [one.path for one in mine.files]
    assert write_report(folder, lambda: found).read_text() == write_report(folder, lambda: mine).read_text()
    ahead.close()


def test_processes_end_with_their_driver_and_give_nothing_where_they_fail(tmp_path):
    left = Drawer(2)
    (process,) = left._processes
    process.stdin.close()
    assert process.wait(timeout=SAFETY_S) == 0, "nothing was asked of it"
    broken = Drawer(2)
    assert Ahead(tmp_path / "nowhere", broken).drawn() is None
