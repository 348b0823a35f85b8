import { MantineProvider } from "@mantine/core";
import { cleanup, fireEvent, render, screen, within } from "@testing-library/react";
import { useState } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { readCommands } from "../../../src/components/keyboard/commands.ts";
import { useColumnLayout } from "../../../src/components/table/column-layout.ts";
import { ColumnMenu } from "../../../src/components/table/column-menu.tsx";
import { DataTable } from "../../../src/components/table/data-table.tsx";
import type { Column, DataTableProps } from "../../../src/components/table/data-table.tsx";
import { pretendLayout } from "../../support/layout.ts";

interface Fruit {
  readonly id: string;
  readonly name: string;
  readonly weight: number;
}

const fruits = (count: number): Fruit[] =>
  Array.from({ length: count }, (_, index) => ({
    id: `f${index}`,
    name: `Fruit ${index}`,
    weight: index,
  }));

const columns: readonly Column<Fruit>[] = [
  { id: "name", title: "Name", renderCell: ({ name }) => name, width: 160, grow: 1, isFixed: true },
  { id: "weight", title: "Weight", renderCell: ({ weight }) => weight, width: 80, sort: "desc" },
  { id: "colour", title: "Colour", renderCell: () => "red", width: 80, isShown: false },
];

beforeEach(() => pretendLayout());

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
  localStorage.clear();
});

const Table = (props: Partial<DataTableProps<Fruit>>) => {
  const [selection, setSelection] = useState<ReadonlySet<string>>(new Set());
  const [layout, setLayout] = useColumnLayout("fruits");
  return (
    <MantineProvider withCssVariables={false}>
      <ColumnMenu columns={columns} layout={layout} onLayout={setLayout} />
      <DataTable
        resourceName="fruits"
        rows={fruits(1_000)}
        getRowId={({ id }) => id}
        columns={columns}
        layout={layout}
        onLayout={setLayout}
        renderLink={({ id }, part) => <a href={`/fruit/${id}`} {...part} />}
        selection={selection}
        onSelection={setSelection}
        {...props}
      />
      <output>{[...selection].join(" ")}</output>
    </MantineProvider>
  );
};

const bodyRows = () => screen.getAllByRole("row").slice(1);
const selected = () => screen.getByRole("status").textContent;

test("a change of one row renders only this row again", () => {
  const rendered: string[] = [];
  const counted = columns.map((column) => ({
    ...column,
    renderCell: (fruit: Fruit) => {
      rendered.push(fruit.id);
      return column.renderCell(fruit);
    },
  }));
  const rows = fruits(1_000);
  const renderLink: DataTableProps<Fruit>["renderLink"] = ({ id }, part) => (
    <a href={`/fruit/${id}`} {...part} />
  );
  render(<Table rows={rows} columns={counted} renderLink={renderLink} />);
  expect(rendered).toContain("f3");
  rendered.length = 0;
  fireEvent.click(screen.getByRole("checkbox", { name: "Select row 4" }));
  expect(selected()).toBe("f3");
  expect(new Set(rendered)).toEqual(new Set(["f3"]));
});

test("of a thousand rows only those in view are rendered, and aria-rowcount is the total", () => {
  render(<Table />);
  expect(bodyRows().length).toBeGreaterThan(5);
  expect(bodyRows().length).toBeLessThan(60);
  expect(screen.getByRole("table", { name: "fruits" }).getAttribute("aria-rowcount")).toBe("1001");
});

test("j and k move the focus from link to link, and x selects", () => {
  render(<Table />);
  const table = screen.getByRole("table");
  fireEvent.keyDown(table, { key: "j" });
  expect(document.activeElement?.getAttribute("href")).toBe("/fruit/f0");
  fireEvent.keyDown(table, { key: "j" });
  fireEvent.keyDown(table, { key: "ArrowDown" });
  expect(document.activeElement?.getAttribute("href")).toBe("/fruit/f2");
  fireEvent.keyDown(table, { key: "x" });
  fireEvent.keyDown(table, { key: "J", shiftKey: true });
  expect(selected()).toBe("f2 f3");
  fireEvent.keyDown(table, { key: "k" });
  expect(document.activeElement?.getAttribute("href")).toBe("/fruit/f2");
  fireEvent.keyDown(table, { key: "Escape" });
  expect(selected()).toBe("");
});

test("a row without a link is focusable itself", () => {
  render(
    <MantineProvider withCssVariables={false}>
      <DataTable
        resourceName="fruits"
        rows={fruits(9)}
        getRowId={({ id }) => id}
        columns={columns}
      />
    </MantineProvider>,
  );
  const table = screen.getByRole("table");
  fireEvent.keyDown(table, { key: "j" });
  fireEvent.keyDown(table, { key: "j" });
  expect(document.activeElement).toBe(bodyRows()[1]);
});

test("a table registers its shortcuts once, and only those that work in it", () => {
  const { rerender } = render(
    <>
      <Table />
      <Table />
    </>,
  );
  const keys = () => readCommands().map((action) => action.keys);
  expect(keys()).toEqual(["j", "k", "Enter", "x"]);
  rerender(
    <DataTable
      resourceName="fruits"
      rows={fruits(9)}
      getRowId={({ id }) => id}
      columns={columns}
    />,
  );
  expect(keys()).toEqual(["j", "k"]);
  cleanup();
  expect(keys()).toEqual([]);
});

test("a check box with shift selects all rows from the last one to it", () => {
  render(<Table />);
  fireEvent.click(screen.getByRole("checkbox", { name: "Select row 2" }));
  fireEvent.click(screen.getByRole("checkbox", { name: "Select row 5" }), { shiftKey: true });
  expect(selected()).toBe("f1 f2 f3 f4");
});

test("the first click on a title sorts in its default order, the second in reverse", () => {
  const onSort = vi.fn<() => void>();
  const { rerender } = render(<Table onSort={onSort} />);
  fireEvent.click(screen.getByRole("button", { name: "Weight" }));
  expect(onSort).toHaveBeenLastCalledWith({ column: "weight", order: "desc" });
  rerender(<Table onSort={onSort} sort={{ column: "weight", order: "desc" }} />);
  fireEvent.click(screen.getByRole("button", { name: "Weight" }));
  expect(onSort).toHaveBeenLastCalledWith({ column: "weight", order: "asc" });
  expect(screen.getByRole("columnheader", { name: "Weight" }).getAttribute("aria-sort")).toBe(
    "descending",
  );
});

test("only the title of a column that sorts is a button; each can be dragged", () => {
  render(<Table onSort={vi.fn<(sort: unknown) => void>()} />);
  const [, name, weight] = screen.getAllByRole("columnheader");
  expect(within(name!).queryByRole("button")).toBeNull();
  expect(within(weight!).getByRole("button").getAttribute("draggable")).toBe("true");
  expect(within(name!).getByText("Name").getAttribute("draggable")).toBe("true");
});

test("on a narrow screen a row has the further lines that its list provides", () => {
  vi.stubGlobal("matchMedia", () => ({
    matches: true,
    addEventListener: vi.fn<() => void>(),
    removeEventListener: vi.fn<() => void>(),
  }));
  render(<Table renderNarrowDetail={({ weight }) => <span>{`${weight} grams`}</span>} />);
  expect(screen.getByText("3 grams").closest("tr")).toBe(bodyRows()[3]);
  cleanup();
  render(<Table />);
  expect(screen.queryByText("3 grams")).toBeNull();
  vi.unstubAllGlobals();
});

test("a column that the user shows is still shown after a reload", () => {
  const first = render(<Table />);
  expect(screen.queryByRole("columnheader", { name: "Colour" })).toBeNull();
  fireEvent.click(screen.getByRole("button", { name: "Columns" }));
  fireEvent.click(screen.getByRole("checkbox", { name: "Colour" }));
  fireEvent.click(screen.getByRole("button", { name: "Move Colour up" }));
  const titles = () =>
    within(screen.getByRole("table"))
      .getAllByRole("columnheader")
      .map((title) => title.textContent);
  expect(titles()).toEqual(["", "Name", "Colour", "Weight"]);
  first.unmount();
  render(<Table />);
  expect(titles()).toEqual(["", "Name", "Colour", "Weight"]);
});

test("the menu makes a column wider and narrower, and the width is kept", () => {
  const first = render(<Table />);
  vi.spyOn(HTMLElement.prototype, "offsetWidth", "get").mockReturnValue(100);
  fireEvent.click(screen.getByRole("button", { name: "Columns" }));
  const tracks = () => screen.getByRole("table").style.getPropertyValue("--tracks");
  fireEvent.click(screen.getByRole("button", { name: "Make Weight wider" }));
  expect(tracks()).toContain(" 124px ");
  fireEvent.click(screen.getByRole("button", { name: "Make Weight narrower" }));
  fireEvent.click(screen.getByRole("button", { name: "Make Weight narrower" }));
  expect(tracks()).toContain(" 76px ");
  first.unmount();
  render(<Table />);
  expect(tracks()).toContain(" 76px ");
});

test("without rows the table shows a loading, an error or an empty state", () => {
  const { rerender } = render(<Table rows={undefined} />);
  expect(screen.queryByLabelText("Loading fruits")).not.toBeNull();
  rerender(<Table rows={undefined} error={new Error("no orchard")} />);
  expect(screen.getByRole("alert").textContent).toContain("no orchard");
  rerender(<Table rows={[]} />);
  expect(screen.queryByText("No fruits")).not.toBeNull();
});

test("more rows are requested near the end, as long as there are more", () => {
  const onMore = vi.fn<() => void>();
  const { rerender } = render(<Table rows={fruits(1_000)} hasMore onLoadMore={onMore} />);
  expect(onMore).not.toHaveBeenCalled();
  rerender(<Table rows={fruits(20)} hasMore onLoadMore={onMore} />);
  expect(onMore).toHaveBeenCalled();
  onMore.mockClear();
  rerender(<Table rows={fruits(20)} hasMore={false} onLoadMore={onMore} />);
  expect(onMore).not.toHaveBeenCalled();
});
