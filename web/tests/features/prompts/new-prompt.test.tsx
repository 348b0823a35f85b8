import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import {
  RouterContextProvider,
  createMemoryHistory,
  createRootRoute,
  createRouter,
} from "@tanstack/react-router";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { NewPrompt } from "../../../src/features/prompts/new-prompt.tsx";

afterEach(cleanup);

const router = createRouter({
  routeTree: createRootRoute(),
  history: createMemoryHistory({ initialEntries: ["/"] }),
});

/** Submits the dialog for a prompt `greet`. The step whose path starts with `conflict` fails with 409. */
function submit(conflict: "/repos" | "/commits"): void {
  vi.stubGlobal("fetch", async (path: string) =>
    path.startsWith(conflict)
      ? Response.json({ detail: `conflict of ${conflict}` }, { status: 409 })
      : Response.json({
          repo: { id: "p", repo_handle: "greet", owner: "-", full_name: "-/greet" },
        }),
  );
  render(
    <RouterContextProvider router={router}>
      <QueryClientProvider client={new QueryClient()}>
        <MantineProvider withCssVariables={false}>
          <NewPrompt onClose={() => undefined} />
        </MantineProvider>
      </QueryClientProvider>
    </RouterContextProvider>,
  );
  const name = screen.getByLabelText(/^Name/);
  fireEvent.change(name, { target: { value: "greet" } });
  fireEvent.submit(name);
}

test("a conflict of the name says that the name is taken", async () => {
  submit("/repos");
  const error = await screen.findByText(/conflict of/);
  expect(error.textContent).toBe("The name greet is taken: 409: conflict of /repos");
});

test("a conflict of the first commit does not say that the name is taken", async () => {
  submit("/commits");
  const error = await screen.findByText(/conflict of/);
  expect(error.textContent).toBe("409: conflict of /commits");
});
