/** What the address of the list of projects says. */
export interface ProjectsSearch {
  /** What their names contain. */
  readonly name?: string;
}

/** Reads the query of an address; what is no text is left out. */
export function parseProjectsSearch(search: Readonly<Record<string, unknown>>): ProjectsSearch {
  const { name } = search;
  const text = typeof name === "number" ? String(name) : name;
  return typeof text === "string" && text !== "" ? { name: text.slice(0, 200) } : {};
}
