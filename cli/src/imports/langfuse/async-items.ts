/** Loads items, up to `count` of them at the same time, and yields the results in the order of the items. */
export async function* loadAhead<Item, Loaded>(
  items: readonly Item[],
  count: number,
  load: (item: Item) => Promise<Loaded>,
): AsyncGenerator<Loaded> {
  const loading: Promise<Loaded>[] = [];
  for (let next = 0; next < items.length || loading.length > 0;) {
    while (next < items.length && loading.length < count) {
      const promise = load(items[next++] as Item);
      // Prevent an unhandled rejection: a failure is thrown below, when the item's result is yielded.
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
