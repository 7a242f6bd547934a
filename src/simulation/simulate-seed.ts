/**
 * Simulates one seed: builds a world, runs busy minutes with faults, then quiet hours without, and
 * checks the rules.
 */
import type { SharedMemory } from '../open-store.ts'
import { readFacts, type Facts } from './facts.ts'
import { Findings } from './findings.ts'
import type { Mutation } from './node.ts'
import { paces } from './node-ports.ts'
import { Actors } from './actors/actors.ts'
import { keepRows } from './kept-rows.ts'
import { checkPublications, checkOneComment, checkForeignComments } from './rules/anchor-rules.ts'
import { checkDeliveries } from './rules/delivery-rules.ts'
import { checkInbox } from './rules/inbox-rules.ts'
import { checkDuplicates } from './rules/duplicate-rules.ts'
import { checkLabels } from './rules/label-rules.ts'
import { checkLeases } from './rules/lease-rules.ts'
import { checkLimits } from './rules/limit-rules.ts'
import { checkLooks, checkRepeatedStatuses } from './rules/request-rules.ts'
import {
  checkHeads,
  checkReruns,
  checkRounds,
  checkRuns,
  checkCompletionAnswers,
} from './rules/run-rules.ts'
import { checkSteps } from './rules/step-rules.ts'
import { checkWork } from './rules/wake-rules.ts'
import { WorkActors } from './actors/work-actors.ts'
import { checkNewestChecks } from './rules/newest-check-rules.ts'
import {
  checkAnchors,
  checkCheckRuns,
  checkAllClosed,
  checkStatuses,
} from './rules/final-output-rules.ts'
import { Restores } from './restores.ts'
import { countSituations, type Situations } from './situations.ts'
import { CommitWatcher } from './rules/commit-watcher.ts'
import type { VirtualTime } from './virtual-time.ts'
import { FaultInjector } from './faults/fault-injector.ts'
import { Workers } from './workers.ts'
import { World } from './world.ts'

const secondMs = 1000
const minuteMs = 60 * secondMs
/** Time for two catch-up passes, because a fault may still disturb the first one. */
const catchUpMinutes = 11
/** Longer than all blocks, backoffs, scans and timeouts of this simulation in a row. */
const quietMinutesMax = 180

export interface SeedOptions {
  readonly seed: number
  /** An empty database. */
  readonly memory: SharedMemory
  readonly time: VirtualTime
  readonly mutation: Mutation
}

export interface SeedResult {
  readonly seed: number
  readonly digest: string
  readonly findings: Findings
  readonly faultCounts: ReadonlyMap<string, number>
  readonly situations: Situations
  readonly story: readonly string[]
}

export async function simulateSeed(options: SeedOptions): Promise<SeedResult> {
  await keepRows(options.memory)
  const world = new World(options)
  const findings = new Findings()
  const watcher = new CommitWatcher(world, findings)
  const actors = new Actors(world)
  const workers = new Workers(world)
  const faults = new FaultInjector(world)
  for (const node of world.nodes) node.start()
  workers.start(world.random.pick([1, 2, 2, 3, 3]))
  await runBusyMinutes(world, actors, faults)
  await runQuietHours(world, faults)
  await watcher.check()
  const facts = await readFacts(world.memory)
  checkAll(facts, world, workers, findings)
  addRequestsToStory(world)
  const { story, faultCounts } = world
  return {
    seed: options.seed,
    digest: story.digest(),
    findings,
    faultCounts,
    situations: countSituations(facts, world),
    story: story.lines,
  }
}

function checkAll(facts: Facts, world: World, workers: Workers, findings: Findings): void {
  checkRuns(facts, findings)
  checkRounds(facts, findings)
  checkCompletionAnswers(facts, world, workers, findings)
  checkHeads(facts, world, findings)
  checkReruns(facts, world, findings)
  checkInbox(facts, world, findings)
  checkAllClosed(facts, world, findings)
  checkStatuses(facts, world, findings)
  checkCheckRuns(facts, world, findings)
  checkNewestChecks(facts, world, findings)
  checkAnchors(facts, world, findings)
  checkOneComment(facts, world, findings)
  checkForeignComments(world, findings)
  checkLabels(facts, world, findings)
  const publications = [...workers.publications, ...(world.work?.publications ?? [])]
  checkPublications(facts, world, { publications }, findings)
  checkLooks(facts, world, findings)
  checkRepeatedStatuses(facts, world, findings)
  checkDuplicates(facts, world, findings)
  checkLimits(world, findings)
  checkLeases(facts, world, findings)
  checkDeliveries(facts, findings)
  checkSteps(facts, world, findings)
  checkWork(facts, world, findings)
}

async function runBusyMinutes(world: World, actors: Actors, faults: FaultInjector): Promise<void> {
  const { random, time } = world
  const faultPercent = random.pick([0, 40, 80, 150, 300])
  // Catch-up takes no pull request that GitHub's clock dates before the store's first start.
  await time.pass(random.below(3000) + Math.max(0, 2000 - world.aheadMs))
  const acts = random.between(8, 18)
  const restores = new Restores(world, acts)
  const workActors = world.work && new WorkActors(world, world.work)
  for (let act = 0; act < acts; act += 1) {
    actors.act()
    workActors?.act()
    await restores.onAct(act, () => actors.act())
    for (let percent = faultPercent; percent > 0; percent -= 100) {
      if (random.chance(percent)) faults.inject()
    }
    await time.pass(random.below(random.pick([1000, 3000, 6000, 15_000])))
  }
  await time.pass(random.below(40 * secondMs))
}

async function runQuietHours(world: World, faults: FaultInjector): Promise<void> {
  const { time, nodes, random } = world
  faults.clear()
  world.isQuiet = true
  const [last, ...others] = nodes
  for (const node of nodes) node.pace = paces.quiet
  await time.pass(random.below(70 * secondMs))
  for (const node of others) node.crash('and does not start again')
  last?.start()
  last?.resume()
  await time.pass(10 * secondMs)
  if (last !== undefined) last.pace = paces.quiet
  await recoverLostWebhooks(world)
  if (random.chance(60)) {
    world.story.add('operator', 'retries all FAILED deliveries')
    void last?.running?.store.outbox.retryMany({ status: 'FAILED' }, 'operator', null)
    world.excuses.retireRefusals()
  }
  await passMinutes(world, quietMinutesMax, ({ runs, others }) => runs + others === 0)
  last?.crash('at the end')
  await time.pass(2 * minuteMs)
}

/** Lets time pass minute by minute. The loops of the node slow down while no run is open. */
async function passMinutes(
  world: World,
  minutesMax: number,
  isOver: (open: OpenWork) => boolean = () => false,
): Promise<void> {
  const [last] = world.nodes
  const workActors = world.work && new WorkActors(world, world.work)
  for (let minutes = 0; minutes < minutesMax; minutes += 1) {
    const open = await countOpenWork(world)
    if (minutes > 0 && isOver(open)) return
    if (last !== undefined) last.pace = open.runs === 0 ? paces.nothingUnderWay : paces.quiet
    await workActors?.decide()
    await world.time.pass(minuteMs)
  }
}

/** Lost webhooks are found by Holdfast's catch-up (mostly, if there is an App) or redelivered. */
async function recoverLostWebhooks(world: World): Promise<void> {
  const { isApp, random, faultCounts } = world
  const isLeftToCatchUp = isApp && random.chance(70)
  for (let times = 0; times < 3 && !isLeftToCatchUp && redeliverLostWebhooks(world); times += 1) {
    await passMinutes(world, 1)
  }
  const needsCatchUp =
    isLeftToCatchUp ||
    faultCounts.has('webhook drop-unlogged') ||
    faultCounts.has('database restored')
  if (needsCatchUp) await passMinutes(world, catchUpMinutes)
}

/** Redelivers what GitHub's delivery log shows as failed; false when there is nothing. */
function redeliverLostWebhooks({ github, hooks }: World): boolean {
  const all = github.hooks.log.all()
  const arrived = new Set(all.flatMap(({ guid, status }) => (status === 'OK' ? [guid] : [])))
  const lost = new Map(
    all.filter(({ guid }) => !arrived.has(guid)).map(({ guid, id }) => [guid, id]),
  )
  for (const id of lost.values()) for (const hook of hooks) hook.redeliver(id)
  return lost.size > 0
}

interface OpenWork {
  /** Open runs and waiting webhooks. */
  readonly runs: number
  /** Due deliveries and heads to confirm. */
  readonly others: number
}

async function countOpenWork({ memory }: World): Promise<OpenWork> {
  const [row] = await memory.select(`SELECT
    (SELECT count(*) FROM run WHERE finished_at IS NULL) +
    (SELECT count(*) FROM inbox WHERE state = 'waiting') AS runs,
    (SELECT count(*) FROM delivery WHERE due_at IS NOT NULL) +
    (SELECT count(*) FROM head_check) AS others`)
  return { runs: row?.['runs'] as number, others: row?.['others'] as number }
}

function addRequestsToStory({ github, story }: World): void {
  for (const { index, at, method, path, status, fault, doneAt } of github.requests) {
    const late = doneAt !== null && doneAt > at ? ` done ${doneAt - at} ms later` : ''
    const faulty = fault === null ? '' : ` (${fault})`
    story.add('github', `${index} at ${at}: ${method} ${path} ${status ?? '-'}${faulty}${late}`)
  }
}
