/** A private field that can be added to any object, and that other code can't access. */
export interface HiddenField<Value> {
  /** Adds the field, and returns the object. Throws if the object has the field already. */
  readonly add: (object: object, value: Value) => object;
  /** Returns the value of the field; `undefined` if the object does not have it. */
  readonly get: (object: object) => Value | undefined;
}

/**
 * A constructor that returns its argument. The private fields of a class that extends it are therefore added to that
 * object.
 */
const Self = function self(object: object): object {
  return object;
} as unknown as new (object: object) => object;

/**
 * Creates a field. Unlike an entry of a `WeakMap`, its value is part of the object: reading it needs no lookup, and the
 * garbage collector has no table to process.
 */
export function createHiddenField<Value>(): HiddenField<Value> {
  class Field extends Self {
    readonly #value: Value;

    constructor(object: object, value: Value) {
      super(object);
      this.#value = value;
    }

    static get(object: object): Value | undefined {
      return #value in object ? object.#value : undefined;
    }
  }
  return {
    add: (object, value) => new Field(object, value),
    get: (object) => Field.get(object),
  };
}
