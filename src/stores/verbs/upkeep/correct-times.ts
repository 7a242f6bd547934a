/**
 * Corrects times in the future that a clock which was ahead has stored. Works in small
 * transactions. If a process dies in between, it has not stored its sign of life, so the next one
 * starts over.
 *
 * Each transaction uses its own time. With the time of the first one, a process that was paused
 * would take newer rows of other processes for the future.
 */
import type { SetBack } from '../../../domain/clock-set-back.ts'
import {
  budgetAfterSetBack,
  deliveryAfterSetBack,
  runAfterSetBack,
} from '../../../domain/clock-set-back.ts'
import { priorities } from '../../../domain/outbox/queue.ts'
import type { Driver } from '../../driver.ts'
import type { Sql, Verb } from '../../sql.ts'
import { join, padded, sql } from '../../sql.ts'
import { lockBudget, writeBudget } from '../../tables/budget-table.ts'
import { selectDeliveries } from '../../tables/delivery-table.ts'
import { limitHeadCheckTimes } from '../../tables/head-check-table.ts'
import { limitNameTimes, limitLookTimes } from '../../tables/repository-table.ts'
import { selectRuns, writeRuns } from '../../tables/run-table.ts'
import type { VerbContext } from '../context.ts'
import { firstCheckMs } from '../runs/take-head-check.ts'
import { storeDeliveries } from '../outbox/store-deliveries.ts'

const batchMax = 200
/** A waiting webhook is processed after this time at the latest. */
const webhookMs = 60_000

/** `byMs`: by how much the clock went back, as far as we noticed. */
export async function correctTimes(
  driver: Driver,
  context: VerbContext,
  byMs: number,
): Promise<void> {
  const setBack = (): SetBack => ({ now: context.now(), byMs })
  await driver.transact(function* (): Verb<void> {
    const now = context.now()
    yield sql`UPDATE inbox SET due_at = ${now + webhookMs}
      WHERE due_at IS NOT NULL AND due_at > ${now + webhookMs}`
    yield* limitHeadCheckTimes(now + firstCheckMs)
    yield* limitLookTimes(now)
    yield* limitNameTimes(now)
  })
  const now = context.now()
  const budgets = sql`SELECT identity AS id FROM budget WHERE updated_at > ${now}`
  await inBatches(driver, budgets, function* (_padded, identities) {
    for (const identity of identities) {
      const budget = yield* lockBudget(identity, context.now())
      yield* writeBudget(budgetAfterSetBack(budget, setBack()))
    }
  })
  const runs = sql`SELECT id FROM run WHERE due_at IS NOT NULL AND due_at > ${now}`
  await inBatches(driver, runs, function* (ids) {
    const found = yield* selectRuns(sql`id IN (${ids})`)
    const back = setBack()
    const corrected = found.map((run) => runAfterSetBack(run, back))
    yield* writeRuns(corrected.filter((run, i) => run !== found[i]))
  })
  const deliveries = sql`SELECT id FROM delivery WHERE status = 'PENDING' UNION
    SELECT id FROM delivery WHERE due_at IS NOT NULL AND queue IS NULL
      AND priority IN (${join(Object.values(priorities))}) AND due_at > ${now}`
  await inBatches(driver, deliveries, function* (ids) {
    const found = yield* selectDeliveries(sql`id IN (${ids})`)
    const back = setBack()
    const corrected = found.map((delivery) =>
      deliveryAfterSetBack(delivery, back, context.publishing),
    )
    yield* storeDeliveries(
      context,
      corrected.filter((delivery, i) => delivery !== found[i]),
    )
  })
}

async function inBatches(
  driver: Driver,
  which: Sql,
  correct: (ids: Sql, batch: readonly string[]) => Verb<void>,
): Promise<void> {
  const ids = await driver.read(function* (): Verb<string[]> {
    return (yield which).map((row) => row['id'] as string)
  })
  for (let from = 0; from < ids.length; from += batchMax) {
    const batch = ids.slice(from, from + batchMax)
    await driver.transact(() => correct(join(padded(batch)), batch))
  }
}
