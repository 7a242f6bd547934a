/**
 * Goal: rules 5 to 8 when a server is killed by SIGKILL at any step of publishing. What was
 * published is not published again, and the next server publishes what was not.
 * Method: one real server after the other on one store. Each is killed while a comment is created,
 * a comment is edited, and a first and a last status are set, each on its own pull request and each
 * at the tested step: the server kills itself where the step is in Holdfast, and the test kills it
 * where GitHub holds the requests. The last server ends all runs, and the test reads the simulated
 * GitHub.
 */
import { expect, it, vi } from 'vitest'
import type { FaultHandle } from '../../src/simulator/index.ts'
import { databases } from '../scenarios/server-data.ts'
import { until } from '../scenarios/until.ts'
import { checkPublished } from './check-published.ts'
import { signalAt, publications, type PublishStep, type Publication } from './publish-signal.ts'
import { PublishWorld, shortWaits, type PullStory } from './publish-world.ts'

vi.setConfig({ testTimeout: 240_000 })

const ownSteps = ['leased', 'begun', 'answered', 'ended'] as const satisfies readonly PublishStep[]

/** One server can reach only one of these, because nothing waits inside a transaction. */
const uncommittedSteps = [
  'lease-uncommitted',
  'begin-uncommitted',
  'end-uncommitted',
] as const satisfies readonly PublishStep[]

/** Steps on GitHub's side: it has the request, and the server dies before there is an answer. */
const githubSteps = ['held, then done', 'lost by GitHub', 'done, not answered'] as const
type GitHubStep = (typeof githubSteps)[number]

interface Case {
  readonly on: Publication
  readonly step: PublishStep | GitHubStep
  readonly story: PullStory
}

/** Everything that is under way when one server dies. */
type ServerCases = readonly Case[]

function planServers(world: PublishWorld): ServerCases[] {
  let pulls = 0
  const caseOf = (on: Publication, step: Case['step']): Case => {
    pulls += 1
    return { on, step, story: world.pull(pulls) }
  }
  return [
    ...uncommittedSteps.flatMap((step) =>
      (['comment-create', 'status-final'] as const).map((on) => [caseOf(on, step)]),
    ),
    ...ownSteps.map((step) => publications.map((on) => caseOf(on, step))),
    ...githubSteps.map((step) => publications.map((on) => caseOf(on, step))),
  ]
}

async function runUntilKilled(world: PublishWorld, cases: ServerCases): Promise<void> {
  const { step } = cases[0]!
  const isOnGitHub = githubSteps.some((their) => their === step)
  const of = cases.map(({ on, story }) => ({ on, pr: story.number }))
  const plan = { step: step as PublishStep, signal: 'SIGKILL' as const, of }
  const server = await world.start({ ...shortWaits, ...(isOnGitHub ? {} : signalAt(plan)) })
  const { admin } = server
  await Promise.all(cases.map(({ on, story }) => story.makeStepsBefore(on, admin)))
  const held = isOnGitHub ? cases.map((one) => hold(world, one)) : []
  const lastSteps = cases.map(({ on, story }) => story.makeLastStep(on, admin))
  const { child } = server.command
  await until(
    async () => ({ step, hits: held.map(({ hits }) => hits), died: child.signalCode }),
    ({ hits, died }) => (isOnGitHub ? hits.every((count) => count === 1) : died !== null),
  )
  await server.kill()
  await Promise.all(lastSteps)
  for (const fault of held) fault.release()
}

function hold(world: PublishWorld, { on, step, story }: Case): FaultHandle {
  const { faults } = world.github
  const fault =
    step === 'held, then done'
      ? faults.delayedCommit()
      : faults.hang({ committed: step === 'done, not answered' })
  return world.hold(fault, on, story)
}

/** Returns all violations that are left in the end. */
async function killAtEachStep(world: PublishWorld): Promise<string[]> {
  const servers = planServers(world)
  for (const cases of servers) await runUntilKilled(world, cases)
  const { admin } = await world.start(shortWaits)
  await Promise.all(servers.flat().map(({ story }) => story.finish(admin)))
  const found = servers.flat().map(async ({ on, step, story }) => {
    const lost = step === 'lost by GitHub' ? { [kindOf[on]]: 1 } : {}
    const wrong = checkPublished(story, { lost }).map((what) => `${on}, ${step}: ${what}`)
    return wrong.length === 0 ? [] : [...wrong, ...(await story.history(admin))]
  })
  return (await Promise.all(found)).flat()
}

const kindOf = {
  'comment-create': 'creates',
  'comment-edit': 'edits',
  'status-pending': 'statuses',
  'status-final': 'statuses',
} as const

for (const { name, makeData } of databases) {
  it.concurrent(
    `on ${name}, a kill at each step of publishing loses nothing and sends nothing twice`,
    async ({ onTestFinished }) => {
      const world = await PublishWorld.open(makeData)
      onTestFinished(() => world.close())
      expect(await killAtEachStep(world)).toEqual([])
    },
  )
}
