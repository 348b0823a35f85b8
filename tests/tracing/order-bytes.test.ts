import * as fc from "fast-check";
import { expect, test } from "vitest";
import { formatDottedOrder, microsToStamp } from "../../src/model/dotted-order.ts";
import { createUuid7 } from "../../src/model/uuid7.ts";
import { OrderBytes, measureOrder, writeOrder } from "../../src/tracing/tape/order-bytes.ts";
import type { TracePosition } from "../../src/tracing/tape/order-bytes.ts";

/** Times up to the largest exact number of microseconds, including whole seconds and the last moments of seconds. */
const times = fc.array(
  fc.oneof(
    fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    fc.integer({ min: 0, max: 9_007_199_254 }).map((second) => second * 1_000_000),
    fc.integer({ min: 1, max: 9_007_199_254 }).map((second) => second * 1_000_000 - 1),
  ),
  { minLength: 1, maxLength: 30 },
);

test("a dotted order is written with the timestamps and ids of all ancestors, at any depth and time", () => {
  fc.assert(
    fc.property(times, (starts) => {
      const segments = starts.map((startMicros) => ({ startMicros, id: createUuid7() }));
      let parentOrder: OrderBytes | undefined;
      for (const segment of segments) {
        parentOrder = OrderBytes.fromPosition({ ...segment, parentOrder });
      }
      const text = formatDottedOrder(
        segments.map(({ startMicros, id }) => ({ stamp: microsToStamp(startMicros), runId: id })),
      );
      expect(parentOrder?.text).toBe(text);
      expect(parentOrder).toHaveLength(text.length);
      expect(OrderBytes.fromText(text).text).toBe(text);
    }),
  );
});

test("a dotted order is written at the given offset, without overwriting bytes before it", () => {
  const root: TracePosition = {
    id: createUuid7(),
    startMicros: 1_700_000_000_000_001,
    parentOrder: undefined,
  };
  const parentOrder = OrderBytes.fromPosition(root);
  const position: TracePosition = {
    id: createUuid7(),
    startMicros: 1_700_000_000_999_999,
    parentOrder,
  };
  for (let from = 0; from < 9; from++) {
    const bytes = Buffer.alloc(200, "~");
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    writeOrder({ bytes, view }, from, position);
    const end = from + measureOrder(position);
    expect(bytes.toString("latin1")).toBe(
      `${"~".repeat(from)}${OrderBytes.fromPosition(position).text}${"~".repeat(200 - end)}`,
    );
  }
});
