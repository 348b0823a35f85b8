import type { endpoints, uiEndpoints } from "millrace/model";

type Table = typeof endpoints & typeof uiEndpoints;
type Path = Table[keyof Table]["path"];

/** Names of the parameters in a path: `id` in `/datasets/:id`. */
type Parameter<P extends string> = P extends `${string}:${infer Name}/${infer Rest}`
  ? Name | Parameter<`/${Rest}`>
  : P extends `${string}:${infer Name}`
    ? Name
    : never;

type Parameters<P extends string> = [Parameter<P>] extends [never]
  ? readonly []
  : readonly [parameters: Readonly<Record<Parameter<P>, string>>];

/**
 * Fills the parameters into a path of the shared endpoint tables, percent-encoded. Only paths in these tables
 * type-check.
 */
export function toEndpointPath<P extends Path>(path: P, ...[parameters]: Parameters<P>): string {
  const values: Readonly<Record<string, string>> = parameters ?? {};
  return path.replaceAll(/:(\w+)/g, (_match, name: string) =>
    encodeURIComponent(values[name] ?? ""),
  );
}
