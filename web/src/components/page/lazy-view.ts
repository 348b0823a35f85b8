import { lazyRouteComponent } from "@tanstack/react-router";
import { loadPart } from "./load-part.ts";

/**
 * The component of a route, in a file of its own. When it does not come, the page stays as it is and says
 * so; the router by itself would load it anew, and leave nothing of it where the server is gone.
 */
export const lazyView: typeof lazyRouteComponent = (load, name) =>
  lazyRouteComponent(async () => loadPart(load), name);
