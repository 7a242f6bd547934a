/**
 * Goal: a restored store does not treat as unsent what may have been sent since its backup, nor as
 * shown what may have been overwritten.
 */
import { beforeEach, expect, it } from 'vitest'
import { announced, sentEnd } from './manual-publisher.ts'
import { useOutbox } from './outbox-world.ts'
import { completion } from '../claims.ts'
import { TestSubject } from '../test-subject.ts'
import { hour, second, type OpenStore } from '../world.ts'

const page = { limit: 100, cursor: null }

export function restoring(open: OpenStore): void {
  const { world, publisher, make } = useOutbox(open)
  beforeEach(() => world.store.upkeep.recordMode('live'))

  const claim = async () => (await make().claim('a')).run!

  it('what was open is in doubt, so that it is looked for before it is sent', async () => {
    const run = await claim()
    await world.store.outbox.noteRestore()
    const found = Object.values(await publisher.of(run.id))
    expect(found.map(({ name, wait }) => `${name} ${wait ?? ''}`).toSorted()).toEqual([
      'anchor in_doubt',
      'check in_doubt',
      'status in_doubt',
    ])
    for (const { name, protocol, createdAt } of found) {
      const doubt = { action: 'create', since: createdAt, looks: 0 }
      const settles = name === 'status' ? { restored: { laterKeys: [] } } : { unsettled: true }
      expect(protocol).toMatchObject({ ...settles, doubt })
    }
    const { items } = await world.store.audit.list({ deliveryId: found[0]!.id }, page)
    expect(items[0]).toMatchObject({
      type: 'delivery.in_doubt',
      data: { reason: 'restored', text: 'the database was restored' },
    })
  })

  it('returns how many are looked for, and how many are read again until when', async () => {
    const { outbox } = world.store
    expect(await outbox.restoreNote()).toBeNull()
    await claim()
    const shown = await publisher.leaseNamed('status')
    await publisher.end(shown, await publisher.begun(shown), sentEnd())
    const note = await outbox.noteRestore()
    const lastReadAt = note.restoredAt + second
    expect(note).toMatchObject({ open: 2, shown: 1, lastReadAt, servedAt: null })
    world.clock.move(hour)
    await world.store.upkeep.recordMode('live')
    const served = await outbox.restoreNote()
    expect(served?.servedAt).toBeGreaterThanOrEqual(note.restoredAt + hour)
    world.clock.move(hour)
    await world.store.upkeep.recordMode('live')
    expect(await outbox.restoreNote()).toEqual(served)
  })

  it('a delivery that is being sent stays with its holder', async () => {
    const run = await claim()
    const leased = await publisher.leaseNamed('anchor')
    const attempt = await publisher.begun(leased)
    await world.store.outbox.noteRestore()
    const again = (await publisher.lease()).map(({ delivery }) => delivery.name)
    expect(again).not.toContain('anchor')
    expect(await publisher.end(leased, attempt, sentEnd())).toBe('recorded')
    const { status, wait, protocol } = await publisher.named(run.id, 'anchor')
    expect({ status, wait, doubt: protocol.doubt }).toEqual({
      status: 'SENT',
      wait: null,
      doubt: undefined,
    })
  })

  it('a delivery that is being sent is looked for after its holder is lost', async () => {
    await claim()
    const leased = await publisher.leaseNamed('anchor')
    await publisher.begun(leased)
    await world.store.outbox.noteRestore()
    world.clock.move(hour)
    expect((await publisher.leaseNamed('anchor')).delivery).toMatchObject({ wait: 'in_doubt' })
  })

  it('a delivery that is leased but not being sent is taken back and looked for', async () => {
    await claim()
    const leased = await publisher.leaseNamed('anchor')
    await world.store.outbox.noteRestore()
    expect(await publisher.begin(leased)).toEqual({ result: 'lost' })
    expect((await publisher.leaseNamed('anchor')).delivery).toMatchObject({ wait: 'in_doubt' })
  })

  it('what is open is in doubt also where the clock is behind that of the copy', async () => {
    const run = await claim()
    world.clock.move(-hour)
    await world.store.outbox.noteRestore()
    const waits = Object.values(await publisher.of(run.id)).map(({ wait }) => wait)
    expect(waits).toEqual(['in_doubt', 'in_doubt', 'in_doubt'])
  })

  it('what was shown recently is read again once, newest first, a second apart', async () => {
    const subject = new TestSubject(world, { announcement: announced })
    const first = await subject.claim('a')
    await publisher.publish()
    await world.store.runs.complete(completion(first), null)
    await publisher.publish()
    await world.store.outbox.noteRestore()
    const found = Object.values(await publisher.of(first.run!.id))
    expect(found.map(({ status }) => status)).toEqual(['SENT', 'SENT', 'SENT'])
    const newestFirst = found.toSorted((a, b) => (a.id < b.id ? 1 : -1))
    const reads = newestFirst.map(({ dueAt }) => (dueAt ?? 0) - world.store.now())
    expect(reads).toEqual([second, 2 * second, 3 * second])
    const check = found.find(({ name }) => name === 'check')
    expect(check?.protocol.restored?.laterKeys).toHaveLength(5)
  })

  it('only the last round looks for the check runs of later rounds', async () => {
    const subject = new TestSubject(world, { announcement: announced })
    const again = { rerun: true, headMaking: false } as const
    const first = await subject.claim('a')
    await world.store.runs.complete(completion(first), null)
    await publisher.publish()
    await world.store.runs.complete(completion(await subject.claim('a', again)), null)
    await publisher.publish()
    const looksForMore = async () => {
      const { items } = await world.store.outbox.list({ runId: first.run!.id }, page)
      const checks = items.filter(({ name }) => name === 'check')
      const inOrder = checks.toSorted((a, b) => a.round - b.round)
      return inOrder.map(({ protocol }) => (protocol.restored?.laterKeys.length ?? 0) > 0)
    }
    await world.store.outbox.noteRestore()
    await world.store.upkeep.beat()
    expect(await looksForMore()).toEqual([false, true])
    await subject.claim('a', again)
    expect(await looksForMore()).toEqual([false, false, true])
  })

  it('what was shown and continues is unsettled, and so is what was never shown', async () => {
    const run = await claim()
    await publisher.publish()
    const ended = await claim()
    await world.store.runs.cancel(ended.id, 'test', null)
    await publisher.publish()
    await world.store.outbox.noteRestore()
    const anchor = await publisher.named(run.id, 'anchor')
    expect(anchor).toMatchObject({ status: 'SENT', protocol: { unsettled: true } })
    expect(anchor.protocol.doubt).toBeUndefined()
    const unshown = await publisher.named(ended.id, 'anchor')
    const protocol = { unsettled: true, showsWork: true }
    expect(unshown).toMatchObject({ status: 'SKIPPED', protocol })
    expect(unshown.dueAt).toBe(unshown.protocol.settle?.at)
  })

  it('a status may have been set since the backup: if wanted again, it is in doubt', async () => {
    const subject = new TestSubject(world, { announcement: announced })
    const first = await subject.claim('a')
    await publisher.publish()
    await world.store.runs.complete(completion(first), null)
    await publisher.publish()
    await world.store.outbox.noteRestore()
    const again = await subject.claim('a', { rerun: true, headMaking: false })
    const status = await publisher.named(again.run!.id, 'status')
    expect(status).toMatchObject({ status: 'PENDING', protocol: { doubt: { action: 'edit' } } })
  })

  it('the end of a run claimed again after a restore is sent: GitHub may show it', async () => {
    await world.store.outbox.noteRestore()
    await world.store.upkeep.beat()
    const run = await claim()
    await world.store.runs.cancel(run.id, 'test', null)
    const found = Object.values(await publisher.of(run.id))
    expect(found.map(({ name, status }) => `${name} ${status}`).toSorted()).toEqual([
      'anchor PENDING',
      'check PENDING',
      'status PENDING',
    ])
    expect(found.find(({ name }) => name === 'status')).toMatchObject({ wait: 'in_doubt' })
  })

  it.each([
    ['whose event happened after it', hour, 2 * hour],
    ['when no event from before it can still arrive', 73 * hour, 0],
  ])('a run %s closes nothing that it has not shown', async (_name, laterMs, eventMs) => {
    const eventAt = world.store.now() + eventMs
    await world.store.outbox.noteRestore()
    await world.store.upkeep.beat()
    world.clock.move(Math.max(laterMs, eventMs))
    const subject = new TestSubject(world, { announcement: announced })
    const { run } = await subject.claim('a', { eventAt })
    await world.store.runs.cancel(run!.id, 'test', null)
    const found = Object.values(await publisher.of(run!.id))
    expect(found.map(({ reason }) => reason)).toEqual(Array(3).fill('never_announced'))
  })

  it('threads from before the restore may have outputs that the store does not know', async () => {
    const first = await world.store.outbox.knowsSince()
    world.clock.move(hour)
    await world.store.upkeep.recordMode('live')
    expect(await world.store.outbox.knowsSince()).toBe(first)
    await world.store.outbox.noteRestore()
    expect(await world.store.outbox.knowsSince()).toBe(world.store.now())
  })
}
