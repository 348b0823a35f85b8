import { createRoute } from "@tanstack/react-router";
import { isId, toSearchText } from "../../api/parse.ts";
import { createLazyView } from "../../components/page/load-chunk.ts";
import { rootRoute } from "../../components/page/root-route.ts";

const getParentRoute = () => rootRoute;

export const queuesRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/annotation-queues",
    staticData: {
      page: {
        title: "Annotation queues",
        label: "Queues",
        keys: "g q",
        icon: "M6.5 4H14M6.5 8H14M6.5 12H14M2 4l1 1 1.5-2M2 8l1 1 1.5-2M2 12l1 1 1.5-2",
      },
    },
    validateSearch: parseQueuesSearch,
    component: createLazyView(async () => import("./queues.tsx"), "Queues"),
  }),
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/annotation-queues/$queueId",
    validateSearch: parseQueueSearch,
    component: createLazyView(async () => import("./queue-page.tsx"), "QueuePage"),
  }),
] as const;

/** Search parameters in the URL of a queue's page. */
interface QueueSearch {
  /** Id of the queue position whose run is under review. */
  readonly run?: string;
  /** Shows the list of the queue's runs instead of the review. */
  readonly view?: "runs";
}

/** Parses the search parameters of a URL. Ignores malformed values. */
export function parseQueueSearch(search: Readonly<Record<string, unknown>>): QueueSearch {
  const { run, view } = search;
  return {
    ...(isId(run) ? { run } : {}),
    ...(view === "runs" ? { view } : {}),
  };
}

/** Search parameters in the URL of the queue list. */
interface QueuesSearch {
  /** Text that the name must contain. */
  readonly name?: string;
}

function parseQueuesSearch({ name }: Readonly<Record<string, unknown>>): QueuesSearch {
  const text = toSearchText(name);
  return text === undefined ? {} : { name: text };
}
