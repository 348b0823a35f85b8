import { useParams } from "@tanstack/react-router";
import type { AnyRoute } from "@tanstack/react-router";
import { useMemo } from "react";
import { omitUndefined } from "../../api/parse.ts";
import { useTenantId } from "../../api/tenant.ts";
import { rootRoute } from "./root-route.ts";

/**
 * The names and the shortcut of a page that can be opened from any view. Its route declares them as
 * `staticData: { page: … }`. Pages of other routes are reached only by links.
 */
export interface PageEntry {
  /** The name in the command palette and in the list of shortcuts. */
  readonly title: string;
  /** The name in the navigation bar. @defaultValue the page is not in the bar */
  readonly label?: string;
  /** The SVG path of the page's icon in the navigation bar, drawn in a box of 16 by 16 units. */
  readonly icon?: string;
  /** The shortcut, such as `g p`. */
  readonly keys?: string;
}

declare module "@tanstack/react-router" {
  interface StaticDataRouteOption {
    readonly page?: PageEntry;
  }
}

/** A page with the path of its route, such as `/o/$tenantId/projects`. */
export interface Page extends PageEntry {
  readonly path: string;
}

/** A page that can be opened: `params` has a value for each parameter in its path. */
export interface OpenablePage extends Page {
  readonly params: Readonly<Record<string, string>>;
}

/** The pages of all routes, in the order of the routes. */
export const listPages = (routes: readonly AnyRoute[] = readRootRoutes()): readonly Page[] =>
  routes.flatMap(({ options }) => {
    const { path, staticData } = options as RouteOptions;
    return staticData?.page === undefined ? [] : [{ ...staticData.page, path }];
  });

/** The part of a route's options that {@link listPages} reads. The type `AnyRoute` does not describe these options. */
interface RouteOptions {
  readonly path: string;
  readonly staticData?: { readonly page?: PageEntry };
}

/** The routes that the router has added to the root. */
const readRootRoutes = (): readonly AnyRoute[] => (rootRoute as AnyRoute).children as AnyRoute[];

/** The pages that can be opened now: each parameter in their paths has a value in the URL or is the tenant id. */
export function usePages(): readonly OpenablePage[] {
  const tenantId = useTenantId();
  const urlParams: Readonly<Record<string, string | undefined>> = useParams({ strict: false });
  return useMemo(() => {
    const params = omitUndefined({ ...urlParams, tenantId }) as Readonly<Record<string, string>>;
    return listPages()
      .filter(({ path }) => listParameterNames(path).every((name) => params[name] !== undefined))
      .map((page) => ({ ...page, params }));
  }, [urlParams, tenantId]);
}

const listParameterNames = (path: string): readonly string[] =>
  [...path.matchAll(/\$(\w+)/g)].map(([, name = ""]) => name);
