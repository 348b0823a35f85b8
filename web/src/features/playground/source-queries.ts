import { queryOptions } from "@tanstack/react-query";
import { toEndpointPath } from "../../api/endpoint-path.ts";
import { getJson } from "../../api/http.ts";
import { toRecord } from "../../api/parse.ts";
import { createCommitQuery } from "../prompts/queries.ts";
import { toPlaygroundState } from "./from-run.ts";
import { promptToState } from "./from-prompt.ts";
import { createState } from "./playground-state.ts";
import type { PlaygroundState } from "./playground-state.ts";

/** The content to load, as the URL of the playground names it. */
interface SourceSearch {
  readonly owner?: string;
  readonly prompt?: string;
  readonly commit?: string;
  readonly run?: string;
}

/** Identifies the content that a URL names; empty for an empty playground. */
export function toOrigin({ owner = "-", prompt, commit = "latest", run }: SourceSearch): string {
  if (run !== undefined) {
    return `run ${run}`;
  }
  return prompt === undefined ? "" : `prompt ${owner}/${prompt}:${commit}`;
}

/**
 * Loads the content that the URL names, and only once: later changes of a prompt must not replace what the user edits.
 */
export const createSourceQuery = ({ owner = "-", prompt, commit, run }: SourceSearch) =>
  queryOptions({
    queryKey: ["playground", owner, prompt, commit, run],
    queryFn: async ({ signal, client }): Promise<PlaygroundState> => {
      if (run !== undefined) {
        const value = await getJson(toEndpointPath("/ui/trace-runs/:id", { id: run }), signal);
        return { ...toPlaygroundState(toRecord(value)), source: { kind: "run", id: run } };
      }
      if (prompt === undefined) {
        return createState();
      }
      const address = { owner, repo: prompt };
      const { hash, manifest } = await client.fetchQuery(
        createCommitQuery(address, commit ?? "latest"),
      );
      return promptToState({ kind: "prompt", ...address, hash, manifest });
    },
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    structuralSharing: false,
  });
