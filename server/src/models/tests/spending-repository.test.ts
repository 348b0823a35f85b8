import { expect, test } from "vitest";
import {
  describeRepositories,
  otherId,
  tenantId,
} from "../../../tests/support/repository-fixture.ts";
import { SpendingRepository, spendingQueries } from "../spending-repository.ts";

const day = "2026-11-26";

describeRepositories({ spendingQueries }, (fixture) => {
  test("what calls may cost is reserved and then settled, by tenant and day", async () => {
    const spending = new SpendingRepository(fixture.db);
    await fixture.write(() => spending.reserve(tenantId, { day, dollars: 0.2 }));
    await fixture.write(() => spending.reserve(tenantId, { day, dollars: 0.1, budget: 0.3 }));
    expect(await spending.read(tenantId, day)).toEqual({ dollars: 0.3, calls: 2 });
    await fixture.write(() => spending.settle(tenantId, day, -0.05));
    expect(await spending.read(tenantId, day)).toEqual({ dollars: 0.25, calls: 2 });
    expect(await spending.read(otherId, day)).toEqual({ dollars: 0, calls: 0 });
    expect(await spending.read(tenantId, "2026-11-27")).toEqual({ dollars: 0, calls: 0 });
  });

  test("a call that may exceed the budget is refused and changes nothing", async () => {
    const spending = new SpendingRepository(fixture.db);
    await fixture.write(() => spending.reserve(tenantId, { day, dollars: 0.2, budget: 0.3 }));
    await expect(
      fixture.write(() => spending.reserve(tenantId, { day, dollars: 0.11, budget: 0.3 })),
    ).rejects.toMatchObject({ status: 429, message: /\$0\.2 is spent or reserved/ });
    expect(await spending.read(tenantId, day)).toEqual({ dollars: 0.2, calls: 1 });
  });
});
