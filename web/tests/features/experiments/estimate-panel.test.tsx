import { MantineProvider } from "@mantine/core";
import { cleanup, render } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import { EstimatePanel } from "../../../src/features/experiments/launch/estimate-panel.tsx";

afterEach(cleanup);

test("assumed output tokens say that no earlier experiment recorded any", () => {
  const { container } = render(
    <MantineProvider>
      <EstimatePanel estimate={{ targets: [], isMeasured: false }} />
    </MantineProvider>,
  );
  expect(container.textContent).toContain(
    "No earlier experiment on this dataset recorded output tokens",
  );
});
