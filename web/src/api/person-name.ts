/**
 * The key in localStorage of the name that the user has entered, which is stored as JSON. There are no user accounts.
 */
export const personNameKey = "millrace-reviewer";

/** Returns the stored name; `undefined` if there is none. */
export function readPersonName(): string | undefined {
  try {
    const name: unknown = JSON.parse(localStorage.getItem(personNameKey) ?? '""');
    return typeof name === "string" && name !== "" ? name : undefined;
  } catch {
    return undefined; // The entry is not JSON, so this UI did not write it. The UI then asks for a name.
  }
}
