import { createRoute } from "@tanstack/react-router";
import { lazyView } from "../../components/page/load-chunk.ts";
import { rootRoute } from "../../components/page/root-route.ts";
import { parsePromptSearch, parsePromptsSearch } from "./prompts-search.ts";

const getParentRoute = () => rootRoute;
const prompts = lazyView(async () => import("./prompts.tsx"), "Prompts");
const prompt = lazyView(async () => import("./prompt-page.tsx"), "PromptPage");
const listOptions = { getParentRoute, validateSearch: parsePromptsSearch, component: prompts };
const pageOptions = { getParentRoute, validateSearch: parsePromptSearch, component: prompt };

export const promptsRoutes = [
  createRoute({
    ...listOptions,
    path: "/prompts",
    staticData: { page: { title: "Prompts", label: "Prompts", keys: "g m" } },
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
