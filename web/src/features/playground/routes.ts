import { createRoute } from "@tanstack/react-router";
import { isId, omitUndefined, toSearchText } from "../../api/parse.ts";
import { createLazyView } from "../../components/page/load-chunk.ts";
import { rootRoute } from "../../components/page/root-route.ts";

const getParentRoute = () => rootRoute;

export const playgroundRoutes = [
  createRoute({
    getParentRoute,
    path: "/playground",
    staticData: {
      page: {
        title: "Playground",
        label: "Playground",
        keys: "g l",
        icon: "M2.5 3h11v10h-11ZM5 6l2 2-2 2M8.5 10H11",
      },
    },
    validateSearch: parsePlaygroundSearch,
    component: createLazyView(async () => import("./playground.tsx"), "Playground"),
  }),
] as const;

/** What the playground begins with: a prompt, or the model call of a run. */
interface PlaygroundSearch {
  /** The owner of the prompt; the current tenant without it. */
  readonly owner?: string;
  readonly prompt?: string;
  /** A hash or a tag; the latest commit without it. */
  readonly commit?: string;
  readonly run?: string;
}

function parsePlaygroundSearch(search: Readonly<Record<string, unknown>>): PlaygroundSearch {
  return omitUndefined({
    owner: toSearchText(search["owner"]),
    prompt: toSearchText(search["prompt"]),
    commit: toSearchText(search["commit"]),
    run: isId(search["run"]) ? search["run"] : undefined,
  });
}
