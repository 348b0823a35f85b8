import { createHash } from "node:crypto";
import { RequestError } from "../../model/errors.ts";
import { compileFor } from "../dialect.ts";
import { bindValues, nameParameters, Query } from "../query.ts";
import type { BuiltQuery, Database } from "../query.ts";
import type { PostgresClient, PostgresRows } from "./postgres-client.ts";

interface PreparedQuery {
  readonly text: string;
  readonly name: string;
  readonly parameters: readonly unknown[];
}

/** Runs queries on one connection, in the transaction of the caller. */
export class PostgresDatabase implements Database {
  readonly #client: PostgresClient;

  constructor(client: PostgresClient) {
    this.#client = client;
  }

  async all<Row>(query: BuiltQuery<Row> | Query<Row, never>, values: object = {}): Promise<Row[]> {
    return [...(await this.#run(query, values)).rows] as Row[];
  }

  async first<Row>(
    query: BuiltQuery<Row> | Query<Row, never>,
    values: object = {},
  ): Promise<Row | undefined> {
    return (await this.#run(query, values)).rows[0] as Row | undefined;
  }

  async run(
    query: BuiltQuery<unknown> | Query<unknown, never>,
    values: object = {},
  ): Promise<number> {
    return (await this.#run(query, values)).count;
  }

  /**
   * Runs SQL that is written for PostgreSQL, with the parameters `$1`, `$2` and so on. The statement is prepared once
   * per connection, so its text must not contain values. Use {@link execute} for a text that differs from call to call.
   *
   * @throws RequestError 422: a text contains NUL, which PostgreSQL can't store.
   */
  async query<Row>(text: string, values: readonly unknown[] = []): Promise<PostgresRows<Row>> {
    checkValues(values, (index) => `$${index + 1}`);
    const result = await this.#client.run({ text, values, name: nameStatement(text) });
    return result as PostgresRows<Row>;
  }

  /** Like {@link query}, without preparing the statement under a name. */
  async execute<Row>(text: string, values: readonly unknown[] = []): Promise<PostgresRows<Row>> {
    checkValues(values, (index) => `$${index + 1}`);
    return (await this.#client.run({ text, values })) as PostgresRows<Row>;
  }

  #run(query: BuiltQuery<unknown> | Query<unknown, never>, values: object): Promise<PostgresRows> {
    const { text, name, parameters } = prepare(query);
    const boundValues = bindValues(parameters, values);
    checkValues(boundValues, (index) => nameParameters(parameters)[index] ?? `$${index + 1}`);
    return this.#client.run({ text, values: boundValues, ...(name !== "" && { name }) });
  }
}

const preparedQueries = new WeakMap<object, PreparedQuery>();

function prepare(query: BuiltQuery<unknown> | Query<unknown, never>): PreparedQuery {
  if (!(query instanceof Query)) {
    // The text of such a query depends on the values, so the statement is not kept.
    const { sql, parameters } = compileFor("postgres", query);
    return { text: sql, parameters, name: "" };
  }
  const cached = preparedQueries.get(query);
  if (cached !== undefined) {
    return cached;
  }
  const { sql, parameters } = query.compileFor("postgres");
  const prepared = { text: sql, parameters, name: nameStatement(sql) };
  preparedQueries.set(query, prepared);
  return prepared;
}

const statementNames = new Map<string, string>();

/** Returns a name for a statement, which depends only on its text: different texts have different names. */
function nameStatement(text: string): string {
  const knownName = statementNames.get(text);
  if (knownName !== undefined) {
    return knownName;
  }
  const name = createHash("sha256").update(text).digest("base64url");
  if (statementNames.size < maxStatementNames) {
    statementNames.set(text, name);
  }
  return name;
}

/** Maximum number of names that are cached. Further names are computed for each call. */
const maxStatementNames = 10_000;

/** @throws RequestError 422: a text contains NUL, which PostgreSQL can't store. */
function checkValues(values: readonly unknown[], nameOf: (index: number) => string): void {
  for (const [index, value] of values.entries()) {
    const hasNul =
      typeof value === "string"
        ? value.includes("\0")
        : Array.isArray(value) &&
          value.some((member) => typeof member === "string" && member.includes("\0"));
    if (hasNul) {
      throw new RequestError(
        422,
        `${nameOf(index)} contains the character NUL (\\u0000), which this server's PostgreSQL store can't store in a text: remove it`,
      );
    }
  }
}
