import { lazyRouteComponent } from "@tanstack/react-router";

/** A chunk of the UI did not load: the server is unreachable, or now serves another version of the UI. */
export class ChunkLoadError extends Error {
  constructor(cause: unknown) {
    super("A part of the UI did not load.", { cause });
    this.name = "ChunkLoadError";
  }
}

/**
 * Loads a chunk of the UI on demand: `loadChunk(async () => import("./chart.tsx"))`. A browser does not
 * request a module again after its import failed; only reloading the page does.
 *
 * @throws {@link ChunkLoadError} the chunk did not load.
 */
export async function loadChunk<Module>(load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (cause) {
    throw new ChunkLoadError(cause);
  }
}

/**
 * Creates the component of a route from a separate chunk. If the chunk does not load, the UI shows an error in place
 * of the page. The router by itself would reload the page, which stays blank while the server does not respond.
 */
export const createLazyView: typeof lazyRouteComponent = (load, name) =>
  lazyRouteComponent(async () => loadChunk(load), name);
