const quoted = String.raw`("(?:[^"\\]|\\.)*")`;

/** Calls that Millrace's error messages suggest, each with the same call of langsmith's interface. */
const callTranslations: readonly (readonly [RegExp, string])[] = [
  [
    new RegExp(String.raw`\bclient\.datasets\.create\(\{ name: ${quoted} \}\)`, "g"),
    "client.createDataset($1)",
  ],
  [
    new RegExp(String.raw`\bclient\.projects\.create\(\{ name: ${quoted} \}\)`, "g"),
    "client.createProject({ projectName: $1 })",
  ],
  [/\bclient\.projects\.create\(\{ name \}\)/g, "client.createProject({ projectName })"],
  [
    new RegExp(String.raw`\bclient\.prompts\.push\(${quoted}, \{ manifest\b`, "g"),
    "client.pushPrompt($1, { object",
  ],
  [/\bclient\.prompts\.create\b/g, "client.createPrompt"],
  [/\bclient\.prompts\.listCommits\b/g, "client.listCommits"],
  [/\bclient\.annotationQueues\.list\b/g, "client.listAnnotationQueues"],
  // Langsmith's interface has no equivalent of the other calls. They are called through `client.millrace`.
  [
    /\bclient\.(annotationQueues|datasets|feedback|projects|prompts|runs|tenant|views)\./g,
    "client.millrace.$1.",
  ],
];

const translate = (text: string): string => {
  let translated = text;
  for (const [call, replacement] of callTranslations) {
    translated = translated.replace(call, replacement);
  }
  return translated;
};

/**
 * Rewrites the calls of Millrace's API in an error message as calls of this package's client, because the program uses
 * this client.
 */
export function translateAdvice(error: unknown): unknown {
  if (error instanceof Error) {
    const message = translate(error.message);
    if (message !== error.message) {
      // The stack, which Node prints, contains the message, too.
      const stack = error.stack?.replace(error.message, () => message);
      Object.defineProperty(error, "message", { value: message });
      Object.defineProperty(error, "stack", { value: stack });
    }
  }
  return error;
}

const throwTranslated = (error: unknown): never => {
  throw translateAdvice(error);
};

type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Wraps the methods of a class, including inherited ones, so that {@link translateAdvice} changes their errors. */
export function translateMethods(constructor: { readonly prototype: object }): void {
  for (
    let prototype = constructor.prototype;
    prototype !== Object.prototype;
    prototype = Object.getPrototypeOf(prototype) as object
  ) {
    for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      if (name !== "constructor" && typeof descriptor.value === "function") {
        const value = translateErrors(descriptor.value as Method);
        Object.defineProperty(prototype, name, { ...descriptor, value });
      }
    }
  }
}

function translateErrors(method: Method): Method {
  const translated = function (this: unknown, ...args: unknown[]): unknown {
    const result = Reflect.apply(method, this, args);
    if (result instanceof Promise) {
      return result.catch(throwTranslated);
    }
    if (isGenerator(result)) {
      const next = result.next.bind(result);
      result.next = (...values) => next(...values).catch(throwTranslated);
    }
    return result;
  };
  Object.defineProperty(translated, "name", { value: method.name });
  return Object.defineProperty(translated, "length", { value: method.length });
}

const isGenerator = (value: unknown): value is AsyncGenerator =>
  typeof value === "object" && value !== null && Symbol.asyncIterator in value && "next" in value;
