import { expect, test } from "vitest";
import { toFieldFault } from "../../../src/components/dialog/field-fault.ts";

test.for([
  [
    "422: url: the address is not allowed. Use another one.",
    "url",
    "The address is not allowed. Use another one.",
  ],
  [
    "422: action.template: the tag {{x is not closed",
    "action.template",
    "The tag {{x is not closed.",
  ],
  [
    "409: the tenant has 100 webhooks: delete one",
    undefined,
    "The tenant has 100 webhooks: delete one.",
  ],
  [
    "The server did not respond within 30 seconds.",
    undefined,
    "The server did not respond within 30 seconds.",
  ],
  [
    "422: Failed to call http://a.example: it redirects",
    undefined,
    "Failed to call http://a.example: it redirects.",
  ],
  [
    '422: [{"loc":["body","name"],"msg":"must NOT have more than 200 characters","type":"maxLength"}]',
    "name",
    "Must not have more than 200 characters.",
  ],
  ["422: [no list", undefined, "[no list."],
] as const)("%s", ([message, path, text]) => {
  expect(toFieldFault(new Error(message))).toEqual({ path, text });
});
