import { Tabs } from "@mantine/core";
import { useEffect, useRef } from "react";
import type { ReactNode } from "react";
import type { TraceTab } from "../trace-search.ts";

/** The tabs of a run in one row. A row that is too narrow for all tabs is scrolled to the open tab. */
export const RunTabList = ({
  openTab,
  children,
}: {
  readonly openTab: TraceTab;
  readonly children: ReactNode;
}) => {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const tab = list.current?.querySelector(`[id$="-tab-${openTab}"]`);
    if (list.current !== null && tab !== null && tab !== undefined) {
      // Scroll only the row: `scrollIntoView` would also scroll the page to the tabs.
      const [row, bounds] = [list.current.getBoundingClientRect(), tab.getBoundingClientRect()];
      list.current.scrollLeft += bounds.left + bounds.width / 2 - (row.left + row.width / 2);
    }
  }, [openTab]);
  return (
    <Tabs.List className="panel-tabs" ref={list}>
      {children}
    </Tabs.List>
  );
};
