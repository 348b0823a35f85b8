import { expect, test } from "vitest";
import { AttemptLog } from "../../src/model/records/attempt-log.ts";
import type { AttemptState } from "../../src/model/records/attempt-log.ts";
import { NetworkError } from "../../src/model/errors.ts";

const refused = new NetworkError("refused");
const reset = new NetworkError("reset");

function createLog(): { log: AttemptLog; states: AttemptState[] } {
  const states: AttemptState[] = [];
  return { log: new AttemptLog((state) => states.push(state)), states };
}

test("nothing is reported before an attempt fails", () => {
  const { log, states } = createLog();
  log.start();
  expect(states).toEqual([]);
});

test("an attempt in flight may take effect, although those before it can't have", () => {
  const { log, states } = createLog();
  log.start();
  log.fail(refused, { mayHaveTakenEffect: false });
  log.start();
  log.fail(refused, { mayHaveTakenEffect: false });
  expect(states.map(({ mayHaveTakenEffect }) => mayHaveTakenEffect)).toEqual([false, true, false]);
});

test("an attempt that may have taken effect is remembered, as is a request that succeeded", () => {
  const { log, states } = createLog();
  log.start();
  log.fail(reset, { mayHaveTakenEffect: true });
  log.start();
  log.fail(refused, { mayHaveTakenEffect: false });
  expect(states).toEqual([
    { error: reset, mayHaveTakenEffect: true },
    { error: refused, mayHaveTakenEffect: true },
  ]);
  const second = createLog();
  second.log.start();
  second.log.start();
  second.log.fail(refused, { mayHaveTakenEffect: false });
  expect(second.states).toEqual([{ error: refused, mayHaveTakenEffect: true }]);
});
