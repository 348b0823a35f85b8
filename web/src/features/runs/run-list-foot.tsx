import { Button } from "@mantine/core";
import { formatTime } from "../../components/time/time.ts";
import type { RunList } from "./use-run-list.ts";

/** Behind the last row: how far a search has come, and that it goes on. */
export const RunListFoot = ({ list }: { readonly list: RunList }) => {
  const { searchedToMs, isPaused, hasMore, searchOn } = list;
  if (!hasMore || (searchedToMs === undefined && !isPaused)) {
    return null;
  }
  const far = searchedToMs === undefined ? "" : ` back to ${formatTime(searchedToMs)}`;
  return (
    <output className="list-foot">
      {isPaused ? (
        <>
          Searched{far} without finding more.
          <Button size="compact-sm" variant="default" onClick={searchOn}>
            Search on
          </Button>
        </>
      ) : (
        `Searching, so far${far} …`
      )}
    </output>
  );
};
