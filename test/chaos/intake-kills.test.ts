/**
 * Goal: rule 4. A webhook that was answered is processed, whatever crashes, and no webhook creates
 * a second run: a server that is killed fifty times between answer and processing loses nothing and
 * does nothing twice.
 * Method: several senders keep a real server busy with signed webhooks of 20 KB; the server is
 * killed at random moments and the next one is started at once. A webhook whose answer was lost is
 * sent again with the same GUID, as an operator would do; a webhook that was answered is never sent
 * again. Then the test reads the tables.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it, vi } from 'vitest'
import { freshDatabase } from '../postgres/fresh-database.ts'
import { seed, seeded } from '../seed.ts'
import { Client } from '../scenarios/client.ts'
import { adminToken } from '../scenarios/server.ts'
import { until } from '../scenarios/until.ts'
import { checkIntake, countInherited, lookFromOutside } from './check-intake.ts'
import { KilledServer } from './killed-server.ts'
import { postWebhook } from './post-webhook.ts'
import { WebhookPlan, webhookSecret, type PlannedDelivery } from './webhook-plan.ts'

// Eighty processes take long to start on a busy machine.
vi.setConfig({ testTimeout: 240_000 })

const senders = 6
const answersMax = 12
const moreMsMax = 20

interface Survived {
  readonly violations: readonly string[]
  /** Answers that no sender got. */
  readonly lost: number
  /** Entries that one server took and a later one processed. */
  readonly inherited: number
}

async function survive(databaseUrl: string, kills: number): Promise<Survived> {
  const below = seeded(seed)
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-kills-'))
  const server = new KilledServer({
    ...{ databaseUrl, folder, adminToken, webhookSecret },
    cache: join(folder, 'compiled'),
  })
  const plan = new WebhookPlan(seeded(seed + 1))
  const answered = new Set<string>()
  const refused: string[] = []
  let lost = 0
  let onAnswer = (): void => undefined
  /**
   * Kills the server at a random moment under load: after some of its answers, and a little later.
   */
  const untilItDies = async (): Promise<void> => {
    let left = below(answersMax)
    await server.url()
    await new Promise<void>((resolve) => {
      onAnswer = () => {
        if (left-- === 0) resolve()
      }
      onAnswer()
    })
    await pause(below(moreMsMax))
  }
  const send = async (delivery: PlannedDelivery): Promise<void> => {
    for (;;) {
      const status = await postWebhook(await server.url(), delivery)
      if (status === null) lost++
      else {
        if (status !== 200 && status !== 202) refused.push(`${delivery.guid}: ${status}`)
        answered.add(delivery.guid)
        onAnswer()
        return
      }
    }
  }
  const sendOn = async (): Promise<void> => {
    for (let delivery = plan.next(); delivery !== undefined; delivery = plan.next()) {
      await send(delivery)
    }
  }
  const sending = Promise.all(Array.from({ length: senders }, sendOn))
  sending.catch(() => undefined)
  const killedAt: number[] = []
  try {
    for (let kill = 0; kill < kills; kill++) {
      await untilItDies()
      killedAt.push(Date.now())
      await server.kill()
    }
    plan.finish()
    await sending
    const client = new Client(await server.url(), adminToken)
    await until(
      () => client.get('/v1/inbox?state=waiting'),
      ({ body }) => body.items.length === 0,
    )
    const seen = await lookFromOutside(client)
    const violations = [...refused, ...checkIntake(plan.events, answered, seen)]
    return { violations, lost, inherited: countInherited(seen, killedAt) }
  } finally {
    plan.finish()
    await server.end()
    rmSync(folder, { recursive: true })
  }
}

it('fifty kills on SQLite lose no webhook and create no second run', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-kills-file-'))
  const { violations, lost, inherited } = await survive(`sqlite:${join(folder, 'holdfast.db')}`, 50)
  rmSync(folder, { recursive: true })
  expect(violations, `seed ${seed}`).toEqual([])
  // Otherwise the kills hit an idle server, and the test shows nothing.
  expect(lost, `seed ${seed}`).toBeGreaterThan(25)
  expect(inherited, `seed ${seed}`).toBeGreaterThan(0)
})

it('twenty-five kills on PostgreSQL lose no webhook and create no second run', async () => {
  const database = await freshDatabase()
  const { violations, lost, inherited } = await survive(database.url, 25)
  await database.drop()
  expect(violations, `seed ${seed}`).toEqual([])
  expect(lost, `seed ${seed}`).toBeGreaterThan(12)
  expect(inherited, `seed ${seed}`).toBeGreaterThan(0)
})
