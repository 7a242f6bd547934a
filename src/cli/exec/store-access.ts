/**
 * Runs directly on the store, beside a server or without one. Without one, this process also serves
 * the command's run token and publishes what belongs to its run.
 */
import { runView } from '../../contract/run-view.ts'
import { execActor } from '../../domain/audit.ts'
import { claimRun } from '../../operations/claim-run.ts'
import { localCaller } from '../../operations/caller.ts'
import { completeRun, getRun, heartbeatRun, leaseRun, listRunAudit } from '../../operations/runs.ts'
import { sealedOnce } from '../../operations/sealed-answer.ts'
import { hashLeaseToken, makeSecret } from '../../secrets.ts'
import { makeDatabaseFolder } from '../../settings/data-folder/folders.ts'
import { describeDatabase } from '../../settings/describe-settings.ts'
import type { Settings } from '../../settings/settings.ts'
import type { RunDoor } from '../../run-door.ts'
import type { Standalone, Unpublished } from '../../standalone.ts'
import type { IdempotencyKey } from '../../store.ts'
import { RunSecrets } from '../../texts/run-secrets.ts'
import { storeFailure } from '../database/store-failure.ts'
import { openExisting, refuseMemory } from '../operations/open-operations.ts'
import { makeLog } from '../serve/log.ts'
import type { Terminal } from '../terminal.ts'
import type { World } from '../world.ts'
import type { RunAccess } from './run-access.ts'
import type { WantedWork } from './wanted-work.ts'

/** Whoever can open the database may do everything. */
const caller = localCaller(execActor)
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
  const level = settings.logLevel === 'debug' ? 'debug' : 'warn'
  const log = makeLog(level, { err: (text) => terminal.err(text), logStyle: logStyle(terminal) })
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

/** Its lines are among those of a command in the log of a job, which people read. */
const logStyle = ({ logStyle: style }: Terminal): Terminal['logStyle'] =>
  style === 'json' ? 'plain' : style

function accessOn(
  standalone: Standalone,
  ports: Parameters<typeof getRun>[0],
  once: (key: string, input: unknown) => IdempotencyKey,
  place: string,
): RunAccess {
  let door: RunDoor | null = null
  const runSecrets = new RunSecrets()
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
    audit: async (id) => (await listRunAudit(ports, caller, { id, limit: 1000 })).items,
    async heartbeat({ runId, leaseToken, leaseMs, waitMs }, signal) {
      const body = { id: runId, lease_token: leaseToken, lease_ms: leaseMs, wait_ms: waitMs }
      await heartbeatRun(ports, caller, body, { signal })
    },
    complete: (id, body) => completeRun(ports, caller, { id, ...body }),
    async giveUp(id) {
      const { store, runs } = ports
      return await runView(store, await runs.cancelPending(id, caller.actor))
    },
    async open({ run, leaseToken }, secrets) {
      runSecrets.add(hashLeaseToken(leaseToken), secrets)
      if (door === null) {
        standalone.publishFor(run.id)
        door = await standalone.openDoor(runSecrets)
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
      : 'GitHub could not be reached in time, or did not accept everything.'
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
