import type { Recorder } from "./recorder.ts";

/** Bytes that a run was given beyond what it may hold: they were let go. */
export class TooMuch {
  readonly bytes: number;

  constructor(bytes: number) {
    this.bytes = bytes;
  }
}

/** What was attached to a run while it was open, with bytes of its own, until the run ends. */
export class HeldAttachments {
  readonly #limitBytes: number;
  readonly #held = new Map<string, { readonly attachment: unknown; readonly bytes: number }>();
  #bytes = 0;

  /** Holds at most `limitBytes`; of what is beyond only the size is kept. */
  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** Of the same name the last counts. @throws what a getter or a Proxy throws. */
  hold(name: string, attachment: unknown): void {
    this.#bytes -= this.#held.get(name)?.bytes ?? 0;
    const data = dataOf(attachment);
    const bytes = data?.byteLength ?? 0;
    const fits = this.#bytes + bytes <= this.#limitBytes;
    this.#bytes += fits ? bytes : 0;
    this.#held.set(
      name,
      fits
        ? { attachment: withCopy(attachment, data), bytes }
        : { attachment: new TooMuch(bytes), bytes: 0 },
    );
  }

  /** As they were given, but for the copies. */
  get all(): Readonly<Record<string, unknown>> {
    return Object.fromEntries([...this.#held].map(([name, { attachment }]) => [name, attachment]));
  }
}

interface Attaching {
  readonly name: string;
  readonly attachment: unknown;
  readonly recording: Recorder;
}

/** What is held from now on, of what was held before and one more. Never throws. */
export function holding(
  before: unknown,
  { name, attachment, recording }: Attaching,
): HeldAttachments {
  const held =
    before instanceof HeldAttachments ? before : new HeldAttachments(recording.attachmentBytes);
  try {
    held.hold(name, attachment);
  } catch {
    recording.warn("attachmentLeftOut", "An attachment that can't be read was left out of a run.");
  }
  return held;
}

function dataOf(attachment: unknown): ArrayBufferView | ArrayBuffer | undefined {
  if (typeof attachment !== "object" || attachment === null) {
    return undefined;
  }
  const data: unknown = Reflect.get(attachment, Array.isArray(attachment) ? 1 : "data");
  return ArrayBuffer.isView(data) || data instanceof ArrayBuffer ? data : undefined;
}

function withCopy(attachment: unknown, data: ArrayBufferView | ArrayBuffer | undefined): unknown {
  if (typeof attachment !== "object" || attachment === null) {
    return attachment;
  }
  if (data === undefined) {
    return Array.isArray(attachment) ? [...(attachment as readonly unknown[])] : { ...attachment };
  }
  const bytes = ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
  const mimeType: unknown = Reflect.get(attachment, Array.isArray(attachment) ? 0 : "mimeType");
  return { mimeType, data: Uint8Array.from(bytes) };
}
