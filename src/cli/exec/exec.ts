/** `holdfast exec`: claims the work, does it once, and ends with an exit code that says so. */
import { hostname } from 'node:os'
import { appendFileSync } from 'node:fs'
import { connectionOf, textOf, type Parsed } from '../connection/connection.ts'
import { serverClient } from '../connection/server-client.ts'
import { HoldfastError } from '../../errors.ts'
import { exitCodeOf, exitCodes } from '../failure.ts'
import { printNote } from '../output/fit-text.ts'
import { doWork } from './do-work.ts'
import { workWords, type Ending } from './ending.ts'
import { getLease, getNextRound, type HeldLease, type Turn } from './get-lease.ts'
import type { Insisting } from './insist.ts'
import { exitCodeOfSignal, watchInterruption, type Interruption } from './interruption.ts'
import { leaseMsOf } from './lease-length.ts'
import { runsAround } from './outer-runs.ts'
import { isAway, type RunAccess } from './run-access.ts'
import { serverAccess } from './server-access.ts'
import { wantedWork, type WantedWork } from './wanted-work.ts'
import type { PassedLines } from './start-command.ts'
import type { World } from '../world.ts'

export async function exec(
  world: World,
  parsed: Parsed,
  command: readonly string[],
): Promise<number> {
  const say = (words: string): void => printNote(world.terminal, `holdfast: ${words}\n`)
  const interruption = watchInterruption(world)
  const passed: PassedLines = { areWhole: true }
  try {
    const work = wantedWork(parsed, world)
    const { access, leaseMs } = await openAccess(world, parsed, work)
    try {
      const wait = parsed['wait'] !== false
      const asked = { world, access, work, leaseMs, wait, command, passed, interruption, say }
      const { ending, publishes } = await claimAndWork(asked)
      say(ending.words)
      if (publishes) await publishRest(asked, ending)
      report(world, parsed, ending, passed)
      return ending.exitCode
    } finally {
      // The end of the run is stored, or was reported as not stored.
      await access.close().catch(() => undefined)
    }
  } catch (error) {
    reportFailure(world, parsed, error, passed)
    throw error
  }
}

interface Asked {
  readonly world: World
  readonly access: RunAccess
  readonly work: WantedWork
  readonly leaseMs: number
  readonly wait: boolean
  readonly command: readonly string[]
  readonly passed: PassedLines
  readonly interruption: Interruption
  readonly say: (words: string) => void
}

async function openAccess(world: World, parsed: Parsed, work: WantedWork) {
  const connection = await connectionOf(world, parsed)
  if (connection.kind === 'server') {
    const client = serverClient(world, connection.url, connection.bearer)
    return { access: serverAccess(client), leaseMs: leaseMsOf(world, textOf(parsed, 'leaseMs')) }
  }
  const { settings } = connection
  const { openStoreAccess } = await import('./store-access.ts')
  return { access: await openStoreAccess(world, settings, work), leaseMs: settings.leaseMs }
}

/** `publishes`: the claim or the work changed what the run shows on GitHub. */
interface Answer {
  readonly ending: Ending
  readonly publishes: boolean
}

async function claimAndWork(asked: Asked): Promise<Answer> {
  const { clock, scheduler, random } = asked.world
  const options = {
    ...asked,
    ...{ clock, scheduler, random },
    worker: `exec on ${hostname()}`,
    interrupted: asked.interruption.signal,
    insideRunIds: runsAround(asked.world.env),
  }
  const turn = await getLease(options)
  const answer = await useTurn(asked, turn)
  const { nextRound } = answer.ending
  if (!('held' in turn) || !turn.held.owesRerun || nextRound === undefined) return answer
  // Whoever asked for the rerun is here, and nobody else may be.
  asked.say(answer.ending.words)
  return await useTurn(asked, await getNextRound(options, nextRound))
}

async function useTurn(asked: Asked, turn: Turn): Promise<Answer> {
  if ('held' in turn) return { ending: await workOn(asked, turn.held), publishes: true }
  if ('ended' in turn) return { ending: turn.ended, publishes: turn.ended.reason === 'restored' }
  const ending = await interruptedWhileWaiting(asked, turn)
  return { ending, publishes: false }
}

async function workOn(asked: Asked, held: HeldLease): Promise<Ending> {
  const { world, access, say } = asked
  say(`${held.run.id}: ${workWords(held.run)} (${held.reason}).`)
  const insisting: Insisting = {
    ...{ clock: world.clock, scheduler: world.scheduler },
    onAway: () => say(`${access.place} does not answer; the result is stored when it is back …`),
  }
  return await doWork({ ...asked, held, insisting })
}

/** A run that this process queued may have nobody else to do its work. */
async function interruptedWhileWaiting(
  { access, interruption, leaseMs }: Asked,
  { interrupted: queued, mayHold }: Extract<Turn, { interrupted: unknown }>,
): Promise<Ending> {
  const isLeft = queued === null || mayHold
  const run = isLeft ? queued : await access.giveUp(queued.id).catch(() => queued)
  const stays = run !== null && run.state === 'pending'
  const words = mayHold
    ? `Interrupted. ${access.place} has not answered, so this job may have been given the work. ` +
      `If so, its lease ends in ${Math.ceil(leaseMs / 1000)} s, and the next claim does the work.`
    : stays
      ? `Interrupted while it waited. ${run.id} stays in its queue for the next exec of the same ` +
        `work. To take it out: holdfast runs cancel ${run.id}`
      : 'Interrupted while it waited.'
  return {
    exitCode: exitCodeOfSignal(interruption.name ?? 'SIGTERM'),
    outcome: run?.state ?? null,
    reason: 'interrupted',
    words,
    runKey: run?.key ?? null,
    run,
  }
}

async function publishRest({ access, interruption, say }: Asked, { run }: Ending): Promise<void> {
  if (run === null) return
  const left = await access.publishRest(run.id, interruption.signal).catch((error: unknown) => {
    if (!isAway(error)) throw error
    return [`${access.place} does not answer, so nobody can say what is published.`]
  })
  for (const words of left) say(words)
}

function report(world: World, parsed: Parsed, ending: Ending, passed: PassedLines): void {
  const { exitCode, outcome, reason, runKey, run } = ending
  const summaryFile = world.env['GITHUB_STEP_SUMMARY'] ?? ''
  if (summaryFile !== '' && run?.summary != null && exitCode !== exitCodes.unreachable) {
    appendSummary(summaryFile, run.summary)
  }
  const answer = { outcome, reason, run_id: run?.id ?? null, run_key: runKey, exit_code: exitCode }
  printAnswer(world, parsed, answer, passed)
}

/** The message itself goes to standard error, as for every command. */
function reportFailure(world: World, parsed: Parsed, error: unknown, passed: PassedLines): void {
  const reason = error instanceof HoldfastError ? error.code.replaceAll('_', '-') : 'error'
  const exitCode = exitCodeOf(error)
  const answer = { outcome: null, reason, run_id: null, run_key: null, exit_code: exitCode }
  printAnswer(world, parsed, answer, passed)
}

/** On a line of its own, whatever the command wrote last. */
function printAnswer(
  { terminal }: World,
  parsed: Parsed,
  answer: object,
  { areWhole }: PassedLines,
): void {
  if (parsed['json'] !== true) return
  terminal.out(`${areWhole ? '' : '\n'}${JSON.stringify(answer)}\n`)
}

/** The page of the job on GitHub shows it. That it cannot be shown there changes nothing else. */
function appendSummary(path: string, summary: string): void {
  try {
    appendFileSync(path, `${summary.trimEnd()}\n`)
  } catch {
    // The summary is stored with the run.
  }
}
