import { MantineProvider } from "@mantine/core";
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, test, vi } from "vitest";
import { Confirm } from "../../../src/components/dialog/confirm.tsx";

afterEach(cleanup);

const show = (onConfirm: () => unknown, confirmationText?: string) => {
  const onClose = vi.fn<() => void>();
  render(
    <MantineProvider>
      <Confirm
        title="Delete project"
        action="Delete"
        {...(confirmationText === undefined ? {} : { confirmationText })}
        onConfirm={onConfirm}
        onClose={onClose}
      />
    </MantineProvider>,
  );
  return onClose;
};

test("the action is disabled until the required text is typed", async () => {
  const onConfirm = vi.fn<() => void>();
  const onClose = show(onConfirm, "demo");
  const user = userEvent.setup();
  await user.click(screen.getByRole("button", { name: "Delete" }));
  expect(onConfirm).not.toHaveBeenCalled();
  await user.type(screen.getByLabelText("Type demo to confirm"), "demo");
  await user.click(screen.getByRole("button", { name: "Delete" }));
  expect(onConfirm).toHaveBeenCalledOnce();
  expect(onClose).toHaveBeenCalledOnce();
});

test("an error is shown and the dialog stays open", async () => {
  const onClose = show(async () => {
    throw new Error("409: it is in use");
  });
  await userEvent.setup().click(screen.getByRole("button", { name: "Delete" }));
  expect((await screen.findByRole("alert")).textContent).toBe("409: it is in use");
  expect(onClose).not.toHaveBeenCalled();
});
