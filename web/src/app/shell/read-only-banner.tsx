import { queryOptions, useQuery } from "@tanstack/react-query";
import { getJson } from "../../api/http.ts";

const askAgainMs = 15_000;

/** Whether the server takes only deletions, as its disk is full. */
const readOnlyQuery = queryOptions({
  queryKey: ["read-only"],
  queryFn: async ({ signal }): Promise<boolean> => {
    const info = (await getJson("/info", signal)) as Readonly<Record<string, unknown>>;
    return info["read_only"] !== undefined;
  },
  refetchInterval: askAgainMs,
});

/** Says that nothing new is stored, and what helps. */
export const ReadOnlyBanner = () => {
  const { data: isReadOnly = false } = useQuery(readOnlyQuery);
  return (
    <output className="gone" hidden={!isReadOnly}>
      {isReadOnly &&
        "The server's disk is full: nothing new is stored. Delete projects or datasets, or free disk space."}
    </output>
  );
};
