import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { FakeWorld } from '../../../test/cli/fake-world.ts'
import { storeWorld } from '../../../test/cli/store-world.ts'
import { StoreUnavailableError } from '../../errors.ts'

interface DoctorReport {
  readonly ok: boolean
  readonly findings: readonly { check: string; level: string; remedy: string | null }[]
}

async function doctor(world: FakeWorld, ...argv: readonly string[]) {
  const code = await world.run('doctor', '--json', ...argv)
  const report = JSON.parse(world.stdout) as DoctorReport
  return { code, report, of: (name: string) => report.findings.find(({ check }) => check === name) }
}

describe('doctor directly on the database', () => {
  test('creates nothing and reports no problem before the first start', async () => {
    const { code, report, of } = await doctor(new FakeWorld())
    expect({ code, ok: report.ok }).toEqual({ code: 0, ok: true })
    expect(of('store')).toMatchObject({ level: 'warning' })
    expect(of('runs.pending')).toBeUndefined()
  })

  test('checks an existing store, and releases it', async () => {
    const at = await storeWorld()
    const { code, of } = await doctor(at.world)
    expect(code).toBe(0)
    expect(of('store.schema')).toMatchObject({ level: 'ok' })
    expect(of('server')).toMatchObject({ level: 'warning' })
    expect(of('inbox')).toMatchObject({ level: 'ok' })
    await at.close()
  })

  test('reports a file that is not a Holdfast database', async () => {
    const world = new FakeWorld()
    writeFileSync(join(world.cwd, 'x.db'), 'something else '.repeat(20))
    const { code, of } = await doctor(world, '--database-url', 'sqlite:x.db')
    expect(code).toBe(1)
    expect(of('store')).toMatchObject({
      level: 'problem',
      remedy: expect.stringContaining('HOLDFAST_DATABASE_URL') as string,
    })
  })

  test('reports a database that is down', async () => {
    const world = new FakeWorld()
    world.inspectDatabase = () => Promise.reject(new StoreUnavailableError('x', 'down'))
    const { code, of } = await doctor(world)
    expect(code).toBe(1)
    expect(of('store')).toMatchObject({ level: 'problem' })
    expect(of('configuration')).toMatchObject({ level: 'ok' })
  })

  test('reports wrong settings', async () => {
    const world = new FakeWorld()
    world.env = { HOLDFAST_PROT: '1' }
    const { code, report } = await doctor(world, '--data-dir', '')
    expect(code).toBe(1)
    expect(report.findings.map(({ check }) => check)).toEqual(['configuration', 'configuration'])
  })

  test.each([
    [
      80,
      '✓ store.schema       Schema',
      /^✗ data_folder {7} /m,
      /^ {21}→ Fix it:\n +chmod 700 \S+$/m,
    ],
    [
      60,
      '✓ store.schema\n    Schema',
      /^✗ data_folder\n {4}\S/m,
      /^ {4}→ Fix it:\n +chmod 700 \S+$/m,
    ],
  ])('is shown in %i columns with marks, remedies and a sum', async (columns, ...parts) => {
    const [schema, folder, remedy] = parts
    const at = await storeWorld()
    chmodSync(join(at.world.cwd, 'data'), 0o755)
    at.world.terminal.columns = columns
    const { code, stdout, stderr } = await at.command('doctor')
    expect(code).toBe(1)
    expect(stdout).toContain(schema)
    expect(stdout).toMatch(folder)
    expect(stdout).toMatch(remedy)
    for (const line of stdout.split('\n')) {
      if (!line.includes(at.world.cwd)) expect(line.length).toBeLessThanOrEqual(columns)
    }
    expect(stderr).toMatch(/^1 problem, \d warnings\.\n$/)
    await at.close()
  })
})

describe('doctor through a server', () => {
  const argv = ['--url', 'http://holdfast.test', '--token', 't']

  test('shows the report of the server', async () => {
    const world = new FakeWorld()
    const finding = { check: 'store', level: 'problem', detail: 'd\x1b[2J', remedy: 'r' }
    world.fetch = () => Promise.resolve(Response.json({ ok: false, findings: [finding] }))
    expect(await world.run('doctor', ...argv)).toBe(1)
    expect(world.stdout).toBe('✗ store  d\\x1b[2J\n         → r\n')
  })

  test.each([
    [() => Promise.reject(new TypeError('no')), 'could not be reached'],
    [() => Promise.resolve(new Response('<html>')), 'is it a Holdfast server?'],
    [() => Promise.resolve(Response.json({ detail: 'wrong' }, { status: 401 })), '401: wrong'],
  ])('reports a server with a wrong answer (%#)', async (fetch, expected) => {
    const world = new FakeWorld()
    world.fetch = fetch
    const { code, report } = await doctor(world, ...argv)
    expect(code).toBe(1)
    expect(report.findings).toMatchObject([{ check: 'server', level: 'problem' }])
    expect(JSON.stringify(report)).toContain(expected)
  })
})
