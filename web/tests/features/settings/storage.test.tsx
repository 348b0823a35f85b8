import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { Storage } from "../../../src/features/settings/storage.tsx";

afterEach(cleanup);

const isNextEnabled = (): boolean =>
  !screen.getByRole<HTMLButtonElement>("button", { name: "Next projects" }).disabled;

const readShownNames = (): (string | null)[] =>
  screen
    .getAllByRole("row")
    .slice(1)
    .map((row) => row.querySelector("td")?.textContent ?? null);

/** Shows the usage of a server with this number of projects. */
function renderStorage(projectCount: number, limits: readonly object[] = []): void {
  vi.stubGlobal("fetch", async (path: string) => {
    const query = new URL(path, "http://localhost").searchParams;
    const [limit, offset] = [Number(query.get("limit")), Number(query.get("offset"))];
    const projects = Array.from({ length: projectCount }, (_, index) => ({
      project_id: `id ${index}`,
      name: `p${index}`,
      count: 1,
      is_complete: true,
    })).slice(offset, offset + limit);
    const attachments = { count: 0, bytes: 0, is_complete: true };
    return Response.json({ limits, database_bytes: 1, free_bytes: 0, attachments, projects });
  });
  render(
    <QueryClientProvider client={new QueryClient()}>
      <MantineProvider withCssVariables={false}>
        <Storage />
      </MantineProvider>
    </QueryClientProvider>,
  );
}

test("the limits of the tenant are shown with what is used of them", async () => {
  renderStorage(1, [
    { limit: "stored_bytes", max: 5_000_000, used: 1_000_000 },
    { limit: "stored_runs", max: 2_000, used: 2_000 },
    { limit: "ingest_bytes", max: 1_000, used: null },
  ]);
  await screen.findByText("p0");
  const shown = (title: string) => screen.getByText(title).nextElementSibling?.textContent;
  expect(shown("Size of stored runs")).toBe("1.0 MB of 5.0 MB");
  expect(shown("Number of runs")).toBe("2,000 of 2,000: new runs are rejected");
  expect(shown("Received today (UTC)")).toBe("not measured yet, limit 1.0 kB");
});

test("a page after which no project follows is the last one, even if it is full", async () => {
  renderStorage(40);
  await screen.findByText("p0");
  expect(readShownNames()).toHaveLength(20);
  expect(isNextEnabled()).toBe(true);
  fireEvent.click(screen.getByRole("button", { name: "Next projects" }));
  await screen.findByText("p39");
  expect(readShownNames()[0]).toBe("p20");
  expect(isNextEnabled()).toBe(false);
});

test.each([
  [20, 0],
  [21, 2],
])("%i projects need %i buttons", async (projectCount, buttonCount) => {
  renderStorage(projectCount);
  await screen.findByText("p0");
  expect(screen.queryAllByRole("button")).toHaveLength(buttonCount);
});
