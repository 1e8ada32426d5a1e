"""A curve small enough for a cell of a list."""

from collections.abc import Sequence

from markupsafe import Markup

from ragstone.report.section import Canvas

_WIDTH, _HEIGHT = 96, 22


def spark_html(canvas: Canvas, values: Sequence[float], label: str) -> Markup:
    """A line through these values from 0 to 1, the last marked; "" for fewer than two. `label` has places for {first},
    {last} and {n}."""
    if len(values) < 2:
        return Markup()
    step = (_WIDTH - 8) / (len(values) - 1)
    places = [
        (4 + step * at, _HEIGHT - 3 - (_HEIGHT - 6) * min(1.0, max(0.0, value))) for at, value in enumerate(values)
    ]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    text = label.format(first=f"{values[0]:.2f}", last=f"{values[-1]:.2f}", n=len(values))
    x, y = (f"{place:.1f}" for place in places[-1])
    return canvas.html("web/spark.html", width=_WIDTH, height=_HEIGHT, path=path, x=x, y=y, label=text)
