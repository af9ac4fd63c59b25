"""Makes charts of plain data, as Vega-Lite specifications."""
