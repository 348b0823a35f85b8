import { createRoute } from "@tanstack/react-router";
import { createLazyView } from "../../components/page/load-chunk.ts";
import { rootRoute } from "../../components/page/root-route.ts";
import { isOverviewRange } from "../metrics/overview-range.ts";
import type { OverviewRange } from "../metrics/overview-range.ts";

const getParentRoute = () => rootRoute;

export const overviewRoutes = [
  createRoute({
    getParentRoute,
    path: "/",
    staticData: {
      page: {
        title: "Overview",
        label: "Overview",
        keys: "g h",
        icon: "M2.5 7.5 8 3l5.5 4.5V13H10V9.5H6V13H2.5Z",
      },
    },
    validateSearch: parseOverviewSearch,
    component: createLazyView(async () => import("./overview.tsx"), "Overview"),
  }),
] as const;

/** Search parameters in the URL of the overview. */
interface OverviewSearch {
  /** @defaultValue the time range that was last selected in this browser */
  readonly last?: OverviewRange;
}

function parseOverviewSearch({ last }: Readonly<Record<string, unknown>>): OverviewSearch {
  return isOverviewRange(last) ? { last } : {};
}
