import { createRoute } from "@tanstack/react-router";
import { isId, toSearchText } from "../../api/parse.ts";
import { lazyView } from "../../components/page/load-chunk.ts";
import { rootRoute } from "../../components/page/root-route.ts";

const getParentRoute = () => rootRoute;

export const queuesRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/annotation-queues",
    validateSearch: parseQueuesSearch,
    component: lazyView(async () => import("./queues.tsx"), "Queues"),
  }),
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/annotation-queues/$queueId",
    validateSearch: parseQueueSearch,
    component: lazyView(async () => import("./queue-page.tsx"), "QueuePage"),
  }),
] as const;

/** What the address of a queue's page selects. */
interface QueueSearch {
  /** The place of the run under review. */
  readonly run?: string;
  /** The list of its runs instead of the review. */
  readonly view?: "runs";
}

/** Reads the query of an address; malformed values are ignored. */
export function parseQueueSearch(search: Readonly<Record<string, unknown>>): QueueSearch {
  const { run, view } = search;
  return {
    ...(isId(run) ? { run } : {}),
    ...(view === "runs" ? { view } : {}),
  };
}

/** What the address of the list of queues narrows it by. */
interface QueuesSearch {
  readonly name?: string;
}

function parseQueuesSearch({ name }: Readonly<Record<string, unknown>>): QueuesSearch {
  const text = toSearchText(name);
  return text === undefined ? {} : { name: text };
}
