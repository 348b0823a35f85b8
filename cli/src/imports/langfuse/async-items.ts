/** Loads items in their order, `count` of them at the same time. */
export async function* loadAhead<Item, Loaded>(
  items: readonly Item[],
  count: number,
  load: (item: Item) => Promise<Loaded>,
): AsyncGenerator<Loaded> {
  const loading: Promise<Loaded>[] = [];
  for (let next = 0; next < items.length || loading.length > 0;) {
    while (next < items.length && loading.length < count) {
      const promise = load(items[next++] as Item);
      // A failure is thrown when the item's turn comes; until then it must not count as unhandled.
      promise.catch(() => undefined);
      loading.push(promise);
    }
    yield (await loading.shift()) as Loaded;
  }
}

/** Collects items into lists of at most `size`. */
export async function* toBatches<Value>(
  items: AsyncIterable<Value>,
  size: number,
): AsyncGenerator<readonly Value[]> {
  let batch: Value[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length === size) {
      yield batch;
      batch = [];
    }
  }
  if (batch.length > 0) {
    yield batch;
  }
}
