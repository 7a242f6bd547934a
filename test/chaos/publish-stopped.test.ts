/**
 * Goal: a server that was stopped for longer than its delivery lease, and then continues, does no
 * lasting harm: it does not send what it had not sent yet, and what arrives late is found and
 * corrected.
 * Method: a real server is stopped by SIGSTOP while a comment is created, a comment is edited, and
 * a first and a last status are set: before its requests leave, at the last step before that, or
 * while GitHub has the requests. A second server on the same PostgreSQL takes over when the leases
 * have expired, and ends the runs; then the first server continues.
 */
import { expect, it, vi, type TestContext } from 'vitest'
import type { Client } from '../scenarios/client.ts'
import { onPostgres } from '../scenarios/server-data.ts'
import type { Server } from '../scenarios/server.ts'
import { until } from '../scenarios/until.ts'
import { checkPublished, checkShownNow } from './check-published.ts'
import type { PublishStep, Publication } from './publish-signal.ts'
import { signalAt, signalWords, publications, unshared } from './publish-signal.ts'
import { leasePatienceMs, PublishWorld, shortWaits, type PullStory } from './publish-world.ts'

// Two leases and a settling read, on a busy machine.
vi.setConfig({ testTimeout: 180_000 })

interface Under {
  readonly world: PublishWorld
  readonly stories: Readonly<Record<Publication, PullStory>>
  readonly all: readonly PullStory[]
  readonly stopped: readonly Stopped[]
}

type Stopped = readonly [on: Publication, story: PullStory]

async function openWorld({ onTestFinished }: TestContext): Promise<Under> {
  const world = await PublishWorld.open(onPostgres)
  onTestFinished(() => world.close())
  const all = publications.map((_, index) => world.pull(index + 1))
  const stopped = publications.map((on, index): Stopped => [on, all[index]!])
  return { world, stories: Object.fromEntries(stopped) as Under['stories'], all, stopped }
}

/** A server that is stopped at this step of all four publications. */
async function stopAt(step: PublishStep, { world, stories }: Under): Promise<Server> {
  const of = publications.map((on) => ({ on, pr: stories[on].number }))
  const server = await world.start({ ...shortWaits, ...signalAt({ step, signal: 'SIGSTOP', of }) })
  await Promise.all(publications.map((on) => stories[on].makeStepsBefore(on, server.admin)))
  for (const on of publications) void stories[on].makeLastStep(on, server.admin)
  await server.command.printed(new RegExp(`(${signalWords})`))
  return server
}

/** Resolves when the stopped server has stored the outcomes of its attempts, too late. */
async function untilStoredLate(stopped: readonly Stopped[], client: Client): Promise<void> {
  const hasLateAttempt = async ([on, story]: Stopped): Promise<boolean> => {
    const channel = on.startsWith('comment') ? 'github-comment' : 'github-status'
    const its = (await story.deliveries(client)).find((each) => each.channel === channel)
    return its?.attempts.some(({ late }) => late) ?? false
  }
  await until(
    () => Promise.all(stopped.map(hasLateAttempt)),
    (areLate) => areLate.every((each) => each),
  )
}

/** Resolves when GitHub shows how every run ended, once each. */
async function untilShown(all: readonly PullStory[]): Promise<void> {
  await until(
    async () => all.flatMap((story) => checkShownNow(story)),
    (wrong) => wrong.length === 0,
    leasePatienceMs,
  )
}

it.concurrent('a server stopped before its requests left does not send them', async (test) => {
  const under = await openWorld(test)
  const { world, all, stopped } = under
  const frozen = await stopAt('begun', under)
  const { admin } = await world.start(shortWaits)
  await Promise.all(all.map((story) => story.finish(admin)))
  frozen.command.child.kill('SIGCONT')
  await untilStoredLate(stopped, admin)
  expect(all.flatMap((story) => checkPublished(story))).toEqual([])
})

it.concurrent('a server stopped while requests leave: late effects are corrected', async (test) => {
  const under = await openWorld(test)
  const { world, stories, all, stopped } = under
  const frozen = await stopAt('sending', under)
  const { admin } = await world.start(shortWaits)
  await Promise.all(all.map((story) => story.finish(admin)))
  expect(all.flatMap((story) => checkPublished(story))).toEqual([])
  frozen.command.child.kill('SIGCONT')
  await untilStoredLate(stopped, admin)
  const [kept, late] = stories['comment-create'].comments
  expect(late, 'a second comment').toBeDefined()
  await untilShown(all)
  const created = stories['comment-create'].comments
  expect(created.map(({ id, deletedAt }) => [id, deletedAt === null])).toEqual([
    [kept!.id, true],
    [late!.id, false],
  ])
  const edited = stories['comment-edit']
  const shows = edited.comments[0]!.versions.map(({ body }) => body.includes(edited.summary))
  expect(shows).toEqual([false, false, true, false, true])
  const statesOf = (on: Publication) => stories[on].statuses.map(({ state }) => state)
  expect(statesOf('status-pending')).toEqual(['pending', 'success', 'pending', 'success'])
  expect(statesOf('status-final')).toEqual(['pending', 'success', 'success'])
})

it.concurrent('a server stopped after requests left: late effects are corrected', async (test) => {
  const { world, stories, all, stopped } = await openWorld(test)
  const lost = world.pull(publications.length + 1)
  const frozen = await world.start({ ...shortWaits, ...unshared })
  await Promise.all(publications.map((on) => stories[on].makeStepsBefore(on, frozen.admin)))
  const { delayedCommit, hang } = world.github.faults
  const held = [
    ...publications.map((on) => world.hold(delayedCommit(), on, stories[on])),
    world.hold(hang(), 'comment-create', lost),
  ]
  for (const on of publications) void stories[on].makeLastStep(on, frozen.admin)
  void lost.makeLastStep('comment-create', frozen.admin)
  await until(
    async () => held.map(({ hits }) => hits),
    (hits) => hits.every((count) => count === 1),
  )
  frozen.command.child.kill('SIGSTOP')
  const { admin } = await world.start(shortWaits)
  await Promise.all([...all, lost].map((story) => story.finish(admin)))
  for (const fault of held) fault.release()
  const lateOnes = stories['comment-create'].comments
  expect(lateOnes, 'a second comment').toHaveLength(2)
  // The second server found them before the first server stores its late outcome.
  const { 'comment-create': doubled, ...others } = stories
  await untilShown(Object.values(others))
  frozen.command.child.kill('SIGCONT')
  await untilStoredLate([...stopped, ['comment-create', lost]], admin)
  await untilShown([...all, lost])
  const [kept, removed] = doubled.comments
  expect([kept!.deletedAt === null, removed!.deletedAt === null]).toEqual([true, false])
  expect(lost.comments).toHaveLength(1)
})
