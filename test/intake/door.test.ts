/**
 * Goal: at the door of a whole server: what a user's rule does to a payload changes no event's
 * identity, what a repeat is told does not depend on how far its first has got, and an event in
 * both `on` and `rerunOn` starts what was never run and runs again what is finished.
 */
import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, it } from 'vitest'
import { completion, leaseRequest } from '../conformance/claims.ts'
import { openDoor, type Door } from './door.ts'
import { atSecond, newThread } from './payloads.ts'
import type { Webhook } from './webhook.ts'

let door: Door
afterEach(() => door.close())

it('a rule that changes the payload makes no second event of it', async () => {
  let calls = 0
  const when = ({ payload }: { payload: { changes?: unknown; label?: unknown } }): boolean => {
    calls += 1
    payload.changes = { calls }
    payload.label = { name: `label ${calls}` }
    return true
  }
  door = await openDoor({ runs: { odd: { on: { pull_request: ['opened'] }, when } } })
  const thread = newThread()
  const answers = []
  for (let n = 0; n < 3; n++) answers.push(await door.send(thread.on('opened', 'a', 1)))
  expect(answers.map(({ body }) => body.decision)).toEqual(['accepted', 'duplicate', 'duplicate'])
  await door.processed()
  const { items } = await door.store.runs.list({}, { limit: 10, cursor: null })
  expect(items).toHaveLength(1)
})

it('a rule that throws is logged as a warning at once, with its type and error', async () => {
  const when = (): boolean => {
    throw new Error('no such field')
  }
  door = await openDoor({ runs: { odd: { on: { pull_request: ['opened'] }, when } } })
  const { body } = await door.send(newThread().on('opened', 'a', 1))
  await door.processed()
  const lines = door.complaints.map((line) => JSON.parse(line) as object)
  expect(lines).toEqual([
    expect.objectContaining({
      inbox_id: body.inbox_id,
      failed: [{ type: 'odd', reason: 'when-failed', detail: 'no such field' }],
      msg:
        'A webhook failed: a when rule threw an error. After you fixed the cause: ' +
        `holdfast inbox replay ${body.inbox_id}`,
    }),
  ])
})

it('every repeat is told the runs of the first, also while they are being made', async () => {
  door = await openDoor()
  const thread = newThread()
  const webhook = { ...thread.on('opened', 'a', 1), guid: randomUUID() }
  const answers = await Promise.all(Array.from({ length: 30 }, () => door.send(webhook)))
  const repeats = answers.filter(({ body }) => body.decision === 'duplicate')
  expect(repeats).toHaveLength(29)
  const { items } = await door.store.runs.list({}, { limit: 10, cursor: null })
  expect(items).toHaveLength(1)
  for (const { body } of repeats) expect(body.run_ids).toEqual([items[0]?.id])
})

describe('an event in both `on` and `rerunOn`', () => {
  const pull_request = ['opened', 'labeled', 'synchronize']
  const both = { on: { pull_request }, rerunOn: { pull_request: ['labeled', 'synchronize'] } }
  const decided = async (webhook: Webhook) => {
    await door.send(webhook)
    const [newest] = await door.processed()
    return newest?.outcomes
  }
  const finish = async (): Promise<void> => {
    const leased = await door.store.runs.lease(leaseRequest({ types: ['both'] }), null)
    if (leased === null) throw new Error('no run is pending')
    await door.store.runs.complete(completion(leased, 'succeeded'), null)
  }

  it('starts a run for a head that has none, and runs a finished one again', async () => {
    door = await openDoor({ runs: { both } })
    const { on } = newThread()
    expect(await decided(on('labeled', 'a', 1))).toMatchObject([{ reason: 'new' }])
    await finish()
    const again = on('labeled', 'a', 2, { more: { label: { name: 'other' } } })
    expect(await decided(again)).toMatchObject([{ reason: 'rerun' }])
  })

  it('still gives its head an order: a late push to an older head starts nothing', async () => {
    door = await openDoor({ runs: { both } })
    const { on, repo, repository, number } = newThread()
    expect(await decided(on('synchronize', 'b', 2))).toMatchObject([{ reason: 'new' }])
    const [subject] = await door.store.runs.subjectsOf(repo, number, repository.id)
    expect(subject?.headAt).toBe(Date.parse(atSecond(2)))
    expect(await decided(on('synchronize', 'a', 1))).toMatchObject([{ result: 'ignored' }])
  })
})
