import { QueryCache, QueryClient } from "@tanstack/react-query";
import { ApiError } from "./http.ts";

/** The cache of server data. */
export const createQueryClient = (): QueryClient =>
  new QueryClient({
    queryCache: new QueryCache({
      onError: (error, query) => {
        if (error instanceof ApiError && error.status === 404 && query.state.data !== undefined) {
          // The resource was deleted while it was shown, so remove the stale data.
          query.setState({ data: undefined });
        }
      },
    }),
    defaultOptions: {
      queries: {
        // Retrying is not needed: a rejected request would be rejected again, and after a lost connection the
        // offline banner refetches all data once the server responds.
        retry: false,
        networkMode: "always",
      },
    },
  });
