import { createRootRoute } from "@tanstack/react-router";

/** The parent of every route. `app/router.tsx` sets its components, so that features need not import the shell. */
export const rootRoute = createRootRoute();
