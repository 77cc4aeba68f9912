// Choices of the reader that are remembered. Storage may be forbidden; a choice
// then applies until the page is left.

export function stored(name, otherwise) {
  try {
    return localStorage.getItem(name) ?? otherwise;
  } catch {
    return otherwise;
  }
}

export function store(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // Not remembered.
  }
}
