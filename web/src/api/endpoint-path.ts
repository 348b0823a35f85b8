import type { endpoints, uiEndpoints } from "millrace/model";

type EndpointTable = typeof endpoints & typeof uiEndpoints;
type Path = EndpointTable[keyof EndpointTable]["path"];

/** Names of the parameters in a path: `id` in `/datasets/:id`. */
type ParameterName<P extends string> = P extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParameterName<`/${Rest}`>
  : P extends `${string}:${infer Name}`
    ? Name
    : never;

type PathParameters<P extends string> = [ParameterName<P>] extends [never]
  ? readonly []
  : readonly [parameters: Readonly<Record<ParameterName<P>, string>>];

/**
 * Fills the parameters into a path of the shared endpoint tables, percent-encoded. Only paths in these tables
 * type-check.
 */
export function toEndpointPath<P extends Path>(
  path: P,
  ...[parameters]: PathParameters<P>
): string {
  const values: Readonly<Record<string, string>> = parameters ?? {};
  return path.replaceAll(/:(\w+)/g, (_match, name: string) =>
    encodeURIComponent(values[name] ?? ""),
  );
}
