import { cleanup, render } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import { FormError } from "../../../src/components/dialog/form.tsx";

afterEach(cleanup);

test.for([
  ["422: url: The address must begin with https://.", "url: The address must begin with https://."],
  ["409: it is in use", "409: it is in use"],
] as const)("the error %s of a form is shown as %s", ([error, shown]) => {
  expect(render(<FormError error={error} />).container.textContent).toBe(shown);
});
