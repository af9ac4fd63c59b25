(() => {
  "use strict";
  const specs = JSON.parse(document.getElementById("specs").textContent);
  const plots = [...document.querySelectorAll(".plot")];
  const views = new Map();

  const isNarrow = (plot) => plot.clientWidth < 600;
  const beside = (plot) => Number(isNarrow(plot) ? plot.dataset.narrow : plot.dataset.margin);
  const room = (plot) => Math.max(60, Math.floor(plot.clientWidth) - beside(plot));

  function draw(plot) {
    if (!views.has(plot)) {
      const spec = specs[Number(plot.dataset.spec)];
      spec.width = room(plot);
      spec.signals.find((one) => one.name === "narrow").value = isNarrow(plot);
      const dark = matchMedia("(prefers-color-scheme: dark)").matches;
      const options = { mode: "vega", renderer: "svg", actions: false, defaultStyle: false, tooltip: { theme: dark ? "dark" : "light" } };
      const drawn = vegaEmbed(plot, spec, options).then(({ view }) => {
        plot.style.minHeight = 0;
        return view;
      });
      views.set(plot, drawn);
    }
    return views.get(plot);
  }

  // Plots that are visible at first are drawn at once, and all others when the browser is idle.
  const later = window.requestIdleCallback || ((next) => setTimeout(next, 1));
  async function rest() {
    const plot = plots.find((one) => !views.has(one));
    if (plot) {
      await draw(plot);
      later(rest);
    } else {
      await Promise.all(views.values());
      document.documentElement.dataset.drawn = "all";
    }
  }
  plots.filter((plot) => plot.getBoundingClientRect().top < window.innerHeight).forEach(draw);
  later(rest);

  const resized = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const wanted = room(target);
      views.get(target)?.then((view) => {
        if (view.width() !== wanted) view.signal("narrow", isNarrow(target)).width(wanted).run();
      });
    }
  });
  plots.forEach((plot) => resized.observe(plot));

  addEventListener("beforeprint", () => {
    plots.forEach(draw);
    // Folded tables are opened for printing, except tables of several pages.
    document.querySelectorAll("details").forEach((one) => {
      if (one.querySelectorAll("tr").length <= 100) one.open = true;
    });
  });
})();
