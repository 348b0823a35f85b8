import type { Recorder } from "./recorder.ts";

/** Replaces an attachment that exceeded the size limit of its run. Its content is not stored. */
export class OversizedAttachment {
  readonly bytes: number;

  constructor(bytes: number) {
    this.bytes = bytes;
  }
}

/** Attachments that were added to an open run. Their bytes are copied and held until the run ends. */
export class HeldAttachments {
  readonly #limitBytes: number;
  readonly #held = new Map<string, { readonly attachment: unknown; readonly bytes: number }>();
  #bytes = 0;

  /** Holds at most `limitBytes` bytes. For an attachment that exceeds the limit only the size is kept. */
  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /**
   * Copies an attachment. It replaces an earlier attachment of the same name. @throws whatever a getter or a Proxy
   * throws.
   */
  holdCopy(name: string, attachment: unknown): void {
    const otherBytes = this.#bytes - (this.#held.get(name)?.bytes ?? 0);
    const data = readData(attachment);
    const bytes = data?.byteLength ?? 0;
    const entry =
      otherBytes + bytes <= this.#limitBytes
        ? { attachment: copyAttachment(attachment, data), bytes }
        : { attachment: new OversizedAttachment(bytes), bytes: 0 };
    this.#held.set(name, entry);
    this.#bytes = otherBytes + entry.bytes;
  }

  /** The attachments by name, in the form in which they were added, with copied bytes. */
  get all(): Readonly<Record<string, unknown>> {
    return Object.fromEntries([...this.#held].map(([name, { attachment }]) => [name, attachment]));
  }
}

/** An attachment that is added to an open run. */
interface NewAttachment {
  readonly name: string;
  readonly attachment: unknown;
  readonly runRecorder: Recorder;
}

/**
 * Adds an attachment to `previous`, the attachments held for a run so far, or to a new set if there are none. Returns
 * that set. Never throws.
 */
export function holdAttachment(
  previous: unknown,
  { name, attachment, runRecorder }: NewAttachment,
): HeldAttachments {
  const heldAttachments =
    previous instanceof HeldAttachments
      ? previous
      : new HeldAttachments(runRecorder.attachmentBytes);
  try {
    heldAttachments.holdCopy(name, attachment);
  } catch {
    runRecorder.warn("attachmentLeftOut", "An attachment was left out of a run: it can't be read.");
  }
  return heldAttachments;
}

function readData(attachment: unknown): ArrayBufferView | ArrayBuffer | undefined {
  if (typeof attachment !== "object" || attachment === null) {
    return undefined;
  }
  const data: unknown = Reflect.get(attachment, Array.isArray(attachment) ? 1 : "data");
  return ArrayBuffer.isView(data) || data instanceof ArrayBuffer ? data : undefined;
}

function copyAttachment(
  attachment: unknown,
  data: ArrayBufferView | ArrayBuffer | undefined,
): unknown {
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
