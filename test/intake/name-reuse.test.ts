/**
 * Goal: events belong to their repository, whoever has its name now.
 * Method: a repository is renamed, another one takes its name, and a late event of the first one,
 * at another node, names it by the old name. Each node knows only the events that it received.
 */
import { githubDeclarations } from '../../src/channels/github-channels.ts'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { ActPlanner } from '../../src/intake/acts.ts'
import { laneOf, readEvent, type WebhookEvent } from '../../src/intake/events/webhook-event.ts'
import { systemRandom } from '../../src/random.ts'
import { createRuns } from '../../src/runs/create-runs.ts'
import { systemScheduler } from '../../src/scheduler.ts'
import { runPolicy } from '../../src/settings/run-types/run-policy.ts'
import { withTypeDefaults } from '../../src/settings/run-types/type-defaults.ts'
import { openSqlite } from '../../src/stores/open-sqlite.ts'
import type { ClaimAnswer, Store } from '../../src/store.ts'
import { decided, newWebhook } from '../conformance/inbox/webhooks.ts'

const machine = { clock: systemClock, random: systemRandom, scheduler: systemScheduler }
const types = withTypeDefaults({
  runs: {
    review: { on: { pull_request: ['synchronize'] }, run: 'remote' },
    build: { on: { push: [] }, run: 'remote' },
  },
})
let store: Store

beforeEach(() => {
  store = openSqlite(
    { path: ':memory:', exclusive: false },
    { ...machine, channels: githubDeclarations },
  )
})

afterEach(() => store.close())

function node(): ActPlanner {
  const runs = createRuns({
    ...machine,
    store,
    log: pino({ level: 'silent' }),
    leaseMs: 60_000,
    policyOf: (type, kind) => runPolicy({ ...types, locale: 'en', githubAppId: null }, type, kind),
    headSource: null,
  })
  return new ActPlanner({
    types: types.runs,
    store,
    github: null,
    roles: null,
    account: { current: () => null, firstAsked: Promise.resolve() },
    toClaim: (request, actor) => runs.toClaim(request, actor),
  })
}

let second = 0

/** Returns the subject that a push to this repository was decided on. */
async function push(at: ActPlanner, name: string, id: number, head: string): Promise<string> {
  const event = readEvent(`guid-${++second}`, 'pull_request', {
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
  return (await claimBy(at, event))?.run?.subjectId ?? 'none'
}

async function claimBy(at: ActPlanner, event: WebhookEvent): Promise<ClaimAnswer | undefined> {
  const { webhookId, repo } = event
  const lane = laneOf(event)
  const { entry } = await store.inbox.receive(newWebhook({ webhookId, lane, repo }))
  const acts = await at.actsFor(event, await at.routesFor(event))
  return (await store.inbox.finish(decided(entry, ...acts))).claims[0]
}

/** A push of this commit to a branch of this repository. */
async function pushBranch(name: string, id: number, head: string): Promise<ClaimAnswer> {
  const event = readEvent(`guid-${++second}`, 'push', {
    ref: 'refs/heads/main',
    after: head.repeat(40),
    repository: { id, full_name: name, pushed_at: 1_700_000_000 + second },
    sender: { login: 'mona', type: 'User' },
  })
  return (await claimBy(node(), event))!
}

it('a name that was given away and then used by a late event moves no pull request', async () => {
  const [p, q] = [node(), node()]
  const first = await push(p, 'acme/a', 1, 'a')
  expect(await push(p, 'acme/b', 1, 'b')).toBe(first)
  const second = await push(p, 'acme/a', 2, 'c')
  expect(second).not.toBe(first)
  expect(await push(q, 'acme/a', 1, 'a')).toBe(first)
  expect(await push(p, 'acme/a', 2, 'd')).toBe(second)
})

it('a commit of a branch is worked on once, whatever name its repository has', async () => {
  const first = await pushBranch('acme/w', 1, 'a')
  expect(first).toMatchObject({
    reason: 'new',
    runKey: `acme/w:push:refs/heads/main:sha-${'a'.repeat(40)}`,
  })
  await pushBranch('corp/x', 1, 'b')
  const back = await pushBranch('corp/x', 1, 'a')
  expect(back.run?.id).toBe(first.run?.id)
  const other = await pushBranch('acme/w', 2, 'a')
  expect(other.reason).toBe('new')
  expect(other.run?.id).not.toBe(first.run?.id)
})
