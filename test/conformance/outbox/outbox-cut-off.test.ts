/**
 * Goal: a verb that is cut off at any of its statements has done nothing: the run's change, the
 * outputs for it, the attempt, the budget and the audit rows are stored together or not at all.
 * Method: each verb is cut off at its first statement, then at its second, and so on until it
 * succeeds; until then what the store shows must not change, and afterwards the audit must have its
 * rows.
 */
import { allRights } from '../../../src/channels/github-channels.ts'
import { describe, expect, it } from 'vitest'
import type { ClaimAnswer } from '../../../src/store.ts'
import { eitherDatabase, useCutOffStore } from '../cut-off-store.ts'
import { completion, holderOf } from '../claims.ts'
import { announced, ManualPublisher, sentEnd } from './manual-publisher.ts'
import { TestSubject } from '../test-subject.ts'
import { hour } from '../world.ts'

describe.each(eitherDatabase)('publishing cut off anywhere on %s', (_name, open) => {
  const { world, isCutOffAfter } = useCutOffStore(open)
  const publisher = new ManualPublisher(world)

  const page = { limit: 1000, cursor: null }
  const subject = () => new TestSubject(world, { announcement: announced })

  async function snapshot(): Promise<{ readonly all: string; readonly audits: number }> {
    const { items: deliveries } = await world.store.outbox.list({}, page)
    const attempts = await Promise.all(
      deliveries.map(({ id }) => world.store.outbox.attemptsOf(id)),
    )
    const runs = await world.store.runs.list({}, page)
    const audit = await world.store.audit.list({}, page)
    const budgets = await world.store.outbox.budgets()
    const all = JSON.stringify([deliveries, attempts, runs.items, audit.items, budgets])
    return { all, audits: audit.items.length }
  }

  /** `auditRows`: how many audit rows the verb leaves when it is not cut off. */
  async function cutEverywhere(auditRows: number, verb: () => Promise<unknown>): Promise<void> {
    const before = await snapshot()
    for (let at = 0; ; at++) {
      const isCutOff = await isCutOffAfter(at, verb)
      const after = await snapshot()
      if (!isCutOff) {
        expect(at).toBeGreaterThan(1)
        expect(after.all).not.toBe(before.all)
        expect(after.audits - before.audits).toBe(auditRows)
        return
      }
      expect(after.all).toBe(before.all)
    }
  }

  async function running(): Promise<{ readonly of: TestSubject; readonly held: ClaimAnswer }> {
    const of = subject()
    const held = await of.claim('a')
    await publisher.publish()
    return { of, held }
  }

  it('a claim', async () => {
    const of = subject()
    await cutEverywhere(1, () => of.claim('a'))
    expect((await world.store.outbox.list({}, page)).items).toHaveLength(3)
  })

  it('a claim that takes over the comment of the run before it', async () => {
    const { of } = await running()
    await cutEverywhere(3, () => of.claim('b'))
    expect((await world.store.outbox.list({ status: 'PENDING' }, page)).items).toHaveLength(5)
  })

  it('a report', async () => {
    const { held } = await running()
    const { runId, leaseHash } = holderOf(held)
    const report = { runId, leaseHash, text: 'reading', actor: 'test' }
    await cutEverywhere(1, () => world.store.runs.reportStatus(report, null))
  })

  it('the end of a run', async () => {
    const { held } = await running()
    await cutEverywhere(1, () => world.store.runs.complete(completion(held), null))
    expect((await world.store.outbox.list({ status: 'PENDING' }, page)).items).toHaveLength(3)
  })

  it('the end of a run by the sweeper', async () => {
    const { held } = await running()
    world.clock.move(12 * hour)
    await cutEverywhere(1, () => world.store.runs.sweep(held.run!.id))
  })

  it('an output that the run publishes itself', async () => {
    const { held } = await running()
    const { runId, leaseHash } = holderOf(held)
    const content = { form: 'text', body: 'Found three.' }
    const rightsOf = () => allRights
    const request = { runId, leaseHash, actor: 'test', name: 'own', content, rightsOf }
    // The delivery is the record. Its audit row comes when it is sent.
    await cutEverywhere(0, () =>
      world.store.outbox.publish({ ...request, channel: 'github-comment' }, null),
    )
  })

  it('an attempt, from its lease to its outcome', async () => {
    await subject().claim('a')
    await cutEverywhere(0, () => publisher.lease())
    world.clock.move(hour)
    const [leased] = await publisher.lease()
    // The attempt, and the write that it takes from the budget.
    await cutEverywhere(0, () => publisher.begin(leased!))
    const [attempt] = await world.store.outbox.attemptsOf(leased!.delivery.id)
    const auditRows = leased!.delivery.name === 'anchor' ? 2 : 1
    await cutEverywhere(auditRows, () => publisher.end(leased!, attempt!, sentEnd()))
  })

  it('the lease of a delivery whose holder was lost', async () => {
    await subject().claim('a')
    for (const leased of await publisher.lease()) await publisher.begun(leased)
    world.clock.move(hour)
    await cutEverywhere(3, () => publisher.lease())
  })

  it('a limit: the block and the delivery that hit it', async () => {
    await subject().claim('a')
    const leased = await publisher.leaseNamed('status')
    const attempt = await publisher.begun(leased)
    const trouble = { code: 'rate_limited', text: 'slow down' }
    const end = { what: 'rate_limited', until: world.store.now() + hour, trouble } as const
    await cutEverywhere(1, () => publisher.end(leased, attempt, end))
  })

  it('a decision of an operator', async () => {
    const { held } = await running()
    await world.store.runs.complete(completion(held), null)
    const { id } = await publisher.named(held.run!.id, 'status')
    await cutEverywhere(1, () => world.store.outbox.skip(id, 'not here', 'ann', null))
    await cutEverywhere(1, () => world.store.outbox.retry(id, 'ann', null))
    await cutEverywhere(1, () => world.store.outbox.confirm(id, '9', 'ann', null))
  })
})
