import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef } from "react";
import { useCommands } from "../../components/keyboard/commands.ts";
import { Failure } from "../../components/page/states.tsx";
import type { TurnItem } from "./thread-item.ts";
import { createCostFormat } from "../../components/text/cost.ts";
import { TurnView } from "./turn-view.tsx";

const estimatedTurnHeight = 220;
/** More turns are loaded when fewer than this number of loaded turns follow the last one in view. */
const readAheadTurns = 10;

/** The turns of a thread, one below the other. Only those in view are rendered, and only their runs are loaded. */
export const TurnList = ({
  turns,
  threadId,
  address,
  hasMore,
  error,
  onLoadMore,
}: {
  readonly turns: readonly TurnItem[];
  readonly threadId: string;
  readonly address: { readonly tenantId: string; readonly projectId: string };
  readonly hasMore: boolean;
  readonly error: Error | null;
  readonly onLoadMore: () => void;
}) => {
  const scroller = useRef<HTMLDivElement>(null);
  const formatCost = createCostFormat(turns.flatMap(({ cost }) => cost ?? []));
  // oxlint-disable-next-line react/incompatible-library -- the functions of the virtualizer are not memoized here
  const virtualizer = useVirtualizer({
    count: turns.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => estimatedTurnHeight,
    getItemKey: (index) => turns[index]?.runId ?? index,
    overscan: 3,
  });
  const virtualItems = virtualizer.getVirtualItems();
  const isNearEnd = (virtualItems.at(-1)?.index ?? -1) >= turns.length - readAheadTurns;
  useEffect(() => {
    // Do not repeat the request after an error. The user can click "Try again".
    if (hasMore && error === null && isNearEnd) {
      onLoadMore();
    }
  });
  useTurnKeys(scroller, turns.length);
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- keyboard users must be able to scroll the list
    <section className="scroller thread-turns" ref={scroller} aria-label="Turns" tabIndex={0}>
      <div className="rows" style={{ height: virtualizer.getTotalSize() }}>
        {virtualItems.map(({ index, key, start }) => {
          const turn = turns[index];
          return turn === undefined ? null : (
            <div
              key={key}
              ref={virtualizer.measureElement}
              data-index={index}
              className="thread-row"
              style={{ transform: `translateY(${start}px)` }}
            >
              <TurnView
                turn={turn}
                number={index + 1}
                threadId={threadId}
                address={address}
                formatCost={formatCost}
              />
            </div>
          );
        })}
      </div>
      {error !== null && <Failure resourceName="more turns" error={error} onRetry={onLoadMore} />}
    </section>
  );
};

/** Registers `j` and `k`, which focus the link of the next or the previous turn. Enter then opens its trace. */
function useTurnKeys(scroller: React.RefObject<HTMLElement | null>, count: number): void {
  useCommands(
    useMemo(() => {
      const move = (step: 1 | -1) => (): void => focusTurn(scroller.current, step, count);
      const group = "This page";
      return [
        { id: "list-next", group, label: "Next turn", keys: "j", run: move(1) },
        { id: "list-previous", group, label: "Previous turn", keys: "k", run: move(-1) },
        { id: "list-open", group, label: "Open trace of turn", keys: "Enter" },
      ];
    }, [scroller, count]),
  );
}

function focusTurn(scroller: HTMLElement | null, step: 1 | -1, count: number): void {
  const row = document.activeElement?.closest<HTMLElement>("[data-index]");
  const currentIndex = row === null || row === undefined ? -1 : Number(row.dataset["index"]);
  const nextIndex = Math.max(0, Math.min(count - 1, currentIndex + step));
  const target = scroller?.querySelector<HTMLElement>(
    `[data-index="${nextIndex}"] a[data-turn-link]`,
  );
  target?.focus({ preventScroll: true });
  target?.closest("[data-index]")?.scrollIntoView({ block: "start" });
}
