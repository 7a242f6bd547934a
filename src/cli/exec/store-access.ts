/**
 * Runs directly on the store, beside a server or without one. Without one, this process also serves
 * the command's run token and publishes what belongs to its run.
 */
import { claimRun } from '../../operations/claim-run.ts'
import { localCaller } from '../../operations/caller.ts'
import { cancelRun, completeRun, getRun, heartbeatRun, leaseRun } from '../../operations/runs.ts'
import { sealedOnce } from '../../operations/sealed-answer.ts'
import { makeSecret } from '../../secrets.ts'
import { makeDatabaseFolder } from '../../settings/data-folder/folders.ts'
import { describeDatabase } from '../../settings/describe-settings.ts'
import type { Settings } from '../../settings/settings.ts'
import type { RunDoor } from '../../run-door.ts'
import type { Standalone, Unpublished } from '../../standalone.ts'
import type { IdempotencyKey } from '../../store.ts'
import { storeFailure } from '../database/store-failure.ts'
import { openExisting, refuseMemory } from '../operations/open-operations.ts'
import { makeLog } from '../serve/log.ts'
import type { World } from '../world.ts'
import type { RunAccess } from './run-access.ts'
import type { WantedWork } from './wanted-work.ts'

/** Whoever can open the database may do everything. */
const caller = localCaller('exec')
/** How long it publishes after the end of the run. */
const publishMsMax = 30_000

export async function openStoreAccess(
  world: World,
  settings: Settings,
  work: WantedWork,
): Promise<RunAccess> {
  refuseMemory(settings)
  await makeDatabaseFolder(settings)
  const store = await openExisting(world, settings, { make: true })
  const { clock, random, scheduler, version, terminal } = world
  const log = makeLog(settings.logLevel === 'debug' ? 'debug' : 'warn', terminal)
  const machine = { clock, random, scheduler }
  try {
    const standalone = await world.openStandalone(store, settings, {
      ...machine,
      ...{ log, version, hasRepository: work.claim.repo !== undefined },
      openGitHub: (live) =>
        world.openGitHub(live, { ...machine, fetch: world.fetch, log, version }),
    })
    const ports = { store, runs: standalone.runs }
    const secret = makeSecret(random)
    const once = (key: string, input: unknown): IdempotencyKey =>
      sealedOnce({ call: ['exec', key], input, secret }, random)
    return accessOn(standalone, ports, once, describeDatabase(settings))
  } catch (error) {
    await store.close()
    throw storeFailure(error, settings, world.env)
  }
}

function accessOn(
  standalone: Standalone,
  ports: Parameters<typeof getRun>[0],
  once: (key: string, input: unknown) => IdempotencyKey,
  place: string,
): RunAccess {
  let door: RunDoor | null = null
  return {
    place,
    claim({ claim }, leaseMs, key) {
      const body = { ...claim, lease_ms: leaseMs }
      return claimRun(ports, caller, body, { once: once(key, body) })
    },
    lease({ runId, worker, leaseMs, waitMs }, key, signal) {
      const timing = { lease_ms: leaseMs, wait_ms: waitMs }
      const body = { worker, run_id: runId, ...timing, as_caller: true }
      return leaseRun(ports, caller, body, { once: once(key, body), signal })
    },
    run: (id) => getRun(ports, caller, { id }),
    async heartbeat({ runId, leaseToken, leaseMs, waitMs }, signal) {
      const body = { id: runId, lease_token: leaseToken, lease_ms: leaseMs, wait_ms: waitMs }
      await heartbeatRun(ports, caller, body, { signal })
    },
    complete: (id, body) => completeRun(ports, caller, { id, ...body }),
    cancel: (id) => cancelRun(ports, caller, { id }),
    async open({ id }) {
      if (door === null) {
        standalone.publishFor(id)
        door = await standalone.openDoor()
      }
      return door.url
    },
    async publishRest(runId, signal) {
      if (standalone.publishedBy === 'nobody' || standalone.publishedBy === 'server') return []
      if (door === null) standalone.publishFor(runId)
      return leftWords(standalone, runId, await standalone.published(runId, publishMsMax, signal))
    },
    async close() {
      await door?.close()
      await standalone.close()
    },
  }
}

function leftWords(
  { publishedBy }: Standalone,
  runId: string,
  { left, refused }: Unpublished,
): readonly string[] {
  if (left.length === 0) return []
  const channels = [...new Set(left.map(({ channel }) => channel))].toSorted().join(', ')
  const what = `${left.length === 1 ? '1 delivery is' : `${left.length} deliveries are`} open`
  if (refused !== null) return [`${what} (${channels}). ${refusedWords(refused)}`]
  const why =
    publishedBy === 'next-server'
      ? 'No server is active on this database and no GitHub credentials are set.'
      : 'GitHub did not accept everything in time.'
  const list = `holdfast deliveries list --run ${runId}`
  return [`${what} (${channels}). ${why} The next server publishes what is left: ${list}`]
}

function refusedWords({ identity, blockedReason }: NonNullable<Unpublished['refused']>): string {
  const lift = `When that is fixed, run: holdfast budgets unblock ${identity}`
  return blockedReason === 'not_installed'
    ? `The GitHub App is not installed in this repository, so nothing can be published. ${lift}`
    : 'GitHub refuses the credentials, or does not say whose they are, so nothing can be ' +
        'published: Holdfast must know its own comments. The GITHUB_TOKEN that GitHub Actions ' +
        `makes for a job cannot be used. Use a personal access token or a GitHub App. ${lift}`
}
