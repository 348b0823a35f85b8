import { infiniteQueryOptions } from "@tanstack/react-query";
import { toEndpointPath } from "../../api/endpoint-path.ts";
import { getJson } from "../../api/http.ts";
import { parseThreadPage, parseTurnPage } from "./thread-item.ts";
import type { ThreadItemPage, TurnItemPage } from "./thread-item.ts";

const refetchIntervalMs = 10_000;
const threadsPerPage = 50;
const turnsPerPage = 100;

/** The threads of a project, the most recently active first, in pages. */
export const createThreadsQuery = (projectId: string, text: string) =>
  infiniteQueryOptions({
    queryKey: ["threads", projectId, text],
    queryFn: async ({ pageParam, signal }) => {
      const query = new URLSearchParams({
        session: projectId,
        limit: String(threadsPerPage),
        ...(text === "" ? {} : { text }),
        ...(pageParam === "" ? {} : { cursor: pageParam }),
      });
      const path = toEndpointPath("/ui/threads");
      return parseThreadPage(await getJson(`${path}?${query.toString()}`, signal));
    },
    initialPageParam: "",
    getNextPageParam: ({ next }: ThreadItemPage) => next,
    // Refetch only while one page is loaded, because reading many pages again and again would keep the server busy.
    refetchInterval: ({ state: { data } }) =>
      (data?.pages.length ?? 0) <= 1 ? refetchIntervalMs : false,
    refetchOnWindowFocus: ({ state: { data } }) => (data?.pages.length ?? 0) <= 1,
  });

/** The turns of a thread, sorted by their start time, in pages. */
export const createTurnsQuery = (projectId: string, threadId: string) =>
  infiniteQueryOptions({
    queryKey: ["thread-turns", projectId, threadId],
    queryFn: async ({ pageParam, signal }) => {
      const query = new URLSearchParams({
        session: projectId,
        thread: threadId,
        limit: String(turnsPerPage),
        offset: String(pageParam),
      });
      const path = toEndpointPath("/ui/threads/turns");
      return parseTurnPage(await getJson(`${path}?${query.toString()}`, signal));
    },
    initialPageParam: 0,
    getNextPageParam: ({ turnCount }: TurnItemPage, pages) => {
      const loadedCount = pages.reduce((count, { turns }) => count + turns.length, 0);
      return pages.at(-1)?.turns.length === 0 || loadedCount >= turnCount ? undefined : loadedCount;
    },
    refetchInterval: ({ state: { data } }) =>
      (data?.pages.length ?? 0) <= 1 ? refetchIntervalMs : false,
  });
