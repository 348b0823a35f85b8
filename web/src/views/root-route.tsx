import { createRootRoute } from "@tanstack/react-router";
import { Shell } from "./shell/shell.tsx";
import { Empty } from "./states.tsx";

/** What every address is below. */
export const rootRoute = createRootRoute({
  component: Shell,
  notFoundComponent: () => <Empty title="There is no such page." />,
});
