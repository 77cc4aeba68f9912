// Runs before the first paint, so that a chosen theme does not flash, and nothing moves.
document.documentElement.dataset.session = String(location.hash.startsWith("#session="));
try {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage may be forbidden; then the theme of the system applies.
}
