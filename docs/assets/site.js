// What scrolls sideways can be reached by the keyboard.
document.querySelectorAll(".md-typeset pre > code, .md-typeset__scrollwrap, .md-typeset pre").forEach(e => {
  if (e.scrollWidth > e.clientWidth) { e.tabIndex = 0; e.setAttribute("role", "region"); e.setAttribute("aria-label", "scrolls sideways"); }
});
