import { createRoute } from "@tanstack/react-router";
import { createLazyView } from "../../components/page/load-chunk.ts";
import { rootRoute } from "../../components/page/root-route.ts";
import { parsePromptSearch, parsePromptsSearch } from "./prompts-search.ts";

const getParentRoute = () => rootRoute;
const PromptsView = createLazyView(async () => import("./prompts.tsx"), "Prompts");
const PromptView = createLazyView(async () => import("./prompt-page.tsx"), "PromptPage");
const listOptions = { getParentRoute, validateSearch: parsePromptsSearch, component: PromptsView };
const pageOptions = { getParentRoute, validateSearch: parsePromptSearch, component: PromptView };

export const promptsRoutes = [
  createRoute({
    ...listOptions,
    path: "/prompts",
    staticData: {
      page: {
        title: "Prompts",
        label: "Prompts",
        keys: "g m",
        icon: "M2.5 3h11v8H7l-3 2.5V11H2.5ZM5 6h6M5 8.5h4",
      },
    },
  }),
  createRoute({ ...pageOptions, path: "/prompts/$repo" }),
  createRoute({ ...pageOptions, path: "/prompts/$repo/$commit" }),
  createRoute({
    ...listOptions,
    path: "/hub",
    staticData: { page: { title: "Public prompts", keys: "g u" } },
  }),
  createRoute({ ...pageOptions, path: "/hub/$owner/$repo" }),
  createRoute({ ...pageOptions, path: "/hub/$owner/$repo/$commit" }),
] as const;
