/** A file of the page did not come: the server is gone, or has another version of the page by now. */
export class PartError extends Error {
  constructor(cause: unknown) {
    super("A part of the page did not come.", { cause });
    this.name = "PartError";
  }
}

/**
 * Loads a part of the page that comes when it is needed: `loadPart(async () => import("../../parts/part.tsx"))`.
 * What a browser failed to load it does not ask for again: only a reload of the page does.
 *
 * @throws {@link PartError}
 */
export async function loadPart<Part>(load: () => Promise<Part>): Promise<Part> {
  try {
    return await load();
  } catch (cause) {
    throw new PartError(cause);
  }
}
