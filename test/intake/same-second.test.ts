/**
 * Goal: an event can happen to a pull request twice within one second of GitHub's time. The last
 * state on GitHub counts, also if GitHub cannot be asked.
 */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openWebhookServer, type WebhookServer } from './webhook-server.ts'
import { LossyWorld } from './lossy-world.ts'
import { newThread, shaOf } from './payloads.ts'

let server: WebhookServer
beforeEach(async () => void (server = await openWebhookServer()))
afterEach(() => server.close())

const thread = newThread()

async function stateOf(head: string): Promise<string | undefined> {
  const of = { repo: thread.repo, pr: thread.number, headSha: shaOf(head) }
  const { items } = await server.store.runs.list(of, { limit: 10, cursor: null })
  return items[0]?.state
}

it('closed, reopened, closed within one second: its run is cancelled', async () => {
  await server.send(thread.on('opened', 'a', 1))
  await server.send(thread.on('closed', 'a', 20, { state: 'closed' }))
  await server.send(thread.on('reopened', 'a', 20))
  const last = await server.send(thread.on('closed', 'a', 20, { state: 'closed' }))
  expect(last.body.decision).toBe('accepted')
  await server.processed()
  expect(await stateOf('a')).toBe('cancelled')
})

it('pushed, pushed back, pushed again within one second: the last head has the run', async () => {
  const push = (before: string, head: string) =>
    thread.on('synchronize', head, 20, { more: { before: shaOf(before), after: shaOf(head) } })
  await server.send(thread.on('opened', 'a', 1))
  for (const [before, head] of [
    ['a', 'b'],
    ['b', 'a'],
    ['a', 'b'],
  ] as const) {
    expect((await server.send(push(before, head))).body.decision).toBe('accepted')
  }
  await server.processed()
  expect([await stateOf('a'), await stateOf('b')]).toEqual(['superseded', 'pending'])
})

it('sent again late under new GUIDs: GitHub is asked, and nothing starts', async () => {
  const world = new LossyWorld({ database: 'SQLite', asUser: true })
  await world.start()
  try {
    const { github, name, hook } = world
    const runs = async () => {
      await world.runs()
      const { items } = await world.server.app.store.runs.list({}, { limit: 10, cursor: null })
      return items.map(({ headSha, state, round }) => [Number(headSha), state, round])
    }
    world.openPull(1)
    await runs()
    const events: { readonly event: string; readonly payload: object }[] = []
    const ignore = github.observe((happening) => void events.push(happening))
    world.then(() => {
      for (const head of ['101', '100']) github.push(name, 1, head.padStart(40, '0'))
    })
    ignore()
    const before = await runs()
    expect(before).toEqual([
      [101, 'superseded', 1],
      [100, 'pending', 2],
    ])
    for (const { event, payload } of events) hook.send(event, payload)
    expect(await runs()).toEqual(before)
  } finally {
    await world.stop()
  }
})
