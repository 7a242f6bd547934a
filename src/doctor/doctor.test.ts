import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { CatchUpBacklog } from '../store/catch-up-store.ts'
import type { AuditRow } from '../domain/audit.ts'
import type { DatabaseInspection } from '../domain/database-inspection.ts'
import { defaultPublishing } from '../domain/outbox/schedule.ts'
import { SetupError, StoreUnavailableError } from '../errors.ts'
import type { GitHub } from '../github.ts'
import type { OutboxBacklog } from '../store/outbox-store.ts'
import { loadSettings } from '../settings/load-settings.ts'
import { SettingsError } from '../settings/settings-error.ts'
import type { InboxBacklog, StoreVitals } from '../store.ts'
import { createEmbeddedEngine } from '../open-engine.ts'
import { systemScheduler } from '../scheduler.ts'
import { settingsProblems } from './configuration.ts'
import { runDoctor, type DoctorStore, type DoctorOptions } from './doctor.ts'
import { fine } from '../domain/finding.ts'
import { runChecks } from './report.ts'

const now = Date.parse('2026-01-31T12:00:00Z')
const minute = 60_000
let cwd = ''
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'holdfast-doctor-'))
  mkdirSync(join(cwd, 'data'), { mode: 0o700 })
})

const liveEnv = { GITHUB_TOKEN: 't', GITHUB_WEBHOOK_SECRET: 's' }
const inspection: DatabaseInspection = {
  engine: 'PostgreSQL 17.1',
  schema: { version: 3, missing: [] },
  clockAheadMs: 20,
  doubts: [],
  readThrough: null,
}
const vitals: StoreVitals = {
  mode: 'sandbox',
  aliveAt: now - 3000,
  pending: { count: 0, more: false, oldestAt: null, types: [] },
  overdue: { count: 0, more: false },
}

const nothingToPublish: OutboxBacklog = {
  open: { due: 0, order: 0, leased: 0, backoff: 0, budget: 0, in_doubt: 0, held: 0, no_address: 0 },
  oldestAt: null,
  oldest: [],
  failed: 0,
  oldestFailed: [],
  unreported: [],
  unreportedCount: 0,
}

const noWebhooks: InboxBacklog = {
  waiting: 0,
  oldestAt: null,
  postponed: 0,
  mostTried: null,
  failed: 0,
  lastFailed: null,
}

interface Store {
  readonly vitals?: Partial<StoreVitals>
  readonly inbox?: Partial<InboxBacklog>
  readonly lostAt?: readonly number[]
  readonly caughtUp?: Partial<CatchUpBacklog>
}

function storeOf(store: Store): DoctorStore {
  const { vitals: other = {}, inbox, lostAt = [], caughtUp } = store
  const audited = (type: string | undefined) =>
    type === 'run.heartbeat_lost' ? lostAt.map((at) => ({ at })) : []
  return {
    now: () => now,
    upkeep: { vitals: () => Promise.resolve({ ...vitals, ...other }) },
    runs: { countActive: () => Promise.resolve({ pending: 0, running: 0, waiting: 0 }) },
    inbox: { backlog: () => Promise.resolve({ ...noWebhooks, ...inbox }) },
    catchUp: {
      backlog: () =>
        Promise.resolve({
          headChecks: { count: 0, more: false, oldestAt: null },
          deliveriesUnread: false,
          deliveriesUnfetched: [],
          ...caughtUp,
        }),
    },
    outbox: {
      backlog: () => Promise.resolve(nothingToPublish),
      budgets: () => Promise.resolve([]),
      authors: () => Promise.resolve([]),
      rules: defaultPublishing,
    },
    audit: {
      list: ({ type }) =>
        Promise.resolve({ items: audited(type).map((row) => row as AuditRow), nextCursor: null }),
    },
  }
}

interface Case extends Partial<Omit<DoctorOptions, 'settings' | 'store'>> {
  readonly env?: Readonly<Record<string, string>>
  readonly store?: Store | null
}

async function findings({ env = {}, store = {}, ...rest }: Case = {}) {
  const settings = await loadSettings({ env, cwd })
  const report = await runDoctor({
    settings,
    inspect: () => Promise.resolve(inspection),
    store: () => Promise.resolve(store === null ? null : storeOf(store)),
    github: () => null,
    queue: () => createEmbeddedEngine(systemScheduler).health(),
    ...rest,
  })
  const levels = Object.fromEntries(report.findings.map(({ check, level }) => [check, level]))
  const of = (check: string) => report.findings.find((finding) => finding.check === check)
  return { report, levels, of }
}

test('a healthy setup has no problem, and every other finding has its remedy', async () => {
  const { report, levels, of } = await findings()
  expect(of('runs.overdue')?.detail).toBe('No run is overdue by more than a minute.')
  expect(report.ok).toBe(true)
  expect(levels).toEqual({
    configuration: 'ok',
    mode: 'warning',
    public_url: 'warning',
    data_folder: 'ok',
    queue: 'ok',
    store: 'ok',
    'store.schema': 'ok',
    'store.durability': 'ok',
    'inbox.signatures': 'ok',
    'store.clock': 'ok',
    'store.disk': expect.any(String) as string,
    server: 'ok',
    'runs.pending': 'ok',
    'runs.overdue': 'ok',
    'runs.waiting': 'ok',
    'runs.leases': 'ok',
    inbox: 'ok',
    'catch-up.heads': 'ok',
    deliveries: 'ok',
    'deliveries.failed': 'ok',
    'runs.unreported': 'ok',
    budgets: 'ok',
    'publishing.author': 'ok',
  })
  for (const { level, remedy } of report.findings) expect(remedy === null).toBe(level === 'ok')
})

test('a check that fails is a finding and does not stop the others', async () => {
  const failing = new SetupError('x', 'it is broken', { hint: 'mend it' })
  const { findings: found, ok } = await runChecks([
    { name: 'one', run: () => Promise.reject(failing) },
    {
      name: 'two',
      run: () => {
        throw new Error('')
      },
    },
    { name: 'three', run: () => [fine('three', 'well')] },
  ])
  expect(ok).toBe(false)
  expect(found).toMatchObject([
    { check: 'one', level: 'problem', detail: 'it is broken', remedy: 'mend it' },
    { check: 'two', level: 'problem', detail: 'The cause is unknown.' },
    { check: 'three', level: 'ok' },
  ])
})

describe('configuration', () => {
  test('that cannot be loaded is reported line by line', async () => {
    const wrong = { HOLDFAST_PROT: '1', HOLDFAST_PORT: 'x' }
    const error = await loadSettings({ env: wrong, cwd }).catch((caught: unknown) => caught)
    const found = settingsProblems(error as SettingsError)
    expect(error).toBeInstanceOf(SettingsError)
    expect(found).toHaveLength(2)
    expect(found[0]).toMatchObject({ check: 'configuration', level: 'problem' })
  })

  test.each([
    [{}, ['GITHUB_TOKEN, or GITHUB_APP_ID', 'GITHUB_WEBHOOK_SECRET']],
    [{ GITHUB_TOKEN: 't' }, ['set GITHUB_WEBHOOK_SECRET, and start']],
    [{ GITHUB_WEBHOOK_SECRET: 's' }, ['set GITHUB_TOKEN, or GITHUB_APP_ID']],
  ])('with %o shows what is missing to go live', async (env, missing) => {
    const { of } = await findings({ env })
    for (const part of missing) expect(of('mode')?.remedy).toContain(part)
  })

  test.each([
    [{ HOLDFAST_ADMIN_TOKEN: 'short' }, 'problem'],
    [{ HOLDFAST_ADMIN_TOKEN: 'long-enough-to-be-safe' }, 'ok'],
    [{ HOLDFAST_DATABASE_URL: 'postgres://db.test/x' }, 'problem'],
  ])('with %o has an admin token that is %s', async (env, level) => {
    const { levels } = await findings({ env })
    expect(levels['admin_token']).toBe(level)
  })

  test('after a move names the file of the admin token that is in use', async () => {
    const env = { HOLDFAST_DATABASE_URL: 'postgres://db.test/x' }
    expect((await findings({ env })).of('admin_token')?.remedy).toContain('openssl rand')
    const path = join(cwd, 'data', 'admin-token')
    writeFileSync(path, 'secret', { mode: 0o600 })
    const { of, levels } = await findings({ env })
    expect(of('admin_token')?.remedy).toContain(`HOLDFAST_ADMIN_TOKEN_FILE=${path}`)
    expect([levels['admin_token'], levels['admin_token_file']]).toEqual(['problem', 'ok'])
  })

  test.each([
    [{}, undefined],
    [{ GITHUB_WEBHOOK_SECRET: 'short' }, 'problem'],
    [{ GITHUB_WEBHOOK_SECRET: 'long-enough-to-be-safe,short' }, 'problem'],
    [{ GITHUB_WEBHOOK_SECRET: 'long-enough-to-be-safe' }, 'ok'],
  ])('with %o has a webhook secret that is %s', async (env, level) => {
    const { levels, of } = await findings({ env })
    expect(levels['webhook_secret']).toBe(level)
    expect(of('webhook_secret')?.detail ?? '').not.toContain('short')
  })

  test('in live mode with a public address leads to no warning', async () => {
    const env = { ...liveEnv, HOLDFAST_PUBLIC_URL: 'https://h.test' }
    const { levels } = await findings({ env, store: { vitals: { mode: 'live' } } })
    expect([levels['mode'], levels['public_url'], levels['store.mode']]).toEqual([
      'ok',
      'ok',
      undefined,
    ])
  })
})

describe('files', () => {
  test('that others can read are reported with the command that protects them', async () => {
    const token = join(cwd, 'data', 'admin-token')
    writeFileSync(token, 'secret')
    chmodSync(token, 0o644)
    chmodSync(join(cwd, 'data'), 0o755)
    const { of } = await findings()
    expect(of('admin_token_file')).toMatchObject({ level: 'problem' })
    expect(of('admin_token_file')?.remedy).toContain(`chmod 600 ${token}`)
    expect(of('data_folder')).toMatchObject({ level: 'problem' })
    expect(of('data_folder')?.remedy).toContain('chmod 700')
    chmodSync(join(cwd, 'data'), 0o1777)
    expect((await findings()).of('data_folder')?.remedy).toContain('in a folder of its own')
    chmodSync(token, 0o600)
    expect((await findings()).levels['admin_token_file']).toBe('ok')
  })

  test('of a database elsewhere that a server would refuse come with the remedy', async () => {
    const file = join(cwd, 'elsewhere.db')
    const env = { HOLDFAST_DATABASE_URL: `sqlite:${file}` }
    expect((await findings({ env })).levels['store.file']).toBeUndefined()
    writeFileSync(file, '', { mode: 0o600 })
    chmodSync(file, 0o640)
    expect((await findings({ env })).of('store.file')).toMatchObject({
      level: 'problem',
      remedy: `Run: chmod 600 ${file}`,
    })
  })

  test('that do not exist yet, such as the data folder, are not a problem', async () => {
    const { levels } = await findings({ env: { HOLDFAST_DATA_DIR: 'elsewhere' } })
    expect(levels['data_folder']).toBe('warning')
  })
})

describe('the store', () => {
  test('that is down is the finding, and checks that need it are left out', async () => {
    const down = new StoreUnavailableError('x', 'Nothing listens there', { hint: 'Start it.' })
    const { report, of, levels } = await findings({
      inspect: () => Promise.reject(down),
      store: null,
    })
    expect(report.ok).toBe(false)
    expect(of('store')).toMatchObject({ level: 'problem', remedy: 'Start it.' })
    expect(levels).not.toHaveProperty('runs.pending')
    expect(levels['configuration']).toBe('ok')
  })

  test.each([
    [{ schema: { version: 0, missing: [] } }, 'store', 'warning', 'holdfast serve'],
    [
      { schema: { version: 1, missing: [{ version: 2, name: 'x' }] } },
      'store.schema',
      'warning',
      'holdfast migrate',
    ],
    [{ doubts: ['its fsync is off'] }, 'store.durability', 'problem', 'default'],
    [{ clockAheadMs: -9000 }, 'store.clock', 'warning', 'NTP'],
  ])('with %o: the check %s is a %s', async (other, check, level, remedy) => {
    const { of } = await findings({ inspect: () => Promise.resolve({ ...inspection, ...other }) })
    expect(of(check)).toMatchObject({ level })
    expect(of(check)?.remedy).toContain(remedy)
  })

  test.each([
    [{ mode: 'live' as const }, 'store.mode', 'problem'],
    [{ aliveAt: null }, 'server', 'warning'],
    [{ aliveAt: now - 5 * minute }, 'server', 'warning'],
    [
      { pending: { count: 2, more: false, oldestAt: now - 6 * minute, types: ['review'] } },
      'runs.pending',
      'warning',
    ],
    [
      { pending: { count: 2, more: false, oldestAt: now - minute, types: ['review'] } },
      'runs.pending',
      'ok',
    ],
    [{ overdue: { count: 1, more: false } }, 'runs.overdue', 'warning'],
  ])('that contains %o: the check %s is %s', async (other, check, level) => {
    const { levels } = await findings({ store: { vitals: other } })
    expect(levels[check]).toBe(level)
  })

  test('counts only the leases that were lost in the last hour', async () => {
    const lostAt = Array.from({ length: 6 }, (_, at) => now - at * minute)
    expect((await findings({ store: { lostAt } })).levels['runs.leases']).toBe('warning')
    const older = lostAt.map((at) => at - 57 * minute)
    const { of } = await findings({ store: { lostAt: older } })
    expect(of('runs.leases')).toMatchObject({
      level: 'ok',
      detail: '3 leases were lost in the last hour.',
    })
  })

  test('finds heads that could not be checked and webhooks that were not read', async () => {
    const caughtUp = {
      headChecks: { count: 2, more: false, oldestAt: now - 20 * minute },
      deliveriesUnread: true,
      deliveriesUnfetched: ['guid-1', 'guid-2'],
    }
    const { of, levels } = await findings({ env: liveEnv, store: { caughtUp } })
    expect(of('catch-up.heads')).toMatchObject({
      level: 'warning',
      detail: '2 heads could not be checked on GitHub yet, the oldest for 20 min.',
    })
    expect(levels['catch-up.webhooks']).toBe('warning')
    expect(of('catch-up.unfetched')).toMatchObject({
      level: 'warning',
      detail: 'GitHub did not return 2 missed webhooks, such as guid-1.',
    })
    expect((await findings({ store: {} })).levels['catch-up.heads']).toBe('ok')
  })

  test.each([
    [{ waiting: 1, oldestAt: now - 10_000 }, 'ok'],
    [{ waiting: 4, oldestAt: now - 3 * minute }, 'warning'],
  ])('with an inbox of %o: %s', async (inbox, level) => {
    expect((await findings({ store: { inbox } })).levels['inbox']).toBe(level)
  })

  test('names the webhook with the most failed tries, after the third try', async () => {
    const tried = (tries: number) => ({
      postponed: 2,
      mostTried: { id: 'inb_1', tries, lastError: 'the store is contended' },
    })
    expect((await findings({ store: { inbox: tried(2) } })).of('inbox.put_off')).toBeUndefined()
    expect((await findings({ store: { inbox: tried(3) } })).of('inbox.put_off')).toMatchObject({
      level: 'warning',
      detail:
        '2 webhooks could not be processed yet. inb_1 was tried 3 times: the store is contended',
      remedy: expect.stringContaining('holdfast inbox show inb_1') as string,
    })
  })

  test('names the webhooks that were given up, and how to replay them', async () => {
    const inbox = { failed: 1, lastFailed: { id: 'inb_2', reason: 'store-contended' } }
    expect((await findings({ store: { inbox } })).of('inbox.failed')).toMatchObject({
      level: 'warning',
      detail: '1 webhook failed, the last inb_2: store-contended.',
      remedy: expect.stringContaining('holdfast inbox replay inb_2') as string,
    })
  })
})

describe('GitHub', () => {
  test('adds its own findings', async () => {
    const finding = {
      check: 'github.permissions',
      level: 'problem',
      detail: 'd',
      remedy: 'r',
    } as const
    const github = { checkSetup: () => Promise.resolve([finding]) } as unknown as GitHub
    const { report } = await findings({ github: () => github })
    expect(report.findings.at(-1)).toEqual(finding)
  })

  test('with unreadable credentials is a finding, too', async () => {
    const { of } = await findings({
      github: () => {
        throw new SetupError('x', 'the key is no key', { hint: 'Give the right one.' })
      },
    })
    expect(of('github')).toMatchObject({ level: 'problem', remedy: 'Give the right one.' })
  })
})
