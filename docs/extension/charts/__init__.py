"""Charts of runs that the simulator makes while the site is built, as Vega-Lite specifications."""
