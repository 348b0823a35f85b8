import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { createRef } from "react";
import { afterEach, expect, test, vi } from "vitest";
import { ReviewPanel } from "../../../src/features/queues/review/review-panel.tsx";
import { useDraft } from "../../../src/features/queues/review/use-draft.ts";
import { parseQueue } from "../../../src/features/queues/queue.ts";

afterEach(() => {
  cleanup();
  localStorage.clear();
  vi.unstubAllGlobals();
});

const queue = parseQueue({
  id: "q",
  name: "review",
  rubric_items: [{ feedback_key: "correct", is_assertion: true }],
});
const actions = {
  error: undefined,
  notice: "",
  isBusy: false,
  finish: () => undefined,
  skip: () => undefined,
  goTo: () => undefined,
  reopen: () => undefined,
  addToDataset: () => undefined,
  startCorrection: () => undefined,
  correctionStarts: 0,
};

const Panel = () => {
  const draftState = useDraft(
    { queueId: "q", reviewer: "Ada" },
    {
      id: "position",
      runId: "run",
      index: 0,
      untilMs: undefined,
      isCompleted: false,
      addedMs: undefined,
      reviews: [],
    },
  );
  return (
    <ReviewPanel
      queue={queue}
      draftState={draftState}
      actions={actions}
      selectedIndex={0}
      onSelect={() => undefined}
      noteRef={createRef()}
      lastReviewedPositionId={undefined}
    />
  );
};

const renderPanel = () =>
  render(
    <MantineProvider withCssVariables={false}>
      <QueryClientProvider
        client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}
      >
        <Panel />
      </QueryClientProvider>
    </MantineProvider>,
  );

test("a review can begin only when the reviewer's earlier feedback was loaded, so that it is not created twice", async () => {
  let respond: (response: Response) => void = () => undefined;
  const receiveRequest = (resolve: (response: Response) => void): void => {
    respond = resolve;
  };
  vi.stubGlobal("fetch", () => new Promise<Response>(receiveRequest));
  renderPanel();
  const done = screen.getByRole("button", { name: /Done/ });
  expect(done.hasAttribute("disabled")).toBe(true);
  expect(screen.queryByLabelText("Note")).toBeNull();
  respond(Response.json({ detail: "the disk is full" }, { status: 503 }));
  const retry = await screen.findByRole("button", { name: "Try again" });
  expect(done.hasAttribute("disabled")).toBe(true);
  expect(screen.getByRole("alert").textContent).toContain("Could not load your earlier feedback");
  fireEvent.click(retry);
  respond(Response.json([]));
  await screen.findByLabelText("Note");
  expect(done.hasAttribute("disabled")).toBe(false);
});
