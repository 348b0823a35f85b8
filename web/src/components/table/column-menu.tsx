import { Button, Popover } from "@mantine/core";
import { clampWidth, moveColumn, defaultLayout, toColumnOrder } from "./column-layout.ts";
import type { ColumnLayout } from "./column-layout.ts";
import type { Column } from "./data-table-columns.ts";

/** Number of pixels by which the menu makes a column narrower or wider. */
const widthStep = 24;

/** The width, in pixels, with which a column is shown now; `undefined` if it is hidden. */
const measureWidth = (id: string): number | undefined =>
  [...document.querySelectorAll<HTMLElement>("th[data-column]")].find(
    ({ dataset }) => dataset["column"] === id,
  )?.offsetWidth;

/** A menu to show, hide, move and resize columns. Unlike dragging column titles, it also works with the keyboard. */
export const ColumnMenu = <Row extends object>({
  columns,
  layout,
  onLayout,
}: {
  readonly columns: readonly Column<Row>[];
  readonly layout: ColumnLayout;
  readonly onLayout: (layout: ColumnLayout) => void;
}) => {
  const ids = columns.map(({ id }) => id);
  const byId = new Map(columns.map((column) => [column.id, column]));
  const order = toColumnOrder(ids, layout);
  return (
    <Popover
      position="bottom-end"
      withinPortal={false}
      trapFocus
      returnFocus
      transitionProps={{ duration: 0 }}
    >
      <Popover.Target>
        <Button size="compact-sm" variant="default">
          Columns
        </Button>
      </Popover.Target>
      <Popover.Dropdown className="column-menu" aria-label="Columns">
        <ul>
          {order.map((id, index) => {
            const column = byId.get(id);
            return column === undefined ? null : (
              <li key={id}>
                <label>
                  <input
                    type="checkbox"
                    checked={
                      column.isFixed === true || (layout.shown[id] ?? column.isShown !== false)
                    }
                    disabled={column.isFixed === true}
                    onChange={({ target }) =>
                      onLayout({ ...layout, shown: { ...layout.shown, [id]: target.checked } })
                    }
                  />
                  {column.title}
                </label>
                <button
                  type="button"
                  aria-label={`Move ${column.title} up`}
                  disabled={index === 0}
                  onClick={() =>
                    onLayout(moveColumn(layout, ids, { id, before: order[index - 1] }))
                  }
                >
                  ↑
                </button>
                <button
                  type="button"
                  aria-label={`Move ${column.title} down`}
                  disabled={index === order.length - 1}
                  onClick={() =>
                    onLayout(moveColumn(layout, ids, { id, before: order[index + 2] }))
                  }
                >
                  ↓
                </button>
                {[
                  { mark: "−", label: `Make ${column.title} narrower`, step: -widthStep },
                  { mark: "+", label: `Make ${column.title} wider`, step: widthStep },
                ].map(({ mark, label, step }) => (
                  <button
                    key={mark}
                    type="button"
                    aria-label={label}
                    onClick={() =>
                      onLayout({
                        ...layout,
                        widths: {
                          ...layout.widths,
                          [id]: clampWidth(
                            (layout.widths[id] ?? measureWidth(id) ?? column.width) + step,
                          ),
                        },
                      })
                    }
                  >
                    {mark}
                  </button>
                ))}
              </li>
            );
          })}
        </ul>
        <Button size="compact-xs" variant="subtle" onClick={() => onLayout(defaultLayout)}>
          Reset columns
        </Button>
      </Popover.Dropdown>
    </Popover>
  );
};
