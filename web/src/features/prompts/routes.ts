import { createRoute } from "@tanstack/react-router";
import { lazyView } from "../../components/page/load-chunk.ts";
import { rootRoute } from "../../components/page/root-route.ts";
import { parsePromptSearch, parsePromptsSearch } from "./prompts-search.ts";

const getParentRoute = () => rootRoute;
const prompts = lazyView(async () => import("./prompts.tsx"), "Prompts");
const prompt = lazyView(async () => import("./prompt-page.tsx"), "PromptPage");
const list = { getParentRoute, validateSearch: parsePromptsSearch, component: prompts };
const one = { getParentRoute, validateSearch: parsePromptSearch, component: prompt };

export const promptsRoutes = [
  createRoute({ ...list, path: "/prompts" }),
  createRoute({ ...one, path: "/prompts/$repo" }),
  createRoute({ ...one, path: "/prompts/$repo/$commit" }),
  createRoute({ ...list, path: "/hub" }),
  createRoute({ ...one, path: "/hub/$owner/$repo" }),
  createRoute({ ...one, path: "/hub/$owner/$repo/$commit" }),
] as const;
