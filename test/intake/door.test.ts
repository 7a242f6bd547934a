/**
 * Goal: at the door of a whole server: what a user's rule does to a payload changes no event's
 * identity, and what a repeat is told does not depend on how far its first has got.
 */
import { randomUUID } from 'node:crypto'
import { afterEach, expect, it } from 'vitest'
import { openDoor, type Door } from './door.ts'
import { newThread } from './payloads.ts'

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
  const { items } = await door.store.listRuns({}, { limit: 10, cursor: null })
  expect(items).toHaveLength(1)
})

it('every repeat is told the runs of the first, also while they are being made', async () => {
  door = await openDoor()
  const thread = newThread()
  const webhook = { ...thread.on('opened', 'a', 1), guid: randomUUID() }
  const answers = await Promise.all(Array.from({ length: 30 }, () => door.send(webhook)))
  const repeats = answers.filter(({ body }) => body.decision === 'duplicate')
  expect(repeats).toHaveLength(29)
  const { items } = await door.store.listRuns({}, { limit: 10, cursor: null })
  expect(items).toHaveLength(1)
  for (const { body } of repeats) expect(body.run_ids).toEqual([items[0]?.id])
})
