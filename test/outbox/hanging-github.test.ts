/**
 * Goal: a wait for GitHub delays no webhook.
 * Method: the real intake beside the real publisher, under a clock that the test moves, while the
 * simulated GitHub does not answer.
 */
import { pino } from 'pino'
import { afterEach, expect, it } from 'vitest'
import type { Role } from '../../src/domain/role.ts'
import { openIntake, type OpenedIntake } from '../../src/intake/open-intake.ts'
import { noMetrics } from '../../src/metrics.ts'
import { withTypeDefaults } from '../../src/settings/run-types/type-defaults.ts'
import { pullRequestPayload, shaOf } from '../intake/payloads.ts'
import { signed, webhookSecret } from '../intake/webhook.ts'
import type { World } from './world.ts'
import { hour, minute, openWorld, repo, second } from './world.ts'

let world: World | undefined
let opened: OpenedIntake | undefined
afterEach(async () => {
  if (world !== undefined && opened !== undefined) await world.act(opened.stop())
  await world?.close()
})

/** How long GitHub waits for the answer to a webhook. */
const budgetMs = 10 * second

/** `by`: the role that a sender needs. Holdfast must ask GitHub for it first. */
async function open(by?: Role): Promise<[World, OpenedIntake]> {
  const here = await openWorld()
  const { time, store, runs, connection } = here
  const intake = openIntake({
    ...{ store, runs, clock: time, scheduler: time, log: pino({ level: 'silent' }) },
    secrets: [webhookSecret],
    types: withTypeDefaults({ runs: { review: by === undefined ? {} : { by } } }).runs,
    github: connection,
    metrics: noMetrics,
  })
  world = here
  opened = intake
  return [here, intake]
}

/** Sends a webhook as GitHub does. Returns the answer and how long it took. */
async function deliver(here: World, { intake }: OpenedIntake, number: number, guid: string) {
  const repository = { id: here.github.repository(repo).id, full_name: repo }
  const pull = { repository, number, action: 'opened', head: `head ${number}`, at: number }
  const payload = pullRequestPayload(pull)
  const { body, headers } = signed({ event: 'pull_request', payload, guid })
  const before = here.time.monotonicMs()
  const delivery = { webhookId: guid, event: 'pull_request', headers, body: Buffer.from(body) }
  const { decision } = await here.act(intake.receive(delivery))
  return { decision, inTime: here.time.monotonicMs() - before < budgetMs }
}

const roles = 'GET /repos/{owner}/{repo}/collaborators/{username}/permission'
const comments = 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments'

it.each([
  ['only the first comment', comments, undefined],
  ['whatever it is asked', /./, undefined],
  ['only asked who may start a run', roles, 'write'],
] as const)(
  'W8: GitHub hangs for 30 s, %s: all are answered, and comments arrive',
  async (...world) => {
    const [, route, by] = world
    const [here, intake] = await open(by)
    const { github, time } = here
    github.setRole(repo, 'mona', 'write')
    for (const number of [7, 8]) {
      github.addPull(repo, { number, headSha: shaOf(`head ${number}`), baseSha: shaOf('main') })
    }
    const hanging = github.faults.add({
      on: { route, times: Infinity },
      fault: github.faults.hang(),
    })
    intake.start()
    here.startPublisher()
    // Waits until it knows its own account, if GitHub answers that.
    await time.pass(second)
    expect(await deliver(here, intake, 7, 'one')).toEqual({ decision: 'accepted', inTime: true })
    await time.passUntil(() => hanging.hits > 0, minute)
    expect(hanging.hits).toBeGreaterThan(0)
    // While GitHub hangs: another webhook, and the first one again.
    expect(await deliver(here, intake, 8, 'two')).toEqual({ decision: 'accepted', inTime: true })
    expect(await deliver(here, intake, 7, 'one')).toEqual({ decision: 'duplicate', inTime: true })
    await time.pass(30 * second)
    expect([7, 8].map((number) => github.comments(repo, number).length)).toEqual([0, 0])
    hanging.remove()
    await time.pass(hour)
    expect([7, 8].map((number) => github.comments(repo, number).length)).toEqual([1, 1])
  },
)
