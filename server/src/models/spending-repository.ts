import { RequestError } from "../model/errors.ts";
import { roundCost } from "../runs/usage/run-cost.ts";
import { createQueryBuilder, Query } from "../storage/query.ts";
import type { Database, Parameters } from "../storage/query.ts";

/** What the model calls of one day cost, in US dollars. */
export interface DailySpending {
  readonly dollars: number;
  readonly calls: number;
}

/** The cost of a call that is about to be made. */
export interface SpendingReservation {
  /** The day in UTC, such as `2026-11-26`. */
  readonly day: string;
  readonly dollars: number;
  /** The most that the calls of a day may cost; `undefined` without a limit. */
  readonly budget?: number | undefined;
}

/** Reads what the model calls of tenants cost in a day. */
export interface SpendingReads {
  /** Reads what the calls of a day have cost so far, including those that have not ended. */
  read(tenantId: string, day: string): Promise<DailySpending>;
}

/** Writes what the model calls of tenants cost in a day. */
export interface SpendingWrites {
  /**
   * Adds the highest cost that a call may have, before it is made, so that calls at the same time, and calls of a
   * server that is killed, stay within the budget.
   *
   * @throws RequestError 429: the budget of the day is not enough.
   */
  reserve(tenantId: string, reservation: SpendingReservation): Promise<void>;
  /**
   * Replaces the reserved cost of a call with its actual cost: adds the difference, in dollars, which may be negative.
   */
  settle(tenantId: string, day: string, differenceDollars: number): Promise<void>;
}

/** SQL that creates the table with the daily cost of each tenant's model calls. */
export const spendingTables = `
  CREATE TABLE model_spending (
    tenant_id TEXT NOT NULL, day TEXT NOT NULL, dollars REAL NOT NULL, calls INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, day)
  ) WITHOUT ROWID;
`;

interface SpendingRow {
  readonly tenant_id: string;
  readonly day: string;
  readonly dollars: number;
  readonly calls: number;
}

const builder = createQueryBuilder<{ readonly model_spending: SpendingRow }>();

/** The queries of the daily cost of model calls. */
export const spendingQueries = {
  find: new Query(({ tenantId, day }: Parameters<{ tenantId: string; day: string }>) =>
    builder
      .selectFrom("model_spending")
      .select(["dollars", "calls"])
      .where("tenant_id", "=", tenantId)
      .where("day", "=", day),
  ),
  set: new Query((row: Parameters<SpendingRow>) =>
    builder
      .insertInto("model_spending")
      .values({
        tenant_id: row.tenant_id,
        day: row.day,
        dollars: row.dollars,
        calls: row.calls,
      })
      .onConflict((conflict) =>
        conflict
          .columns(["tenant_id", "day"])
          .doUpdateSet({ dollars: row.dollars, calls: row.calls }),
      ),
  ),
};

const nothingSpent: DailySpending = { dollars: 0, calls: 0 };

/** Reads and writes what model calls cost. */
export class SpendingRepository implements SpendingReads, SpendingWrites {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async read(tenantId: string, day: string): Promise<DailySpending> {
    return (await this.#db.first(spendingQueries.find, { tenantId, day })) ?? nothingSpent;
  }

  async reserve(tenantId: string, { day, dollars, budget }: SpendingReservation): Promise<void> {
    const spent = await this.read(tenantId, day);
    const total = roundCost(spent.dollars + dollars);
    if (budget !== undefined && total > budget) {
      throw new RequestError(
        429,
        `the daily budget of $${budget} is not enough: $${toAmount(spent.dollars)} is spent or reserved today, and this call may cost $${toAmount(dollars)}. Lower its max tokens, wait until 00:00 UTC, or start the server with a higher --model-budget`,
        countSecondsToMidnight(Date.now()),
      );
    }
    await this.#set(tenantId, day, {
      dollars: total,
      calls: spent.calls + 1,
    });
  }

  async settle(tenantId: string, day: string, differenceDollars: number): Promise<void> {
    const { dollars, calls } = await this.read(tenantId, day);
    await this.#set(tenantId, day, {
      dollars: Math.max(0, roundCost(dollars + differenceDollars)),
      calls,
    });
  }

  async #set(tenantId: string, day: string, { dollars, calls }: DailySpending): Promise<void> {
    await this.#db.run(spendingQueries.set, { tenant_id: tenantId, day, dollars, calls });
  }
}

/** Rounds an amount to three significant digits. */
const toAmount = (dollars: number): string => String(Number(dollars.toPrecision(3)));

const dayMs = 86_400_000;
const countSecondsToMidnight = (nowMs: number): number =>
  Math.ceil((dayMs - (nowMs % dayMs)) / 1_000);
