(() => {
  "use strict";
  // A box that is wider than the page gets a class, and fades at the side to which it can be scrolled.
  function mark(box) {
    const beyond = box.scrollWidth - box.clientWidth;
    const scroller = box.parentElement;
    scroller.classList.toggle("scrolls", beyond > 1);
    scroller.classList.toggle("more", box.scrollLeft < beyond - 1);
  }
  const resized = new ResizeObserver((entries) => entries.forEach(({ target }) => mark(target)));
  document.querySelectorAll(".box").forEach((box) => {
    box.addEventListener("scroll", () => mark(box), { passive: true });
    resized.observe(box);
  });
})();
