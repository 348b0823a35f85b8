import { lazyRouteComponent } from "@tanstack/react-router";

/** A file of the page did not come: the server is gone, or has another version of the page by now. */
export class ChunkLoadError extends Error {
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
export async function loadChunk<Part>(load: () => Promise<Part>): Promise<Part> {
  try {
    return await load();
  } catch (cause) {
    throw new ChunkLoadError(cause);
  }
}

/**
 * The component of a route, in a file of its own. When it does not come, the page stays as it is and says
 * so; the router by itself would load it anew, and leave nothing of it where the server is gone.
 */
export const lazyView: typeof lazyRouteComponent = (load, name) =>
  lazyRouteComponent(async () => loadChunk(load), name);
