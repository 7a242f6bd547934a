/**
 * Goal: two servers on one PostgreSQL act as one intake. A webhook that reaches both at the same
 * time creates one run, and neither refuses it; one server processes what a killed one had
 * received.
 * Method: real servers; every webhook goes to both at once, or all go to the server that is killed.
 */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { onPostgres, type ServerData } from '../scenarios/server-data.ts'
import { Server } from '../scenarios/server.ts'
import { until } from '../scenarios/until.ts'
import { checkIntake, countInherited, lookFromOutside, type Seen } from './check-intake.ts'
import { postWebhook } from './post-webhook.ts'
import { seed, seeded } from '../seed.ts'
import { WebhookPlan, webhookSecret, type PlannedDelivery } from './webhook-plan.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const senders = 8
const eventsMin = 200

let serverData: ServerData
let servers: readonly Server[] = []
beforeEach(async () => {
  serverData = await onPostgres()
  const env = { GITHUB_WEBHOOK_SECRET: webhookSecret }
  servers = await Promise.all([Server.start(serverData, env), Server.start(serverData, env)])
})
afterEach(async () => {
  await Promise.all(servers.map((server) => server.kill()))
  await serverData.remove()
})

/** Several senders at once, until enough has happened and everything was sent. */
async function sendAll(
  plan: WebhookPlan,
  send: (delivery: PlannedDelivery) => Promise<void>,
): Promise<void> {
  const sendOn = async (): Promise<void> => {
    for (let delivery = plan.next(); delivery !== undefined; delivery = plan.next()) {
      if (plan.events.length >= eventsMin) plan.finish()
      await send(delivery)
    }
  }
  await Promise.all(Array.from({ length: senders }, sendOn))
}

async function seenWhenProcessed(server: Server): Promise<Seen> {
  await until(
    () => server.admin.get('/v1/inbox?state=waiting'),
    ({ body }) => body.items.length === 0,
  )
  return await lookFromOutside(server.admin)
}

it('a webhook sent to both servers at once creates one run, and neither refuses it', async () => {
  const plan = new WebhookPlan(seeded(seed))
  const sent: { readonly guid: string; readonly status: number | null }[] = []
  await sendAll(plan, async (delivery) => {
    const { guid } = delivery
    const post = async ({ url }: Server) =>
      sent.push({ guid, status: await postWebhook(url, delivery) })
    await Promise.all(servers.map(post))
  })
  const seen = await seenWhenProcessed(servers[0]!)
  const answered = new Set(sent.map(({ guid }) => guid))
  expect(checkIntake(plan.events, answered, seen), `seed ${seed}`).toEqual([])
  for (const { guids } of plan.events) {
    const of = sent.filter(({ guid }) => guids.includes(guid))
    // A second GUID is a new event only if another event of the pull request came in between.
    const taken = seen.inbox.filter(
      ({ webhook_id, duplicate_of }) => guids.includes(webhook_id) && duplicate_of === null,
    )
    const statuses = of.map(({ status }) => status).toSorted((a, b) => Number(b) - Number(a))
    const expected = of.map((_, index) => (index < taken.length ? 202 : 200))
    expect(statuses, `${guids.join()}, seed ${seed}`).toEqual(expected)
    const repeats = seen.audits.filter(
      ({ type, data }) => type === 'webhook.duplicate' && guids.includes(data.webhook_id ?? ''),
    )
    expect(repeats, `${guids.join()}, seed ${seed}`).toHaveLength(of.length - taken.length)
  }
})

it('one server processes the webhooks that a killed server had received', async () => {
  const plan = new WebhookPlan(seeded(seed))
  const [doomed, survivor] = servers as [Server, Server]
  const answered = new Set<string>()
  let killedAt = Infinity
  await sendAll(plan, async (delivery) => {
    const status = killedAt < Infinity ? null : await postWebhook(doomed.url, delivery)
    if (status === null) expect(await postWebhook(survivor.url, delivery)).toBeOneOf([200, 202])
    answered.add(delivery.guid)
    if (answered.size < eventsMin / 2 || killedAt < Infinity) return
    killedAt = Date.now()
    await doomed.kill()
  })
  const seen = await seenWhenProcessed(survivor)
  expect(checkIntake(plan.events, answered, seen), `seed ${seed}`).toEqual([])
  expect(countInherited(seen, [killedAt]), `seed ${seed}`).toBeGreaterThan(0)
})
