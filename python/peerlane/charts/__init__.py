"""Charts of plain data, as Vega-Lite specifications."""
