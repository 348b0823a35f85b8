import { expect, test } from "vitest";
import { evaluateStatus, initialStatus } from "../alert-state.ts";
import type { AlertStatus } from "../alert.ts";

const above = { direction: "above", threshold: 100 } as const;
const below = { direction: "below", threshold: 100 } as const;

/** The states and notifications that a series of values leads to. */
function follow(
  values: readonly (number | null)[],
  alert: typeof above | typeof below = above,
): readonly string[] {
  let status: AlertStatus = initialStatus;
  return values.map((value) => {
    const next = evaluateStatus(status, value, alert);
    status = next.status;
    return next.notification === undefined ? status.state : `${status.state}: ${next.notification}`;
  });
}

test("an alert fires when two values in a row are beyond the threshold, and once", () => {
  expect(follow([100, 101, 100, 101, 101, 500, 500])).toEqual([
    "ok",
    "ok",
    "ok",
    "ok",
    "firing: firing",
    "firing",
    "firing",
  ]);
});

test("it recovers when three values in a row are clearly on the good side", () => {
  expect(follow([101, 101, 95, 95, 96, 95, 90, 0])).toEqual([
    "ok",
    "firing: firing",
    "firing",
    "firing",
    "firing",
    "firing",
    "firing",
    "ok: recovered",
  ]);
});

test("a value that moves around the threshold notifies once", () => {
  const flapping = Array.from({ length: 50 }, (_none, index) => (index % 2 === 0 ? 101 : 99));
  const notifications = follow([101, 101, ...flapping]).filter((text) => text.includes(":"));
  expect(notifications).toEqual(["firing: firing"]);
});

test("below is the reverse", () => {
  expect(follow([99, 99, 101, 105, 105, 105], below)).toEqual([
    "ok",
    "firing: firing",
    "firing",
    "firing",
    "firing",
    "ok: recovered",
  ]);
});

test("a gap in the data neither recovers nor fires again", () => {
  expect(follow([null, 101, null, 101, 101, null, 101, null, 0, 0, 0])).toEqual([
    "no_data",
    "ok",
    "no_data",
    "ok",
    "firing: firing",
    "no_data",
    "firing",
    "no_data",
    "firing",
    "firing",
    "ok: recovered",
  ]);
});

test("an alert on a threshold of zero recovers at zero", () => {
  const alert = { direction: "above", threshold: 0 } as const;
  let status: AlertStatus = { state: "firing", isFiring: true, streak: 2 };
  const next = evaluateStatus(status, 0, alert);
  status = next.status;
  expect(next.notification).toBe("recovered");
  expect(status.state).toBe("ok");
});
