"""A page on a scheduler's dashboard, and gauges in addition to Dask's: the live events of a study.

Runs in the scheduler's process. The driver sends its events under one topic; they are counts and names, and what they
come to is shown at `/antennaopt`, and at `/metrics` where prometheus_client is installed.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from distributed import Scheduler
from distributed.diagnostics.plugin import SchedulerPlugin

from antennaopt.quantities import duration
from antennaopt.timeline import Timeline

PAGE = "/antennaopt"
TOPIC = "antennaopt-study"
EVERY_MS = 1000
TITLES = {"failures": "Antennas that are not ok, by status", "use": "Workers solving, % of the last minute"}
MOST_LEVEL = 12
"""Names below bars that fit side by side; of more each stands upright."""

COLOURS = {"best": "#0b5fa5", "median": "#9aa5b1", "rate": "#2e7d32", "failures": "#c62828", "use": "#6a4fb3",
           "metal": "#5a6672", "dielectric": "#e6b566"}  # fmt: skip


class Watch(SchedulerPlugin):
    """Receives the events that the driver sends.

    Attributes:
        timeline: Their sum.
    """

    name = "antennaopt"

    def __init__(self) -> None:
        self.timeline = Timeline()

    def log_event(self, topic: str, msg: Any) -> None:
        """Take an event of the study in; another run on the same scheduler starts again."""
        if topic == TOPIC and isinstance(msg, Mapping):
            if msg.get("event") == "begins":
                self.timeline = Timeline()
            self.timeline.add(msg)


def add_watch(dask_scheduler: Scheduler) -> None:
    """Let a scheduler keep the events of the study for the page, and serve the gauges; a second call does nothing."""
    if Watch.name not in dask_scheduler.plugins:
        watch = Watch()
        dask_scheduler.add_plugin(watch)
        with suppress(ImportError):
            _add_gauges(watch)


def add_page(dask_scheduler: Scheduler) -> bool:
    """Put the page and the gauges on a scheduler; a second call does nothing.

    Args:
        dask_scheduler: In whose process this runs.

    Returns:
        Whether it serves the page: not without Bokeh or with no dashboard.
    """
    add_watch(dask_scheduler)
    watch: Any = dask_scheduler.plugins[Watch.name]
    if hasattr(watch, "page"):
        return True
    if not _has_dashboard(dask_scheduler):
        return False
    from distributed.dashboard.core import BokehApplication
    from distributed.dashboard.scheduler import template_variables

    variables = template_variables(dask_scheduler)
    variables["pages"].append(PAGE.strip("/"))
    application = BokehApplication({PAGE: page}, dask_scheduler, prefix="/", template_variables=variables)
    dask_scheduler.http_application.add_application(application)
    application.initialize(dask_scheduler.loop)
    watch.page = application  # kept alive with the scheduler
    return True


def _has_dashboard(scheduler: Scheduler) -> bool:
    return any(type(one).__name__ == "DaskBokehTornado" for one in scheduler.http_application.applications)


def page(scheduler: Scheduler, extra: Mapping[str, Any], document: Any) -> None:
    """Fill a browser's document and keep it up to date (Bokeh's application function)."""
    from distributed.dashboard.components.scheduler import env

    figures = Figures()
    watch: Any = scheduler.plugins[Watch.name]
    figures.update(watch.timeline)
    document.title = "antennaopt"
    document.add_root(figures.root)
    document.template = env.get_template("simple.html")
    document.template_variables.update(extra)
    document.add_periodic_callback(lambda: figures.update(watch.timeline), EVERY_MS)


class Figures:
    """Convergence; section, pattern and goals of the best antenna; rate; use of devices; a line of text above them.

    Attributes:
        root: What a document shows.
        sources: Data by figure: `convergence`, `rate`, `failures`, `use`, `section`, `pattern`.
        goals: Table of the best antenna's goals; its `text` is HTML.
    """

    def __init__(self) -> None:
        from bokeh.layouts import column, gridplot
        from bokeh.models import ColumnDataSource, Div

        columns = {
            "convergence": ("evaluations", "best", "median"),
            "rate": ("seconds", "rate"),
            "failures": ("status", "count"),
            "use": ("worker", "percent"),
            "section": ("z", "r", "colour"),
            "pattern": ("theta", "e", "h"),
        }
        self.sources: dict[str, Any] = {
            name: ColumnDataSource({key: [] for key in keys}) for name, keys in columns.items()
        }
        self.goals: Any = Div(text="", sizing_mode="stretch_width")
        self._text = Div(text="")
        self._categories: dict[str, Any] = {}
        self._plots: dict[str, Any] = {}
        self._shown: Mapping[str, Any] | None = None
        first = [self._convergence(), self._section(), self._pattern()]
        second = [self._rate(), self._bars("use"), self._bars("failures")]
        grid = gridplot([first, second], sizing_mode="stretch_both", toolbar_location=None)
        self.root = column(self._text, self.goals, grid, sizing_mode="stretch_both")

    def update(self, timeline: Timeline) -> None:
        """Show the present state of a timeline."""
        steps = timeline.steps
        nan = float("nan")
        left = timeline.seconds_left
        headline = timeline.headline() + (f", {duration(left)} left" if left else "")
        self._text.text = html.escape(headline)
        self.sources["convergence"].data = {
            "evaluations": [step.evaluations for step in steps],
            "best": [nan if step.best is None else step.best for step in steps],
            "median": [nan if step.median is None else step.median for step in steps],
        }
        self.sources["rate"].data = {
            "seconds": [seconds for seconds, _ in timeline.rates],
            "rate": [rate for _, rate in timeline.rates],
        }
        failures, use = timeline.failures, timeline.use
        self._plots["failures"].visible = bool(failures)
        self._show("failures", list(failures), {"status": list(failures), "count": list(failures.values())})
        self._show("use", list(use), {"worker": list(use), "percent": [100.0 * share for share in use.values()]})
        if timeline.shown is not None and timeline.shown is not self._shown:
            self._show_best(timeline.shown)
            self._shown = timeline.shown

    def _show_best(self, best: Mapping[str, Any]) -> None:
        """Draw section and pattern of the best antenna, and its goals."""
        bodies = sorted(best["bodies"], key=lambda body: body["metal"])  # metal over dielectrics
        mirrored = [(body, side) for body in bodies for side in (1, -1)]
        self.sources["section"].data = {
            "z": [body["z_mm"] for body, _ in mirrored],
            "r": [[side * r for r in body["r_mm"]] for body, side in mirrored],
            "colour": [COLOURS["metal" if body["metal"] else "dielectric"] for body, _ in mirrored],
        }
        self._plots["section"].title.text = f"Best antenna so far: {best['individual']}, mm"
        self.sources["pattern"].data = {
            "theta": best["theta_deg"], "e": best["e_plane_dbi"], "h": best["h_plane_dbi"]
        }  # fmt: skip
        self._plots["pattern"].title.text = f"Directivity at {best['frequency_hz'] / 1e9:.6g} GHz, dBi"
        self.goals.text = goals_html(best["goals"])

    def _show(self, name: str, categories: list[str], data: dict[str, list]) -> None:
        if self._categories[name].factors != categories:
            self._categories[name].factors = categories
            self._plots[name].xaxis.major_label_orientation = "vertical" if len(categories) > MOST_LEVEL else 0.0
        self._plots[name].title.text = TITLES[name] if categories else f"{TITLES[name]}: none so far"
        self.sources[name].data = data

    def _convergence(self) -> Any:
        from bokeh.plotting import figure

        plot = figure(title="Fitness (minimised)", x_axis_label="antennas solved", sizing_mode="stretch_both")
        for name in ("median", "best"):
            plot.line("evaluations", name, source=self.sources["convergence"], color=COLOURS[name], line_width=2,
                      legend_label=name)  # fmt: skip
            plot.scatter("evaluations", name, source=self.sources["convergence"], color=COLOURS[name], size=4)
        plot.legend.background_fill_alpha = 0.6
        return plot

    def _section(self) -> Any:
        from bokeh.plotting import figure

        plot = figure(title="Best antenna so far: none", match_aspect=True, x_axis_label="z, mm",
                      sizing_mode="stretch_both")  # fmt: skip
        plot.patches("z", "r", source=self.sources["section"], color="colour", line_width=1)
        self._plots["section"] = plot
        return plot

    def _pattern(self) -> Any:
        from bokeh.plotting import figure

        plot = figure(title="Directivity, dBi", x_axis_label="theta, degrees", sizing_mode="stretch_both")
        for key, colour, dash in (("e", COLOURS["best"], "solid"), ("h", COLOURS["failures"], "dashed")):
            plot.line("theta", key, source=self.sources["pattern"], color=colour, line_width=2, line_dash=dash,
                      legend_label=f"{key.upper()} plane")  # fmt: skip
        plot.legend.background_fill_alpha = 0.6
        self._plots["pattern"] = plot
        return plot

    def _rate(self) -> Any:
        from bokeh.plotting import figure

        plot = figure(title="Antennas a second", x_axis_label="s", y_range=_from_zero(), sizing_mode="stretch_both")
        plot.line("seconds", "rate", source=self.sources["rate"], color=COLOURS["rate"], line_width=2)
        return plot

    def _bars(self, name: str) -> Any:
        from bokeh.models import FactorRange, Range1d
        from bokeh.plotting import figure

        keys = {"failures": ("status", "count"), "use": ("worker", "percent")}
        self._categories[name] = FactorRange(factors=[])
        heights = Range1d(start=0, end=100) if name == "use" else _from_zero()
        plot = figure(title=TITLES[name], x_range=self._categories[name], y_range=heights, sizing_mode="stretch_both")
        self._plots[name] = plot
        across, up = keys[name]
        plot.vbar(x=across, top=up, width=0.7, source=self.sources[name], color=COLOURS[name])
        plot.xgrid.grid_line_color = None
        return plot


def goals_html(goals: Iterable[Mapping[str, Any]]) -> str:
    """Return a table of goals: metric, goal, worst value, where, met or missed by how much."""
    rows = []
    for goal in goals:
        colour = COLOURS["rate"] if goal["met"] else COLOURS["failures"]
        cells = [goal[key] for key in ("metric", "goal", "value", "at")]
        text = "".join(f'<td style="padding-right:2em">{html.escape(str(cell))}</td>' for cell in cells)
        rows.append(f'<tr>{text}<td style="color:{colour}">{html.escape(str(goal["verdict"]))}</td></tr>')
    heads = "".join(
        f'<th style="text-align:left">{name}</th>' for name in ("goal of", "", "best antenna", "worst at", "")
    )
    return f"<table><tr>{heads}</tr>{''.join(rows)}</table>" if rows else ""


def _from_zero() -> Any:
    from bokeh.models import DataRange1d

    return DataRange1d(start=0)


class Gauges:
    """The events of a study as Prometheus gauges (a collector of prometheus_client).

    Attributes:
        watch: Of the scheduler that this process has now.
    """

    def __init__(self, watch: Watch) -> None:
        self.watch = watch

    def collect(self) -> Iterable[Any]:
        """Yield the gauges."""
        from prometheus_client.core import GaugeMetricFamily

        timeline = self.watch.timeline
        plain = {
            "evaluations": ("Antennas solved by the study", timeline.evaluations),
            "generations": ("Generations done", len(timeline.steps)),
            "best_fitness": ("Best fitness so far, minimised", timeline.best),
            "evaluations_per_second": ("Antennas solved a second at the moment", timeline.rate),
        }
        for name, (about, value) in plain.items():
            if value is not None:
                yield GaugeMetricFamily(f"antennaopt_{name}", about, value=float(value))
        statuses = GaugeMetricFamily("antennaopt_outcomes", "Antennas solved, by status", labels=["status"])
        for status, count in timeline.counts.items():
            statuses.add_metric([status], count)
        yield statuses
        yield GaugeMetricFamily(
            "antennaopt_failures", "Antennas that are not ok", value=float(sum(timeline.failures.values()))
        )
        use = GaugeMetricFamily("antennaopt_worker_use", "Share of the last minute spent solving", labels=["worker"])
        for worker, share in timeline.use.items():
            use.add_metric([worker], share)
        yield use


_GAUGES: list[Gauges] = []  # prometheus_client's registry is one a process; schedulers may follow one another


def _add_gauges(watch: Watch) -> None:
    import prometheus_client

    if not _GAUGES:
        _GAUGES.append(Gauges(watch))
        prometheus_client.REGISTRY.register(_GAUGES[0])  # type: ignore[arg-type]
    _GAUGES[0].watch = watch
