/**
 * Goal: whoever operates Holdfast from a terminal sees the same through a server as straight on the
 * database, with the server running beside; what is followed is neither lost nor repeated.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { newPullRequest } from './client.ts'
import { databases, type Place } from './place.ts'
import { adminToken, Command, Server } from './server.ts'

// Many processes start one after the other, perhaps on a busy machine.
vi.setConfig({ testTimeout: 120_000 })

describe.each(databases)('the command line on $name', ({ name, makePlace }) => {
  let place: Place
  let server: Server
  let commands: Command[] = []
  beforeEach(async () => {
    place = await makePlace()
    server = await Server.start(place)
  })
  afterEach(async () => {
    for (const { child } of commands) child.kill('SIGKILL')
    commands = []
    await server.kill()
    await place.remove()
  })

  const begin = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Command => {
    const command = new Command(place, args, env)
    commands.push(command)
    return command
  }
  const straight = (...args: string[]) => begin(args, { HOLDFAST_ADMIN_TOKEN: adminToken }).ended
  const through = (...args: string[]) =>
    begin(args, { HOLDFAST_URL: server.url, HOLDFAST_TOKEN: adminToken }).ended

  async function bothWays(...args: string[]): Promise<unknown> {
    const [here, there] = await Promise.all([straight(...args), through(...args)])
    expect([args, here]).toEqual([args, { code: 0, stdout: there.stdout, stderr: there.stderr }])
    return args.includes('--json') ? JSON.parse(here.stdout) : here.stdout
  }

  it('says the same both ways, as JSON and as plain rows', async () => {
    const { body } = await server.admin.claim(newPullRequest()('head'))
    await server.admin.claim(newPullRequest()('head'))
    const { id } = body.run
    expect(await bothWays('runs', '--json')).toMatchObject({ next_cursor: null })
    expect(await bothWays('runs', 'show', id, '--json')).toMatchObject({ id, state: 'running' })
    await bothWays('runs', '--limit', '1')
    await bothWays('runs', 'show', id)
    await bothWays('audit', '--run', id, '--json')
    await bothWays('audit', '--limit', '1')
    await bothWays('token', 'list', '--json')
    await bothWays('inbox', '--json')
    expect(await bothWays('why', id)).toContain('The admin claimed')
    for (const ask of [straight, through]) {
      expect((await ask('why', 'nonsense')).code).toBe(2)
    }
  })

  it('changes runs both ways, and the audit tells who', async () => {
    const { id } = (await server.admin.claim(newPullRequest()('head'))).body.run
    expect((await straight('runs', 'cancel', id)).stdout).toContain('is cancelled')
    expect((await through('runs', 'rerun', id)).stdout).toContain('is pending again, round 2')
    const { items } = (await bothWays('audit', '--run', id, '--json')) as {
      items: { type: string; actor: string }[]
    }
    const told = items.map(({ type, actor }) => `${type} ${actor}`)
    expect(told).toContain('run.cancelled cli')
    expect(told).toContain('run.claimed admin')
  })

  it('a rerun straight on the database reaches a worker that waits at the server', async () => {
    const { id } = (await server.admin.claim(newPullRequest()('head'))).body.run
    await straight('runs', 'cancel', id)
    const waiting = server.admin.call('POST', '/v1/runs/lease', { worker: 'w', wait_ms: 30_000 })
    await straight('runs', 'rerun', id)
    expect((await waiting).body.run.id).toBe(id)
  })

  it('ends with the right code when something is not there', async () => {
    for (const ask of [straight, through]) {
      const missing = await ask('runs', 'show', 'run_nope')
      expect(missing).toMatchObject({ code: 1, stdout: '' })
      expect(missing.stderr).toContain('there is no run run_nope')
      expect(missing.stderr).toContain('holdfast runs')
      expect((await ask('runs', '--state', 'x')).code).toBe(2)
      expect((await ask('runs', '--cursor', 'x')).code).toBe(2)
    }
    await server.kill()
    expect((await through('runs')).code).toBe(3)
    expect((await straight('runs')).code).toBe(0)
  })

  it('follows the audit straight on the database until it is interrupted', async () => {
    await server.admin.claim(newPullRequest()('one'))
    const tail = begin(['audit', 'tail', '-n', '1', '--json'])
    const first = Number(await tail.printed(/"id":(\d+)/))
    await server.admin.claim(newPullRequest()('two'))
    await tail.printed(new RegExp(`"id":(${first + 1})`))
    tail.child.kill('SIGINT')
    const { code, stdout } = await tail.ended
    expect(code).toBe(0)
    const ids = stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { id: number }).id)
    expect(ids).toEqual([first, first + 1])
  })

  it('ends quietly when nobody reads any more', async () => {
    await server.admin.claim(newPullRequest()('one'))
    const tail = begin(['audit', 'tail', '-n', '1'])
    await tail.printed(/(run\.claimed)/)
    tail.child.stdout?.destroy()
    await server.admin.claim(newPullRequest()('two'))
    expect(await tail.ended).toMatchObject({ code: 0, stderr: '' })
  })

  it('follows the audit through a server that is killed and comes back', async () => {
    const env = { HOLDFAST_URL: server.url, HOLDFAST_TOKEN: adminToken }
    await server.admin.claim(newPullRequest()('one'))
    const tail = begin(['audit', 'tail', '-n', '1', '--json'], env)
    const first = Number(await tail.printed(/"id":(\d+)/))
    await server.admin.claim(newPullRequest()('two'))
    await tail.printed(new RegExp(`"id":(${first + 1}),`))
    const { port } = new URL(server.url)
    await server.kill()
    // Happens while nobody can tell of it.
    await straight('token', 'create', '--scope', 'read')
    server = await Server.start(place, {}, port)
    await tail.printed(new RegExp(`"id":(${first + 2}),`))
    tail.child.kill('SIGTERM')
    const { code, stdout, stderr } = await tail.ended
    const ids = stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { id: number }).id)
    expect(ids).toEqual([first, first + 1, first + 2])
    expect(code).toBe(0)
    expect(stderr).toBe(`${server.url} does not answer; trying again …\n${server.url} is back.\n`)
  })

  it('doctor finds the same store both ways, and a server that is gone', async () => {
    // The tests' own cluster forgets what a power cut interrupts, which is what doctor is for.
    const problems = name === 'PostgreSQL' ? ['store.durability'] : []
    const code = problems.length === 0 ? 0 : 1
    for (const ask of [straight, through]) {
      const done = await ask('doctor', '--json')
      const report = JSON.parse(done.stdout) as { findings: { check: string; level: string }[] }
      const found = report.findings.filter(({ level }) => level === 'problem')
      expect(found.map(({ check }) => check)).toEqual(problems)
      const levels = Object.fromEntries(report.findings.map(({ check, level }) => [check, level]))
      expect(levels).toMatchObject({
        store: 'ok',
        'store.schema': 'ok',
        server: 'ok',
        'runs.pending': 'ok',
        inbox: 'ok',
      })
      expect(done.code).toBe(code)
    }
    await server.kill()
    expect(await through('doctor')).toMatchObject({ code: 1 })
    expect((await straight('doctor')).code).toBe(code)
  })

  it('purges and migrates beside the server', async () => {
    const { id } = (await server.admin.claim(newPullRequest()('head'))).body.run
    await straight('runs', 'cancel', id)
    await place.tamper('UPDATE run SET finished_at = 1')
    expect((await straight('purge', '--json')).stdout).toBe('{"runs":1}\n')
    expect((await straight('migrate')).stdout).toMatch(/ is up to date: schema \d+\.\n$/)
  })

  it('copies a SQLite database under load, and leaves PostgreSQL to its own tool', async () => {
    const copy = join(place.folder, 'copy.db')
    const load = Array.from({ length: 200 }, (_, n) => server.admin.claim(newPullRequest()(`${n}`)))
    const done = await straight('backup', copy)
    await Promise.all(load)
    if (name === 'PostgreSQL') {
      expect(done.code).toBe(1)
      expect(done.stderr).toContain('pg_dump')
      return
    }
    expect(done).toMatchObject({ code: 0, stderr: '' })
    expect(existsSync(copy)).toBe(true)
    const shown = await begin(['runs', '--all', '--database-url', `sqlite:${copy}`]).ended
    expect(shown.code).toBe(0)
  })
})
