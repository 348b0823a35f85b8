import { ValidationError } from "../model/errors.ts";

/** `make`, saying of what it refuses where it stands. */
export function counted<Item, Made>(make: (item: Item) => Made): (item: Item) => Made {
  let next = 0;
  return (item) => {
    const at = next++;
    try {
      return make(item);
    } catch (error) {
      throw error instanceof ValidationError
        ? new ValidationError(`Example ${at}: ${error.message}`, { cause: error })
        : error;
    }
  };
}

/**
 * All of an array is checked; what else can be iterated is checked as it is read.
 *
 * @throws {@link ValidationError} one is refused, or they are no examples at all.
 */
export function assertMany<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  check: (item: Item) => unknown,
): void {
  if (Array.isArray(items)) {
    items.forEach(counted(check));
    return;
  }
  const isMany =
    typeof items === "object" &&
    items !== null &&
    (Symbol.iterator in items || Symbol.asyncIterator in items);
  if (!isMany) {
    throw new ValidationError("examples must be an array, or what can be iterated");
  }
}
