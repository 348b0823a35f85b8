import { MantineProvider } from "@mantine/core";
import { cleanup, render } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import { EstimatePanel } from "../../../src/features/experiments/launch/estimate-panel.tsx";

afterEach(cleanup);

test("assumed output tokens say that no earlier experiment recorded any", () => {
  const { container } = render(
    <MantineProvider>
      <EstimatePanel estimate={{ targets: [], isMeasured: false }} judgeCount={0} />
    </MantineProvider>,
  );
  expect(container.textContent).toContain(
    "No earlier experiment on this dataset recorded output tokens",
  );
});

test.each([
  [0, undefined],
  [1, "The estimate includes the LLM judge,"],
  [2, "The estimate includes the LLM judges,"],
])("with %i judges, the estimate says whether it includes them", (judgeCount, text) => {
  const { container } = render(
    <MantineProvider>
      <EstimatePanel estimate={{ targets: [], isMeasured: true }} judgeCount={judgeCount} />
    </MantineProvider>,
  );
  expect(/The estimate includes the LLM judges?,/.exec(container.textContent)?.[0]).toBe(text);
});
