import { Type } from "typebox";
import type { Static } from "typebox";

/** Limits of one request to a model. The names contain the unit of a limit that is not a plain number. */
const modelRequestLimits = {
  messages: 10_000,
  textChars: 16_777_216,
  images: 100,
  toolCalls: 256,
  tools: 256,
  nameChars: 256,
  stops: 16,
  outputTokens: 10_000_000,
} as const;

const limits = modelRequestLimits;
const nameSchema = Type.String({ minLength: 1, maxLength: limits.nameChars });
const textSchema = Type.String({ maxLength: limits.textChars });
const jsonSchemaSchema = Type.Record(Type.String(), Type.Unknown());

const toolCallSchema = Type.Object({
  id: Type.String({ maxLength: limits.nameChars }),
  name: nameSchema,
  /** The arguments as the model wrote them, which should be JSON but need not be. */
  arguments: textSchema,
});

const messageSchema = Type.Object({
  role: Type.Enum(["system", "user", "assistant", "tool"]),
  content: textSchema,
  /** Addresses of images, mostly `data:` URLs. */
  images: Type.Optional(Type.Array(textSchema, { maxItems: limits.images })),
  /** The tools that an assistant's message calls. */
  toolCalls: Type.Optional(Type.Array(toolCallSchema, { maxItems: limits.toolCalls })),
  /** For a message with the role `tool`: the id of the call whose result the message contains. */
  toolCallId: Type.Optional(Type.String({ maxLength: limits.nameChars })),
});

const toolSchema = Type.Object({
  name: nameSchema,
  description: Type.Optional(textSchema),
  /** JSON schema of the arguments. */
  parameters: jsonSchemaSchema,
});

const settingsSchema = Type.Object({
  temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 100 })),
  topP: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  maxTokens: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.outputTokens })),
  stop: Type.Optional(Type.Array(nameSchema, { maxItems: limits.stops })),
  seed: Type.Optional(Type.Integer()),
  reasoningEffort: Type.Optional(nameSchema),
});

/** The schema of a {@link ModelRequest}. */
export const modelRequestSchema = Type.Object({
  model: nameSchema,
  messages: Type.Array(messageSchema, { minItems: 1, maxItems: limits.messages }),
  tools: Type.Optional(Type.Array(toolSchema, { maxItems: limits.tools })),
  /** JSON schema that the answer must match. */
  outputSchema: Type.Optional(Type.Object({ name: nameSchema, schema: jsonSchemaSchema })),
  settings: Type.Optional(settingsSchema),
});

/** A request to a model in a form that does not depend on its provider. */
export type ModelRequest = Static<typeof modelRequestSchema>;
/** A message of the conversation that is sent to a model. */
export type ModelMessage = ModelRequest["messages"][number];
/** A call of a tool that a model has requested. */
export type ModelToolCall = Static<typeof toolCallSchema>;
