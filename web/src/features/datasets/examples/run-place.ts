import { queryOptions } from "@tanstack/react-query";
import type { endpoints } from "millrace/model";
import { needText, toItems, toRecord } from "../../../api/parse.ts";
import { postJson } from "../../../api/http.ts";

const path: (typeof endpoints)["queryRuns"]["path"] = "/runs/query";

/** Where a run is shown. */
export interface RunPlace {
  readonly traceId: string;
  readonly projectId: string;
}

/** Fails where there is no such run. */
export const runPlaceQuery = (id: string) =>
  queryOptions({
    queryKey: ["run", id, "place"],
    queryFn: async ({ signal }): Promise<RunPlace> => {
      const body = { id: [id], select: ["trace_id", "session_id"], limit: 1 };
      const { runs } = toRecord(await postJson(path, body, signal));
      const run = toRecord(toItems(runs)[0]);
      return { traceId: needText(run, "trace_id"), projectId: needText(run, "session_id") };
    },
    staleTime: Infinity,
    retry: false,
  });
