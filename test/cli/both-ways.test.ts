/**
 * Goal: a command prints and does the same through a server as directly on the database, with that
 * server running. In one process, over real HTTP and real databases.
 */
import { isDeepStrictEqual } from 'node:util'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { compose, type App } from '../../src/compose.ts'
import { openStore } from '../../src/open-store.ts'
import { systemScheduler } from '../../src/scheduler.ts'
import { loadSettings } from '../../src/settings/load-settings.ts'
import { Client, newPullRequest } from '../scenarios/client.ts'
import { databases, type ServerData } from '../scenarios/server-data.ts'
import { until } from '../scenarios/until.ts'
import { FakeWorld } from './fake-world.ts'
import type { Done } from './store-world.ts'

vi.setConfig({ testTimeout: 60_000 })
const adminToken = 'an-admin-token-for-both-ways'

describe.each(databases)('a command with and without a server on $name', ({ name, makeData }) => {
  let serverData: ServerData
  let app: App
  let url = ''
  let admin: Client
  beforeEach(async () => {
    serverData = await makeData()
    const env = { ...serverData.env, HOLDFAST_PORT: '0', HOLDFAST_ADMIN_TOKEN: adminToken }
    const settings = await loadSettings({ env, cwd: serverData.folder })
    const log = pino({ level: 'silent' })
    app = await compose(settings, { adminToken, webhookSecrets: ['s'], log, version: '0.0.0' })
    url = (await app.listen()).url
    admin = new Client(url, adminToken)
  })
  afterEach(async () => {
    await app.close()
    await serverData.remove()
  })

  async function ask(
    env: Readonly<Record<string, string>>,
    argv: readonly string[],
  ): Promise<Done> {
    const world = new FakeWorld()
    Object.assign(world, { cwd: serverData.folder, env: { ...serverData.env, ...env } })
    Object.assign(world.scheduler, systemScheduler)
    world.openStore = (settings) => openStore(settings)
    world.fetch = fetch
    const code = await world.run(...argv)
    return { code, stdout: world.stdout, stderr: world.stderr }
  }
  const straight = (...argv: string[]) => ask({ HOLDFAST_ADMIN_TOKEN: adminToken }, argv)
  const through = (...argv: string[]) =>
    ask({ HOLDFAST_URL: url, HOLDFAST_TOKEN: adminToken }, argv)

  /** Both are asked again if they differ, because the server may have published in between. */
  async function same(...argv: string[]): Promise<string> {
    const answers = async () => ({ here: await straight(...argv), there: await through(...argv) })
    const isSame = ({ here, there }: Awaited<ReturnType<typeof answers>>): boolean =>
      isDeepStrictEqual(here, there)
    const { here, there } = await until(answers, isSame).catch(answers)
    expect([argv, here]).toEqual([argv, there])
    expect([argv, here.code]).toEqual([argv, 0])
    return here.stdout
  }

  it('prints the same, as JSON and as plain rows', async () => {
    const { id } = (await admin.claim(newPullRequest()('head'))).body.run
    await admin.claim(newPullRequest()('head'))
    expect(JSON.parse(await same('runs', '--json'))).toMatchObject({ next_cursor: null })
    expect(JSON.parse(await same('runs', 'show', id, '--json'))).toMatchObject({ id })
    expect(await same('why', id)).toContain('The admin claimed review of')
    const others = [
      'runs --limit 1',
      `runs show ${id}`,
      `audit --run ${id} --json`,
      'audit --limit 1',
      'token list --json',
      'inbox --json',
      'deliveries --json',
      `deliveries --run ${id}`,
      'budgets --json',
    ]
    for (const line of others) await same(...line.split(' '))
  })

  it('changes runs, and the audit names the actor', async () => {
    const { id } = (await admin.claim(newPullRequest()('head'))).body.run
    expect((await straight('runs', 'cancel', id)).stdout).toContain('is cancelled')
    expect((await through('runs', 'rerun', id)).stdout).toContain('is pending again in round 2')
    const audit = await same('audit', '--run', id)
    expect(audit).toMatch(/\trun\.cancelled\tcli\t/)
    expect(audit).toMatch(/\trun\.claimed\tadmin\t/)
  })

  it('shows and decides steps, and the audit names the actor', async () => {
    const claim = { key: 'v1', type: 'deploy', lease: false }
    const { id } = (await admin.claim(claim)).body.run
    const holdStep = async (name: string): Promise<void> => {
      const { body: held } = await admin.post('/v1/runs/lease', { worker: 'w', types: ['deploy'] })
      const worker = new Client(url, held.run_token)
      for (const body of [{ state: 'started', in_doubt: 'hold' }, { held: true }]) {
        const step = { start_id: 's', ...body }
        expect((await worker.call('PUT', `/v1/runs/${id}/steps/${name}`, step)).status).toBe(200)
      }
    }
    await holdStep('first')
    expect(JSON.parse(await same('runs', 'steps', id, '--json'))).toMatchObject({
      items: [{ name: 'first', state: 'held' }],
    })
    expect(await same('runs', 'steps', id)).toContain('first\theld\thold\t1\t')
    expect(await same('runs', 'show', id)).toMatch(/^held_step\tfirst$/m)
    expect(await same('why', id)).toContain(`holdfast runs step fail ${id} first`)

    const confirm = ['runs', 'step', 'confirm', id, 'first', '--result', '[1]', '--json']
    const confirmed = await straight(...confirm)
    const decided = { step: { name: 'first', state: 'done' }, run: { id, state: 'pending' } }
    expect(JSON.parse(confirmed.stdout)).toMatchObject(decided)
    await holdStep('second')
    const failed = await through('runs', 'step', 'fail', id, 'second', '--text', 'no')
    expect(failed).toMatchObject({ code: 0, stderr: '' })
    expect(failed.stdout).toContain('has failed. The run waits for a worker.')
    await holdStep('third')
    expect((await through('runs', 'step', 'repeat', id, 'third')).code).toBe(0)
    for (const way of [straight, through]) {
      const again = await way('runs', 'step', 'repeat', id, 'third')
      expect(again).toMatchObject({ code: 1, stdout: '' })
      expect(again.stderr).toContain('is open')
      expect((await way('runs', 'step', 'repeat', id, 'nope')).stderr).toContain('runs steps')
    }
    const audit = await same('audit', '--run', id)
    expect(audit).toMatch(/\toperator\.step_confirmed\tcli\t/)
    expect(audit).toMatch(/\toperator\.step_failed\tadmin\t/)
  })

  it('changes deliveries, and the audit names the actor', async () => {
    const { id } = (await admin.claim(newPullRequest()('head'))).body.run
    const list = await through('deliveries', '--run', id, '--channel', 'github-status', '--json')
    const [{ id: delivery }] = (JSON.parse(list.stdout) as { items: [{ id: string }] }).items
    // It may be sent by now or not: `confirm` ends with SENT in both cases.
    for (const way of [straight, through]) {
      const confirmed = await way('deliveries', 'confirm', delivery, '--json')
      expect(JSON.parse(confirmed.stdout)).toMatchObject({ id: delivery, status: 'SENT' })
      expect((await way('deliveries', 'retry', delivery)).stderr).toContain('cannot be sent again')
      expect((await way('deliveries', 'retry', '--all', '--json')).stdout).toBe('{"count":0}\n')
    }
    expect(await same('why', delivery)).toMatch(
      /The commit status holdfast\/review on [0-9a-f]{7} \(pending\) is shown/,
    )
  })

  it('exits with the same code when something is wrong', async () => {
    for (const way of [straight, through]) {
      const missing = await way('runs', 'show', 'run_nope')
      expect(missing).toMatchObject({ code: 1, stdout: '' })
      expect(missing.stderr).toMatch(/[Tt]here is no run run_nope/)
      expect(missing.stderr).toContain('List runs: holdfast runs')
      expect((await way('runs', '--state', 'x')).code).toBe(2)
      expect((await way('runs', '--cursor', 'x')).code).toBe(2)
      const nonsense = await way('why', 'widgets#5')
      expect(nonsense.code).toBe(2)
      expect(nonsense.stderr).toContain('The question "widgets#5" must be owner/repo#5')
      expect((await way('token', 'delete', 'tok_nope')).code).toBe(1)
      expect((await way('inbox', 'show', 'inb_nope')).code).toBe(1)
      expect((await way('deliveries', 'show', 'del_nope')).code).toBe(1)
      expect((await way('deliveries', 'retry', 'del_nope')).code).toBe(1)
      expect((await way('why', 'del_nope')).code).toBe(1)
    }
  })

  it('reports the same store in doctor', async () => {
    // The tests' cluster does not sync to disk, which doctor reports.
    const problems = name === 'PostgreSQL' ? ['store.durability'] : []
    for (const way of [straight, through]) {
      const { code, stdout } = await way('doctor', '--json')
      const { findings } = JSON.parse(stdout) as { findings: { check: string; level: string }[] }
      const levels = Object.fromEntries(findings.map(({ check, level }) => [check, level]))
      expect(levels).toMatchObject({ 'store.schema': 'ok', server: 'ok', inbox: 'ok' })
      const found = findings.filter(({ level }) => level === 'problem')
      expect(found.map(({ check }) => check)).toEqual(problems)
      expect(code).toBe(problems.length === 0 ? 0 : 1)
    }
  })

  it('purges and migrates while the server runs', async () => {
    const { id } = (await admin.claim(newPullRequest()('head'))).body.run
    await straight('runs', 'cancel', id)
    await serverData.tamper('UPDATE run SET finished_at = 1')
    // A run is kept until its announcements are sent.
    const purged = () => straight('purge', '--json')
    await until(purged, ({ stdout }) => JSON.parse(stdout).runs === 1)
    expect((await straight('migrate')).stdout).toMatch(/ is up to date: schema \d+\.\n$/)
    const missing = await straight(
      'migrate',
      '--dry-run',
      '--json',
      '--database-url',
      'sqlite:x.db',
    )
    expect(JSON.parse(missing.stdout)).toMatchObject({ from: 0, dry_run: true })
  })
})
