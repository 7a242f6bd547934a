/**
 * Goal: an operator reaches a running server from a terminal, also directly on its database, and a
 * follower of the audit loses and repeats nothing. (test/cli/both-ways compares the output of both
 * ways.)
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { newPullRequest } from './client.ts'
import { databases, publishNothing, type ServerData } from './server-data.ts'
import { adminToken, Command, Server } from './server.ts'

// Many processes start one after the other, perhaps on a busy machine.
vi.setConfig({ testTimeout: 120_000 })

describe.each(databases)('the command line on $name', ({ name, makeData }) => {
  let serverData: ServerData
  let server: Server
  let commands: Command[] = []
  beforeEach(async () => {
    serverData = await makeData()
    publishNothing(serverData)
    server = await Server.start(serverData)
  })
  afterEach(async () => {
    for (const { child } of commands) child.kill('SIGKILL')
    commands = []
    await server.kill()
    await serverData.remove()
  })

  const begin = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Command => {
    const command = new Command(serverData, args, env)
    commands.push(command)
    return command
  }
  const straight = (...args: string[]) => begin(args, { HOLDFAST_ADMIN_TOKEN: adminToken }).ended
  const through = (...args: string[]) =>
    begin(args, { HOLDFAST_URL: server.url, HOLDFAST_TOKEN: adminToken }).ended

  it('a rerun directly on the database reaches a worker that waits at the server', async () => {
    const { id } = (await server.admin.claim(newPullRequest()('head'))).body.run
    await straight('runs', 'cancel', id)
    const waiting = server.admin.call('POST', '/v1/runs/lease', { worker: 'w', wait_ms: 30_000 })
    await straight('runs', 'rerun', id)
    expect((await waiting).body.run.id).toBe(id)
  })

  it('needs the server only if it has the address of one', async () => {
    await server.kill()
    expect((await through('runs')).code).toBe(3)
    expect((await through('doctor')).code).toBe(1)
    expect((await straight('runs')).code).toBe(0)
  })

  it('follows the audit directly on the database until it is interrupted', async () => {
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

  it('ends without an error when its reader is gone', async () => {
    await server.admin.claim(newPullRequest()('one'))
    const tail = begin(['audit', 'tail', '-n', '1'])
    await tail.printed(/(run\.claimed)/)
    tail.child.stdout?.destroy()
    await server.admin.claim(newPullRequest()('two'))
    expect(await tail.ended).toMatchObject({ code: 0, stderr: '' })
  })

  it('follows the audit of a server that is killed and restarted', async () => {
    const env = { HOLDFAST_URL: server.url, HOLDFAST_TOKEN: adminToken }
    await server.admin.claim(newPullRequest()('one'))
    const tail = begin(['audit', 'tail', '-n', '1', '--json'], env)
    const first = Number(await tail.printed(/"id":(\d+)/))
    await server.admin.claim(newPullRequest()('two'))
    await tail.printed(new RegExp(`"id":(${first + 1}),`))
    const { port } = new URL(server.url)
    await server.kill()
    // Happens while no server can send it.
    await straight('token', 'create', '--scope', 'read')
    server = await Server.start(serverData, {}, port)
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

  it('copies a SQLite database under load, and leaves PostgreSQL to its own tool', async () => {
    const copy = join(serverData.folder, 'copy.db')
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
