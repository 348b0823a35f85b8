/** Under which the browser stores the name of the person, as JSON. There are no user accounts. */
export const personNameKey = "millrace-reviewer";

/** Returns the stored name, percent-encoded for a header; `undefined` if there is none. */
export function readEncodedName(): string | undefined {
  try {
    const name: unknown = JSON.parse(localStorage.getItem(personNameKey) ?? '""');
    return typeof name === "string" && name !== "" ? encodeURIComponent(name) : undefined;
  } catch {
    return undefined; // Something else has written it. The UI then asks for a name.
  }
}
