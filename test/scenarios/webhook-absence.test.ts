/**
 * Goal: a webhook that was answered 2xx becomes one run, whatever happens to the server, and a
 * refused one is accepted when it is sent again.
 * Method: real servers that are stopped, killed, or lose their database while webhooks arrive.
 */
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startRelay, type Relay } from '../chaos/relay.ts'
import { newThread } from '../intake/payloads.ts'
import type { Webhook } from '../intake/webhook.ts'
import { Hooks, hookEnv, type HookAnswer } from './hooks.ts'
import { databases, onPostgres, type ServerData } from './server-data.ts'
import { Server } from './server.ts'
import { until } from './until.ts'

describe.each(databases)('webhooks to a server that stops, on $name', ({ makeData }) => {
  let serverData: ServerData
  let server: Server
  let hooks: Hooks
  const start = async (): Promise<void> => {
    server = await Server.start(serverData, hookEnv)
    hooks = new Hooks(server)
  }
  beforeEach(async () => {
    serverData = await makeData()
    await start()
  }, 60_000)
  afterEach(async () => {
    await server.kill()
    await serverData.remove()
  })

  const deliveries = (count: number) =>
    Array.from({ length: count }, () => {
      const thread = newThread()
      return { thread, webhook: { ...thread.on('opened', 'a', 1), guid: randomUUID() } }
    })
  type Delivery = ReturnType<typeof deliveries>[number]
  /** The status; null if there was no answer. */
  const trySend = (webhook: Webhook): Promise<HookAnswer | null> =>
    hooks.send(webhook).catch(() => null)

  async function expectOneRunEach(sent: readonly Delivery[]): Promise<void> {
    const found = sent.map(async ({ thread, webhook }) => ({
      entry: await hooks.decided(webhook.guid),
      runs: await hooks.runs(thread.repo),
    }))
    for (const { entry, runs } of await Promise.all(found)) {
      expect(entry).toMatchObject({ decision: 'accepted', outcomes: [{ reason: 'new' }] })
      expect(runs).toMatchObject([{ state: 'pending', round: 1 }])
    }
  }

  it('asked to stop, even twice, it loses no webhook (scenario 60)', async () => {
    const all = deliveries(80)
    const first = Promise.withResolvers<void>()
    const sending = all.map(async ({ webhook }) => {
      const answer = await trySend(webhook)
      first.resolve()
      return answer
    })
    await first.promise
    server.command.child.kill('SIGTERM')
    server.command.child.kill('SIGTERM')
    const answers = await Promise.all(sending)
    expect((await server.command.ended).code).toBe(0)
    const taken = all.filter((_, n) => answers[n] !== null)
    expect(taken.length).toBeGreaterThan(0)
    for (const answer of answers) if (answer !== null) expect(answer.status).toBe(202)
    await start()
    await expectOneRunEach(taken)
    for (const [n, { webhook }] of all.entries()) {
      const again = await hooks.send(webhook)
      if (answers[n] !== null) expect(again.body.decision).toBe('duplicate')
    }
    await expectOneRunEach(all)
  }, 60_000)

  it('killed right after its answers, it creates one run of each (scenario 9)', async () => {
    const all = deliveries(40)
    const answers = await Promise.all(all.map(({ webhook }) => trySend(webhook)))
    await server.kill()
    expect(answers.every((answer) => answer?.status === 202)).toBe(true)
    await start()
    await expectOneRunEach(all)
  }, 60_000)

  it('a webhook from before a restart is known for its retention (scenario 5)', async () => {
    const [stored, old] = deliveries(2) as [Delivery, Delivery]
    const [first] = [await hooks.settle(stored.webhook), await hooks.settle(old.webhook)]
    expect(await server.stop()).toBe(0)
    const past = 8 * 24 * 60 * 60 * 1000
    await serverData.tamper(
      `UPDATE inbox SET received_at = received_at - ${past}
        WHERE webhook_id = '${old.webhook.guid}'`,
    )
    await start()
    expect(await hooks.send(stored.webhook)).toMatchObject({
      status: 200,
      body: { decision: 'duplicate', inbox_id: first.id, run_ids: first.run_ids },
    })
    const gone = await until(
      () => hooks.inbox(`webhook_id=${old.webhook.guid}`),
      (entries) => entries.length === 0,
    )
    expect(gone).toEqual([])
    expect((await hooks.send(old.webhook)).status).toBe(202)
    await hooks.decided(old.webhook.guid)
    expect(await hooks.runs(old.thread.repo)).toHaveLength(1)
  }, 60_000)
})

describe('a server whose database goes away', () => {
  let serverData: ServerData
  let server: Server
  let relay: Relay
  beforeEach(async () => {
    serverData = await onPostgres()
    relay = await startRelay()
    const url = serverData.env['HOLDFAST_DATABASE_URL'] ?? ''
    relay.aim(url)
    server = await Server.start(serverData, { ...hookEnv, HOLDFAST_DATABASE_URL: relay.url(url) })
  }, 60_000)
  afterEach(async () => {
    await server.kill()
    await relay.close()
    await serverData.remove()
  })

  it('answers 503 and stores nothing, then accepts the redelivery (scenario 8)', async () => {
    const hooks = new Hooks(server)
    const [before, during] = [newThread(), newThread()]
    await hooks.settle(before.on('opened', 'a', 1))
    relay.aim('postgres://127.0.0.1:1')
    relay.cut()
    const webhook = { ...during.on('opened', 'a', 1), guid: randomUUID() }
    const refused = await hooks.send(webhook)
    expect(refused.status).toBe(503)
    expect(refused.body.code).toMatch(/^store_/)
    relay.aim(serverData.env['HOLDFAST_DATABASE_URL'] ?? '')
    const taken = await until(
      () => hooks.send(webhook),
      ({ status }) => status !== 503,
    )
    expect(taken).toMatchObject({ status: 202, body: { decision: 'accepted' } })
    await hooks.decided(webhook.guid)
    expect(await hooks.runs(during.repo)).toMatchObject([{ state: 'pending' }])
    const again = await hooks.settle(before.on('synchronize', 'b', 2))
    expect(again.outcomes).toMatchObject([{ reason: 'superseded-prior' }])
  }, 60_000)
})
