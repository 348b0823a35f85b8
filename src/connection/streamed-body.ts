/** The body of a request that is sent as it is read. */
export interface StreamedBody {
  /** Bytes of it all, where they are known; it is sent in chunks where they are not. */
  readonly sizeBytes?: number | undefined;
  /** Whether it can be opened again: a caller's own stream only until it was. */
  readonly isSpent: boolean;
  open(): AsyncIterable<Uint8Array>;
}

/** What is read of `chunks`, and `onProgress` at each step. */
export async function* watched(
  chunks: AsyncIterable<Uint8Array>,
  onProgress: () => void,
): AsyncGenerator<Uint8Array, void> {
  for await (const chunk of chunks) {
    onProgress();
    yield chunk;
    onProgress();
  }
}
