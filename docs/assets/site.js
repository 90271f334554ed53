// For the keyboard and for those who hear the page, also of what the theme adds later: what scrolls sideways can be
// reached, and parts of one kind have names of their own.
const watched = new WeakSet();
let parts = 0;
const watch = e => {
  if (watched.has(e)) return;
  watched.add(e);
  const name = `part ${++parts}, scrolls sideways`;
  const mark = () => {
    if (e.scrollWidth <= e.clientWidth || e.getAttribute("tabindex") === "0") return;
    e.setAttribute("tabindex", "0");
    e.setAttribute("role", "region");
    e.setAttribute("aria-label", name);
  };
  mark();
  new MutationObserver(mark).observe(e, {attributes: true, attributeFilter: ["tabindex"]});
  new ResizeObserver(mark).observe(e);
};
const look = () => {
  document.querySelectorAll(".md-typeset pre > code, .md-typeset pre, .md-typeset__scrollwrap").forEach(watch);
  document.querySelectorAll(".md-code__nav:not([aria-label])").forEach(
    e => e.setAttribute("aria-label", `for code ${++parts}`));
};
look();
new MutationObserver(look).observe(document.querySelector("main") ?? document.body, {childList: true, subtree: true});
document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
document.querySelectorAll(".md-nav--secondary .md-nav[aria-label]").forEach(
  e => e.setAttribute("aria-label", `on this page, ${e.getAttribute("aria-label")}`));
