/**
 * Goal: events stay with their repository, whoever has its name by now.
 * Method: a repository is renamed, its name is taken by another, and a late event of the first one
 * brings the name back, at another node; each node knows only what it heard of itself.
 */
import { pino } from 'pino'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { ActMaker } from '../../src/intake/acts.ts'
import { readEvent } from '../../src/intake/webhook-event.ts'
import { systemRandom } from '../../src/random.ts'
import { createRuns } from '../../src/runs/create-runs.ts'
import { systemScheduler } from '../../src/scheduler.ts'
import { runPolicy } from '../../src/settings/run-policy.ts'
import { withTypeDefaults } from '../../src/settings/type-defaults.ts'
import { openSqlite } from '../../src/stores/open-sqlite.ts'
import type { Store } from '../../src/store.ts'
import { decided, newWebhook } from '../conformance/webhooks.ts'

const seams = { clock: systemClock, random: systemRandom, scheduler: systemScheduler }
const types = withTypeDefaults({})
let store: Store

beforeEach(() => {
  store = openSqlite({ path: ':memory:', exclusive: false }, seams)
})

afterEach(() => store.close())

function node(): ActMaker {
  const runs = createRuns({
    ...seams,
    store,
    log: pino({ level: 'silent' }),
    leaseMs: 60_000,
    policyOf: (type, kind) => runPolicy({ ...types, locale: 'en', githubAppId: null }, type, kind),
    headSource: null,
  })
  return new ActMaker({
    types: types.runs,
    store,
    github: null,
    roles: null,
    account: { current: () => null, looked: Promise.resolve() },
    toClaim: (request, actor) => runs.toClaim(request, actor),
  })
}

let second = 0

/** Answers the subject that a push of this repository was decided on. */
async function push(at: ActMaker, name: string, id: number, head: string): Promise<string> {
  const webhookId = `guid-${++second}`
  const event = readEvent(webhookId, 'pull_request', {
    action: 'synchronize',
    repository: { id, full_name: name },
    sender: { login: 'mona', type: 'User' },
    pull_request: {
      number: 5,
      state: 'open',
      updated_at: `2026-01-31T12:00:0${second}Z`,
      head: { sha: head.repeat(40) },
      base: { sha: '0'.repeat(40) },
    },
  })
  const { entry } = await store.receiveWebhook(
    newWebhook({ webhookId, lane: `${id}#5`, repo: name }),
  )
  const acts = await at.actsFor(event, await at.routesFor(event))
  const { claims } = await store.settleWebhook(decided(entry, ...acts))
  return claims[0]?.run?.subjectId ?? 'none'
}

it('a name that was given away and brought back moves no pull request', async () => {
  const [p, q] = [node(), node()]
  const first = await push(p, 'acme/a', 1, 'a')
  expect(await push(p, 'acme/b', 1, 'b')).toBe(first)
  const second = await push(p, 'acme/a', 2, 'c')
  expect(second).not.toBe(first)
  expect(await push(q, 'acme/a', 1, 'a')).toBe(first)
  expect(await push(p, 'acme/a', 2, 'd')).toBe(second)
})
