import { queryOptions } from "@tanstack/react-query";
import { toEndpointPath } from "../../api/endpoint-path.ts";
import { getJson } from "../../api/http.ts";
import { toRecord } from "../../api/parse.ts";
import { parseTimeMs } from "../../components/time/time.ts";

const refetchIntervalMs = 30_000;

/** The start of the latest run of a project; `null` if the project has no runs. */
export const createLastActivityQuery = (projectId: string) =>
  queryOptions({
    queryKey: ["projects", projectId, "last-activity"],
    queryFn: async ({ signal }): Promise<number | null> => {
      // If the request has no time range, the member `to` of the response is the start of the latest run.
      const query = new URLSearchParams({ session: projectId, is_root: "true", buckets: "1" });
      const path = toEndpointPath("/ui/runs/counts");
      return parseTimeMs(toRecord(await getJson(`${path}?${query}`, signal))["to"]) ?? null;
    },
    refetchInterval: refetchIntervalMs,
  });
