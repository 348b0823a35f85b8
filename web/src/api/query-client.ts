import { QueryCache, QueryClient } from "@tanstack/react-query";
import { ApiError } from "./http.ts";

/** The cache of server data. */
export const createQueryClient = (): QueryClient =>
  new QueryClient({
    queryCache: new QueryCache({
      onError: (error, query) => {
        if (error instanceof ApiError && error.status === 404 && query.state.data !== undefined) {
          // The resource was deleted while it was shown: drop the stale data.
          query.setState({ data: undefined });
        }
      },
    }),
    defaultOptions: {
      queries: {
        // A rejected request would be rejected again. While the server is unreachable, the offline banner
        // polls it and refetches everything once it responds.
        retry: false,
        networkMode: "always",
      },
    },
  });
