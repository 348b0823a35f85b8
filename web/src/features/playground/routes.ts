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

/** Search parameters in the URL of the playground. They name what to load: a prompt, or the model call of a run. */
interface PlaygroundSearch {
  /** The owner of the prompt. @defaultValue the current tenant */
  readonly owner?: string;
  readonly prompt?: string;
  /** A hash or a tag. @defaultValue the latest commit */
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
