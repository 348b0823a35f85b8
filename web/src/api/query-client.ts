import { QueryCache, QueryClient } from "@tanstack/react-query";
import { ApiError } from "./http.ts";

/** The cache of what the server said. */
export const createQueryClient = (): QueryClient =>
  new QueryClient({
    queryCache: new QueryCache({
      onError: (error, query) => {
        if (error instanceof ApiError && error.status === 404 && query.state.data !== undefined) {
          // Deleted while it was shown: what was known of it is no longer true.
          query.setState({ data: undefined });
        }
      },
    }),
    defaultOptions: {
      queries: {
        // What the server refused it refuses again, and of one that is gone it is told at once: the
        // banner above the page asks for it, and has all of this read again when it is back.
        retry: false,
        networkMode: "always",
      },
    },
  });
